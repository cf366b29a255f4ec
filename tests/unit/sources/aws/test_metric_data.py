import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.model.metric import Metric
from plimsoll.sources.aws.metric_data import (
    DAY_S,
    POINTS_MAX,
    QUERIES_MAX,
    WANTED,
    Grid,
    MetricQuery,
    ask,
    calls_for,
    grid_of,
    packed,
)
from unit.sources.aws.cloud import (
    NOW_S,
    WINDOW_S,
    Cloud,
    Reply,
    account_of,
    error,
    flat_metrics,
    in_turn,
    instance_name,
    result,
)

GRID = Grid(period_s=60, start_s=WINDOW_S[0], end_s=WINDOW_S[1])
TWO = [MetricQuery("a1", Metric.READ_OPS_PER_S), MetricQuery("b1", Metric.READ_OPS_PER_S)]


@pytest.mark.parametrize(
    ("age_s", "period_s"),
    [(60, 60), (15 * DAY_S, 60), (15 * DAY_S + 1, 300), (63 * DAY_S, 300), (63 * DAY_S + 1, 3600), (455 * DAY_S, 3600)],
)
def test_the_period_follows_from_the_age_of_the_oldest_sample(age_s, period_s):
    """CloudWatch keeps minutes for 15 days, five minutes for 63, hours for 455."""
    assert grid_of((NOW_S - age_s, NOW_S), NOW_S).period_s == period_s


@given(start_s=st.integers(NOW_S - 455 * DAY_S, NOW_S - 1), length_s=st.integers(1, 400 * DAY_S))
def test_a_grid_holds_the_window_and_less_than_a_period_more(start_s, length_s):
    """Its ends are multiples of the period, as CloudWatch would round them itself."""
    grid = grid_of((start_s, start_s + length_s), NOW_S)

    assert grid.start_s % grid.period_s == 0 == grid.end_s % grid.period_s
    assert start_s - grid.period_s < grid.start_s <= start_s
    assert start_s + length_s <= grid.end_s < start_s + length_s + grid.period_s
    assert grid.points >= 1


@given(count=st.integers(1, 60), points=st.integers(1, 22_000))
def test_every_metric_of_every_instance_is_asked_for_once_within_the_limits(count, points):
    """No call has more queries or more samples than one page may answer, and their number is known."""
    names = [f"i{n}" for n in range(count)]
    calls = packed(names, points)

    assert [q for call in calls for q in call] == [MetricQuery(n, m) for n in names for m in WANTED]
    assert max(len(call) for call in calls) <= QUERIES_MAX
    assert max(len(call) for call in calls) * points <= POINTS_MAX
    assert len(calls) == calls_for(count, points)


def test_a_request_says_exactly_what_is_wanted():
    """The mean by the minute of one metric of one instance, oldest first."""
    cloud = Cloud()
    ask(account_of(cloud), TWO[:1], GRID)

    assert cloud.sent[0][1] == {
        "MetricDataQueries": [
            {
                "Id": "q0",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/RDS",
                        "MetricName": "ReadIOPS",
                        "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": "a1"}],
                    },
                    "Period": 60,
                    "Stat": "Average",
                },
                "ReturnData": True,
            }
        ],
        "StartTime": GRID.start_s,
        "EndTime": GRID.end_s,
        "ScanBy": "TimestampAscending",
    }


def test_samples_arrive_as_they_were_sent():
    """
    Values in CloudWatch's unit, under CloudWatch's name, with the period that was asked for; counted
    as they are billed, by metric and request, whatever comes back.
    """
    account = account_of(Cloud())
    answer = ask(account, TWO, GRID)
    (block,) = answer.readings["a1"].blocks

    assert block.name == "ReadIOPS"
    assert (block.instance, block.period_s) == ("a1", 60)
    assert np.array_equal(block.time_s, np.arange(*WINDOW_S, 60))
    assert np.array_equal(block.value, np.full(60, 10.0))
    assert answer.failures == {}
    assert account.usage.metrics_requested == 2


def page(*kept, token=None, status="Complete"):
    """A page with the samples of `kept`, one slice a query, and a token for the next."""

    def script(parameters):
        found = {
            "MetricDataResults": [
                result(query, parameters, 10.0, keep=part, status=status)
                for query, part in zip(parameters["MetricDataQueries"], kept, strict=False)
            ]
        }
        return found | ({"NextToken": token} if token else {})

    return script


FIRST, REST, ALL = slice(0, 20), slice(20, None), slice(None)


def test_pages_are_joined():
    """What the first page left open, the second completes; nothing is said of it."""
    cloud = Cloud(GetMetricData=in_turn(page(FIRST, FIRST, token="t", status="PartialData"), page(REST, REST)))
    answer = ask(account_of(cloud), TWO, GRID)

    assert cloud.sent[1][1]["NextToken"] == "t"
    assert sum(b.time_s.size for b in answer.readings["a1"].blocks) == 60
    assert answer.readings["a1"].gaps == []


@pytest.mark.parametrize("status", ["PartialData", "Forbidden", "InternalError"])
def test_a_metric_that_did_not_come_whole_is_asked_for_once_more(status):
    """By itself; what comes then completes it, and nothing is said."""

    def first(parameters):
        of_a, of_b = parameters["MetricDataQueries"]
        return {
            "MetricDataResults": [
                result(of_a, parameters, 10.0, keep=FIRST, status=status),
                result(of_b, parameters, 10.0),
            ]
        }

    cloud = Cloud(GetMetricData=in_turn(first, flat_metrics()))
    answer = ask(account_of(cloud), TWO, GRID)

    assert [2, 1] == [len(sent["MetricDataQueries"]) for _, sent in cloud.sent]
    assert answer.readings["a1"].gaps == []
    assert 60 == answer.readings["a1"].blocks[-1].time_s.size


def test_what_stays_in_part_for_one_call_is_not_asked_for_again_by_the_next():
    """Two calls of which nothing comes are three requests, not four."""
    cloud = Cloud(GetMetricData=page(FIRST, FIRST, status="PartialData"))
    account = account_of(cloud)
    ask(account, TWO, GRID)
    ask(account, TWO, GRID)

    assert 3 == len(cloud.sent)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("Forbidden", "access denied to cloudwatch:GetMetricData"),
        ("InternalError", "CloudWatch answered InternalError"),
        ("PartialData", "partial data: CloudWatch did not send every sample"),
    ],
)
def test_a_metric_that_was_not_answered_is_a_gap(status, reason):
    """CloudWatch answers query by query, and may refuse one of them; the gap has our name of the metric."""
    cloud = Cloud(GetMetricData=page(FIRST, ALL, status=status))
    gaps = ask(account_of(cloud), TWO, GRID).readings["a1"].gaps

    assert [("read_ops_per_s", reason)] == [(g.metric, g.reason) for g in gaps]


def test_a_remark_on_the_whole_answer_is_a_gap_of_everyone_in_it():
    """Its code is repeated, not its text."""

    def script(parameters):
        whole = flat_metrics()(parameters)
        return whole | {"Messages": [{"Code": "MaxMetricsExceeded", "Value": "text"}]}

    answer = ask(account_of(Cloud(GetMetricData=script)), TWO, GRID)
    for name in ("a1", "b1"):
        (gap,) = answer.readings[name].gaps
        assert gap.reason == "CloudWatch added the message MaxMetricsExceeded"


def test_pages_that_do_not_end_are_ended_and_that_is_said():
    """What came is kept."""
    cloud = Cloud(GetMetricData=page(FIRST, FIRST, token="again", status="PartialData"))
    answer = ask(account_of(cloud), TWO, GRID)
    (gap,) = answer.readings["a1"].gaps

    assert len(cloud.sent) == 2
    assert gap.reason == "partial data: the pages of cloudwatch:GetMetricData repeat and do not end"
    assert answer.readings["a1"].blocks


def test_a_page_that_fails_costs_only_what_was_still_open():
    """The first instance was complete; the second is told what it lacks."""
    cloud = Cloud(GetMetricData=in_turn(page(ALL, token="t"), error("InternalFailure", status=500)))
    answer = ask(account_of(cloud), TWO, GRID)

    assert answer.readings["a1"].gaps == []
    assert [g.reason for g in answer.readings["b1"].gaps] == [
        "partial data: AWS failed to answer cloudwatch:GetMetricData (an error on its side)"
    ]
    assert answer.failures == {}


def poisoned(name, reply):
    """A cloud in which every call that asks about one instance fails."""

    def script(parameters):
        if any(instance_name(q) == name for q in parameters["MetricDataQueries"]):
            return reply
        return flat_metrics()(parameters)

    return Cloud(GetMetricData=script)


@pytest.mark.parametrize(
    "reply", [error("InvalidParameterValue"), error("RequestEntityTooLarge", status=413), Reply(b'{"MetricData')]
)
def test_one_instance_that_cannot_be_read_does_not_cost_the_others(reply):
    """The call is asked again in halves until the one is alone."""
    names = [f"i{n}" for n in range(8)]
    queries = [MetricQuery(n, m) for n in names for m in (Metric.CPU_RATIO, Metric.READ_OPS_PER_S)]
    answer = ask(account_of(poisoned("i5", reply)), queries, GRID)

    assert {"i5"} == {q.identifier for q in answer.failures}
    assert len(answer.failures) == 2
    assert {n for n in names if n != "i5"} == {n for n, r in answer.readings.items() if r.blocks}
    assert {2} == {len(r.blocks) for r in answer.readings.values() if r.blocks}


def test_halving_ends_where_the_smallest_calls_fail_too():
    """A call of 64 is halved to one instance; after three of them, asked twice each, nothing helps."""
    cloud = Cloud(GetMetricData=lambda _: error("InvalidParameterValue"))
    queries = [MetricQuery(f"i{n}", Metric.CPU_RATIO) for n in range(64)]
    account = account_of(cloud)
    answer = ask(account, queries, GRID)
    ask(account, queries, GRID)

    assert len(answer.failures) == 64
    # 64, 32, 16, 8, 4, 2, then the first and the second alone, 2, the third alone.
    assert len(cloud.sent) == 6 + 2 * 2 + 1 + 2


@pytest.mark.parametrize(
    ("reply", "sent"),
    [
        (error("Throttling"), 4),
        (error("InternalFailure", status=500), 4),
        (error("AccessDenied", status=403), 1),
        (error("ExpiredToken", status=403), 1),
    ],
)
def test_what_would_fail_everywhere_is_not_asked_in_smaller_calls(reply, sent):
    """Of trouble on the other side smaller calls would only be more; denied they would be as well."""
    cloud = Cloud(GetMetricData=lambda _: reply)
    answer = ask(account_of(cloud), TWO, GRID)

    assert len(answer.failures) == 2
    assert sent == len(cloud.sent)


def test_a_single_instance_has_a_second_chance():
    """A fault that passes is not a failure."""
    cloud = Cloud(GetMetricData=in_turn(error("InvalidParameterValue"), flat_metrics()))
    answer = ask(account_of(cloud), TWO[:1], GRID)

    assert answer.failures == {}
    assert len(answer.readings["a1"].blocks) == 1


def test_results_of_no_query_are_left_out():
    """An Id that was not asked for belongs to nobody."""

    def script(parameters):
        found = flat_metrics()(parameters)
        found["MetricDataResults"].append({"Id": "zz", "Timestamps": [NOW_S], "Values": [1.0]})
        return found

    answer = ask(account_of(Cloud(GetMetricData=script)), TWO, GRID)

    assert set(answer.readings) == {"a1", "b1"}
