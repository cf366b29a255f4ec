"""Whose a series is, about whom, and which of our metrics, by the exporters' own names."""

import pytest

from fixtures.prometheus.expositions import page
from plimsoll.model.metric import Metric
from plimsoll.sources.prometheus.exporters import Exporter, Subject, classify, track_of

ARN = "arn:aws:rds:eu-west-1:123456789012:db:orders-primary"


def labels_of(name: str, **added: str) -> list[dict[str, str]]:
    return [{**added, **labels} for labels, _ in page(name)]


def metrics(name: str, **added: str) -> set[Metric]:
    tracks = classify(labels_of(name, **added))
    return {t.metric for t in tracks if t.metric is not None and t.subject.identifier == "orders-primary"}


RATES = {Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S}
WAITS = {Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S, Metric.QUEUE_DEPTH}
MACHINE = {
    Metric.CPU_RATIO,
    Metric.CONNECTION_COUNT,
    Metric.FREEABLE_MEMORY_BYTES,
    Metric.FREE_STORAGE_BYTES,
    Metric.SWAP_BYTES,
    Metric.NETWORK_RECEIVE_BYTES_PER_S,
    Metric.NETWORK_TRANSMIT_BYTES_PER_S,
}
BALANCES = {Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO}
LOAD = {Metric.ACTIVE_SESSION_COUNT, Metric.WAITING_SESSION_COUNT}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qonto", RATES | MACHINE | LOAD),
        ("yace", RATES | MACHINE | LOAD | WAITS | BALANCES),
        ("cloudwatch_exporter", RATES | MACHINE | WAITS | BALANCES),
        ("percona_basic", RATES | MACHINE | WAITS | {Metric.VOLUME_BALANCE_RATIO}),
    ],
)
def test_every_metric_of_an_exporter_is_known(name, expected):
    """What a diagnosis reads is found under each exporter's spelling."""
    assert expected == metrics(name)


def one(name: str, /, **labels: str) -> dict[str, str]:
    return {"__name__": name, **labels}


READS = "aws_rds_read_iops_average"
CLASS, INSTANCE = "dimension_DatabaseClass", "dimension_DBInstanceIdentifier"
OF_A = Subject(identifier="a")
IN_R = Subject(identifier="a", region="r")


@pytest.mark.parametrize(
    ("labels", "exporter", "subject", "label"),
    [
        (one("rds_read_iops_average", dbidentifier="a", aws_region="r"), *(Exporter.QONTO, IN_R, "dbidentifier")),
        (
            one(READS, **{INSTANCE: "a"}, region="r", account_id="1", name=ARN),
            *(Exporter.YACE, Subject(identifier="a", region="r", account="1"), INSTANCE),
        ),
        (
            one("aws_rds_read_iops_sum", dimension_dbinstance_identifier="a"),
            *(Exporter.YACE, OF_A, "dimension_dbinstance_identifier"),
        ),
        (
            one("aws_rds_ebsbyte_balance__average", dbinstance_identifier="a", job="aws_rds"),
            *(Exporter.CLOUDWATCH, OF_A, "dbinstance_identifier"),
        ),
        (one(READS, instance="a", region="r"), Exporter.PERCONA, IN_R, "instance"),
        (
            one(READS, instance="exporter:9042", exported_instance="a", region="r"),
            *(Exporter.PERCONA, IN_R, "exported_instance"),
        ),
        (
            one("node_disk_read_bytes_total", instance="db1:9100", device="sda"),
            *(Exporter.NODE, Subject(identifier="db1:9100"), "instance"),
        ),
    ],
)
def test_labels_tell_the_exporter_and_the_instance(labels, exporter, subject, label):
    track = track_of(labels)

    assert track is not None
    assert (exporter, subject, label) == (track.exporter, track.subject, track.label)


@pytest.mark.parametrize(
    "labels",
    [
        one(READS, **{CLASS: "db.r5.large"}),
        one(READS, **{INSTANCE: "a"}, dimension_VolumeName="v"),
        one(READS, dbinstance_identifier="a", dbcluster_identifier="c"),
        one(READS, instance="exporter:9042"),
        one("rds_quota_total_storage_bytes", aws_region="r"),
        one("rds_transaction_logs_disk_usage_bytes", dbidentifier="a"),
        one("rds_max_disk_iops_average", dbidentifier="a"),
        one("node_disk_read_bytes_total", instance="a", device="rdsdev"),
        one("node_disk_read_bytes_total", instance="a", device="loop0"),
        one("node_cpu_seconds_total", instance="a", mode="user"),
        one("node_disk_read_bytes_total", device="sda"),
        one("up", instance="a"),
        {},
    ],
)
def test_sums_over_instances_and_what_is_not_read_are_left_out(labels):
    """A sum over a class or a single volume is not the instance; so are amounts dressed as counters."""
    assert None is track_of(labels)


def test_what_imitates_another_exporter_is_not_taken_for_it():
    """rds_exporter's Enhanced Monitoring has node_exporter's names: no host, and no FreeableMemory."""
    listed = labels_of("percona_basic", job="basic") + labels_of("percona_enhanced", job="os")
    tracks = classify(listed)
    cached = [t for t in tracks if t.name == "node_memory_Cached_bytes"]

    assert {Exporter.PERCONA, Exporter.PERCONA_OS} == {t.exporter for t in tracks}
    assert ["basic"] == [t.labels["job"] for t in cached]
    assert [Metric.FREEABLE_MEMORY_BYTES] == [t.metric for t in cached]


def test_a_real_host_beside_them_is_a_host():
    listed = labels_of("percona_enhanced", job="os")
    listed += labels_of("node_exporter", job="node", instance="db1:9100")
    hosts = {t.subject.identifier for t in classify(listed) if t.exporter is Exporter.NODE}

    assert {"db1:9100"} == hosts
