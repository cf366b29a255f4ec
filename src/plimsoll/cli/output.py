"""How a command prints and writes: the form, the columns, whether in colour, and what it says of files."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.app.render import Found


class Format(StrEnum):
    """How a report is written to standard output."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class TextOrJson(StrEnum):
    """How what has no Markdown form is written to standard output."""

    TEXT = "text"
    JSON = "json"


Form = Annotated[Format, typer.Option("--format", help="What to print: text, json or markdown.")]
FormOfTwo = Annotated[TextOrJson, typer.Option("--format", help="What to print: text or json.")]
Width = Annotated[int | None, typer.Option("--width", min=40, max=400, help="Columns of the text.")]
WideWidth = Annotated[
    int | None, typer.Option("--width", min=60, max=400, help="Columns of the text.")
]
"""Of what stands side by side, and does not fit in fewer columns."""
Html = Annotated[
    Path | None, typer.Option("--html", help="Also write the report as one HTML file.")
]


def is_color() -> bool:
    """Return whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def show(found: "Found", form: Format, width: int | None, *, lists_all: bool = False) -> None:
    """
    Print what was found to standard output.

    Args:
        found: a report, plan, comparison, inspection or overview.
        form: how.
        width: columns of the text; None takes the terminal's.
        lists_all: whether an overview has a row for each instance that is near no limit, too.
    """
    from plimsoll.app.render import render

    text = render(found, form.value, width=width, color=is_color(), lists_all=lists_all)
    sys.stdout.write(text)
    sys.stdout.flush()


def write_page(found: "Found", path: Path, what: str = "report") -> None:
    """Write what was found as one HTML file, and say so on standard error."""
    from plimsoll.app.render import render

    write_text(path, render(found, "html"), what)


def write_text(path: Path, text: str, what: str) -> None:
    """Write a file, and say on standard error what was written to it."""
    from plimsoll.reports.files.file import write_aside

    write_aside(path, text.encode())
    say_written(path, what)


def say_written(path: Path, what: str) -> None:
    """Say on standard error what was written to a file."""
    sys.stderr.write(f"{what} written to {path}\n")
    sys.stderr.flush()
