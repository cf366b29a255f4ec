"""`plimsoll inspect`: what inside the database, or its pooler, makes it read and write."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.against import Against
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import found_beside, found_in
from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.read import read_target
from plimsoll.app.toast_samples import decode_seconds, with_samples
from plimsoll.cli import options
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import Format, is_color
from plimsoll.cli.waiting import TERMINAL
from plimsoll.cli.watching import DEFAULT_FOR, observed
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection

_NOTHING_HELD = Against(
    bytes_per_s=None,
    name="",
    notes=("no ceiling is known here: --against rds:NAME, or a snapshot, tells which binds",),
)

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
    flags: InstanceOptions,
    reach: ReadOptions,
    duration: Duration = DEFAULT_FOR,
    pooler: Pooler = None,
    decode_toast: Decode = None,
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
    sampled_s = decode_seconds(decode_toast)
    if not dsn:
        raise UsageError(
            "no database is named", "Give a DSN, as 'host=db1 dbname=orders', or set PLIMSOLL_DSN."
        )
    if target is None and (flags != InstanceOptions() or reach != ReadOptions()):
        raise UsageError(
            "an instance or a window is described, and no --against says of what",
            "Give --against rds:NAME or a snapshot, or leave --class, --last and the like out.",
        )
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(
            f"'{output}' cannot be written: its directory does not exist",
            "Give the name of a file in a directory that exists.",
        )
    snapshot = None if target is None else read_target(target, flags, reach, TERMINAL)
    diagnosis = None if snapshot is None else diagnose_snapshot(snapshot)
    observation = observed(dsn, seconds, tuple(pooler or ()))
    if sampled_s is not None:
        with ended_like_ctrl_c():
            observation = with_samples(dsn, observation, sampled_s)
    if snapshot is None or diagnosis is None:
        found = found_in(observation, _NOTHING_HELD)
    else:
        found = found_beside(diagnosis, observation, snapshot.credit_clock)
    _write(found, form, width, output)
    raise typer.Exit(status_of(found))


def status_of(found: Inspection) -> int:
    """The exit status: 1 where something is to be done, 2 where nothing could be told."""
    if any(cause.severity in {"critical", "warning"} for cause in found.causes):
        return 1
    return 2 if any(gap.hides == "verdict" for gap in found.missing) else 0


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

    color = not is_file and is_color()
    return render_inspection(found, width=width, color=color)
