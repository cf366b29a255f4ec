"""
Put the points of one instance together from the blocks of its files, as one Arrow table.

Rule 1: a metric is one chunk of the table, and its name is there once. So whoever judges the table needs not
look where a metric ends.
Rule 2: metrics with the same times have the same array of times, and not a copy of it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from msgspec import Struct

from plimsoll.fleet.series_index import IndexedSeries, InstanceBlock, SeriesBlocks
from plimsoll.fleet.tables import INSTANCE_KEY
from plimsoll.model.series import FloatArray, IntArray

_Grid = tuple[int, int, int]
"""First and last time of a regular series, epoch seconds, and its number of points."""


class _SeriesPiece(Struct, frozen=True, eq=False):
    """A series in one block."""

    row: IndexedSeries
    block: InstanceBlock
    start: int
    """Its first row in the block."""

    @property
    def rows(self) -> slice:
        """Return its rows in the block."""
        return slice(self.start, self.start + self.row.row_count)


class _Joined(Struct, frozen=True, eq=False):
    """The points of one metric."""

    name: str
    time_s: pa.Array
    sum: FloatArray
    count: float | FloatArray
    """One number if all points have the same."""


def are_apart(found: SeriesBlocks) -> bool:
    """Return whether no two blocks of a series overlap in time, so that each point is there once."""
    return all(
        before.row.last_s < after.row.first_s
        for blocks in found.values()
        if len(blocks) > 1
        for pieces in _pieces(blocks).values()
        for before, after in pairwise(pieces)
    )


def points_of(
    key: tuple[str, str, str], blocks: list[InstanceBlock], window_s: tuple[int, int] | None
) -> pa.Table | None:
    """
    Return the points of one instance, by metric and time, one chunk a metric; None without any in the window.

    The count is a dictionary of one number if all points of each metric have the same one.

    Args:
        key: account, region and identifier.
        blocks: its blocks, whose series do not overlap.
        window_s: epoch seconds, [start, end); None takes all points.
    """
    metrics = _alike(blocks) or _one_by_one(blocks)
    if window_s is not None:
        metrics = _within(metrics, window_s)
    return _table(key, metrics) if metrics else None


def _alike(blocks: list[InstanceBlock]) -> list[_Joined] | None:
    """Return the metrics if all of each block have the same regular times and counts; None otherwise."""
    names = blocks[0].metrics
    grids: list[tuple[_Grid, InstanceBlock]] = []
    count = blocks[0].rows[0].count
    for block in blocks:
        first = block.rows[0]
        # All but instance and metric.
        same = (first.row_count, first.first_s, first.last_s, True, count)
        if count is None or block.metrics != names:
            return None
        for row in block.rows:
            if (row.row_count, row.first_s, row.last_s, row.is_regular, row.count) != same:
                return None
        grids.append(((first.first_s, first.last_s, first.row_count), block))
    grids.sort(key=lambda one: one[0])
    if any(before[1] >= after[0] for (before, _), (after, _) in pairwise(grids)):
        return None
    time_s = _regular_times(tuple(grid for grid, _ in grids))
    shape = len(names), -1
    sums = np.concatenate([block.sum.reshape(shape) for _, block in grids], axis=1)
    assert count is not None
    return [_Joined(name, time_s, total, count) for name, total in zip(names, sums, strict=True)]


def _pieces(blocks: list[InstanceBlock]) -> dict[str, list[_SeriesPiece]]:
    """Return the pieces of each metric in order of time, the metrics by name."""
    found: dict[str, list[_SeriesPiece]] = {}
    for block in blocks:
        start = 0
        for name, row in zip(block.metrics, block.rows, strict=True):
            found.setdefault(name, []).append(_SeriesPiece(row, block, start))
            start += row.row_count
    return {name: sorted(found[name], key=lambda piece: piece.row.first_s) for name in sorted(found)}


def _one_by_one(blocks: list[InstanceBlock]) -> list[_Joined]:
    return [
        _Joined(
            name, _times(pieces), np.concatenate([piece.block.sum[piece.rows] for piece in pieces]), _counts(pieces)
        )
        for name, pieces in _pieces(blocks).items()
    ]


def _times(pieces: Sequence[_SeriesPiece]) -> pa.Array:
    if all(piece.row.is_regular for piece in pieces):
        rows = [piece.row for piece in pieces]
        return _regular_times(tuple((row.first_s, row.last_s, row.row_count) for row in rows))
    found = []
    for piece in pieces:
        if piece.row.is_regular:
            grid = piece.row.first_s, piece.row.last_s, piece.row.row_count
            found.append(_grid_times(grid))
        else:
            assert piece.block.time_s is not None
            found.append(piece.block.time_s[piece.rows])
    return pa.array(np.concatenate(found))


# Most metrics of an instance and most instances of a lake have the same times; of all others a bucket has few.
@lru_cache(maxsize=8)
def _regular_times(grids: tuple[_Grid, ...]) -> pa.Array:
    """Return the times of regular series, one after the other."""
    return pa.array(np.concatenate([_grid_times(grid) for grid in grids]))


def _grid_times(grid: _Grid) -> IntArray:
    first_s, last_s, count = grid
    return first_s + (last_s - first_s) // max(count - 1, 1) * np.arange(count)


def _counts(pieces: Sequence[_SeriesPiece]) -> float | FloatArray:
    first = pieces[0].row.count
    if first is not None and all(piece.row.count == first for piece in pieces):
        return first
    found = []
    for piece in pieces:
        if piece.row.count is not None:
            found.append(np.full(piece.row.row_count, piece.row.count))
        else:
            assert piece.block.count is not None
            found.append(piece.block.count[piece.rows])
    return np.concatenate(found)


def _within(metrics: Sequence[_Joined], window_s: tuple[int, int]) -> list[_Joined]:
    """Return the points of a window; metrics without any are left out."""
    cut: dict[int, tuple[int, int, pa.Array]] = {}
    found = []
    for metric in metrics:
        known = cut.get(id(metric.time_s))
        if known is None:
            first, last = np.searchsorted(metric.time_s.to_numpy(), window_s).tolist()
            known = first, last, metric.time_s.slice(first, max(last - first, 0))
            cut[id(metric.time_s)] = known
        first, last, time_s = known
        count = metric.count
        if last > first:
            some = count if isinstance(count, float) else count[first:last]
            found.append(_Joined(metric.name, time_s, metric.sum[first:last], some))
    return found


def _table(key: tuple[str, str, str], metrics: Sequence[_Joined]) -> pa.Table:
    lengths = [metric.sum.size for metric in metrics]
    zeros = pa.array(np.zeros(max(lengths), dtype=np.int8))
    codes = {length: zeros.slice(0, length) for length in set(lengths)}

    def repeated(value: pa.Array) -> pa.ChunkedArray:
        made = {length: _only(code, value) for length, code in codes.items()}
        return pa.chunked_array([made[length] for length in lengths])

    columns = {name: repeated(pa.array([text], pa.string())) for name, text in zip(INSTANCE_KEY, key, strict=True)}
    columns["metric"] = pa.chunked_array([_only(codes[m.sum.size], _text(m.name)) for m in metrics])
    columns["time_s"] = pa.chunked_array([metric.time_s for metric in metrics])
    columns["sum"] = pa.chunked_array([pa.array(metric.sum) for metric in metrics])
    counts = [metric.count for metric in metrics]
    every = zip(lengths, counts, strict=True)
    if not all(isinstance(count, float) for count in counts):
        found = [pa.array(np.broadcast_to(count, length).copy()) for length, count in every]
    else:
        values = {count: pa.array([count]) for count in set(counts)}
        found = [_only(codes[length], values[count]) for length, count in every]
    columns["count"] = pa.chunked_array(found)
    return pa.table(columns)


def _only(codes: pa.Array, value: pa.Array) -> pa.DictionaryArray:
    """Return a column in which every row is the one value."""
    return pa.DictionaryArray.from_arrays(codes, value, safe=False)


@lru_cache(maxsize=256)
def _text(name: str) -> pa.Array:
    return pa.array([name], pa.string())
