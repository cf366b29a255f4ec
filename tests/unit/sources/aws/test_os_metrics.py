import json

import numpy as np
import pytest

from fuzz import corpus
from plimsoll.model.metric import Metric
from plimsoll.sources.aws import os_metrics
from plimsoll.sources.aws.described import describe_one
from plimsoll.sources.aws.os_metrics import calls_for, newest, stretch
from plimsoll.sources.reading.reading import Channel
from unit.sources.aws.cloud import NOW_S, WINDOW_S, Cloud, account_of, described, error, instance


def document(end_s, *, name="orders-primary", volumes=4):
    return corpus.enhanced_document(end_s, end_s, volumes=volumes) | {"instanceID": name}


def event(end_s, **more):
    return {"timestamp": end_s * 1000, "message": json.dumps(document(end_s, **more))}


def log(events, *, page=10_000):
    """GetLogEvents over these, oldest first or newest first, some a page."""

    def script(parameters):
        low, high = parameters["startTime"], parameters["endTime"]
        mine = [e for e in events if low <= e["timestamp"] < high]
        size = parameters.get("limit", page)
        if not parameters["startFromHead"]:
            return {"events": mine[-size:], "nextBackwardToken": "b", "nextForwardToken": "f"}
        at = int(parameters.get("nextToken", "f0")[1:])
        found = mine[at : at + size]
        return {"events": found, "nextForwardToken": f"f{at + len(found)}", "nextBackwardToken": "b"}

    return script


def watched(script, *, interval_s=1):
    cloud = Cloud(DescribeDBInstances=described(instance(MonitoringInterval=interval_s)), GetLogEvents=script)
    account = account_of(cloud)
    found = describe_one(account, "orders-primary")
    cloud.sent.clear()
    return cloud, account, found


def test_the_newest_document_says_how_many_volumes_there_are():
    """One request, and no sample of it: a single second is no series."""
    cloud, account, found = watched(log([event(NOW_S - n, volumes=4) for n in (90, 30, 2)]))
    reading = newest(account, found, WINDOW_S)

    assert [4] == [h.storage.volume_count for h in reading.hints]
    assert reading.blocks == []
    assert cloud.sent == [
        (
            "GetLogEvents",
            {
                "logGroupName": "RDSOSMetrics",
                "logStreamName": "db-ORDERS-PRIMARY",
                "startTime": WINDOW_S[0] * 1000,
                "endTime": WINDOW_S[1] * 1000,
                "startFromHead": False,
                "limit": 1,
            },
        )
    ]


def test_empty_pages_are_followed_a_few_times():
    """CloudWatch Logs may answer an empty page before one that is not."""
    pages = iter(["b1", "b2", None])

    def script(_):
        token = next(pages)
        found = [] if token else [event(NOW_S - 5)]
        return {"events": found, "nextBackwardToken": token or "b9", "nextForwardToken": "f"}

    cloud, account, found = watched(script)
    reading = newest(account, found, WINDOW_S)

    assert len(reading.hints) == 1
    assert ["b1", "b2"] == [p["nextToken"] for _, p in cloud.sent[1:]]


@pytest.mark.parametrize("script", [log([]), lambda _: error("ResourceNotFoundException")], ids=["empty", "no stream"])
def test_a_log_without_the_window_is_a_gap(script):
    """The log group is kept 30 days by default, or was deleted."""
    _, account, found = watched(script)
    reading = newest(account, found, WINDOW_S)

    assert [os_metrics.NAME] == [g.metric for g in reading.gaps]
    assert "RDSOSMetrics" in reading.gaps[0].remedy


def test_a_stretch_is_read_to_its_end_page_by_page():
    """Every second of it, the last document being written when it is over."""
    start, end = NOW_S - 600, NOW_S - 300
    cloud, account, found = watched(log([event(t) for t in range(NOW_S - 900, NOW_S)], page=100))
    reading = stretch(account, found, (start, end))
    rates = [b for b in reading.blocks if b.metric is Metric.READ_OPS_PER_S]
    times = np.concatenate([b.time_s for b in rates])

    assert {Channel.ENHANCED_MONITORING} == {b.origin for b in reading.blocks}
    assert {1} == {b.period_s for b in reading.blocks}
    assert np.array_equal(times, np.arange(start, end))
    assert len(cloud.sent) == 4  # 300 documents by 100, and the token that repeats
    assert reading.gaps == []


def test_a_page_of_one_document_has_the_interval_that_rds_states():
    """Alone it does not show its own step, and a minute would move it."""
    end = NOW_S - 300
    _, account, found = watched(log([event(end)]), interval_s=5)
    block = stretch(account, found, (end - 60, end)).blocks[0]

    assert (block.period_s, block.time_s.tolist()) == (5, [end - 5])


def test_documents_of_an_earlier_name_count():
    """The stream is the instance's own, also before it was renamed."""
    start = NOW_S - 600
    _, account, found = watched(log([event(start + t, name="orders-old") for t in range(20)]))
    reading = stretch(account, found, (start, start + 20))

    assert {"orders-primary"} == {b.instance for b in reading.blocks}
    assert {"orders-primary"} == {h.identifier for h in reading.hints}


HELLO = [{"timestamp": (NOW_S - n) * 1000, "message": "hello"} for n in range(30, 0, -1)]


@pytest.mark.parametrize(
    ("events", "page", "calls", "reason"),
    [
        pytest.param(
            [event(NOW_S - 3600 + t) for t in range(3600)],
            *(2, os_metrics.CALLS_MAX, "partly read: 100 requests do not cover"),
            id="a hundred requests are enough for an hour of seconds",
        ),
        pytest.param(HELLO, 10, 4, "", id="someone else may write into the log group"),
    ],
)
def test_a_stretch_that_does_not_end_or_has_no_documents_is_said_once(events, page, calls, reason):
    cloud, account, found = watched(log(events, page=page))
    reading = stretch(account, found, (NOW_S - 3600, NOW_S))
    (gap,) = reading.gaps

    assert len(cloud.sent) == calls
    assert gap.metric == os_metrics.NAME
    assert reason in gap.reason
    assert bool(reading.blocks) is (events is not HELLO)


@pytest.mark.parametrize(
    ("interval_s", "fine_s", "calls"),
    [(0, 3600, 0), (60, 3600, 1), (1, 0, 1), (1, 3600, 92), (10, 3600, 11), (1, 36_000, 101)],
)
def test_requests_are_known_beforehand(interval_s, fine_s, calls):
    """The newest document, and at most so many for the stretch."""
    assert calls_for(interval_s, fine_s) == calls
