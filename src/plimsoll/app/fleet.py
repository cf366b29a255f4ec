"""Diagnose several instances in turn, and keep only a row of each, so that memory does not grow."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.options import ReadOptions
from plimsoll.app.read import in_window
from plimsoll.app.targets import Files
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.contained import collecting, guarded
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.overview import Overview, OverviewRow, UnreadInstance, Usage
from plimsoll.model.snapshot import Snapshot

Spent = Callable[[], tuple[Usage | None, Decimal | None]]
"""Returns the requests that an API answered, and their cost in US dollars; called after the last instance."""


def read_files(
    target: Files, *, instance_file: Path | None, read_options: ReadOptions
) -> Iterator[Snapshot | UnreadInstance]:
    """
    Yield every instance of a folder or file, cut to the requested window if there is one.

    Raises:
        UsageError: the target does not exist.
        SourceError: the target cannot be opened.
        DataError: the target has nothing that can be read.
    """
    from plimsoll.sources.targets.many import read_all

    path = target.path
    if not path.exists():
        raise UsageError(f"target '{target}' does not exist", "Give a file or folder.")
    for found in read_all(path, instance_file=instance_file):
        if isinstance(found, UnreadInstance):
            yield found
            continue
        try:
            yield in_window(found, found.instance.identifier, read_options)
        except DataError as error:
            yield UnreadInstance(identifier=found.instance.identifier, reason=error.message, remedy=error.hint)


def diagnose_fleet(
    stream: Iterator[Snapshot | UnreadInstance],
    *,
    diagnose: Callable[[Snapshot], Diagnosis],
    source: str,
    window_s: tuple[int, int] | None = None,
    spent: Spent | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Overview:
    """
    Diagnose snapshots as they come and keep only their rows, so that memory does not grow.

    An instance that cannot be diagnosed is listed as unread, and the reading continues. If the stream
    fails after its first instance, the overview shows what was read until then, and the reason.

    Args:
        stream: snapshots, and instances that could not be read.
        diagnose: diagnoses one snapshot.
        source: name of what was read, for reports.
        window_s: requested window, epoch seconds; None takes what the snapshots cover.
        spent: called once, after the last instance.
        on_read: called after each instance, with the number of instances read.

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
        # Free this snapshot before the next one is read: two large ones might not fit in memory.
        del item
        if isinstance(found, UnreadInstance):
            unread.append(found)
        else:
            rows.append(found)
        if on_read is not None:
            on_read(len(rows) + len(unread))
    usage, usd = spent() if spent is not None else (None, None)
    return overview_of(rows, unread, window_s=window_s, source=source, usage=usage, usd=usd, stopped=stopped)


def exit_status(overview: Overview) -> int:
    """Return 1 if a limit binds on any instance, else 2 if any was not judged or read or there is none, else 0."""
    verdicts = {row.verdict for row in overview.rows}
    if Verdict.BINDS in verdicts:
        return 1
    is_whole = verdicts and Verdict.UNKNOWN not in verdicts
    return 0 if is_whole and not overview.unread and not overview.stopped else 2


def _row(item: Snapshot | UnreadInstance, diagnose: Callable[[Snapshot], Diagnosis]) -> OverviewRow | UnreadInstance:
    if isinstance(item, UnreadInstance):
        return item
    refused = tuple(gap for gap in item.gaps if gap.is_failed)
    try:
        with collecting() as failed:
            row = guarded("the instance", lambda: overview_row(diagnose(item)), None)
        if row is not None:
            return replace(row, failed=refused)
        return UnreadInstance(
            identifier=item.instance.identifier,
            reason=f"it could not be diagnosed: internal error {failed[0].error}",
            remedy="Please report this line.",
        )
    except PlimsollError as error:
        return UnreadInstance(identifier=item.instance.identifier, reason=error.message, remedy=error.hint)
