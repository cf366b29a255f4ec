"""The objects of the JSON overview: the form `plimsoll.overview/1`, described in docs/reference/overview-json.md."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.render.json_values import Count, Moment, Positive, Ratio, WindowObject


class CountsObject(Struct, frozen=True, kw_only=True):
    """The number of instances by verdict. Those that could not be judged are `unknown` and `unread` together."""

    instances: Count
    """All, those that could not be read too."""
    binds: Count
    """Up against a limit at some time of the window."""
    near: Count
    """Came near a limit, reached none."""
    slack: Count
    """Measured and not near any limit."""
    unknown: Count
    """Read, but not to be judged."""
    binds_now: Count
    """Of `binds`: up against a limit at the end of the window."""
    unread: Count
    """Not read."""


class BoundObject(Struct, frozen=True, kw_only=True):
    """A ceiling of an instance and the time spent at it."""

    family: Family
    """The rule that bound; `unknown` when no documented limit agrees."""
    phase: Phase
    """Which number of it."""
    former_phase: Literal["baseline", "burst", "fixed"] | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    name: str
    """Family and phase for people."""
    value: float
    """The documented number, in `unit`; of an unknown limit the level that was served."""
    unit: Literal["bytes/s", "ops/s"]
    """Unit of `value`."""
    seconds: Positive
    """Time at it, in seconds."""
    share_ratio: Ratio
    """That time as a ratio of the time for which storage was measured."""
    interval_count: Count
    """Number of intervals."""
    first: Moment
    """Start of its first interval; UTC, ISO 8601 to the second with `Z`."""
    last: Moment
    """End of its last interval; UTC, ISO 8601 to the second with `Z`."""


class NearestObject(Struct, frozen=True, kw_only=True):
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
    unit: Literal["bytes/s", "ops/s", "bytes", "count", "ratio", "credits"]
    """Unit of `headroom`."""


class LeftObject(Struct, frozen=True, kw_only=True):
    """The remaining credits or space at the end of the window."""

    family: Family
    """The limit it belongs to."""
    ratio: float | None
    """The remaining part, 0–1."""
    empty_in_s: float | None
    """Seconds from the end of the window until nothing is left, at the present rate; null where it
    is not falling."""


class OverviewWaitingObject(Struct, frozen=True, kw_only=True):
    """Time for which requests waited and no ceiling explains it."""

    seconds: Positive
    """That time, in seconds."""
    share_ratio: Ratio
    """That time as a ratio of the time for which storage was measured."""
    times: Positive
    """Latency in the longest stretch, as a multiple of the latency without waiting."""
    first: Moment
    """Start of the first stretch; UTC, ISO 8601 to the second with `Z`."""
    last: Moment
    """End of the last stretch; UTC, ISO 8601 to the second with `Z`."""
    is_now: bool
    """Whether it lasted to the end of the window."""
    check: str
    """The check of the likeliest cause."""


class OverviewGapObject(Struct, frozen=True, kw_only=True):
    """Something that could not be judged."""

    name: str
    """What is missing: a metric, a setting, a fact about the instance."""
    hides: str
    """What cannot be judged without it; `verdict` where nothing can."""
    remedy: str
    """What would supply it: a permission, a flag, a metric to export."""


class RowObject(Struct, frozen=True, kw_only=True):
    """One instance."""

    rank: Annotated[int, Meta(ge=1)]
    """Place among all instances, 1 for the most urgent; those that could not be read have a place
    too."""
    identifier: str
    """Name of the instance."""
    db_class: str | None
    """Instance class, such as `db.r5.2xlarge`."""
    engine: str | None
    """Engine as RDS names it."""
    engine_version: str | None
    """Version of the engine."""
    region: str | None
    """AWS region."""
    storage: str
    """The storage that was bought, in words; `unknown` where it is not known."""
    pending: tuple[str, ...]
    """Changes that were ordered but are not in force, such as `class db.r5.4xlarge`."""
    window: WindowObject
    """First to last moment of its samples."""
    step_s: Count
    """Length of the usual step between samples, in seconds; 0 where storage was not measured."""
    measured_s: Positive
    """Seconds for which storage was measured."""
    expected_s: Positive
    """Seconds for which it should have been: the window asked for, or that of its own samples."""
    ends_early: bool
    """Whether its samples end well before the window does, so that nothing is known of now."""
    is_simulated: bool
    """True where its samples come from a simulator."""
    verdict: Verdict
    """The verdict on its window."""
    is_bound_now: bool
    """Whether a ceiling binds at the end of the window."""
    binding: BoundObject | None
    """The ceiling that bound for the longest time; null if none did."""
    now: BoundObject | None
    """The ceiling that binds at the end of the window; null if none does."""
    nearest: NearestObject | None
    """The resource with the least room; null where a ceiling bound, or no ratio is known."""
    credits_left: LeftObject | None
    """The lowest balance of credits; null where every balance is full, or none was read."""
    space_left: LeftObject | None
    """Storage that fills; null where it does not, or was not read."""
    waiting: OverviewWaitingObject | None
    """Time for which requests waited and no ceiling explains it; null where there was none."""
    latency_ratio: Positive | None
    """Worst latency at the ceiling, as a ratio of that under light load."""
    gaps: tuple[OverviewGapObject, ...]
    """Missing data without which the verdict, or the limits behind it, are unknown."""
    contexts: tuple[str, ...]
    """Events that change the meaning, for example `lazy loading after a restore`."""


class UnreadObject(Struct, frozen=True, kw_only=True):
    """An instance that could not be read."""

    rank: Annotated[int, Meta(ge=1)]
    """Place among all instances: after those that could not be judged, before those that are not
    near a limit."""
    identifier: str
    """Name of the instance."""
    reason: str
    """Why not."""
    remedy: str
    """What would help, a sentence."""


class FailedObject(Struct, frozen=True, kw_only=True):
    """A request that failed for some instances."""

    reason: str
    """The failed request and its cause: `RDS events: access denied to rds:DescribeEvents`."""
    remedy: str
    """What would help, a sentence."""
    identifiers: tuple[str, ...]
    """The instances, by name."""


class CallObject(Struct, frozen=True, kw_only=True):
    """Requests of one action."""

    action: str
    """The action as IAM names it, such as `cloudwatch:GetMetricData`."""
    count: Count
    """Requests sent, retries included."""


class UsageObject(Struct, frozen=True, kw_only=True):
    """The requests to the provider's API."""

    calls: tuple[CallObject, ...]
    """Requests by action."""
    call_count: Count
    """Requests of all actions, retries included."""
    metrics_requested: Count
    """Metrics asked for with GetMetricData, which is billed by metric."""


class OverviewDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll overview.

    What `plimsoll diagnose 'rds:*' --format json` writes. Every field is always present; null means
    not known or does not apply. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    schema: Literal["plimsoll.overview/1"] = "plimsoll.overview/1"
    """Name and version of this form."""
    headline: str
    """The numbers of instances at a limit, of others, and of those that could not be judged; for people."""
    source: str
    """The source of the data, for people."""
    window: WindowObject
    """The requested time, or the time that the instances cover."""
    is_simulated: bool
    """True where the samples of any instance come from a simulator."""
    stopped: str | None
    """Why the reading ended before all instances were read; null if it did not."""
    counts: CountsObject
    """How many instances have which verdict."""
    rows: tuple[RowObject, ...]
    """Every instance that was read, the most urgent first: bound now, bound, near, unknown, slack."""
    unread: tuple[UnreadObject, ...]
    """Every instance that could not be read."""
    failed: tuple[FailedObject, ...]
    """Requests that were refused or answered in part, for instances that were read; each reason once."""
    usage: UsageObject | None
    """The requests to the provider's API; null without any."""
    cost_usd: Positive | None
    """Their cost in US dollars; null where the price is not known."""
