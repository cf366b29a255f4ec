"""The objects of the JSON comparison: the form `plimsoll.comparison/1`, described in
docs/reference/comparison-json.md.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.comparison import LimitsOutcome, MeasuredQuantity, StepResult, WindowStatistic
from plimsoll.model.diagnosis import Verdict

Unit = Literal["bytes/s", "ops/s", "bytes", "s", "requests", "ratio", "count", "credits"]


class StepObject(Struct, frozen=True, kw_only=True):
    """The result for the ceiling that bound before."""

    result: StepResult
    """`enough`: at most 1 % of the time after is spent at a ceiling; `enough_for_less`: likewise,
    but less was served than before; `not_seen`: after covers no hour of the day in which before
    was at a ceiling."""
    text: str
    """The same in sentences for people."""
    lighter_ratio: float
    """Share 0–1 by which the mean rate fell, in the dimension of the limit that bound before."""
    next_command: str | None
    """The command that plans the next step; null where none is needed, or it would hold a secret."""


class BindingObject(Struct, frozen=True, kw_only=True):
    """The ceiling that bound for the longest time."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    former_phase: Phase | None
    """For `legacy`: which number it was; otherwise null."""
    dimension: Dimension
    """What it bounds: bytes/s, ops/s, or an amount."""
    level: float
    """Rate that was served at it, bytes/s or ops/s."""
    ceiling: float | None
    """The documented number; null for a limit of unknown origin."""
    seconds: float
    """Time at it."""


class ComparisonNextCeilingObject(Struct, frozen=True, kw_only=True):
    """A ceiling that was not reached."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    unit: Unit
    """Unit of the numbers of this object."""
    value: float
    """Its number."""


class SideObject(Struct, frozen=True, kw_only=True):
    """One window with its result."""

    identifier: str
    """Name of the instance, or of the host that stands for one."""
    db_class: str | None
    """Instance class, such as `db.r5.2xlarge`."""
    source: str
    """Where the samples came from, for people."""
    note: str
    """One sentence about their origin; may be empty."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    start: str
    """First moment, UTC."""
    end: str
    """Last moment, not included, UTC."""
    duration_s: int
    """Length of the window."""
    step_s: int
    """Length of its usual sample; 0 without storage metrics."""
    measured_s: float
    """Time for which storage was measured."""
    verdict: Verdict
    """The verdict on the window."""
    at_ceiling_s: float | None
    """Time at any ceiling, two at once counted once; null where the verdict is unknown."""
    at_ceiling_ratio: float | None
    """The same as a share of `measured_s`."""
    binding: BindingObject | None
    """The ceiling that bound for the longest time; null if none did."""
    next_ceiling: ComparisonNextCeilingObject | None
    """The ceiling that would bind after it at the same I/O size; null if not known."""


class BoughtObject(Struct, frozen=True, kw_only=True):
    """One difference of the setups."""

    name: str
    """Field of the instance: `db_class`, `storage.size_gib`, `launched`."""
    before: str | float | bool | None
    """Its value in the first window."""
    after: str | float | bool | None
    """Its value in the second window."""


class TimeAtObject(Struct, frozen=True, kw_only=True):
    """Time at one limit."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    former_phase: Phase | None
    """For `legacy`: which number it was; otherwise null."""
    dimension: Dimension
    """What it bounds: bytes/s, ops/s, or an amount."""
    before_s: float | None
    """Time at it in the first window; 0 where it was not reached, null where that could not be
    judged."""
    after_s: float | None
    """Time at it in the second window."""
    before_ratio: float | None
    """`before_s` as a share of the measured time."""
    after_ratio: float | None
    """`after_s` as a share of the measured time."""
    level_before: float | None
    """Its number in the first window, bytes/s or ops/s; null where it was not reached."""
    level_after: float | None
    """Its number in the second window; null where it was not reached."""


class ComparisonGapObject(Struct, frozen=True, kw_only=True):
    """Something that could not be read."""

    metric: str
    """Its name in CloudWatch."""
    reason: str
    """Why it is missing."""
    remedy: str
    """What would supply it; may be empty."""


class QuantityObject(Struct, frozen=True, kw_only=True):
    """One number on both sides."""

    subject: MeasuredQuantity
    """The measured quantity; `throughput` and `iops` are reads and writes together."""
    statistic: WindowStatistic
    """Which number stands for the window: means over time, of latency over operations; `p95` is
    what 95 % of the time stayed at or below; `below_tenth` is the share of time below 10 %."""
    unit: Unit
    """Unit of the numbers of this object."""
    before: float | None
    """In the first window."""
    after: float | None
    """In the second window."""
    difference: float | None
    """`after` − `before`."""
    change_ratio: float | None
    """`difference` / `before`; null where `before` is 0."""
    gaps_before: tuple[ComparisonGapObject, ...]
    """Data missing in the first window where `before` is null; otherwise empty."""
    gaps_after: tuple[ComparisonGapObject, ...]
    """Data missing in the second window where `after` is null; otherwise empty."""


class CeilingsObject(Struct, frozen=True, kw_only=True):
    """One number of one limit. A fixed rate is paired with a baseline."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    phase: Phase
    """Which number of the limit it is."""
    former_phase: Phase | None
    """For `legacy`: which number it was; otherwise null."""
    dimension: Dimension
    """What it bounds: bytes/s, ops/s, or an amount."""
    unit: Unit
    """Unit of the numbers of this object."""
    before: float | None
    """Its number in the first window; null where there is none, or none is documented."""
    after: float | None
    """Its number in the second window."""
    difference: float | None
    """`after` − `before`."""
    change_ratio: float | None
    """`difference` / `before`."""
    source_before: str | None
    """Document it is from, with the date on which it was read."""
    source_after: str | None
    """Likewise for the second window."""


class ComparisonResourceObject(Struct, frozen=True, kw_only=True):
    """The use of one resource compared with its ceiling."""

    verdict: Verdict
    """The verdict on this resource."""
    ceiling: float | None
    """The sustained ceiling; null if not known."""
    peak: float | None
    """Largest sample; for memory and space, of what is used up."""
    headroom: float | None
    """Ceiling − peak, not below 0."""
    note: str
    """Why it is unknown, or a remark; may be empty."""


class HeadroomObject(Struct, frozen=True, kw_only=True):
    """One resource on both sides."""

    family: Family
    """The limit it belongs to; `unknown` where no document says so."""
    name: str
    """For people: `CPU`, `instance EBS throughput`."""
    unit: Unit
    """Unit of the numbers of this object."""
    before: ComparisonResourceObject | None
    """In the first window; null where there was no such resource."""
    after: ComparisonResourceObject | None
    """In the second window; null where there was no such resource."""


class SharedHoursObject(Struct, frozen=True, kw_only=True):
    """The same quantities over the hours of day that both windows cover, each hour counted the
    same.
    """

    hours: tuple[int, ...]
    """Those hours, UTC, 0–23."""
    at_ceiling_before: float | None
    """Share of them at any ceiling in the first window; null where the verdict is unknown."""
    at_ceiling_after: float | None
    """Share of them at any ceiling in the second window."""
    quantities: tuple[QuantityObject, ...]
    """Every quantity, over those hours."""


class CaveatObject(Struct, frozen=True, kw_only=True):
    """A reason to doubt a difference."""

    kind: Literal[
        "length", "step", "hours", "weekdays", "gaps", "demand", "instances", "order", "overlap", "change", "loading"
    ]
    """Its subject."""
    text: str
    """One sentence or two for people."""


class ComparisonDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll comparison.

    What `plimsoll compare --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    schema: Literal["plimsoll.comparison/1"] = "plimsoll.comparison/1"
    """Name and version of this form."""
    headline: str
    """The comparison in one sentence for people."""
    outcome: LimitsOutcome
    """The change of the limits; the exit status follows it: `worse` 1, `unknown` 2, otherwise 0."""
    step: StepObject | None
    """Whether the change between the windows was enough; null where no ceiling bound before, a
    side is unknown, or the two are different instances."""
    before: SideObject
    """The first window."""
    after: SideObject
    """The second window."""
    bought: tuple[BoughtObject, ...]
    """The differences of the setups; empty where both are the same."""
    time_at: tuple[TimeAtObject, ...]
    """Time at every limit that a side was at, the longest first."""
    quantities: tuple[QuantityObject, ...]
    """Every quantity in a fixed order, those not measured too."""
    ceilings: tuple[CeilingsObject, ...]
    """Every present limit of either side; legacy ones only where a side was at them."""
    headroom: tuple[HeadroomObject, ...]
    """Every resource, with its verdict on both sides."""
    shared_hours: SharedHoursObject | None
    """The comparison over the hours of day that both windows cover; null where they cover the day
    alike, or share none."""
    caveats: tuple[CaveatObject, ...]
    """Reasons to doubt a difference."""
