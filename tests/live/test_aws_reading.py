"""What the command reads from an AWS account is what it reads from an export of the same data."""

import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fixtures.aws import simulated
from fixtures.aws.commands import Outcome, between, plimsoll, requests_said
from fixtures.aws.double import Double
from fixtures.aws.holdings import Cluster, Event, Held, described, hold, in_cloudwatch_units, write
from fixtures.aws.monitoring import COMMITS_PER_S, ROLLBACKS_PER_S, load_counters, write_documents
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.diagnosis.stretches import at_ceiling
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import EventKind, Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

HOUR_S = 3600
DAY_S = 86400
END_S = simulated.recent_end_s()
WINDOW = (END_S - 24 * HOUR_S, END_S)
SECONDS = (END_S - 3 * HOUR_S, END_S)
"""Of this window Enhanced Monitoring has every second; the busiest hour of it is read."""
NOW_DAYS_AGO = END_S - 10 * DAY_S
EVENTS = (
    (30, "backup", "Finished DB instance backup"),
    (12, "restoration", "Restored from snapshot orders-2026-11"),
    (6, "configuration change", "Finished applying modification to DB instance class"),
    (5, "failover", "Multi-AZ instance failover completed"),
    (4, "availability", "DB instance restarted"),
)


def story(name: str, identifier: str, *, launched_s: int | None = None) -> Snapshot:
    """An example that ended about now, under another name and perhaps with another launch."""
    found = simulated.moved(simulated.example(name), END_S, identifier=identifier)
    if launched_s is None:
        return found
    instance = msgspec.structs.replace(found.instance, launched_s=launched_s)
    return msgspec.structs.replace(found, instance=instance)


def aged(snapshot: Snapshot, days: int) -> Snapshot:
    """The same samples, so many days earlier."""
    return simulated.moved(snapshot, END_S - days * DAY_S)


# The first was launched in June 2019, when its class had less.
STORIES = (
    story("search-service", "simulated-search"),
    story("claims-pipeline", "simulated-claims"),
    story("quiet", "simulated-quiet"),
)


def watched(folder: Path) -> Held:
    """An instance with two volumes, Enhanced Monitoring by the second and Performance Insights."""
    snapshot = story("search-service", "simulated-watched")
    return hold(
        folder,
        snapshot,
        described={"MonitoringInterval": 1, "PerformanceInsightsRetentionPeriod": 7},
        enhanced_file=write_documents(folder / "documents.jsonl", snapshot, SECONDS, volumes=2, pulse=2),
        counters=load_counters(snapshot, sessions=8.0, waiting=6.0, waiting_for_io=5.0),
        events=[
            Event(time_s=END_S - hours * HOUR_S, message=message, categories=[category])
            for hours, category, message in EVENTS
        ],
    )


def serverless(folder: Path) -> Held:
    """An Aurora Serverless instance, whose cluster may take 16 capacity units."""
    snapshot = story("quiet", "simulated-serverless")
    of_aurora = {
        "DBInstanceClass": "db.serverless",
        "Engine": "aurora-postgresql",
        "DBClusterIdentifier": "simulated-cluster",
    }
    of_cluster = dict.fromkeys(("EngineVersion", "StorageType", "AllocatedStorage", "MultiAZ"))
    return hold(folder, snapshot, described=of_aurora | of_cluster)


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """An account with the stories and the special cases of this module."""
    folder = tmp_path_factory.mktemp("account")
    today = story("search-service", "simulated-present", launched_s=NOW_DAYS_AGO)
    held = [hold(folder, snapshot) for snapshot in (*STORIES, today)]
    held += [watched(folder), serverless(folder)]
    held.append(hold(folder, aged(story("quiet", "simulated-aged"), 20)))
    empty = story("quiet", "simulated-stopped").instance
    held.append(Held(identifier=empty.identifier, described=described(empty)))
    clusters = [Cluster(identifier="simulated-cluster", engine="aurora-postgresql", capacity_acu_max=16.0)]
    with Double(write(folder, held, clusters)) as running:
        yield running


@cache
def diagnosed(port: int, name: str, window_s: tuple[int, int]) -> Outcome:
    """What `diagnose rds:NAME --format json` says of a window; asked once, for several tests."""
    return plimsoll(port, "diagnose", f"rds:{name}", "--format", "json", *between(window_s))


@cache
def recorded(double: Double, name: str, window_s: tuple[int, int]) -> tuple[Snapshot, Outcome]:
    """The snapshot that `record rds:NAME` keeps of a window."""
    found = plimsoll(double.port, "record", f"rds:{name}", "-o", "out.json", *between(window_s))
    assert 0 == found.status, found.shown()
    return decode_snapshot(found.files["out.json"]), found


def export(snapshot: Snapshot, folder: Path) -> Path:
    """The same samples as tables in a folder, with the description; written by hand, not by the double."""
    folder.mkdir()
    for metric, series in snapshot.series.items():
        name = METRICS[metric].cloudwatch
        assert name is not None
        with (folder / f"{metric.value}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("timestamp", "metric", "value"))
            writer.writerows(
                (int(t), name, repr(float(v))) for t, v in zip(series.time_s, in_cloudwatch_units(series), strict=True)
            )
    fields = described(snapshot.instance) | {"AvailabilityZone": f"{snapshot.instance.region}a"}
    (folder / "instance.json").write_text(json.dumps({"DBInstances": [fields]}))
    return folder


def essence(report: str) -> dict[str, Any]:
    """What a report on the same data must say again, however the data came."""
    document = json.loads(report)
    kept = ("verdict", "binding", "next_ceiling", "intervals", "time_at", "buckets", "forecasts")
    found = {name: document[name] for name in kept}
    found["window"] = document["window"]
    found["findings"] = [(f["code"], f["text"]) for f in document["findings"]]
    return found


@pytest.mark.parametrize("snapshot", STORIES, ids=lambda s: s.instance.identifier)
def test_an_account_is_diagnosed_as_its_export(double: Double, tmp_path: Path, snapshot: Snapshot):
    """Verdict, intervals, levels, buckets and findings of the live reading are those of the export."""
    window = snapshot.window_s
    name = snapshot.instance.identifier
    live = diagnosed(double.port, name, window)
    folder = export(snapshot, tmp_path / "export")
    offline = plimsoll(double.port, "diagnose", str(folder), "--format", "json", *between(window))

    assert live.status == offline.status
    assert essence(offline.stdout) == essence(live.stdout), live.shown()
    assert {} == offline.counts


def test_the_requests_are_those_computed_and_those_reported(double: Double):
    """What the proxy counted, what the command says and what arithmetic foretells are equal."""
    window = STORIES[2].window_s
    found = diagnosed(double.port, "simulated-quiet", window)

    assert found.counts == requests_said(found.stderr), found.shown()
    count = sum(found.counts.values())
    refused = plimsoll(
        double.port, "diagnose", "rds:simulated-quiet", *between(window), "--max-api-calls", str(count - 1)
    )
    assert f"needs {count} requests" in refused.errors[0]


def test_seconds_are_read_where_enhanced_monitoring_keeps_them(double: Double):
    """The busiest hour comes home by the second, its minutes as CloudWatch has them, its volumes counted."""
    snapshot, found = recorded(double, "simulated-watched", SECONDS)
    fine = snapshot.fine[Metric.READ_BYTES_PER_S]
    coarse = snapshot.series[Metric.READ_BYTES_PER_S]
    first, end = int(fine.time_s[0]), int(fine.time_s[-1]) + 1
    same = (coarse.time_s >= first) & (coarse.time_s < end)
    minutes = fine.value.reshape(-1, 60)

    assert (1, 60) == (fine.step_s, coarse.step_s)
    assert (HOUR_S, 0) == (end - first, first % 60)
    assert SECONDS[0] <= first < end <= SECONDS[1]
    assert np.allclose(coarse.value[same], minutes.mean(axis=1), rtol=1e-4)
    assert not minutes[:, 30:].any()
    assert 2 == snapshot.instance.storage.volume_count
    assert found.counts == requests_said(found.stderr)


def test_all_seconds_of_a_short_window_are_the_window(double: Double):
    """Where the seconds cover the whole window they are what is diagnosed; nothing is left to average."""
    snapshot, _ = recorded(double, "simulated-watched", (END_S - HOUR_S, END_S))

    assert 1 == snapshot.series[Metric.READ_BYTES_PER_S].step_s


def test_performance_insights_say_who_waits_for_storage(double: Double):
    """Sessions at work, waiting and waiting for I/O, and the transactions that ended."""
    snapshot, _ = recorded(double, "simulated-watched", SECONDS)
    means = {
        metric: float(series.value.mean())
        for metric, series in snapshot.series.items()
        if METRICS[metric].unit in {"count", "ops/s"}
    }

    assert SECONDS[0] == snapshot.series[Metric.ACTIVE_SESSION_COUNT].time_s[0]
    assert pytest.approx(8.0) == means[Metric.ACTIVE_SESSION_COUNT]
    assert pytest.approx(6.0) == means[Metric.WAITING_SESSION_COUNT]
    assert pytest.approx(5.0) == means[Metric.IO_WAITING_SESSION_COUNT]
    assert pytest.approx(COMMITS_PER_S + ROLLBACKS_PER_S) == means[Metric.TRANSACTIONS_PER_S]


def test_performance_insights_say_which_statement_waits_at_the_ceiling(double: Double):
    """The statements of the time at the ceiling are recorded, and every later stage works from the file."""
    snapshot, _ = recorded(double, "simulated-watched", WINDOW)
    found = diagnose_snapshot(snapshot)
    load = found.statements

    assert load is not None
    assert (load.start_s, load.end_s) in at_ceiling(found)
    assert pytest.approx(8.0) == load.sessions
    assert pytest.approx(5.0) == load.io_sessions
    assert ["INSERT INTO orders SELECT * FROM staging WHERE batch = ?"] == [use.text for use in load.statements[:1]]
    assert pytest.approx([0.75, 0.25]) == [use.io_share for use in load.statements]
    assert ["etl", "app"] == [use.text for use in load.users]
    assert pytest.approx(3.75) == load.statements[0].outside_io_sessions


def test_events_stand_on_the_timeline(double: Double):
    """Each event at its moment with what it means; those before the window that may explain it too."""
    snapshot, _ = recorded(double, "simulated-watched", WINDOW)

    assert [
        (EventKind.BACKUP, END_S - 30 * HOUR_S),
        (EventKind.RESTORE, END_S - 12 * HOUR_S),
        (EventKind.CLASS_CHANGE, END_S - 6 * HOUR_S),
        (EventKind.FAILOVER, END_S - 5 * HOUR_S),
        (EventKind.RESTART, END_S - 4 * HOUR_S),
    ] == [(a.kind, a.time_s) for a in snapshot.annotations]


def test_a_restore_explains_the_hours_after_it(double: Double):
    """Pressed hours after a restore are labelled lazy loading; without the event they are not."""
    loaded = {}
    for name in ("simulated-watched", "simulated-search"):
        report = json.loads(diagnosed(double.port, name, WINDOW).stdout)
        contexts = {interval["context"] for interval in report["intervals"]}
        codes = {finding["code"] for finding in report["findings"]}
        loaded[name] = (any("lazy loading" in context for context in contexts), "StorageLazyLoading" in codes)

    assert {"simulated-watched": (True, True), "simulated-search": (False, False)} == loaded


def test_legacy_limits_are_named_only_where_the_instance_is_old_enough(double: Double):
    """The same samples: launched in 2019 they show a legacy baseline, launched this month they do not."""
    phases = {}
    for name in ("simulated-search", "simulated-present"):
        report = json.loads(diagnosed(double.port, name, STORIES[0].window_s).stdout)
        phases[name] = {(i["family"], i["phase"]) for i in report["intervals"]}

    assert ("instance_ebs_throughput", "legacy") in phases["simulated-search"]
    assert phases["simulated-present"]
    assert "legacy" not in {phase for _, phase in phases["simulated-present"]}


def test_ec2_says_the_limits_of_the_class_itself(double: Double):
    """DescribeInstanceTypes of the class stands in the report with its source."""
    report = json.loads(diagnosed(double.port, "simulated-search", STORIES[0].window_s).stdout)
    limits = report["instance"]["ebs_limits"]

    assert (287.5e6, 593.75e6) == (limits["baseline_bytes_per_s"], limits["burst_bytes_per_s"])
    assert "ec2:DescribeInstanceTypes of r5.2xlarge" == limits["source"]


def test_a_serverless_instance_has_the_capacity_of_its_cluster(double: Double):
    """Its cluster is asked for, and no EC2 type."""
    snapshot, found = recorded(double, "simulated-serverless", WINDOW)

    assert 16.0 == snapshot.instance.capacity_acu_max
    assert snapshot.instance.ebs_limits is None
    assert 1 == found.counts["rds:DescribeDBClusters"]
    assert "ec2:DescribeInstanceTypes" not in found.counts


def test_what_is_older_than_a_fortnight_is_read_in_five_minutes(double: Double):
    """CloudWatch has forgotten the minutes; no events and no Performance Insights are asked for."""
    window = (WINDOW[0] - 20 * DAY_S, WINDOW[1] - 20 * DAY_S)
    snapshot, found = recorded(double, "simulated-aged", window)
    read = snapshot.series[Metric.READ_BYTES_PER_S]

    assert (300, 288) == (read.step_s, read.time_s.size)
    assert "rds:DescribeEvents" not in found.counts
    assert any("14 days" in gap.reason for gap in snapshot.gaps)


def test_an_instance_without_samples_is_said_to_have_none(double: Double):
    """Its name and its status are in the sentence."""
    found = plimsoll(double.port, "diagnose", "rds:simulated-stopped", *between(WINDOW))

    assert 2 == found.status
    (error,) = found.errors
    assert "no sample of 'simulated-stopped'" in error


def test_a_name_that_is_nearly_right_is_set_right(double: Double):
    """An unknown instance is one sentence, with the region and the names that are near."""
    found = plimsoll(double.port, "diagnose", "rds:simulated-quite", "--last", "3h")

    assert 2 == found.status
    assert "error: no instance 'simulated-quite' in eu-central-1" in found.errors
    assert "simulated-quiet" in found.hints[0]


def test_no_request_goes_beyond_the_bound(double: Double):
    """With --max-api-calls the reading is refused before it is too much, and nothing more is sent."""
    found = plimsoll(double.port, "diagnose", "rds:simulated-quiet", "--max-api-calls", "2", *between(WINDOW))

    assert 2 == found.status
    assert "--max-api-calls" in found.stderr
    assert sum(found.counts.values()) <= 2
    assert "" == found.stdout


def test_a_profile_brings_its_own_region_and_credentials(double: Double):
    """--profile and --region reach AWS as they reach its own command line; a wrong one is a sentence."""
    wrong = plimsoll(double.port, "diagnose", "rds:simulated-quiet", "--profile", "nobody")
    elsewhere = plimsoll(double.port, "diagnose", "rds:simulated-quiet", "--region", "eu-west-1")

    assert (2, ["error: the AWS configuration has no profile 'nobody'"]) == (wrong.status, wrong.errors)
    assert (2, ["error: there is no instance in eu-west-1"]) == (elsewhere.status, elsewhere.errors)
    assert "Give --region; these regions have instances:" in elsewhere.stderr
