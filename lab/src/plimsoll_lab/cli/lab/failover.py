"""`plimsoll lab run failover`: kill, cut off and switch over the leader of a cluster, and count what is lost."""

from typing import Annotated

import typer

from plimsoll.cli.endings import INTERRUPTED, ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError
from plimsoll_lab.cli.lab import experiment
from plimsoll_lab.cli.lab.experiment import PANEL
from plimsoll_lab.cli.lab.pooled_cluster import System
from plimsoll_lab.model.failover import Synchronous

# docs/reference/exit-status.md: the command answered.
WRONG = 1
# A judgement: more take longer than a working day.
_ROUNDS_MAX = 1000


def register(run: typer.Typer) -> None:
    """Add the command to `plimsoll lab run`."""
    run.command("failover")(expand(failover, output=output_options(WIDTH_OF_PAIRS)))


def _times(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        f"--{name}", metavar="N", min=0, max=_ROUNDS_MAX, help=what, rich_help_panel=PANEL
    )
    return option


def failover(
    kills: Annotated[int, _times("kills", "Kill the leader N times, as a power loss does.")] = 3,
    partitions: Annotated[int, _times("partitions", "Cut the leader off from etcd N times.")] = 1,
    switchovers: Annotated[int, _times("switchovers", "Switch the leader over N times.")] = 1,
    mode: Annotated[
        Synchronous,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="When a write is acknowledged: strict (a standby has it) or asynchronous.",
            rich_help_panel=PANEL,
        ),
    ] = Synchronous.STRICT,
    writers: Annotated[
        int,
        typer.Option(
            "--writers", metavar="N", min=1, max=64, help="Clients that write all the time.", rich_help_panel=PANEL
        ),
    ] = 8,
    services: Annotated[
        int,
        typer.Option(
            "--services",
            metavar="N",
            min=0,
            max=16,
            help="Also run this many Java services with connection pools; 0 for none.",
            rich_help_panel=PANEL,
        ),
    ] = 4,
    system: System = None,
    *,
    output: Output,
) -> None:
    """
    Let the leader of a real cluster fail under load, and count which acknowledged writes are lost.

    For example: plimsoll lab run failover --kills 3 --mode asynchronous.

    Three PostgreSQL under Patroni and etcd and a Pgpool-II run on this machine. Clients write unique integers through
    the pooler all the time, and Java services do simulated orders. After each fault the cluster must heal by itself. In
    the end all integers are read, under a lock, and compared with what was acknowledged.

    Exit status: 0 nothing acknowledged was lost, and the cluster healed each time, 1 something was lost, or it did not
    heal, 2 bad input, or a server did not start. Ctrl-C reports the failovers that are over, with status 130.
    """
    from plimsoll_lab.experiments.failover.play import FailoverPlan
    from plimsoll_lab.judges.failover import play_failovers
    from plimsoll_lab.judges.pooled.cluster import default_system
    from plimsoll_lab.model.failover import Fault
    from plimsoll_lab.reports.drawn import drawn

    faults = (*(Fault.KILL,) * kills, *(Fault.PARTITION,) * partitions, *(Fault.SWITCHOVER,) * switchovers)
    if not faults:
        raise UsageError("there is nothing to play", "Give --kills, --partitions or --switchovers above 0.")
    plan = FailoverPlan(
        synchronous=mode, faults=faults, writers=writers, services=services, system=system or default_system()
    )
    with ended_like_ctrl_c():
        report = play_failovers(plan, experiment.say)
    output.write(drawn(report))
    if report.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if report.is_right else WRONG)
