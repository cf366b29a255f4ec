"""The result of a diagnosis: intervals at a ceiling, limits ruled out, headroom, and what is not known."""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Dimension, Family, FormerPhase, Phase, Unit
from plimsoll.model.instance import Instance
from plimsoll.model.own_event import OwnEventsIo
from plimsoll.model.session_load import StatementLoad
from plimsoll.model.severity import Severity
from plimsoll.model.snapshot import Annotation
from plimsoll.model.waiting import UnexplainedWaiting, WaitingCause
from plimsoll.model.written import After, Count, Moment, Named, Number, Positive, Ratio, Window

VERDICT = "verdict"
"""What a gap hides without which no overall verdict can be given."""
SHORT_WINDOW = "window too short"
"""Name of the gap where too few samples were read."""

LATE_SHARE = 0.05
"""Share of a window that may have no samples: CloudWatch is a minute or two late, and a scrape may fail now and then."""
FITTING = "a description that fits the metrics"
"""Name of the gap where more was served than class and storage can serve."""


class Verdict(StrEnum):
    """The verdict on a resource, or on the whole window."""

    BINDS = "binds"
    """Raising it would raise what is served."""
    NEAR = "near"
    """It did not bind, but demand came within a fifth of it."""
    SLACK = "slack"
    """It was measured, and it was not near."""
    UNKNOWN = "unknown"
    """It could not be judged; the gap names what is missing."""


class Evidence(Struct, frozen=True, kw_only=True):
    """One observation for or against a claim."""

    kind: str
    """`match`, `waiting`, `step`, `waited_share`, `balance`, `credits`, `flatness`, `noise`,
    `elasticity`, `persistence`, `recurrence`, `cliff`, `exceeded`, `entry`, `cpu`, `io_size` or
    `sessions`; more may be added. The page *How a ceiling is recognised* has them all."""
    text: str
    """A sentence with number, unit and comparison."""
    value: float | None = None
    """The observed number, in SI units; null where the sentence has none."""
    reference: float | None = None
    """What it is compared with, in the same unit."""
    weight: float = 0.0
    """What it adds to the claim, as the natural logarithm of a likelihood ratio; below zero it is
    evidence against the claim, at zero it is context."""


class RuledOut(Struct, frozen=True, kw_only=True):
    """A neighbouring limit that does not explain the interval, and why."""

    ceiling: Ceiling
    """The limit."""
    reason: str
    """Why not; a sentence with numbers."""


class Interval(Struct, frozen=True, kw_only=True):
    """A time during which the served rate was at a ceiling."""

    start_s: Moment
    """First moment."""
    end_s: Moment
    """First moment after it."""
    dimension: Dimension
    """The rate at the ceiling: bytes per second or operations per second, reads and writes together."""
    level: float
    """Served rate at the ceiling, bytes/s or ops/s as `dimension` says."""
    level_low: float
    """Lower end of the 95 % error bars of `level`."""
    level_high: float
    """Upper end of the 95 % error bars of `level`."""
    family: Family
    """The rule that bound: `instance_ebs_throughput`, `instance_ebs_iops`, `volume_throughput`,
    `volume_iops`, `unknown`."""
    phase: Phase
    """The number of the limit: its baseline, its burst on credits, a limit without credits, or a legacy one."""
    former_phase: FormerPhase | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    ceiling: Ceiling | None
    """The documented ceiling the level agrees with; null for an unknown limit."""
    confidence: Ratio
    """Probability that a ceiling bound here."""
    attribution: Ratio
    """Probability that it was this family, given that a ceiling bound."""
    io_size_bytes: float | None
    """Mean I/O size at the ceiling, in bytes."""
    latency_s: float | None
    """Mean latency at the ceiling, in seconds."""
    latency_reference_s: float | None
    """Mean latency of the same storage when no requests waited, in seconds."""
    queue_depth: float | None
    """Mean number of requests waiting or in service at the ceiling."""
    evidence: tuple[Evidence, ...]
    """Observations for and against the claim, the heaviest first."""
    ruled_out: tuple[RuledOut, ...]
    """Neighbouring limits that do not explain the interval."""
    refuted_by: str
    """Completes the sentence: we would be wrong if …."""
    step_s: Count = 0
    """Length of the samples that show it, in seconds; shorter than the window's where a finer source did."""
    context: str = ""
    """An event in that time that changes its meaning, for example `lazy loading after a restore`; may be empty."""


class Lookalike(Struct, frozen=True, kw_only=True):
    """A documented limit with the number of a level of unknown origin."""

    text: str
    """A clause for people."""
    flags: str
    """The command-line options that confirm it, for example `--class db.r5.2xlarge`."""
    value: float
    """The documented number, bytes/s or ops/s."""


class CeilingTime(Struct, frozen=True, kw_only=True):
    """The time of the window spent at one ceiling."""

    family: Family
    """The rule that bound; `unknown` when no documented limit agrees."""
    phase: Phase
    """Which number of it."""
    dimension: Dimension
    """The rate that was at the ceiling: `throughput` or `iops`."""
    level: float
    """Median served rate of its intervals, reads and writes together, bytes/s or ops/s."""
    seconds: Positive
    """Time at this ceiling, in seconds."""
    interval_count: Count
    """Number of intervals."""
    ceiling: Ceiling | None
    """The documented ceiling; null for an unknown limit."""
    lookalikes: tuple[Lookalike, ...] = ()
    """For an unknown limit: documented limits with its number, the likeliest first."""
    over_s: Moment | None = None
    """End of its last interval, if clearly more was served for minutes after it: then it is over; null otherwise."""

    @property
    def former_phase(self) -> Annotated[FormerPhase | None, After("phase")]:
        """For `legacy`: which number of the limit it was; null otherwise."""
        return self.ceiling.former_phase if self.ceiling else None


class Resource(Struct, frozen=True, kw_only=True):
    """One resource: its ceiling, how near it came, and the verdict."""

    family: Family
    """The rule that bounds it."""
    name: str
    """Name for people."""
    verdict: Verdict
    """`binds`: raising it would raise what is served; `near`: demand came within a fifth of it;
    `slack`: measured and not near; `unknown`: could not be judged."""
    unit: Unit
    """Unit of the numbers below."""
    ceiling: Ceiling | None
    """Its ceiling; null where it is not known."""
    peak: float | None
    """Largest value of what is in use (for memory and space: of what is used up); null where it was not measured."""
    p99: float | None
    """99th percentile of what is in use."""
    mean: float | None
    """Mean of what is in use."""
    minutes_above_80: float | None
    """Minutes above 80 % of the ceiling; null without ceiling or measurement."""
    headroom: float | None
    """Ceiling minus peak, never below zero."""
    note: str = ""
    """Why it is unknown, or a remark; may be empty."""


class BucketFit(Struct, frozen=True, kw_only=True):
    """A credit bucket as learned from its balance metric."""

    family: Family
    """The limit it belongs to."""
    baseline: Number
    """Refill rate, bytes/s or ops/s."""
    baseline_se: Number
    """Standard error of `baseline`."""
    capacity: Number
    """Capacity, bytes or operations."""
    capacity_se: Number
    """Standard error of `capacity`."""
    sample_count: Count
    """Balance readings, neither full nor empty, that the fit rests on."""
    residual_ratio: Number
    """Root mean square of fitted minus read balance, as a ratio of the capacity."""
    is_reliable: bool
    """Whether `capacity_se` is below 5 % of `capacity`; otherwise a rough estimate."""
    grant_s: Annotated[tuple[Moment, ...], Named("grants")] = ()
    """Moments at which the balance jumped up although credits were being spent."""
    grant_clock: str | None = None
    """Time of day of those jumps, such as `14:05 UTC`; null when they have none in common."""
    text: str = ""
    """One sentence for people."""


class Forecast(Struct, frozen=True, kw_only=True):
    """The time until a balance is empty, or a space is full, at the present rate."""

    family: Family
    """The limit it belongs to."""
    balance_ratio: Number
    """Balance at the end of the window, 0–1."""
    change_per_s: Number
    """Change of that ratio per second over the last hour of the window."""
    empty_in_s: float | None
    """Seconds from the end of the window; null when it is not falling."""
    empty_in_s_low: float | None
    """Soonest, within the error of the rate."""
    empty_in_s_high: float | None
    """Latest, within the error of the rate."""
    text: str
    """One sentence for people."""


class Finding(Struct, frozen=True, kw_only=True):
    """A statement for people, with the code machines know it by."""

    code: str
    """Reason code; AWS Compute Optimizer's where it has one, such as `EBSThroughputUnderprovisioned`."""
    severity: Severity
    """`critical`: something binds; `warning`: near, or a cost; `note`: worth knowing."""
    title: str
    """One sentence: number, unit, comparison, time."""
    text: str = ""
    """What it means; may be empty."""
    moves: tuple[str, ...] = ()
    """Actions to take, those at no cost first."""


class Missing(Struct, frozen=True, kw_only=True):
    """Something that could not be judged, what it hides and what would supply it."""

    name: str
    """What is missing: a metric, a setting, a fact about the instance."""
    hides: str
    """What cannot be judged without it; `verdict` if nothing can; empty where only a part is missing."""
    remedy: str
    """Why it is missing and what would supply it: a permission, as an exact `GRANT` in a database, a flag, a metric to
    export."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The whole answer for one window."""

    instance: Instance
    """The diagnosed instance."""
    window_s: Window
    """The time that was judged."""
    step_s: int
    """Length of its usual sample, in seconds; 0 where storage was not measured."""
    measured_s: float
    """Seconds of the window for which storage was measured."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    source: str
    """Where the samples came from, for people."""
    note: str
    """One sentence about their origin; may be empty."""
    verdict: Verdict
    """The verdict on the window; the exit status follows it: `binds` 1, `unknown` 2, otherwise 0."""
    binding: CeilingTime | None
    """The ceiling that bound for the longest time; null if none did."""
    next_ceiling: Ceiling | None
    """The ceiling that would bind after it at the same I/O size; null if not known."""
    intervals: tuple[Interval, ...]
    """Every interval at a ceiling, in order of time."""
    time_at: tuple[CeilingTime, ...]
    """Time at each ceiling."""
    resources: tuple[Resource, ...]
    """Every resource with its verdict, those that were ruled out too."""
    buckets: tuple[BucketFit, ...]
    """Credit buckets as learned from their balances."""
    forecasts: tuple[Forecast, ...]
    """When balances reach zero and space fills."""
    findings: tuple[Finding, ...]
    """Statements for people, each with a code."""
    missing: tuple[Missing, ...]
    """What could not be judged, and what would supply it."""
    ceilings: tuple[Ceiling, ...]
    """Every documented ceiling of this instance, legacy ones included."""
    annotations: tuple[Annotation, ...] = ()
    """Events in or before the window, in order of time: restores, changes, restarts, backups."""
    waiting: tuple[UnexplainedWaiting, ...] = ()
    """Stretches in which requests waited and no ceiling explains it, in order of time."""
    waiting_causes: tuple[WaitingCause, ...] = ()
    """Possible causes of that waiting, the likeliest first; empty where there was none."""
    asked_s: tuple[int, int] | None = None
    """The window that was asked for, epoch seconds; None where all there is was read."""
    statements: StatementLoad | None = None
    """Who waited for storage while a ceiling was reached; null without Performance Insights."""
    own_events: OwnEventsIo | None = None
    """The caller's own events and the I/O of their time; null without `--events`."""

    @property
    def span_s(self) -> int:
        """Return the length of the window asked for, or of the window read; shares are shares of it."""
        start_s, end_s = self.window_s
        if self.asked_s is None:
            return end_s - start_s
        return max(end_s, self.asked_s[1]) - min(start_s, self.asked_s[0])
