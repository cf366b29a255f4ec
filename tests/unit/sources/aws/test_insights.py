import numpy as np
import pytest

from plimsoll.model.metric import Metric
from plimsoll.sources.aws.described import describe_one
from plimsoll.sources.aws.insights import DAY_S, is_io, read_insights, span_of
from plimsoll.sources.reading.reading import Channel, Reading
from unit.sources.aws.cloud import NOW_S, WINDOW_S, Cloud, account_of, described, instance

TIMES = list(range(NOW_S - 180, NOW_S, 60))


def item(metric, values, wait_type=None, times=TIMES):
    key = {"Metric": metric}
    if wait_type is not None:
        key["Dimensions"] = {"db.wait_event_type.name": wait_type}
    points = [{"Timestamp": t} | ({} if v is None else {"Value": v}) for t, v in zip(times, values, strict=True)]
    return {"Key": key, "DataPoints": points}


LOAD = "db.load.avg"
ITEMS = [
    item(LOAD, [4.0, 6.0, 2.0]),
    item(LOAD, [1.0, None, 2.0], "CPU"),
    item(LOAD, [2.5, 5.0, None], "IO"),
    item(LOAD, [0.5, 1.0, None], "Lock"),
    item("db.Transactions.xact_commit.avg", [100.0, 90.0, None]),
    item("db.Transactions.xact_rollback.avg", [1.0, 2.0, 3.0]),
]


def read(script, *, window_s=WINDOW_S, **fields):
    fields = {"PerformanceInsightsEnabled": "true"} | fields
    cloud = Cloud(DescribeDBInstances=described(instance(**fields)), GetResourceMetrics=script)
    account = account_of(cloud)
    found = describe_one(account, "orders-primary")
    cloud.sent.clear()
    reading = Reading()
    read_insights(account, found, window_s, reading)
    return cloud, reading


def values(reading):
    return {b.metric: b.value.tolist() for b in reading.blocks}


def test_sessions_are_told_apart_by_what_they_wait_for():
    """Waiting is everything but CPU; a type without a value was not seen."""
    _, reading = read(lambda _: {"MetricList": ITEMS})

    assert values(reading) == {
        Metric.ACTIVE_SESSION_COUNT: [4, 6, 2],
        Metric.WAITING_SESSION_COUNT: [3, 6, 0],
        Metric.IO_WAITING_SESSION_COUNT: [2.5, 5, 0],
        Metric.TRANSACTIONS_PER_S: [101, 92],
        Metric.ROLLBACKS_PER_S: [1, 2],
    }
    assert {Channel.PERFORMANCE_INSIGHTS} == {b.origin for b in reading.blocks}
    assert {"orders-primary"} == {b.instance for b in reading.blocks}
    assert np.array_equal(reading.blocks[0].time_s, TIMES)


COUNTERS = [{"Metric": "db.Transactions.xact_commit.avg"}, {"Metric": "db.Transactions.xact_rollback.avg"}]


@pytest.mark.parametrize(
    ("engine", "counters"), [("postgres", COUNTERS), ("mysql", []), ("oracle-ee", []), ("aurora-mysql", [])]
)
def test_times_are_asked_for_as_the_start_of_their_period(engine, counters):
    """
    The default is the end, a minute late. Only PostgreSQL has these counters, and one that an engine
    does not have fails the whole request.
    """
    cloud, _ = read(lambda _: {"MetricList": ITEMS}, Engine=engine)
    (_, sent) = cloud.sent[0]

    assert sent["PeriodAlignment"] == "START_TIME"
    assert sent["Identifier"] == "db-ORDERS-PRIMARY"
    assert (sent["StartTime"], sent["EndTime"]) == WINDOW_S
    assert sent["PeriodInSeconds"] == 60
    assert sent["MaxResults"] == 25
    assert sent["MetricQueries"] == [
        {"Metric": "db.load.avg", "GroupBy": {"Group": "db.wait_event_type", "Limit": 24}},
        *counters,
    ]


@pytest.mark.parametrize("items", [[], [item(LOAD, [None, None, None])], [item(LOAD, [1.0, 1.0, 1.0], "CPU")]])
def test_without_a_total_there_is_no_load(items):
    """An instance that slept has no value at all."""
    _, reading = read(lambda _: {"MetricList": items})

    assert reading.blocks == []


@pytest.mark.parametrize(
    ("wait_type", "expected"),
    [
        ("IO", True),
        ("io", True),
        ("User I/O", True),
        ("System I/O", True),
        ("Buffer IO", True),
        ("CPU", False),
        ("Lock", False),
        ("IPC", False),
        ("Extension", False),
        ("Configuration", False),
    ],
)
def test_input_and_output_have_a_name_in_every_engine(wait_type, expected):
    """As a word, not as letters within one."""
    assert is_io(wait_type) is expected


@pytest.mark.parametrize(
    ("length_s", "period_s"), [(3600, 60), (DAY_S, 60), (DAY_S + 1, 300), (7 * DAY_S, 300), (7 * DAY_S + 1, 3600)]
)
def test_the_period_follows_from_the_length(length_s, period_s):
    """So that an answer has some thousand points."""
    (start_s, end_s), found = span_of((NOW_S - length_s, NOW_S), NOW_S, 731 * DAY_S)

    assert found == period_s
    assert start_s % period_s == 0 == end_s % period_s
    assert start_s <= NOW_S - length_s


def test_only_what_is_kept_is_asked_for():
    """A start before that would fail the whole request; a window that is not kept is a gap and no request."""
    (start_s, _), _ = span_of((NOW_S - 30 * DAY_S, NOW_S), NOW_S, 7 * DAY_S)
    old = (NOW_S - 30 * DAY_S, NOW_S - 8 * DAY_S)
    cloud, reading = read(lambda _: {"MetricList": []}, window_s=old)

    assert NOW_S - 7 * DAY_S < start_s <= NOW_S - 7 * DAY_S + 3600
    assert cloud.sent == []
    assert [g.reason for g in reading.gaps] == ["the window is older than its retention of 7 days"]
