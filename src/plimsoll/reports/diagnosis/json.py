"""
The diagnosis as JSON: the form `plimsoll.report/1`, described in docs/reference/report-json.md.

Keys are sorted, so equal diagnoses give equal bytes.
"""

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from plimsoll.model.cause import Inspection
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import CeilingTime, Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.now import open_at, reaches_end
from plimsoll.model.written import Count, Inline, Moment, Positive
from plimsoll.reports.diagnosis.events import in_order
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.inspect.json import InspectionDocument, inspection_document
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class ReportWindowObject(Struct, frozen=True, kw_only=True):
    """The time that was judged."""

    start_s: Moment
    """First moment."""
    end_s: Moment
    """First moment after it."""
    duration_s: Count
    """Length in seconds."""
    step_s: Count
    """Length of the usual step between samples, in seconds; 0 where storage was not measured."""
    measured_s: Positive
    """Seconds of the window for which storage was measured."""
    asked_s: Count
    """Length of the requested window, in seconds; that of the samples where none was requested."""


class NowObject(Struct, frozen=True, kw_only=True):
    """The state at the end of the window. It does not depend on the time at which the report was made."""

    is_bound: bool
    """Whether a ceiling binds at the end of the window."""
    is_waiting: bool
    """Whether requests wait at the end of the window and no ceiling explains it."""
    bound: CeilingTime | None
    """The ceiling that binds then, with all its time in the window; null if none does."""
    last_end_s: Moment | None
    """End of the last interval at a ceiling or of waiting; null where there was neither."""


class ReportDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll report.

    What `plimsoll diagnose --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    LEFT_OUT: ClassVar = {Diagnosis: ("step_s", "measured_s", "asked_s"), Instance: ("tags",), Storage: ("additional",)}

    schema: Literal["plimsoll.report/1"] = "plimsoll.report/1"
    """Name and version of this form."""
    headline: str
    """The verdict in one sentence for people."""
    window: ReportWindowObject
    """The time that was judged."""
    diagnosis: Inline[Diagnosis]
    now: NowObject
    """The state at the end of the window."""
    inspection: InspectionDocument | None
    """The causes of reads and writes inside the database, as a document of the form
    `plimsoll.inspection/1`; null without `--dsn`."""


def render_json(diagnosis: Diagnosis, inspection: Inspection | None = None) -> bytes:
    """Return the diagnosis as JSON."""
    shown = msgspec.structs.replace(
        diagnosis,
        annotations=tuple(in_order(diagnosis.annotations)),
        intervals=tuple(
            msgspec.structs.replace(one, step_s=one.step_s or diagnosis.step_s) for one in diagnosis.intervals
        ),
    )
    document = ReportDocument(
        headline=guarded("the headline", lambda: headline(diagnosis), diagnosis.verdict.value),
        window=_window(diagnosis),
        diagnosis=shown,
        now=_now(diagnosis),
        inspection=None if inspection is None else guarded("causes", lambda: inspection_document(inspection), None),
    )
    return json_bytes(document)


def _window(diagnosis: Diagnosis) -> ReportWindowObject:
    start_s, end_s = diagnosis.window_s
    return ReportWindowObject(
        start_s=start_s,
        end_s=end_s,
        duration_s=end_s - start_s,
        step_s=diagnosis.step_s,
        measured_s=diagnosis.measured_s,
        asked_s=diagnosis.span_s,
    )


def _now(diagnosis: Diagnosis) -> NowObject:
    """Return the state at the end of the window, and the end of the last interval or waiting."""
    at = open_at(diagnosis)
    ends = [i.end_s for i in diagnosis.intervals] + [w.end_s for w in diagnosis.waiting]
    return NowObject(
        is_bound=at is not None,
        is_waiting=any(reaches_end(diagnosis, w.end_s) for w in diagnosis.waiting),
        bound=at,
        last_end_s=max(ends) if ends else None,
    )
