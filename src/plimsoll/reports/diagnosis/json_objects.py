"""The objects of the JSON report: the form `plimsoll.report/1`, described in docs/reference/report-json.md."""

from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.snapshot import EventKind
from plimsoll.reports.diagnosis.activity_objects import OwnEventsObject, StatementLoadObject
from plimsoll.reports.inspect.json import InspectionDocument
from plimsoll.reports.render.json_values import Count, FormerPhase, InstanceObject, Moment, Positive, Ratio, Unit


class ReportWindowObject(Struct, frozen=True, kw_only=True):
    """The time that was judged."""

    start: Moment
    """First moment; UTC, ISO 8601 to the second with `Z`."""
    end: Moment
    """First moment after it; UTC, ISO 8601 to the second with `Z`."""
    duration_s: Count
    """Length in seconds."""
    step_s: Count
    """Length of the usual step between samples, in seconds; 0 where storage was not measured."""
    measured_s: Positive
    """Seconds of the window for which storage was measured."""
    asked_s: Count
    """Length of the requested window, in seconds; that of the samples where none was requested."""


class CeilingObject(Struct, frozen=True, kw_only=True):
    """A limit's number for this instance, with its origin."""

    family: Family
    """The rule it comes from."""
    phase: Phase
    """Which number of the limit it is; `legacy` is one that was documented for this class in the
    past."""
    former_phase: FormerPhase | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    dimension: Dimension
    """What it bounds: bytes per second, operations per second, or an amount."""
    value: float | None
    """The number, in `unit`; null where it is not known."""
    unit: Unit
    """Unit of `value`."""
    source: str
    """Document or data set the number was taken from."""
    read_on: str
    """ISO date on which that source was read or published."""
    valid_from: str | None
    """ISO date from which the number was documented; null where it is not known to have differed."""
    valid_to: str | None
    """ISO date until which it was documented; null for what is documented now."""
    balance_metric: str | None
    """Our name of the metric of the remaining credits; null without credits."""
    capacity_low: float | None
    """Smallest capacity of its bucket (bytes or operations) that agrees with the documentation;
    null without a bucket."""
    capacity_high: float | None
    """Largest such capacity; equal to `capacity_low` where it is published."""
    note: str
    """A remark about this number; may be empty."""


class LookalikeObject(Struct, frozen=True, kw_only=True):
    """A documented limit with the number of a level of unknown origin."""

    text: str
    """A clause for people."""
    flags: str
    """The command-line options that confirm it, for example `--class db.r5.2xlarge`."""
    value: float
    """The documented number, bytes/s or ops/s."""


class CeilingTimeObject(Struct, frozen=True, kw_only=True):
    """The time of the window spent at one ceiling."""

    family: Family
    """The rule that bound; `unknown` when no documented limit agrees."""
    phase: Phase
    """Which number of it."""
    former_phase: FormerPhase | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    dimension: Dimension
    """The rate that was at the ceiling: `throughput` or `iops`."""
    level: float
    """Median served rate of its intervals, reads and writes together, bytes/s or ops/s."""
    seconds: Positive
    """Time at this ceiling, in seconds."""
    interval_count: Count
    """Number of intervals."""
    ceiling: CeilingObject | None
    """The documented ceiling; null for an unknown limit."""
    lookalikes: tuple[LookalikeObject, ...]
    """For an unknown limit: documented limits with its number, the likeliest first."""


class ReportEvidenceObject(Struct, frozen=True, kw_only=True):
    """One observation for or against a claim."""

    kind: str
    """`match`, `waiting`, `step`, `waited_share`, `balance`, `credits`, `flatness`, `noise`,
    `elasticity`, `persistence`, `recurrence`, `cliff`, `exceeded`, `entry`, `cpu`, `io_size` or
    `sessions`; more may be added. The page *How a ceiling is recognised* has them all."""
    text: str
    """A sentence with number, unit and comparison."""
    value: float | None
    """The observed number, in SI units; null where the sentence has none."""
    reference: float | None
    """What it is compared with, in the same unit."""
    weight: float
    """What it adds to the claim, as the natural logarithm of a likelihood ratio; below zero it is
    evidence against the claim, at zero it is context."""


class RuledOutObject(Struct, frozen=True, kw_only=True):
    """A neighbouring limit that does not explain the interval."""

    ceiling: CeilingObject
    """The limit."""
    reason: str
    """Why not; a sentence with numbers."""


class IntervalObject(Struct, frozen=True, kw_only=True):
    """A time during which the served rate was at a ceiling."""

    start: Moment
    """First moment; UTC, ISO 8601 to the second with `Z`."""
    end: Moment
    """First moment after it; UTC, ISO 8601 to the second with `Z`."""
    dimension: Literal["throughput", "iops"]
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
    ceiling: CeilingObject | None
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
    evidence: tuple[ReportEvidenceObject, ...]
    """Observations for and against the claim, the heaviest first."""
    ruled_out: tuple[RuledOutObject, ...]
    """Neighbouring limits that do not explain the interval."""
    refuted_by: str
    """Completes the sentence: we would be wrong if …."""
    step_s: Count
    """Length of the samples that show it, in seconds; shorter than the window's where a finer
    source did."""
    context: str
    """An event in that time that changes its meaning, for example `lazy loading after a restore`; may be empty."""


class ResourceObject(Struct, frozen=True, kw_only=True):
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
    ceiling: CeilingObject | None
    """Its ceiling; null where it is not known."""
    peak: float | None
    """Largest value of what is in use; null where it was not measured."""
    p99: float | None
    """99th percentile of what is in use."""
    mean: float | None
    """Mean of what is in use."""
    minutes_above_80: float | None
    """Minutes above 80 % of the ceiling; null without ceiling or measurement."""
    headroom: float | None
    """Ceiling minus peak, never below zero."""
    note: str
    """Why it is unknown, or a remark; may be empty."""


class BucketObject(Struct, frozen=True, kw_only=True):
    """A credit bucket learned from its balance metric."""

    family: Family
    """The limit it belongs to."""
    baseline: float | None
    """Refill rate, bytes/s or ops/s."""
    baseline_se: float | None
    """Standard error of `baseline`."""
    capacity: float | None
    """Capacity, bytes or operations."""
    capacity_se: float | None
    """Standard error of `capacity`."""
    sample_count: Count
    """Balance readings, neither full nor empty, that the fit rests on."""
    residual_ratio: float | None
    """Root mean square of fitted minus read balance, as a ratio of the capacity."""
    is_reliable: bool
    """Whether `capacity_se` is below 5 % of `capacity`; otherwise a rough estimate."""
    grants: tuple[Moment, ...]
    """Moments at which the balance jumped up although credits were being spent."""
    grant_clock: str | None
    """Time of day of those jumps, such as `14:05 UTC`; null when they have none in common."""
    text: str
    """One sentence for people."""


class ForecastObject(Struct, frozen=True, kw_only=True):
    """The time until a balance is empty, or a space is full, at the present rate."""

    family: Family
    """The limit it belongs to."""
    balance_ratio: float | None
    """Balance at the end of the window, 0–1."""
    change_per_s: float | None
    """Change of that ratio per second over the last hour of the window."""
    empty_in_s: float | None
    """Seconds from the end of the window; null when it is not falling."""
    empty_in_s_low: float | None
    """Soonest, within the error of the rate."""
    empty_in_s_high: float | None
    """Latest, within the error of the rate."""
    text: str
    """One sentence for people."""


class FindingObject(Struct, frozen=True, kw_only=True):
    """A statement for people, with a code for machines."""

    code: str
    """Reason code; AWS Compute Optimizer's where it has one, such as
    `EBSThroughputUnderprovisioned`."""
    severity: Literal["critical", "warning", "note"]
    """`critical`: something binds; `warning`: near, or a cost; `note`: worth knowing."""
    title: str
    """One sentence: number, unit, comparison, time."""
    text: str
    """What it means; may be empty."""
    moves: tuple[str, ...]
    """Actions to take, those at no cost first."""


class MissingObject(Struct, frozen=True, kw_only=True):
    """Something that could not be judged."""

    name: str
    """What is missing: a metric, a setting, a fact about the instance."""
    hides: str
    """What cannot be judged without it."""
    remedy: str
    """What would supply it: a permission, a flag, a metric to export."""


class NowObject(Struct, frozen=True, kw_only=True):
    """The state at the end of the window. It does not depend on the time at which the report was made."""

    is_bound: bool
    """Whether a ceiling binds at the end of the window."""
    is_waiting: bool
    """Whether requests wait at the end of the window and no ceiling explains it."""
    bound: CeilingTimeObject | None
    """The ceiling that binds then, with all its time in the window; null if none does."""
    last_end: Moment | None
    """End of the last interval at a ceiling or of waiting; null where there was neither."""


class CeilingShareObject(Struct, frozen=True, kw_only=True):
    """A served rate as a share of a documented ceiling."""

    family: Family
    """Which limit."""
    phase: Phase
    """Which number of it."""
    value: Positive
    """The ceiling, bytes/s or ops/s."""
    ratio: Positive
    """Mean rate as a ratio of the ceiling; above 1 where credits paid for more."""


class WaitingObject(Struct, frozen=True, kw_only=True):
    """A stretch of time during which requests waited although no ceiling was found to bind."""

    start: Moment
    """First moment; UTC, ISO 8601 to the second with `Z`."""
    end: Moment
    """First moment after it; UTC, ISO 8601 to the second with `Z`."""
    waiting_s: Positive
    """Time within it for which requests waited, in seconds."""
    times: Positive
    """Latency as a multiple of the reference, median while they waited."""
    latency_s: Positive
    """Median latency while they waited, in seconds."""
    latency_reference_s: Positive
    """Latency of the same mix of requests without waiting, in seconds; in a window that never
    shows it, the latency of its fastest tenth."""
    queue_depth: Positive | None
    """Median number of requests waiting or in service."""
    bytes_per_s: Positive | None
    """Median throughput while they waited, reads and writes together, bytes/s."""
    ops_per_s: Positive | None
    """Median rate of operations while they waited, reads and writes together, ops/s."""
    io_size_bytes: Positive | None
    """Mean I/O size while they waited, in bytes."""
    shares: tuple[CeilingShareObject, ...]
    """These rates as shares of every present ceiling, the largest first."""


class WaitingCauseObject(Struct, frozen=True, kw_only=True):
    """A possible cause of waiting, and the check that confirms or excludes it."""

    code: Literal["events", "undocumented_limit", "within_sample", "cpu", "replication", "storage_fault"]
    """`events`: a restore, change, backup or failover; `undocumented_limit`: the rate stood still;
    `within_sample`: a ceiling reached for a part of each sample; `cpu`: finished I/O was taken
    up late; `replication`: the Multi-AZ standby; `storage_fault`: a neighbour, a volume or the
    host."""
    text: str
    """The cause, and the measurement that is evidence for it."""
    check: str
    """How to check it."""
    has_evidence: bool
    """Whether a measurement in this window is evidence for it."""


class AnnotationObject(Struct, frozen=True, kw_only=True):
    """An event, as the source reported it."""

    time: Moment
    """When; UTC, ISO 8601 to the second with `Z`."""
    kind: EventKind
    """Its effect on the metrics; `optimisation`: a storage modification in progress, `conversion`:
    became Multi-AZ."""
    text: str
    """The text of the source."""


class ReportDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll report.

    What `plimsoll diagnose --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    schema: Literal["plimsoll.report/1"] = "plimsoll.report/1"
    """Name and version of this form."""
    headline: str
    """The verdict in one sentence for people."""
    instance: InstanceObject
    """The diagnosed instance."""
    window: ReportWindowObject
    """The time that was judged."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    source: str
    """Where the samples came from, for people."""
    note: str
    """One sentence about their origin; may be empty."""
    verdict: Verdict
    """The verdict on the window; the exit status follows it: `binds` 1, `unknown` 2, otherwise 0."""
    binding: CeilingTimeObject | None
    """The ceiling that bound for the longest time; null if none did."""
    next_ceiling: CeilingObject | None
    """The ceiling that would bind after it at the same I/O size; null if not known."""
    intervals: tuple[IntervalObject, ...]
    """Every interval at a ceiling, in order of time."""
    time_at: tuple[CeilingTimeObject, ...]
    """Time at each ceiling."""
    resources: tuple[ResourceObject, ...]
    """Every resource with its verdict, those that were ruled out too."""
    buckets: tuple[BucketObject, ...]
    """Credit buckets as learned from their balances."""
    forecasts: tuple[ForecastObject, ...]
    """When balances reach zero and space fills."""
    findings: tuple[FindingObject, ...]
    """Statements for people, each with a code."""
    missing: tuple[MissingObject, ...]
    """What could not be judged, and what would supply it."""
    ceilings: tuple[CeilingObject, ...]
    """Every documented ceiling of this instance, legacy ones included."""
    now: NowObject
    """The state at the end of the window."""
    waiting: tuple[WaitingObject, ...]
    """Stretches in which requests waited and no ceiling explains it, in order of time."""
    waiting_causes: tuple[WaitingCauseObject, ...]
    """Possible causes of that waiting, the likeliest first; empty where there was none."""
    annotations: tuple[AnnotationObject, ...]
    """Events in or before the window, in order of time: restores, changes, restarts, backups."""
    inspection: InspectionDocument | None
    """The causes of reads and writes inside the database, as a document of the form
    `plimsoll.inspection/1`; null without `--dsn`."""
    statements: StatementLoadObject | None
    """Who waited for storage while a ceiling was reached; null without Performance Insights."""
    own_events: OwnEventsObject | None
    """The caller's own events and the I/O of their time; null without `--events`."""
