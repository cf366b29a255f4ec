"""An overview of many instances: a row for each, those that could not be read, and the cost of reading."""

from decimal import Decimal
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, FormerPhase, Phase, Unit
from plimsoll.model.diagnosis import Missing, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Gap
from plimsoll.model.written import After, Count, Inline, Moment, Number, Positive, Ratio, Window


class UnreadInstance(Struct, frozen=True, kw_only=True):
    """An instance that could not be read; it does not stop the others."""

    identifier: str
    """Name of the instance."""
    reason: str
    """Why not."""
    remedy: str
    """What would help, a sentence."""


class Usage(Struct, frozen=True, kw_only=True):
    """The requests of a reading to a provider's API."""

    calls: tuple[tuple[str, int], ...]
    """Requests by action."""
    metrics_requested: Count
    """Metrics asked for with GetMetricData, which is billed by metric."""

    @property
    def call_count(self) -> Annotated[Count, After("calls")]:
        """Requests of all actions, retries included."""
        return sum(count for _, count in self.calls)


class BoundTime(Struct, frozen=True, kw_only=True):
    """One ceiling of one instance, and the time spent at it."""

    family: Family
    """The rule that bound; `unknown` when no documented limit agrees."""
    phase: Phase
    """Which number of it."""
    former_phase: FormerPhase | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    dimension: Dimension
    value: float
    """The documented number, in `unit`; of an unknown limit the level that was served."""
    seconds: Positive
    """Time at it, in seconds."""
    share_ratio: Ratio
    """That time as a ratio of the time for which storage was measured."""
    interval_count: Count
    """Number of intervals."""
    first_s: Moment
    """Start of its first interval."""
    last_s: Moment
    """End of its last interval."""


class NearestResource(Struct, frozen=True, kw_only=True):
    """The resource of an instance with the least headroom."""

    family: Family
    """The rule that bounds it."""
    name: str
    """Name for people."""
    verdict: Verdict
    """The verdict on it."""
    peak_ratio: Positive
    """Largest use as a ratio of its ceiling; above 1 where credits allowed more."""
    headroom: Positive
    """Ceiling minus peak, never below zero, in `unit`."""
    unit: Unit
    """Unit of `headroom`."""


class RemainingAmount(Struct, frozen=True, kw_only=True):
    """The remaining credits or space at the end of the window."""

    family: Family
    """The limit it belongs to."""
    ratio: Number
    """The remaining part, 0–1."""
    empty_in_s: float | None
    """Seconds from the end of the window until nothing is left, at the present rate; null where it is not falling."""


class WaitingTime(Struct, frozen=True, kw_only=True):
    """Time for which requests of one instance waited and no ceiling explains it."""

    seconds: Positive
    """That time, in seconds."""
    share_ratio: Ratio
    """That time as a ratio of the time for which storage was measured."""
    times: Positive
    """Latency in the longest stretch, as a multiple of the latency without waiting."""
    first_s: Moment
    """Start of the first stretch."""
    last_s: Moment
    """End of the last stretch."""
    is_now: bool
    """Whether it lasted to the end of the window."""
    check: str
    """The check of the likeliest cause."""


class OverviewRow(Struct, frozen=True, kw_only=True):
    """One instance: the verdict, and the facts that show its urgency."""

    instance: Inline[Instance]
    window_s: Window
    """First to last moment of its samples."""
    step_s: Count
    """Length of the usual step between samples, in seconds; 0 where storage was not measured."""
    measured_s: Positive
    """Seconds for which storage was measured."""
    expected_s: Positive
    """Seconds for which it should have been: the window asked for, or that of its own samples."""
    is_simulated: bool
    """True where its samples come from a simulator."""
    verdict: Verdict
    """The verdict on its window."""
    binding: BoundTime | None
    """The ceiling that bound for the longest time; null if none did."""
    now: BoundTime | None
    """The ceiling that binds at the end of the window; null if none does."""
    nearest: NearestResource | None
    """The resource with the least room; null where a ceiling bound, or no ratio is known."""
    credits_left: RemainingAmount | None
    """The lowest balance of credits; null where every balance is full, or none was read."""
    space_left: RemainingAmount | None
    """Storage that fills; null where it does not, or was not read."""
    latency_ratio: Positive | None
    """Worst latency at the ceiling, as a ratio of that under light load."""
    gaps: tuple[Missing, ...]
    """Missing data without which the verdict, or the limits behind it, are unknown."""
    contexts: tuple[str, ...]
    """Events that change the meaning, for example `lazy loading after a restore`."""
    waiting: WaitingTime | None = None
    """Time for which requests waited and no ceiling explains it; null where there was none."""
    failed: tuple[Gap, ...] = ()
    """Requests that were refused or answered in part, whether or not the verdict depends on them."""
    ends_early: bool = False
    """Whether its samples end well before the window does, so that nothing is known of now."""


class Overview(Struct, frozen=True, kw_only=True):
    """All instances of one reading, the most urgent first."""

    source: str
    """The source of the data, for people."""
    window_s: Window
    """The requested time, or the time that the instances cover."""
    rows: tuple[OverviewRow, ...]
    """Ranked: bound now (a full disk first), bound, near, unknown, slack."""
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
