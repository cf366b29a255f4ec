"""`plimsoll inspect`: what inside the database, or its pooler, makes it read and write."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.cli import options
from plimsoll.cli.against import Against, against
from plimsoll.cli.diagnose import Format
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.moments import seconds_of
from plimsoll.cli.targets import Reach, read_target
from plimsoll.cli.wire import InstanceFlags, diagnose_snapshot
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection
from plimsoll.model.database import Observation

DEFAULT_FOR = "60s"
# What sleeps less than this is not shown; a terminal is written to once in so many seconds.
_SHOWN_EVERY_S = 0.5

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
Target = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="TARGET",
        help="rds:NAME, a recorded snapshot, or any target of diagnose: shares are of the ceiling "
        "that binds it. --class, --last and the like are about this target.",
    ),
]
Form = Annotated[Format, typer.Option("--format", help="What to print: text, json or markdown.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write it to this file instead."),
]
Width = Annotated[int | None, typer.Option("--width", min=40, max=400, help="Columns of the text.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("inspect")(options.of_target(inspect))


def inspect(
    dsn: Dsn = None,
    *,
    flags: InstanceFlags,
    reach: Reach,
    duration: Duration = DEFAULT_FOR,
    pooler: Pooler = None,
    target: Target = None,
    form: Form = Format.TEXT,
    output: Output = None,
    width: Width = None,
) -> None:
    """
    Find what inside a database makes it read and write, and what would end it.

    It is watched read-only, and nothing is changed: commands are printed for you to run. Ctrl-C ends
    the watching early and reports what there is.

    Exit status: 0 nothing above a note, 1 something critical or a warning, 2 could not tell or bad
    input.
    """
    seconds = seconds_of(duration, "--for")
    if not dsn:
        raise UsageError(
            "no database is named", "Give a DSN, as 'host=db1 dbname=orders', or set PLIMSOLL_DSN."
        )
    if target is None and (flags != InstanceFlags() or reach != Reach()):
        raise UsageError(
            "an instance or a window is described, and no --against says of what",
            "Give --against rds:NAME or a snapshot, or leave --class, --last and the like out.",
        )
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(
            f"'{output}' cannot be written: its directory does not exist",
            "Give the name of a file in a directory that exists.",
        )
    held = None
    if target is not None:
        held = against(diagnose_snapshot(read_target(target, flags, reach)))
    found = inspect_database(dsn, seconds, poolers=tuple(pooler or ()), held=held)
    _write(found, form, width, output)
    raise typer.Exit(status_of(found))


def inspect_database(
    dsn: str, seconds: float, *, poolers: Sequence[str] = (), held: Against | None = None
) -> Inspection:
    """
    Watch a database and say what makes it read and write.

    Args:
        dsn: libpq connection string or URI.
        seconds: how long, > 0.
        poolers: addresses or configuration files of poolers in front of it.
        held: the ceiling that shares are of; None where none is known.

    Raises:
        UsageError: the DSN is not a connection string.
        SourceError: the server refused us, or did not answer.
    """
    from plimsoll.causes.inspect import inspect as law

    observation = observed(dsn, seconds, poolers)
    if held is None:
        return law(observation)
    found = law(observation, ceiling_bytes_per_s=held.bytes_per_s, ceiling_name=held.name)
    return replace(found, notes=(*held.notes, *found.notes))


def observed(dsn: str, seconds: float, poolers: Sequence[str] = ()) -> Observation:
    """What a database and its poolers did for some seconds; less where somebody pressed Ctrl-C."""
    from plimsoll.sources.database.read import observe
    from plimsoll.sources.pooler.read import pooler_reader

    readers = [pooler_reader(target) for target in poolers]
    with ended_like_ctrl_c():
        try:
            return observe(dsn, duration_s=seconds, poolers=readers, sleep=_progress(seconds))
        finally:
            if sys.stderr.isatty():
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()


def status_of(found: Inspection) -> int:
    """The exit status: 1 where something is to be done, 2 where nothing could be told."""
    if any(cause.severity in {"critical", "warning"} for cause in found.causes):
        return 1
    return 2 if any(gap.hides == "verdict" for gap in found.missing) else 0


def _progress(seconds: float) -> Callable[[float], None]:
    """Sleep as asked; on a terminal with a line that says for how long it has been."""
    if not sys.stderr.isatty():
        return time.sleep
    began_s = time.monotonic()

    def sleep(wanted_s: float) -> None:
        until_s = time.monotonic() + wanted_s
        while (left_s := until_s - time.monotonic()) > 0:
            elapsed_s = min(time.monotonic() - began_s, seconds)
            sys.stderr.write(
                f"\r\033[Kwatched {elapsed_s:.0f} of {seconds:.0f} s; Ctrl-C reports what there is"
            )
            sys.stderr.flush()
            time.sleep(min(left_s, _SHOWN_EVERY_S))

    return sleep


def _write(found: Inspection, form: Format, width: int | None, output: Path | None) -> None:
    text = _rendered(found, form, width, is_file=output is not None)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from plimsoll.sinks.file import write_aside

    write_aside(output, text.encode())
    typer.echo(f"inspection written to {output}", err=True)


def _rendered(found: Inspection, form: Format, width: int | None, *, is_file: bool) -> str:
    if form == Format.JSON:
        from plimsoll.sinks.inspect_json import render_inspection_json

        return render_inspection_json(found).decode()
    if form == Format.MARKDOWN:
        from plimsoll.sinks.inspect_markdown import render_inspection_markdown

        return render_inspection_markdown(found)
    from plimsoll.sinks.inspect_text import render_inspection

    color = not is_file and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return render_inspection(found, width=width, color=color)
