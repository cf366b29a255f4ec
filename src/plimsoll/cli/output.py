"""
Print a report and write files: form, columns, colour, file names.

Every report has the same four options: `--format`, `-o/--output`, `--html` and `--width`.
"""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer
from msgspec import Struct

from plimsoll.app.options import Option
from plimsoll.cli.option_groups import OptionGroup
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.app.render import FileForm, Found

OUTPUT_PANEL = "Output"
_STDOUT = Path("-")
# A judgement: no terminal is wider, so a larger number is a typing error.
_WIDTH_MAX = 400
# The tables of a report fit 40 columns; tables that compare two sides need 60.
_WIDTH_LEAST = 40
WIDTH_OF_PAIRS = 60


class Format(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class FindingsFormat(StrEnum):
    """How findings on files are printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


class TextOrJson(StrEnum):
    """How output without a Markdown form is printed."""

    TEXT = "text"
    JSON = "json"


# What an ending says of a file's content. Others, for example that of orders-2026.11.20, say nothing.
_KIND_BY_ENDING = {
    ".csv": "a CSV table",
    ".gif": "a GIF picture",
    ".gz": "a gzip file",
    ".htm": "a page",
    ".html": "a page",
    ".jpeg": "a JPEG picture",
    ".jpg": "a JPEG picture",
    ".json": "a JSON file",
    ".md": "a Markdown file",
    ".parquet": "a Parquet table",
    ".pdf": "a PDF file",
    ".png": "a PNG picture",
    ".svg": "an SVG picture",
    ".tsv": "a TSV table",
    ".txt": "a text file",
    ".webp": "a WebP picture",
    ".xlsx": "an Excel table",
    ".zip": "a ZIP archive",
}
PAGE_ENDINGS = (".html", ".htm")
_SNAPSHOT_ENDINGS = (".json", ".json.gz")


class Output(Struct, frozen=True, kw_only=True):
    """Where a report goes and what it looks like."""

    format_given: Annotated[Format | None, Option("--format FORM", OUTPUT_PANEL)] = None
    """Print text, json or markdown (default: text, or by the ending of -o)."""
    file: Annotated[Path | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """
    Write the report to this file instead of standard output. The endings .json and .md choose the form.
    """
    html: Annotated[Path | None, Option("--html FILE", OUTPUT_PANEL)] = None
    """Also write the report as an HTML page."""
    width: Annotated[int | None, Option("--width COLUMNS", OUTPUT_PANEL, min=_WIDTH_LEAST, max=_WIDTH_MAX)] = None
    """Width of the text, {min} to {max} columns (default: the terminal's)."""
    is_brief: Annotated[bool, Option("--brief", OUTPUT_PANEL)] = False
    """Print the answer in at most 12 lines of text; several instances keep their table."""

    # The name of a file says what its reader expects in it.
    by_ending: ClassVar[dict[str, StrEnum]] = {".txt": Format.TEXT, ".json": Format.JSON, ".md": Format.MARKDOWN}
    writes: ClassVar[str] = "text, JSON or Markdown"

    @property
    def form(self) -> StrEnum:
        """Return the form of the report."""
        ending = self.file.suffix.lower() if self.file is not None else ""
        return self.format_given or self.by_ending.get(ending, Format.TEXT)

    def check(self) -> None:
        """
        Refuse what could not be printed or written, before any work.

        Raises:
            UsageError: a file has the wrong ending or no folder, or a form has no brief report.
        """
        is_page = self.file is not None and self.file.suffix.lower() in PAGE_ENDINGS
        check_ending(
            self.file,
            f"-o writes {self.writes}",
            tuple(self.by_ending),
            hint=f"Use --html {self.file} for the page." if is_page else None,
        )
        if self.is_brief and self.form != Format.TEXT:
            raise UsageError(
                f"--brief prints text, not {self.form.value}", "Leave out --brief, or --format and the ending of -o."
            )
        check_page(self.html)
        check_writable(self.file)

    @property
    def is_printed(self) -> bool:
        """Return whether the report goes to standard output."""
        return self.file is None or self.file == _STDOUT

    @property
    def has_color(self) -> bool:
        """Return whether escape sequences for colour may be used."""
        return self.is_printed and is_color()

    def render(self, found: "Found", *, lists_all: bool = False) -> str:
        """
        Render a result in the requested form.

        Args:
            found: a report, plan, comparison, inspection or overview.
            lists_all: whether an overview also has a row for each instance that is near no limit.
        """
        from plimsoll.app.render import has_brief, render, render_brief

        if self.is_brief and has_brief(found):
            return render_brief(found, width=self.width, color=self.has_color)
        form = cast("FileForm", self.form.value)
        return render(found, form, width=self.width, color=self.has_color, lists_all=lists_all)

    def emit(self, text: str, what: str = "report") -> None:
        """Print a text, or write it to the named file."""
        if self.is_printed or self.file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            write_text(self.file, text, what)

    def write(self, found: "Found", what: str = "report", *, lists_all: bool = False) -> None:
        """
        Print or write a result, and write its page if one was requested.

        Raises:
            UsageError: a file cannot be written.
        """
        self.emit(self.render(found, lists_all=lists_all), what)
        if self.html is not None:
            from plimsoll.app.render import render
            from plimsoll.cli.page_origin import page_origin

            write_text(self.html, render(found, "html", origin=page_origin()), "report")


class OutputOfPairs(Output, frozen=True, kw_only=True):
    """A report with tables that compare two sides, which need more columns."""

    width: Annotated[int | None, Option("--width COLUMNS", OUTPUT_PANEL, min=WIDTH_OF_PAIRS, max=_WIDTH_MAX)] = None
    """Width of the text, {min} to {max} columns (default: the terminal's)."""


class FindingsOutput(Output, frozen=True, kw_only=True):
    """A report on files, which other programs read as SARIF."""

    format_given: Annotated[FindingsFormat | None, Option("--format FORM", OUTPUT_PANEL)] = None  # type: ignore[assignment]
    """Print text, json, markdown or sarif (default: text, or by the ending of -o)."""
    file: Annotated[Path | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """
    Write the report to this file instead of standard output. The endings .json, .md and .sarif choose the form.
    """

    by_ending: ClassVar[dict[str, StrEnum]] = {**Output.by_ending, ".sarif": FindingsFormat.SARIF}


def output_options(width_least: int = _WIDTH_LEAST) -> OptionGroup:
    """Return the options of a report; `width_least` is the smallest width in which the text fits, in columns."""
    return OptionGroup(OutputOfPairs if width_least == WIDTH_OF_PAIRS else Output).without("is_brief")


# Declarations for the commands of the gate and the lab, whose parameters typer reads.
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write the report as an HTML page.", rich_help_panel=OUTPUT_PANEL),
]
FormOfTwo = Annotated[
    TextOrJson, typer.Option("--format", metavar="FORM", help="Print text or json.", rich_help_panel=OUTPUT_PANEL)
]


def file_option(text: str) -> Any:
    """Return the declaration of `-o/--output`; `text` is its help."""
    return typer.Option("-o", "--output", metavar="FILE", help=text, rich_help_panel=OUTPUT_PANEL)


def width_option() -> Any:
    """Return the declaration of `--width`."""
    return typer.Option(
        "--width",
        metavar="COLUMNS",
        min=_WIDTH_LEAST,
        max=_WIDTH_MAX,
        help=f"Width of the text, {_WIDTH_LEAST} to {_WIDTH_MAX} columns (default: the terminal's).",
        rich_help_panel=OUTPUT_PANEL,
    )


def check_writable(*files: Path | None) -> None:
    """
    Refuse a file that could not be written, before any work.

    Raises:
        UsageError: its folder is missing, or it is a folder.
    """
    for file in files:
        if file is None or file == _STDOUT:
            continue
        if file.is_dir():
            raise UsageError(f"unable to write '{file}': it is a folder", "Name a file in it.")
        if not file.absolute().parent.is_dir():
            raise UsageError(
                f"unable to write '{file}': there is no folder '{file.parent}'",
                "Create the folder, or name another file.",
            )


def check_ending(file: Path | None, writes: str, endings: Sequence[str], *, hint: str | None = None) -> None:
    """
    Refuse a name whose ending names another kind of file than the one that is written.

    Args:
        file: where it goes; None and `-` pass, and so does an ending that names no kind.
        writes: the option and what it writes, for example `--html writes a page`.
        endings: those that fit, the preferred one first.
        hint: what to do instead; None proposes the endings.

    Raises:
        UsageError: the ending names another kind of file.
    """
    ending = "" if file is None else file.suffix.lower()
    kind = _KIND_BY_ENDING.get(ending)
    if kind is None or any(fitting.endswith(ending) for fitting in endings):
        return
    *others, last = endings
    choice = f"{', '.join(others)} or {last}" if others else last
    raise UsageError(f"{writes}, and '{file}' is {kind}", hint or f"End the name in {choice}.")


def check_page(file: Path | None) -> None:
    """
    Refuse a page that could not be written, before any work.

    Raises:
        UsageError: its ending names another kind of file, or its folder is missing.
    """
    check_ending(file, "--html writes a page", PAGE_ENDINGS)
    check_writable(file)


def check_snapshot(file: Path | None) -> None:
    """
    Refuse a snapshot file that could not be written, before any work.

    Raises:
        UsageError: its ending names another kind of file, or its folder is missing.
    """
    check_ending(file, "-o writes a snapshot in JSON", _SNAPSHOT_ENDINGS)
    check_writable(file)


def check_picture(file: Path | None) -> None:
    """
    Refuse a picture that could not be drawn or written, before any work.

    Raises:
        UsageError: its folder is missing, or the extra that draws is not installed.
    """
    if file is not None:
        from plimsoll.reports.chart.engine import check_vega

        check_vega()
    check_writable(file)


def is_color() -> bool:
    """Return whether standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def write_text(path: Path, text: str, what: str) -> None:
    """Write a file, and report it on standard error."""
    from plimsoll.reports.files.file import write_aside

    write_aside(path, text.encode())
    say_written(path, what)


def say_written(path: Path, what: str) -> None:
    """Report on standard error what was written to a file."""
    sys.stderr.write(f"{what} written to {path}\n")
    sys.stderr.flush()
