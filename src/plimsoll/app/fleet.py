"""Several instances, one after the other: only a row of each is kept, so that memory does not grow."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.options import ReadOptions
from plimsoll.app.read import in_window
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.overview import Overview, OverviewRow, UnreadInstance, Usage
from plimsoll.model.snapshot import Snapshot

Spent = Callable[[], tuple[Usage | None, Decimal | None]]
"""Tells, once everything is read, what was asked of an API and what that costs in US dollars."""


def read_files(
    target: str, *, instance_file: Path | None, reach: ReadOptions
) -> Iterator[Snapshot | UnreadInstance]:
    """
    Yield every instance of a folder or file, each cut to the window that was asked for, if one was.

    Raises:
        UsageError: the target does not exist.
        SourceError: it cannot be opened.
        DataError: it holds nothing that can be read.
    """
    from plimsoll.sources.targets.many import read_all

    path = Path(target)
    if not path.exists():
        raise UsageError(f"target '{target}' does not exist", "Give a file or folder.")
    for found in read_all(path, instance_file=instance_file):
        if isinstance(found, UnreadInstance):
            yield found
            continue
        try:
            yield in_window(found, found.instance.identifier, reach)
        except DataError as error:
            yield UnreadInstance(
                identifier=found.instance.identifier, reason=error.message, remedy=error.hint
            )


def diagnose_fleet(
    stream: Iterator[Snapshot | UnreadInstance],
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
    unread: list[UnreadInstance] = []
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
        if isinstance(found, UnreadInstance):
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
    """Return 1 if any instance binds, else 2 if any could not be judged or read, or none was, else 0."""
    verdicts = {row.verdict for row in overview.rows}
    if Verdict.BINDS in verdicts:
        return 1
    is_whole = verdicts and Verdict.UNKNOWN not in verdicts
    return 0 if is_whole and not overview.unread and not overview.stopped else 2


def _row(
    item: Snapshot | UnreadInstance, diagnose: Callable[[Snapshot], Diagnosis]
) -> OverviewRow | UnreadInstance:
    if isinstance(item, UnreadInstance):
        return item
    try:
        failed = tuple(gap for gap in item.gaps if gap.is_failed)
        return replace(overview_row(diagnose(item)), failed=failed)
    except PlimsollError as error:
        return UnreadInstance(
            identifier=item.instance.identifier, reason=error.message, remedy=error.hint
        )
