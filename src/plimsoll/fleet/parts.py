"""
Cut points into the parts of a lake: one part for each date and bucket, sorted by instance, metric and time.

Rule 1: an instance is in one bucket on every machine, by a hash of account, region and identifier.
Rule 2: names are sorted once for a series; points are put in order by numbers that stand for them.
"""

import io
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from plimsoll.fleet.series_index import write_indexed
from plimsoll.fleet.tables import INSTANCE_KEY, POINT_KEY, POINTS
from plimsoll.model.points import PointColumns, SeriesKey
from plimsoll.model.series import IntArray
from plimsoll.units import format_time
from plimsoll.wire import by_series

InstanceKey = tuple[str, str, str]
"""Account, region and identifier."""
_DAY_S = 86_400
_NUMBERS = ("time_s", "sum", "count", "min", "max")
# A judgement: 1 MiB of one column, as much as a page has by default.
_BATCH_ROWS = 1 << 17


def bucket_of(account: str, region: str, instance: str, bucket_count: int) -> int:
    """Return the bucket of an instance, 0 ≤ x < bucket_count; the same on every machine."""
    return zlib.crc32(f"{account}/{region}/{instance}".encode()) % bucket_count


def merged(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Return rows sorted, each key once; of equal keys the last row wins."""
    whole = pl.concat(frames).unique(subset=POINT_KEY, keep="last", maintain_order=True)
    return whole.sort(POINT_KEY)


def parts_of(points: PointColumns, bucket_count: int) -> Iterator[tuple[str, pa.Table]]:
    """
    Yield the points of each part with its name, sorted by instance, metric and time, each key once.

    Numbers stand for the names until the end, because sorting texts would take most of an ingest.

    Args:
        points: of equal keys the last one wins.
        bucket_count: of the lake.
    """
    if not len(points):
        return
    keys, rank, buckets = _ranked(points.series, bucket_count)
    values = (points.sum, points.count, points.min, points.max)
    found = by_series(points.index, rank, points.time_s, values)
    ends = np.cumsum(found.length)
    # The rows of a part are the series of one day and bucket, which follow each other.
    part = found.day * bucket_count + buckets[found.rank]
    firsts = np.append(np.flatnonzero(np.append(True, np.diff(part) != 0)), part.size)
    for first, after in pairwise(firsts.tolist()):
        lengths = found.length[first:after]
        texts = _texts(found.rank[first:after], lengths, keys)
        rows = slice(int(ends[first] - lengths[0]), int(ends[after - 1]))
        numbers = {name: pa.array(getattr(found, name)[rows]) for name in _NUMBERS}
        date = date_of(int(found.day[first]) * _DAY_S)
        bucket = int(part[first]) % bucket_count
        yield f"date={date}/bucket={bucket:04d}", pa.table(texts | numbers)


def _ranked(series: Sequence[SeriesKey], bucket_count: int) -> tuple[list[SeriesKey], NDArray[np.uint32], IntArray]:
    """Return keys by bucket and name; the place of each series among them; and the bucket of each key."""
    instances = {key[:3] for key in series}
    bucket = {one: bucket_of(*one, bucket_count) for one in instances}
    keys = sorted(set(series), key=lambda key: (bucket[key[:3]], key))
    ranks = {key: rank for rank, key in enumerate(keys)}
    buckets = np.array([bucket[key[:3]] for key in keys], dtype=np.int64)
    return keys, np.array([ranks[key] for key in series], dtype=np.uint32), buckets


def _texts(rank: NDArray[np.uint32], lengths: IntArray, keys: list[SeriesKey]) -> dict[str, pa.Array]:
    """Return account, region, instance and metric of sorted series as columns of dictionaries."""
    mine = [keys[index] for index in rank.tolist()]
    found = {}
    for place, name in enumerate((*INSTANCE_KEY, "metric")):
        known: dict[str, int] = {}
        numbers = [known.setdefault(key[place], len(known)) for key in mine]
        codes = np.repeat(np.array(numbers, dtype=np.int32), lengths)
        found[name] = pa.DictionaryArray.from_arrays(codes, pa.array(list(known), pa.string()))
    return found


def points_file(rows: pa.Table) -> io.BytesIO:
    """
    Return sorted rows as an indexed Parquet file, its names as dictionaries and its times as steps.

    The values are split into streams of their first bytes, their second bytes and so on. The first bytes, sign
    and exponent, are alike and compress; the last ones do not, and are copied. So a file is smaller, and is
    read more than twice as fast.
    """
    schema = POINTS if pa.types.is_large_string(rows.schema.field("account").type) else rows.schema
    # A column in which nothing is missing needs no list of what is there.
    schema = pa.schema([field.with_nullable(False) for field in schema])
    return write_indexed(
        rows.cast(schema),
        compression="zstd",
        use_dictionary=[*INSTANCE_KEY, "metric", "count"],
        column_encoding={"time_s": "DELTA_BINARY_PACKED", **dict.fromkeys(("sum", "min", "max"), "BYTE_STREAM_SPLIT")},
        # A file has one group of rows with all names and all values of its part. Only of the times do the least
        # and the greatest tell a reader that it can pass over the file, and the others take as long as packing.
        write_statistics=["time_s"],
        # Columns at once instead of a thousand rows, because pages are cut between these.
        write_batch_size=_BATCH_ROWS,
        # Without it a reader sees plain texts, whatever wrote them.
        store_schema=False,
    )


def date_of(time_s: int) -> str:
    """Return the date of an epoch second in UTC, as parts are named."""
    return format_time(time_s)[:10]
