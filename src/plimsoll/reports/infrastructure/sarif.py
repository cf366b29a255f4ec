"""
Findings on declared databases as SARIF 2.1.0, for code scanning.

Source: OASIS, Static Analysis Results Interchange Format Version 2.1.0; GitHub, SARIF support for code scanning
(read 2026-11-27).
"""

import hashlib
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from plimsoll import __version__
from plimsoll.model.infrastructure import STANDARD_INPUT, ChangeEffect, DeclaredFinding, InfrastructureFindings
from plimsoll.reports.infrastructure.document import EFFECT_TEXTS

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"critical": "error", "warning": "warning", "note": "note"}
# A plan compares with what there is now; a template does not, and has no such state.
_BASELINE = {ChangeEffect.INTRODUCES: "new", ChangeEffect.WORSENS: "updated", ChangeEffect.KEEPS: "unchanged"}


def render_sarif(found: InfrastructureFindings) -> bytes:
    """Return the findings as a SARIF log with one run; keys are sorted, so equal findings give equal bytes."""
    places = {rule.code: place for place, rule in enumerate(found.rules)}
    # A run has states for all of its results or for none.
    is_compared = all(one.effect in _BASELINE for one in found.findings)
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Plimsoll",
                        "semanticVersion": __version__,
                        "rules": [
                            {
                                "id": rule.code,
                                "name": rule.code,
                                "shortDescription": {"text": rule.summary},
                                "fullDescription": {"text": rule.summary},
                                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                                "help": {"text": f"{rule.summary} See: plimsoll docs lint-infrastructure"},
                            }
                            for rule in found.rules
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, places, is_compared) for one in found.findings],
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {"level": "note", "message": {"text": note}} for note in found.notes
                        ],
                    }
                ],
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(log, order="sorted"), indent=2) + b"\n"


def _result(one: DeclaredFinding, places: dict[str, int], is_compared: bool) -> dict[str, Any]:
    said = [f"{one.title}.", one.text, EFFECT_TEXTS[one.effect], one.price_text]
    said += [f"Source: {fact.text} ({fact.source}, {fact.read_on})." for fact in one.facts]
    said += [remedy.text for remedy in one.remedies]
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": places[one.code],
        "level": _LEVELS[one.severity],
        "message": {"text": " ".join(part for part in said if part)},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _uri(one.file)}, "region": {"startLine": one.line}},
                "logicalLocations": [{"fullyQualifiedName": one.address, "kind": "resource"}],
            }
        ],
        # The number in a title may change from commit to commit; the finding stays the same one.
        "partialFingerprints": {"plimsollFinding/v1": _fingerprint(one)},
        "properties": {"effect": one.effect.value},
    }
    if one.usd_per_month is not None:
        result["properties"]["usdPerMonth"] = round(float(one.usd_per_month), 2)
    if is_compared:
        result["baselineState"] = _BASELINE[one.effect]
    return result


def _fingerprint(one: DeclaredFinding) -> str:
    return hashlib.sha256(f"{one.code}\n{one.file}\n{one.address}".encode()).hexdigest()[:32]


def _uri(file: str) -> str:
    if file == STANDARD_INPUT:
        return "stdin"
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
