"""An inspection as a section of the report's page: each cause with its proof and its commands."""

from typing import Any

from plimsoll.model.cause import Inspection
from plimsoll.reports.document.severity import SEVERITY_SIGNS
from plimsoll.reports.inspect.outline import NEVER_RUN, inspection_outline

_CLASSES = {"critical": "does-not", "warning": "near", "note": "quiet"}
"""Which of the page's accents a severity has."""


def inspection_values(inspection: Inspection | None) -> dict[str, Any]:
    """What the template of the section needs; for None an `inspection` that is None."""
    if inspection is None:
        return {"inspection": None}
    said = inspection_outline(inspection)
    return {
        "inspection": said,
        "cause_signs": SEVERITY_SIGNS,
        "cause_class": _CLASSES,
        "cause_closing": NEVER_RUN if said.has_commands else "",
    }
