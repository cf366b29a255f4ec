"""
The diagnosis as JSON: the form `plimsoll.report/1`, described in docs/reference/report-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal diagnoses give equal bytes.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from plimsoll.model.cause import Inspection
from plimsoll.model.ceiling import Ceiling
from plimsoll.model.contained import guarded, guarded_each
from plimsoll.model.diagnosis import BucketFit, CeilingTime, Diagnosis, Interval, Resource, RuledOut
from plimsoll.model.now import open_at, reaches_end
from plimsoll.model.own_event import OwnEventIo, OwnEventsIo
from plimsoll.model.session_load import StatementLoad
from plimsoll.model.snapshot import Annotation
from plimsoll.model.waiting import UnexplainedWaiting
from plimsoll.reports.diagnosis.activity_objects import OwnEventObject, OwnEventsObject, StatementLoadObject
from plimsoll.reports.diagnosis.events import in_order
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.diagnosis.json_objects import (
    AnnotationObject,
    BucketObject,
    CeilingObject,
    CeilingTimeObject,
    IntervalObject,
    NowObject,
    ReportDocument,
    ReportWindowObject,
    ResourceObject,
    RuledOutObject,
    WaitingObject,
)
from plimsoll.reports.inspect.json import inspection_document
from plimsoll.reports.render.json_values import instance_object, json_bytes, same_fields
from plimsoll.units import format_time

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def render_json(diagnosis: Diagnosis, inspection: Inspection | None = None) -> bytes:
    """Return the diagnosis as JSON."""
    binding = diagnosis.binding
    document = same_fields(
        ReportDocument,
        diagnosis,
        headline=guarded("the headline", lambda: headline(diagnosis), diagnosis.verdict.value),
        instance=instance_object(diagnosis.instance),
        window=_window(diagnosis),
        binding=_ceiling_time(binding) if binding else None,
        next_ceiling=_ceiling(diagnosis.next_ceiling),
        intervals=_each("an interval", diagnosis.intervals, lambda one: _interval(one, diagnosis.step_s)),
        time_at=_each("the time at a limit", diagnosis.time_at, _ceiling_time),
        resources=_each("a resource", diagnosis.resources, _resource),
        buckets=_each("a bucket", diagnosis.buckets, _bucket),
        ceilings=_each("a documented ceiling", diagnosis.ceilings, _ceiling),
        now=_now(diagnosis),
        waiting=_each("an interval of waiting", diagnosis.waiting, _waiting),
        annotations=_each("an event", in_order(diagnosis.annotations), _annotation),
        statements=guarded("the statements", lambda: _statements(diagnosis.statements), None),
        own_events=guarded("your events", lambda: _own_events(diagnosis.own_events), None),
        inspection=None if inspection is None else guarded("causes", lambda: inspection_document(inspection), None),
    )
    return json_bytes(document)


def _each(part: str, items: Iterable[_Item], compute: Callable[[_Item], _Made]) -> tuple[_Made, ...]:
    """Return the objects of a list, without those that are lost to an internal error."""
    return tuple(guarded_each(lambda _: part, items, compute))


def _window(diagnosis: Diagnosis) -> ReportWindowObject:
    start_s, end_s = diagnosis.window_s
    return same_fields(
        ReportWindowObject,
        diagnosis,
        start=format_time(start_s),
        end=format_time(end_s),
        duration_s=end_s - start_s,
        asked_s=diagnosis.span_s,
    )


def _annotation(note: Annotation) -> AnnotationObject:
    return same_fields(AnnotationObject, note, time=format_time(note.time_s))


def _ceiling(ceiling: Ceiling | None) -> CeilingObject | None:
    if ceiling is None:
        return None
    origin = ceiling.origin
    return same_fields(
        CeilingObject,
        ceiling,
        source=origin.source,
        read_on=origin.read_on,
        valid_from=origin.valid_from,
        valid_to=origin.valid_to,
    )


def _ceiling_time(at: CeilingTime) -> CeilingTimeObject:
    return same_fields(
        CeilingTimeObject,
        at,
        former_phase=at.ceiling.former_phase if at.ceiling else None,
        ceiling=_ceiling(at.ceiling),
    )


def _interval(interval: Interval, step_s: int) -> IntervalObject:
    return same_fields(
        IntervalObject,
        interval,
        start=format_time(interval.start_s),
        end=format_time(interval.end_s),
        ceiling=_ceiling(interval.ceiling),
        ruled_out=tuple(_ruled_out(one) for one in interval.ruled_out),
        step_s=interval.step_s or step_s,
    )


def _ruled_out(one: RuledOut) -> RuledOutObject:
    return same_fields(RuledOutObject, one, ceiling=_ceiling(one.ceiling))


def _now(diagnosis: Diagnosis) -> NowObject:
    """Return the state at the end of the window, and the end of the last interval or waiting."""
    at = open_at(diagnosis)
    ends = [i.end_s for i in diagnosis.intervals] + [w.end_s for w in diagnosis.waiting]
    return NowObject(
        is_bound=at is not None,
        is_waiting=any(reaches_end(diagnosis, w.end_s) for w in diagnosis.waiting),
        bound=_ceiling_time(at) if at else None,
        last_end=format_time(max(ends)) if ends else None,
    )


def _waiting(one: UnexplainedWaiting) -> WaitingObject:
    return same_fields(WaitingObject, one, start=format_time(one.start_s), end=format_time(one.end_s))


def _resource(resource: Resource) -> ResourceObject:
    return same_fields(ResourceObject, resource, ceiling=_ceiling(resource.ceiling))


def _bucket(bucket: BucketFit) -> BucketObject:
    return same_fields(BucketObject, bucket, grants=tuple(format_time(at) for at in bucket.grant_s))


def _statements(load: StatementLoad | None) -> StatementLoadObject | None:
    if load is None:
        return None
    return same_fields(
        StatementLoadObject,
        load,
        start=format_time(load.start_s),
        end=format_time(load.end_s),
        outside_start=_moment(load.outside_start_s),
        outside_end=_moment(load.outside_end_s),
    )


def _own_events(own: OwnEventsIo | None) -> OwnEventsObject | None:
    if own is None:
        return None
    return same_fields(OwnEventsObject, own, events=tuple(_own_event(e) for e in own.events))


def _own_event(event: OwnEventIo) -> OwnEventObject:
    return same_fields(OwnEventObject, event, start=format_time(event.start_s), end=_moment(event.end_s))


def _moment(epoch_s: int | None) -> str | None:
    return None if epoch_s is None else format_time(epoch_s)
