"""`plimsoll lab run pooled-cluster`: make a storm of connections happen on real servers, phase by phase."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from plimsoll.cli.endings import INTERRUPTED, ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll_lab.cli.lab import experiment
from plimsoll_lab.cli.lab.experiment import PANEL

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll_lab.experiments.pooled_cluster.ground import PooledPlan
    from plimsoll_lab.model.pooled import PooledProgress, PooledReport

PAGE = Path("pooled-cluster.html")
# Without a terminal, a line is printed for each of so many seconds.
_LINE_EVERY = 5

Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Play the whole story in about five minutes (default: phases three times as long).",
        rich_help_panel=PANEL,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="1:N",
        help="Divide the number of connections by N; two processors carry 1:10.",
        rich_help_panel=PANEL,
    ),
]
System = Annotated[
    Path | None,
    typer.Option(
        "--system",
        metavar="DIR",
        help="Folder of the pooled cluster (default: systems/pooled-cluster of the repository).",
        rich_help_panel=PANEL,
    ),
]
WithDefect = Annotated[
    Path | None,
    typer.Option(
        "--with-defect",
        metavar="FILE",
        help="Program of a Pgpool-II that still has the defect fixed in 2020 (default: built once, in the repository).",
        rich_help_panel=PANEL,
    ),
]
Disk = Annotated[
    bool,
    typer.Option(
        "--disk",
        help="Play the twin instead: few connections on a slow disk, which must be named, and no storm.",
        rich_help_panel=PANEL,
    ),
]


def register(run: typer.Typer) -> None:
    """Add the command to `plimsoll lab run`."""
    run.command("pooled-cluster")(expand(pooled_cluster, output=output_options(WIDTH_OF_PAIRS)))


def pooled_cluster(
    quick: Quick = False,
    scale: Scale = "1:10",
    system: System = None,
    with_defect: WithDefect = None,
    disk: Disk = False,
    *,
    output: Output,
) -> None:
    """
    Make a storm of connections happen, diagnose it, and apply each remedy.

    For example: plimsoll lab run pooled-cluster --quick.

    Three PostgreSQL under Patroni, Pgpool-II in front of them, and JVM services with HikariCP pools run on this machine.
    Seven phases follow the published post: calm, a storm, the pile-up, a pooler that never lets go, the fixed pooler, a
    shorter life time, and pools as pool-size computes them; the eighth has PgBouncer instead. Each phase is inspected with
    its pooler, and what Plimsoll says is compared with the truth. At the end comes a report, also as a page (default:
    pooled-cluster.html): useful queries compared with the storm, and which programs took the processors.

    Exit status: 0 everything Plimsoll said was right, 2 something was not, or bad input. Ctrl-C reports the phases that
    are over, with status 130.
    """
    from plimsoll_lab.experiments.pooled_cluster.ground import PooledPlan
    from plimsoll_lab.experiments.pooled_cluster.story import SCALE_LEAST, SCALE_MOST, fleet_of, phases_of
    from plimsoll_lab.experiments.pooled_cluster.twin import FLEET, SCALE, twin_phase
    from plimsoll_lab.judges.pooled.cluster import (
        default_system,
        default_unmended,
        play_disk_twin,
        play_pooled_cluster,
        unmended_script,
    )
    from plimsoll_lab.reports.drawn import drawn

    output = experiment.with_page(output, PAGE)
    number = experiment.scale_of(scale, SCALE_LEAST, SCALE_MOST)
    plan = PooledPlan(
        phases=phases_of(is_quick=quick),
        fleet=fleet_of(number),
        system=system or default_system(),
        unmended=with_defect or default_unmended(),
        unmended_script=None if with_defect else unmended_script(),
        scale=number,
    )
    play = play_pooled_cluster
    if disk:
        twin = (twin_phase(is_quick=quick),)
        plan, play = replace(plan, phases=twin, fleet=FLEET, scale=SCALE), play_disk_twin
    with ended_like_ctrl_c():
        experiment.say(_announcement(plan))
        with display() as report_progress:
            report = play(plan, report_progress=report_progress, print_line=experiment.say)
    output.write(drawn(report))
    raise typer.Exit(_status(report))


@contextmanager
def display() -> "Iterator[Callable[[PooledProgress], None]]":
    """Show progress: a display that is redrawn each second on a terminal, else lines."""
    from plimsoll_lab.reports.lab.pooled import pooled_line, pooled_lines

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":

        def print_line(progress: "PooledProgress") -> None:
            if round(progress.elapsed_s) % _LINE_EVERY == 0:
                experiment.say(f"  {pooled_line(progress)}")

        yield print_line
        return
    from rich.console import Console
    from rich.live import Live

    from plimsoll_lab.reports.lab import text as lab_text

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as picture:

        def redraw(progress: "PooledProgress") -> None:
            picture.update(lab_text.live(pooled_lines(progress)), refresh=True)

        yield redraw


def _announcement(plan: "PooledPlan") -> str:
    seconds = sum(phase.seconds for phase in plan.phases)
    return (
        f"{len(plan.phases)} phases of {seconds:.0f} s together, and the time between them; scale 1:{plan.scale:g}: "
        f"connections are divided by {plan.scale:g}, rates are not"
    )


def _status(report: "PooledReport") -> int:
    if report.is_interrupted:
        return INTERRUPTED
    return 0 if report.is_right else 2
