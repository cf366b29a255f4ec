"""
Read tables of points of many instances: metric streams as Parquet by Firehose, long tables, wide tables.

Rule 1: columns are read whole; only distinct names are looked at one by one.
Rule 2: a table that has a sum and a count for each row is read as a metric stream is, and gives the same points.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from plimsoll.model.points import PointColumns
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.documents.stream_points import StreamPoints, add_columns
from plimsoll.sources.export.columns import Words
from plimsoll.sources.export.table_frame import joined
from plimsoll.sources.points.arrow import (
    BATCH_ROWS,
    ArrowTable,
    Dimensions,
    dimensions_of_column,
    fields_of_column,
    numbers_of_column,
    readable,
    times_of_column,
    words_of_column,
)
from plimsoll.sources.points.roles import PointRoles
from plimsoll.sources.points.values import ReadTally, SeriesName, points_of_values
from plimsoll.sources.reading.reading import Statistic, statistic_of
from plimsoll.wire import StreamColumns

_DIMENSION = "DBInstanceIdentifier"
_KEYS = ("account", "region", "namespace", "metric", "unit", "statistic", "instance")


def read_table(table: ArrowTable, roles: PointRoles, tally: ReadTally) -> Iterator[PointColumns]:
    """
    Yield the points of a table in pieces, in the order of its rows.

    Args:
        table: opened.
        roles: what its columns are.
        tally: what cannot be used is counted in it.

    Raises:
        DataError: a part of the file is damaged.
    """
    if roles.metric is None:
        rows: int | None = max(1, BATCH_ROWS // len(roles.wide))
    else:
        # The statistics of one point are rows of their own, anywhere in the file.
        rows = None if roles.statistic is not None else BATCH_ROWS
    for piece in table.pieces(_places(roles), rows=rows):
        if not piece.num_rows:
            continue
        with readable(table.where):
            if roles.metric is None:
                points = _wide(piece, roles, table.names, tally)
            elif roles.has_summaries:
                points = _summaries(piece, roles, tally)
            else:
                points = _long(piece, roles, tally)
        yield points


def _places(roles: PointRoles) -> list[int]:
    named = [getattr(roles, name) for name in (*_KEYS, "dimensions", "time")]
    if roles.has_summaries:
        named += [roles.sum, roles.count, roles.min, roles.max]
    else:
        named.append(roles.value)
    return [*(one for one in named if one is not None), *roles.wide]


class _SeriesOfRows:
    """The distinct series of some rows."""

    def __init__(self, piece: pa.Table, roles: PointRoles) -> None:
        present: dict[str, Words] = {}
        for name in _KEYS:
            place = getattr(roles, name)
            if place is not None:
                present[name] = words_of_column(piece.column(str(place)))
        self.dimensions: list[Dimensions] = []
        if roles.dimensions is not None:
            self.dimensions, codes = dimensions_of_column(piece.column(str(roles.dimensions)))
            used = np.bincount(codes, minlength=len(self.dimensions)) > 0
            places = [str(place) for place in np.flatnonzero(used).tolist()]
            present["dimensions"] = Words(places, (np.cumsum(used) - 1)[codes])
        self.index, firsts = joined(list(present.values()))
        self._texts = {
            name: [words.texts[code].strip() for code in words.codes[firsts].tolist()]
            for name, words in present.items()
        }
        self.count = int(firsts.size)

    def text(self, name: str, at: int) -> str:
        """Return a text of a series; empty where the table does not say."""
        texts = self._texts.get(name)
        found = texts[at] if texts is not None else ""
        # A table may hold the account as a number, without its leading zeros.
        return found.zfill(12) if name == "account" and found.isdecimal() else found

    def dimensions_at(self, at: int) -> Dimensions:
        """Return the dimensions of a series; none if no instance is named."""
        if "dimensions" in self._texts:
            return self.dimensions[int(self._texts["dimensions"][at])]
        instance = self.text("instance", at)
        return ((_DIMENSION, instance),) if instance else ()


def _summaries(piece: pa.Table, roles: PointRoles, tally: ReadTally) -> PointColumns:
    series = _SeriesOfRows(piece, roles)
    assert roles.sum is not None
    fields = fields_of_column(piece.column(str(roles.sum))) if roles.sum == roles.count else None

    def numbers(name: str) -> FloatArray:
        place = getattr(roles, name)
        column = None
        if fields is not None:
            column = fields.get(name)
        elif place is not None:
            column = piece.column(str(place))
        return np.full(piece.num_rows, np.nan) if column is None else numbers_of_column(column)

    names = [
        (
            series.text("account", at),
            series.text("region", at),
            series.text("namespace", at) or None,
            series.text("metric", at),
            series.text("unit", at) or None,
            list(series.dimensions_at(at)),
        )
        for at in range(series.count)
    ]
    found = StreamPoints()
    columns = StreamColumns(
        series=names,
        series_index=series.index.astype(np.uint32),
        time=times_of_column(piece.column(str(roles.time))).astype(np.float64),
        sum=numbers("sum"),
        count=numbers("count"),
        min=numbers("min"),
        max=numbers("max"),
    )
    add_columns(columns, found, is_json=True)
    points = found.columns()
    tally.bad_points += found.bad_points
    tally.unknown.update(dict.fromkeys(sorted(found.unknown)))
    return points


def _long(piece: pa.Table, roles: PointRoles, tally: ReadTally) -> PointColumns:
    series = _SeriesOfRows(piece, roles)
    column = piece.column(str(roles.value))
    names, is_named = [], np.ones(series.count, dtype=np.bool_)
    for at in range(series.count):
        dimensions = {name.lower(): value for name, value in series.dimensions_at(at)}
        is_named[at] = set(dimensions) == {_DIMENSION.lower()}
        statistic = series.text("statistic", at)
        names.append(
            SeriesName(
                series.text("account", at),
                series.text("region", at),
                dimensions.get(_DIMENSION.lower(), ""),
                series.text("metric", at),
                series.text("unit", at) or None,
                series.text("namespace", at) or None,
                statistic_of(statistic) or (Statistic.OTHER if statistic else None),
            )
        )
    given = column.is_valid().to_numpy()
    mine = is_named[series.index]
    if roles.dimensions is None:  # else they are totals of classes, engines or clusters
        tally.unnamed += int((given & ~mine).sum())
    used = given & mine
    time_s = times_of_column(piece.column(str(roles.time)))
    value = numbers_of_column(column)
    return points_of_values(names, series.index[used], time_s[used], value[used], tally)


def _wide(piece: pa.Table, roles: PointRoles, heads: list[str], tally: ReadTally) -> PointColumns:
    series = _SeriesOfRows(piece, roles)
    time_s = times_of_column(piece.column(str(roles.time)))
    is_named = np.array([bool(series.text("instance", at)) for at in range(series.count)])
    mine = is_named[series.index]
    tally.unnamed += int((~mine).sum())
    names: list[SeriesName] = []
    parts: list[tuple[IntArray, IntArray, FloatArray]] = []
    for place in roles.wide:
        column = piece.column(str(place))
        used = mine & column.is_valid().to_numpy()
        parts.append((series.index[used] + len(names), time_s[used], numbers_of_column(column)[used]))
        names += [
            SeriesName(series.text("account", at), series.text("region", at), series.text("instance", at), heads[place])
            for at in range(series.count)
        ]
    index, times, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return points_of_values(names, index, times, values, tally)
