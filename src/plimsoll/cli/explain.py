"""`plimsoll explain`: record query plans, and compare them."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll import __version__
from plimsoll.app.options import Option, StatementChoice
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import OptionGroup, expand
from plimsoll.cli.output import (
    OUTPUT_PANEL,
    WIDTH_OF_PAIRS,
    Output,
    OutputOfPairs,
    check_ending,
    check_writable,
    is_color,
    output_options,
)
from plimsoll.errors import UsageError
from plimsoll.model.explain import Capture, CaptureFile, UnrecordedStatement


class PlansOutput(OutputOfPairs, frozen=True, kw_only=True):
    """Where plans go."""

    file: Annotated[Path | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """Write the plans to this file instead of standard output."""

    def check(self) -> None:
        """Refuse a file that cannot be written."""
        check_ending(self.file, "-o writes query plans in JSON", (".json",))
        check_writable(self.file)


class RecordOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    dsn: Annotated[str | None, Option("[DSN]", envvar="PLIMSOLL_DSN")] = None
    """PostgreSQL server, for example 'host=db1 dbname=orders user=dba'. Not needed with --log."""
    choice: StatementChoice
    output: Annotated[PlansOutput, OptionGroup(PlansOutput).only("file", "width")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    explain = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Record query plans, and compare them.")
    explain.command("record")(expand(record))
    explain.command("compare")(expand(compare, output=output_options(WIDTH_OF_PAIRS)))
    app.add_typer(explain, name="explain")


def record(options: RecordOptions) -> int:
    """
    Run statements with EXPLAIN (ANALYZE, BUFFERS, SETTINGS), and record their plans.

    Each statement runs in a read-only transaction of its own, under a timeout, and is rolled back. Statements
    from a log lose their literals.

    Exit status: 0 all were recorded, 1 some, 2 none, or bad input.
    """
    choice = options.choice
    if choice.watched is not None and choice.top is None:
        raise UsageError("--for needs --top", "Add --top N, or leave out --for.")
    if choice.log and (choice.statements or choice.file or choice.top):
        raise UsageError("--log and statements cannot be recorded together", "Record them into two files.")
    if choice.log:
        file = _of_logs(choice.log)
    elif options.dsn is None:
        raise UsageError("there is no server to record from", "Give a DSN, set PLIMSOLL_DSN, or give --log FILE.")
    else:
        from plimsoll.app.explain import record_server

        with ended_like_ctrl_c():
            file = record_server(options.dsn, choice, sleep=time.sleep, now_s=time.time())
    _write(file, options.output)
    return 2 if not file.captures else 1 if file.unrecorded else 0


def compare(
    first: Annotated[Path, typer.Argument(metavar="NORMAL", help="Plans of a normal time: a recording or a log.")],
    second: Annotated[Path, typer.Argument(metavar="SLOW", help="Plans of a slow time.")],
    *,
    output: Output,
) -> int:
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
    return plans.status_of(comparison)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return the shortest names by which the two files differ."""
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second)


def _of_logs(paths: Sequence[Path]) -> CaptureFile:
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


def _write(file: CaptureFile, output: PlansOutput) -> None:
    from plimsoll.reports.document.text import document_text
    from plimsoll.reports.explain.document import recorded_document
    from plimsoll.reports.explain.json import render_captures
    from plimsoll.reports.files.file import write_aside

    if output.file is None:
        sys.stdout.write(render_captures(file))
    else:
        write_aside(output.file, render_captures(file).encode(), is_private=True)
        text = document_text(recorded_document(file), width=output.width, color=is_color(), least=60)
        sys.stdout.write(text)
    sys.stdout.flush()
