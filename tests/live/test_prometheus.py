"""
A real Prometheus scrapes the pages of exporters; what is read from it is what was put in.

The pages are reconstructed and every number is simulated. History comes in three ways: a page with
its own times, blocks made by promtool, and scrapes in real time.
"""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import pytest

import builders
from fixtures.prometheus.expositions import CLOUDWATCH, QONTO, YACE, Series, history, page, text_of
from fixtures.prometheus.servers import Pages
from fuzz.corpus import Made, metric_data, request
from live.machine import Run
from live.prometheus_server import PrometheusServer, wait_for
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.errors import UsageError
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.sources.export.read import read_export
from plimsoll.sources.prometheus.read import read_prometheus, server_of
from plimsoll.units import format_time, mb_per_s

HOURS = 12
SCRAPES = 4
SCRAPED_AT_MS = 17_123
"""Where in each minute the backfilled scrapes of prometheus-rds-exporter lie."""
READ_OPS, READ_BYTES, READ_S, BUSY_RATIO = 250.0, 8192, 0.002, 0.3
"""What the host's disk and processors do: reads a second, their size and time, share of work."""
DESCRIPTION = {
    "DBInstances": [
        {
            "DBInstanceIdentifier": "orders-primary",
            "DBInstanceClass": "db.r5.2xlarge",
            "Engine": "postgres",
            "EngineVersion": "15.4",
            "MultiAZ": True,
            "StorageType": "gp3",
            "AllocatedStorage": 1000,
            "Iops": 12000,
            "StorageThroughput": 500,
            "AvailabilityZone": "eu-west-1a",
        }
    ]
}


@dataclass
class World:
    """What the server was given."""

    server: PrometheusServer
    start_s: int
    values: dict[str, np.ndarray]
    """Twelve hours in CloudWatch's names and units, by the minute."""
    scraped: list[tuple[float, float]] = field(default_factory=list)
    """When the live page was asked for, and the ReadIOPS it showed."""

    @property
    def window_s(self) -> tuple[int, int]:
        return self.start_s, self.start_s + 3600 * HOURS

    def read(self, *match: str, window_s: tuple[int, int] | None = None) -> Snapshot:
        server = server_of(self.server.url, match=match, headers=[], environment={})
        return read_prometheus(server, window_s or self.window_s)


def simulated() -> dict[str, np.ndarray]:
    """
    Four hours behind the baseline of db.r5.2xlarge without credits, then eight in which they come back,
    in CloudWatch's names and units.
    """
    rng = np.random.default_rng(7)
    demand = builders.working_day(rng, 6e7, 5e8, hours=HOURS)
    held = builders.held_at(demand, mb_per_s(287.5), rng=rng, size_bytes=64 * 1024)
    # Load comes at the fourth hour of a working day: here with the first, whose credits were spent before.
    values = {METRICS[m].cloudwatch: np.roll(v, -4 * 60) for m, v in held.items()}
    size = demand.size
    values |= {
        "EBSByteBalance%": np.round(np.clip(np.linspace(-50, 99, size), 0, None)),
        "EBSIOBalance%": np.full(size, 99.0),
        "CPUUtilization": np.round(rng.uniform(20, 60, size), 3),
        "DatabaseConnections": np.round(rng.uniform(20, 40, size)),
    }
    return values


def host_page(scrapes: int) -> str:
    """node_exporter's page with counters that have grown for as many seconds as it was scraped before."""
    growth = {
        "node_disk_reads_completed_total": READ_OPS,
        "node_disk_read_bytes_total": READ_OPS * READ_BYTES,
        "node_disk_read_time_seconds_total": READ_OPS * READ_S,
    }
    lines = []
    for labels, value in page("node_exporter"):
        per_s = 0.0
        if labels.get("device") == "nvme1n1":
            per_s = growth.get(labels["__name__"], 0.0)
        elif labels.get("mode") == "idle":
            per_s = 1 - BUSY_RATIO
        now = Series(labels=labels, time_ms=np.zeros(1), value=np.array([value + per_s * scrapes]))
        lines.append(text_of([now], with_times=False))
    return "".join(lines)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The server after it has scraped every page a few times."""
    start_s = int(time.time()) // 60 * 60 - 3600 * HOURS - 900
    values = simulated()
    times_ms = 1000 * (start_s + 60 * np.arange(60 * HOURS))
    past = history("cloudwatch_exporter", times_ms, {CLOUDWATCH[n]: v for n, v in values.items()})
    first = text_of(past, with_times=True)
    latest = [Series(labels=s.labels, time_ms=s.time_ms[-1:], value=s.value[-1:]) for s in past]
    backfill = history(
        "qonto",
        times_ms + SCRAPED_AT_MS,
        {QONTO[n]: v for n, v in values.items() if n in QONTO},
        target={"job": "rds", "instance": "exporter:9043"},
    )
    texts: list[World] = []
    lock = threading.Lock()
    host_scrapes = count()

    def cloudwatch_page() -> str:
        nonlocal first
        with lock:
            whole, first = first, text_of(latest, with_times=True)
        return whole

    def live_page() -> str:
        with lock:
            number = len(texts[0].scraped) if texts else 0
            shown = {YACE["ReadIOPS"]: np.array([1000.0 + number])}
            text = text_of(history("yace", [0], shown), with_times=False)
            if texts:
                texts[0].scraped.append((time.time(), 1000.0 + number))
        return text

    pages = Pages({"/cloudwatch": cloudwatch_page, "/yace": live_page, "/node": lambda: host_page(next(host_scrapes))})
    with pages:
        jobs = {
            name: {
                "metrics_path": f"/{name}",
                "honor_labels": name == "cloudwatch",
                "static_configs": [{"targets": [pages.address]}],
            }
            for name in ("cloudwatch", "yace", "node")
        }
        text = text_of(backfill, with_times=True, unit_s=True) + "# EOF\n"
        server = PrometheusServer(tmp_path_factory.mktemp("prometheus"), jobs, text)
        texts.append(World(server=server, start_s=start_s, values=values))
        with server:
            wait_for("the history", lambda: server.query("count(up == 1) == 3"))
            wait_for("a few scrapes", lambda: len(texts[0].scraped) > SCRAPES)
            yield texts[0]


def exported(world: World, folder: Path, names: dict[str, str], *, described: bool) -> Snapshot:
    """The snapshot of the same data as an export of CloudWatch has it."""
    time_s = world.start_s + 60 * np.arange(60 * HOURS)
    made = Made(time_s, {n: v for n, v in world.values.items() if n in names})
    folder.mkdir()
    (folder / "metrics.json").write_bytes(metric_data(made))
    (folder / "request.json").write_bytes(request(made))
    if described:
        (folder / "instance.json").write_text(json.dumps(DESCRIPTION))
    return read_export(folder)


def test_times_of_the_exporter_give_the_same_diagnosis_as_an_export(world: World, tmp_path: Path):
    """Series are equal sample by sample, and so are findings, intervals and levels."""
    names = {n: CLOUDWATCH[n] for n in world.values}
    expected = exported(world, tmp_path / "export", names, described=False)
    actual = world.read("dbinstance_identifier=orders-primary", "job=aws_rds")

    assert "cloudwatch_exporter" in actual.source
    assert {m: actual.series[m] for m in expected.series} == expected.series
    # Page and export differ in what else they hold; the judgement is of what both have.
    same = msgspec.structs.replace(actual, series={m: actual.series[m] for m in expected.series})
    assert_same_diagnosis(expected, same)


def test_scrapes_on_the_grid_give_the_same_diagnosis_as_an_export(world: World, tmp_path: Path):
    """
    An exporter without times, scraped in the middle of minutes, gives those minutes; what it says
    of the instance is what a description says.
    """
    expected = exported(world, tmp_path / "export", QONTO, described=True)
    actual = world.read("dbidentifier=orders-primary", "job=rds")

    assert "prometheus-rds-exporter" in actual.source
    assert {m: actual.series[m] for m in expected.series} == expected.series
    wanted = expected.instance
    assert wanted == msgspec.structs.replace(
        actual.instance, ebs_limits=None, launched_s=None, vcpu_count=None, memory_bytes=None
    )
    same = msgspec.structs.replace(actual, instance=wanted, series={m: actual.series[m] for m in expected.series})
    assert_same_diagnosis(expected, same)


def assert_same_diagnosis(expected: Snapshot, actual: Snapshot) -> None:
    """What binds, when, at which level, and with which numbers; what was ruled out and what is left."""
    one, other = diagnose_snapshot(expected), diagnose_snapshot(actual)

    assert one.intervals
    assert one.verdict == other.verdict
    assert one.findings == other.findings
    assert one.binding == other.binding
    assert one.resources == other.resources
    assert one.intervals == other.intervals
    assert [i.level for i in one.intervals] == [i.level for i in other.intervals]


def test_real_scrapes_without_times_are_the_last_of_each_minute(world: World):
    """Scraped every second, a minute has the value of its last scrape, at the minute's start."""
    raw = world.server.query(f'{YACE["ReadIOPS"]}{{dimension_DBInstanceIdentifier!=""}}[10m]')
    values = [(float(t), float(v)) for t, v in raw[0]["values"]]
    end = int(values[-1][0]) // 60 * 60 + 60
    snapshot = world.read(
        "dimension_DBInstanceIdentifier=orders-primary", "job=yace", window_s=(end - 600, int(values[-1][0]) + 1)
    )
    inside = [(t, v) for t, v in values if t < int(values[-1][0]) + 1]
    expected = {int(t) // 60 * 60: v for t, v in inside}
    series = snapshot.series[Metric.READ_OPS_PER_S]

    assert len(inside) > len(expected)
    assert expected == dict(zip(series.time_s.tolist(), series.value.tolist(), strict=True))
    assert 60 == series.step_s
    assert {v for _, v in inside} <= {shown for _, shown in world.scraped} | {1000.0}


def test_a_host_in_real_time_has_the_rates_of_its_counters(world: World):
    """The busiest disk is counted, per second, and waiting for disks is no work."""
    now = int(time.time())
    snapshot = world.read("job=node", window_s=(now - 600, now + 1))

    def middle(metric: Metric) -> float:
        return float(np.median(snapshot.series[metric].value))

    assert READ_OPS == pytest.approx(middle(Metric.READ_OPS_PER_S), rel=0.1)
    assert READ_OPS * READ_BYTES == pytest.approx(middle(Metric.READ_BYTES_PER_S), rel=0.1)
    assert READ_S == pytest.approx(middle(Metric.READ_LATENCY_S))
    assert BUSY_RATIO == pytest.approx(middle(Metric.CPU_RATIO), abs=0.05)
    assert 1 == snapshot.series[Metric.READ_OPS_PER_S].step_s
    assert "nvme1n1" in snapshot.note


def test_an_identifier_finds_every_exporter_of_an_instance(world: World):
    """One exporter has what another lacks; no metric is mixed of two, and the note says whose it is."""
    server = server_of(world.server.url, match=[], headers=[], environment={})
    snapshot = read_prometheus(server, world.window_s, identifier="Orders-Primary")

    assert "db.r5.2xlarge" == snapshot.instance.db_class
    assert Metric.BYTE_BALANCE_RATIO in snapshot.series
    assert "prometheus-rds-exporter also has" in snapshot.note
    for name, metric in BY_CLOUDWATCH_NAME.items():
        if name in world.values:
            scale = METRICS[metric].scale
            expected = np.minimum(world.values[name] * scale, 1e16)
            np.testing.assert_array_equal(expected, snapshot.series[metric].value)


def test_several_instances_are_listed(world: World):
    """Nothing is guessed: every instance is named with the label that chooses it."""
    with pytest.raises(UsageError) as raised:
        world.read("job=rds")

    assert "metrics of 2 instances" in raised.value.message
    assert "dbidentifier=orders-primary, dbidentifier=orders-replica" in raised.value.hint


def test_a_match_without_series_tells_what_there_is(world: World):
    """The values of the label that was matched, as the server knows them."""
    with pytest.raises(UsageError) as raised:
        world.read("dbidentifier=oders-primary")

    assert "no series with dbidentifier=oders-primary" in raised.value.message
    assert "dbidentifier has orders-primary, orders-replica" in raised.value.hint


def test_the_command_line_reads_it_and_shows_no_secret(world: World, run: Run, tmp_path: Path):
    """One command from a server to a report and to a snapshot; credentials are in neither."""
    start_s, end_s = world.window_s
    url = world.server.url.replace("//", "//ann:hunter2@")
    window = ("--from", format_time(start_s), "--to", format_time(end_s))
    match = ("--match", "dbidentifier=orders-primary", "--header", "X-Scope-OrgID:tenant-7")
    report = run("diagnose", f"prom:{url}", *match, *window, PLIMSOLL_PROM_TOKEN="t0ken-1")
    saved = run("record", f"prom:{url}", *match, *window, "-o", "s.json", COLUMNS="80")

    assert 1 == report.returncode, report.stderr
    assert "287.5 MB/s" in report.stdout
    assert 0 == saved.returncode, saved.stderr
    assert Metric.READ_OPS_PER_S in decode_snapshot((tmp_path / "s.json").read_bytes()).series
    shown = report.stdout + report.stderr + saved.stdout + saved.stderr
    shown += (tmp_path / "s.json").read_text()
    for secret in ("hunter2", "ann:", "t0ken-1", "tenant-7"):
        assert secret not in shown
