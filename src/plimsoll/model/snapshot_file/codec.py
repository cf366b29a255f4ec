"""
Conversion between snapshots and the bytes of their files; sources do the reading and writing.

A series on a regular grid is written as `start_s`, `step_s` and a list with null for gaps, any other with
its times. Decoding returns exactly what was encoded; tags of the instance are not encoded.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET

from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.form import SeriesRecord, SnapshotRecord
from plimsoll.model.snapshot_file.versions import SCHEMA, migrated

T = TypeVar("T")


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the snapshot, without tags, as UTF-8 JSON; equal snapshots give equal bytes."""
    return msgspec.json.encode(
        SnapshotRecord(
            schema=SCHEMA,
            instance=_checked(msgspec.structs.replace(snapshot.instance, tags=UNSET)),
            source=snapshot.source,
            is_simulated=snapshot.is_simulated,
            note=snapshot.note,
            gaps=snapshot.gaps,
            annotations=tuple(_checked(note) for note in snapshot.annotations),
            series=_series_files(snapshot.series),
            fine=_series_files(snapshot.fine),
            observation=snapshot.observation and _checked(snapshot.observation),
            credit_clock=snapshot.credit_clock and _checked(snapshot.credit_clock),
            asked_s=snapshot.asked_s,
            session_load=snapshot.session_load and _checked(snapshot.session_load),
        )
    )


def decode_snapshot(text: bytes) -> Snapshot:
    """
    Return the snapshot in a file that this or an older Plimsoll wrote.

    Raises:
        DataError: not JSON, no snapshot, one of a newer form, a field that its form does not have, or a
            series out of order.
    """
    try:
        file = msgspec.json.decode(text, type=_Head)
        if file.schema == SCHEMA:
            record = msgspec.json.decode(text, type=SnapshotRecord)
        else:
            record = msgspec.convert(migrated(msgspec.json.decode(text)), type=SnapshotRecord)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"not a readable snapshot: {error}", "Save snapshots with 'plimsoll record TARGET -o FILE'."
        ) from error
    return Snapshot(
        instance=record.instance,
        series={s.metric: _series(s) for s in record.series},
        source=record.source,
        is_simulated=record.is_simulated,
        note=record.note,
        gaps=record.gaps,
        annotations=record.annotations,
        fine={s.metric: _series(s) for s in record.fine},
        observation=record.observation,
        credit_clock=record.credit_clock,
        asked_s=record.asked_s,
        session_load=record.session_load,
    )


class _Head(msgspec.Struct):
    """The version of a file; all other fields are ignored."""

    schema: str = ""


def _checked(value: T) -> T:
    """Return a value within its bounds, with whole numbers as floats where its type says so: equal bytes."""
    return msgspec.convert(msgspec.to_builtins(value), type=type(value))


def is_snapshot(document: Any) -> bool:
    """Return whether a decoded JSON document is a snapshot of any version, by its schema."""
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("plimsoll.snapshot/")


def _series_files(series: Mapping[Metric, Series]) -> list[SeriesRecord]:
    return [_series_file(series[m]) for m in Metric if m in series]


def _series_file(series: Series) -> SeriesRecord:
    times, step = series.time_s, series.step_s
    value = [None if np.isnan(v) else float(v) for v in series.value]
    if times.size:
        offsets = times - times[0]
        slots = int(offsets[-1]) // step + 1
        # Less than half filled, or off the grid: the times themselves are shorter and exact.
        if not np.any(offsets % step) and slots <= 2 * times.size and not np.isnan(series.value).any():
            grid: list[float | None] = [None] * slots
            for index, v in zip((offsets // step).tolist(), value, strict=True):
                grid[index] = v
            return SeriesRecord(metric=series.metric, step_s=step, start_s=int(times[0]), value=grid)
    return SeriesRecord(metric=series.metric, step_s=step, time_s=times.tolist(), value=value)


def _series(file: SeriesRecord) -> Series:
    where = f"series '{file.metric.value}' of the snapshot"
    if file.step_s <= 0:
        raise DataError(f"{where} has a step of {file.step_s} s", "A step is longer than zero.")
    value = np.array(file.value, dtype=np.float64)
    if file.time_s is not None:
        times = np.array(file.time_s, dtype=np.int64)
        if times.size != value.size or (times.size > 1 and bool(np.any(np.diff(times) <= 0))):
            raise DataError(f"{where} has times that are not one per value and increasing", "Record the target again.")
        return Series(metric=file.metric, step_s=file.step_s, time_s=times, value=value)
    if file.start_s is None and value.size:
        raise DataError(f"{where} has neither start nor times", "Record the target again.")
    kept = np.flatnonzero(~np.isnan(value)).astype(np.int64)
    return Series(
        metric=file.metric, step_s=file.step_s, time_s=(file.start_s or 0) + kept * file.step_s, value=value[kept]
    )
