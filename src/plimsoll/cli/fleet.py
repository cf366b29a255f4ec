"""`plimsoll diagnose 'rds:*'`: many instances, one after the other, and a table of them all."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from operator import length_hint
from pathlib import Path

import msgspec
import typer

from plimsoll.cli.targets import Reach, in_window
from plimsoll.cli.waiting import told_while
from plimsoll.cli.wire import diagnose_snapshot
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.overview import Overview, OverviewRow, Unread, Usage
from plimsoll.model.snapshot import Snapshot

Spent = Callable[[], tuple[Usage | None, Decimal | None]]
"""Tells, once everything is read, what was asked of an API and what that costs in US dollars."""


EVERY = "*"
"""What `--identifier` is for every instance of a folder or file."""


def read_files(
    target: str, *, instance_file: Path | None, reach: Reach
) -> Iterator[Snapshot | Unread]:
    """
    Every instance of a folder or file, each cut to the window that was asked for, if one was.

    Raises:
        UsageError: the target does not exist.
        SourceError: it cannot be opened.
        DataError: it holds nothing that can be read.
    """
    from plimsoll.sources.many import read_all

    path = Path(target)
    if not path.exists():
        raise UsageError(f"target '{target}' does not exist", "Give a file or folder.")
    for found in read_all(path, instance_file=instance_file):
        if isinstance(found, Unread):
            yield found
            continue
        try:
            yield in_window(found, found.instance.identifier, reach)
        except DataError as error:
            yield Unread(
                identifier=found.instance.identifier, reason=error.message, remedy=error.hint
            )


def run(
    target: str,
    stream: Iterator[Snapshot | Unread],
    *,
    form: str = "text",
    width: int | None = None,
    html: Path | None = None,
    lists_all: bool = False,
    window_s: tuple[int, int] | None = None,
    spent: Spent | None = None,
    waits: Callable[[], str] | None = None,
) -> int:
    """
    Diagnose every instance of a stream, print the table, and return the exit status.

    Args:
        target: what was asked for, as `rds:*`; it stands in the table as the source.
        stream: snapshots one by one; `operator.length_hint` of it, if any, is shown as progress.
        form: `text`, `json` or `markdown`.
        width: columns of the text; None takes 100, or the terminal's if it has fewer.
        html: where the page is written too; None for nowhere.
        lists_all: whether instances that are not near a limit get rows instead of a list of names.
        window_s: what was asked for, epoch seconds; None takes what the snapshots cover.
        spent: asked once, after the last instance.
        waits: what the reading waits for at this moment, shown on a terminal.

    Returns:
        1 if any instance binds, else 2 if any could not be judged or read, else 0.

    Raises:
        PlimsollError: the stream failed before its first instance.
        UsageError: the page cannot be written.
    """
    progress = _Progress(length_hint(stream), is_told_elsewhere=waits is not None)
    with told_while(lambda: f"{progress.said}{waits()}") if waits else nullcontext():
        try:
            overview = diagnose_fleet(
                stream,
                diagnose=diagnose_snapshot,
                source=target,
                window_s=window_s,
                spent=spent,
                told=progress.tell,
            )
        finally:
            progress.clear()
    _print(overview, form, width, lists_all=lists_all)
    if html is not None:
        from plimsoll.sinks.file import write_aside
        from plimsoll.sinks.overview_html import render_overview_html

        write_aside(html, render_overview_html(overview).encode())
        typer.echo(f"report written to {html}", err=True)
    return exit_status(overview)


def diagnose_fleet(
    stream: Iterator[Snapshot | Unread],
    *,
    diagnose: Callable[[Snapshot], Diagnosis],
    source: str,
    window_s: tuple[int, int] | None = None,
    spent: Spent | None = None,
    told: Callable[[int], None] | None = None,
) -> Overview:
    """
    Diagnose snapshots as they come and keep only their rows, so that memory does not grow.

    An instance that cannot be diagnosed becomes unread, and the others go on. A stream that fails
    after its first instance ends the reading there: what was read is shown, with the reason.

    Args:
        stream: snapshots, and instances that could not be read.
        diagnose: of one snapshot.
        source: what was read, for people.
        window_s: what was asked for, epoch seconds; None takes what the snapshots cover.
        spent: asked once, after the last instance.
        told: called with the number of instances read, after each.

    Raises:
        PlimsollError: the stream failed before its first instance.
    """
    rows: list[OverviewRow] = []
    unread: list[Unread] = []
    stopped = ""
    while True:
        try:
            item = next(stream, None)
        except PlimsollError as error:
            if not rows and not unread:
                raise
            stopped = ". ".join(part for part in (error.message, error.hint) if part)
            break
        if item is None:
            break
        found = _row(item, diagnose)
        # The next snapshot must not be read while this one is still held.
        del item
        if isinstance(found, Unread):
            unread.append(found)
        else:
            rows.append(found)
        if told is not None:
            told(len(rows) + len(unread))
    usage, usd = spent() if spent is not None else (None, None)
    return overview_of(
        rows, unread, window_s=window_s, source=source, usage=usage, usd=usd, stopped=stopped
    )


def exit_status(overview: Overview) -> int:
    """1 if any instance binds, else 2 if any could not be judged or read, or none was, else 0."""
    verdicts = {row.verdict for row in overview.rows}
    if Verdict.BINDS in verdicts:
        return 1
    is_whole = verdicts and Verdict.UNKNOWN not in verdicts
    return 0 if is_whole and not overview.unread and not overview.stopped else 2


def _row(
    item: Snapshot | Unread, diagnose: Callable[[Snapshot], Diagnosis]
) -> OverviewRow | Unread:
    if isinstance(item, Unread):
        return item
    try:
        failed = tuple(gap for gap in item.gaps if gap.is_failed)
        return msgspec.structs.replace(overview_row(diagnose(item)), failed=failed)
    except PlimsollError as error:
        return Unread(identifier=item.instance.identifier, reason=error.message, remedy=error.hint)


def _print(overview: Overview, form: str, width: int | None, *, lists_all: bool) -> None:
    if form == "json":
        from plimsoll.sinks.overview_json import render_overview_json

        text = render_overview_json(overview).decode()
    elif form == "markdown":
        from plimsoll.sinks.overview_markdown import render_overview_markdown

        text = render_overview_markdown(overview, lists_all=lists_all)
    else:
        from plimsoll.sinks.overview_text import render_overview

        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        text = render_overview(overview, width=width, color=color, lists_all=lists_all)
    sys.stdout.write(text)
    sys.stdout.flush()


class _Progress:
    """`31 of 50` on standard error while it is a terminal; a pipe or a log gets nothing."""

    def __init__(self, total: int, *, is_told_elsewhere: bool = False) -> None:
        """Expect `total` instances; 0 if their number is not known."""
        self._total = total
        self._is_shown = sys.stderr.isatty() and not is_told_elsewhere
        self.said = ""
        """For a line that somebody else writes."""
        self._length = 0

    def tell(self, count: int) -> None:
        """Replace what was told before."""
        self.said = f"{count:,} read, "
        if self._is_shown:
            text = f"{count:,} of {self._total:,}" if self._total >= count else f"{count:,} read"
            sys.stderr.write(f"\r{text.ljust(self._length)}")
            sys.stderr.flush()
            self._length = len(text)

    def clear(self) -> None:
        """Leave the line empty for what follows."""
        if self._length:
            sys.stderr.write(f"\r{' ' * self._length}\r")
            sys.stderr.flush()
