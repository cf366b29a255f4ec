"""
The comparison as JSON, schema `plimsoll.comparison/1` (schema/comparison.schema.json, reference page
docs/reference/comparison-json.md).

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal comparisons give equal bytes.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from plimsoll.model.ceiling import Ceiling
from plimsoll.model.comparison import (
    Bought,
    CeilingPair,
    Comparison,
    Quantity,
    ResourcePair,
    SharedHours,
    Side,
    TimePair,
    change_ratio_of,
    difference_of,
)
from plimsoll.model.diagnosis import Resource
from plimsoll.model.snapshot import Gap
from plimsoll.reports.compare.headline import compare_headline, step_sentence
from plimsoll.units import format_time

COMPARISON_SCHEMA = "plimsoll.comparison/1"


def render_compare_json(comparison: Comparison) -> bytes:
    """The comparison as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(comparison_document(comparison), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a document; it may still hold NaN."""
    shared = comparison.shared_hours
    return {
        "schema": COMPARISON_SCHEMA,
        "headline": compare_headline(comparison),
        "outcome": comparison.outcome.value,
        "step": _step(comparison),
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "bought": [_bought(b) for b in comparison.bought],
        "time_at": [_time(t, comparison) for t in comparison.time_at],
        "quantities": _quantities(comparison.quantities),
        "ceilings": [_ceilings(c) for c in comparison.ceilings],
        "headroom": [_resources(r) for r in comparison.headroom],
        "shared_hours": _shared_hours(shared) if shared else None,
        "caveats": [{"kind": c.kind, "text": c.text} for c in comparison.caveats],
    }


def _step(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.step is None:
        return None
    return {
        "result": comparison.step.value,
        "text": step_sentence(comparison),
        "lighter_ratio": comparison.lighter_ratio,
        "next_command": comparison.next_command or None,
    }


def _side(side: Side) -> dict[str, Any]:
    found = side.diagnosis
    start_s, end_s = found.window_s
    binding = found.binding
    return {
        "identifier": found.instance.identifier,
        "db_class": found.instance.db_class,
        "source": found.source,
        "note": found.note,
        "is_simulated": found.is_simulated,
        "start": format_time(start_s),
        "end": format_time(end_s),
        "duration_s": end_s - start_s,
        "step_s": found.step_s,
        "measured_s": found.measured_s,
        "verdict": found.verdict.value,
        "at_ceiling_s": side.at_ceiling_s,
        "at_ceiling_ratio": side.at_ceiling_share,
        "binding": binding
        and {
            "family": binding.family.value,
            "phase": binding.phase.value,
            "former_phase": _former(binding.ceiling),
            "dimension": binding.dimension.value,
            "level": binding.level,
            "ceiling": binding.ceiling.value if binding.ceiling else None,
            "seconds": binding.seconds,
        },
        "next_ceiling": found.next_ceiling
        and {
            "family": found.next_ceiling.family.value,
            "phase": found.next_ceiling.phase.value,
            "unit": found.next_ceiling.unit,
            "value": found.next_ceiling.value,
        },
    }


def _former(ceiling: Ceiling | None) -> str | None:
    return ceiling.former_phase.value if ceiling and ceiling.former_phase else None


def _bought(bought: Bought) -> dict[str, Any]:
    values = [
        format_time(value)
        if bought.name == "launched_s" and value is not None and not isinstance(value, str)
        else value
        for value in (bought.before, bought.after)
    ]
    name = "launched" if bought.name == "launched_s" else bought.name
    return {"name": name, "before": values[0], "after": values[1]}


def _time(pair: TimePair, comparison: Comparison) -> dict[str, Any]:
    return {
        "family": pair.family.value,
        "phase": pair.phase.value,
        "former_phase": pair.former_phase.value if pair.former_phase else None,
        "dimension": pair.dimension.value,
        "before_s": pair.before_s,
        "after_s": pair.after_s,
        "before_ratio": comparison.before.share_of(pair.before_s),
        "after_ratio": comparison.after.share_of(pair.after_s),
        "level_before": pair.level_before,
        "level_after": pair.level_after,
    }


def _quantities(quantities: Iterable[Quantity]) -> list[dict[str, Any]]:
    return [
        {
            "subject": q.subject.value,
            "statistic": q.statistic.value,
            "unit": q.unit,
            "before": q.before,
            "after": q.after,
            "difference": q.difference,
            "change_ratio": q.change_ratio,
            "gaps_before": [_gap(gap) for gap in q.gaps_before],
            "gaps_after": [_gap(gap) for gap in q.gaps_after],
        }
        for q in quantities
    ]


def _gap(gap: Gap) -> dict[str, str]:
    return {"metric": gap.metric, "reason": gap.reason, "remedy": gap.remedy}


def _ceilings(pair: CeilingPair) -> dict[str, Any]:
    before, after = (c.value if c else None for c in (pair.before, pair.after))
    return {
        "family": pair.family.value,
        "phase": pair.phase.value,
        "former_phase": pair.former_phase.value if pair.former_phase else None,
        "dimension": pair.dimension.value,
        "unit": pair.unit,
        "before": before,
        "after": after,
        "difference": difference_of(before, after),
        "change_ratio": change_ratio_of(before, after),
        "source_before": _source(pair.before),
        "source_after": _source(pair.after),
    }


def _source(ceiling: Ceiling | None) -> str | None:
    return f"{ceiling.origin.source}, read {ceiling.origin.read_on}" if ceiling else None


def _resources(pair: ResourcePair) -> dict[str, Any]:
    resource = pair.before or pair.after
    assert resource is not None
    return {
        "family": pair.family.value,
        "name": resource.name,
        "unit": resource.unit,
        "before": _resource(pair.before),
        "after": _resource(pair.after),
    }


def _resource(resource: Resource | None) -> dict[str, Any] | None:
    if resource is None:
        return None
    return {
        "verdict": resource.verdict.value,
        "ceiling": resource.ceiling.value if resource.ceiling else None,
        "peak": resource.peak,
        "headroom": resource.headroom,
        "note": resource.note,
    }


def _shared_hours(shared: SharedHours) -> dict[str, Any]:
    return {
        "hours": list(shared.hours),
        "at_ceiling_before": shared.at_ceiling_before,
        "at_ceiling_after": shared.at_ceiling_after,
        "quantities": _quantities(shared.quantities),
    }
