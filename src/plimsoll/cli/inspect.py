"""`plimsoll inspect`: observe a database, find what causes its reads and writes, and print it."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.database import DEFAULT_FOR, observed
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import Output
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.cause import Inspection


class InspectOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    dsn: Annotated[str | None, Option("[DSN]", envvar="PLIMSOLL_DSN")] = None
    """
    Database to inspect, for example 'host=db1 dbname=orders'. The role needs pg_monitor. Other users can see a
    command line: keep a password in PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.
    """
    duration: Annotated[str, Option("--for TIME")] = DEFAULT_FOR
    """Watch the database for this long, for example 30s or 10m."""
    poolers: Annotated[tuple[str, ...], Option("--pooler URL")] = ()
    """
    Pooler in front of the database, for example pgbouncer://user@host:6432 or pgpool://user@host:9999, or its
    configuration file. Repeatable.
    """
    decode_toast: Annotated[str | None, Option("--decode-toast TIME")] = None
    """
    Afterwards, check whether updates write unchanged TOAST values again. Decodes up to three tables through a
    temporary replication slot, each for at most 60 s or 64 MiB of WAL. Needs wal_level = logical and the attribute
    REPLICATION.
    """
    target: Annotated[Target | None, Option("--against TARGET", parse=target_of)] = None
    """
    Give shares of the ceiling of this target: rds:NAME, a recorded snapshot, or any target of diagnose. --class,
    --last and the like describe this target.
    """
    instance: InstanceOptions
    read: ReadOptions
    output: Output


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("inspect")(expand(inspect))


def inspect(options: InspectOptions) -> int:
    """
    Find what inside a database causes its reads and writes.

    Plimsoll watches the database read-only and changes nothing. It prints commands for you to run. Ctrl-C
    ends the watching early and reports what was seen so far.

    Exit status: 0 nothing above a note, 1 something critical or a warning, 2 unknown or bad input.
    """
    from plimsoll.app.diagnose import diagnose_snapshot
    from plimsoll.app.inspect import NO_CEILING, inspect_for_diagnosis, inspect_observation
    from plimsoll.app.read import read_target
    from plimsoll.app.toast_samples import decode_seconds, with_samples

    target = options.target
    seconds = seconds_of(options.duration, "--for")
    sampled_s = decode_seconds(options.decode_toast)
    if not options.dsn:
        raise UsageError(
            "no database was given", "Give a DSN, for example 'host=db1 dbname=orders', or set PLIMSOLL_DSN."
        )
    if target is None and (options.instance != InstanceOptions() or options.read != ReadOptions()):
        raise UsageError(
            "options of an instance or a window need --against",
            "Give --against rds:NAME or a snapshot, or leave out --class, --last and the like.",
        )
    snapshot = None if target is None else read_target(target, options.instance, options.read, TERMINAL)
    diagnosis = None if snapshot is None else diagnose_snapshot(snapshot)
    observation = observed(options.dsn, seconds, options.poolers)
    if sampled_s is not None:
        with ended_like_ctrl_c():
            observation = with_samples(options.dsn, observation, sampled_s)
    if snapshot is None or diagnosis is None:
        found = inspect_observation(observation, NO_CEILING)
    else:
        found = inspect_for_diagnosis(diagnosis, observation, snapshot.credit_clock)
    options.output.write(found, "inspection")
    return status_of(found)


def status_of(found: "Inspection") -> int:
    """Return the exit status: 1 for a critical cause or a warning, 2 if the verdict is unknown, else 0."""
    if any(cause.severity in {"critical", "warning"} for cause in found.causes):
        return 1
    return 2 if any(gap.hides == "verdict" for gap in found.missing) else 0
