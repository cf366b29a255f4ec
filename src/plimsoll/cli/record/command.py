"""Declare the options of `plimsoll record`."""

from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import watching
from plimsoll.cli.help import TargetGroup
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT, INSTANCE, INSTANCE_PANEL, READ
from plimsoll.cli.output import OUTPUT_PANEL
from plimsoll.errors import UsageError

_OTHER = "target"
_RECORDING = "Recording"

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="rds:NAME, prom:URL, a file or folder of exported metrics, or a recorded snapshot; '-' is standard input.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the snapshot to this file; '-' is standard output.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
HostOutput = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the snapshot to this file; '-' is standard output (default: HOST-TIME.json in this folder).",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Command = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND]", help="Record while this command runs.", show_default=False)
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="NAMES",
        help="Block devices, for example nvme1n1 or nvme1n1,nvme2n1, whose rates are added up. auto takes the "
        "one under the database's data directory, or under this directory, or the busiest.",
        rich_help_panel=_RECORDING,
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="Record for this long, for example 90s or 10m (default: 60s, or until the command ends).",
        rich_help_panel=_RECORDING,
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="TIME",
        help="Length of a step in whole seconds (default: 1s). With --from, use it only for output of iostat "
        "without times.",
        rich_help_panel=_RECORDING,
    ),
]
Capture = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Read output of iostat -x -t, sar or sadf -j, or a binary file of sysstat, instead of this host's "
        "counters; '-' is standard input. auto takes its busiest device.",
        rich_help_panel=_RECORDING,
    ),
]
Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        envvar="PLIMSOLL_DSN",
        metavar="DSN",
        help="Also record PostgreSQL on this host, for example 'host=localhost dbname=orders'. The role needs "
        "pg_monitor. Other users can see a command line: keep a password in PLIMSOLL_DSN, PGPASSWORD or "
        "~/.pgpass.",
        rich_help_panel=_RECORDING,
    ),
]
Embedded = Annotated[
    bool,
    typer.Option(
        "--embedded-postgres",
        help="Start a temporary PostgreSQL, record it, and run the command against it (default: pgbench). "
        "PGHOST, PGPORT and so on are set.",
        rich_help_panel=_RECORDING,
    ),
]
Inspect = Annotated[
    bool,
    typer.Option(
        "--inspect",
        help="Also watch the database, as 'plimsoll inspect' does. 'plimsoll diagnose FILE' then also names causes.",
        rich_help_panel=_RECORDING,
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        "--scale",
        min=1,
        max=10_000,
        metavar="N",
        help="Fill the temporary PostgreSQL with pgbench's tables first, 15 MB for each step of scale.",
        rich_help_panel=_RECORDING,
    ),
]
HostName = Annotated[
    str | None,
    typer.Option(
        "--identifier",
        metavar="NAME",
        help="Name of the instance in reports (default: the host's name).",
        rich_help_panel=INSTANCE_PANEL,
    ),
]


class _RecordGroup(TargetGroup):
    """`record host …` is a separate command; any other first word is a target."""

    named = frozenset({"host"})
    other = _OTHER


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    record = typer.Typer(
        cls=_RecordGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        subcommand_metavar="{host|TARGET}",
        help=(
            "Save a snapshot that every other command can read.\n\n"
            "'record host' samples the counters of this Linux host and, with --dsn, of its PostgreSQL. "
            "'record TARGET -o FILE' saves the metrics of a target in one file."
        ),
    )
    record.command("host")(expand(host, instance=BOUGHT))
    record.command(_OTHER, hidden=True)(expand(target, flags=INSTANCE, read_options=READ))
    app.add_typer(record, name="record")


def target(
    target: Target,
    output: Output,
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    dsn: watching.Dsn = None,
    duration: watching.Duration = None,
) -> None:
    """
    Save the metrics of a target in one file: plimsoll record TARGET -o FILE.

    With --dsn the file also holds what that PostgreSQL did in the same time. 'plimsoll diagnose FILE' then
    also names causes.
    """
    if target == "host":
        raise UsageError("options before 'host' are not allowed", "Write 'plimsoll record host -o FILE'.")
    from plimsoll.cli.record.run import record_target

    record_target(target, output, flags, read_options, dsn=dsn, duration=duration)


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
    *,
    instance: InstanceOptions,
) -> None:
    """
    Sample this host's counters: plimsoll record host --for 60s -o FILE.

    --class and --storage say whose limits to compare with. Without them, diagnose still finds limits, but not
    their names. --from reads the output of another program, for example: ssh db1 iostat -x -t 1 600 |
    plimsoll record host --from - -o FILE.
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
        instance=replace(instance, identifier=identifier),
    )
    record_this_host(flags, output)
