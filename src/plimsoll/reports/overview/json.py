"""
Many instances as JSON, schema `plimsoll.overview/1` (schema/overview.schema.json, reference page
docs/reference/overview-json.md).

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal overviews give equal bytes.
"""

from typing import Any

import msgspec

from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import (
    BoundTime,
    Left,
    Nearest,
    Overview,
    OverviewRow,
    Unread,
    Usage,
    WaitingTime,
)
from plimsoll.reports.overview.outline import failed_groups, headline
from plimsoll.reports.render import words
from plimsoll.units import format_time

SCHEMA = "plimsoll.overview/1"


def render_overview_json(overview: Overview) -> bytes:
    """The overview as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(_document(overview), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def _document(overview: Overview) -> dict[str, Any]:
    ranked = list(enumerate(overview.ranked, start=1))
    return {
        "schema": SCHEMA,
        "headline": headline(overview),
        "source": overview.source,
        "window": _window(overview.window_s),
        "is_simulated": any(row.is_simulated for row in overview.rows),
        "stopped": overview.stopped or None,
        "counts": _counts(overview),
        "rows": [_row(row, rank) for rank, row in ranked if isinstance(row, OverviewRow)],
        "unread": [_unread(item, rank) for rank, item in ranked if isinstance(item, Unread)],
        "failed": [
            {"reason": reason, "remedy": remedy, "identifiers": sorted(names)}
            for (reason, remedy), names in sorted(failed_groups(overview).items())
        ],
        "usage": _asked(overview.usage) if overview.usage else None,
        "cost_usd": None if overview.usd is None else float(overview.usd),
    }


def _counts(overview: Overview) -> dict[str, int]:
    rows = overview.rows
    return {
        "instances": len(rows) + len(overview.unread),
        **{verdict.value: sum(row.verdict is verdict for row in rows) for verdict in Verdict},
        "binds_now": sum(row.now is not None for row in rows),
        "unread": len(overview.unread),
    }


def _window(window_s: tuple[int, int]) -> dict[str, Any]:
    start_s, end_s = window_s
    return {
        "start": format_time(start_s),
        "end": format_time(end_s),
        "duration_s": end_s - start_s,
    }


def _row(row: OverviewRow, rank: int) -> dict[str, Any]:
    instance = row.instance
    return {
        "rank": rank,
        "identifier": instance.identifier,
        "db_class": instance.db_class,
        "engine": instance.engine,
        "engine_version": instance.engine_version,
        "region": instance.region,
        "storage": words.storage(instance),
        "pending": list(instance.pending),
        "window": _window(row.window_s),
        "step_s": row.step_s,
        "measured_s": row.measured_s,
        "expected_s": row.expected_s,
        "ends_early": row.ends_early,
        "is_simulated": row.is_simulated,
        "verdict": row.verdict.value,
        "is_bound_now": row.now is not None,
        "binding": _bound(row.binding) if row.binding else None,
        "now": _bound(row.now) if row.now else None,
        "nearest": _nearest(row.nearest) if row.nearest else None,
        "credits_left": _left(row.credits_left) if row.credits_left else None,
        "space_left": _left(row.space_left) if row.space_left else None,
        "waiting": _waiting(row.waiting) if row.waiting else None,
        "latency_ratio": row.latency_ratio,
        "gaps": [{"name": m.name, "hides": m.hides, "remedy": m.remedy} for m in row.gaps],
        "contexts": list(row.contexts),
    }


def _bound(bound: BoundTime) -> dict[str, Any]:
    return {
        "family": bound.family.value,
        "phase": bound.phase.value,
        "former_phase": bound.former_phase.value if bound.former_phase else None,
        "name": words.limit_name(bound.family, bound.phase, bound.former_phase),
        "value": bound.value,
        "unit": "ops/s" if bound.dimension is Dimension.IOPS else "bytes/s",
        "seconds": bound.seconds,
        "share_ratio": bound.share_ratio,
        "interval_count": bound.interval_count,
        "first": format_time(bound.first_s),
        "last": format_time(bound.last_s),
    }


def _nearest(nearest: Nearest) -> dict[str, Any]:
    return {
        "family": nearest.family.value,
        "name": nearest.name,
        "verdict": nearest.verdict.value,
        "peak_ratio": nearest.peak_ratio,
        "headroom": nearest.headroom,
        "unit": nearest.unit,
    }


def _left(left: Left) -> dict[str, Any]:
    return {"family": left.family.value, "ratio": left.ratio, "empty_in_s": left.empty_in_s}


def _waiting(waiting: WaitingTime) -> dict[str, Any]:
    return {
        "seconds": waiting.seconds,
        "share_ratio": waiting.share_ratio,
        "times": waiting.times,
        "first": format_time(waiting.first_s),
        "last": format_time(waiting.last_s),
        "is_now": waiting.is_now,
        "check": waiting.check,
    }


def _unread(item: Unread, rank: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "identifier": item.identifier,
        "reason": item.reason,
        "remedy": item.remedy,
    }


def _asked(usage: Usage) -> dict[str, Any]:
    return {
        "calls": [{"action": action, "count": count} for action, count in usage.calls],
        "call_count": usage.call_count,
        "metrics_requested": usage.metrics_requested,
    }
