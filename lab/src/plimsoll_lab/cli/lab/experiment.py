"""What the commands of experiments share: options, how progress is shown, and how they end."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli.endings import INTERRUPTED
from plimsoll.cli.output import Output
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll_lab.model.experiment import ExperimentProgress, ExperimentReport

PANEL = "Experiment"
# Without a terminal, a line is printed for each of so many emulated minutes.
_LINE_EVERY = 5

Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="DIR",
        help="Also write a snapshot of each phase to this folder, for example for 'plimsoll diagnose'.",
        rich_help_panel=PANEL,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", metavar="1:N", help="Divide limits and load by N; two processors carry 1:20.", rich_help_panel=PANEL
    ),
]


def with_page(output: Output, page: Path) -> Output:
    """
    Return the options with the default page, if none is named.

    Raises:
        UsageError: it cannot be written.
    """
    from msgspec.structs import replace

    from plimsoll.cli.output import check_page

    if output.html is None:
        output = replace(output, html=page)
        check_page(page)
    return output


def status_of(report: "ExperimentReport") -> int:
    """Return the exit status: 0 if everything that Plimsoll said was right."""
    if report.is_interrupted:
        return INTERRUPTED
    return 0 if report.is_right else 2


def check_folder(folder: Path) -> None:
    """
    Create the folder for snapshots.

    Raises:
        UsageError: it cannot be created.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"unable to create '{folder}': {(error.strerror or str(error)).lower()}",
            "Name a folder whose parent exists and that you may write to.",
        ) from error


def scale_of(text: str, least: float, most: float) -> float:
    """
    Return the number of a scale, which is between two numbers.

    Raises:
        UsageError: it is not like 1:20, or not possible.
    """
    one, colon, parts = text.partition(":")
    try:
        scale = float(parts if colon else one)
    except ValueError:
        scale = 0.0
    is_written = not colon or one.strip() == "1"
    if not is_written or not least <= scale <= most:
        raise UsageError(f"--scale '{text}' is not possible", f"Give 1:{least:g} to 1:{most:g}, for example 1:20.")
    return scale


@contextmanager
def display() -> "Iterator[Callable[[ExperimentProgress], None]]":
    """Show progress: a display that is redrawn each second on a terminal, else lines."""
    from plimsoll_lab.reports.lab import text as lab_text
    from plimsoll_lab.reports.lab.experiment import experiment_line, experiment_lines

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":

        def print_line(progress: "ExperimentProgress") -> None:
            if round(progress.storage.elapsed_s) % _LINE_EVERY == 0:
                say(f"  {experiment_line(progress)}")

        yield print_line
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as picture:

        def redraw(progress: "ExperimentProgress") -> None:
            picture.update(lab_text.live(experiment_lines(progress)), refresh=True)

        yield redraw


def say(text: str) -> None:
    """Print a line for people, where it is no part of the report."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
