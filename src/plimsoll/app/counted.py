"""`--counts FILE`: add what an application counted while the storage was measured."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from plimsoll.errors import DataError, UsageError
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.units import format_time


def with_counts(snapshot: Snapshot, files: Sequence[Path]) -> Snapshot:
    """
    Add the series of the same time from other files to a snapshot.

    Args:
        snapshot: what was measured; its own series do not change.
        files: exports or snapshots, in any form that a target may have; the first file that has a
            metric provides it.

    Raises:
        UsageError: a file does not exist.
        DataError: a file cannot be read, covers another time, or has nothing new.
    """
    for file in files:
        snapshot = _with_file(snapshot, file)
    return snapshot


def _with_file(snapshot: Snapshot, file: Path) -> Snapshot:
    from plimsoll.sources.targets.one import read

    if not file.exists():
        raise UsageError(f"'{file}' does not exist", "Give --counts a file or folder of exported metrics.")
    found = read(file)
    window = snapshot.window_s
    start, end = found.window_s or (0, 0)
    same_time = found if window is None else cut(found, window)
    if not same_time.series:
        raise DataError(
            f"'{file}' covers none of the time in which '{snapshot.source}' was measured",
            f"It covers {format_time(start)} to {format_time(end)}.",
        )
    new = {m: s for m, s in same_time.series.items() if m not in snapshot.series}
    if not new:
        names = ", ".join(sorted(metric.value for metric in same_time.series))
        raise DataError(
            f"'{file}' has no metric that the target lacks: {names}",
            "Name its columns arrivals_per_s, transactions_per_s, active_session_count or waiting_work_count.",
        )
    return replace(
        snapshot,
        series={**snapshot.series, **new},
        gaps=tuple(gap for gap in snapshot.gaps if gap.metric not in {m.value for m in new}),
    )
