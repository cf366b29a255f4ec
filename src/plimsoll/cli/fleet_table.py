"""What `plimsoll fleet LAKE` compares, groups and writes: the options of its table, and its forms."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from msgspec import Struct

from plimsoll.cli.output import (
    OUTPUT_PANEL,
    PAGE_ENDINGS,
    Html,
    check_ending,
    check_page,
    check_writable,
    file_option,
    is_color,
    say_written,
    width_option,
    write_text,
)
from plimsoll.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from plimsoll.app.render import FileForm
    from plimsoll.model.fleet import FleetReport


class FleetForm(StrEnum):
    """The form of the table."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    PARQUET = "parquet"


_TABLES = (FleetForm.CSV, FleetForm.PARQUET)
_ENDINGS = {
    ".txt": FleetForm.TEXT,
    ".json": FleetForm.JSON,
    ".md": FleetForm.MARKDOWN,
    ".csv": FleetForm.CSV,
    ".parquet": FleetForm.PARQUET,
}

By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="GROUP",
        help="Also list groups: class, family, engine, region, account or a tag, for example tag:team; "
        "can be repeated.",
    ),
]
HasChanges = Annotated[
    bool,
    typer.Option(
        "--changes",
        help="Also judge the window before, of the same length, and list what changed; needs --last or --from.",
    ),
]
Compare = Annotated[
    Path | None,
    typer.Option(
        "--compare", metavar="FILE", help="Also list what changed since FILE, a Parquet table of an earlier run."
    ),
]
Form = Annotated[
    FleetForm | None,
    typer.Option(
        "--format",
        metavar="FORM",
        help="Print text, json, markdown, csv or parquet (default: text, or by the ending of -o).",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
File = Annotated[
    Path | None,
    file_option(
        "Write to this file instead of standard output. The endings .json, .md, .csv and .parquet choose the form."
    ),
]
ListsAll = Annotated[
    bool, typer.Option("--all", help="Show every row of each table of the text.", rich_help_panel=OUTPUT_PANEL)
]
Page = Html
Width = Annotated[int | None, width_option()]


class FleetOutput(Struct, frozen=True, kw_only=True):
    """Where the table goes, and in which form."""

    form_given: FleetForm | None
    """None takes the form from the ending of the file's name, else text."""
    file: Path | None
    """None or `-` prints it."""
    html: Path | None
    """File for the page, in addition."""
    lists_all: bool
    """Whether every table of the text has all rows."""
    width: int | None
    """Columns of the text; None takes the terminal's."""

    @property
    def form(self) -> FleetForm:
        """Return the form of the table."""
        ending = self.file.suffix.lower() if self.file is not None else ""
        return self.form_given or _ENDINGS.get(ending, FleetForm.TEXT)

    @property
    def is_printed(self) -> bool:
        """Return whether the table goes to standard output."""
        return self.file is None or str(self.file) == "-"

    def check(self) -> None:
        """
        Refuse what could not be written, before any work.

        Raises:
            UsageError: a file has the wrong ending or no folder, or a terminal would get Parquet.
        """
        is_page = self.file is not None and self.file.suffix.lower() in PAGE_ENDINGS
        check_ending(
            self.file,
            "-o writes text, JSON, Markdown, CSV or Parquet",
            tuple(_ENDINGS),
            hint=f"Use --html {self.file} for the page." if is_page else None,
        )
        check_page(self.html)
        check_writable(self.file)
        if self.form is FleetForm.PARQUET and self.is_printed and sys.stdout.isatty():
            raise UsageError("a terminal cannot show Parquet", "Give -o FILE.parquet.")

    def write(self, table: "pa.Table", report: "FleetReport") -> None:
        """
        Print or write the table, and write its page if one was requested.

        Raises:
            UsageError: a file cannot be written.
        """
        from plimsoll.app.render import render

        form = self.form
        if form in _TABLES:
            from plimsoll.app.lake.run import table_bytes

            content = table_bytes(table, report, form.value)
        else:
            color, shown = self.is_printed and is_color(), cast("FileForm", form.value)
            text = render(report, shown, width=self.width, color=color, lists_all=self.lists_all)
            content = text.encode()
        self._emit(content, "table" if form in _TABLES else "report")
        if self.html is not None:
            from plimsoll.cli.page_origin import page_origin

            write_text(self.html, render(report, "html", origin=page_origin()), "report")

    def _emit(self, content: bytes, what: str) -> None:
        if self.file is not None and not self.is_printed:
            from plimsoll.reports.files.file import write_aside

            write_aside(self.file, content)
            say_written(self.file, what)
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
