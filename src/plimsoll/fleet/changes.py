"""
What changed between two tables of rows: of the window before, or of an earlier run. A pure function.

Rule: an instance that could not be judged in one of the tables is not compared, because a missing verdict is
neither better nor worse. Shares of time are compared, not seconds, so that windows may differ in length.
"""

from collections.abc import Iterator, Sequence

from plimsoll.fleet.answers import totals_of
from plimsoll.model.fleet import FleetRank, FleetVerdict
from plimsoll.model.fleet_answer import FleetChange, FleetChangeKind, FleetChanges

# Judgements: a smaller difference is one of the days that were measured, not of the instance.
_RATIO_LEAST = 0.01
_RELATIVE_LEAST = 0.25

_Key = tuple[str, str, str]


def changes_of(
    before: Sequence[FleetVerdict],
    after: Sequence[FleetVerdict],
    *,
    named: str,
    window_s: tuple[int, int] | None = None,
    note: str = "",
) -> FleetChanges:
    """
    Return what changed from one table to a later one.

    Args:
        before: rows of the earlier table, one for each instance.
        after: rows of the later table.
        named: what the earlier table is: a clause.
        window_s: epoch seconds [start, end) of the earlier one; None takes what its rows cover.
        note: a sentence why the comparison is not complete.
    """
    old, new = _by_key(before), _by_key(after)
    both = [(old[key], new[key]) for key in sorted(old.keys() & new.keys())]
    unjudged = [pair for pair in both if FleetRank.UNKNOWN in (pair[0].rank, pair[1].rank)]
    found = [change for pair in both for change in _changes(*pair)]
    found += [_change(FleetChangeKind.APPEARED, None, new[k]) for k in sorted(new.keys() - old.keys())]
    found += [_change(FleetChangeKind.GONE, old[k], None) for k in sorted(old.keys() - new.keys())]
    starts = [row.start_s for row in before if row.start_s is not None]
    ends = [row.end_s for row in before if row.end_s is not None]
    return FleetChanges(
        before=named,
        before_window_s=window_s or (min(starts, default=0), max(ends, default=0)),
        totals_before=totals_of(before),
        changes=tuple(sorted(found, key=_order)),
        unjudged_count=len(unjudged),
        note=note,
    )


def _by_key(rows: Sequence[FleetVerdict]) -> dict[_Key, FleetVerdict]:
    return {(row.account, row.region, row.instance): row for row in rows}


def _changes(old: FleetVerdict, new: FleetVerdict) -> Iterator[FleetChange]:
    if old.db_class and new.db_class and old.db_class != new.db_class:
        yield _change(FleetChangeKind.CLASS_CHANGED, old, new)
    if FleetRank.UNKNOWN in (old.rank, new.rank):
        return
    was, is_now = old.rank <= FleetRank.BOUND, new.rank <= FleetRank.BOUND
    if was != is_now:
        yield _change(FleetChangeKind.REACHED if is_now else FleetChangeKind.LEFT, old, new)
    elif was and old.at_ceiling_ratio is not None and new.at_ceiling_ratio is not None:
        more = new.at_ceiling_ratio - old.at_ceiling_ratio
        larger = max(new.at_ceiling_ratio, old.at_ceiling_ratio)
        if abs(more) >= max(_RATIO_LEAST, _RELATIVE_LEAST * larger):
            yield _change(FleetChangeKind.WORSE if more > 0 else FleetChangeKind.BETTER, old, new)


def _change(kind: FleetChangeKind, old: FleetVerdict | None, new: FleetVerdict | None) -> FleetChange:
    row = new or old
    assert row is not None
    return FleetChange(
        kind=kind,
        account=row.account,
        region=row.region,
        instance=row.instance,
        db_class_before=old.db_class if old else None,
        db_class=new.db_class if new else None,
        verdict_before=old.verdict if old else None,
        verdict=new.verdict if new else None,
        family=(new.family if new else None) or (old.family if old else None),
        at_ceiling_ratio_before=old.at_ceiling_ratio if old else None,
        at_ceiling_ratio=new.at_ceiling_ratio if new else None,
    )


def _order(change: FleetChange) -> tuple[float | str, ...]:
    more = (change.at_ceiling_ratio or 0.0) - (change.at_ceiling_ratio_before or 0.0)
    place = (change.instance, change.region, change.account)
    return (list(FleetChangeKind).index(change.kind), -abs(more), *place)
