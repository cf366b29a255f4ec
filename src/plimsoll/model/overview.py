"""An overview of many instances: a row for each, those that could not be read, and the cost of reading."""

from decimal import Decimal

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Missing, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Gap


class UnreadInstance(Struct, frozen=True, kw_only=True):
    """An instance that could not be read; it does not stop the others."""

    identifier: str
    reason: str
    """Cause, lower case without full stop: `access denied to cloudwatch:GetMetricData`."""
    remedy: str
    """A sentence."""


class Usage(Struct, frozen=True, kw_only=True):
    """The requests of a reading to a provider's API."""

    calls: tuple[tuple[str, int], ...]
    """Requests sent, retries included, by action as IAM names it: (`rds:DescribeDBInstances`, 2)."""
    metrics_requested: int
    """Metrics asked for with GetMetricData, which is billed by metric and not by request."""

    @property
    def call_count(self) -> int:
        """Return the number of requests of all actions."""
        return sum(count for _, count in self.calls)


class BoundTime(Struct, frozen=True, kw_only=True):
    """One ceiling of one instance, and the time spent at it."""

    family: Family
    phase: Phase
    former_phase: Phase | None
    """For a legacy limit: baseline, burst or fixed."""
    dimension: Dimension
    value: float
    """The documented number, bytes/s or ops/s; of an unknown limit the level that was served."""
    seconds: float
    """Time at it."""
    share_ratio: float
    """That time as a ratio 0–1 of the time for which storage was measured."""
    interval_count: int
    first_s: int
    last_s: int
    """Epoch seconds UTC: start of its first interval, end of its last."""


class NearestResource(Struct, frozen=True, kw_only=True):
    """The resource of an instance with the least headroom."""

    family: Family
    name: str
    """For people: `volume IOPS`."""
    verdict: Verdict
    peak_ratio: float
    """Largest use as a ratio of its ceiling; above 1 where credits allowed more."""
    headroom: float
    """Ceiling − peak, ≥ 0, in `unit`."""
    unit: str
    """`bytes/s`, `ops/s`, `ratio`, `bytes`, `count`"""


class RemainingAmount(Struct, frozen=True, kw_only=True):
    """The remaining credits or space at the end of the window."""

    family: Family
    ratio: float
    """0–1"""
    empty_in_s: float | None
    """Seconds from the end of the window at the present rate; None where it is not falling."""


class WaitingTime(Struct, frozen=True, kw_only=True):
    """Time for which requests of one instance waited and no ceiling explains it."""

    seconds: float
    share_ratio: float
    """That time as a ratio 0–1 of the time for which storage was measured."""
    times: float
    """Latency ÷ latency without waiting, in the longest stretch."""
    first_s: int
    last_s: int
    """Epoch seconds UTC: start of the first stretch, end of the last."""
    is_now: bool
    """Whether it lasted to the end of the window."""
    check: str
    """A sentence: the check of the likeliest cause."""


class OverviewRow(Struct, frozen=True, kw_only=True):
    """One instance: the verdict, and the facts that show its urgency."""

    instance: Instance
    window_s: tuple[int, int]
    """First and last moment of its samples, epoch seconds, [start, end)."""
    step_s: int
    """0 where storage was not measured."""
    measured_s: float
    """Seconds for which storage was measured."""
    expected_s: float
    """Seconds for which it should have been: the window asked for, or that of its own samples."""
    is_simulated: bool
    verdict: Verdict
    binding: BoundTime | None
    """The ceiling that bound for the longest time; None if none did."""
    now: BoundTime | None
    """The ceiling that binds at the end of the window; None if none does."""
    nearest: NearestResource | None
    """The resource with the least headroom; None where a ceiling bound, or no ratio is known."""
    credits_left: RemainingAmount | None
    """The lowest balance; None where every balance is full, or none was read."""
    space_left: RemainingAmount | None
    """Storage that fills; None where it does not."""
    latency_ratio: float | None
    """Worst latency at the ceiling, as a ratio of the latency without waiting."""
    gaps: tuple[Missing, ...]
    """Missing data without which the verdict, or the limits behind it, are unknown."""
    contexts: tuple[str, ...]
    """Events that change the meaning: `lazy loading after a restore`; the longest first."""
    waiting: WaitingTime | None = None
    """Waiting that no ceiling explains; None where there was none."""
    failed: tuple[Gap, ...] = ()
    """Requests that were refused or answered in part, whether or not the verdict depends on them."""
    ends_early: bool = False
    """Whether its samples end well before the window does, so that *now* is unknown."""


class Overview(Struct, frozen=True, kw_only=True):
    """All instances of one reading, the most urgent first."""

    source: str
    """What was read, for people: `rds:*`."""
    window_s: tuple[int, int]
    """Epoch seconds, [start, end)."""
    rows: tuple[OverviewRow, ...]
    """Ranked: bound now, bound, near, unknown, slack."""
    unread: tuple[UnreadInstance, ...]
    """By identifier; in rank they stand between unknown and slack."""
    stopped: str
    """Why the reading ended before its end; empty if it did not."""
    usage: Usage | None
    """None where no API was asked."""
    usd: Decimal | None
    """What that costs, US dollars; None where the price is not known, never zero for that."""

    @property
    def ranked(self) -> tuple[OverviewRow | UnreadInstance, ...]:
        """Return every instance in the order of its rank, including those that could not be read."""
        # An unread instance may be at a limit, so it comes before those that certainly are not.
        first_slack = next((i for i, row in enumerate(self.rows) if row.verdict is Verdict.SLACK), len(self.rows))
        return (*self.rows[:first_slack], *self.unread, *self.rows[first_slack:])
