"""`plimsoll record`: record a target or this host, and save the snapshot."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.options import INSTANCE_PANEL, InstanceOptions, Option, ReadOptions
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.database import DatabaseOptions
from plimsoll.cli.help import TargetGroup
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT
from plimsoll.cli.output import OUTPUT_PANEL, check_snapshot
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.snapshot import Snapshot

_OTHER = "target"
_RECORDING = "Recording"


class RecordOptions(Struct, frozen=True, kw_only=True):
    """The options of `record TARGET`."""

    target: Annotated[Target, Option("TARGET", parse=target_of)]
    """
    rds:NAME, prom:URL, a file or folder of exported metrics, or a recorded snapshot; '-' is standard input.
    """
    output: Annotated[str, Option("-o --output FILE", OUTPUT_PANEL)]
    """Write the snapshot to this file; '-' is standard output."""
    database: DatabaseOptions
    instance: InstanceOptions
    read: ReadOptions


class HostOptions(Struct, frozen=True, kw_only=True):
    """The options of `record host`."""

    command: Annotated[tuple[str, ...], Option("[-- COMMAND]")] = ()
    """Record while this command runs."""
    device: Annotated[str, Option("--device NAMES", _RECORDING)] = "auto"
    """
    Block devices, for example nvme1n1 or nvme1n1,nvme2n1, whose rates are added up. auto takes the one under the
    database's data directory, or under this directory, or the busiest.
    """
    duration: Annotated[str | None, Option("--for TIME", _RECORDING)] = None
    """Record for this long, for example 90s or 10m (default: 60s, or until the command ends)."""
    every: Annotated[str | None, Option("--every TIME", _RECORDING)] = None
    """
    Length of a step in whole seconds (default: 1s). With --from, use it only for output of iostat without times.
    """
    capture: Annotated[str | None, Option("--from FILE", _RECORDING)] = None
    """
    Read output of iostat -x -t, sar or sadf -j, or a binary file of sysstat, instead of this host's counters; '-' is
    standard input. auto takes its busiest device.
    """
    dsn: Annotated[str | None, Option("--dsn DSN", _RECORDING, envvar="PLIMSOLL_DSN")] = None
    """
    Also record PostgreSQL on this host, for example 'host=localhost dbname=orders'. The role needs pg_monitor. Other
    users can see a command line: keep a password in PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.
    """
    output: Annotated[str | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """
    Write the snapshot to this file; '-' is standard output (default: HOST-TIME.json in this folder).
    """
    is_embedded: Annotated[bool, Option("--embedded-postgres", _RECORDING)] = False
    """
    Start a temporary PostgreSQL, record it, and run the command against it (default: pgbench). PGHOST, PGPORT and so on
    are set.
    """
    is_inspecting: Annotated[bool, Option("--inspect", _RECORDING)] = False
    """
    Also watch the database, as 'plimsoll inspect' does. 'plimsoll diagnose FILE' then also names causes.
    """
    scale: Annotated[int | None, Option("--scale N", _RECORDING, min=1, max=10_000)] = None
    """Fill the temporary PostgreSQL with pgbench's tables first, 15 MB for each step of scale."""
    name: Annotated[str | None, Option("--identifier NAME", INSTANCE_PANEL)] = None
    """Name of the instance in reports (default: the host's name)."""
    bought: Annotated[InstanceOptions, BOUGHT] = InstanceOptions()

    @property
    def instance(self) -> InstanceOptions:
        """Return what was said of the instance, with its name."""
        return replace(self.bought, identifier=self.name)


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
    record.command("host")(expand(host))
    record.command(_OTHER, hidden=True)(expand(target))
    app.add_typer(record, name="record")


def target(options: RecordOptions) -> None:
    """
    Save the metrics of a target in one file: plimsoll record TARGET -o FILE.

    With --dsn the file also holds what that PostgreSQL did in the same time. 'plimsoll diagnose FILE' then
    also names causes.
    """
    if str(options.target) == "host":
        raise UsageError("options before 'host' are not allowed", "Write 'plimsoll record host -o FILE'.")
    check_snapshot(Path(options.output))
    from plimsoll.app.diagnose import read_with_statements

    snapshot = read_with_statements(options.target, options.instance, options.read, TERMINAL)
    observation = options.database.observed()
    if observation is not None:
        snapshot = replace(snapshot, observation=observation)
    _save(snapshot, options.output)


def host(options: HostOptions) -> None:
    """
    Sample this host's counters: plimsoll record host --for 60s -o FILE.

    --class and --storage say whose limits to compare with. Without them, diagnose still finds limits, but not
    their names. --from reads the output of another program, for example: ssh db1 iostat -x -t 1 600 |
    plimsoll record host --from - -o FILE.
    """
    check_snapshot(None if options.output is None else Path(options.output))
    from plimsoll.cli.record.host import record_host

    snapshot = record_host(options)
    _save(snapshot, options.output or _name_of(snapshot))


def _save(snapshot: "Snapshot", output: str) -> None:
    from plimsoll.model.snapshot_file.codec import encode_snapshot

    if output == "-":
        sys.stdout.buffer.write(encode_snapshot(snapshot) + b"\n")
        sys.stdout.flush()
        return
    from plimsoll.reports.files.snapshot import write_snapshot

    write_snapshot(Path(output), snapshot)
    typer.echo(f"recorded {snapshot.source}: {output}", err=True)


def _name_of(snapshot: "Snapshot") -> str:
    from plimsoll.units import format_time

    window = snapshot.window_s
    assert window is not None  # A recording without a sample is an error before this.
    moment = format_time(window[0]).replace("-", "").replace(":", "")
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in snapshot.instance.identifier)
    return f"{name}-{moment}.json"
