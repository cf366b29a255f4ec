"""
Read CloudWatch metrics of several instances with as few requests as possible.

Rule 1: the number of requests follows from arithmetic, so it is known beforehand.
Rule 2: a failed request must not lose the other instances that it asked about.

Source:
    Amazon CloudWatch API Reference, GetMetricData: at most 500 queries and 100,800 data points a
    call. Amazon CloudWatch User Guide, metrics retention: 60 s for 15 days, 300 s for 63 days,
    3600 s for 455 days (both read 2026-11).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from plimsoll.errors import PlimsollError, UsageError
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Gap
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.failures import is_worth_halving
from plimsoll.sources.aws.operations import GET_METRIC_DATA
from plimsoll.sources.documents.cloudwatch_json import block_of
from plimsoll.sources.reading.reading import Reading, Statistic
from plimsoll.sources.values.shown import shown
from plimsoll.units import format_time

DAY_S = 86_400
PERIODS_S = ((15 * DAY_S, 60), (63 * DAY_S, 300), (455 * DAY_S, 3600))
"""
Age up to which CloudWatch keeps samples of a period, and the period.

CloudWatch aggregates older samples into longer periods. A shorter period than it still keeps returns no
samples, so the age of the window's start selects the period of the whole window.
"""
QUERIES_MAX = 500
POINTS_MAX = 100_800
"""Most data points of one call; a call for no more is answered on one page."""

NAMESPACE = "AWS/RDS"
WANTED: tuple[Metric, ...] = tuple(m for m in Metric if METRICS[m].cloudwatch is not None)
RATES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
"""Metrics of every instance; if another metric is absent, the instance does not have it."""

SMALLEST_FAILED_MAX = 3
"""Calls for a single instance that may fail before any call was answered; more would fail too."""
_SMALLEST_FAILED = "metric calls for one instance that failed"
_STAYS_OPEN = "metrics that stay open"

_AGAIN = f"Run the command again; {GET_METRIC_DATA.action} must be allowed."


class Grid(Struct, frozen=True, kw_only=True):
    """The sampling of a window: a period that CloudWatch still keeps, and aligned ends."""

    period_s: int
    start_s: int
    end_s: int
    """Start and end are multiples of the period; [start, end)."""

    @property
    def points(self) -> int:
        """Number of samples of one metric."""
        return (self.end_s - self.start_s) // self.period_s


class MetricQuery(Struct, frozen=True):
    """One metric of one instance."""

    identifier: str
    metric: Metric


@dataclass(slots=True)
class MetricAnswer:
    """Answers to requests, by instance."""

    readings: dict[str, Reading] = field(default_factory=dict)
    failures: dict[MetricQuery, PlimsollError] = field(default_factory=dict)
    """Queries without any answer."""

    def of(self, identifier: str) -> Reading:
        """Return the reading of one instance."""
        return self.readings.setdefault(identifier, Reading())


def grid_of(window_s: tuple[int, int], now_s: float) -> Grid:
    """
    Return the grid on which a window is read.

    Args:
        window_s: epoch seconds, [start, end), start < end.
        now_s: the current time, epoch seconds.

    Raises:
        UsageError: the window starts before CloudWatch's retention, or in the future.
    """
    start_s, end_s = window_s
    age_s = now_s - start_s
    if age_s <= 0:
        raise UsageError("the window is in the future", "Give a --from in the past.")
    for kept_s, period_s in PERIODS_S:
        if age_s <= kept_s:
            return Grid(
                period_s=period_s, start_s=start_s // period_s * period_s, end_s=-(-end_s // period_s) * period_s
            )
    oldest = int(now_s) - PERIODS_S[-1][0]
    raise UsageError(
        f"the window starts at {format_time(start_s)}, but CloudWatch keeps 455 days",
        f"Give a --from of {format_time(oldest + DAY_S)} or later.",
    )


def queries_a_call(points: int) -> int:
    """Return how many queries of `points` samples each one call may have, ≥ 1."""
    return max(min(QUERIES_MAX, POINTS_MAX // max(points, 1)), 1)


def calls_for(instance_count: int, points: int, *, metrics: Sequence[Metric] = WANTED) -> int:
    """Return the number of requests for these metrics of this many instances."""
    return -(-instance_count * len(metrics) // queries_a_call(points))


def packed(identifiers: Sequence[str], points: int, *, metrics: Sequence[Metric] = WANTED) -> list[list[MetricQuery]]:
    """Return the queries of all instances in order, one list for each call."""
    every = [MetricQuery(name, metric) for name in identifiers for metric in metrics]
    size = queries_a_call(points)
    return [every[at : at + size] for at in range(0, len(every), size)]


def ask(account: Account, queries: list[MetricQuery], grid: Grid) -> MetricAnswer:
    """
    Send one call, and smaller ones if it was too large or its answer was cut.

    Metrics with a partial answer or none are requested once more before a gap is left. Any other failure
    loses only what was not read by then.
    """
    answer = MetricAnswer()
    waiting = [(queries, True)]
    while waiting:
        asked, may_repeat = waiting.pop()
        try:
            _ask_twice(account, asked, grid, answer)
        except PlimsollError as error:
            halves = _smaller(asked, may_repeat=may_repeat) if is_worth_halving(error) else []
            waiting += halves
            if not halves:
                answer.failures |= dict.fromkeys(asked, error)
                _give_up_in_vain(account, error)
    return answer


def _give_up_in_vain(account: Account, error: PlimsollError) -> None:
    """Give up all metrics if even the smallest calls fail."""
    if account.has_answered(GET_METRIC_DATA) or not is_worth_halving(error):
        return
    count = account.remembered.get(_SMALLEST_FAILED, 0) + 1
    account.remembered[_SMALLEST_FAILED] = count
    if count >= SMALLEST_FAILED_MAX:
        account.give_up(GET_METRIC_DATA, error)


def _ask_twice(account: Account, queries: list[MetricQuery], grid: Grid, answer: MetricAnswer) -> None:
    """
    Add the answer to one call, then that to a second one for metrics that are incomplete.

    Raises:
        PlimsollError: the first page failed, and nothing was added.
    """
    gaps, is_whole = _ask_once(account, queries, grid, answer)
    if gaps and is_whole and not account.remembered.get(_STAYS_OPEN):
        try:
            again, _ = _ask_once(account, list(gaps), grid, answer)
        except PlimsollError:
            again = gaps
        # If the second call completed nothing, it will not help for the other calls either.
        if again.keys() == gaps.keys():
            account.remembered[_STAYS_OPEN] = True
        gaps = again
    for query, gap in gaps.items():
        answer.of(query.identifier).gaps.append(gap)


def _smaller(queries: list[MetricQuery], *, may_repeat: bool) -> list[tuple[list[MetricQuery], bool]]:
    """Return the two halves of a call, split between instances; a single instance is sent once more."""
    names = list(dict.fromkeys(q.identifier for q in queries))
    if len(names) == 1:
        return [(queries, False)] if may_repeat else []
    first = set(names[: len(names) // 2])
    return [
        ([q for q in queries if q.identifier not in first], True),
        ([q for q in queries if q.identifier in first], True),
    ]


def _ask_once(
    account: Account, queries: list[MetricQuery], grid: Grid, answer: MetricAnswer
) -> tuple[dict[MetricQuery, Gap], bool]:
    """
    Add all pages of one call.

    A page that fails after others loses only what those left open.

    Returns:
        The queries that the pages left open, and whether all pages were received.

    Raises:
        PlimsollError: the first page failed, and nothing was added.
    """
    by_id = {f"q{index}": query for index, query in enumerate(queries)}
    request: dict[str, Any] = {
        "MetricDataQueries": [_query(id_, q, grid) for id_, q in by_id.items()],
        "StartTime": grid.start_s,
        "EndTime": grid.end_s,
        "ScanBy": "TimestampAscending",
    }
    states: dict[str, Gap | None] = {}
    try:
        for page in account.pages(GET_METRIC_DATA, **request):
            _add_page(page, by_id, states, grid, answer)
    except PlimsollError as error:
        if not states:
            raise
        return _left_open(by_id, states, error), False
    return {by_id[id_]: gap for id_, gap in states.items() if gap is not None}, True


def _left_open(
    by_id: dict[str, MetricQuery], states: dict[str, Gap | None], error: PlimsollError
) -> dict[MetricQuery, Gap]:
    """Return the queries that no page has completed, each with the reason."""
    return {
        query: Gap(
            metric=query.metric.value, reason=f"partial data: {error.message}", remedy=error.hint, is_failed=True
        )
        for id_, query in by_id.items()
        if id_ not in states or states[id_] is not None
    }


def _query(id_: str, query: MetricQuery, grid: Grid) -> dict[str, Any]:
    return {
        "Id": id_,
        "MetricStat": {
            "Metric": {
                "Namespace": NAMESPACE,
                "MetricName": METRICS[query.metric].cloudwatch,
                "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": query.identifier}],
            },
            "Period": grid.period_s,
            "Stat": Statistic.AVERAGE.value,
        },
        "ReturnData": True,
    }


def _add_page(
    page: dict[str, Any], by_id: dict[str, MetricQuery], states: dict[str, Gap | None], grid: Grid, answer: MetricAnswer
) -> None:
    for result in page["MetricDataResults"]:
        query = by_id.get(result.get("Id"))
        if query is None:
            continue
        reading = answer.of(query.identifier)
        block = block_of(
            reading,
            times=result.get("Timestamps") or [],
            values=result.get("Values") or [],
            name=METRICS[query.metric].cloudwatch,
            namespace=NAMESPACE,
            instance=query.identifier,
            statistic=Statistic.AVERAGE,
            period_s=grid.period_s,
            folder=Path(),
        )
        if block is not None:
            reading.blocks.append(block)
        states[result["Id"]] = _status_gap(query.metric, result)
    _add_messages(page, by_id, answer)


def _status_gap(metric: Metric, result: dict[str, Any]) -> Gap | None:
    """Return the gap of an incomplete result; a later page may complete it."""
    status = result.get("StatusCode")
    if status in (None, "Complete"):
        return None
    if status == "Forbidden":
        reason = f"access denied to {GET_METRIC_DATA.action}"
        remedy = f"Allow {GET_METRIC_DATA.action} for this role."
    elif status == "PartialData":
        reason, remedy = "partial data: CloudWatch did not send every sample", _AGAIN
    else:
        reason, remedy = f"CloudWatch answered {shown(status)}", _AGAIN
    return Gap(metric=metric.value, reason=reason, remedy=remedy, is_failed=True)


def _add_messages(page: dict[str, Any], by_id: dict[str, MetricQuery], answer: MetricAnswer) -> None:
    """Add CloudWatch's messages about the whole call, by their codes, to every instance in the call."""
    for message in page.get("Messages") or []:
        gap = Gap(
            metric="CloudWatch",
            reason=f"CloudWatch added the message {shown(message.get('Code') or 'unnamed')}",
            remedy="Some samples may be missing. Run the command again for a shorter window.",
            is_failed=True,
        )
        for identifier in {q.identifier for q in by_id.values()}:
            gaps = answer.of(identifier).gaps
            if gap not in gaps:
                gaps.append(gap)
