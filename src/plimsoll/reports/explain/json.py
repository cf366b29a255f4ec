"""
Recorded executions as JSON, the form `plimsoll.explain/1`, and their comparison, the form
`plimsoll.explain-comparison/1`; both are described in docs/reference/explain-json.md.

Rule: every field is always there; what is not known is null.
"""

from typing import Literal

from plimsoll.model.explain import CaptureFile, ExplainComparison
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_text


class ExplainDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll comparison of executions.

    What `plimsoll explain compare --format json` writes; `capture_file` is what `plimsoll explain
    record` saves. Every field is always present; null means not known or does not apply. Seconds,
    blocks and ratios, unrounded.
    """

    schema: Literal["plimsoll.explain-comparison/1"] = "plimsoll.explain-comparison/1"
    """Name and version of this form."""
    comparison: Inline[ExplainComparison]


def render_captures(file: CaptureFile) -> str:
    """Return a recording as JSON."""
    return json_text(file)


def render_explain_json(comparison: ExplainComparison) -> str:
    """Return the comparison as JSON."""
    return json_text(ExplainDocument(comparison=comparison))
