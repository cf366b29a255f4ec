"""`plimsoll lab run search-service`: make a published incident happen on real servers, phase by phase."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll_lab.cli.lab import experiment
from plimsoll_lab.cli.lab.experiment import PANEL, Keep, Scale

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll_lab.experiments.search_service.ground import SearchPlan

PAGE = Path("search-service.html")


class SearchEngine(StrEnum):
    """A search engine of the service."""

    OPENSEARCH = "opensearch"
    ELASTICSEARCH = "elasticsearch"


Engine = Annotated[
    SearchEngine,
    typer.Option(
        "--engine",
        help="Search engine that the service writes to (default: opensearch).",
        rich_help_panel=PANEL,
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
            rich_help_panel=PANEL,
        ),
    ] = False,
    scale: Scale = "1:20",
    engine: Engine = SearchEngine.OPENSEARCH,
    system: Annotated[
        Path | None,
        typer.Option(
            "--system",
            metavar="DIR",
            help="Folder of the search service (default: systems/search-service of the repository).",
            rich_help_panel=PANEL,
        ),
    ] = None,
    keep: Keep = None,
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
    from plimsoll_lab.experiments.search_service.ground import SearchPlan
    from plimsoll_lab.experiments.search_service.story import SCALE_LEAST, SCALE_MOST, phases_of
    from plimsoll_lab.judges.search_service import default_system, play_search_service
    from plimsoll_lab.reports.drawn import drawn

    output = experiment.with_page(output, PAGE)
    if keep is not None:
        experiment.check_folder(keep)
    plan = SearchPlan(
        phases=phases_of(is_quick=quick),
        system=system or default_system(),
        engine=engine.value,
        scale=experiment.scale_of(scale, SCALE_LEAST, SCALE_MOST),
    )
    with ended_like_ctrl_c():
        experiment.say(_announcement(plan))
        with experiment.display() as report_progress:
            report = play_search_service(plan, report_progress=report_progress, print_line=experiment.say, keep=keep)
    output.write(drawn(report))
    raise typer.Exit(experiment.status_of(report))


def _announcement(plan: "SearchPlan") -> str:
    minutes = sum(phase.minutes for phase in plan.phases)
    return (
        f"{len(plan.phases)} phases, {minutes} emulated minutes in {minutes * 60 / plan.clock:.0f} s and the time "
        f"between them; scale 1:{plan.scale:g}: limits and load are divided by {plan.scale:g}"
    )
