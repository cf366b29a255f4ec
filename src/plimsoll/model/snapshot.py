"""
All that one reading brought home, and its file form.

The file is JSON with `schema = "plimsoll.snapshot/1"`; it round-trips exactly. A series whose times
lie on a regular grid is written as `start_s`, `step_s` and a list with null for gaps, otherwise
with its times. Encoding and decoding are pure; reading and writing files is a source's business.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series

SCHEMA = "plimsoll.snapshot/1"


class Gap(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that could not be read, and what would supply it."""

    metric: str
    """Our metric name, or the name of the setting that is missing."""
    reason: str
    """Why it is missing: `not in the export`, `access denied`, `partial data` …"""
    remedy: str
    """What would supply it: a permission, a flag, a metric to export."""
    is_failed: bool = False
    """Whether it was asked for and refused, or came in part; false where there was nothing to ask."""


class EventKind(StrEnum):
    """What an event does to the story that the metrics tell."""

    RESTORE = "restore"
    """Made from a snapshot or a point in time: blocks not yet loaded come slowly."""
    CLASS_CHANGE = "class_change"
    """Another instance class from here on, so other limits of the instance."""
    STORAGE_CHANGE = "storage_change"
    """Other storage from here on, so other limits of the volumes."""
    OPTIMISATION = "optimisation"
    """Storage is being rearranged; it serves between the old and the new limits."""
    CONVERSION = "conversion"
    """Became Multi-AZ: the standby's storage is loaded from a snapshot."""
    BACKUP = "backup"
    FAILOVER = "failover"
    RESTART = "restart"
    OTHER = "other"


class Annotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened at a moment, to be shown on the timeline."""

    time_s: int
    text: str
    kind: EventKind = EventKind.OTHER


class CreditClock(Struct, frozen=True, kw_only=True):
    """How the times of a snapshot lie to those of other clocks, where a gate ran faster than they do."""

    ratio: float
    """Emulated seconds in a real one, ≥ 1; rates are real all the same."""
    emulated_s: float
    """Of the series at one moment, epoch seconds."""
    real_s: float
    """That moment by every other clock, epoch seconds."""

    def real_of(self, emulated_s: float) -> float:
        """The real moment of one in the series, epoch seconds."""
        return self.real_s + (emulated_s - self.emulated_s) / self.ratio


class Snapshot(Struct, frozen=True, kw_only=True, eq=False):
    """One reading: the instance, its series, what was missing, and where it came from."""

    instance: Instance
    series: Mapping[Metric, Series]
    source: str
    """Where it came from, for people: `export folder ./metrics`, `host db1, device nvme1n1`."""
    is_simulated: bool = False
    """True where the numbers come from a simulator; every report says so."""
    note: str = ""
    """One sentence about the origin, printed in reports."""
    gaps: tuple[Gap, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    fine: Mapping[Metric, Series] = {}
    """The same quantities at a finer step, for a part of the window: what an average hides."""
    observation: Observation | None = None
    """What the database said of itself meanwhile, or later; None where it was not asked. Its times are
    real ones, whatever the clock of the series."""
    credit_clock: CreditClock | None = None
    """Of a gate; None where times are real."""
    asked_s: tuple[int, int] | None = None
    """The window that was asked for, epoch seconds [start, end); None where all there is was read."""

    @property
    def window_s(self) -> tuple[int, int] | None:
        """First start and last end over all series, epoch seconds; None without any sample."""
        filled = [s for s in self.series.values() if s.time_s.size]
        if not filled:
            return None
        start = min(int(s.time_s[0]) for s in filled)
        end = max(int(s.time_s[-1]) + s.step_s for s in filled)
        return start, end

    def __eq__(self, other: object) -> bool:
        """Equal field by field."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in self.__struct_fields__)


class _SeriesFile(Struct, kw_only=True, omit_defaults=True):
    metric: Metric
    step_s: int
    value: list[float | None]
    start_s: int | None = None
    time_s: list[int] | None = None


class _SnapshotFile(Struct, kw_only=True, omit_defaults=True):
    schema: str
    instance: Instance
    source: str
    series: list[_SeriesFile]
    is_simulated: bool = False
    note: str = ""
    gaps: list[Gap] = []
    annotations: list[Annotation] = []
    fine: list[_SeriesFile] = []
    observation: Observation | None = None
    credit_clock: CreditClock | None = None
    asked_s: tuple[int, int] | None = None


def cut(snapshot: Snapshot, window_s: tuple[int, int]) -> Snapshot:
    """
    The part of a snapshot within a window.

    Args:
        snapshot: any.
        window_s: epoch seconds, [start, end); a sample belongs to the window in which it starts.

    Returns:
        The snapshot with the samples of the window. Series without any are left out. Annotations
        before the window stay, since what happened before it may explain it. What was asked for
        is then another window, and is not kept.
    """
    return msgspec.structs.replace(
        snapshot,
        series=_cut(snapshot.series, window_s),
        fine=_cut(snapshot.fine, window_s),
        annotations=tuple(a for a in snapshot.annotations if a.time_s < window_s[1]),
        asked_s=None,
    )


def _cut(series: Mapping[Metric, Series], window_s: tuple[int, int]) -> dict[Metric, Series]:
    found = {}
    for metric, whole in series.items():
        first, last = np.searchsorted(whole.time_s, window_s, side="left")
        if first < last:
            found[metric] = replace(
                whole, time_s=whole.time_s[first:last], value=whole.value[first:last]
            )
    return found


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """The snapshot as UTF-8 JSON; equal snapshots give equal bytes."""
    return msgspec.json.encode(
        _SnapshotFile(
            schema=SCHEMA,
            instance=snapshot.instance,
            source=snapshot.source,
            is_simulated=snapshot.is_simulated,
            note=snapshot.note,
            gaps=list(snapshot.gaps),
            annotations=list(snapshot.annotations),
            series=_series_files(snapshot.series),
            fine=_series_files(snapshot.fine),
            observation=snapshot.observation,
            credit_clock=snapshot.credit_clock,
            asked_s=snapshot.asked_s,
        )
    )


def decode_snapshot(text: bytes) -> Snapshot:
    """
    The snapshot that `encode_snapshot` wrote.

    Raises:
        DataError: not JSON, not this schema, or a series out of order.
    """
    try:
        file = msgspec.json.decode(text, type=_SnapshotFile)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"not a readable snapshot: {error}",
            "Save snapshots with 'plimsoll record TARGET -o FILE'.",
        ) from error
    if file.schema != SCHEMA:
        raise DataError(
            f"snapshot schema '{file.schema}' is not one this version reads",
            f"This version reads '{SCHEMA}'; record the target again.",
        )
    return Snapshot(
        instance=file.instance,
        series={s.metric: _series(s) for s in file.series},
        source=file.source,
        is_simulated=file.is_simulated,
        note=file.note,
        gaps=tuple(file.gaps),
        annotations=tuple(file.annotations),
        fine={s.metric: _series(s) for s in file.fine},
        observation=file.observation,
        credit_clock=file.credit_clock,
        asked_s=file.asked_s,
    )


def is_snapshot(document: Any) -> bool:
    """Whether a decoded JSON document says it is a snapshot of any version."""
    return isinstance(document, dict) and str(document.get("schema", "")).startswith(
        "plimsoll.snapshot/"
    )


def _series_files(series: Mapping[Metric, Series]) -> list[_SeriesFile]:
    return [_series_file(series[m]) for m in Metric if m in series]


def _series_file(series: Series) -> _SeriesFile:
    times, step = series.time_s, series.step_s
    value = [None if np.isnan(v) else float(v) for v in series.value]
    if times.size:
        offsets = times - times[0]
        slots = int(offsets[-1]) // step + 1
        # Less than half filled, or off the grid: the times themselves are shorter and exact.
        if (
            not np.any(offsets % step)
            and slots <= 2 * times.size
            and not np.isnan(series.value).any()
        ):
            grid: list[float | None] = [None] * slots
            for index, v in zip((offsets // step).tolist(), value, strict=True):
                grid[index] = v
            return _SeriesFile(metric=series.metric, step_s=step, start_s=int(times[0]), value=grid)
    return _SeriesFile(metric=series.metric, step_s=step, time_s=times.tolist(), value=value)


def _series(file: _SeriesFile) -> Series:
    where = f"series '{file.metric.value}' of the snapshot"
    if file.step_s <= 0:
        raise DataError(f"{where} has a step of {file.step_s} s", "A step is longer than zero.")
    value = np.array(file.value, dtype=np.float64)
    if file.time_s is not None:
        times = np.array(file.time_s, dtype=np.int64)
        if times.size != value.size or (times.size > 1 and bool(np.any(np.diff(times) <= 0))):
            raise DataError(
                f"{where} has times that are not one per value and increasing",
                "Record the target again.",
            )
        return Series(metric=file.metric, step_s=file.step_s, time_s=times, value=value)
    if file.start_s is None and value.size:
        raise DataError(f"{where} has neither start nor times", "Record the target again.")
    kept = np.flatnonzero(~np.isnan(value)).astype(np.int64)
    return Series(
        metric=file.metric,
        step_s=file.step_s,
        time_s=(file.start_s or 0) + kept * file.step_s,
        value=value[kept],
    )
