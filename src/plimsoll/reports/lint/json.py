"""
Findings on a pooler's settings as JSON: the form `plimsoll.lint/1`, described in docs/reference/lint-json.md.

Rule: every field is always there; what is not known or not set is null. Keys are sorted, so equal findings
give equal bytes.
"""

from typing import ClassVar, Literal

from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.lint import PoolerFindings
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class LintDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll findings on a pooler's settings.

    What `plimsoll lint pooler --format json` writes. Every field is always present; null means not
    known or not set.
    """

    LEFT_OUT: ClassVar = {Evidence: ("weight",), Remedy: ("settings",)}
    ONLY: ClassVar = {Cause: ("code", "severity", "title", "text", "evidence", "remedies", "refuted_by")}

    schema: Literal["plimsoll.lint/1"] = "plimsoll.lint/1"
    """Name and version of this form."""
    found: Inline[PoolerFindings]


def render_lint_json(found: PoolerFindings) -> bytes:
    """Return a checked configuration and its findings as JSON."""
    return json_bytes(LintDocument(found=found))
