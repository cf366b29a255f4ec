"""`plimsoll explain`: record query plans, and compare them."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from plimsoll import __version__
from plimsoll.app.moments import seconds_of
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import (
    WIDTH_OF_PAIRS,
    Output,
    check_ending,
    check_writable,
    file_option,
    is_color,
    output_options,
    width_option,
)
from plimsoll.errors import UsageError
from plimsoll.model.explain import Capture, CaptureFile, UnrecordedStatement

_WHICH = "Statements"
_HOW = "Execution"


Dsn = Annotated[
    str | None,
    typer.Argument(
        metavar="[DSN]",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="PostgreSQL server, for example 'host=db1 dbname=orders user=dba'. Not needed with --log.",
    ),
]
OneStatement = Annotated[
    list[str] | None,
    typer.Option("--statement", metavar="SQL", help="Record this statement. Repeatable.", rich_help_panel=_WHICH),
]
StatementFile = Annotated[
    Path | None,
    typer.Option(
        "--statements",
        metavar="FILE",
        help="Record the statements in this file, which are separated by semicolons.",
        rich_help_panel=_WHICH,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=1,
        max=100,
        metavar="N",
        help="Record the N statements that took the most time, by pg_stat_statements. Takes only statements that read.",
        rich_help_panel=_WHICH,
    ),
]
LogFile = Annotated[
    list[Path] | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Read the plans of auto_explain from this log instead of a server. Repeatable.",
        rich_help_panel=_WHICH,
    ),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="With --top: count executions for this long, for example 60s.",
        rich_help_panel=_WHICH,
    ),
]
Param = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="VALUE",
        help="Value for $1, then for $2 and so on. Repeatable. A statement without its values is planned, not run.",
        rich_help_panel=_HOW,
    ),
]
ParamFile = Annotated[
    Path | None,
    typer.Option(
        "--params",
        metavar="FILE",
        help='Read values from a JSON file: {"QUERY ID OR STATEMENT": ["value", null]}.',
        rich_help_panel=_HOW,
    ),
]
Generic = Annotated[
    bool,
    typer.Option(
        "--generic",
        help="Plan without parameter values, like a prepared statement that is used often.",
        rich_help_panel=_HOW,
    ),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="Cancel a statement after this time.", rich_help_panel=_HOW)
]
Runs = Annotated[
    int, typer.Option("--runs", metavar="N", min=1, max=20, help="Run each statement N times.", rich_help_panel=_HOW)
]
AllowWrites = Annotated[
    bool,
    typer.Option(
        "--allow-writes",
        help="Also run INSERT, UPDATE, DELETE and MERGE, and roll them back. They still take locks, write "
        "WAL, fire triggers and leave dead rows.",
        rich_help_panel=_HOW,
    ),
]
PlansFile = Annotated[Path | None, file_option("Write the plans to this file instead of standard output.")]
Width = Annotated[int | None, width_option(WIDTH_OF_PAIRS)]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    explain = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Record query plans, and compare them.")
    explain.command("record")(record)
    explain.command("compare")(expand(compare, output=output_options(WIDTH_OF_PAIRS)))
    app.add_typer(explain, name="explain")


def record(
    dsn: Dsn = None,
    statement: OneStatement = None,
    statements: StatementFile = None,
    top: Top = None,
    log: LogFile = None,
    watched: For = None,
    param: Param = None,
    params: ParamFile = None,
    generic: Generic = False,
    timeout: Timeout = "30s",
    runs: Runs = 1,
    allow_writes: AllowWrites = False,
    output: PlansFile = None,
    width: Width = None,
) -> None:
    """
    Run statements with EXPLAIN (ANALYZE, BUFFERS, SETTINGS), and record their plans.

    Each statement runs in a read-only transaction of its own, under a timeout, and is rolled back. Statements
    from a log lose their literals.

    Exit status: 0 all were recorded, 1 some, 2 none, or bad input.
    """
    check_ending(output, "-o writes query plans in JSON", (".json",))
    check_writable(output)
    if watched is not None and top is None:
        raise UsageError("--for needs --top", "Add --top N, or leave out --for.")
    if log and (statement or statements or top):
        raise UsageError("--log and statements cannot be recorded together", "Record them into two files.")
    if log:
        file = _of_logs(log)
    else:
        from plimsoll.app.explain import StatementChoice, record_server

        with ended_like_ctrl_c():
            file = record_server(
                _needed(dsn),
                StatementChoice(
                    statements=tuple(statement or ()),
                    file=statements,
                    top=top,
                    watched_s=None if watched is None else seconds_of(watched, "--for"),
                    parameters=None if param is None else tuple(param),
                    parameter_file=params,
                    is_generic=generic,
                    timeout_s=seconds_of(timeout, "--timeout"),
                    runs=runs,
                    allows_writes=allow_writes,
                ),
                sleep=time.sleep,
                now_s=time.time(),
            )
    _write(file, output, width)
    raise typer.Exit(2 if not file.captures else 1 if file.unrecorded else 0)


def compare(
    first: Annotated[Path, typer.Argument(metavar="NORMAL", help="Plans of a normal time: a recording or a log.")],
    second: Annotated[Path, typer.Argument(metavar="SLOW", help="Plans of a slow time.")],
    *,
    output: Output,
) -> None:
    """
    Compare the plans of the same statements at two times.

    Each file is a recording, a log with plans of auto_explain, or output of EXPLAIN.

    Exit status: 0 no difference, 1 something differs, 2 unknown or bad input.
    """
    from plimsoll.explain import plans
    from plimsoll.sources.explain.file import read_captures

    sides = (read_captures(first), read_captures(second))
    comparison = plans.compare(*sides, names=_names(first, second))
    output.write(comparison)
    raise typer.Exit(plans.status_of(comparison))


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return the shortest names by which the two files differ."""
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second)


def _needed(dsn: str | None) -> str:
    if dsn is None:
        raise UsageError("there is no server to record from", "Give a DSN, set PLIMSOLL_DSN, or give --log FILE.")
    return dsn


def _of_logs(paths: list[Path]) -> CaptureFile:
    from plimsoll.sources.explain.file import read_captures

    captures: list[Capture] = []
    unrecorded: list[UnrecordedStatement] = []
    notes = []
    for path in paths:
        found = read_captures(path)
        captures += found.captures
        unrecorded += found.unrecorded
        notes += [found.note] if found.note else []
    return CaptureFile(
        made_by=f"plimsoll {__version__}",
        place=", ".join(path.name for path in paths),
        captures=tuple(captures),
        unrecorded=tuple(unrecorded),
        note="; ".join(notes),
    )


def _write(file: CaptureFile, output: Path | None, width: int | None) -> None:
    from plimsoll.reports.document.text import document_text
    from plimsoll.reports.explain.document import recorded_document
    from plimsoll.reports.explain.json import render_captures
    from plimsoll.reports.files.file import write_aside

    if output is None:
        sys.stdout.write(render_captures(file))
    else:
        write_aside(output, render_captures(file).encode(), is_private=True)
        text = document_text(recorded_document(file), width=width, color=is_color(), least=60)
        sys.stdout.write(text)
    sys.stdout.flush()
