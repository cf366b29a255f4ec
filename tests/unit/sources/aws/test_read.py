import numpy as np
import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from plimsoll.errors import AccessDenied, DataError, SourceError, Unreachable, UsageError
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.aws.metric_data import DAY_S, WANTED
from unit.sources.aws import test_insights, test_instance_types
from unit.sources.aws.cloud import (
    KEY,
    NOW_S,
    SECRET,
    TOKEN,
    WINDOW_S,
    Cloud,
    Reply,
    described,
    error,
    flat_metrics,
    instance,
    metric_name,
    result,
)
from unit.sources.aws.readings import FLEET, by_seconds, one, read, read_fleet


def gap(snapshot, name):
    (found,) = [g for g in snapshot.gaps if g.metric == name]
    return found


# --- what a reading brings ------------------------------------------------------------------------


def test_an_instance_is_read_with_every_metric_it_has():
    """
    In our units, at CloudWatch's minutes, under the name that RDS gives it, with the limits of its own
    type; what was not switched on is a gap, one for the seconds and one for the sessions.
    """
    cloud = one(DescribeInstanceTypes=lambda _: {"instanceTypeSet": [test_instance_types.R5]})
    snapshot = read(cloud)

    assert snapshot.instance.identifier == "orders-primary"
    assert snapshot.instance.ebs_limits == test_instance_types.LIMITS
    assert snapshot.source == "rds:orders-primary in eu-central-1"
    assert set(snapshot.series) == set(WANTED)
    assert snapshot.window_s == WINDOW_S
    for metric, series in snapshot.series.items():
        assert series.step_s == 60
        assert np.allclose(series.value, 10 * METRICS[metric].scale), metric
    assert not snapshot.is_simulated
    assert "Turn it on" in gap(snapshot, "Performance Insights").remedy
    assert "Turn it on" in gap(snapshot, "Enhanced Monitoring").remedy
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


def test_a_metric_that_does_not_exist_is_no_gap():
    """Its absence says something about the class; only the rates exist everywhere."""
    without = ("EBSByteBalance%", "BurstBalance", "CPUCreditBalance", "ReadThroughput")
    snapshot = read(one(GetMetricData=flat_metrics(without=without)))

    assert Metric.BYTE_BALANCE_RATIO not in snapshot.series
    assert ["read_bytes_per_s"] == [g.metric for g in snapshot.gaps if g.metric in {m.value for m in Metric}]


def changed(name, change, **options):
    """GetMetricData in which the answer about one metric is changed."""

    def metrics(parameters):
        found = flat_metrics(**options)(parameters)
        for query, answer in zip(parameters["MetricDataQueries"], found["MetricDataResults"], strict=True):
            if metric_name(query) == name:
                answer.update(change(answer))
        return found

    return metrics


def test_a_rate_that_was_refused_is_one_gap():
    """Why it is missing, and not a second time that it is."""
    metrics = changed("ReadIOPS", lambda _: {"StatusCode": "Forbidden"}, without=("ReadIOPS",))

    assert "access denied" in gap(read(one(GetMetricData=metrics)), "read_ops_per_s").reason


def test_an_arn_leads_to_its_region():
    """Whatever region the account was opened in."""
    arn = "arn:aws:rds:eu-west-1:123456789012:db:orders-primary"
    cloud = one()
    snapshot = read(cloud, arn)

    assert snapshot.source == "rds:orders-primary in eu-west-1"
    assert all("eu-west-1" in h["Authorization"] for h in cloud.headers)


def test_a_class_that_the_catalog_does_not_know_asks_nothing_of_ec2():
    """A guess would be the limits of another class."""
    cloud = one()
    snapshot = read(cloud, ec2_type_of=lambda _: None)

    assert cloud.counts["DescribeInstanceTypes"] == 0
    assert snapshot.instance.ebs_limits is None


def test_a_serverless_instance_has_the_capacity_of_its_cluster():
    """Asked for once, whatever the number of its instances."""
    serverless = {"DBInstanceClass": "db.serverless", "Engine": "aurora-postgresql"}
    cloud = Cloud(
        DescribeDBInstances=described(*(instance(n, DBClusterIdentifier="shop", **serverless) for n in FLEET)),
        DescribeDBClusters=lambda _: {
            "DBClusters": [
                {
                    "DBClusterIdentifier": "shop",
                    "ServerlessV2ScalingConfiguration": {"MinCapacity": 0.5, "MaxCapacity": 16},
                }
            ]
        },
    )

    assert {16.0} == {s.instance.capacity_acu_max for s in read_fleet(cloud)}
    assert cloud.counts["DescribeDBClusters"] == 1


def test_events_and_what_goes_on_now_are_on_the_timeline():
    """In order of time; a state that RDS reports now is said at the end of a window that ends now."""
    event = {"Date": "2026-11-19T03:00:00Z", "Message": "Backing up DB instance"}
    cloud = Cloud(
        DescribeDBInstances=described(instance(StorageOperationStatus="Optimizing")),
        DescribeEvents=lambda _: {"Events": [event | {"EventCategories": ["backup"]}]},
    )

    assert read(cloud).annotations == (
        Annotation(time_s=NOW_S - 33 * 3600, text="Backing up DB instance", kind=EventKind.BACKUP),
        Annotation(time_s=NOW_S - 1, text="storage is being optimised", kind=EventKind.OPTIMISATION),
    )


def test_what_goes_on_now_says_nothing_of_last_week():
    """Nor do events that RDS has forgotten."""
    cloud = Cloud(DescribeDBInstances=described(instance(StorageOperationStatus="Optimizing")))
    week_s = (NOW_S - 8 * DAY_S, NOW_S - 7 * DAY_S)
    month_s = (NOW_S - 30 * DAY_S, NOW_S - 29 * DAY_S)

    assert read(cloud, window_s=week_s).annotations == ()
    before = cloud.counts["DescribeEvents"]
    assert "14 days" in gap(read(cloud, window_s=month_s), "RDS events").reason
    assert cloud.counts["DescribeEvents"] == before


def test_seconds_of_the_busiest_stretch_are_kept_beside_the_minutes():
    """Where most was served, and no longer than asked for."""
    busy = (WINDOW_S[0] + 1200, WINDOW_S[0] + 1500)

    def in_bursts(answer):
        times = answer["Timestamps"]
        return {"Values": [1e8 if busy[0] <= t < busy[1] else 1e6 for t in times]}

    cloud = Cloud(
        DescribeDBInstances=described(instance(MonitoringInterval=1)),
        GetMetricData=changed("ReadThroughput", in_bursts),
        GetLogEvents=by_seconds(),
    )
    snapshot = read(cloud, fine_s=300)
    fine = snapshot.fine[Metric.READ_OPS_PER_S]

    assert fine.step_s == 1
    assert (int(fine.time_s[0]), int(fine.time_s[-1]) + 1) == (busy[0], busy[1])
    assert snapshot.series[Metric.READ_OPS_PER_S].step_s == 60
    assert snapshot.instance.storage.volume_count == 4
    assert "Enhanced Monitoring covers 8.3 %" in snapshot.note


def test_seconds_of_the_whole_window_take_the_place_of_the_minutes():
    """As in an export."""
    cloud = Cloud(DescribeDBInstances=described(instance(MonitoringInterval=1)), GetLogEvents=by_seconds())
    snapshot = read(cloud, window_s=(NOW_S - 300, NOW_S))

    assert snapshot.series[Metric.READ_OPS_PER_S].step_s == 1
    assert snapshot.fine == {}


@pytest.mark.parametrize(("interval_s", "fine_s"), [(60, 3600), (1, 0)])
def test_seconds_are_read_only_where_they_are_finer_and_wanted(interval_s, fine_s):
    """The newest document is enough to count volumes."""
    cloud = Cloud(DescribeDBInstances=described(instance(MonitoringInterval=interval_s)), GetLogEvents=by_seconds())
    snapshot = read(cloud, fine_s=fine_s)

    assert cloud.counts["GetLogEvents"] == 1
    assert snapshot.fine == {}
    assert snapshot.note == ""
    assert snapshot.instance.storage.volume_count == 4


def test_sessions_are_those_of_cloudwatch_where_it_has_them():
    """And waits for I/O are those of Performance Insights, which alone knows them."""
    cloud = Cloud(
        DescribeDBInstances=described(instance(PerformanceInsightsEnabled="true")),
        GetResourceMetrics=lambda _: {"MetricList": test_insights.ITEMS},
    )
    snapshot = read(cloud)

    assert snapshot.series[Metric.ACTIVE_SESSION_COUNT].value.size == 60
    assert snapshot.series[Metric.IO_WAITING_SESSION_COUNT].value.tolist() == [2.5, 5, 0]
    assert snapshot.series[Metric.TRANSACTIONS_PER_S].value.tolist() == [101, 92]

    cloud.scripts["GetMetricData"] = flat_metrics(without=("DBLoad", "DBLoadNonCPU"))
    assert read(cloud).series[Metric.ACTIVE_SESSION_COUNT].value.tolist() == [4, 6, 2]


# --- what fails -----------------------------------------------------------------------------------

OPTIONAL = [
    ("DescribeEvents", "rds:DescribeEvents", "RDS events"),
    ("DescribeInstanceTypes", "ec2:DescribeInstanceTypes", "EC2 limits"),
    ("DescribeDBClusters", "rds:DescribeDBClusters", "Aurora capacity"),
    ("GetLogEvents", "logs:GetLogEvents", "Enhanced Monitoring"),
    ("GetResourceMetrics", "pi:GetResourceMetrics", "Performance Insights"),
]
EVERYTHING = instance(MonitoringInterval=1, PerformanceInsightsEnabled="true", DBClusterIdentifier="c")


@pytest.mark.parametrize(("operation", "action", "name"), OPTIONAL)
@pytest.mark.parametrize(
    "reply",
    [
        error("AccessDenied", f"{KEY} {TOKEN}", 403),
        error("Throttling"),
        Reply(b"<cut"),
        Reply(b""),
        # A private network may have an endpoint of RDS and CloudWatch, and of nothing else.
        ConnectTimeoutError(endpoint_url="https://aws.example/"),
    ],
    ids=["denied", "throttled", "cut", "empty", "away"],
)
def test_what_is_optional_leaves_a_gap_and_the_rest_is_read(operation, action, name, reply):
    """The gap names the action and what is not known without it."""
    db_class = "db.serverless" if operation == "DescribeDBClusters" else "db.r5.2xlarge"
    cloud = Cloud(
        DescribeDBInstances=described(EVERYTHING | {"DBInstanceClass": db_class}), **{operation: lambda _: reply}
    )
    snapshot = read(cloud)
    found = gap(snapshot, name)

    assert set(WANTED) <= set(snapshot.series)
    assert action in found.reason
    assert "this hides" in found.reason
    assert not any(secret in found.reason + found.remedy for secret in (KEY, TOKEN, SECRET))


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (error("AccessDenied", status=403), AccessDenied, "cloudwatch:GetMetricData"),
        (Reply(b'{"MetricData'), SourceError, "cloudwatch:GetMetricData"),
        (ReadTimeoutError(endpoint_url="https://aws.example/"), Unreachable, r"aws\.example did not answer"),
    ],
)
def test_what_is_needed_is_an_error(reply, kind, words):
    """Without metrics there is nothing to say of the instance."""
    with pytest.raises(kind, match=words):
        read(one(GetMetricData=lambda _: reply))


def test_an_instance_without_any_sample_says_what_it_does():
    """Most often it was stopped."""
    empty = flat_metrics(without=tuple(METRICS[m].cloudwatch for m in WANTED))
    cloud = Cloud(DescribeDBInstances=described(instance(DBInstanceStatus="stopped")), GetMetricData=empty)
    with pytest.raises(DataError, match=r"no sample of 'orders-primary'.* status is 'stopped'"):
        read(cloud)


def test_metrics_that_came_are_kept_where_others_failed():
    """A long window takes several requests; the gap names what the failed one would have brought."""
    window_s = (NOW_S - 14 * DAY_S, NOW_S)

    def metrics(parameters):
        if any(metric_name(q) == "CPUUtilization" for q in parameters["MetricDataQueries"]):
            return error("InternalFailure", status=500)
        return {
            "MetricDataResults": [
                result(q, parameters, 10.0, keep=slice(0, 10)) for q in parameters["MetricDataQueries"]
            ]
        }

    snapshot = read(one(GetMetricData=metrics), window_s=window_s)
    (found,) = [g for g in snapshot.gaps if "CPUUtilization" in g.metric]

    assert Metric.READ_BYTES_PER_S in snapshot.series
    assert Metric.CPU_RATIO not in snapshot.series
    assert "an error on its side" in found.reason


def test_an_instance_of_another_service_is_refused():
    """DocumentDB's metrics have another namespace."""
    cloud = Cloud(DescribeDBInstances=described(instance(Engine="docdb")))
    with pytest.raises(UsageError, match="runs docdb, which is not supported"):
        read(cloud)


@pytest.mark.parametrize(
    ("window_s", "words", "hint"),
    [
        # It would be empty, which looks like an instance that is idle.
        ((NOW_S + 60, NOW_S + 120), "future", "past"),
        ((NOW_S - 455 * DAY_S - 1, NOW_S), "CloudWatch keeps 455 days", "2025-08-23T12:00:00Z or later"),
    ],
)
def test_a_window_that_cannot_be_read_is_refused_without_a_request(window_s, words, hint):
    """Of one instance and of many; the hint says what the oldest start is."""
    cloud = one()
    with pytest.raises(UsageError, match=words) as caught:
        read(cloud, window_s=window_s)
    with pytest.raises(UsageError, match=words):
        next(read_fleet(cloud, window_s=window_s))
    assert hint in caught.value.hint

    assert cloud.sent == []
