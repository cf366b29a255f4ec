"""
Many instances as JSON: the form `plimsoll.overview/1`, described in docs/reference/overview-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal overviews give equal bytes.
"""

from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import BoundTime, Overview, OverviewRow, UnreadInstance, Usage, WaitingTime
from plimsoll.reports.overview.document import failed_groups, headline
from plimsoll.reports.overview.json_objects import (
    BoundObject,
    CallObject,
    CountsObject,
    FailedObject,
    OverviewDocument,
    OverviewWaitingObject,
    RowObject,
    UnreadObject,
    UsageObject,
)
from plimsoll.reports.render import words
from plimsoll.reports.render.json_values import json_bytes, same_fields, window_object
from plimsoll.units import format_time


def render_overview_json(overview: Overview) -> bytes:
    """Return the overview as JSON."""
    ranked = list(enumerate(overview.ranked, start=1))
    document = OverviewDocument(
        headline=headline(overview),
        source=overview.source,
        window=window_object(overview.window_s),
        is_simulated=any(row.is_simulated for row in overview.rows),
        stopped=overview.stopped or None,
        counts=_counts(overview),
        rows=tuple(_row(row, rank) for rank, row in ranked if isinstance(row, OverviewRow)),
        unread=tuple(
            same_fields(UnreadObject, item, rank=rank) for rank, item in ranked if isinstance(item, UnreadInstance)
        ),
        failed=tuple(
            FailedObject(reason=reason, remedy=remedy, identifiers=tuple(sorted(names)))
            for (reason, remedy), names in sorted(failed_groups(overview).items())
        ),
        usage=_asked(overview.usage) if overview.usage else None,
        cost_usd=None if overview.usd is None else float(overview.usd),
    )
    return json_bytes(document)


def _counts(overview: Overview) -> CountsObject:
    rows = overview.rows
    return CountsObject(
        instances=len(rows) + len(overview.unread),
        **{verdict.value: sum(row.verdict is verdict for row in rows) for verdict in Verdict},
        binds_now=sum(row.now is not None for row in rows),
        unread=len(overview.unread),
    )


def _row(row: OverviewRow, rank: int) -> RowObject:
    instance = row.instance
    return same_fields(
        RowObject,
        row,
        rank=rank,
        identifier=instance.identifier,
        db_class=instance.db_class,
        engine=instance.engine,
        engine_version=instance.engine_version,
        region=instance.region,
        storage=words.storage(instance),
        pending=instance.pending,
        window=window_object(row.window_s),
        is_bound_now=row.now is not None,
        binding=_bound(row.binding) if row.binding else None,
        now=_bound(row.now) if row.now else None,
        waiting=_waiting(row.waiting) if row.waiting else None,
    )


def _bound(bound: BoundTime) -> BoundObject:
    return same_fields(
        BoundObject,
        bound,
        name=words.limit_name(bound.family, bound.phase, bound.former_phase),
        unit="ops/s" if bound.dimension is Dimension.IOPS else "bytes/s",
        first=format_time(bound.first_s),
        last=format_time(bound.last_s),
    )


def _waiting(waiting: WaitingTime) -> OverviewWaitingObject:
    return same_fields(
        OverviewWaitingObject, waiting, first=format_time(waiting.first_s), last=format_time(waiting.last_s)
    )


def _asked(usage: Usage) -> UsageObject:
    calls = tuple(CallObject(action=action, count=count) for action, count in usage.calls)
    return same_fields(UsageObject, usage, calls=calls)
