"""
An inspection as JSON, schema `plimsoll.inspection/1` (schema/inspection.schema.json, reference page
docs/reference/inspection-json.md).

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, ratios 0–1.
        Keys are sorted, so equal inspections give equal bytes.
"""

from typing import Any

import msgspec

from plimsoll.model.cause import Cause, Inspection, Remedy
from plimsoll.reports.inspect.outline import headline
from plimsoll.reports.render.json_values import without_numpy
from plimsoll.units import format_time

INSPECTION_SCHEMA = "plimsoll.inspection/1"


def render_inspection_json(inspection: Inspection) -> bytes:
    """The inspection as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(without_numpy(inspection_document(inspection)), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def inspection_document(inspection: Inspection) -> dict[str, Any]:
    """The inspection as a document of its own, or in a report; it may still hold NaN."""
    ceiling = inspection.ceiling_bytes_per_s
    return {
        "schema": INSPECTION_SCHEMA,
        "headline": headline(inspection),
        "place": inspection.place,
        "version": inspection.version,
        "role": inspection.role,
        "is_standby": inspection.is_standby,
        "window": {
            "start": format_time(inspection.start_s),
            "end": format_time(inspection.end_s),
            "duration_s": inspection.end_s - inspection.start_s,
            "reading_count": inspection.reading_count,
            "glance_count": inspection.glance_count,
        },
        "load": {
            "read_bytes_per_s": inspection.load_read_bytes_per_s,
            "written_bytes_per_s": inspection.load_written_bytes_per_s,
            "is_estimated": inspection.load_is_estimated,
            "unexplained_bytes_per_s": inspection.unexplained_bytes_per_s,
        },
        "ceiling": None
        if ceiling is None
        else {"name": inspection.ceiling_name, "bytes_per_s": ceiling},
        "causes": [_cause(cause) for cause in inspection.causes],
        "missing": [
            {"name": m.name, "hides": m.hides, "remedy": m.remedy} for m in inspection.missing
        ],
        "notes": list(inspection.notes),
        "cost": {
            "query_count": inspection.query_count,
            "received_bytes": inspection.received_bytes,
            "asked_s": inspection.asked_s,
        },
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": cause.kind.value,
        "code": cause.code,
        "severity": cause.severity,
        "subject": cause.subject,
        "title": cause.title,
        "text": cause.text,
        "read_bytes_per_s": cause.read_bytes_per_s,
        "written_bytes_per_s": cause.written_bytes_per_s,
        "is_estimated": cause.is_estimated,
        "share_of_load": cause.share_of_load,
        "share_of_ceiling": cause.share_of_ceiling,
        "evidence": [
            {"kind": e.kind, "text": e.text, "value": e.value, "reference": e.reference}
            for e in cause.evidence
        ],
        "remedies": [_remedy(remedy) for remedy in cause.remedies],
        "refuted_by": cause.refuted_by,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "text": remedy.text,
        "commands": list(remedy.commands),
        "expected": remedy.expected,
    }
