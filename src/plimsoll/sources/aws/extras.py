"""
Read the optional data of an instance: events, Enhanced Monitoring, Performance Insights.

A failure leaves a gap that names the missing permission or the remedy.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from plimsoll.errors import PlimsollError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Annotation, Gap, Snapshot
from plimsoll.sources.aws import events, insights, os_metrics
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.busiest import busiest_stretch
from plimsoll.sources.aws.described import Described
from plimsoll.sources.aws.metric_data import Grid
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS, GET_LOG_EVENTS, GET_RESOURCE_METRICS, Operation
from plimsoll.sources.reading.reading import Reading

_TOO_OLD = Gap(
    metric="RDS events",
    reason="the window is older than the 14 days for which RDS keeps events",
    remedy="They cannot be recovered, so the timeline has no events.",
)


@dataclass(slots=True)
class Extras:
    """Optional data of one instance."""

    reading: Reading = field(default_factory=Reading)
    annotations: list[Annotation] = field(default_factory=list)


def extras_of(account: Account, described: Described, window_s: tuple[int, int]) -> Extras:
    """Read events, the newest document of Enhanced Monitoring, and Performance Insights."""
    found = Extras()
    reading, name = found.reading, described.instance.identifier
    parts: tuple[tuple[bool, Gap, Operation, Callable[[], None]], ...] = (
        (
            events.is_kept(window_s, account.now_s()),
            *(_TOO_OLD, DESCRIBE_EVENTS),
            lambda: found.annotations.extend(events.events_of(account, name)),
        ),
        (
            os_metrics.is_on(described),
            *(os_metrics.OFF, GET_LOG_EVENTS),
            lambda: add_reading(os_metrics.newest(account, described, window_s), reading),
        ),
        (
            insights.is_on(described),
            *(insights.OFF, GET_RESOURCE_METRICS),
            lambda: insights.read_insights(account, described, window_s, reading),
        ),
    )
    for is_there, absent, operation, read in parts:
        if is_there:
            _optional(read, reading.gaps, absent.metric, operation)
        else:
            reading.gaps.append(absent)
    return found


def add_stretch(
    account: Account, described: Described, snapshot: Snapshot, grid: Grid, fine_s: int, *, reading: Reading
) -> bool:
    """
    Add the busiest part of the window by the second, if Enhanced Monitoring is that fine.

    Args:
        snapshot: CloudWatch's metrics, which show the busiest part.
        fine_s: length of the part; 0 for none.

    Returns:
        Whether a request was sent.
    """
    if fine_s <= 0 or not os_metrics.is_finer(described):
        return False
    rates = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
    stretch_s = busiest_stretch(
        [snapshot.series[m] for m in rates if m in snapshot.series], (grid.start_s, grid.end_s), fine_s
    )
    if stretch_s is None:
        return False
    _optional(
        lambda: add_reading(os_metrics.stretch(account, described, stretch_s), reading),
        reading.gaps,
        os_metrics.NAME,
        GET_LOG_EVENTS,
    )
    return True


def add_reading(found: Reading, reading: Reading) -> None:
    """Add one reading to another; a gap that is already there is not repeated."""
    reading.blocks += found.blocks
    reading.hints += found.hints
    reading.gaps += [gap for gap in found.gaps if gap not in reading.gaps]
    reading.remarks |= found.remarks
    reading.bad_times += found.bad_times


def gap_of(name: str, operation: Operation, error: PlimsollError) -> Gap:
    """Return the gap for a failed optional request."""
    return Gap(metric=name, reason=f"{error.message}; this hides {operation.lost}", remedy=error.hint, is_failed=True)


def _optional(read: Callable[[], None], gaps: list[Gap], name: str, operation: Operation) -> None:
    try:
        read()
    except PlimsollError as error:
        gap = gap_of(name, operation, error)
        if gap not in gaps:
            gaps.append(gap)
