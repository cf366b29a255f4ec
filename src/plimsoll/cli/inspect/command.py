"""Declare the options of `plimsoll inspect`."""

from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.output import Output, brief_output_options
from plimsoll.cli.watching import DEFAULT_FOR

Dsn = Annotated[
    str | None,
    typer.Argument(
        metavar="[DSN]",
        envvar="PLIMSOLL_DSN",
        show_default=False,
        help="Database to inspect, for example 'host=db1 dbname=orders'. The role needs pg_monitor. Other "
        "users can see a command line: keep a password in PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.",
    ),
]
Duration = Annotated[
    str, typer.Option("--for", metavar="TIME", help="Watch the database for this long, for example 30s or 10m.")
]
Pooler = Annotated[
    list[str] | None,
    typer.Option(
        "--pooler",
        metavar="URL",
        help="Pooler in front of the database, for example pgbouncer://user@host:6432 or "
        "pgpool://user@host:9999, or its configuration file. Repeatable.",
    ),
]
Decode = Annotated[
    str | None,
    typer.Option(
        "--decode-toast",
        metavar="TIME",
        help="Afterwards, check whether updates write unchanged TOAST values again. Decodes up to three "
        "tables through a temporary replication slot, each for at most 60 s or 64 MiB of WAL. Needs "
        "wal_level = logical and the attribute REPLICATION.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="TARGET",
        help="Give shares of the ceiling of this target: rds:NAME, a recorded snapshot, or any target of "
        "diagnose. --class, --last and the like describe this target.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(inspect, flags=INSTANCE, read_options=READ, output=brief_output_options())
    app.command("inspect")(command)


def inspect(
    dsn: Dsn = None,
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    output: Output,
    duration: Duration = DEFAULT_FOR,
    pooler: Pooler = None,
    decode_toast: Decode = None,
    target: Target = None,
) -> None:
    """
    Find what inside a database causes its reads and writes.

    Plimsoll watches the database read-only and changes nothing. It prints commands for you to run. Ctrl-C
    ends the watching early and reports what was seen so far.

    Exit status: 0 nothing above a note, 1 something critical or a warning, 2 unknown or bad input.
    """
    from plimsoll.cli.inspect.run import InspectOptions, run_inspect

    options = InspectOptions(
        duration=duration, poolers=tuple(pooler or ()), decode_toast=decode_toast, target=target, output=output
    )
    raise typer.Exit(run_inspect(dsn, flags, read_options, options))
