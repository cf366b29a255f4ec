from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from fuzz import corpus
from plimsoll.errors import UsageError
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.export.read import read_export

FIXTURES = Path(__file__).parents[3] / "fixtures" / "exports"

WRITERS = {
    "json-1.0": corpus.stream_lines,
    "otel-1.0": corpus.otel_lines,
    "otel-0.7": lambda day: corpus.otel_lines(day, version="0.7"),
    "protobuf-1.0": corpus.otel_protobuf,
    "protobuf-0.7": lambda day: corpus.otel_protobuf(day, version="0.7"),
}


def read(folder: Path, data: bytes, name: str = "records", **options: str) -> Snapshot:
    (folder / name).write_bytes(data)
    return read_export(folder / name, **options)


@pytest.mark.parametrize("kind", WRITERS)
def test_every_form_of_a_stream_gives_the_means(tmp_path, kind):
    """Sum ÷ count of each minute, at the start of the minute, with instance and region."""
    day = corpus.made(30)
    snapshot = read(tmp_path, WRITERS[kind](day))

    assert snapshot.instance.identifier == "orders-primary"
    assert snapshot.instance.region == "eu-west-1"
    assert snapshot.gaps == ()
    assert len(snapshot.series) == len(day.values)
    for name, values in day.values.items():
        series = snapshot.series[BY_CLOUDWATCH_NAME[name]]
        assert series.time_s.tolist() == day.time_s.tolist()
        assert series.value == pytest.approx(values * METRICS[series.metric].scale, rel=1e-9)


def test_opentelemetrys_own_bytes_are_read(tmp_path):
    """A request built with OpenTelemetry's generated classes is read, other fields and all."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add(schema_url="x")
    scope = resource.scope_metrics.add()
    scope.scope.name = "stream"
    for minute in range(3):
        metric = scope.metrics.add(name="amazonaws.com/AWS/RDS/EBSByteBalance%", unit="%", description="d")
        point = metric.summary.data_points.add(count=4, sum=40.0 * (minute + 1), flags=1)
        point.start_time_unix_nano = (corpus.START_S + 60 * minute) * 10**9
        point.time_unix_nano = point.start_time_unix_nano + 60 * 10**9
        point.quantile_values.add(quantile=1.0, value=99.0)
        pair = point.attributes.add(key="Dimensions").value.kvlist_value.values.add()
        pair.key, pair.value.string_value = "DBInstanceIdentifier", "orders"
    body = request.SerializeToString()
    prefix = bytes([len(body) & 0x7F | 0x80, len(body) >> 7])
    snapshot = read(tmp_path, (prefix + body) * 2)

    assert snapshot.instance.identifier == "orders"
    assert snapshot.series[Metric.BYTE_BALANCE_RATIO].value.tolist() == [0.1, 0.2, 0.3]


def test_the_handwritten_stream():
    """A minute without samples, sums over engines, one volume and EC2 are not the instance's samples."""
    snapshot = read_export(FIXTURES / "stream")

    assert snapshot.series[Metric.READ_OPS_PER_S].value.tolist() == [1000.0]
    assert snapshot.series[Metric.READ_OPS_PER_S].step_s == 60
    assert snapshot.series[Metric.CPU_RATIO].value.tolist() == [0.605]
    assert [g.reason for g in snapshot.gaps] == ["metric of a log or additional volume, ignored"]


def test_several_instances_need_a_choice(tmp_path):
    """The names are listed; the chosen one is found whatever its case; its samples alone are taken."""
    day = corpus.made(5, names=("ReadIOPS",))
    data = corpus.stream_lines(day, identifiers=("orders", "claims"))
    with pytest.raises(UsageError, match="has 2 instances") as caught:
        read(tmp_path, data)

    assert "orders, claims" in caught.value.hint
    snapshot = read(tmp_path, data, identifier="Claims")
    assert snapshot.instance.identifier == "claims"
    assert snapshot.series[Metric.READ_OPS_PER_S].time_s.size == 5
    with pytest.raises(UsageError, match="no metric of instance 'ledger'"):
        read(tmp_path, data, identifier="ledger")


@pytest.mark.parametrize("kind", ["json-1.0", "protobuf-1.0", "protobuf-0.7", "otel-1.0"])
def test_a_stream_that_is_cut_off_costs_its_end(tmp_path, kind):
    data = WRITERS[kind](corpus.made(5, names=("ReadIOPS",)))
    snapshot = read(tmp_path, data[:-40])
    reasons = [g.reason for g in snapshot.gaps]

    assert snapshot.series[Metric.READ_OPS_PER_S].time_s.size == 4
    assert len(reasons) == 1
    assert kind != "json-1.0" or reasons == ["1 line ignored: cut off or of another shape"]


LINES = corpus.stream_lines(corpus.made(5, names=("ReadIOPS",))).splitlines()


@pytest.mark.parametrize(
    ("data", "count"), [(b"[" + b",\n".join(LINES) + b"]", 5), (LINES[0], 1), (b"".join(LINES), 5)]
)
def test_an_array_of_records_and_a_single_record(tmp_path, data, count):
    assert read(tmp_path, data).series[Metric.READ_OPS_PER_S].time_s.size == count
