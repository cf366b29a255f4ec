import json
from pathlib import Path

import pytest

from fuzz import corpus
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.sources.documents.enhanced_monitoring import LATENCY_GAP, LOGICAL_GAP
from plimsoll.sources.export.read import read_export
from plimsoll.units import kib

FIXTURES = Path(__file__).parents[3] / "fixtures" / "exports" / "enhanced"


def test_volumes_add_up_and_waits_are_weighted():
    """
    Two volumes of 400 and 200 operations/s that wait 1 and 4 ms wait 2 ms together; KB are KiB, and
    bytes ÷ operations are the 16 KiB of `avgReqSz`. The document of 10:00:10 describes the ten seconds
    from 10:00:00.
    """
    snapshot = read_export(FIXTURES / "postgres.jsonl")
    first = {metric: series.value[0] for metric, series in snapshot.series.items()}
    reads = snapshot.series[Metric.READ_OPS_PER_S]

    assert (10, [1615197600, 1615197610]) == (reads.step_s, reads.time_s.tolist())
    assert {
        Metric.READ_OPS_PER_S: 400,
        Metric.WRITE_OPS_PER_S: 200,
        Metric.READ_BYTES_PER_S: kib(6400),
        Metric.WRITE_BYTES_PER_S: kib(3200),
        Metric.READ_LATENCY_S: pytest.approx(0.002),
        Metric.WRITE_LATENCY_S: pytest.approx(0.002),
        Metric.QUEUE_DEPTH: 2.0,
        Metric.CPU_RATIO: 0.375,
        Metric.LOAD_AVERAGE: 3.11,
        Metric.SWAP_BYTES: kib(512),
        Metric.NETWORK_RECEIVE_BYTES_PER_S: 120500.25,
        Metric.FREE_STORAGE_BYTES: kib(41086436 - 2384592),
    }.items() <= first.items()
    assert Metric.FREEABLE_MEMORY_BYTES not in snapshot.series
    assert snapshot.instance == Instance(
        identifier="orders-primary",
        engine="postgres",
        vcpu_count=8,
        memory_bytes=kib(64780000),
        storage=Storage(volume_count=2),
    )
    # A wait without reads is of writes.
    assert snapshot.series[Metric.READ_LATENCY_S].time_s.size == 1
    assert snapshot.series[Metric.WRITE_LATENCY_S].value[1] == 0.003
    assert LATENCY_GAP in snapshot.gaps
    assert LOGICAL_GAP not in snapshot.gaps
    assert any("1 line ignored" in g.reason for g in snapshot.gaps)


def test_aurora_has_its_own_fields():
    """Aurora's entry has no device, bytes/s and milliseconds, and tells reads from writes."""
    snapshot = read_export(FIXTURES / "aurora.json")
    first = {metric: series.value[0] for metric, series in snapshot.series.items()}

    assert first[Metric.READ_BYTES_PER_S] == 8192
    assert first[Metric.WRITE_OPS_PER_S] == 3.18
    assert first[Metric.WRITE_LATENCY_S] == pytest.approx(0.00115)
    assert first[Metric.QUEUE_DEPTH] == 2
    assert snapshot.series[Metric.CPU_RATIO].step_s == 60
    assert snapshot.instance.storage.volume_count is None
    assert snapshot.gaps == ()


LOGICAL, TWO, THREE = (
    corpus.enhanced_document(corpus.START_S + 10 * n, volumes=v) for n, v in ((0, 4), (0, 2), (1, 3))
)
del LOGICAL["physicalDeviceIO"]
for number, device in enumerate(TWO["physicalDeviceIO"]):
    device["mountPoint"] = "/rdsdbdata2" if number else "/rdsdbdata"


@pytest.mark.parametrize(
    ("documents", "volumes", "devices"),
    [
        # Older documents list the logical device only, which counts before merging.
        ([LOGICAL], None, LOGICAL["diskIO"][:1]),
        # An additional volume counts for the load but not as a stripe.
        ([TWO], 1, TWO["physicalDeviceIO"]),
        # A changing number of devices is no number of volumes.
        ([TWO, THREE], None, TWO["physicalDeviceIO"]),
    ],
    ids=["logical", "additional", "changing"],
)
def test_devices_are_volumes_where_they_say_so(tmp_path, documents, volumes, devices):
    (tmp_path / "d.json").write_text(json.dumps(documents))
    snapshot = read_export(tmp_path / "d.json")

    assert volumes == snapshot.instance.storage.volume_count
    assert sum(d["readIOsPS"] for d in devices) == pytest.approx(snapshot.series[Metric.READ_OPS_PER_S].value[0])
    assert (documents == [LOGICAL]) is (LOGICAL_GAP in snapshot.gaps)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("lines.jsonl", lambda docs: "\n".join(json.dumps(d) for d in docs)),
        ("array.json", json.dumps),
        ("one-after-another.json", lambda docs: "\n".join(json.dumps(d, indent=2) for d in docs)),
        ("events.json", lambda docs: json.dumps({"events": [{"message": json.dumps(d)} for d in docs]})),
        (
            "subscription.json",
            lambda docs: json.dumps(
                {"logGroup": "RDSOSMetrics", "logEvents": [{"message": json.dumps(d)} for d in docs]}
            ),
        ),
    ],
)
def test_every_wrapping_gives_the_same_series(tmp_path, name, make):
    documents = [corpus.enhanced_document(corpus.START_S + 15 * n, n) for n in range(6)]
    (tmp_path / "plain.json").write_text(json.dumps(documents))
    (tmp_path / name).write_text(make(documents))
    expected = read_export(tmp_path / "plain.json")

    assert read_export(tmp_path / name).series == expected.series
    assert expected.series[Metric.READ_OPS_PER_S].step_s == 15
    assert expected.series[Metric.READ_OPS_PER_S].time_s[0] == corpus.START_S - 15
