"""The double of AWS says what AWS would: moto's own numbers, AWS's pages, Performance Insights' shape."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError

from fixtures.aws import simulated
from fixtures.aws.double import Double, client
from fixtures.aws.holdings import Event, hold, write
from fixtures.aws.insights import Counter
from plimsoll.model.snapshot import Snapshot

NAMESPACE = "AWS/RDS"
NAMES = ("ReadIOPS", "WriteIOPS")
INSTANCES = ("orders", "claims")
STATISTICS = ("Average", "Sum", "Minimum", "Maximum", "SampleCount")
HOURS = 6


@pytest.fixture(scope="module")
def day() -> Snapshot:
    """A simulated day that ended about now."""
    return simulated.moved(simulated.example("quiet"), simulated.recent_end_s(), hours=24)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, day: Snapshot) -> Iterator[Double]:
    """The double with one instance that was filled from a file, its events and its counters."""
    folder = tmp_path_factory.mktemp("holdings")
    start, end = day.window_s
    events = [Event(time_s=start + 600 * n, message=f"event {n}", categories=["backup"]) for n in range(130)]
    load = [1.0 + n / 100 for n in range((end - start) // 60)]
    name = {"db.wait_event_type.name": "IO"}
    counters = [
        Counter(metric="db.load.avg", start_s=start, step_s=60, value=load),
        Counter(metric="db.load.avg", dimensions=name, start_s=start, step_s=60, value=[0.5] * len(load)),
    ]
    held = hold(folder, day, events=events, counters=counters)
    with Double(write(folder, [held])) as double:
        yield double


def moment(time_s: float) -> datetime:
    return datetime.fromtimestamp(time_s, UTC)


def query(identity: str, name: str, instance: str, *, period_s: int, stat: str) -> dict[str, Any]:
    """One query of GetMetricData."""
    metric = {
        "Namespace": NAMESPACE,
        "MetricName": name,
        "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": instance}],
    }
    return {"Id": identity, "MetricStat": {"Metric": metric, "Period": period_s, "Stat": stat}}


def put_by_chance(url: str, start: datetime) -> None:
    """Put single values, values with counts and statistic sets at uneven moments, the same every time."""
    rng, cloudwatch = np.random.default_rng(5), client("cloudwatch", url)
    data: list[dict[str, Any]] = []
    for _ in range(300):
        datum = {
            "MetricName": str(rng.choice(NAMES)),
            "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": str(rng.choice(INSTANCES))}],
            "Timestamp": start + timedelta(seconds=int(rng.integers(HOURS * 3600))),
            "Unit": str(rng.choice(["Count/Second", "None"])),
        }
        kind, value = rng.integers(3), float(rng.integers(1000))
        if kind == 0:
            datum["Value"] = value
        elif kind == 1:
            datum |= {"Values": [value, value + 8], "Counts": [3.0, 1.0]}
        else:
            low, high = {"SampleCount": 4.0, "Sum": 4 * value}, {"Minimum": value, "Maximum": value}
            datum["StatisticValues"] = low | high
        data.append(datum)
    cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)


def test_the_indexed_store_answers_as_moto_does(tmp_path: Path):
    """Put by PutMetricData and read by GetMetricData, every statistic, period, unit and order is equal."""
    start = moment(simulated.recent_end_s()) - timedelta(hours=HOURS)
    queries = [
        query(f"q{n}", name, instance, period_s=period, stat=stat)
        for n, (name, instance, period, stat) in enumerate(
            (name, instance, period, stat)
            for name in (*NAMES, "Absent")
            for instance in INSTANCES
            for period in (60, 300, 3600)
            for stat in STATISTICS
        )
    ]
    in_one_unit = [q | {"MetricStat": q["MetricStat"] | {"Unit": "None"}} for q in queries]
    answers = []
    for store in ("moto", "indexed"):
        with Double(store=store) as double:
            put_by_chance(double.url, start)
            cloudwatch = client("cloudwatch", double.url)
            answers.append(
                [
                    cloudwatch.get_metric_data(
                        MetricDataQueries=asked, StartTime=start, EndTime=start + timedelta(hours=HOURS), ScanBy=order
                    )["MetricDataResults"]
                    for asked in (queries, in_one_unit)
                    for order in ("TimestampAscending", "TimestampDescending")
                ]
            )

    moto, indexed = answers
    assert moto == indexed
    assert max(len(r["Values"]) for r in moto[0]) > 50
    assert any(not r["Values"] for r in moto[0])


def test_filling_and_putting_give_the_same_samples(filled: Double, day: Snapshot):
    """A metric filled from a file when the server starts reads as one that was put over HTTP."""
    start, end = day.window_s
    cloudwatch = client("cloudwatch", filled.url)
    asked = query("filled", "WriteIOPS", "quiet", period_s=60, stat="Average")
    window = {"StartTime": moment(start), "EndTime": moment(end)}
    filled_values = cloudwatch.get_metric_data(MetricDataQueries=[asked], **window)
    (found,) = filled_values["MetricDataResults"]
    pairs = list(zip(found["Timestamps"], found["Values"], strict=True))
    for at in range(0, len(pairs), 500):
        data = [
            {
                "MetricName": "WriteIOPS",
                "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": "put"}],
                "Timestamp": time,
                "Value": value,
            }
            for time, value in pairs[at : at + 500]
        ]
        cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)
    asked = query("put", "WriteIOPS", "put", period_s=60, stat="Average")
    (put,) = cloudwatch.get_metric_data(MetricDataQueries=[asked], **window)["MetricDataResults"]

    assert 24 * 60 == len(found["Values"])
    assert (found["Timestamps"], found["Values"]) == (put["Timestamps"], put["Values"])


def test_pages_hold_so_many_points_and_all_of_them_come(filled: Double, day: Snapshot):
    """Pages are full but the last, cut series are marked, and joined they are the whole answer."""
    start, end = day.window_s
    cloudwatch = client("cloudwatch", filled.url)
    names = ("ReadIOPS", "EBSByteBalance%", "Absent", "WriteIOPS")
    asked = {
        "MetricDataQueries": [
            query(f"q{n}", name, "quiet", period_s=60, stat="Average") for n, name in enumerate(names)
        ],
        "StartTime": moment(start),
        "EndTime": moment(end),
    }
    whole = cloudwatch.get_metric_data(**asked)
    pages = list(cloudwatch.get_paginator("get_metric_data").paginate(**asked, MaxDatapoints=1000))
    joined: dict[str, list[float]] = {}
    for page in pages:
        for result in page["MetricDataResults"]:
            joined.setdefault(result["Id"], []).extend(result["Values"])

    points = [sum(len(r["Values"]) for r in page["MetricDataResults"]) for page in pages]
    assert {r["Id"]: r["Values"] for r in whole["MetricDataResults"]} == joined
    assert [1000] * (len(points) - 1) == points[:-1]
    assert math.ceil(sum(points) / 1000) == len(points) > 2
    statuses = {r["StatusCode"] for page in pages for r in page["MetricDataResults"]}
    assert {"Complete", "PartialData"} == statuses
    assert "NextToken" not in whole


def test_old_minutes_are_forgotten(filled: Double):
    """Beyond 15 days only periods of five minutes are answered, beyond 63 only hours."""
    cloudwatch = client("cloudwatch", filled.url)
    end = moment(simulated.recent_end_s())
    for days in (1, 30, 100, 500):
        datum = {"MetricName": "ReadIOPS", "Value": 1.0, "Timestamp": end - timedelta(days=days)}
        datum["Dimensions"] = [{"Name": "DBInstanceIdentifier", "Value": "old"}]
        cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=[datum])
    found = cloudwatch.get_metric_data(
        MetricDataQueries=[
            query(f"p{period}", "ReadIOPS", "old", period_s=period, stat="Average") for period in (60, 300, 3600)
        ],
        StartTime=end - timedelta(days=600),
        EndTime=end,
    )

    assert [1, 2, 3] == [len(r["Values"]) for r in found["MetricDataResults"]]


def test_more_than_five_hundred_queries_are_refused(filled: Double):
    """As AWS refuses them."""
    asked = [query(f"q{n}", "ReadIOPS", "x", period_s=60, stat="Average") for n in range(501)]

    with pytest.raises(ClientError) as raised:
        client("cloudwatch", filled.url).get_metric_data(
            MetricDataQueries=asked, StartTime=moment(0), EndTime=moment(60)
        )

    assert "ValidationError" == raised.value.response["Error"]["Code"]


def test_events_are_of_the_window_and_come_in_pages(filled: Double, day: Snapshot):
    """Without a window they are of the last hour; with one, 100 a page, and of that instance."""
    start, end = day.window_s
    rds = client("rds", filled.url)
    asked = {"SourceType": "db-instance", "SourceIdentifier": "quiet"}
    window = {"StartTime": moment(start), "EndTime": moment(end)}
    pages = list(rds.get_paginator("describe_events").paginate(**asked, **window))
    usual = rds.describe_events(**asked)["Events"]

    assert [100, 30] == [len(page["Events"]) for page in pages]
    assert [f"event {n}" for n in range(130)] == [e["Message"] for p in pages for e in p["Events"]]
    assert not usual
    assert not rds.describe_events(**asked | {"SourceIdentifier": "other"}, **window)["Events"]


def test_performance_insights_gives_the_total_then_its_parts(filled: Double, day: Snapshot):
    """Times stand for the end of a period; a period's value is the mean of what lies in it."""
    start, end = day.window_s
    (described,) = client("rds", filled.url).describe_db_instances()["DBInstances"]
    insights = client("pi", filled.url)
    answer = insights.get_resource_metrics(
        ServiceType="RDS",
        Identifier=described["DbiResourceId"],
        MetricQueries=[{"Metric": "db.load.avg", "GroupBy": {"Group": "db.wait_event_type"}}],
        StartTime=moment(start),
        EndTime=moment(end),
        PeriodInSeconds=300,
    )
    total, waiting = answer["MetricList"]

    assert described["PerformanceInsightsEnabled"]
    assert {"Metric": "db.load.avg"} == total["Key"]
    assert {"db.wait_event_type.name": "IO"} == waiting["Key"]["Dimensions"]
    assert moment(start + 300) == total["DataPoints"][0]["Timestamp"]
    assert pytest.approx(1.02) == total["DataPoints"][0]["Value"]
    assert 24 * 12 == len(total["DataPoints"])
    with pytest.raises(ClientError) as raised:
        insights.get_resource_metrics(
            ServiceType="RDS",
            Identifier="db-OTHER",
            MetricQueries=[{"Metric": "db.load.avg"}],
            StartTime=moment(start),
            EndTime=moment(end),
        )
    assert "NotAuthorizedException" == raised.value.response["Error"]["Code"]
