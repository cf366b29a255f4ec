"""
The index of a points file: where each series begins, and what its times and counts are if they are regular.

Rule 1: the index of a file is made from its rows when they are written, and is kept in the file itself. So it
cannot disagree with them, whatever else is ingested later.
Rule 2: it changes no point. A reader that does not know it reads the columns; so does ours where a file has none.
Rule 3: times and counts that are not regular are not in the index, and are read.
"""

import io
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from plimsoll.fleet.tables import INSTANCE_KEY
from plimsoll.model.series import BoolArray, FloatArray, IntArray

INDEX_KEY = "plimsoll.series/1"
"""Name of the index in the metadata of a Parquet file."""
_NAMES = (*INSTANCE_KEY, "metric")


class IndexedSeries(Struct, frozen=True, array_like=True):
    """One series of a file, in the order of its rows."""

    instance: int
    """Place in `SeriesIndex.instances`."""
    metric: int
    """Place in `SeriesIndex.metrics`."""
    row_count: int
    first_s: int
    last_s: int
    is_regular: bool
    """Whether all times are equally far apart."""
    count: float | None
    """Samples of each point; None where points differ."""


class SeriesIndex(Struct, frozen=True):
    """The series of a file."""

    instances: list[tuple[str, str, str]]
    metrics: list[str]
    series: list[IndexedSeries]


def index_of(rows: pa.Table) -> SeriesIndex:
    """
    Return the index of sorted rows.

    Args:
        rows: columns of `tables.POINTS`, sorted by the key, each key once; names are texts or dictionaries.
    """
    texts, starts = _changes(rows)
    time_s, count = (rows.column(name).to_numpy() for name in ("time_s", "count"))
    instances: dict[tuple[str, str, str], int] = {}
    metrics: dict[str, int] = {}
    series = []
    account, region, instance, metric = ([names[code] for code in codes[starts].tolist()] for names, codes in texts)
    facts = zip(*(column.tolist() for column in _facts(starts, time_s, count)), strict=True)
    names = zip(zip(account, region, instance, strict=True), metric, strict=True)
    for (key, of), (row_count, first_s, last_s, is_regular, one, is_same) in zip(names, facts, strict=True):
        series.append(
            IndexedSeries(
                instance=instances.setdefault(key, len(instances)),
                metric=metrics.setdefault(of, len(metrics)),
                row_count=row_count,
                first_s=first_s,
                last_s=last_s,
                is_regular=is_regular,
                count=one if is_same else None,
            )
        )
    return SeriesIndex(instances=list(instances), metrics=list(metrics), series=series)


def _facts(starts: IntArray, time_s: IntArray, count: FloatArray) -> tuple[IntArray | FloatArray | BoolArray, ...]:
    """Return of each series: rows, first and last time, whether times are regular, the count, whether all have it."""
    if not starts.size:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing, nothing, nothing
    rows = np.diff(starts, append=time_s.size)
    last = starts + rows - 1
    # The step to the next row; of the last row of a series, its first step once more.
    steps = np.diff(time_s, append=0)
    steps[last] = steps[starts]
    is_step = steps == np.repeat(steps[starts], rows)
    is_count = count == np.repeat(count[starts], rows)
    is_regular, is_same = (np.logical_and.reduceat(of, starts) for of in (is_step, is_count))
    return rows, time_s[starts], time_s[last], is_regular, count[starts], is_same


def _changes(rows: pa.Table) -> tuple[list[tuple[list[str], IntArray]], IntArray]:
    """Return names and codes of each column of names, and the rows at which any of them changes."""
    changes = np.zeros(rows.num_rows, dtype=np.bool_)
    changes[:1] = True
    texts = []
    for name in _NAMES:
        column = rows.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of a table without rows
            column = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
        texts.append((column.dictionary.to_pylist(), codes))
    return texts, np.flatnonzero(changes)


class InstanceBlock(Struct, frozen=True, kw_only=True, eq=False):
    """The points of one instance in one file: its series one after the other, by metric."""

    metrics: tuple[str, ...]
    """By name, each once."""
    rows: tuple[IndexedSeries, ...]
    """One for each metric."""
    sum: FloatArray
    """Of all series, shape (n,)."""
    time_s: IntArray | None
    """Shape (n,); None where the rows say it."""
    count: FloatArray | None
    """Shape (n,); None where the rows say it."""


SeriesBlocks = dict[tuple[str, str, str], list[InstanceBlock]]
"""By instance, the blocks of all files."""


def add_file(content: Any, found: SeriesBlocks) -> bool:
    """
    Add the series of a points file; return False, and add nothing, if it has no index that fits its rows.

    Args:
        content: of a file of `parts.points_file`, opened by pyarrow.
        found: what is added to.
    """
    file = pq.ParquetFile(content)
    packed = (file.metadata.metadata or {}).get(INDEX_KEY.encode())
    if packed is None:
        return False
    try:
        index = msgspec.json.decode(packed, type=SeriesIndex)
    except msgspec.DecodeError:
        return False
    if sum(row.row_count for row in index.series) != file.metadata.num_rows:
        return False
    names = ["sum"]
    names += [] if all(row.is_regular for row in index.series) else ["time_s"]
    names += [] if all(row.count is not None for row in index.series) else ["count"]
    # Every process reads a bucket of its own; threads would only compete.
    _add(index, file.read(names, use_threads=False), found)
    return True


def add_table(rows: pa.Table, found: SeriesBlocks) -> None:
    """Add the series of sorted rows, as of `index_of`."""
    if rows.num_rows:
        _add(index_of(rows), rows, found)


def _add(index: SeriesIndex, rows: pa.Table, found: SeriesBlocks) -> None:
    columns = {
        name: rows.column(name).to_numpy() if name in rows.column_names else None for name in ("sum", "time_s", "count")
    }
    total, time_s, count = columns.values()
    assert total is not None
    start = 0
    # Rows are sorted, so those of an instance stand together, and its metrics are in order.
    for place, group in groupby(index.series, key=attrgetter("instance")):
        mine = tuple(group)
        end = start + sum(row.row_count for row in mine)
        block = InstanceBlock(
            metrics=tuple([index.metrics[row.metric] for row in mine]),
            rows=mine,
            sum=total[start:end],
            time_s=None if time_s is None else time_s[start:end],
            count=None if count is None else count[start:end],
        )
        found.setdefault(index.instances[place], []).append(block)
        start = end


def write_indexed(rows: pa.Table, **options: object) -> io.BytesIO:
    """Return sorted rows as a Parquet file with their index, by options of `pyarrow.parquet.ParquetWriter`."""
    content = io.BytesIO()
    with pq.ParquetWriter(content, rows.schema, **options) as writer:
        writer.write_table(rows)
        index = msgspec.json.encode(index_of(rows)).decode()
        writer.add_key_value_metadata({INDEX_KEY: index})
    content.seek(0)
    return content
