"""From a server to a snapshot: values in our units, whose they are, and what is missing."""

import numpy as np
import pytest

from fixtures.prometheus.expositions import CLOUDWATCH, PERCONA, QONTO, YACE, Series, history
from fixtures.prometheus.servers import Double, error
from plimsoll.errors import SourceError, UsageError
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric
from plimsoll.model.snapshot import EventKind, Snapshot
from plimsoll.sources.prometheus.client import Bounds
from plimsoll.sources.prometheus.read import read_prometheus, server_of

START_S = 1_615_161_600
COUNT = 60
MINUTES_MS = 1000 * (START_S + 60 * np.arange(COUNT))
SCRAPES_MS = MINUTES_MS + 17_123
WINDOW = (START_S, START_S + 60 * COUNT)
NAMES = {
    "qonto": (QONTO, "dbidentifier"),
    "yace": (YACE, "dimension_DBInstanceIdentifier"),
    "cloudwatch_exporter": (CLOUDWATCH, "dbinstance_identifier"),
    "percona_basic": (PERCONA, "instance"),
}


def drawn(names: dict[str, str], seed: int = 1) -> dict[str, np.ndarray]:
    """Values by the exporter's name, in CloudWatch's units; small enough for a percentage."""
    rng = np.random.default_rng(seed)
    return {name: np.round(rng.uniform(1, 99, COUNT), 6) for name in names.values()}


def read(series: list[Series], *match: str, window_s=WINDOW, identifier=None, bounds=None, **given) -> Snapshot:
    with Double(series) as double:
        for name, value in given.items():
            setattr(double, name, value)
        server = server_of(double.url + double.prefix, match=match, headers=[], environment={})
        return read_prometheus(server, window_s, identifier=identifier, bounds=bounds)


def gaps(snapshot: Snapshot) -> dict[str, str]:
    return {g.metric: f"{g.reason}. {g.remedy}" for g in snapshot.gaps}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("time_ms", [MINUTES_MS, SCRAPES_MS], ids=["own times", "scrapes"])
def test_every_exporter_gives_what_cloudwatch_said(name, time_ms):
    """Percentages become ratios, bytes and seconds stay; minutes are minutes."""
    names, label = NAMES[name]
    values = drawn(names)
    lag_ms = 600_000 if name == "percona_basic" else 0
    snapshot = read(history(name, time_ms + lag_ms, values), f"{label}=orders-primary")

    assert "orders-primary" == snapshot.instance.identifier
    for published, theirs in names.items():
        metric = BY_CLOUDWATCH_NAME[published]
        series = snapshot.series[metric]
        np.testing.assert_allclose(values[theirs] * METRICS[metric].scale, series.value, rtol=1e-15, err_msg=published)
        assert MINUTES_MS.tolist() == (1000 * series.time_s).tolist()
        assert 60 == series.step_s


def test_enhanced_monitoring_is_read_as_the_documents_it_came_from():
    """At the document's own time, however often it is scraped; KiB become bytes; wait is shared."""
    scrapes_ms = 1000 * START_S + 10_000 * np.arange(6 * COUNT) + 3_300
    told_s = START_S + 30 * (np.arange(6 * COUNT) // 3) - 8
    os_values = {"rdsosmetrics_timestamp": told_s.astype(float), "rdsosmetrics_cpuUtilization_total": told_s % 97.0}
    series = history("percona_enhanced", scrapes_ms, os_values, target={"job": "os"})
    snapshot = read(series, "instance=orders-primary")
    cpu = snapshot.series[Metric.CPU_RATIO]

    assert 30 == cpu.step_s
    assert [30] * (cpu.time_s.size - 1) == np.diff(cpu.time_s).tolist()
    np.testing.assert_allclose((cpu.time_s + 30) % 97 / 100, cpu.value)
    assert 33_608 * 1024 == snapshot.series[Metric.READ_BYTES_PER_S].value[0]
    assert 0.0011 == pytest.approx(snapshot.series[Metric.READ_LATENCY_S].value[0])
    assert 1_000 * 1024 == snapshot.series[Metric.SWAP_BYTES].value[0]
    assert 400_000_000 * 1024 == snapshot.series[Metric.FREE_STORAGE_BYTES].value[0]
    assert (8, 65_000_000 * 1024) == (snapshot.instance.vcpu_count, snapshot.instance.memory_bytes)
    assert any("one wait for reads and writes" in g.reason for g in snapshot.gaps)
    assert "Enhanced Monitoring" in snapshot.source


def test_documents_of_other_times_are_left_out():
    """A document tells of the time before its own, so the window ends with one and begins after one."""
    found = START_S + 60.0 * np.arange(COUNT) - 120
    series = history("percona_enhanced", SCRAPES_MS, {"rdsosmetrics_timestamp": found})
    window = (START_S, START_S + 600)
    times = read(series, "instance=orders-primary", window_s=window).series[Metric.CPU_RATIO].time_s

    assert [60 * n for n in range(10)] == (times - START_S).tolist()


def test_rds_exporters_two_pages_meet_at_the_same_minutes():
    """One is ten minutes late by design, the other says when; both end up where they belong."""
    at = np.arange(COUNT) == 30
    basic = history(
        "percona_basic",
        SCRAPES_MS + 600_000,
        {"aws_rds_read_iops_average": np.where(at, 50.0, 1.0)},
        target={"job": "basic"},
    )
    enhanced = history(
        "percona_enhanced",
        SCRAPES_MS,
        {
            "rdsosmetrics_timestamp": START_S + 60.0 * np.arange(COUNT) + 60,
            "rdsosmetrics_loadAverageMinute_one": np.where(at, 9.0, 1.0),
        },
        target={"job": "os"},
    )
    snapshot = read([*basic, *enhanced], "instance=orders-primary")
    peaks = [
        int(s.time_s[int(np.argmax(s.value))])
        for s in (snapshot.series[Metric.READ_OPS_PER_S], snapshot.series[Metric.LOAD_AVERAGE])
    ]

    assert [START_S + 30 * 60] * 2 == peaks


def test_a_host_has_rates_of_its_busiest_disk():
    """By the counters of the page, growing by themselves each scrape."""
    page = history("node_exporter", SCRAPES_MS, target={"job": "node", "instance": "db1:9100"})
    growing = [
        Series(
            labels=s.labels,
            time_ms=s.time_ms,
            value=s.value * np.arange(1, COUNT + 1) if s.labels["__name__"].startswith("node_disk") else s.value,
        )
        for s in page
    ]
    snapshot = read(growing, "instance=db1:9100")
    other = read(growing, "instance=db1:9100", "device=/dev/nvme2n1", "device=nvme0n1")

    assert 16_384_000 / 60 == pytest.approx(snapshot.series[Metric.READ_BYTES_PER_S].value[0])
    assert 0.0008 == pytest.approx(snapshot.series[Metric.READ_LATENCY_S].value[0])
    assert 1.4 / 60 == pytest.approx(snapshot.series[Metric.QUEUE_DEPTH].value[0])
    assert "Disks used: nvme1n1, of 3 disks." in snapshot.note
    assert ("db1:9100", 2, 16 * 1024**3) == (
        snapshot.instance.identifier,
        snapshot.instance.vcpu_count,
        snapshot.instance.memory_bytes,
    )
    assert (6_553_600 + 409_600) / 60 == pytest.approx(other.series[Metric.READ_BYTES_PER_S].value[0])
    with pytest.raises(UsageError, match="no disk 'nvme9n1'"):
        read(growing, "instance=db1:9100", "device=nvme9n1")


def test_an_exporter_that_repeats_itself_is_not_a_load_that_stands_still():
    """Scraped every minute, fetching every five: samples of five minutes."""
    values = {name: np.repeat(v[:12], 5) for name, v in drawn(YACE).items()}
    series = history("yace", SCRAPES_MS, values)
    snapshot = read(series, "dimension_DBInstanceIdentifier=orders-primary")
    reads = snapshot.series[Metric.READ_OPS_PER_S]

    assert (300, 12) == (reads.step_s, reads.time_s.size)
    assert "scrapes every 60 s" in snapshot.note
    assert "fetches every 300 s" in snapshot.note


@pytest.mark.parametrize(("ending", "expected"), [("maximum", "statistic Maximum"), ("sum", "statistic Sum")])
def test_a_rate_is_taken_from_no_statistic_but_the_mean(ending, expected):
    """As of every export: neither a maximum nor a sum says anything of the mean."""
    series = []
    for one in history("yace", SCRAPES_MS, drawn(YACE)):
        name = one.labels["__name__"]
        if name == YACE["ReadIOPS"]:
            name = name.replace("average", ending)
        labels = {**one.labels, "__name__": name}
        series.append(Series(labels=labels, time_ms=one.time_ms, value=one.value))
    snapshot = read(series, "dimension_DBInstanceIdentifier=orders-primary")

    assert Metric.READ_OPS_PER_S not in snapshot.series
    assert expected in gaps(snapshot)["read_ops_per_s"]


def test_nan_is_a_gap():
    """yet-another-cloudwatch-exporter says NaN where CloudWatch said nothing."""
    values = drawn(YACE)
    values[YACE["ReadIOPS"]][20:25] = np.nan
    snapshot = read(history("yace", SCRAPES_MS, values), "dbidentifier=orders-primary")

    assert COUNT - 5 == snapshot.series[Metric.READ_OPS_PER_S].time_s.size
    assert not [g for g in snapshot.gaps if "dropped" in g.reason]


def test_a_longer_history_goes_before_times_of_its_own():
    """An exporter that was added yesterday does not take last week away."""
    theirs, ours = drawn(QONTO), drawn(CLOUDWATCH)
    series = history("qonto", SCRAPES_MS, theirs)
    series += history("cloudwatch_exporter", MINUTES_MS[-9:], {n: v[-9:] for n, v in ours.items()})
    snapshot = read(series, identifier="orders-primary")

    assert COUNT == snapshot.series[Metric.READ_OPS_PER_S].time_s.size


def test_a_server_is_read_in_its_own_way():
    """
    Mimir's interface lies below /prometheus, and the lack of a prefix is told; a low limit is asked for
    less at once; of an answer in part what could be read is judged, and that something is missing said.
    """
    series, match = (history("cloudwatch_exporter", MINUTES_MS), "dbinstance_identifier=orders-primary")
    warned = read(series, match, warnings=["store gateway: 1 of 3 blocks not queried"])
    limited = read(series, match, prefix="/prometheus", samples_max=300)

    assert "1 of 3 blocks" in gaps(warned)["answers of the server"]
    assert warned.series
    assert warned.series == limited.series
    with Double(series, prefix="/prometheus") as double:
        server = server_of(double.url, match=[], headers=[], environment={})
        with pytest.raises(SourceError, match="no Prometheus API at this path") as raised:
            read_prometheus(server, WINDOW)
    assert "/prometheus" in raised.value.hint


def test_what_an_exporter_cannot_say_is_a_gap_with_the_setting_that_would():
    """prometheus-rds-exporter has no balances, whatever is set; others have a setting."""
    qonto = gaps(read(history("qonto", SCRAPES_MS, drawn(QONTO)), "dbidentifier=orders-primary"))
    (names,) = qonto
    few = [s for s in history("cloudwatch_exporter", MINUTES_MS) if "latency" not in s.labels["__name__"]]
    reading = gaps(read(few, "dbinstance_identifier=orders-primary"))

    assert "ReadLatency, WriteLatency, DiskQueueDepth, EBSByteBalance%, EBSIOBalance%" == names
    assert "has no setting for it" in qonto[names]
    assert "aws_metric_name" in reading["ReadLatency, WriteLatency"]


def test_what_was_bought_comes_with_what_is_said_of_its_class():
    """The class names no instance, so it is asked for by its own label."""
    instance = read(history("qonto", SCRAPES_MS), "dbidentifier=orders-primary").instance

    assert ("db.r5.2xlarge", 8, 64 * 1024**3) == (instance.db_class, instance.vcpu_count, instance.memory_bytes)
    assert instance.ebs_limits is not None
    assert (287.5e6, 593.75e6, 10_000, 18_750) == (
        instance.ebs_limits.baseline_bytes_per_s,
        instance.ebs_limits.burst_bytes_per_s,
        instance.ebs_limits.baseline_ops_per_s,
        instance.ebs_limits.burst_ops_per_s,
    )


def test_two_exporters_are_not_mixed_and_one_fills_the_others_holes():
    """With one identifier both are found; times of its own go before scrapes, per metric."""
    theirs, ours = drawn(QONTO, 1), drawn(CLOUDWATCH, 2)
    del ours[CLOUDWATCH["WriteIOPS"]]
    series = history("qonto", SCRAPES_MS, theirs)
    series += [
        s for s in history("cloudwatch_exporter", MINUTES_MS, ours) if s.labels["__name__"] != CLOUDWATCH["WriteIOPS"]
    ]
    snapshot = read(series, identifier="orders-primary")

    np.testing.assert_array_equal(ours[CLOUDWATCH["ReadIOPS"]], snapshot.series[Metric.READ_OPS_PER_S].value)
    np.testing.assert_array_equal(theirs[QONTO["WriteIOPS"]], snapshot.series[Metric.WRITE_OPS_PER_S].value)
    assert "db.r5.2xlarge" == snapshot.instance.db_class
    assert "prometheus-rds-exporter also has ReadThroughput" in snapshot.note
    assert "but cloudwatch_exporter is used for them" in snapshot.note
    assert "Class and storage are from prometheus-rds-exporter." in snapshot.note
    assert "prometheus-rds-exporter" in snapshot.source
    assert () == snapshot.gaps


def test_a_change_of_class_is_an_event_on_the_timeline():
    """The description that was true at the time is not mixed with the present one."""
    series = history("qonto", SCRAPES_MS, drawn(QONTO))
    info = next(s for s in series if s.labels["__name__"] == "rds_instance_info")
    earlier = {**info.labels, "instance_class": "db.r5.large"}
    series = [s for s in series if s is not info]
    series.append(Series(labels=earlier, time_ms=SCRAPES_MS[:30], value=np.ones(30)))
    series.append(Series(labels=info.labels, time_ms=SCRAPES_MS[30:], value=np.ones(30)))
    snapshot = read(series, "dbidentifier=orders-primary")

    assert "db.r5.2xlarge" == snapshot.instance.db_class
    assert [(START_S + 1817, EventKind.CLASS_CHANGE)] == [(a.time_s, a.kind) for a in snapshot.annotations]


def test_a_server_that_fails_half_way_leaves_nothing_half_read():
    """The list of series came, the samples did not: an error, no short snapshot."""
    series = history("cloudwatch_exporter", MINUTES_MS)
    with Double(series) as double:
        original = double.answer
        double.answer = lambda r: original(r) if "series" in r.path else error(500, "gone")
        server = server_of(double.url, match=["dbinstance_identifier=orders-primary"], headers=[], environment={})
        with pytest.raises(SourceError, match=r"failed \(500\): gone"):
            read_prometheus(server, WINDOW, bounds=Bounds(), sleep=lambda _: None)
