"""The answers of a fleet: totals, groups, time at each limit, and what changed since an earlier table."""

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct


class FleetTotals(Struct, frozen=True, kw_only=True):
    """Sums over instances; an amount that no instance has is None, not zero."""

    instance_count: int
    now_count: int
    """At a ceiling at the end of the window."""
    earlier_count: int
    """At a ceiling before the end only."""
    waiting_count: int
    """Requests waited, and no ceiling explains it."""
    near_count: int
    unknown_count: int
    """Could not be judged, or failed."""
    slack_count: int
    measured_s: float
    at_ceiling_s: float
    """At the ceiling that bound each instance longest, seconds."""
    priced_count: int
    """Instances whose cost is known."""
    usd_per_day: Decimal | None
    """Of these instances now, on demand."""
    change_count: int
    """Instances that reached a ceiling and have a recommended change."""
    change_unpriced_count: int
    change_usd_per_day_more: Decimal | None
    """Cost of these changes, as far as their price is known."""
    cheaper_count: int
    """Instances with a setup that costs less and serves the same demand."""
    saving_usd_per_day_likely: Decimal | None
    """Sum of savings, each times the chance that the cheaper setup is enough."""
    saving_usd_per_day_most: Decimal | None
    """Sum of savings if every cheaper setup is enough."""


class FleetGroup(Struct, frozen=True, kw_only=True):
    """Instances that have a value in common."""

    name: str | None
    """The value; None where an instance has none, or where it is not known."""
    totals: FleetTotals


class FleetGrouping(Struct, frozen=True, kw_only=True):
    """All instances by one property."""

    by: str
    """`class`, `family`, `engine`, `region`, `account`, or `tag:` and a key."""
    groups: tuple[FleetGroup, ...]
    """The most urgent first."""
    tag_keys: tuple[str, ...] = ()
    """Keys that instances have, where none has the one of `by`; at most 20."""


class LimitTime(Struct, frozen=True, kw_only=True):
    """Time that instances spent at the ceilings of one family."""

    family: str
    instance_count: int
    at_ceiling_s: float
    measured_ratio: float
    """Share 0–1 of the measured time of all instances."""


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
    account: str
    region: str
    instance: str
    db_class_before: str | None
    db_class: str | None
    verdict_before: str | None
    verdict: str | None
    family: str | None
    """Of the ceiling that bound longest, later or else before."""
    at_ceiling_ratio_before: float | None
    at_ceiling_ratio: float | None
    """Shares 0–1 of the measured time."""


class FleetChanges(Struct, frozen=True, kw_only=True):
    """What changed since an earlier table of the same function."""

    before: str
    """What it is compared with: a clause."""
    before_window_s: tuple[int, int]
    """Epoch seconds [start, end) that the earlier rows cover."""
    totals_before: FleetTotals
    changes: tuple[FleetChange, ...]
    """By kind, the largest first."""
    unjudged_count: int
    """Instances that could not be judged in one of the two tables: not compared."""
    note: str = ""
    """A sentence: why the comparison is not complete; empty where it is."""
