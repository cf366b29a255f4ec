"""
Part the points of one instance by metric, without a copy where the table allows it.

Rule 1: a table in any shape gives the same points: texts or dictionaries, in any order, in any chunks.
Rule 2: a table of `instance_points.py` has a chunk for each metric, and nothing of it is looked at but its names.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from plimsoll.model.series import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class MetricPoints:
    """The points of one metric, in any order, at least one."""

    time_s: IntArray
    """Epoch seconds, shape (n,); of two metrics the same array if the table has it once."""
    sum: FloatArray
    """Shape (n,)."""
    count: FloatArray | float
    """Number of samples, shape (n,), or one number for all."""


def points_by_metric(points: pa.Table) -> tuple[dict[str, MetricPoints], int]:
    """
    Return the points of each metric by its name, and the latest time of all.

    Args:
        points: columns `metric`, `time_s`, `sum` and `count`, at least one row.
    """
    names = _names_of_chunks(points)
    if names is None:
        return _by_codes(points)
    times, totals, counts = (points.column(name).chunks for name in ("time_s", "sum", "count"))
    arrays: dict[tuple[int, int, int], IntArray] = {}
    found = {}
    for name, time_s, total, count in zip(names, times, totals, counts, strict=True):
        # Chunks of equal length that begin at the same place are the same.
        place = time_s.buffers()[1].address, time_s.offset, len(time_s)
        known = arrays.get(place)
        if known is None:
            known = arrays[place] = time_s.to_numpy(zero_copy_only=False)
        values = total.to_numpy(zero_copy_only=False)
        found[name] = MetricPoints(known, values, _counts_of_chunk(count))
    return found, max(int(one.max()) for one in arrays.values())


def _names_of_chunks(points: pa.Table) -> list[str] | None:
    """Return the metric of each chunk if each is one metric by its dictionary; None otherwise."""
    column = points.column("metric")
    if not pa.types.is_dictionary(column.type):
        return None
    chunks = column.chunks
    lengths = [len(chunk) for chunk in chunks]
    if any(len(chunk.dictionary) != 1 or chunk.null_count or not len(chunk) for chunk in chunks):
        return None
    columns = [points.column(name) for name in ("time_s", "sum", "count")]
    if any([len(chunk) for chunk in one.chunks] != lengths or one.null_count for one in columns):
        return None
    names = [str(chunk.dictionary[0]) for chunk in chunks]
    return names if len(set(names)) == len(names) else None


def _counts_of_chunk(chunk: pa.Array) -> FloatArray | float:
    if pa.types.is_dictionary(chunk.type):
        if len(chunk.dictionary) == 1:
            only = chunk.dictionary[0].as_py()
            return float("nan") if only is None else float(only)
        chunk = chunk.cast(pa.float64())
    counts: FloatArray = chunk.to_numpy(zero_copy_only=False)
    return counts


def _by_codes(points: pa.Table) -> tuple[dict[str, MetricPoints], int]:
    names, code = _codes(points.column("metric"))
    time_s, total = (points.column(name).to_numpy() for name in ("time_s", "sum"))
    count = points.column("count")
    if pa.types.is_dictionary(count.type):
        count = count.cast(pa.float64())
    counts = count.to_numpy()
    found = {}
    for place, rows in _rows(code).items():
        name = names[place] if place >= 0 else None
        if name is not None:
            found[name] = MetricPoints(time_s[rows], total[rows], counts[rows])
    return found, int(time_s.max())


def _codes(names: pa.ChunkedArray) -> tuple[list[str | None], IntArray]:
    """Return the different names, and the index of each row's name; engines send texts or dictionaries."""
    if pa.types.is_dictionary(names.type):
        column = names.unify_dictionaries()
    else:
        column = names.cast(pa.large_string()).dictionary_encode()
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # of a column without rows
        return [], np.empty(0, dtype=np.int64)
    codes = whole.indices.fill_null(-1) if whole.indices.null_count else whole.indices
    return whole.dictionary.to_pylist(), codes.to_numpy()


def _rows(code: IntArray) -> dict[int, slice | BoolArray]:
    """Return the rows of each code; where they stand together, a slice, which needs no copy."""
    starts = np.append(0, np.flatnonzero(code[1:] != code[:-1]) + 1)
    present = code[starts].tolist()
    if len(set(present)) < len(present):
        return {wanted: code == wanted for wanted in set(present)}
    ends = [*starts[1:].tolist(), code.size]
    return dict(zip(present, map(slice, starts.tolist(), ends), strict=True))
