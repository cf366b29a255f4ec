"""`plimsoll lab run claims-pipeline`: make a published incident of a load happen on a real server, phase by phase."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll_lab.cli.lab import experiment
from plimsoll_lab.cli.lab.experiment import PANEL, Keep, Scale

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsPlan

PAGE = Path("claims-pipeline.html")


def register(run: typer.Typer) -> None:
    """Add the command to `plimsoll lab run`."""
    run.command("claims-pipeline")(expand(claims_pipeline, output=output_options(WIDTH_OF_PAIRS)))


def claims_pipeline(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Play the whole story in about five minutes (default: files four times as large).",
            rich_help_panel=PANEL,
        ),
    ] = False,
    scale: Scale = "1:20",
    keep: Keep = None,
    *,
    output: Output,
) -> None:
    """
    Make the incident of a claims pipeline happen, diagnose it, and apply the remedies.

    For example: plimsoll lab run claims-pipeline --quick.

    A PostgreSQL under the limits of db.t3.xlarge runs on this machine. Simulated files of claims are loaded into it, and
    views are refreshed. Six phases follow the published post: nothing loads, one file by the old path, one by the new
    path, three jobs at once, a larger class, and the old class with the jobs at Plimsoll's pace. Each phase is read back
    from a double of CloudWatch, and what Plimsoll says is compared with the truth. At the end comes a report, also as a
    page (default: claims-pipeline.html).

    Exit status: 0 everything Plimsoll said was right, 2 something was not, this machine was too slow, or bad input.
    Ctrl-C reports the phases that are over, with status 130.
    """
    from plimsoll_lab.experiments.claims_pipeline import story
    from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsPlan
    from plimsoll_lab.judges.claims_pipeline import play_claims_pipeline
    from plimsoll_lab.reports.drawn import drawn

    output = experiment.with_page(output, PAGE)
    if keep is not None:
        experiment.check_folder(keep)
    plan = ClaimsPlan(
        phases=story.phases_of(is_quick=quick),
        file_bytes=story.QUICK_FILE_BYTES if quick else story.FILE_BYTES,
        scale=experiment.scale_of(scale, story.SCALE_LEAST, story.SCALE_MOST),
    )
    with ended_like_ctrl_c():
        experiment.say(_announcement(plan))
        with experiment.display() as report_progress:
            report = play_claims_pipeline(plan, report_progress=report_progress, print_line=experiment.say, keep=keep)
    output.write(drawn(report))
    raise typer.Exit(experiment.status_of(report))


def _announcement(plan: "ClaimsPlan") -> str:
    return (
        f"{len(plan.phases)} phases; an emulated minute takes {60 / plan.clock:g} s; scale 1:{plan.scale:g}: limits and "
        f"load are divided by {plan.scale:g}"
    )
