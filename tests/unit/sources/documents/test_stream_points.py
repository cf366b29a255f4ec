"""Compiled code and the reader in Python find the same points in a metric stream, damaged or not."""

import gzip
import json
import math
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from fuzz.corpus import varint
from plimsoll import wire
from plimsoll.sources.documents.stream_points import StreamPoints, add_file, add_messages, add_packed, add_records
from unit.app.lake.streams import ACCOUNT, REGION, record

Row = tuple[object, ...]

NAMES = st.sampled_from(["ReadIOPS", "ReadLatency", "Naïve", 'with "quotes"', "back\\slash", ""])
TEXTS = st.text(max_size=8) | NAMES
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**17), 10**17),
    st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, 10**25, 1e22, 9007199254740993]),
)
TIMES = st.one_of(
    st.integers(1_700_000_000_000, 1_800_000_000_000), st.integers(0, 10**19), st.floats(0, 2e12, allow_nan=False)
)
VALUES = st.fixed_dictionaries({}, optional={n: NUMBERS | st.none() for n in ("max", "min", "sum", "count", "p99")})
DIMENSIONS = st.one_of(
    st.fixed_dictionaries({"DBInstanceIdentifier": TEXTS}),
    st.dictionaries(st.sampled_from(["DBInstanceIdentifier", "VolumeName", "timestamp"]), TEXTS),
)
RECORDS = st.fixed_dictionaries(
    {"metric_name": NAMES, "dimensions": DIMENSIONS, "timestamp": TIMES, "value": VALUES},
    optional={
        "metric_stream_name": TEXTS,
        "account_id": TEXTS,
        "region": TEXTS,
        "namespace": TEXTS | st.none(),
        "unit": TEXTS | st.none(),
        "more": st.sampled_from([1, "text", {"timestamp": 1}, ["value"], None]),
    },
)
USUAL = st.fixed_dictionaries(
    {
        "metric_stream_name": st.just("all"),
        "account_id": st.just("123456789012"),
        "region": st.sampled_from(["eu-central-1", "us-east-1"]),
        "namespace": st.just("AWS/RDS"),
        "metric_name": st.sampled_from(["ReadIOPS", "ReadLatency"]),
        "dimensions": st.fixed_dictionaries({"DBInstanceIdentifier": st.just("orders")}),
        "timestamp": st.integers(1_700_000_000_000, 1_700_000_600_000),
        "value": st.fixed_dictionaries({n: st.floats(0, 1e9) for n in ("max", "min", "sum", "count")}),
        "unit": st.sampled_from(["Count/Second", "Seconds"]),
    }
)
# A document that a line end cuts in two is read as one, as before, unless another line there is damaged.
BYTES = st.integers(0, 255).filter(lambda byte: byte not in b"\r\n")
SPACED = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


def rows_of(found: StreamPoints) -> list[Row]:
    keys = list(found.numbers)
    rows: list[Row] = []
    for chunk in found.chunks:
        columns = (chunk.time_s, chunk.sum, chunk.count, chunk.min, chunk.max)
        for series, *numbers in zip(chunk.series, *columns, strict=True):
            written = (None if math.isnan(n) else float(n) for n in numbers)
            rows.append((*keys[series], *written))
    return rows


def fast(data: bytes) -> tuple[list[Row], int]:
    found = StreamPoints()
    add_file(data, found, where="a file")
    return rows_of(found), found.bad_lines


def slow_json(data: bytes) -> tuple[list[Row], int]:
    found = StreamPoints()
    for line in data.split(b"\n"):
        add_records(line, found, where="a file")
    return rows_of(found), found.bad_lines


def slow_otel(data: bytes) -> tuple[list[Row], int]:
    found = StreamPoints()
    add_messages(data, found)
    return rows_of(found), found.bad_lines


@st.composite
def json_files(draw: st.DrawFn) -> bytes:
    lines = []
    for one in draw(st.lists(RECORDS | USUAL, min_size=1, max_size=6)):
        members = list(one.items())
        if draw(st.booleans()):
            members = draw(st.permutations(members))
        text = json.dumps(dict(members), separators=draw(SPACED), ensure_ascii=draw(st.booleans()))
        lines.append(text.encode(errors="replace") + draw(st.sampled_from([b"\n", b"\r\n", b" \n"])))
    return b"".join(lines)


@st.composite
def damaged(draw: st.DrawFn, files: st.SearchStrategy[bytes]) -> bytes:
    data = bytearray(draw(files))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.sampled_from(["cut", "flip", "insert", "delete"])):
            case "cut":
                del data[at:]
            case "flip" if data:
                data[at] = draw(BYTES)
            case "insert":
                data[at:at] = draw(st.lists(BYTES, max_size=4).map(bytes) | st.sampled_from([b'"', b"{", b"}", b","]))
            case "delete":
                del data[at : at + draw(st.integers(1, 8))]
    return b"{" + bytes(data[1:])


@given(json_files())
@example(b'{"metric_name":"a","dimensions":{},"timestamp":1,"value":{}}\n')
def test_lines_of_every_form_are_read_as_before(data: bytes):
    assert slow_json(data) == fast(data)


USUAL_FILES = st.lists(USUAL, min_size=2, max_size=4).map(
    lambda records: b"".join(json.dumps(r).encode() + b"\n" for r in records)
)


@pytest.mark.parametrize("files", [USUAL_FILES, json_files()], ids=["usual", "of every form"])
@given(st.data())
def test_damaged_lines_are_read_as_before(files: st.SearchStrategy[bytes], data: st.DataObject):
    content = data.draw(damaged(files))

    assert slow_json(content) == fast(content)


def usual_line(metric: str) -> str:
    return json.dumps(record(metric, 0, 1.5, count=2.0), separators=(",", ":"))


def test_lines_of_the_usual_form_are_left_to_nobody():
    """The property would hold, slowly, if compiled code left every line to Python."""
    line = usual_line("ReadIOPS").encode() + b"\n"
    columns, odd = wire.stream_lines(line + b"{\n" + line)

    assert [(len(line), len(line) + 1, 1)] == odd
    assert [3.0, 3.0] == columns.sum.tolist()
    assert [0, 0] == columns.series_index.tolist()


@st.composite
def otel_files(draw: st.DrawFn) -> bytes:
    content = b""
    for _ in range(draw(st.integers(1, 3))):
        request = ExportMetricsServiceRequest()
        resource = request.resource_metrics.add()
        for key in draw(st.permutations(["cloud.account.id", "cloud.region", "other"])):
            resource.resource.attributes.add(key=key).value.string_value = draw(TEXTS)
        metric = resource.scope_metrics.add().metrics.add()
        metric.name = draw(st.sampled_from(["amazonaws.com/AWS/RDS/ReadIOPS", "ReadIOPS", ""]))
        metric.unit = draw(TEXTS)
        for _ in range(draw(st.integers(0, 3))):
            point = metric.summary.data_points.add()
            point.start_time_unix_nano = draw(st.integers(0, 2**64 - 1))
            point.count = draw(st.integers(0, 2**64 - 1))
            point.sum = draw(st.floats())
            for quantile in draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=3)):
                point.quantile_values.add(quantile=quantile, value=draw(st.floats()))
            point.attributes.add(key="MetricName").value.string_value = draw(TEXTS)
            nested = point.attributes.add(key="Dimensions").value.kvlist_value
            for key, value in draw(DIMENSIONS).items():
                nested.values.add(key=key).value.string_value = value
        message = request.SerializeToString()
        content += varint(len(message)) + message
    return content


@given(otel_files())
def test_messages_are_read_as_before(data: bytes):
    assert slow_otel(data) == fast(b"\x00" + data)
    assert wire.stream_messages(data) is not None


def packed_or_not(files: list[bytes], found: StreamPoints) -> None:
    """Add files as an ingest does: packed, and only if that fails unpacked."""
    for data in files:
        if not add_packed(gzip.compress(data, 1), found):
            add_file(data, found, where="a file")


@given(st.lists(json_files() | damaged(json_files()) | otel_files(), min_size=1, max_size=4))
def test_packed_files_are_read_as_unpacked_ones(files: list[bytes]):
    """Also where a file before had the same series, and where one is left unfinished."""
    expected, found = StreamPoints(), StreamPoints()
    for data in files:
        add_file(data, expected, where="a file")
    packed_or_not(files, found)

    assert rows_of(expected) == rows_of(found)
    assert expected.bad_lines == found.bad_lines


def test_a_series_of_a_file_that_was_not_read_does_not_shift_the_next_ones():
    """The reader has counted it, although nothing of the file was added."""
    odd = usual_line("ReadIOPS") + "\nno JSON\n"
    found = StreamPoints()

    assert not add_packed(gzip.compress(odd.encode()), found)
    assert add_packed(gzip.compress(usual_line("WriteIOPS").encode()), found)
    points = found.columns()
    assert "write_ops_per_s" == points.series[points.index[0]][3]


def test_a_packed_file_of_the_usual_form_is_read_in_pieces():
    """Again after a restart, which forgets the points and keeps the series."""
    line = usual_line("ReadIOPS")
    found = StreamPoints()
    for count in (3, 4000):
        packed = gzip.compress((line + "\n").encode() * count)
        assert add_packed(packed, found)
        assert not add_packed(packed[:-9], found)
        points = found.columns()
        assert [(ACCOUNT, REGION, "orders", "read_ops_per_s")] == points.series
        assert 3.0 * count == points.sum.sum()
        found.restart()
        assert 0 == len(found.columns())


@given(damaged(otel_files()))
def test_damaged_messages_are_read_as_before(data: bytes):
    data = b"\x00" + data[1:]

    assert slow_otel(data) == fast(data)


@given(st.binary(max_size=2000), st.integers(0, 9))
def test_what_is_packed_is_unpacked(content: bytes, level: int):
    packed = gzip.compress(content, level)

    assert content == wire.unpacked(packed, len(content))
    assert wire.unpacked(packed + packed, 4000) is None
    if content:
        assert wire.unpacked(packed, len(content) - 1) is None


@given(damaged(st.binary(min_size=1, max_size=200).map(gzip.compress)))
def test_a_damaged_file_is_not_taken_for_a_whole_one(damaged_file: bytes):
    packed = b"\x1f" + damaged_file[1:]
    content = wire.unpacked(packed, 1 << 20)
    if content is not None:
        assert content == zlib.decompress(packed, 31)
