"""Write an incident as the folder that `aws cloudwatch get-metric-data` produces."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS
from plimsoll.model.series import Series
from plimsoll.units import MIB

if TYPE_CHECKING:
    from rival.generate import Incident


def write(made: "Incident", folder: Path) -> None:
    """Write get-metric-data.json, describe-db-instances.json and truth.json into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    results = [_result(index, series) for index, series in enumerate(made.snapshot.series.values())]
    _dump(folder / "get-metric-data.json", {"MetricDataResults": results, "Messages": []})
    described = {"DBInstances": [_described(made.snapshot.instance)]}
    _dump(folder / "describe-db-instances.json", described)
    _dump(folder / "truth.json", truth_of(made))


def truth_of(made: "Incident") -> dict[str, Any]:
    """Return the truth as JSON."""
    return {
        "simulated": True,
        "kind": made.name,
        "note": made.note,
        "step_s": made.step_s,
        "start_s": int(made.time_s[0]),
        "throttled": [None if np.isnan(v) else round(float(v), 4) for v in made.throttled],
        "intervals": [
            {
                "start_s": i.start_s,
                "end_s": i.end_s,
                "dimension": i.dimension,
                "level": i.level,
                "family": i.family,
                "phase": i.phase,
            }
            for i in made.intervals
        ],
    }


def _dump(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")


def _stamp(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat()


def _result(index: int, series: Series) -> dict[str, Any]:
    facts = METRICS[series.metric]
    # The API answers newest first, and has no number for a missing sample.
    pairs = [
        (int(t), float(v) / facts.scale)
        for t, v in zip(series.time_s[::-1], series.value[::-1], strict=True)
        if not np.isnan(v)
    ]
    return {
        "Id": f"m{index}",
        "Label": facts.cloudwatch,
        "Timestamps": [_stamp(t) for t, _ in pairs],
        "Values": [float(f"{v:.12g}") for _, v in pairs],
        "StatusCode": "Complete",
    }


def _described(instance: Instance) -> dict[str, Any]:
    storage = instance.storage
    described: dict[str, Any] = {
        "DBInstanceIdentifier": instance.identifier,
        "DBInstanceClass": instance.db_class,
        "Engine": instance.engine,
        "EngineVersion": instance.engine_version,
        "DBInstanceStatus": "available",
        "AllocatedStorage": int(storage.size_gib or 0),
        "InstanceCreateTime": _stamp(instance.launched_s or 0),
        "AvailabilityZone": f"{instance.region}a",
        "MultiAZ": instance.multi_az,
        "StorageType": storage.kind,
    }
    if storage.provisioned_ops_per_s is not None:
        described["Iops"] = int(storage.provisioned_ops_per_s)
    if storage.provisioned_bytes_per_s is not None:
        described["StorageThroughput"] = round(storage.provisioned_bytes_per_s / MIB)
    return described
