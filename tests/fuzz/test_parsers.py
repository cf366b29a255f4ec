"""A fuzz target for each parser: any bytes, and any JSON of the right keys, end in one sentence."""

from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzz import captures, corpus
from plimsoll.errors import PlimsollError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
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
CAPTURES = captures.all_captures(corpus.made(6))

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

    check(outcome(whole))


def outcome(call) -> Snapshot | PlimsollError:
    """What a call gives or what it complains of; anything else is ours to mend."""
    try:
        return call()
    except PlimsollError as error:
        return error


def check(answer: Snapshot | PlimsollError) -> None:
    if isinstance(answer, PlimsollError):
        assert answer.message.isprintable()
        assert answer.hint.endswith(".")
        return
    encode_snapshot(answer)
    for series in answer.series.values():
        assert not (series.value < 0).any()
    for gap in answer.gaps:
        assert all(text.isprintable() for text in (gap.metric, gap.reason, gap.remedy))


METRIC_DATA = ("Id", "Label", "Timestamps", "Values", "StatusCode", "Messages", "Code", "Value")
REQUEST = ("Id", "MetricStat", "Metric", "MetricName", "Dimensions", "Name", "Value", "Period", "Stat")
STATISTICS = ("Timestamp", "Average", "Sum", "SampleCount", "Maximum", "Unit")
STREAM = ("metric_name", "timestamp", "value", "sum", "count", "dimensions", "unit", "region")
OTEL = ("resource", "scopeMetrics", "metrics", "name", "unit", "summary", "dataPoints", "attributes")
OTEL_POINT = ("startTimeUnixNano", "sum", "count", "attributes", "labels", "key", "value")
ENHANCED = ("timestamp", "instanceID", "cpuUtilization", "total", "physicalDeviceIO", "readIOsPS")
EVENTS = ("events", "logEvents", "message", "timestamp")
INSTANCE = ("DBInstanceIdentifier", "DBInstanceClass", "Iops", "AllocatedStorage", "StorageType")


@fuzzed
@given(results=trees(METRIC_DATA), token=scalars)
def test_metric_data(results, token):
    document = {"MetricDataResults": results, "NextToken": token}
    answered(lambda r: cloudwatch_json.read_metric_data(document, r, where="'f'", folder=Path("a")))


@fuzzed
@given(times=st.lists(scalars, max_size=8), values=st.lists(scalars, max_size=8), label=scalars)
def test_metric_data_of_any_samples(times, values, label):
    result = {"Id": "m1", "Label": label, "Timestamps": times, "Values": values}
    document = {"MetricDataResults": [result]}
    answered(lambda r: cloudwatch_json.read_metric_data(document, r, where="'f'", folder=Path("a")))


@fuzzed
@given(points=st.lists(trees(STATISTICS), max_size=5) | trees(STATISTICS), label=scalars)
def test_metric_statistics(points, label):
    document = {"Label": label, "Datapoints": points}
    answered(lambda r: cloudwatch_json.read_metric_statistics(document, r, where="'f'", folder=PATH))


@fuzzed
@given(record=trees(STREAM), line=st.binary(max_size=40))
def test_stream_lines(record, line):
    data = msgspec.json.encode(record) + b"\n" + line + b"\n" + FORMATS["stream.jsonl"]
    answered(lambda r: metric_stream.read_lines(data, r, where="'f'"))


@fuzzed
@given(resources=trees(OTEL), points=st.lists(trees(OTEL_POINT), max_size=4), name=scalars)
def test_opentelemetry_json(resources, points, name):
    metric = {"name": name, "unit": name, "summary": {"dataPoints": points}}
    nested = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    for document in ({"resourceMetrics": resources}, nested):
        answered(lambda r, d=document: otel_stream.read_json([d], r, where="'f'"))


@fuzzed
@given(data=st.binary(max_size=200), at=st.integers(0, 400), whole=st.booleans())
def test_opentelemetry_protobuf(data, at, whole):
    good = FORMATS["otel-1.0.bin"]
    damaged = data if whole else good[:at] + data + good[at + len(data) :]
    answered(lambda r: otel_stream.read_protobuf(damaged, r, where="'f'"))


@fuzzed
@given(document=trees(ENHANCED), line=st.binary(max_size=40))
def test_enhanced_lines(document, line):
    data = msgspec.json.encode(document) + b"\n" + line + b"\n" + FORMATS["enhanced.jsonl"]
    answered(lambda r: enhanced_monitoring.read_lines(data, r, where="'f'"))


# What each reader takes.
TREES = {
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
    good = FORMATS[f"{name}.parquet"]
    at %= len(good)
    damaged = good[:at] + data + good[at + len(data) :]
    answered(lambda r: read_parquet(damaged, r, where="'f'", path=PATH))


@fuzzed
@given(
    series=trees(("metric", "step_s", "value", "start_s", "time_s", "read_ops_per_s")),
    instance=trees(("identifier", "storage", "db_class")),
)
def test_snapshots(series, instance):
    document = {"schema": "plimsoll.snapshot/1.3", "instance": instance, "source": "x", "series": series}
    data = msgspec.json.encode(document)
    check(outcome(lambda: decode(data, PATH)))


@pytest.mark.parametrize("name", [n for n in FORMATS if not n.endswith(".parquet")])
@fuzzed
@given(data=st.binary(min_size=1, max_size=30), at=st.integers(0, 10_000))
def test_any_damage_to_any_format(name, data, at):
    """Bytes replaced anywhere, in every format, through the same door as the command line."""
    good = FORMATS[name]
    at %= len(good)
    damaged = good[:at] + data + good[at + len(data) :]
    check(outcome(lambda: read_loaded(damaged, PATH)))


@fuzzed
@given(data=st.binary(max_size=300))
def test_any_bytes(data):
    check(outcome(lambda: read_loaded(data, PATH)))


CAPTURED = ("timestamp", "date", "time", "utc", "interval", "disk", "disk-device", "tps", "rkB", "io")


@fuzzed
@given(entries=st.lists(trees(CAPTURED), max_size=4), host=trees(("nodename", "restarts", "boot")))
def test_sadf_documents(entries, host):
    facts = host if isinstance(host, dict) else {"nodename": host}
    known = {"file-date": "2021-03-08", "statistics": entries}
    data = msgspec.json.encode({"sysstat": {"hosts": [known | facts]}})
    check(outcome(lambda: parse_capture(data, where="'f'")))


@pytest.mark.parametrize("name", CAPTURES)
@fuzzed
@given(data=st.binary(min_size=1, max_size=30), at=st.integers(0, 10_000))
def test_any_damage_to_any_capture(name, data, at):
    """Bytes replaced anywhere, in every form of capture."""
    good = CAPTURES[name]
    at %= len(good)
    damaged = good[:at] + data + good[at + len(data) :]
    check(outcome(lambda: parse_capture(damaged, where="'f'")))


@pytest.mark.parametrize("name", CAPTURES)
def test_captures_agree_with_the_exports_of_the_same_day(name):
    """What is damaged here is whole before: the forms tell one story."""
    day = corpus.made(6)
    snapshot = parse_capture(captures.all_captures(day)[name], where="'f'")
    served = sum(
        float(series.value[-1])
        for metric, series in snapshot.series.items()
        if metric in (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
    )

    expected = day.values["ReadIOPS"][-1] + day.values["WriteIOPS"][-1]
    assert served == pytest.approx(expected, rel=1e-4)
