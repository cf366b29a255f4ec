"""
An allowance as JSON: the form `plimsoll.pace/1`, described in docs/reference/pace-json.md.

Rule: every field is always there; what is not known is null. Keys are sorted, so equal allowances give equal
bytes.
"""

from typing import Literal

from plimsoll.model.pace import PaceReport
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class PaceDocument(Document, frozen=True, kw_only=True):
    """
    How fast a batch may go now.

    What `plimsoll pace --format json` writes. Every field is always present; null means not known.
    Seconds, bytes, operations and ratios 0–1.
    """

    schema: Literal["plimsoll.pace/1"] = "plimsoll.pace/1"
    """Name and version of this form."""
    report: Inline[PaceReport]


def render_pace_json(found: PaceReport) -> bytes:
    """Return an allowance as JSON."""
    return json_bytes(PaceDocument(report=found))
