"""Every form of JSON report of the lab, as its Struct and as its schema."""

from typing import Any

from plimsoll.reports.schema.forms import schemas
from plimsoll_lab.reports.experiment.json import ExperimentDocument
from plimsoll_lab.reports.failover.json import FailoverDocument
from plimsoll_lab.reports.gate.json import GateStatusDocument
from plimsoll_lab.reports.pooled.json import PooledDocument
from plimsoll_lab.reports.sweep.json import SweepDocument


def lab_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every form by the name of its file."""
    return schemas(
        {
            "experiment": (ExperimentDocument,),
            "failover": (FailoverDocument,),
            "gate-status": (GateStatusDocument,),
            "pooled-cluster": (PooledDocument,),
            "sweep": (SweepDocument,),
        }
    )
