"""
Bytes of files that compiled code reads: packed content, and points of metric streams, which it also sorts.

Rule: nothing is interpreted here. What compiled code does not read is said, and the caller reads it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamColumns:
    """Points of a file of a metric stream in the order written; arrays of shape (n,), NaN where not given."""

    series: list[tuple[str, str, str | None, str, str | None, list[tuple[str, str]]]]
    """Account, region, namespace, metric, unit, and dimensions (or attributes of OpenTelemetry), as written."""
    series_index: NDArray[np.uint32]
    time: _Floats
    """As written: seconds, milliseconds or nanoseconds since the epoch."""
    sum: _Floats
    count: _Floats
    min: _Floats
    max: _Floats


def stream_lines(data: bytes) -> tuple[StreamColumns, list[tuple[int, int, int]]]:
    """
    Read JSON lines of a metric stream that have the usual form.

    Returns:
        Their points; and of each run of other lines the first byte, the byte after it, and the number of
        points before it. Such a line can still be a record, for example with an escape in a name.
    """
    columns, odd = _core.stream_lines(data)
    return StreamColumns(**columns), odd


def stream_messages(data: bytes) -> StreamColumns | None:
    """Read OpenTelemetry 1.0 messages of a metric stream; None if any part is damaged or unusual."""
    columns = _core.stream_messages(data)
    return None if columns is None else StreamColumns(**columns)


def unpacked(packed: bytes, most_bytes: int) -> bytes | None:
    """Return the content of a gzip file; None if it has several members, is damaged, or is larger."""
    return _core.unpacked(packed, most_bytes)


def unpacked_head(packed: bytes, most_bytes: int) -> tuple[bytes, int] | None:
    """Return the first bytes of a gzip file, and the size that it names; None if it is too short for one."""
    return _core.unpacked_head(packed, most_bytes)


class StreamReader:
    """
    Read packed files of metric streams piece by piece, each piece while it is in the cache of the processor.

    The series of one file are mostly those of the file before, so they are remembered: `series` of what is
    returned has the new ones only, and `series_index` counts through all files of the same kind.
    """

    def __init__(self) -> None:
        """Begin without series."""
        self._reader = _core.StreamReader()

    def lines(self, packed: bytes, most_bytes: int) -> StreamColumns | None:
        """Read JSON lines; None if the file is damaged or too large, or a line does not have the usual form."""
        columns = self._reader.lines(packed, most_bytes)
        return None if columns is None else StreamColumns(**columns)

    def messages(self, packed: bytes, most_bytes: int) -> StreamColumns | None:
        """Read OpenTelemetry messages; None if the file is damaged or too large, or any part unusual."""
        columns = self._reader.messages(packed, most_bytes)
        return None if columns is None else StreamColumns(**columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SortedColumns:
    """
    Points by day, series and time, each once.

    The first three have a row for each series of a day, and the others one for each point.
    """

    day: _Integers
    """Days since the epoch."""
    rank: NDArray[np.uint32]
    """Place of the series."""
    length: _Integers
    """Number of points."""
    time_s: _Integers
    sum: _Floats
    count: _Floats
    min: _Floats
    max: _Floats


def by_series(
    series: _Integers, rank: NDArray[np.uint32], time_s: _Integers, values: tuple[_Floats, _Floats, _Floats, _Floats]
) -> SortedColumns:
    """
    Sort points by day, series and time; of several with the same series and time the last one counts.

    Args:
        series: of each point, an index of `rank`.
        rank: place of each series in the order wanted; series of one place are the same.
        time_s: start of the step of each point, epoch seconds.
        values: sum, count, minimum and maximum of each point.
    """
    columns = [np.ascontiguousarray(column) for column in values]
    found = _core.by_series(np.ascontiguousarray(series), rank, np.ascontiguousarray(time_s), columns)
    return SortedColumns(**found)
