"""
Answers from the rows of a fleet: totals, groups, and time at each limit. Pure functions over rows.

Rule: an amount is a sum of what is known. What is not known is counted, and never taken as zero.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import msgspec

from plimsoll.errors import UsageError
from plimsoll.model.fleet import FleetRank, FleetReport, FleetVerdict
from plimsoll.model.fleet_answer import FleetGroup, FleetGrouping, FleetTotals, LimitTime

TAG = "tag:"
# AWS allows a key of 128 characters (Amazon RDS user guide, "Tagging Amazon RDS resources").
_TAG_KEY_MOST = 128
_TAG_KEYS_SHOWN = 20


def fleet_report(
    rows: Iterable[FleetVerdict], *, lake: str, window_s: tuple[int, int], has_plan: bool, by: Sequence[str] = ()
) -> FleetReport:
    """
    Return rows ranked, with their totals and groups.

    Args:
        rows: one for each instance, in any order.
        lake: where they are from.
        window_s: epoch seconds [start, end) that they cover.
        has_plan: whether plans were computed.
        by: each a text that `check_by` accepts.
    """
    ranked = tuple(sorted(rows, key=lambda row: row.sort_key))
    return FleetReport(
        lake=lake,
        window_s=window_s,
        rows=ranked,
        has_plan=has_plan,
        totals=totals_of(ranked),
        groupings=tuple(grouping_of(ranked, one) for one in by),
        limit_times=limit_times(ranked),
    )


def totals_of(rows: Sequence[FleetVerdict]) -> FleetTotals:
    """Return the sums over rows."""
    counts = {rank: sum(row.rank is rank for row in rows) for rank in FleetRank}
    prices = [row.usd_per_day for row in rows if row.usd_per_day is not None]
    changed = [row for row in rows if row.rank <= FleetRank.BOUND and row.option]
    more = [r.option_usd_per_day_more for r in changed if r.option_usd_per_day_more is not None]
    cheaper = [(_saving(row), row.cheaper_chance) for row in rows if _saving(row) > 0]
    likely = [saving * Decimal(str(chance)) for saving, chance in cheaper if chance is not None]
    return FleetTotals(
        instance_count=len(rows),
        now_count=counts[FleetRank.NOW],
        earlier_count=counts[FleetRank.BOUND],
        waiting_count=counts[FleetRank.WAITING],
        near_count=counts[FleetRank.NEAR],
        unknown_count=counts[FleetRank.UNKNOWN],
        slack_count=counts[FleetRank.SLACK],
        measured_s=sum(row.measured_s or 0.0 for row in rows),
        at_ceiling_s=sum(row.at_ceiling_s or 0.0 for row in rows),
        priced_count=len(prices),
        usd_per_day=_sum(prices),
        change_count=len(changed),
        change_unpriced_count=len(changed) - len(more),
        change_usd_per_day_more=_sum(more),
        cheaper_count=len(cheaper),
        # A chance that is not known has no place in a sum of chances.
        saving_usd_per_day_likely=_sum(likely) if len(likely) == len(cheaper) else None,
        saving_usd_per_day_most=_sum([saving for saving, _ in cheaper]),
    )


def _saving(row: FleetVerdict) -> Decimal:
    """Return what the cheaper setup saves, dollars a day; 0 without one."""
    more = row.cheaper_usd_per_day_more if row.cheaper else None
    return -more if more is not None and more < 0 else Decimal(0)


def _sum(amounts: Sequence[Decimal]) -> Decimal | None:
    return sum(amounts, Decimal(0)).quantize(Decimal("0.0001")) if amounts else None


def limit_times(rows: Sequence[FleetVerdict]) -> tuple[LimitTime, ...]:
    """Return the time at the ceilings of each family, the longest first."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.family and row.at_ceiling_s:
            found[row.family].append(row.at_ceiling_s)
    measured = sum(row.measured_s or 0.0 for row in rows)
    times = [
        LimitTime(
            family=family,
            instance_count=len(seconds),
            at_ceiling_s=sum(seconds),
            measured_ratio=sum(seconds) / measured if measured else 0.0,
        )
        for family, seconds in found.items()
    ]
    return tuple(sorted(times, key=lambda one: (-one.at_ceiling_s, one.family)))


def check_by(text: str) -> str:
    """
    Return the name of a grouping.

    Raises:
        UsageError: there is no such grouping.
    """
    key = text.removeprefix(TAG)
    if text in _BY or (text.startswith(TAG) and 0 < len(key) <= _TAG_KEY_MOST):
        return text
    cause = "tag: needs the key of a tag" if text.startswith(TAG) else f"no grouping '{text[:40]}'"
    raise UsageError(cause, f"Group by {', '.join(_BY)}, or a tag, for example tag:team.")


def grouping_of(rows: Sequence[FleetVerdict], by: str) -> FleetGrouping:
    """
    Return rows by a property, the most urgent group first.

    Args:
        rows: of instances.
        by: a text that `check_by` accepts.
    """
    is_tag = by.startswith(TAG)
    value_of = _tag_reader(by.removeprefix(TAG)) if is_tag else _BY[by]
    members: dict[str | None, list[FleetVerdict]] = defaultdict(list)
    for row in rows:
        members[value_of(row)].append(row)
    groups = [FleetGroup(name=name, totals=totals_of(mine)) for name, mine in members.items()]
    keys: set[str] = set()
    if is_tag and set(members) == {None}:
        keys = {key for row in rows for key in tags_of(row)}
    return FleetGrouping(
        by=by, groups=tuple(sorted(groups, key=_urgency)), tag_keys=tuple(sorted(keys)[:_TAG_KEYS_SHOWN])
    )


def tags_of(row: FleetVerdict) -> dict[str, str]:
    """Return the tags of an instance; none where they are not known or damaged."""
    if not row.tags:
        return {}
    try:
        return msgspec.json.decode(row.tags, type=dict[str, str])
    except msgspec.DecodeError:  # of a table that something else wrote
        return {}


def _tag_reader(key: str) -> Callable[[FleetVerdict], str | None]:
    return lambda row: tags_of(row).get(key)


def _urgency(group: FleetGroup) -> tuple[float | str, ...]:
    of = group.totals
    counts = (-of.now_count, -of.earlier_count, -of.at_ceiling_s, -of.instance_count)
    return (*counts, group.name is None, group.name or "")


def _family_of_class(row: FleetVerdict) -> str | None:
    """Return `db.r5` of `db.r5.2xlarge`; `db.serverless` has no size."""
    name = row.db_class or ""
    return (name.rpartition(".")[0] if name.count(".") > 1 else name) or None


_BY: dict[str, Callable[[FleetVerdict], str | None]] = {
    "class": lambda row: row.db_class,
    "family": _family_of_class,
    "engine": lambda row: row.engine,
    "region": lambda row: row.region or None,
    "account": lambda row: row.account or None,
}
