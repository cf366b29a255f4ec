"""The answers of a fleet: totals, groups, time at each limit, and what changed since an earlier table."""

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from plimsoll.model.written import Count, Positive, Ratio, Window


class FleetTotals(Struct, frozen=True, kw_only=True):
    """Sums over instances; an amount that no instance has is None, not zero."""

    instance_count: Count
    """All of them."""
    now_count: Count
    """At a limit at the end of the window."""
    earlier_count: Count
    """At a limit before the end only."""
    waiting_count: Count
    """Requests waited, and no limit explains it."""
    near_count: Count
    """Near a limit."""
    unknown_count: Count
    """Could not be judged, or failed."""
    slack_count: Count
    """Near no limit."""
    measured_s: Positive
    """Measured time, seconds."""
    at_ceiling_s: Positive
    """Time at the limit that bound each instance longest, seconds."""
    priced_count: Count
    """Instances whose cost is known."""
    usd_per_day: Decimal | None
    """Cost of these instances now, on demand; null if no price is known."""
    change_count: Count
    """Instances that reached a limit and have a recommended change."""
    change_unpriced_count: Count
    """Those of them without a price."""
    change_usd_per_day_more: Decimal | None
    """Cost of the recommended changes with a price; null if there is none."""
    cheaper_count: Count
    """Instances with a setup that costs less and serves the same demand."""
    saving_usd_per_day_likely: Decimal | None
    """Sum of savings, each times the chance that the cheaper setup is enough; null if there is none."""
    saving_usd_per_day_most: Decimal | None
    """Sum of savings if every cheaper setup is enough; null if there is none."""


class FleetGroup(Struct, frozen=True, kw_only=True):
    """Instances that have a value in common."""

    name: str | None
    """The value; null for instances without the tag, or where the value is not known."""
    totals: FleetTotals
    """Sums over the group."""


class FleetGrouping(Struct, frozen=True, kw_only=True):
    """All instances by one property."""

    by: str
    """`class`, `family`, `engine`, `region`, `account`, or `tag:` and a key."""
    groups: tuple[FleetGroup, ...]
    """The most urgent first."""
    tag_keys: tuple[str, ...] = ()
    """Tags that instances have, if none has the one of `by`; at most 20."""


class LimitTime(Struct, frozen=True, kw_only=True):
    """Time that instances spent at the ceilings of one family."""

    family: str
    """The limit: `instance_ebs_throughput`, `volume_iops` and the like."""
    instance_count: Count
    """Instances that it bound longest."""
    at_ceiling_s: Positive
    """Seconds, summed over these instances."""
    measured_ratio: Ratio
    """Share of the measured time of all instances."""


class FleetChangeKind(StrEnum):
    """What changed for an instance between two tables."""

    REACHED = "reached"
    """Reached a ceiling, and did not before."""
    LEFT = "left"
    """Reached a ceiling before, and does not any more."""
    WORSE = "worse"
    """A larger share of the time at a ceiling."""
    BETTER = "better"
    """A smaller share of the time at a ceiling, above zero."""
    CLASS_CHANGED = "class_changed"
    APPEARED = "appeared"
    """Only in the later table."""
    GONE = "gone"
    """Only in the earlier table."""


class FleetChange(Struct, frozen=True, kw_only=True):
    """One change of one instance; an instance whose class changed can have a second one."""

    kind: FleetChangeKind
    """What changed."""
    account: str
    """AWS account; empty where the source does not say."""
    region: str
    """Region; empty where the source does not say."""
    instance: str
    """Its identifier."""
    db_class_before: str | None
    """Class in the earlier table; null if not known."""
    db_class: str | None
    """Class now; null if not known."""
    verdict_before: str | None
    """Verdict in the earlier table; null if the instance is not in it."""
    verdict: str | None
    """Verdict now; null if the instance is gone."""
    family: str | None
    """The limit that bound longest, now or else before."""
    at_ceiling_ratio_before: float | None
    """Share of the measured time at it in the earlier table, 0–1."""
    at_ceiling_ratio: float | None
    """Share of the measured time at it now, 0–1."""


class FleetChanges(Struct, frozen=True, kw_only=True):
    """What changed since an earlier table of the same function."""

    before: str
    """What it is compared with."""
    before_window_s: Window
    """The window of the earlier table."""
    totals_before: FleetTotals
    """Sums over the earlier table."""
    changes: tuple[FleetChange, ...]
    """By kind, the largest first."""
    unjudged_count: Count
    """Instances that could not be judged in one of the tables, so that they are not compared."""
    note: str = ""
    """Why the comparison is not complete; empty if it is."""
