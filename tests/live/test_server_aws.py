"""The AWS double for real: what is put into it is what `diagnose rds:` reads."""

import math
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.exceptions
import pytest

from fixtures.aws.double import client, environment
from plimsoll_lab.servers.cloudwatch import LAUNCHED, AwsDouble

IDENTIFIER = "search"
DIMENSIONS = [{"Name": "DBInstanceIdentifier", "Value": IDENTIFIER}]
# 212.5 MB/s in all, the old baseline of the class.
METRICS = {
    "ReadThroughput": 150e6,
    "WriteThroughput": 62.5e6,
    "ReadIOPS": 9000.0,
    "WriteIOPS": 4000.0,
    "ReadLatency": 0.012,
    "WriteLatency": 0.02,
    "DiskQueueDepth": 120.0,
    "CPUUtilization": 30.0,
}
MINUTES = 2 * 1440


@pytest.fixture(scope="module")
def double() -> Iterator[AwsDouble]:
    """A double with one instance, launched in 2019, that was at its baseline for two days."""
    with AwsDouble() as running:
        create(running, IDENTIFIER, "2019-06-01")
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        for name, value in METRICS.items():
            data = [
                {
                    "MetricName": name,
                    "Dimensions": DIMENSIONS,
                    "Timestamp": now - timedelta(minutes=minute),
                    "Value": value * (1 + 0.001 * math.sin(minute)),
                }
                for minute in range(MINUTES)
            ]
            for start in range(0, MINUTES, 1000):
                client("cloudwatch", running.address).put_metric_data(
                    Namespace="AWS/RDS", MetricData=data[start : start + 1000]
                )
        yield running


def create(double: AwsDouble, identifier: str, launched: str) -> None:
    client("rds", double.address).create_db_instance(
        DBInstanceIdentifier=identifier,
        DBInstanceClass="db.r5.2xlarge",
        Engine="postgres",
        EngineVersion="11.4",
        AllocatedStorage=4000,
        StorageType="io1",
        Iops=20000,
        Tags=[{"Key": LAUNCHED, "Value": launched}],
    )


def described(double: AwsDouble) -> dict[str, Any]:
    answer = client("rds", double.address).describe_db_instances(DBInstanceIdentifier=IDENTIFIER)
    (instance,) = answer["DBInstances"]
    return instance


@pytest.mark.parametrize("last", ["3h", "2d"])
def test_an_instance_is_diagnosed_through_the_double(double: AwsDouble, tmp_path: Path, last: str):
    """The limit is the one of the year in which the instance was launched; the AWS endpoint is all that is set."""
    done = subprocess.run(
        [sys.executable, "-m", "plimsoll", "diagnose", f"rds:{IDENTIFIER}", "--last", last],
        env=environment(double.address, tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(done.stdout.split())

    assert 1 == done.returncode, done.stderr
    assert f"{IDENTIFIER} (db.r5.2xlarge) is up against its instance EBS throughput" in said
    assert "212.5 MB/s (legacy baseline)" in said
    assert "launched 2019-06-01" in said


def test_an_instance_is_as_it_was_created_and_then_modified(double: AwsDouble):
    """A change of class, version and IOPS shows; the date of the launch stays."""
    names = ("DBInstanceClass", "StorageType", "AllocatedStorage", "Iops", "EngineVersion")
    before = described(double)
    rds = client("rds", double.address)
    changed = {"DBInstanceClass": "db.r5.4xlarge", "Iops": 30000, "EngineVersion": "12.3"}
    rds.modify_db_instance(DBInstanceIdentifier=IDENTIFIER, ApplyImmediately=True, **changed)
    after = described(double)
    back = {name: before[name] for name in changed}
    rds.modify_db_instance(DBInstanceIdentifier=IDENTIFIER, ApplyImmediately=True, **back)

    assert ["db.r5.2xlarge", "io1", 4000, 20000, "11.4"] == [before[name] for name in names]
    assert ["db.r5.4xlarge", "io1", 4000, 30000, "12.3"] == [after[name] for name in names]
    launched = datetime(2019, 6, 1, tzinfo=UTC)
    assert launched == before["InstanceCreateTime"] == after["InstanceCreateTime"]


def test_a_launch_that_is_no_date_is_refused_and_nothing_is_created(double: AwsDouble):
    with pytest.raises(botocore.exceptions.ClientError, match="has 'June', which is no date"):
        create(double, "other", "June")
    found = client("rds", double.address).describe_db_instances()["DBInstances"]

    assert [IDENTIFIER] == [instance["DBInstanceIdentifier"] for instance in found]


def test_events_are_answered(double: AwsDouble):
    found = client("rds", double.address).describe_events(
        SourceIdentifier=IDENTIFIER, SourceType="db-instance", Duration=60
    )

    assert "DB instance created" in {event["Message"] for event in found["Events"]}


def ask(double: AwsDouble, *queries: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    answer = client("cloudwatch", double.address).get_metric_data(
        MetricDataQueries=list(queries), StartTime=end - timedelta(minutes=20), EndTime=end, **more
    )
    return answer["MetricDataResults"]


def query(name: str, *, stat: str = "Average", namespace: str = "Other") -> dict[str, Any]:
    metric = {"Namespace": namespace, "MetricName": name}
    return {"Id": "q", "MetricStat": {"Metric": metric, "Period": 300, "Stat": stat}}


@pytest.mark.parametrize(
    ("stat", "value"), [("Average", 4.0), ("Sum", 20.0), ("Minimum", 1.0), ("Maximum", 9.0), ("SampleCount", 5.0)]
)
def test_a_period_has_the_statistic_of_its_samples(double: AwsDouble, stat: str, value: float):
    """One sample and a set of four: the other namespaces and dimensions do not count."""
    moment = datetime.now(UTC) - timedelta(minutes=7)
    moment = moment - timedelta(seconds=moment.timestamp() % 300)
    cloudwatch = client("cloudwatch", double.address)
    name = f"Rate{stat}"
    sets = {"SampleCount": 4, "Sum": 16, "Minimum": 1, "Maximum": 9}
    cloudwatch.put_metric_data(
        Namespace="Other",
        MetricData=[
            {"MetricName": name, "Timestamp": moment, "Value": 4},
            {"MetricName": name, "Timestamp": moment + timedelta(seconds=60), "StatisticValues": sets},
            {"MetricName": name, "Timestamp": moment, "Value": 99, "Dimensions": DIMENSIONS},
        ],
    )
    (found,) = ask(double, query(name, stat=stat))

    assert [value] == found["Values"]
    assert 0 == found["Timestamps"][0].timestamp() % 300
