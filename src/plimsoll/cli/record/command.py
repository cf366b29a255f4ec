"""The options of `plimsoll record`."""

from typing import Annotated, Any

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import options, watching
from plimsoll.cli.help import HelpGroup
from plimsoll.errors import UsageError

_OTHER = "target"
_RECORDING = "What to record"

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="rds:NAME, prom:URL, a file or folder of exported metrics, or a recorded snapshot; '-' is "
        "standard input.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FILE", help="The snapshot's file; '-' is standard output."
    ),
]
HostOutput = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The snapshot's file; '-' is standard output. Without it HOST-TIME.json here.",
    ),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND", help="Record while this command runs.", show_default=False
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="NAMES",
        help="Block devices, as nvme1n1 or nvme1n1,nvme2n1 (their work is added up). auto is the "
        "one under the database's data directory, else under this directory, else the busiest.",
        rich_help_panel=_RECORDING,
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="How long: 90s, 10m, 2h. Without it 60s, or until the command ends.",
        rich_help_panel=_RECORDING,
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="TIME",
        help="Length of a step, in whole seconds; 1s without it. With --from only for a capture of "
        "iostat without times.",
        rich_help_panel=_RECORDING,
    ),
]
Capture = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Instead of this host's counters, what iostat -x -t, sar or sadf -j wrote, or a binary "
        "file of sysstat; '-' is standard input. auto is then its busiest device.",
        rich_help_panel=_RECORDING,
    ),
]
Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        envvar="PLIMSOLL_DSN",
        metavar="DSN",
        help="PostgreSQL on this host, as 'host=localhost dbname=orders'; the role needs "
        "pg_monitor. Other users can see a command line: keep a password in PLIMSOLL_DSN, "
        "PGPASSWORD or ~/.pgpass.",
        rich_help_panel=_RECORDING,
    ),
]
Embedded = Annotated[
    bool,
    typer.Option(
        "--embedded-postgres",
        help="Start a throwaway PostgreSQL, record it, and run the command against it (PGHOST, "
        "PGPORT and so on are set); without a command, pgbench.",
        rich_help_panel=_RECORDING,
    ),
]
Inspect = Annotated[
    bool,
    typer.Option(
        "--inspect",
        help="Also observe what goes on inside the database; 'plimsoll diagnose FILE' then names the "
        "causes beside the ceiling.",
        rich_help_panel=_RECORDING,
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        "--scale",
        min=1,
        max=10_000,
        help="Fill the throwaway PostgreSQL with pgbench's tables first; 15 MB for each of scale.",
        rich_help_panel=_RECORDING,
    ),
]
HostName = Annotated[
    str | None,
    typer.Option("--identifier", help="Name in reports. Without it, the host's own."),
]


class _RecordGroup(HelpGroup):
    """`record host …` is a command of its own; any other first word is a target's path."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the command for targets where the user named a target."""
        if args and args[0] not in {"host", "-h", "--help"}:
            args = [_OTHER, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command for targets has no name of its own, in its help either."""
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == _OTHER else name), command, rest


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    record = typer.Typer(
        cls=_RecordGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        subcommand_metavar="{host|TARGET}",
        help=(
            "Save a snapshot, which every command reads like any other target.\n\n"
            "'record host' samples the counters of this Linux host and, given a DSN, of its "
            "PostgreSQL. 'record TARGET -o FILE' keeps exported metrics in one file."
        ),
    )
    record.command("host")(host)
    record.command(_OTHER, hidden=True)(options.of_target(target))
    app.add_typer(record, name="record")


def target(
    target: Target,
    output: Output,
    *,
    flags: InstanceOptions,
    reach: ReadOptions,
    dsn: watching.Dsn = None,
    duration: watching.Duration = None,
) -> None:
    """
    Keep exported metrics in one file: plimsoll record TARGET -o FILE.

    With --dsn the file also keeps what that PostgreSQL did while it was watched; 'plimsoll diagnose
    FILE' then names the causes beside the ceiling.
    """
    if target == "host":
        raise UsageError(
            "options before 'host' are not read", "Write 'plimsoll record host -o FILE'."
        )
    from plimsoll.cli.record.run import record_target

    record_target(target, output, flags, reach, dsn=dsn, duration=duration)


def host(
    command: Command = None,
    device: Device = "auto",
    duration: Duration = None,
    every: Every = None,
    capture: Capture = None,
    dsn: Dsn = None,
    output: HostOutput = None,
    embedded_postgres: Embedded = False,
    inspect: Inspect = False,
    scale: Scale = None,
    identifier: HostName = None,
    db_class: options.DbClass = None,
    engine: options.Engine = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    launched: options.Launched = None,
) -> None:
    """
    Sample this host's counters: plimsoll record host --for 60s -o FILE.

    The class and storage given here are those whose limits the host is held against. Without them
    its plateaus are found all the same, as limits that nobody documented. With --from, what another
    program measured: ssh db1 iostat -x -t 1 600 | plimsoll record host --from - -o FILE.
    """
    from plimsoll.cli.record.host import HostFlags
    from plimsoll.cli.record.run import record_this_host

    flags = HostFlags(
        device=device,
        duration=duration,
        every=every,
        dsn=dsn,
        command=tuple(command or ()),
        is_embedded=embedded_postgres,
        is_inspecting=inspect,
        scale=scale,
        keeps_stdout=output == "-",
        capture=capture,
        instance=InstanceOptions(
            identifier=identifier,
            db_class=db_class,
            engine=engine,
            storage=storage,
            size_gib=size_gib,
            iops=iops,
            throughput_mibps=throughput_mibps,
            launched=launched,
        ),
    )
    record_this_host(flags, output)
