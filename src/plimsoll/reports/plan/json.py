"""
The plan as JSON: the form `plimsoll.plan/1`, described in docs/reference/plan-json.md.

Rule 1: every field is always there; what is not known is null, a price that is not known too.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1; money is in US dollars. Keys are sorted, so equal plans give equal bytes.
"""

from typing import ClassVar, Literal

from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import Cost, Plan
from plimsoll.model.written import Inline
from plimsoll.reports.plan.words import is_observed
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class PlanDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll plan.

    What `plimsoll plan --format json` writes. Every field is always present; null means not known.
    SI units throughout: seconds, bytes, operations, ratios 0–1; money is in US dollars.
    """

    LEFT_OUT: ClassVar = {Cost: ("are_credits_counted",), Instance: ("tags",), Storage: ("additional",)}

    schema: Literal["plimsoll.plan/1"] = "plimsoll.plan/1"
    """Name and version of this form."""
    plan: Inline[Plan]
    is_observed: bool
    """True where the demand was seen: nothing throttled it, and it is not multiplied by more than
    1. Where it is false, a zero in `minutes_at_ceiling` means that none was found, not that
    there would be none."""


def render_plan_json(plan: Plan) -> bytes:
    """Return the plan as JSON."""
    return json_bytes(PlanDocument(plan=plan, is_observed=is_observed(plan)))
