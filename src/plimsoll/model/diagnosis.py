"""The result of a diagnosis: intervals at a ceiling, limits ruled out, headroom, and what is not known."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.own_event import OwnEventsIo
from plimsoll.model.session_load import StatementLoad
from plimsoll.model.severity import Severity
from plimsoll.model.snapshot import Annotation
from plimsoll.model.waiting import UnexplainedWaiting, WaitingCause

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
    """`match`, `waiting`, `step`, `waited_share`, `balance`, `credits`, `flatness`, `noise`, `elasticity`,
    `persistence`, `recurrence`, `cliff`, `exceeded`, `entry`, `cpu`; without weight: `io_size`, `sessions`"""
    text: str
    """A sentence with number, unit and comparison."""
    value: float | None = None
    """The observed number, in SI units."""
    reference: float | None = None
    """What it is compared with, in the same unit."""
    weight: float = 0.0
    """What it adds to the claim, as the logarithm of a likelihood ratio; below zero it is evidence
    against it, and at zero it is context."""


class RuledOut(Struct, frozen=True, kw_only=True):
    """A neighbouring limit that does not explain the interval, and why."""

    ceiling: Ceiling
    reason: str
    """A sentence with numbers."""


class Interval(Struct, frozen=True, kw_only=True):
    """A time during which the served rate was at a ceiling."""

    start_s: int
    end_s: int
    """Epoch seconds UTC; [start, end)."""
    dimension: Dimension
    level: float
    """Served rate at the ceiling, reads and writes together, bytes/s or ops/s."""
    level_low: float
    level_high: float
    """95 % error bars of the level."""
    family: Family
    phase: Phase
    former_phase: Phase | None
    """For a legacy limit: baseline, burst or fixed."""
    ceiling: Ceiling | None
    """The documented limit it agrees with; None for an unknown limit."""
    confidence: float
    """Probability 0–1 that a ceiling bound here."""
    attribution: float
    """Probability 0–1 that it was this family, given that a ceiling bound."""
    io_size_bytes: float | None
    """Mean I/O size at the ceiling."""
    latency_s: float | None
    latency_reference_s: float | None
    """Mean latency at the ceiling, and of the same storage when no requests waited."""
    queue_depth: float | None
    evidence: tuple[Evidence, ...]
    ruled_out: tuple[RuledOut, ...]
    refuted_by: str
    """Completes the sentence: we would be wrong if …."""
    step_s: int = 0
    """Length of the samples that show it; shorter than the window's where a finer source did."""
    context: str = ""
    """An event in that time that changes its meaning: `lazy loading after a restore`; or empty."""


class Lookalike(Struct, frozen=True, kw_only=True):
    """A documented limit with the number of a level of unknown origin."""

    text: str
    """A clause: `212.5 MB/s was the baseline of db.r5.2xlarge until 2019-12-04`."""
    flags: str
    """The command-line options that confirm it: `--class db.r5.2xlarge`."""
    value: float
    """The documented number, bytes/s or ops/s."""


class CeilingTime(Struct, frozen=True, kw_only=True):
    """The time of the window spent at one ceiling."""

    family: Family
    phase: Phase
    dimension: Dimension
    level: float
    """Median level of its intervals."""
    seconds: float
    interval_count: int
    ceiling: Ceiling | None
    lookalikes: tuple[Lookalike, ...] = ()
    """For a level of unknown origin: what is documented with its number, the likeliest first."""
    over_s: int | None = None
    """Epoch seconds of the end of its last interval, if clearly more was served for minutes after it: then it is over."""


class Resource(Struct, frozen=True, kw_only=True):
    """One resource: its ceiling, how near it came, and the verdict."""

    family: Family
    name: str
    """For people: `instance EBS throughput`, `CPU`, `connections`."""
    verdict: Verdict
    unit: str
    """`bytes/s`, `ops/s`, `ratio`, `bytes`, `count`"""
    ceiling: Ceiling | None
    peak: float | None
    p99: float | None
    mean: float | None
    """Of what is used (for memory and space: of what is used up), in `unit`; None if not measured."""
    minutes_above_80: float | None
    """Minutes above 80 % of the ceiling; None without ceiling or measurement."""
    headroom: float | None
    """Ceiling − peak, ≥ 0, in `unit`."""
    note: str = ""
    """Why it is unknown, or a remark for the reader."""


class BucketFit(Struct, frozen=True, kw_only=True):
    """A credit bucket as learned from its balance metric."""

    family: Family
    baseline: float
    baseline_se: float
    """Refill rate and its standard error, bytes/s or ops/s."""
    capacity: float
    capacity_se: float
    """Bytes or operations, and standard error."""
    sample_count: int
    """Balance readings the fit rests on (neither full nor empty)."""
    residual_ratio: float
    """Root mean square of fitted minus read balance, as a ratio of the capacity."""
    is_reliable: bool
    """Whether capacity_se is below 5 % of the capacity; otherwise shown as a rough estimate."""
    grant_s: tuple[int, ...] = ()
    """Moments (epoch s) at which the balance rose in one step while credits were being spent."""
    grant_clock: str | None = None
    """`14:05 UTC` if those jumps come at one time of day; None otherwise."""
    text: str = ""
    """One sentence for people."""


class Forecast(Struct, frozen=True, kw_only=True):
    """The time until a balance is empty, or a space is full, at the present rate."""

    family: Family
    balance_ratio: float
    """Balance at the end of the window, 0–1."""
    change_per_s: float
    """Change of that ratio per second over the last hour."""
    empty_in_s: float | None
    """Seconds from the end of the window; None when it is not falling."""
    empty_in_s_low: float | None
    empty_in_s_high: float | None
    text: str


class Finding(Struct, frozen=True, kw_only=True):
    """A statement for people, with the code machines know it by."""

    code: str
    """Compute Optimizer's reason code where it has one: `EBSThroughputUnderprovisioned` …"""
    severity: Severity
    """`critical` (binds), `warning` (near, or a cost), `note`."""
    title: str
    """One sentence: number, unit, comparison, time."""
    text: str = ""
    """What it means."""
    moves: tuple[str, ...] = ()
    """Actions to take, those at no cost first."""


class Missing(Struct, frozen=True, kw_only=True):
    """Something that could not be judged, what it hides and what would supply it."""

    name: str
    hides: str
    """What cannot be judged without it; `verdict` if nothing can; empty where only a part is missing."""
    remedy: str
    """Why it is missing and what would supply it."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The whole answer for one window."""

    instance: Instance
    window_s: tuple[int, int]
    step_s: int
    measured_s: float
    """Seconds of the window for which storage was measured."""
    is_simulated: bool
    source: str
    note: str
    verdict: Verdict
    binding: CeilingTime | None
    """The ceiling that bound for the longest time; None if none did."""
    next_ceiling: Ceiling | None
    """The ceiling that would bind after it at the same I/O size."""
    intervals: tuple[Interval, ...]
    time_at: tuple[CeilingTime, ...]
    resources: tuple[Resource, ...]
    buckets: tuple[BucketFit, ...]
    forecasts: tuple[Forecast, ...]
    findings: tuple[Finding, ...]
    missing: tuple[Missing, ...]
    ceilings: tuple[Ceiling, ...]
    """Every documented ceiling of this instance, legacy ones included."""
    annotations: tuple[Annotation, ...] = ()
    """Events in or before the window, as the source reported them."""
    waiting: tuple[UnexplainedWaiting, ...] = ()
    """Stretches in which requests waited and no ceiling explains it, in order of time."""
    waiting_causes: tuple[WaitingCause, ...] = ()
    """What may have caused them, the likeliest first; empty where nothing waited unexplained."""
    asked_s: tuple[int, int] | None = None
    """The window that was asked for, epoch seconds; None where all there is was read."""
    statements: StatementLoad | None = None
    """Who waited for storage while a limit was reached; None where no source told."""
    own_events: OwnEventsIo | None = None
    """The caller's own events with the I/O of their time; None where none were given."""

    @property
    def span_s(self) -> int:
        """Return the length of the window asked for, or of the window read; shares are shares of it."""
        start_s, end_s = self.window_s
        if self.asked_s is None:
            return end_s - start_s
        return max(end_s, self.asked_s[1]) - min(start_s, self.asked_s[0])
