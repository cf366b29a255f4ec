"""
A rehearsal as JSON: the form `plimsoll.rehearsal/1`, described in docs/reference/rehearsal-json.md.

Rule: every field is always there; what is not known is null. Keys are sorted, so equal rehearsals give equal
bytes.
"""

from typing import Literal

from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class RehearsalDocument(Document, frozen=True, kw_only=True):
    """
    How long a load will take, by a sample of its rows.

    What `plimsoll rehearse --format json` writes. Every field is always present; null means not known.
    Seconds, bytes, operations and ratios 0–1.
    """

    schema: Literal["plimsoll.rehearsal/1"] = "plimsoll.rehearsal/1"
    """Name and version of this form."""
    rehearsal: Inline[Rehearsal]


def render_rehearsal_json(found: Rehearsal) -> bytes:
    """Return a rehearsal as JSON."""
    return json_bytes(RehearsalDocument(rehearsal=found))
