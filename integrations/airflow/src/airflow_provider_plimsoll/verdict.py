"""A diagnosis as a small document for XCom and for messages."""

from datetime import UTC, datetime
from typing import Any


def verdict_of(diagnosis: Any) -> dict[str, Any]:
    """
    Return the verdict of a plimsoll.Diagnosis in JSON's types.

    Rates are bytes/s or operations/s, shares 0–1, moments ISO in UTC.
    """
    binding = diagnosis.binding
    start_s, end_s = diagnosis.window_s
    return {
        "verdict": diagnosis.verdict.value,
        "text": text_of(diagnosis),
        "instance": diagnosis.instance.identifier,
        "window": [_moment(start_s), _moment(end_s)],
        "is_simulated": diagnosis.is_simulated,
        "binding": None
        if binding is None
        else {
            "family": binding.family.value,
            "phase": binding.phase.value,
            "level": binding.level,
            "unit": "ops/s" if binding.dimension.value == "iops" else "bytes/s",
            "share_of_window": binding.seconds / diagnosis.span_s if diagnosis.span_s else None,
        },
        "findings": [
            {"code": one.code, "severity": str(one.severity), "title": one.title} for one in diagnosis.findings
        ],
        "forecasts": [one.text for one in diagnosis.forecasts],
        "missing": [one.name for one in diagnosis.missing],
    }


def text_of(diagnosis: Any) -> str:
    """Return the verdict as one sentence for people."""
    name = diagnosis.instance.identifier or "the database"
    if diagnosis.findings and diagnosis.verdict.value in ("binds", "near"):
        return f"{name}: {diagnosis.findings[0].title}"
    if diagnosis.verdict.value == "unknown":
        missing = ", ".join(one.name for one in diagnosis.missing)
        return f"{name}: no verdict, because metrics are missing" + (f" ({missing})" if missing else "")
    return f"{name}: no limit of the storage was reached"


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
