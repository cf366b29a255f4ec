"""
The limits of an instance as JSON: the form `plimsoll.limits/1`, described in docs/reference/limits-json.md.

Rule: every field is always there; what is not known is null. The dense curve of the sheet is for drawing
and stays out.
"""

from typing import ClassVar, Literal

from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_text


class LimitsDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll limits of an instance.

    What `plimsoll limits --format json` writes. Every field is always present; null means not known
    or does not apply. Bytes, operations, seconds and ratios 0–1, unrounded.
    """

    LEFT_OUT: ClassVar = {Instance: ("tags",), LimitSheet: ("curve", "stages")}
    IS_RAW: ClassVar = True

    schema: Literal["plimsoll.limits/1"] = "plimsoll.limits/1"
    """Name and version of this form."""
    sheet: Inline[LimitSheet]


def render_limits_json(sheet: LimitSheet) -> str:
    """Return the limits of an instance as JSON."""
    return json_text(LimitsDocument(sheet=sheet))
