"""
Read range exports of many instances: answers of Prometheus to range queries, and exports of VictoriaMetrics.

Source of the forms: Prometheus documentation, "HTTP API", range queries; VictoriaMetrics documentation,
"How to export data in JSON line format" (`/api/v1/export`), read 2026-11.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.points import PointColumns
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.files.bounds import check_json
from plimsoll.sources.files.json_text import lines
from plimsoll.sources.points.values import ReadTally, SeriesName, points_of_values
from plimsoll.sources.prometheus.exporters import track_of
from plimsoll.sources.prometheus.names import of_labels
from plimsoll.sources.values.numbers import floats
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import of_numbers

# A judgement: a million values take some fifty megabytes while they become points.
_VALUES_A_PIECE = 1 << 20
_MATRIX = re.compile(rb'"resultType"\s*:\s*"(\w+)"')
_EXPORT = re.compile(rb'\s*\{\s*"metric"\s*:\s*\{')
_STATISTICS = re.compile(rb'"__name__"\s*:\s*"[^"]*_(?:sum|sample_?count|maximum|minimum|max|min)"', re.IGNORECASE)
_HINT = "Query /api/v1/query_range for series by name; rates and sums have no name."


class _MatrixRow(Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _MatrixData(Struct, rename="camel"):
    result_type: str
    result: list[_MatrixRow]


class _MatrixAnswer(Struct):
    status: str
    data: _MatrixData


class _ExportLine(Struct):
    metric: dict[str, str]
    values: list[float | str | None]
    timestamps: list[float]


class _LabelledSamples(Struct, frozen=True):
    labels: dict[str, str]
    time: FloatArray
    """As written: seconds or milliseconds."""
    value: FloatArray


def is_range_export(data: bytes) -> bool:
    """Return whether unpacked content is a matrix answer, or lines of VictoriaMetrics."""
    head = data[:65_536]
    if head.lstrip()[:1] != b"{":
        return False
    return _is_lines(head) or _MATRIX.search(head) is not None


def _is_lines(head: bytes) -> bool:
    return _EXPORT.match(head) is not None and _MATRIX.search(head) is None


def read_range_export(data: bytes, tally: ReadTally, *, where: str) -> Iterator[PointColumns]:
    """
    Yield the points of a file for which `is_range_export` is true, in pieces.

    Args:
        data: unpacked content.
        tally: what cannot be used is counted in it.
        where: name of the file, for messages.

    Raises:
        DataError: an error answer, an answer of another kind, or one of another shape.
    """
    rows = _exported(data, tally, where) if _is_lines(data[:65_536]) else _answered(data, where)
    # The statistics of one point are series of their own, anywhere in the file.
    is_whole = _STATISTICS.search(data) is not None
    kept: list[_LabelledSamples] = []
    count = 0
    for row in rows:
        kept.append(row)
        count += row.value.size
        if count >= _VALUES_A_PIECE and not is_whole:
            yield _points(kept, tally)
            kept, count = [], 0
    if kept:
        yield _points(kept, tally)


def _answered(data: bytes, where: str) -> Iterator[_LabelledSamples]:
    kind = _MATRIX.search(data[:65_536])
    if kind is not None and kind[1] != b"matrix":
        raise DataError(f"{where} has values at a single time ({kind[1].decode()}), not a time series", _HINT)
    check_json(data, where)
    try:
        answer = msgspec.json.decode(data, type=_MatrixAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not the answer to a range query", _HINT) from error
    if answer.status != "success":
        raise DataError(f"{where} has an error of Prometheus: {shown(answer.status)}", _HINT)
    for row in answer.data.result:
        times = np.array([time for time, _ in row.values], dtype=np.float64)
        yield _LabelledSamples(row.metric, times, floats([value for _, value in row.values]))


def _exported(data: bytes, tally: ReadTally, where: str) -> Iterator[_LabelledSamples]:
    for found, bad in lines(data, _ExportLine, where):
        tally.bad_lines += bad
        for one in found:
            if len(one.values) != len(one.timestamps):
                tally.bad_lines += 1
                continue
            # VictoriaMetrics writes null for a value that is no number.
            yield _LabelledSamples(one.metric, np.array(one.timestamps, dtype=np.float64), floats(one.values))


def _points(rows: Iterable[_LabelledSamples], tally: ReadTally) -> PointColumns:
    names: list[SeriesName] = []
    indexes: list[IntArray] = []
    times: list[IntArray] = []
    values: list[FloatArray] = []
    for row in rows:
        name = _name(row.labels, tally)
        if name is None:
            continue
        # Prometheus has no value where nothing was measured; NaN marks an end, which is no damage.
        given = ~np.isnan(row.value)
        indexes.append(np.full(int(given.sum()), len(names), dtype=np.int64))
        times.append(of_numbers(row.time[given])[0])
        values.append(row.value[given])
        names.append(name)
    if not names:
        return PointColumns.empty()
    return points_of_values(names, np.concatenate(indexes), np.concatenate(times), np.concatenate(values), tally)


def _name(labels: dict[str, str], tally: ReadTally) -> SeriesName | None:
    """Return how the labels name a series; what cannot be used is counted."""
    known = track_of(labels)
    if known is not None and known.metric is None:
        tally.counters += 1
        return None
    called = of_labels(labels)
    if not called.name:
        tally.unknown["a series without a name"] = None
        return None
    if called.instance is None:
        # CloudWatch's exporters also write totals of classes and engines, which name no instance.
        tally.unnamed += 0 if called.name.startswith("aws_rds_") else 1
        return None
    subject = known.subject if known is not None else None
    return SeriesName(
        (subject.account if subject else labels.get("account_id")) or "",
        (subject.region if subject else labels.get("region")) or "",
        called.instance,
        called.name,
        None,
        None,
        called.statistic,
    )
