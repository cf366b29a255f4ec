import itertools

import pytest

from plimsoll.errors import UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.overview import UnreadInstance
from plimsoll.sources.aws.meter import CallsSpent, Meter
from plimsoll.sources.aws.metric_data import DAY_S
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS, DESCRIBE_INSTANCES, GET_METRIC_DATA
from unit.sources.aws.cloud import NOW_S, Cloud, described, error, flat_metrics, instance, instance_name, result
from unit.sources.aws.readings import FLEET, by_seconds, fleet, one, read, read_fleet

# --- many -----------------------------------------------------------------------------------------


def test_a_fleet_is_read_in_the_order_of_names():
    """Each instance with its own samples."""

    def metrics(parameters):
        worth = {name: float(10 * n + 1) for n, name in enumerate(FLEET)}
        return {
            "MetricDataResults": [
                result(q, parameters, worth[instance_name(q)]) for q in parameters["MetricDataQueries"]
            ]
        }

    found = list(read_fleet(fleet(*reversed(FLEET), GetMetricData=metrics)))

    assert list(FLEET) == [s.instance.identifier for s in found]
    assert [1, 11, 21] == [s.series[Metric.READ_OPS_PER_S].value[0] for s in found]


def test_one_that_cannot_be_read_does_not_cost_the_others():
    """It stands in its place, with cause and remedy."""

    def metrics(parameters):
        if any(instance_name(q) == "orders-primary" for q in parameters["MetricDataQueries"]):
            return error("InvalidParameterValue")
        return flat_metrics()(parameters)

    first, bad, last = read_fleet(fleet(GetMetricData=metrics))

    assert ["billing", "orders-replica"] == [first.instance.identifier, last.instance.identifier]
    assert isinstance(bad, UnreadInstance)
    assert bad.identifier == "orders-primary"
    assert bad.reason == "AWS refused cloudwatch:GetMetricData (InvalidParameterValue)"
    assert bad.remedy.endswith(".")


THIRTY = [f"i{n:03d}" for n in range(30)]


@pytest.mark.parametrize(
    ("days", "reply", "reason", "sent"),
    [
        # Whatever the window: four attempts with ever longer gaps, then no more.
        (1, error("Throttling"), "AWS throttled {}, and the retries did not help", 4),
        (3, error("Throttling"), "AWS throttled {}, and the retries did not help", 4),
        # Each names the permission; nothing is asked twice for it.
        (1, error("AccessDenied", status=403), "access denied to {}", 1),
    ],
)
def test_a_fleet_without_metrics_is_unread_with_few_requests(days, reply, reason, sent):
    cloud = fleet(*THIRTY, GetMetricData=lambda _: reply)
    found = list(read_fleet(cloud, window_s=(NOW_S - days * DAY_S, NOW_S)))

    assert {reason.format("cloudwatch:GetMetricData")} == {u.reason for u in found}
    assert sent == cloud.counts["GetMetricData"]


@pytest.mark.parametrize(
    ("operation", "metric"), [("DescribeEvents", "RDS events"), ("DescribeInstanceTypes", "EC2 limits")]
)
def test_what_a_fleet_is_denied_is_asked_for_once(operation, metric):
    """Each instance's snapshot says what is not known; the refusal is met once."""
    cloud = fleet(*THIRTY, **{operation: lambda _: error("AccessDenied", status=403)})
    found = list(read_fleet(cloud))

    assert 1 == cloud.counts[operation]
    assert 30 == sum(any(g.metric == metric for g in f.gaps) for f in found)


def test_other_services_instances_are_unread():
    """They are named rather than left out in silence."""
    cloud = Cloud(DescribeDBInstances=described(instance("a"), instance("b", Engine="neptune"), instance("c")))
    found = list(read_fleet(cloud))

    assert [type(f).__name__ for f in found] == ["Snapshot", "UnreadInstance", "Snapshot"]
    assert "neptune" in found[1].reason


def test_a_network_that_goes_away_leaves_every_instance_unread_soon():
    """After three requests that nobody answered the others are not sent."""
    from botocore.exceptions import EndpointConnectionError

    gone = EndpointConnectionError(endpoint_url="https://aws.example/")
    names = [f"i{n:03d}" for n in range(100)]
    cloud = fleet(*names, GetMetricData=lambda _: gone, DescribeEvents=lambda _: gone)
    found = list(read_fleet(cloud, window_s=(NOW_S - 3 * DAY_S, NOW_S)))

    assert all(isinstance(f, UnreadInstance) for f in found)
    assert len(found) == 100
    # Three failures end it; as many as run at once may have been under way by then.
    assert cloud.counts["GetMetricData"] <= (3 + 8) * 4


def test_little_is_read_ahead_of_who_takes_it():
    """A thousand instances are never in memory at once."""
    names = [f"i{n:04d}" for n in range(600)]
    cloud = fleet(*names)
    results = read_fleet(cloud, window_s=(NOW_S - 3 * DAY_S, NOW_S), most=5000)
    next(results)
    results.close()

    assert cloud.counts["GetMetricData"] <= 40
    assert cloud.counts["DescribeEvents"] <= 40


# --- what it costs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence", "sent"),
    [
        # After the description, which says how many there are, and before anything else.
        (lambda cloud: list(read_fleet(cloud, most=5)), "reading 3 instances needs 6", 1),
        # Three are the least: what it is, its metrics and its events.
        (lambda cloud: read(cloud, most=2), "reading 1 instance needs 3", 0),
        (lambda cloud: next(read_fleet(cloud, most=2)), "reading 1 instance needs 3", 0),
    ],
)
def test_a_reading_beyond_the_bound_is_refused_with_its_number(call, sentence, sent):
    """Before it begins, and without a request where not even one instance could be read."""
    cloud = fleet()
    with pytest.raises(UsageError, match=f"{sentence} requests to AWS, but --max-api-calls allows"):
        call(cloud)

    assert len(cloud.sent) == sent


def test_retries_that_reach_the_bound_leave_what_was_read():
    """The events were throttled until nothing was left to ask with; the metrics are there."""
    cloud = fleet(DescribeEvents=lambda _: error("Throttling"))
    found = list(read_fleet(cloud, most=6))

    assert 6 == len(cloud.sent)
    assert ["Snapshot"] * 3 == [type(f).__name__ for f in found]
    reasons = {g.reason.partition(",")[0] for f in found for g in f.gaps if "RDS ev" in g.metric}
    assert {"stopped after 6 requests to AWS"} == reasons


def test_repeats_of_what_is_optional_leave_the_planned_requests_of_metrics():
    """Events and metrics are asked for at the same time, and whichever is first must not cost the others' turn."""
    meter = Meter(3)
    meter.keep(1)
    meter.sent(DESCRIBE_INSTANCES)
    meter.sent(DESCRIBE_EVENTS)
    with pytest.raises(CallsSpent):
        meter.sent(DESCRIBE_EVENTS)
    meter.sent(GET_METRIC_DATA)
    with pytest.raises(CallsSpent):
        meter.sent(GET_METRIC_DATA)


def test_metrics_beyond_the_bound_are_unread_and_those_before_it_are_shown():
    """Every second answer is an error on AWS's side, and the repeats use up what was allowed."""
    numbers = itertools.count()
    cloud = fleet(
        *(f"i{n:03d}" for n in range(30)),
        GetMetricData=lambda p: error("InternalFailure", status=500) if next(numbers) % 2 else flat_metrics()(p),
    )
    found = list(read_fleet(cloud, window_s=(NOW_S - 3 * DAY_S, NOW_S), most=64))
    unread = [f for f in found if isinstance(f, UnreadInstance)]

    assert 64 == len(cloud.sent)
    assert 0 < len(unread) < 30 == len(found)
    assert all("--max-api-calls" in u.remedy for u in unread)


@pytest.mark.parametrize(
    ("count", "days", "age_days", "watched"),
    [
        (1, 1, 0, False),
        (1, 3, 0, True),
        (7, 1, 0, True),
        (7, 3, 0, False),
        (130, 1, 0, True),
        (2, 20, 0, True),
        (2, 1, 40, False),
        (1, 400, 0, True),
    ],
)
def test_requests_are_as_many_as_planned(count, days, age_days, watched):
    """Of every kind of window, with everything switched on and with nothing."""
    more = {"MonitoringInterval": 60, "PerformanceInsightsEnabled": "true"} if watched else {}
    names = [f"i{n:03d}" for n in range(count)]
    thin = lambda p: {  # noqa: E731
        "MetricDataResults": [result(q, p, 10.0, keep=slice(0, 2)) for q in p["MetricDataQueries"]]
    }
    cloud = Cloud(DescribeDBInstances=described(*(instance(n, **more) for n in names)), GetMetricData=thin)
    window_s = (NOW_S - (age_days + days) * DAY_S, NOW_S - age_days * DAY_S)
    # Enhanced Monitoring answers with empty pages here, which it would not be asked for twice.
    cloud.scripts["GetLogEvents"] = by_seconds()
    found = list(read_fleet(cloud, window_s=window_s))
    sent = len(cloud.sent)

    assert count == len(found)
    with pytest.raises(UsageError, match=f"needs {sent} requests"):
        list(read_fleet(cloud, window_s=window_s, most=sent - 1))


def test_seconds_take_no_more_requests_than_planned():
    """Their pages depend on the length of the documents; the plan is the most."""
    cloud = one(GetLogEvents=by_seconds())
    cloud.scripts["DescribeDBInstances"] = described(instance(MonitoringInterval=1))
    more = {"window_s": (NOW_S - 7200, NOW_S), "fine_s": 600}
    read(cloud, **more)
    sent = len(cloud.sent)

    # What it is, its type, its metrics, its events, its newest document, and 15 MB and an end of the stretch.
    assert sent <= 5 + 15 + 1
    with pytest.raises(UsageError, match="needs 21 requests"):
        read(cloud, **more, most=20)


def test_only_the_chosen_are_read_and_only_what_is_asked_for():
    """The others are described and cost nothing; a metric that nobody asked for is not billed."""
    cloud = fleet()

    (found,) = read_fleet(
        cloud,
        metrics=(Metric.READ_OPS_PER_S, Metric.CPU_RATIO),
        is_chosen=lambda described: described.instance.identifier == FLEET[1],
    )

    asked = [p["MetricDataQueries"] for name, p in cloud.sent if name == "GetMetricData"]
    assert found.instance.identifier == FLEET[1]
    assert set(found.series) == {Metric.READ_OPS_PER_S, Metric.CPU_RATIO}
    assert [len(queries) for queries in asked] == [2]
