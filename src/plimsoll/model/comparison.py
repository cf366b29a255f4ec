"""
A comparison of two windows: before and after a change, or two instances.

A quantity has no better side; only time at ceilings and verdicts are judged. Exchanging the sides
exchanges `before` and `after` everywhere and changes nothing else.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Resource
from plimsoll.model.snapshot import Gap
from plimsoll.model.written import After, OneOf

ComparedUnit = Annotated[str, OneOf(("bytes/s", "ops/s", "bytes", "s", "requests", "ratio", "count", "credits"))]


class LimitsOutcome(StrEnum):
    """The change of the limits from before to after."""

    BETTER = "better"
    """A lighter verdict, or less of the time at a ceiling."""
    SAME = "same"
    WORSE = "worse"
    """A heavier verdict, or more of the time at a ceiling."""
    UNKNOWN = "unknown"
    """One side could not be judged."""


class StepResult(StrEnum):
    """Whether the change between the windows was enough for the ceiling that bound before."""

    ENOUGH = "enough"
    """Afterwards, no more time is spent at a ceiling than a plan allows."""
    ENOUGH_FOR_LESS = "enough_for_less"
    """Likewise, but less was served than before: the earlier load did not occur again."""
    NOT_ENOUGH = "not_enough"
    NOT_SEEN = "not_seen"
    """After covers no hour of the day in which the ceiling bound before."""


class MeasuredQuantity(StrEnum):
    """A quantity measured on both sides; rates and latencies are of storage."""

    THROUGHPUT = "throughput"
    """Reads and writes together."""
    READ_THROUGHPUT = "read_throughput"
    WRITE_THROUGHPUT = "write_throughput"
    IOPS = "iops"
    """Reads and writes together, as limits count them: an I/O above 256 KiB is several."""
    READ_IOPS = "read_iops"
    WRITE_IOPS = "write_iops"
    IO_SIZE = "io_size"
    READ_LATENCY = "read_latency"
    WRITE_LATENCY = "write_latency"
    QUEUE_DEPTH = "queue_depth"
    BYTE_BALANCE = "byte_balance"
    IO_BALANCE = "io_balance"
    VOLUME_BALANCE = "volume_balance"
    CPU = "cpu"
    CONNECTIONS = "connections"
    FREE_MEMORY = "free_memory"


class WindowStatistic(StrEnum):
    """The statistic of the window."""

    MEAN = "mean"
    """Over the measured time; of latency over the operations, of I/O size bytes per operation."""
    MEDIAN = "median"
    P95 = "p95"
    P99 = "p99"
    """The value that samples do not exceed in that share of the measured time."""
    PEAK = "peak"
    """The largest sample; a mean over its step."""
    LOWEST = "lowest"
    """The smallest sample; a mean over its step."""
    BELOW_TENTH = "below_tenth"
    """Share of the measured time, 0–1, in which the value was below 10 %."""


class SetupChange(Struct, frozen=True, kw_only=True):
    """One difference of the setups, for example of class, size or version."""

    name: str
    """Field of the instance: `db_class`, `storage.size_gib`, `launched`."""
    before: str | float | bool | None
    """Its value in the first window."""
    after: str | float | bool | None
    """Its value in the second window."""


class CeilingPair(Struct, frozen=True, kw_only=True):
    """One number of one limit on both sides."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    former_phase: Phase | None
    """For `legacy`: which number it was; otherwise null."""
    dimension: Dimension
    """What it bounds: bytes/s, ops/s, or an amount."""
    unit: ComparedUnit
    """Unit of the numbers of this object."""
    before: Ceiling | None
    """Its number in the first window; null where there is none, or none is documented."""
    after: Ceiling | None
    """Its number in the second window."""


class TimePair(Struct, frozen=True, kw_only=True):
    """Time at one limit on both sides."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    former_phase: Phase | None
    """For `legacy`: which number it was; otherwise null."""
    dimension: Dimension
    """What it bounds: bytes/s, ops/s, or an amount."""
    before_s: float | None
    """Time at it in the first window; 0 where it was not reached, null where that could not be judged."""
    after_s: float | None
    """Time at it in the second window."""
    level_before: float | None
    """Its number in the first window, bytes/s or ops/s; null where it was not reached."""
    level_after: float | None
    """Its number in the second window; null where it was not reached."""


class Quantity(Struct, frozen=True, kw_only=True):
    """One number on both sides."""

    subject: MeasuredQuantity
    """The measured quantity; `throughput` and `iops` are reads and writes together."""
    statistic: WindowStatistic
    """Which number stands for the window: means over time, of latency over operations; `p95` is
    what 95 % of the time stayed at or below; `below_tenth` is the share of time below 10 %."""
    unit: ComparedUnit
    """Unit of the numbers of this object."""
    before: float | None
    """In the first window."""
    after: float | None
    """In the second window."""
    gaps_before: tuple[Gap, ...] = ()
    """Data missing in the first window where `before` is null; otherwise empty."""
    gaps_after: tuple[Gap, ...] = ()
    """Data missing in the second window where `after` is null; otherwise empty."""

    @property
    def difference(self) -> Annotated[float | None, After("after")]:
        """`after` − `before`."""
        return difference_of(self.before, self.after)

    @property
    def change_ratio(self) -> Annotated[float | None, After("difference")]:
        """`difference` / `before`; null where `before` is 0."""
        return change_ratio_of(self.before, self.after)


class ResourcePair(Struct, frozen=True, kw_only=True):
    """One resource on both sides: how near it came, and the verdict."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    before: Resource | None
    after: Resource | None
    """None where that side has no such resource."""


class SharedHours(Struct, frozen=True, kw_only=True):
    """The comparison again, over the hours of day that both windows cover; each counts the same."""

    hours: tuple[int, ...]
    """Those hours, UTC, 0–23."""
    quantities: tuple[Quantity, ...]
    """Every quantity, over those hours."""
    at_ceiling_before: float | None
    """Share of them at any ceiling in the first window; null where the verdict is unknown."""
    at_ceiling_after: float | None
    """Share of them at any ceiling in the second window."""


class Caveat(Struct, frozen=True, kw_only=True):
    """A reason to doubt a difference."""

    kind: Annotated[
        str,
        OneOf(
            (
                "length",
                "step",
                "hours",
                "weekdays",
                "gaps",
                "demand",
                "instances",
                "order",
                "overlap",
                "change",
                "loading",
            )
        ),
    ]
    """Its subject."""
    text: str
    """One sentence or two for people."""


class Side(Struct, frozen=True, kw_only=True):
    """One window with its diagnosis."""

    diagnosis: Diagnosis
    at_ceiling_s: float | None
    """Seconds at any ceiling, two at once counted once; None where the verdict is unknown."""

    @property
    def at_ceiling_share(self) -> float | None:
        """Return the share 0–1 of the measured time at a ceiling; None where the verdict is unknown."""
        return self.share_of(self.at_ceiling_s)

    def share_of(self, seconds: float | None) -> float | None:
        """Return a time of this window as a ratio 0–1 of what was measured; None for None."""
        measured_s = self.diagnosis.measured_s
        return None if seconds is None or measured_s <= 0 else min(seconds / measured_s, 1.0)


class Comparison(Struct, frozen=True, kw_only=True):
    """The whole answer for two windows."""

    before: Side
    """The first window."""
    after: Side
    """The second window."""
    outcome: LimitsOutcome
    """The change of the limits; the exit status follows it: `worse` 1, `unknown` 2, otherwise 0."""
    step: StepResult | None = None
    """Whether the change between the windows was enough; null where no ceiling bound before, a
    side is unknown, or the two are different instances."""
    lighter_ratio: float = 0.0
    """Share 0–1 by which less was served after, of what the limit counts that bound before."""
    next_command: str = ""
    """The command that plans the next step, where this one was not enough; empty where it is unknown."""
    next_where: str = ""
    """What to replace in it: `, with the prices of your region in place of us-east-1`."""
    bought: tuple[SetupChange, ...]
    """The differences of the setups; empty where both are the same."""
    time_at: tuple[TimePair, ...]
    """Time at every limit that a side was at, the longest first."""
    quantities: tuple[Quantity, ...]
    """Every quantity in a fixed order, those not measured too."""
    ceilings: tuple[CeilingPair, ...]
    """Every present limit of either side; legacy ones only where a side was at them."""
    headroom: tuple[ResourcePair, ...]
    """Every resource, with its verdict on both sides."""
    shared_hours: SharedHours | None
    """The comparison over the hours of day that both windows cover; null where they cover the day
    alike, or share none."""
    caveats: tuple[Caveat, ...]
    """Reasons to doubt a difference."""


def difference_of(before: float | None, after: float | None) -> float | None:
    """Return after − before; None if either is unknown."""
    return None if before is None or after is None else after - before


def change_ratio_of(before: float | None, after: float | None) -> float | None:
    """Return (after − before) / before; None if either is unknown, or before is zero."""
    if before is None or after is None or before == 0:
        return None
    return (after - before) / before
