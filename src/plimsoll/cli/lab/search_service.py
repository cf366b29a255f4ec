"""`plimsoll lab run search-service`: make a published incident happen on real servers, phase by phase."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli.endings import INTERRUPTED, ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.lab.experiments.search_service.ground import SearchPlan
    from plimsoll.model.experiment import ExperimentProgress, ExperimentReport

PAGE = Path("search-service.html")
_PANEL = "Experiment"
# Without a terminal, a line is printed for each of so many emulated minutes.
_LINE_EVERY = 5


class SearchEngine(StrEnum):
    """A search engine of the service."""

    OPENSEARCH = "opensearch"
    ELASTICSEARCH = "elasticsearch"


Engine = Annotated[
    SearchEngine,
    typer.Option(
        "--engine",
        help="Search engine that the service writes to (default: opensearch).",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


def register(run: typer.Typer) -> None:
    """Add the command to `plimsoll lab run`."""
    run.command("search-service")(expand(search_service, output=output_options(WIDTH_OF_PAIRS)))


def search_service(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Play the whole story in about four minutes (default: phases four times as long).",
            rich_help_panel=_PANEL,
        ),
    ] = False,
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="1:N",
            help="Divide limits and load by N; two processors carry 1:20.",
            rich_help_panel=_PANEL,
        ),
    ] = "1:20",
    engine: Engine = SearchEngine.OPENSEARCH,
    system: Annotated[
        Path | None,
        typer.Option(
            "--system",
            metavar="DIR",
            help="Folder of the search service (default: systems/search-service of the repository).",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Also write a snapshot of each phase to this folder, for example for 'plimsoll diagnose'.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    *,
    output: Output,
) -> None:
    """
    Make the incident of a search service happen, diagnose it, and apply each remedy.

    For example: plimsoll lab run search-service --quick.

    Kafka, a search engine, the service and a PostgreSQL under the limits of db.r5.2xlarge (2019) run on this machine.
    Seven phases follow the published post: healthy, slow, more IOPS, the vacuum cancelled, less I/O, stop and
    start, a larger class. Each phase is read back from a double of CloudWatch, and what Plimsoll says is compared
    with the truth. At the end comes a report, also as a page (default: search-service.html).

    Exit status: 0 everything Plimsoll said was right, 2 something was not, this machine was too slow, or bad input.
    Ctrl-C reports the phases that are over, with status 130.
    """
    from msgspec.structs import replace

    from plimsoll.app.experiment.search_service import default_system, play_search_service
    from plimsoll.cli.output import check_page
    from plimsoll.lab.experiments.search_service.ground import SearchPlan
    from plimsoll.lab.experiments.search_service.story import phases_of

    if output.html is None:
        output = replace(output, html=PAGE)
        check_page(output.html)
    if keep is not None:
        _check_folder(keep)
    plan = SearchPlan(
        phases=phases_of(is_quick=quick),
        system=system or default_system(),
        engine=engine.value,
        scale=_scale_of(scale),
    )
    with ended_like_ctrl_c():
        _say(_announcement(plan))
        with _display() as report_progress:
            report = play_search_service(
                plan, report_progress=report_progress, print_line=_say, keep=keep
            )
    output.write(report)
    raise typer.Exit(_status_of(report))


def _status_of(report: "ExperimentReport") -> int:
    if report.is_interrupted:
        return INTERRUPTED
    return 0 if report.is_right else 2


def _announcement(plan: "SearchPlan") -> str:
    minutes = sum(phase.minutes for phase in plan.phases)
    return (
        f"{len(plan.phases)} phases, {minutes} emulated minutes in {minutes * 60 / plan.clock:.0f} s and the time "
        f"between them; scale 1:{plan.scale:g}: limits and load are divided by {plan.scale:g}"
    )


def _check_folder(folder: Path) -> None:
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


def _scale_of(text: str) -> float:
    """
    Return the number of a scale.

    Raises:
        UsageError: it is not like 1:20, or not possible.
    """
    from plimsoll.lab.experiments.search_service.story import SCALE_LEAST, SCALE_MOST

    one, colon, parts = text.partition(":")
    try:
        scale = float(parts if colon else one)
    except ValueError:
        scale = 0.0
    is_written = not colon or one.strip() == "1"
    if not is_written or not SCALE_LEAST <= scale <= SCALE_MOST:
        raise UsageError(
            f"--scale '{text}' is not possible",
            f"Give 1:{SCALE_LEAST:g} to 1:{SCALE_MOST:g}, for example 1:20.",
        )
    return scale


@contextmanager
def _display() -> "Iterator[Callable[[ExperimentProgress], None]]":
    """Show progress: a display that is redrawn each second on a terminal, else lines."""
    from plimsoll.reports.lab import text as lab_text
    from plimsoll.reports.lab.experiment import experiment_line, experiment_lines

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":

        def print_line(progress: "ExperimentProgress") -> None:
            if round(progress.storage.elapsed_s) % _LINE_EVERY == 0:
                _say(f"  {experiment_line(progress)}")

        yield print_line
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as picture:

        def redraw(progress: "ExperimentProgress") -> None:
            picture.update(lab_text.live(experiment_lines(progress)), refresh=True)

        yield redraw


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
