"""
The comparison as JSON: the form `plimsoll.comparison/1`, described in docs/reference/comparison-json.md.

Keys are sorted, so equal comparisons give equal bytes.
"""

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from plimsoll.model.ceiling import Ceiling
from plimsoll.model.comparison import (
    CeilingPair,
    ComparedUnit,
    Comparison,
    ResourcePair,
    SetupChange,
    Side,
    StepResult,
    TimePair,
    change_ratio_of,
    difference_of,
)
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Resource
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Gap
from plimsoll.model.written import Inline, Moment
from plimsoll.reports.compare.headline import compare_headline, step_sentence
from plimsoll.reports.render import words
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes
from plimsoll.units import format_time


class StepObject(Struct, frozen=True, kw_only=True):
    """The result for the ceiling that bound before."""

    result: StepResult
    """`enough`: at most 1 % of the time after is spent at a ceiling; `enough_for_less`: likewise,
    but less was served than before; `not_seen`: after covers no hour of the day in which before
    was at a ceiling."""
    text: str
    """The same in sentences for people."""
    lighter_ratio: float
    """Share 0–1 by which the mean rate fell, in the dimension of the limit that bound before."""
    next_command: str | None
    """The command that plans the next step; null where none is needed, or it would hold a secret."""


class BindingObject(Struct, frozen=True, kw_only=True):
    """The ceiling that bound for the longest time."""

    at: Inline[CeilingTime]
    ceiling: float | None
    """The documented number; null for a limit of unknown origin."""


class SideObject(Struct, frozen=True, kw_only=True):
    """One window with its result."""

    instance: Inline[Instance]
    diagnosis: Inline[Diagnosis]
    start_s: Moment
    """First moment."""
    end_s: Moment
    """Last moment, not included."""
    duration_s: int
    """Length of the window."""
    at_ceiling_s: float | None
    """Time at any ceiling, two at once counted once; null where the verdict is unknown."""
    at_ceiling_ratio: float | None
    """The same as a share of `measured_s`."""
    binding: BindingObject | None
    """The ceiling that bound for the longest time; null if none did."""
    next_ceiling: Ceiling | None
    """The ceiling that would bind after it at the same I/O size; null if not known."""


class TimeAtObject(Struct, frozen=True, kw_only=True):
    """Time at one limit."""

    pair: Inline[TimePair]
    before_ratio: float | None
    """`before_s` as a share of the measured time."""
    after_ratio: float | None
    """`after_s` as a share of the measured time."""


class CeilingsObject(Struct, frozen=True, kw_only=True):
    """One number of one limit. A fixed rate is paired with a baseline."""

    pair: Inline[CeilingPair]
    before: float | None
    """Its number in the first window; null where there is none, or none is documented."""
    after: float | None
    """Its number in the second window."""
    difference: float | None
    """`after` − `before`."""
    change_ratio: float | None
    """`difference` / `before`."""
    source_before: str | None
    """Document it is from, with the date on which it was read."""
    source_after: str | None
    """Likewise for the second window."""


class ComparisonResourceObject(Struct, frozen=True, kw_only=True):
    """The use of one resource compared with its ceiling."""

    resource: Inline[Resource]
    ceiling: float | None
    """The sustained ceiling; null if not known."""


class HeadroomObject(Struct, frozen=True, kw_only=True):
    """One resource on both sides."""

    pair: Inline[ResourcePair]
    name: str
    """For people: `CPU`, `instance EBS throughput`."""
    unit: ComparedUnit
    """Unit of the numbers of this object."""
    before: ComparisonResourceObject | None
    """In the first window; null where there was no such resource."""
    after: ComparisonResourceObject | None
    """In the second window; null where there was no such resource."""


class ComparisonDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll comparison.

    What `plimsoll compare --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    LEFT_OUT: ClassVar = {
        CeilingTime: ("interval_count", "lookalikes"),
        Comparison: ("lighter_ratio", "next_command", "next_where"),
        Gap: ("is_failed",),
    }
    ONLY: ClassVar = {
        Ceiling: ("family", "phase", "unit", "value"),
        Diagnosis: ("source", "note", "is_simulated", "step_s", "measured_s", "verdict"),
        Instance: ("identifier", "db_class"),
        Resource: ("verdict", "peak", "headroom", "note"),
    }

    schema: Literal["plimsoll.comparison/1"] = "plimsoll.comparison/1"
    """Name and version of this form."""
    headline: str
    """The comparison in one sentence for people."""
    comparison: Inline[Comparison]
    step: StepObject | None
    """Whether the change between the windows was enough; null where no ceiling bound before, a
    side is unknown, or the two are different instances."""
    before: SideObject
    """The first window."""
    after: SideObject
    """The second window."""
    time_at: tuple[TimeAtObject, ...]
    """Time at every limit that a side was at, the longest first."""
    ceilings: tuple[CeilingsObject, ...]
    """Every present limit of either side; legacy ones only where a side was at them."""
    headroom: tuple[HeadroomObject, ...]
    """Every resource, with its verdict on both sides."""


def render_compare_json(comparison: Comparison) -> bytes:
    """Return the comparison as JSON."""
    document = ComparisonDocument(
        headline=compare_headline(comparison),
        comparison=msgspec.structs.replace(comparison, bought=tuple(_bought(one) for one in comparison.bought)),
        step=_step(comparison),
        before=_side(comparison.before),
        after=_side(comparison.after),
        time_at=tuple(
            TimeAtObject(
                pair=pair,
                before_ratio=comparison.before.share_of(pair.before_s),
                after_ratio=comparison.after.share_of(pair.after_s),
            )
            for pair in comparison.time_at
        ),
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
    return SideObject(
        instance=found.instance,
        diagnosis=found,
        start_s=start_s,
        end_s=end_s,
        duration_s=end_s - start_s,
        at_ceiling_s=side.at_ceiling_s,
        at_ceiling_ratio=side.at_ceiling_share,
        binding=None
        if found.binding is None
        else BindingObject(at=found.binding, ceiling=_value(found.binding.ceiling)),
        next_ceiling=found.next_ceiling,
    )


def _bought(bought: SetupChange) -> SetupChange:
    """Return a difference as the report has it: the moment of the launch in words."""
    if bought.name != "launched_s":
        return bought
    before, after = (
        format_time(value) if value is not None and not isinstance(value, str) else value
        for value in (bought.before, bought.after)
    )
    return SetupChange(name="launched", before=before, after=after)


def _ceilings(pair: CeilingPair) -> CeilingsObject:
    before, after = _value(pair.before), _value(pair.after)
    return CeilingsObject(
        pair=pair,
        before=before,
        after=after,
        difference=difference_of(before, after),
        change_ratio=change_ratio_of(before, after),
        source_before=_source(pair.before),
        source_after=_source(pair.after),
    )


def _value(ceiling: Ceiling | None) -> float | None:
    return ceiling.value if ceiling else None


def _source(ceiling: Ceiling | None) -> str | None:
    return words.source_of(ceiling.origin) if ceiling else None


def _headroom(pair: ResourcePair) -> HeadroomObject:
    resource = pair.before or pair.after
    assert resource is not None
    return HeadroomObject(
        pair=pair, name=resource.name, unit=resource.unit, before=_resource(pair.before), after=_resource(pair.after)
    )


def _resource(resource: Resource | None) -> ComparisonResourceObject | None:
    return None if resource is None else ComparisonResourceObject(resource=resource, ceiling=_value(resource.ceiling))
