"""Every form of JSON report, as its Struct and as its schema."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from plimsoll.model.explain import CaptureFile
from plimsoll.reports.alarm.json import AlarmsDocument
from plimsoll.reports.compare.json import ComparisonDocument
from plimsoll.reports.diagnosis.json import ReportDocument
from plimsoll.reports.explain.json import ExplainDocument
from plimsoll.reports.fleet.json import FleetDocument
from plimsoll.reports.infrastructure.json import InfrastructureDocument
from plimsoll.reports.inspect.json import InspectionDocument
from plimsoll.reports.limits.json import LimitsDocument
from plimsoll.reports.lint.json import LintDocument
from plimsoll.reports.overview.json import OverviewDocument
from plimsoll.reports.pace.json import PaceDocument
from plimsoll.reports.plan.json import PlanDocument
from plimsoll.reports.pool_size.json import PoolSizeDocument
from plimsoll.reports.rehearse.json import RehearsalDocument
from plimsoll.reports.schema.describe import schema_of
from plimsoll.reports.schema.layout import laid_out
from plimsoll.reports.toast.json import ToastProofDocument

Documents = Mapping[str, tuple[type[Struct], ...]]
"""By the name of its file; each with what else its schema defines."""

_DOCUMENTS: Documents = {
    "alarms": (AlarmsDocument,),
    "comparison": (ComparisonDocument,),
    "explain": (ExplainDocument, CaptureFile),
    "fleet": (FleetDocument,),
    "infrastructure": (InfrastructureDocument,),
    "inspection": (InspectionDocument,),
    "limits": (LimitsDocument,),
    "lint": (LintDocument,),
    "overview": (OverviewDocument,),
    "pace": (PaceDocument,),
    "plan": (PlanDocument,),
    "pool-size": (PoolSizeDocument,),
    "rehearsal": (RehearsalDocument,),
    "report": (ReportDocument,),
    "toast-proof": (ToastProofDocument,),
}


def schemas(documents: Documents = _DOCUMENTS) -> dict[str, dict[str, Any]]:
    """Return the schema of every form by the name of its file: `lint`, `pool-size` …."""
    return {name: schema_of(*structs) for name, structs in documents.items()}


def schema_text(schema: dict[str, Any]) -> str:
    """Return the text of a schema's file."""
    return laid_out(schema) + "\n"
