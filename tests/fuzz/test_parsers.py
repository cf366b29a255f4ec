"""A fuzz target for each parser: any bytes, and any JSON of the right keys, end in one sentence."""

from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzz import corpus
from fuzz.answers import checked
from fuzz.mutations import CAPTURES
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.documents import (
    cloudwatch_json,
    describe_instances,
    enhanced_monitoring,
    metric_stream,
    otel_stream,
)
from plimsoll.sources.export.csv.file import read_csv
from plimsoll.sources.export.parquet import read_parquet
from plimsoll.sources.export.read import read_loaded
from plimsoll.sources.reading.assemble import assemble
from plimsoll.sources.reading.reading import Reading
from plimsoll.sources.sysstat.recognise import parse_capture
from plimsoll.sources.targets.snapshot_file import decode

# A shared machine may be slow, so no example has a deadline.
fuzzed = settings(deadline=None, max_examples=80)

PATH = Path("folder/ReadIOPS.json")
FORMATS = corpus.all_formats(corpus.made(3))

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["2021-03-08T10:14:00Z", "ReadIOPS", "orders-primary", "Average", "Percent", "Complete"])
    | st.integers(1_615_000_000, 1_615_300_000)
)


def trees(keys: tuple[str, ...]) -> st.SearchStrategy:
    """JSON whose objects have the keys of a format, with anything under them."""
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(keys) | st.text(max_size=4), inner, max_size=5)
        ),
        max_leaves=25,
    )


def answered(read) -> None:
    """Reading and assembling give a snapshot that can be recorded, or one clear sentence."""
    reading = Reading()

    def whole() -> Snapshot:
        read(reading)
        return assemble(reading, identifier=None, source="fuzz")

    checked(whole)


def damaged(good: bytes, data: bytes, at: int) -> bytes:
    """Some bytes replaced anywhere."""
    at %= len(good)
    return good[:at] + data + good[at + len(data) :]


METRIC_DATA = ("Id", "Label", "Timestamps", "Values", "StatusCode", "Messages", "Code", "Value")
REQUEST = ("Id", "MetricStat", "Metric", "MetricName", "Dimensions", "Name", "Value", "Period", "Stat")
STATISTICS = ("Timestamp", "Average", "Sum", "SampleCount", "Maximum", "Unit")
STREAM = ("metric_name", "timestamp", "value", "sum", "count", "dimensions", "unit", "region")
OTEL = ("resource", "scopeMetrics", "metrics", "name", "unit", "summary", "dataPoints", "attributes")
OTEL_POINT = ("startTimeUnixNano", "sum", "count", "attributes", "labels", "key", "value")
ENHANCED = ("timestamp", "instanceID", "cpuUtilization", "total", "physicalDeviceIO", "readIOsPS")
EVENTS = ("events", "logEvents", "message", "timestamp")
INSTANCE = ("DBInstanceIdentifier", "DBInstanceClass", "Iops", "AllocatedStorage", "StorageType")


# The keys of a document, a file of such lines, and its reader.
LINES = {
    "metric stream": (STREAM, "stream.jsonl", metric_stream.read_lines),
    "enhanced monitoring": (ENHANCED, "enhanced.jsonl", enhanced_monitoring.read_lines),
}


@pytest.mark.parametrize("name", LINES)
@fuzzed
@given(data=st.data())
def test_lines(name, data):
    keys, file, read = LINES[name]
    document, line = data.draw(trees(keys)), data.draw(st.binary(max_size=40))
    text = msgspec.json.encode(document) + b"\n" + line + b"\n" + FORMATS[file]
    answered(lambda r: read(text, r, where="'f'"))


@fuzzed
@given(data=st.binary(max_size=200), at=st.integers(0, 400), whole=st.booleans())
def test_opentelemetry_protobuf(data, at, whole):
    text = data if whole else damaged(FORMATS["otel-1.0.bin"], data, at)
    answered(lambda r: otel_stream.read_protobuf(text, r, where="'f'"))


# What each reader takes.
TREES = {
    "metric data": (
        st.fixed_dictionaries({"MetricDataResults": trees(METRIC_DATA), "NextToken": scalars}),
        partial(cloudwatch_json.read_metric_data, folder=Path("a")),
    ),
    "samples of a metric": (
        st.fixed_dictionaries(
            {"Label": scalars, "Timestamps": st.lists(scalars, max_size=8), "Values": st.lists(scalars, max_size=8)}
        ).map(lambda result: {"MetricDataResults": [{"Id": "m1", **result}]}),
        partial(cloudwatch_json.read_metric_data, folder=Path("a")),
    ),
    "metric statistics": (
        st.fixed_dictionaries(
            {"Label": scalars, "Datapoints": st.lists(trees(STATISTICS), max_size=5) | trees(STATISTICS)}
        ),
        partial(cloudwatch_json.read_metric_statistics, folder=PATH),
    ),
    "OpenTelemetry": (trees(OTEL).map(lambda resources: [{"resourceMetrics": resources}]), otel_stream.read_json),
    "points of OpenTelemetry": (
        st.builds(
            lambda name, points: {"name": name, "unit": name, "summary": {"dataPoints": points}},
            scalars,
            st.lists(trees(OTEL_POINT), max_size=4),
        ).map(lambda metric: [{"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}]),
        otel_stream.read_json,
    ),
    "request": (
        st.lists(trees(REQUEST), max_size=3) | trees(REQUEST),
        partial(cloudwatch_json.read_request, folder=Path("a")),
    ),
    "stream records": (st.lists(trees(STREAM), max_size=5), metric_stream.read_records),
    "enhanced documents": (st.lists(trees(ENHANCED), max_size=4), enhanced_monitoring.read_documents),
    "log events": (trees(EVENTS), enhanced_monitoring.read_log_events),
    "described instances": (
        trees(INSTANCE) | st.fixed_dictionaries({"DBInstances": trees(INSTANCE)}),
        describe_instances.read_answer,
    ),
}


@pytest.mark.parametrize("name", TREES)
@fuzzed
@given(data=st.data())
def test_trees(name, data):
    strategy, read = TREES[name]
    document = data.draw(strategy)
    answered(lambda r: read(document, r, where="'f'"))


cells = st.text(max_size=12) | scalars.map(str)


@fuzzed
@given(
    rows=st.lists(st.lists(cells, min_size=1, max_size=5), max_size=8),
    head=st.sampled_from(["time,ReadIOPS,WriteIOPS", "metric;time;value", "Full label\tReadIOPS"]),
)
@example(rows=[["2021-03-08T10:14:00Z", "1"]], head="time,ReadIOPS,WriteIOPS")
def test_text_tables(rows, head):
    delimiter = next(c for c in ",;\t" if c in head)
    text = "\n".join([head, *(delimiter.join(row) for row in rows)])
    data = text.encode("utf-8", errors="replace")
    answered(lambda r: read_csv(data, r, where="'f'", path=PATH))


@settings(deadline=None, max_examples=12)  # each starts a process
@given(data=st.binary(max_size=60), at=st.integers(0, 3000), name=st.sampled_from(["long", "wide"]))
def test_parquet_tables(data, at, name):
    text = damaged(FORMATS[f"{name}.parquet"], data, at)
    answered(lambda r: read_parquet(text, r, where="'f'", path=PATH))


@fuzzed
@given(
    series=trees(("metric", "step_s", "value", "start_s", "time_s", "read_ops_per_s")),
    instance=trees(("identifier", "storage", "db_class")),
)
def test_snapshots(series, instance):
    document = {"schema": "plimsoll.snapshot/1.3", "instance": instance, "source": "x", "series": series}
    data = msgspec.json.encode(document)
    checked(lambda: decode(data, PATH))


# Every format through the same door as the command line, and every form of capture.
WHOLE = {
    **{
        name: (text, partial(read_loaded, path=PATH)) for name, text in FORMATS.items() if not name.endswith(".parquet")
    },
    **{name: (text, partial(parse_capture, where="'f'")) for name, text in CAPTURES.items()},
}


@pytest.mark.parametrize("name", WHOLE)
@fuzzed
@given(data=st.binary(min_size=1, max_size=30), at=st.integers(0, 10_000))
def test_any_damage_to_any_format(name, data, at):
    """Bytes replaced anywhere."""
    good, read = WHOLE[name]
    checked(lambda: read(damaged(good, data, at)))


@fuzzed
@given(data=st.binary(max_size=300))
def test_any_bytes(data):
    checked(lambda: read_loaded(data, PATH))


CAPTURED = ("timestamp", "date", "time", "utc", "interval", "disk", "disk-device", "tps", "rkB", "io")


@fuzzed
@given(entries=st.lists(trees(CAPTURED), max_size=4), host=trees(("nodename", "restarts", "boot")))
def test_sadf_documents(entries, host):
    facts = host if isinstance(host, dict) else {"nodename": host}
    known = {"file-date": "2021-03-08", "statistics": entries}
    data = msgspec.json.encode({"sysstat": {"hosts": [known | facts]}})
    checked(lambda: parse_capture(data, where="'f'"))
