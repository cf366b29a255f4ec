"""
Read files of CloudWatch metric streams into points with sum, count, minimum and maximum.

Unlike `metric_stream` and `otel_stream`, which make series of one reading, this keeps what is needed to
merge points later, and the account. Values are converted to our units; names become metrics of ours.
Source: Amazon CloudWatch User Guide, "CloudWatch metric stream output in JSON format" and "Translations
with OpenTelemetry 1.0.0 format".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from plimsoll.model.points import PointColumns, SeriesKey
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.documents.metric_stream import instance_of, volume_name
from plimsoll.sources.documents.otel_stream import PREFIX, looks_like_protobuf, wire_attributes
from plimsoll.sources.documents.protobuf import fields, piece, text_of, varint
from plimsoll.sources.files.bounds import check_lines, most_unpacked
from plimsoll.sources.files.json_text import lines
from plimsoll.sources.reading.names import recognise
from plimsoll.sources.reading.quantities import factor_of
from plimsoll.sources.values.times import epoch_seconds, of_numbers
from plimsoll.wire import StreamColumns, StreamReader, stream_lines, stream_messages, unpacked_head

_MARK = b'"metric_stream_name"'
_IGNORED = ("AWS/EC2", "AWS/EBS")
# The first record, or the first metric of a message, is shorter by far; a longer one is left to other readers.
_HEAD_BYTES = 65_536
# A judgement: this many take some hundred megabytes, and an estate of 70,000 instances has as many.
_MOST_SERIES = 1_000_000
_NUMBER = float | None
Key = tuple[str, str, str, str, str | None, str | None]
"""Account, region, instance, metric name, unit, namespace."""
Sample = tuple[object, _NUMBER, _NUMBER, _NUMBER, _NUMBER]
"""Time, sum, count, minimum, maximum, as written."""


class _StreamValue(Struct, gc=False):
    sum: _NUMBER = None
    count: _NUMBER = None
    min: _NUMBER = None
    max: _NUMBER = None


class _Record(Struct, gc=False):
    metric_name: str
    timestamp: int | float
    value: _StreamValue
    dimensions: dict[str, str] = {}
    account_id: str = ""
    region: str = ""
    namespace: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Points as they were read, of one file or a piece of it; arrays of one length."""

    series: IntArray
    """Number of the series."""
    time_s: IntArray
    """0 for a time that cannot be read."""
    sum: FloatArray
    count: FloatArray
    min: FloatArray
    max: FloatArray

    def where(self, kept: NDArray[np.bool_]) -> "_Chunk":
        """Return the points for which `kept` is true."""
        return _Chunk(
            self.series[kept], self.time_s[kept], self.sum[kept], self.count[kept], self.min[kept], self.max[kept]
        )

    @classmethod
    def of(cls, chunks: "list[_Chunk]") -> "_Chunk":
        """Return the points of all chunks, in order; at least one."""
        return cls(
            np.concatenate([one.series for one in chunks]),
            np.concatenate([one.time_s for one in chunks]),
            np.concatenate([one.sum for one in chunks]),
            np.concatenate([one.count for one in chunks]),
            np.concatenate([one.min for one in chunks]),
            np.concatenate([one.max for one in chunks]),
        )


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class StreamPoints:
    """Points of many files, collected."""

    numbers: dict[Key, int] = field(default_factory=dict)
    """The series, each with its number."""
    chunks: list[_Chunk] = field(default_factory=list)
    count: int = 0
    """Number of points."""
    bad_lines: int = 0
    """Lines or messages that could not be read: cut off or damaged."""
    bad_points: int = 0
    """Points without a readable time, a count above zero and a finite sum."""
    unknown: set[str] = field(default_factory=set)
    """Names of metrics that Plimsoll does not use."""
    _reader: StreamReader = field(default_factory=StreamReader)
    _of_lines: IntArray = field(default_factory=_nothing)
    """Number of each series that the reader found in lines."""
    _of_messages: IntArray = field(default_factory=_nothing)
    """The same of messages."""
    _series: list[SeriesKey] = field(default_factory=list)
    """Of each number, as the lake names it."""
    _factors: list[float] = field(default_factory=list)
    """To our unit, of each number; NaN for what is not used."""

    def number_of(self, key: Key) -> int:
        """Return the number of a series."""
        return self.numbers.setdefault(key, len(self.numbers))

    def add_packed(self, packed: bytes, *, is_json: bool) -> bool:
        """Add the points of a gzip file; return False, and add nothing, if it has another than the usual form."""
        read = self._reader.lines if is_json else self._reader.messages
        columns = read(packed, most_unpacked(len(packed)))
        if columns is None:
            return False
        numbers = self._of_lines if is_json else self._of_messages
        if columns.series:
            numbers = np.concatenate([numbers, _numbers(columns, self, is_json=is_json)])
        if is_json:
            self._of_lines = numbers
        else:
            self._of_messages = numbers
        _add_columns(columns, numbers, slice(None), self)
        return True

    def restart(self) -> None:
        """Forget the points and what was counted; the series stay, unless they have become too many."""
        if len(self.numbers) > _MOST_SERIES:
            self.numbers, self._series, self._factors = {}, [], []
            self._reader, self._of_lines, self._of_messages = StreamReader(), _nothing(), _nothing()
        self.chunks, self.count, self.bad_lines, self.bad_points = [], 0, 0, 0

    def add(self, chunk: _Chunk) -> None:
        """Add points."""
        self.chunks.append(chunk)
        self.count += int(chunk.series.size)

    def columns(self) -> PointColumns:
        """Return the usable points in our units, in the order read; the others are counted."""
        if not self.count:
            return PointColumns.empty()
        chunk = _Chunk.of(self.chunks)
        self._name_series()
        factor_of_point = np.array(self._factors)[chunk.series]
        used = ~np.isnan(factor_of_point)
        good = used & (chunk.time_s > 0) & np.isfinite(chunk.sum) & (chunk.count > 0)
        self.bad_points += int(used.sum() - good.sum())
        if not good.all():
            chunk, factor_of_point = chunk.where(good), factor_of_point[good]
        least, most = chunk.min, chunk.max
        if not (np.isfinite(least).all() and np.isfinite(most).all()):
            mean = chunk.sum / chunk.count
            least = np.where(np.isfinite(least), least, mean)
            most = np.where(np.isfinite(most), most, mean)
        return PointColumns(
            series=self._series,
            index=chunk.series,
            time_s=chunk.time_s,
            sum=chunk.sum * factor_of_point,
            count=chunk.count,
            min=least * factor_of_point,
            max=most * factor_of_point,
        )

    def _name_series(self) -> None:
        """Name the series that are new as the lake does."""
        new = islice(self.numbers, len(self._series), None)
        for account, region, instance, name, unit, namespace in new:
            named = recognise(name)
            metric, factor = named.metric, None
            if metric is not None:
                factor = factor_of(unit or named.unit, metric, is_ours=named.is_ours)
            if metric is None or factor is None or namespace in _IGNORED:
                self.unknown.add(name)
                factor = np.nan
            self._series.append((account, region, instance, metric.value if metric else ""))
            self._factors.append(factor)


def is_stream(data: bytes) -> bool:
    """Return whether unpacked content is a file of a metric stream, as JSON lines or OpenTelemetry."""
    return _is_stream(data[:_HEAD_BYTES], len(data))


def _is_stream(head: bytes, size: int) -> bool:
    if _is_json(head):
        return _MARK in head.split(b"\n", 1)[0]
    return looks_like_protobuf(head, size) and PREFIX.encode() in head


def _is_json(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{"


def add_packed(packed: bytes, found: StreamPoints) -> bool:
    """
    Add the points of a packed file of a metric stream if all of it has the usual form.

    Args:
        packed: content of any file, as it is stored.
        found: added to.

    Returns:
        False if nothing was added: the file is something else, or is left to `is_stream` and `add_file`.
    """
    opened = unpacked_head(packed, _HEAD_BYTES)
    if opened is None:
        return False
    head, size = opened
    return _is_stream(head, size) and found.add_packed(packed, is_json=_is_json(head))


def add_file(data: bytes, found: StreamPoints, *, where: str) -> None:
    """
    Add the points of one unpacked file; what is damaged is counted, and the rest is kept.

    Compiled code reads what has the usual form (`plimsoll.wire.stream_lines`); what it leaves is read
    here, with the same result.

    Args:
        data: content for which `is_stream` is true.
        found: added to.
        where: name of the file, for messages.

    Raises:
        DataError: more lines than a file of its size can have.
    """
    if data.lstrip()[:1] == b"{":
        columns, odd = stream_lines(data)
        if odd:
            check_lines(data, where)
        numbers = _numbers(columns, found, is_json=True)
        begun = 0
        for start, end, after in odd:
            _add_columns(columns, numbers, slice(begun, after), found)
            add_records(data[start:end], found, where=where)
            begun = after
        _add_columns(columns, numbers, slice(begun, None), found)
        return
    read = stream_messages(data)
    if read is None:
        add_messages(data, found)
    else:
        add_columns(read, found, is_json=False)


def add_columns(columns: StreamColumns, found: StreamPoints, *, is_json: bool) -> None:
    """
    Add points that are columns already, for example of a Parquet file.

    Args:
        columns: as they were read.
        found: added to.
        is_json: whether names are those of JSON records, else of OpenTelemetry.
    """
    _add_columns(columns, _numbers(columns, found, is_json=is_json), slice(None), found)


def _numbers(columns: StreamColumns, found: StreamPoints, *, is_json: bool) -> IntArray:
    """Return the number of each series of a file; −1 for totals of classes, engines or clusters."""
    numbers = []
    for account, region, namespace, name, unit, pairs in columns.series:
        dimensions = dict(pairs)
        if is_json:
            key = _json_key(account, region, namespace, name, unit, dimensions)
        else:
            key = _otel_key(account, region, name, unit, dimensions)
        numbers.append(-1 if key is None else found.number_of(key))
    return np.array(numbers, dtype=np.int64)


def _add_columns(columns: StreamColumns, numbers: IntArray, part: slice, found: StreamPoints) -> None:
    series = numbers[columns.series_index[part]]
    time_s = _seconds(columns.time[part])
    chunk = _Chunk(series, time_s, columns.sum[part], columns.count[part], columns.min[part], columns.max[part])
    named = series >= 0
    if not named.all():
        chunk = chunk.where(named)
    if chunk.series.size:
        found.add(chunk)


def _seconds(time: FloatArray) -> IntArray:
    """Return epoch seconds of times of which many that follow each other are the same; 0 for no time."""
    if not time.size:
        return _nothing()
    starts = np.flatnonzero(np.append(True, time[1:] != time[:-1]))
    seconds, _ = of_numbers(time[starts])
    return np.repeat(seconds, np.diff(starts, append=time.size))


def _add_samples(numbers: list[int], samples: list[Sample], found: StreamPoints) -> None:
    if not samples:
        return
    times, *values = zip(*samples, strict=True)
    time_s, _ = epoch_seconds(times)
    total, count, least, most = (np.array(v, dtype=np.float64) for v in values)
    found.add(_Chunk(np.array(numbers, dtype=np.int64), time_s, total, count, least, most))


def _json_key(
    account: str, region: str, namespace: str | None, name: str, unit: str | None, dimensions: dict[str, str]
) -> Key | None:
    # Nearly all records have only this dimension; the general rule is five times slower.
    instance = dimensions.get("DBInstanceIdentifier") if len(dimensions) == 1 else None
    if instance is None:
        instance = instance_of(dimensions)
        if instance is None:
            return None
        name = volume_name(name, dimensions)
    return account, region, instance, name, unit, namespace


def _otel_key(account: str, region: str, name: str, unit: str | None, attributes: dict[str, str]) -> Key | None:
    namespace, _, short = name.removeprefix(PREFIX).rpartition("/")
    dimensions = {k: v for k, v in attributes.items() if k not in ("Namespace", "MetricName")}
    instance = instance_of(dimensions)
    if instance is None:
        return None
    return account, region, instance, volume_name(short, dimensions), unit, namespace or None


def add_records(data: bytes, found: StreamPoints, *, where: str) -> None:
    """
    Add JSON lines of every form, slowly.

    Raises:
        DataError: more lines than a file of its size can have.
    """
    for records, bad in lines(data, _Record, where):
        found.bad_lines += bad
        numbers: list[int] = []
        samples: list[Sample] = []
        for r in records:
            value = r.value
            key = _json_key(r.account_id, r.region, r.namespace, r.metric_name, r.unit, r.dimensions)
            if key is not None:
                numbers.append(found.number_of(key))
                samples.append((r.timestamp, value.sum, value.count, value.min, value.max))
        _add_samples(numbers, samples, found)


# --- OpenTelemetry: field numbers of opentelemetry-proto 1.0 ------------------------------------


def add_messages(data: bytes, found: StreamPoints) -> None:
    """Add OpenTelemetry messages up to the first damaged one, slowly."""
    at = 0
    numbers: list[int] = []
    samples: list[Sample] = []
    try:
        while at < len(data):
            length, start = varint(data, at)
            for key, sample in _of_request(piece(data, start, length)):
                numbers.append(found.number_of(key))
                samples.append(sample)
            at = start + length
    except (ValueError, IndexError, RecursionError):
        # What follows a damaged length cannot be found again.
        found.bad_lines += 1
    _add_samples(numbers, samples, found)


def _of_request(message: bytes) -> Iterator[tuple[Key, Sample]]:
    for number, resource_metrics in fields(message):
        if number != 1:  # resource_metrics
            continue
        place: dict[str, str] = {}
        scopes: list[bytes] = []
        for part, value in fields(resource_metrics):
            if part == 1:  # resource
                place = wire_attributes(value, 1)
            elif part == 2:  # scope_metrics
                scopes.append(value)
        account, region = place.get("cloud.account.id", ""), place.get("cloud.region", "")
        for scope in scopes:
            for part, metric in fields(scope):
                if part == 2:  # metrics
                    yield from _of_metric(metric, account, region)


def _of_metric(metric: bytes, account: str, region: str) -> Iterator[tuple[Key, Sample]]:
    name, unit = "", None
    points: list[bytes] = []
    for number, value in fields(metric):
        if number == 1:
            name = text_of(value)
        elif number == 3:
            unit = text_of(value) or None
        elif number == 11:  # summary
            points += [point for part, point in fields(value) if part == 1]
    for point in points:
        key = _otel_key(account, region, name, unit, wire_attributes(point, 7))
        if key is not None:
            yield key, _sample(point)


def _sample(point: bytes) -> Sample:
    numbers = dict(fields(point, numbers={2: "Q", 4: "Q", 5: "d"}))
    least = most = None
    for number, quantile in fields(point):
        if number == 6:  # quantile_values; 0 is the minimum, 1 the maximum; zeros are not written
            parts = dict(fields(quantile, numbers={1: "d", 2: "d"}))
            if parts.get(1, 0.0) == 0.0:
                least = parts.get(2, 0.0)
            elif parts[1] == 1.0:
                most = parts.get(2, 0.0)
    return numbers.get(2), numbers.get(5, 0.0), numbers.get(4, 0), least, most
