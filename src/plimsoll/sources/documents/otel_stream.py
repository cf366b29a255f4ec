"""
Read CloudWatch metric streams in OpenTelemetry 0.7 and 1.0, as JSON and as Firehose's protobuf.

Both name a metric `amazonaws.com/AWS/RDS/ReadIOPS` and send a Summary point per minute with count
and sum. 0.7 puts the dimensions flat into labels; 1.0 nests them under the attribute `Dimensions`.
Source: Amazon CloudWatch User Guide, "Translations with OpenTelemetry 0.7.0 / 1.0.0 format".
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from plimsoll.errors import DataError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.documents.metric_stream import Columns, instance_of, volume_name
from plimsoll.sources.documents.protobuf import fields, piece, text_of, varint
from plimsoll.sources.files.json_text import lines
from plimsoll.sources.reading.reading import Reading

PREFIX = "amazonaws.com/"


def read_lines(data: bytes, reading: Reading, *, where: str) -> int:
    """
    Add a file with one request per line.

    Returns:
        The number of lines that are not JSON: cut off or damaged.

    Raises:
        DataError: as `read_json`.
    """
    bad_lines = 0
    columns = Columns()
    for documents, bad in lines(data, dict[str, Any], where):
        bad_lines += bad
        _gather_json(documents, columns, where)
    columns.hand_over(reading)
    return bad_lines


def read_json(documents: list[Any], reading: Reading, *, where: str) -> None:
    """
    Add `ExportMetricsServiceRequest` documents in their JSON mapping.

    Raises:
        DataError: a part of the wrong type.
    """
    columns = Columns()
    _gather_json(documents, columns, where)
    columns.hand_over(reading)


def _gather_json(documents: list[Any], columns: Columns, where: str) -> None:
    for document in documents:
        for resource in _list(document, "resourceMetrics", "resource_metrics", where=where):
            region = _attributes(_get(resource, "resource", where)).get("cloud.region")
            for metric in _metrics(resource, where):
                _gather_metric(metric, region, columns, where)


def read_protobuf(data: bytes, reading: Reading, *, where: str) -> None:
    """
    Add length-delimited `ExportMetricsServiceRequest` messages, as Firehose writes them.

    Messages before a cut are kept, with a gap.

    Raises:
        DataError: not protobuf from the first message on.
    """
    columns = Columns()
    at = 0
    try:
        while at < len(data):
            length, start = varint(data, at)
            _gather_request(piece(data, start, length), columns)
            at = start + length
    except (ValueError, IndexError, RecursionError) as error:
        reason = f"not whole OpenTelemetry protobuf at byte {at:,}"
        remedy = "Download the file from the bucket again."
        if not columns.columns:
            raise DataError(f"{where} is {reason}", remedy) from error
        reading.gaps.append(Gap(metric=f"end of {where}", reason=reason, remedy=remedy))
    columns.hand_over(reading)


def looks_like_protobuf(head: bytes, size: int) -> bool:
    """Return whether a file begins with a length and a message whose first field is a resource."""
    try:
        length, at = varint(head, 0)
    except (ValueError, IndexError):
        return False
    return 2 < length <= size - at and head[at : at + 1] == b"\x0a"


def _add(
    columns: Columns,
    name: str,
    attributes: Mapping[str, str],
    region: str | None,
    point: tuple[object, object, object],
    unit: str | None,
) -> None:
    metric_name = name.removeprefix(PREFIX)
    namespace, _, short = metric_name.rpartition("/")
    dimensions = {k: v for k, v in attributes.items() if k not in ("Namespace", "MetricName")}
    instance = instance_of(dimensions)
    if instance is None:
        return
    time, total, count = point
    key = (volume_name(short, dimensions), instance, unit, namespace or None)
    columns.add(key, time, total, count)
    if region:
        columns.regions[instance] = region


# --- JSON ---------------------------------------------------------------------------------------


def _metrics(resource: Any, where: str) -> Iterator[Any]:
    scopes = _list(
        resource,
        "scopeMetrics",
        "scope_metrics",
        "instrumentationLibraryMetrics",
        "instrumentation_library_metrics",
        where=where,
    )
    for scope in scopes:
        yield from _list(scope, "metrics", where=where)


def _gather_metric(metric: Any, region: str | None, columns: Columns, where: str) -> None:
    name = str(_get(metric, "name", where) or "")
    unit = _get(metric, "unit", where)
    for kind in ("summary", "doubleSummary", "double_summary"):
        summary = _get(metric, kind, where)
        if summary is None:
            continue
        for point in _list(summary, "dataPoints", "data_points", where=where):
            start = point.get("startTimeUnixNano", point.get("start_time_unix_nano"))
            sample = (
                int(start) if isinstance(start, str) and start.isdecimal() else start,
                point.get("sum", 0),  # the JSON mapping of protobuf omits zeros
                point.get("count", 0),
            )
            text_unit = unit if isinstance(unit, str) else None
            _add(columns, name, _attributes(point), region, sample, text_unit)


def _attributes(holder: Any) -> dict[str, str]:
    """Return labels (0.7) or attributes (1.0), with the nested `Dimensions` lifted to the top."""
    found: dict[str, str] = {}
    if not isinstance(holder, dict):
        return found
    for pair in [*_pairs(holder.get("attributes")), *_pairs(holder.get("labels"))]:
        value = pair.get("value")
        key = str(pair.get("key"))
        if isinstance(value, str):
            found[key] = value
        elif isinstance(value, dict):
            nested = value.get("kvlistValue") or value.get("kvlist_value")
            if isinstance(nested, dict):
                found |= _attributes({"attributes": nested.get("values")})
            elif (text := value.get("stringValue", value.get("string_value"))) is not None:
                found[key] = str(text)
    return found


def _pairs(value: Any) -> list[dict[str, Any]]:
    return [p for p in value if isinstance(p, dict)] if isinstance(value, list) else []


def _get(holder: Any, key: str, where: str) -> Any:
    if not isinstance(holder, dict):
        raise _not_otlp(where)
    return holder.get(key)


def _list(holder: Any, *keys: str, where: str) -> list[Any]:
    for key in keys:
        value = _get(holder, key, where)
        if isinstance(value, list) and all(isinstance(v, dict) for v in value):
            return value
        if value is not None:
            raise _not_otlp(where)
    return []


def _not_otlp(where: str) -> DataError:
    return DataError(
        f"{where} looks like OpenTelemetry metrics but has another structure",
        "Use the output of a CloudWatch metric stream in OpenTelemetry 0.7 or 1.0 format.",
    )


# --- protobuf: field numbers of opentelemetry-proto 0.7 and 1.0 ---------------------------------


def _gather_request(message: bytes, columns: Columns) -> None:
    for number, resource_metrics in fields(message):
        if number != 1:  # ExportMetricsServiceRequest.resource_metrics
            continue
        region: str | None = None
        scopes: list[bytes] = []
        for part, value in fields(resource_metrics):
            if part == 1:  # ResourceMetrics.resource
                region = wire_attributes(value, 1).get("cloud.region")
            elif part == 2:  # instrumentation_library_metrics (0.7), scope_metrics (1.0)
                scopes.append(value)
        for scope in scopes:
            for part, metric in fields(scope):
                if part == 2:  # metrics
                    _gather_wire_metric(metric, region, columns)


def _gather_wire_metric(metric: bytes, region: str | None, columns: Columns) -> None:
    name = unit = ""
    points: list[bytes] = []
    for number, value in fields(metric):
        if number == 1:
            name = text_of(value)
        elif number == 3:
            unit = text_of(value)
        elif number == 11:  # double_summary (0.7), summary (1.0)
            points += [point for part, point in fields(value) if part == 1]
    for point in points:
        parts = dict(fields(point, numbers={2: "Q", 4: "Q", 5: "d"}))
        attributes = wire_attributes(point, 1) | wire_attributes(point, 7)
        sample = (parts.get(2), parts.get(5, 0.0), parts.get(4, 0))
        _add(columns, name, attributes, region, sample, unit or None)


def wire_attributes(message: bytes, field_number: int) -> dict[str, str]:
    """Return StringKeyValue (0.7, value is a string) or KeyValue (1.0, value is an AnyValue)."""
    found: dict[str, str] = {}
    for number, pair in fields(message):
        if number == field_number:
            found.update(_wire_pair(pair))
    return found


@lru_cache(maxsize=65536)
def _wire_pair(pair: bytes) -> tuple[tuple[str, str], ...]:
    """Decode a pair; cached, because every minute of a stream repeats the same few pairs."""
    parts = dict(fields(pair))
    value = parts.get(2, b"")
    try:
        any_value = dict(fields(value))
    except (ValueError, IndexError):
        any_value = {}
    if 6 in any_value:  # AnyValue.kvlist_value; KeyValueList.values is its field 1
        return tuple(wire_attributes(any_value[6], 1).items())
    return ((text_of(parts.get(1, b"")), text_of(any_value.get(1, value))),)
