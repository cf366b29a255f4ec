"""
Read Performance Insights: active and waiting sessions, those waiting for I/O, and transactions.

Source: Performance Insights API Reference, GetResourceMetrics: periods of 60, 300 and 3600 s; with
PeriodAlignment START_TIME a time is the start of its period. Amazon RDS User Guide, Performance
Insights counters (both read 2026-11). The largest number of points in an answer is not documented; we
request as many as the console draws.
"""

from typing import Any

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.model.snapshot import Gap
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.described import Described
from plimsoll.sources.aws.operations import GET_RESOURCE_METRICS
from plimsoll.sources.reading.reading import Block, Channel, Reading
from plimsoll.sources.values.numbers import floats
from plimsoll.sources.values.times import epoch_seconds

NAME = "Performance Insights"
OFF = Gap(
    metric=NAME,
    reason="it is off, so it does not show which sessions and statements wait for I/O",
    remedy="Turn it on; seven days of retention are free.",
)
DAY_S = 86_400
PERIODS_S = ((DAY_S, 60), (7 * DAY_S, 300))
"""Longest window of a period, and the period: at most 1,440 and 2,016 points."""
_LONGEST_PERIOD_S = 3600

# The oldest samples expire while we read, so begin an hour later than the retention allows.
_MARGIN_S = 3600
_ITEMS_A_PAGE = 25
"""Largest MaxResults of the API: the total and 24 wait event types; engines have about a dozen."""

_LOAD = "db.load.avg"
_GROUP = "db.wait_event_type"
_TYPE = "db.wait_event_type.name"
_TRANSACTIONS = ("db.Transactions.xact_commit.avg", "db.Transactions.xact_rollback.avg")

Points = tuple[IntArray, FloatArray]


def span_of(window_s: tuple[int, int], now_s: float, kept_s: int) -> tuple[tuple[int, int], int] | None:
    """
    Return the part of a window that is still kept, aligned, and the period to request.

    Returns:
        Epoch seconds [start, end) and the period in seconds; None if nothing is kept.
    """
    end_s = min(window_s[1], int(now_s))
    start_s = max(window_s[0], int(now_s) - kept_s + _MARGIN_S)
    if start_s >= end_s:
        return None
    period_s = _LONGEST_PERIOD_S
    for longest_s, candidate_s in reversed(PERIODS_S):
        if end_s - start_s <= longest_s:
            period_s = candidate_s
    start_s -= start_s % period_s
    return (start_s, -(-end_s // period_s) * period_s), period_s


def is_on(described: Described) -> bool:
    """Return whether the instance has Performance Insights."""
    return described.has_insights and described.resource_id is not None


def is_read(described: Described, window_s: tuple[int, int], now_s: float) -> bool:
    """Return whether a request is sent for this instance and window."""
    return is_on(described) and span_of(window_s, now_s, described.insights_kept_s) is not None


def read_insights(account: Account, described: Described, window_s: tuple[int, int], reading: Reading) -> None:
    """
    Add the load of an instance to a reading.

    Raises:
        SourceError: Performance Insights refused or did not answer.
    """
    span = span_of(window_s, account.now_s(), described.insights_kept_s)
    if span is None:
        days = described.insights_kept_s // DAY_S
        reading.gaps.append(
            Gap(
                metric=NAME,
                reason=f"the window is older than its retention of {days} days",
                remedy="Raise its retention for later windows.",
            )
        )
        return
    (start_s, end_s), period_s = span
    is_postgres = "postgres" in (described.instance.engine or "")
    queries: list[dict[str, Any]] = [{"Metric": _LOAD, "GroupBy": {"Group": _GROUP, "Limit": _ITEMS_A_PAGE - 1}}]
    queries += [{"Metric": name} for name in (_TRANSACTIONS if is_postgres else ())]
    items: list[dict[str, Any]] = []
    for page in account.pages(
        GET_RESOURCE_METRICS,
        ServiceType="RDS",
        Identifier=described.resource_id,
        MetricQueries=queries,
        StartTime=start_s,
        EndTime=end_s,
        PeriodInSeconds=period_s,
        PeriodAlignment="START_TIME",
        MaxResults=_ITEMS_A_PAGE,
    ):
        items += page["MetricList"]
    name = described.instance.identifier
    for metric, (time_s, value) in (_loads(items) | _transactions(items)).items():
        reading.blocks.append(
            Block(
                name=metric.value,
                metric=metric,
                instance=name,
                time_s=time_s,
                value=value,
                period_s=period_s,
                origin=Channel.PERFORMANCE_INSIGHTS,
            )
        )


def is_io(wait_type: str) -> bool:
    """Return whether a wait event type is I/O: `IO`, `io`, `User I/O`, `System I/O`, `Buffer IO`."""
    return "io" in wait_type.lower().replace("i/o", "io").replace("/", " ").split()


def _loads(items: list[dict[str, Any]]) -> dict[Metric, Points]:
    """
    Return the numbers of active, waiting and I/O-waiting sessions, at the times of the total.

    A wait type without a value in a period had no session there, so it counts as zero.
    """
    total: Points | None = None
    by_type: list[tuple[str, Points]] = []
    for item in items:
        key = item.get("Key") or {}
        if key.get("Metric") != _LOAD:
            continue
        wait_type = (key.get("Dimensions") or {}).get(_TYPE)
        if wait_type is None:
            total = _points(item)
        else:
            by_type.append((str(wait_type), _points(item)))
    if total is None or not total[0].size:
        return {}
    time_s, active = total
    on_cpu = _sum_at(time_s, [p for name, p in by_type if name.lower() == "cpu"])
    on_io = _sum_at(time_s, [p for name, p in by_type if is_io(name)])
    return {
        Metric.ACTIVE_SESSION_COUNT: total,
        Metric.WAITING_SESSION_COUNT: (time_s, np.maximum(active - on_cpu, 0.0)),
        Metric.IO_WAITING_SESSION_COUNT: (time_s, on_io),
    }


def _transactions(items: list[dict[str, Any]]) -> dict[Metric, Points]:
    """Return the sum of commits and rollbacks, and the rollbacks, at the times that have both."""
    found = {name: _points(item) for item in items if (name := (item.get("Key") or {}).get("Metric")) in _TRANSACTIONS}
    if len(found) < len(_TRANSACTIONS):
        return {}
    (times, commits), (other_times, rollbacks) = (found[name] for name in _TRANSACTIONS)
    both, at, other_at = np.intersect1d(times, other_times, return_indices=True)
    if not both.size:
        return {}
    return {
        Metric.TRANSACTIONS_PER_S: (both, commits[at] + rollbacks[other_at]),
        Metric.ROLLBACKS_PER_S: (both, rollbacks[other_at]),
    }


def _points(item: dict[str, Any]) -> Points:
    """Return the times and values of one item in order, without points that have no value."""
    given = [p for p in item.get("DataPoints") or [] if p.get("Value") is not None]
    time_s, readable = epoch_seconds([p.get("Timestamp") for p in given])
    value = floats([p["Value"] for p in given])
    times, first = np.unique(time_s[readable], return_index=True)
    return times, value[readable][first]


def _sum_at(time_s: IntArray, parts: list[Points]) -> FloatArray:
    total = np.zeros(time_s.size)
    for times, value in parts:
        _, at, part_at = np.intersect1d(time_s, times, assume_unique=True, return_indices=True)
        total[at] += value[part_at]
    return total
