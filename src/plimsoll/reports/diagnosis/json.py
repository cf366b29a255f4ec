"""
The diagnosis as JSON, schema `plimsoll.report/1` (schema/report.schema.json, reference page
docs/reference/report-json.md).

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1. Keys are sorted, so equal diagnoses give equal bytes.
"""

from typing import Any

import msgspec

from plimsoll.model.cause import Inspection
from plimsoll.model.ceiling import Ceiling
from plimsoll.model.diagnosis import (
    BucketFit,
    CeilingTime,
    Diagnosis,
    Finding,
    Forecast,
    Interval,
    Resource,
)
from plimsoll.model.now import open_at, reaches_end
from plimsoll.model.snapshot import Annotation
from plimsoll.model.waiting import UnexplainedWaiting, WaitingCause
from plimsoll.reports.diagnosis.events import in_order
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.inspect.json import inspection_document
from plimsoll.reports.render.json_values import instance_object, without_numpy
from plimsoll.units import format_time

SCHEMA = "plimsoll.report/1"


def render_json(diagnosis: Diagnosis, inspection: Inspection | None = None) -> bytes:
    """The diagnosis as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(without_numpy(report(diagnosis, inspection)), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def report(diagnosis: Diagnosis, inspection: Inspection | None = None) -> dict[str, Any]:
    """The report as a document; it may still hold NaN and numpy's numbers."""
    start_s, end_s = diagnosis.window_s
    following = diagnosis.next_ceiling
    return {
        "schema": SCHEMA,
        "headline": headline(diagnosis),
        "instance": instance_object(diagnosis.instance),
        "window": {
            "start": format_time(start_s),
            "end": format_time(end_s),
            "duration_s": end_s - start_s,
            "step_s": diagnosis.step_s,
            "measured_s": diagnosis.measured_s,
            "asked_s": diagnosis.span_s,
        },
        "is_simulated": diagnosis.is_simulated,
        "source": diagnosis.source,
        "note": diagnosis.note,
        "verdict": diagnosis.verdict.value,
        "binding": _ceiling_time(diagnosis.binding) if diagnosis.binding else None,
        "next_ceiling": _ceiling(following) if following else None,
        "intervals": [_interval(i, diagnosis.step_s) for i in diagnosis.intervals],
        "time_at": [_ceiling_time(t) for t in diagnosis.time_at],
        "resources": [_resource(r) for r in diagnosis.resources],
        "buckets": [_bucket(b) for b in diagnosis.buckets],
        "forecasts": [_forecast(f) for f in diagnosis.forecasts],
        "findings": [_finding(f) for f in diagnosis.findings],
        "missing": [
            {"name": m.name, "hides": m.hides, "remedy": m.remedy} for m in diagnosis.missing
        ],
        "ceilings": [_ceiling(c) for c in diagnosis.ceilings],
        "now": _now(diagnosis),
        "waiting": [_waiting(w) for w in diagnosis.waiting],
        "waiting_causes": [_cause(c) for c in diagnosis.waiting_causes],
        "annotations": [_annotation(a) for a in in_order(diagnosis.annotations)],
        "inspection": None
        if inspection is None
        else msgspec.to_builtins(inspection_document(inspection)),
    }


def _annotation(note: Annotation) -> dict[str, Any]:
    return {"time": format_time(note.time_s), "kind": note.kind.value, "text": note.text}


def _ceiling(ceiling: Ceiling) -> dict[str, Any]:
    return {
        "family": ceiling.family.value,
        "phase": ceiling.phase.value,
        "former_phase": ceiling.former_phase.value if ceiling.former_phase else None,
        "dimension": ceiling.dimension.value,
        "value": ceiling.value,
        "unit": ceiling.unit,
        "source": ceiling.origin.source,
        "read_on": ceiling.origin.read_on,
        "valid_from": ceiling.origin.valid_from,
        "valid_to": ceiling.origin.valid_to,
        "balance_metric": ceiling.balance_metric.value if ceiling.balance_metric else None,
        "capacity_low": ceiling.capacity_low,
        "capacity_high": ceiling.capacity_high,
        "note": ceiling.note,
    }


def _ceiling_time(at: CeilingTime) -> dict[str, Any]:
    former = at.ceiling.former_phase if at.ceiling else None
    return {
        "family": at.family.value,
        "phase": at.phase.value,
        "former_phase": former.value if former else None,
        "dimension": at.dimension.value,
        "level": at.level,
        "seconds": at.seconds,
        "interval_count": at.interval_count,
        "ceiling": _ceiling(at.ceiling) if at.ceiling else None,
        "lookalikes": [
            {"text": one.text, "flags": one.flags, "value": one.value} for one in at.lookalikes
        ],
    }


def _interval(interval: Interval, step_s: int) -> dict[str, Any]:
    return {
        "start": format_time(interval.start_s),
        "end": format_time(interval.end_s),
        "dimension": interval.dimension.value,
        "level": interval.level,
        "level_low": interval.level_low,
        "level_high": interval.level_high,
        "family": interval.family.value,
        "phase": interval.phase.value,
        "former_phase": interval.former_phase.value if interval.former_phase else None,
        "ceiling": _ceiling(interval.ceiling) if interval.ceiling else None,
        "confidence": interval.confidence,
        "attribution": interval.attribution,
        "io_size_bytes": interval.io_size_bytes,
        "latency_s": interval.latency_s,
        "latency_reference_s": interval.latency_reference_s,
        "queue_depth": interval.queue_depth,
        "evidence": [
            {
                "kind": e.kind,
                "text": e.text,
                "value": e.value,
                "reference": e.reference,
                "weight": e.weight,
            }
            for e in interval.evidence
        ],
        "ruled_out": [
            {"ceiling": _ceiling(r.ceiling), "reason": r.reason} for r in interval.ruled_out
        ],
        "refuted_by": interval.refuted_by,
        "step_s": interval.step_s or step_s,
        "context": interval.context,
    }


def _now(diagnosis: Diagnosis) -> dict[str, Any]:
    """What holds at the end of the window, and when the last interval or waiting ended."""
    at = open_at(diagnosis)
    ends = [i.end_s for i in diagnosis.intervals] + [w.end_s for w in diagnosis.waiting]
    return {
        "is_bound": at is not None,
        "is_waiting": any(reaches_end(diagnosis, w.end_s) for w in diagnosis.waiting),
        "bound": _ceiling_time(at) if at else None,
        "last_end": format_time(max(ends)) if ends else None,
    }


def _waiting(one: UnexplainedWaiting) -> dict[str, Any]:
    return {
        "start": format_time(one.start_s),
        "end": format_time(one.end_s),
        "waiting_s": one.waiting_s,
        "times": one.times,
        "latency_s": one.latency_s,
        "latency_reference_s": one.latency_reference_s,
        "queue_depth": one.queue_depth,
        "bytes_per_s": one.bytes_per_s,
        "ops_per_s": one.ops_per_s,
        "io_size_bytes": one.io_size_bytes,
        "shares": [
            {
                "family": s.family.value,
                "phase": s.phase.value,
                "value": s.value,
                "ratio": s.ratio,
            }
            for s in one.shares
        ],
    }


def _cause(cause: WaitingCause) -> dict[str, Any]:
    return {
        "code": cause.code,
        "text": cause.text,
        "check": cause.check,
        "has_evidence": cause.has_evidence,
    }


def _resource(resource: Resource) -> dict[str, Any]:
    return {
        "family": resource.family.value,
        "name": resource.name,
        "verdict": resource.verdict.value,
        "unit": resource.unit,
        "ceiling": _ceiling(resource.ceiling) if resource.ceiling else None,
        "peak": resource.peak,
        "p99": resource.p99,
        "mean": resource.mean,
        "minutes_above_80": resource.minutes_above_80,
        "headroom": resource.headroom,
        "note": resource.note,
    }


def _bucket(bucket: BucketFit) -> dict[str, Any]:
    return {
        "family": bucket.family.value,
        "baseline": bucket.baseline,
        "baseline_se": bucket.baseline_se,
        "capacity": bucket.capacity,
        "capacity_se": bucket.capacity_se,
        "sample_count": bucket.sample_count,
        "residual_ratio": bucket.residual_ratio,
        "is_reliable": bucket.is_reliable,
        "grants": [format_time(at) for at in bucket.grant_s],
        "grant_clock": bucket.grant_clock,
        "text": bucket.text,
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    return {
        "family": forecast.family.value,
        "balance_ratio": forecast.balance_ratio,
        "change_per_s": forecast.change_per_s,
        "empty_in_s": forecast.empty_in_s,
        "empty_in_s_low": forecast.empty_in_s_low,
        "empty_in_s_high": forecast.empty_in_s_high,
        "text": forecast.text,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "title": finding.title,
        "text": finding.text,
        "moves": list(finding.moves),
    }
