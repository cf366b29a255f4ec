"""
A fleet as JSON: the form `plimsoll.fleet/1`, described in docs/reference/fleet-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: the fields of a row are the columns of the CSV and Parquet tables, and tags are an object.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from plimsoll.model.fleet import FleetReport, FleetVerdict
from plimsoll.model.fleet_answer import FleetChangeKind, FleetChanges
from plimsoll.reports.fleet.document import headline
from plimsoll.reports.render.json_values import (
    Count,
    Positive,
    Ratio,
    WindowObject,
    json_bytes,
    same_fields,
    window_object,
)


class FleetTotalsObject(Struct, frozen=True, kw_only=True):
    """Sums over instances."""

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
    usd_per_day: float | None
    """Cost of these instances now, on demand; null if no price is known."""
    change_count: Count
    """Instances that reached a limit and have a recommended change."""
    change_unpriced_count: Count
    """Those of them without a price."""
    change_usd_per_day_more: float | None
    """Cost of the recommended changes with a price; null if there is none."""
    cheaper_count: Count
    """Instances with a setup that costs less and serves the same demand."""
    saving_usd_per_day_likely: float | None
    """Sum of savings, each times the chance that the cheaper setup is enough; null if there is none."""
    saving_usd_per_day_most: float | None
    """Sum of savings if every cheaper setup is enough; null if there is none."""


class FleetGroupObject(Struct, frozen=True, kw_only=True):
    """Instances that have a value in common."""

    name: str | None
    """The value; null for instances without the tag, or where the value is not known."""
    totals: FleetTotalsObject
    """Sums over the group."""


class FleetGroupingObject(Struct, frozen=True, kw_only=True):
    """All instances by one property."""

    by: str
    """`class`, `family`, `engine`, `region`, `account`, or `tag:` and a key."""
    groups: tuple[FleetGroupObject, ...]
    """The most urgent first."""
    tag_keys: tuple[str, ...]
    """Tags that instances have, if none has the one of `by`; at most 20."""


class LimitTimeObject(Struct, frozen=True, kw_only=True):
    """Time that instances spent at one limit."""

    family: str
    """The limit: `instance_ebs_throughput`, `volume_iops` and the like."""
    instance_count: Count
    """Instances that it bound longest."""
    at_ceiling_s: Positive
    """Seconds, summed over these instances."""
    measured_ratio: Ratio
    """Share of the measured time of all instances."""


class FleetChangeObject(Struct, frozen=True, kw_only=True):
    """One change of one instance."""

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


class FleetChangesObject(Struct, frozen=True, kw_only=True):
    """What changed since an earlier table."""

    before: str
    """What it is compared with."""
    before_window: WindowObject
    """The window of the earlier table."""
    totals_before: FleetTotalsObject
    """Sums over the earlier table."""
    changes: tuple[FleetChangeObject, ...]
    """By kind, the largest first."""
    unjudged_count: Count
    """Instances that could not be judged in one of the tables, so that they are not compared."""
    note: str
    """Why the comparison is not complete; empty if it is."""


class FleetRowObject(Struct, frozen=True, kw_only=True):
    """One instance."""

    account: str
    """AWS account; empty where the source does not say."""
    region: str
    """Region; empty where the source does not say."""
    instance: str
    """Its identifier."""
    db_class: str | None
    """Class, such as `db.r5.2xlarge`."""
    engine: str | None
    """Engine as RDS names it."""
    storage: str | None
    """Storage type, such as `gp3`."""
    storage_gib: float | None
    """Allocated storage, GiB."""
    is_simulated: bool | None
    """Whether its data are simulated."""
    tags: dict[str, str] | None
    """Tags; null where the source does not say."""
    verdict: Literal["binds", "near", "slack", "unknown", "error"]
    """`error` if the diagnosis failed."""
    reason: str | None
    """Why it could not be judged, or what is missing."""
    remedy: str | None
    """What would help."""
    start_s: int | None
    """Start of the window that was judged, epoch seconds."""
    end_s: int | None
    """Its end, exclusive, epoch seconds."""
    measured_s: float | None
    """Seconds for which storage was measured."""
    family: str | None
    """The limit that bound longest."""
    phase: str | None
    """`baseline`, `burst`, `fixed` or `legacy`."""
    ceiling: float | None
    """Its number: bytes/s if `dimension` is `throughput`, operations/s if it is `iops`."""
    dimension: str | None
    """`throughput` or `iops`."""
    at_ceiling_s: float | None
    """Time at it, seconds."""
    at_ceiling_ratio: float | None
    """Share of the measured time, 0–1."""
    is_now: bool | None
    """Whether a limit binds at the end of the window."""
    waiting_s: float | None
    """Waiting that no limit explains, seconds."""
    nearest: str | None
    """The nearest limit."""
    nearest_ratio: float | None
    """Peak, as a ratio of that limit."""
    emptying: str | None
    """The balance or space that will be empty first."""
    empty_in_s: float | None
    """Seconds until then, at the present rate."""
    unreachable: str | None
    """What is paid for and cannot be used."""
    usd_per_day: float | None
    """Cost now, on demand."""
    option: str | None
    """The recommended change."""
    option_usd_per_day_more: float | None
    """Its additional cost."""
    option_chance: float | None
    """Chance 0–1 that it is enough."""
    legacy: str | None
    """What a stop and start would change."""
    cheaper: str | None
    """A setup that costs less and serves the same demand."""
    cheaper_usd_per_day_more: float | None
    """Its additional cost; below zero is a saving."""
    cheaper_chance: float | None
    """Chance 0–1 that it is enough."""
    plan_note: str | None
    """Why there is no plan."""


class FleetDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll verdicts of a fleet.

    What `plimsoll fleet LAKE --format json` writes. Every field is always present; null means not known.
    """

    schema: Literal["plimsoll.fleet/1"] = "plimsoll.fleet/1"
    """Name and version of this form."""
    headline: str
    """The answer in one sentence."""
    lake: str
    """Where the metrics are."""
    window: WindowObject
    """The window."""
    is_simulated: bool
    """Whether any data are simulated."""
    has_plan: bool
    """Whether plans were computed; without them all costs are null."""
    totals: FleetTotalsObject
    """Sums over all instances."""
    groupings: tuple[FleetGroupingObject, ...]
    """One for each `--by`."""
    limit_times: tuple[LimitTimeObject, ...]
    """Time at each limit, the longest first."""
    changes: FleetChangesObject | None
    """What changed since an earlier table; null without `--changes` and `--compare`."""
    rows: tuple[FleetRowObject, ...]
    """One for each instance, the most urgent first."""


def render_fleet_json(report: FleetReport) -> bytes:
    """Return a fleet as JSON."""
    return json_bytes(
        same_fields(
            FleetDocument,
            report,
            headline=headline(report),
            window=window_object(report.window_s),
            is_simulated=any(row.is_simulated for row in report.rows),
            changes=None if report.changes is None else _changes(report.changes),
            rows=tuple(_row(row) for row in report.rows),
        )
    )


def _changes(changes: FleetChanges) -> FleetChangesObject:
    window = window_object(changes.before_window_s)
    return same_fields(FleetChangesObject, changes, before_window=window)


def _row(row: FleetVerdict) -> FleetRowObject:
    tags: Any = None if row.tags is None else msgspec.json.decode(row.tags, type=dict[str, str])
    return same_fields(FleetRowObject, row, tags=tags)
