"""
The comparison as JSON: the form `plimsoll.comparison/1`, described in docs/reference/comparison-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal comparisons give equal bytes.
"""

from plimsoll.model.ceiling import Ceiling
from plimsoll.model.comparison import (
    CeilingPair,
    Comparison,
    ResourcePair,
    SetupChange,
    Side,
    TimePair,
    change_ratio_of,
    difference_of,
)
from plimsoll.model.diagnosis import Diagnosis, Resource
from plimsoll.reports.compare.headline import compare_headline, step_sentence
from plimsoll.reports.compare.json_objects import (
    BindingObject,
    BoughtObject,
    CeilingsObject,
    ComparisonDocument,
    ComparisonNextCeilingObject,
    ComparisonResourceObject,
    HeadroomObject,
    SideObject,
    StepObject,
    TimeAtObject,
)
from plimsoll.reports.render import words
from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll.units import format_time


def render_compare_json(comparison: Comparison) -> bytes:
    """Return the comparison as JSON."""
    document = same_fields(
        ComparisonDocument,
        comparison,
        headline=compare_headline(comparison),
        step=_step(comparison),
        before=_side(comparison.before),
        after=_side(comparison.after),
        bought=tuple(_bought(one) for one in comparison.bought),
        time_at=tuple(_time(pair, comparison) for pair in comparison.time_at),
        ceilings=tuple(_ceilings(pair) for pair in comparison.ceilings),
        headroom=tuple(_headroom(pair) for pair in comparison.headroom),
    )
    return json_bytes(document)


def _step(comparison: Comparison) -> StepObject | None:
    if comparison.step is None:
        return None
    return StepObject(
        result=comparison.step,
        text=step_sentence(comparison),
        lighter_ratio=comparison.lighter_ratio,
        next_command=comparison.next_command or None,
    )


def _side(side: Side) -> SideObject:
    found = side.diagnosis
    start_s, end_s = found.window_s
    following = found.next_ceiling
    return same_fields(
        SideObject,
        found,
        identifier=found.instance.identifier,
        db_class=found.instance.db_class,
        start=format_time(start_s),
        end=format_time(end_s),
        duration_s=end_s - start_s,
        at_ceiling_s=side.at_ceiling_s,
        at_ceiling_ratio=side.at_ceiling_share,
        binding=_binding(found),
        next_ceiling=following and same_fields(ComparisonNextCeilingObject, following),
    )


def _binding(found: Diagnosis) -> BindingObject | None:
    if found.binding is None:
        return None
    ceiling = found.binding.ceiling
    return same_fields(
        BindingObject,
        found.binding,
        former_phase=ceiling.former_phase if ceiling else None,
        ceiling=ceiling.value if ceiling else None,
    )


def _bought(bought: SetupChange) -> BoughtObject:
    if bought.name != "launched_s":
        return same_fields(BoughtObject, bought)
    before, after = (
        format_time(value) if value is not None and not isinstance(value, str) else value
        for value in (bought.before, bought.after)
    )
    return BoughtObject(name="launched", before=before, after=after)


def _time(pair: TimePair, comparison: Comparison) -> TimeAtObject:
    return same_fields(
        TimeAtObject,
        pair,
        before_ratio=comparison.before.share_of(pair.before_s),
        after_ratio=comparison.after.share_of(pair.after_s),
    )


def _ceilings(pair: CeilingPair) -> CeilingsObject:
    before, after = (c.value if c else None for c in (pair.before, pair.after))
    return same_fields(
        CeilingsObject,
        pair,
        before=before,
        after=after,
        difference=difference_of(before, after),
        change_ratio=change_ratio_of(before, after),
        source_before=_source(pair.before),
        source_after=_source(pair.after),
    )


def _source(ceiling: Ceiling | None) -> str | None:
    return words.source_of(ceiling.origin) if ceiling else None


def _headroom(pair: ResourcePair) -> HeadroomObject:
    resource = pair.before or pair.after
    assert resource is not None
    return same_fields(
        HeadroomObject,
        pair,
        name=resource.name,
        unit=resource.unit,
        before=_resource(pair.before),
        after=_resource(pair.after),
    )


def _resource(resource: Resource | None) -> ComparisonResourceObject | None:
    if resource is None:
        return None
    ceiling = resource.ceiling.value if resource.ceiling else None
    return same_fields(ComparisonResourceObject, resource, ceiling=ceiling)
