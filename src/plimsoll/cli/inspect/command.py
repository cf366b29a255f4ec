"""The options of `plimsoll inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import options
from plimsoll.cli.output import Form, Format, Html, Width
from plimsoll.cli.watching import DEFAULT_FOR

Dsn = Annotated[
    str | None,
    typer.Argument(
        metavar="DSN",
        envvar="PLIMSOLL_DSN",
        show_default=False,
        help="The database, as 'host=db1 dbname=orders'; the role needs pg_monitor. Other users can "
        "see a command line: keep a password in PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.",
    ),
]
Duration = Annotated[
    str, typer.Option("--for", metavar="TIME", help="How long it is watched: 30s, 10m, 2h.")
]
Pooler = Annotated[
    list[str] | None,
    typer.Option(
        "--pooler",
        metavar="URL",
        help="A pooler in front of it, as pgbouncer://user@host:6432 or pgpool://user@host:9999, or "
        "its configuration file; may be repeated.",
    ),
]
Decode = Annotated[
    str | None,
    typer.Option(
        "--decode-toast",
        metavar="TIME",
        help="Then watch updates of up to three tables that write values out of line again, each for at "
        "most 60 s or 64 MiB of WAL, by a temporary replication slot: it tells whether the values "
        "were the same. Needs wal_level = logical and REPLICATION.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="TARGET",
        help="rds:NAME, a recorded snapshot, or any target of diagnose: shares are of the ceiling "
        "that binds it. --class, --last and the like are about this target.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write it to this file instead."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("inspect")(options.of_target(inspect))


def inspect(
    dsn: Dsn = None,
    *,
    flags: InstanceOptions,
    reach: ReadOptions,
    duration: Duration = DEFAULT_FOR,
    pooler: Pooler = None,
    decode_toast: Decode = None,
    target: Target = None,
    form: Form = Format.TEXT,
    output: Output = None,
    width: Width = None,
    html: Html = None,
) -> None:
    """
    Find what inside a database makes it read and write, and what would end it.

    It is watched read-only, and nothing is changed: commands are printed for you to run. Ctrl-C ends
    the watching early and reports what there is.

    Exit status: 0 nothing above a note, 1 something critical or a warning, 2 could not tell or bad
    input.
    """
    from plimsoll.cli.inspect.run import Wanted, run_inspect

    wanted = Wanted(
        duration=duration,
        poolers=tuple(pooler or ()),
        decode_toast=decode_toast,
        target=target,
        form=form,
        output=output,
        width=width,
        html=html,
    )
    raise typer.Exit(run_inspect(dsn, flags, reach, wanted))
