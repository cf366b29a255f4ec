"""`plimsoll lab mysql`: run a real MariaDB under an instance's limits, and diagnose it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT
from plimsoll.cli.output import Html, check_page, check_snapshot, width_option
from plimsoll_lab.cli.gate import options as gate_options
from plimsoll_lab.cli.gate.options import RunFlags


class Engine(StrEnum):
    """Engines whose storage rules can apply."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


Width = Annotated[int | None, width_option()]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Apply the storage rules of mysql or mariadb. The server is MariaDB in both cases.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory of the emulated instance. InnoDB's buffer pool gets three quarters, as on RDS.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
WorkloadName = Annotated[
    str,
    typer.Option(
        "--workload", metavar="NAME", help="Statements to run: oltp, select or scan.", rich_help_panel=gate_options.LOAD
    ),
]
Tables = Annotated[
    str | None,
    typer.Option(
        "--tables",
        metavar="SIZE",
        help="Size of all tables, for example 2GiB (default: larger than the emulated memory).",
        rich_help_panel=gate_options.LOAD,
    ),
]
MysqlBin = Annotated[
    Path | None,
    typer.Option(
        "--mysql-bin",
        metavar="DIR",
        help="Folder of MariaDB's programs and sysbench, or the folder above bin and sbin (default: the installed "
        "ones).",
        rich_help_panel=gate_options.LOAD,
    ),
]


class MySqlFlags(RunFlags, frozen=True, kw_only=True):
    """Options of a run with MariaDB."""

    engine: str
    size: str | None
    binaries: Path | None


def register(lab: typer.Typer) -> None:
    """Add the command to `plimsoll lab`."""
    lab.command("mysql")(expand(mysql, instance=BOUGHT.without("engine")))


def mysql(
    engine: EngineName = Engine.MYSQL,
    clock: gate_options.Clock = 60.0,
    balance: gate_options.Credits = 1.0,
    memory: Memory = "512MiB",
    with_cpu: gate_options.WithCpu = False,
    workload: WorkloadName = "oltp",
    duration: gate_options.Duration = "120s",
    clients: gate_options.ClientCount = 16,
    rate: gate_options.Rate = None,
    size: Tables = None,
    mysql_bin: MysqlBin = None,
    keep: gate_options.Keep = False,
    output: gate_options.SnapshotFile = None,
    html: Html = None,
    width: Width = None,
    *,
    instance: InstanceOptions,
) -> None:
    """
    Run MariaDB under the limits of an RDS class, then diagnose it.

    For example: plimsoll lab mysql --class db.t3.xlarge --storage gp2 --size-gib 1000 --workload scan.

    The server is this machine's MariaDB; the clients are sysbench. The tables are created first, without
    limits.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 unknown, bad input, or this machine was slower
    than the emulated one.
    """
    flags = MySqlFlags(
        instance=instance,
        engine=engine.value,
        clock=clock,
        credits=balance,
        memory=memory,
        workload=workload,
        duration=duration,
        clients=clients,
        rate=rate,
        size=size,
        binaries=mysql_bin,
        keeps=keep,
        output=output,
        html=html,
        width=width,
        has_cpu=with_cpu,
    )
    raise typer.Exit(_run(flags))


def _run(flags: MySqlFlags) -> int:
    """Run MariaDB, print the report, save the requested files, and return the exit status."""
    import sys

    from plimsoll.app.moments import seconds_of
    from plimsoll.catalog.load import catalog
    from plimsoll.cli.endings import ended_like_ctrl_c
    from plimsoll.units import format_bytes
    from plimsoll_lab.cli.amounts import bytes_of
    from plimsoll_lab.cli.gate import words as gate_words
    from plimsoll_lab.cli.gate.run import group_of
    from plimsoll_lab.cli.lab.run import check_length, display, report, setup_for
    from plimsoll_lab.gate.record import minutes_of
    from plimsoll_lab.load.sysbench import load_of
    from plimsoll_lab.sessions.mysql import MySqlPlan, run_mysql
    from plimsoll_lab.sessions.session import check_memory

    def print_line(text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    check_snapshot(flags.output)
    check_page(flags.html)
    setup = setup_for(flags.instance, flags.engine, clock=flags.clock, balance=flags.credits)
    memory_bytes = bytes_of(flags.memory, "--memory")
    check_memory(memory_bytes)
    load = load_of(
        flags.workload,
        clients=flags.clients,
        rate_per_s=flags.rate,
        memory_bytes=memory_bytes,
        size_bytes=None if flags.size is None else bytes_of(flags.size, "--tables"),
    )
    duration_s = seconds_of(flags.duration, "--for")
    check_length(setup, duration_s)
    plan = MySqlPlan(
        setup=setup,
        load=load,
        duration_s=duration_s,
        memory_bytes=memory_bytes,
        binaries=flags.binaries,
        keeps=flags.keeps,
        group=group_of(setup) if flags.has_cpu else None,
    )
    with ended_like_ctrl_c():
        print_line(f"{gate_words.emulated(setup)}, {minutes_of(setup)}")
        sizes = format_bytes(memory_bytes), format_bytes(load.size_bytes)
        print_line(f"emulated memory {sizes[0]}, tables {sizes[1]}")
        with display() as report_progress:
            outcome = run_mysql(plan, catalog(), report_progress=report_progress, print_line=print_line)
    return report(outcome, flags)
