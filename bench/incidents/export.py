"""
Write an incident as the files an engineer would have: metric exports and the description.

JSON is the answer of `aws cloudwatch get-metric-data` (newest first) with that of
`aws rds describe-db-instances`; CSV is long (timestamp, metric, value) or wide (one column per
metric). Values are in CloudWatch's units. The truth is in another folder, which the reader does not see.
"""

import csv
import io
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from incidents.build import Incident
from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS
from plimsoll.model.series import Series
from plimsoll.units import MIB

FORMATS = ("json", "json", "json", "csv-long", "csv-wide")


def format_of(incident: Incident) -> str:
    """Return the format of a seed's files: three in five JSON, the rest CSV."""
    return FORMATS[crc32(f"{incident.family} {incident.seed}".encode()) % len(FORMATS)]


def write(incident: Incident, folder: Path) -> Path:
    """Write `<folder>/<family>-<seed>/…` and `<folder>/truth/<family>-<seed>.json`; return the folder."""
    name = f"{incident.family}-{incident.seed}"
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    series = [s for s in incident.snapshot.series.values() if METRICS[s.metric].cloudwatch]
    kind = format_of(incident)
    if kind == "json":
        (target / "metrics.json").write_text(json.dumps(_metric_data(series), indent=1) + "\n")
    else:
        table = _long(series) if kind == "csv-long" else _wide(series)
        (target / "metrics.csv").write_text(table)
    described = _described(incident.snapshot.instance)
    (target / "instance.json").write_text(json.dumps(described, indent=1) + "\n")
    (folder / "truth").mkdir(exist_ok=True)
    (folder / "truth" / f"{name}.json").write_text(json.dumps(_truth(incident), indent=1) + "\n")
    return target


def _stamp(time_s: int, style: str = "%Y-%m-%dT%H:%M:%S+00:00") -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime(style)


def _shown(series: Series) -> list[float]:
    """Return values in CloudWatch's unit; ten digits remove the error of the division by 0.01."""
    scale = METRICS[series.metric].scale
    return [float(f"{v / scale:.10g}") for v in series.value.tolist()]


def _metric_data(series: list[Series]) -> dict[str, Any]:
    results = [
        {
            "Id": f"m{number}",
            "Label": METRICS[s.metric].cloudwatch,
            "Timestamps": [_stamp(int(t)) for t in s.time_s[::-1]],
            "Values": _shown(s)[::-1],
            "StatusCode": "Complete",
        }
        for number, s in enumerate(series, 1)
    ]
    return {"MetricDataResults": results, "Messages": []}


def _long(series: list[Series]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("timestamp", "metric", "value"))
    for s in series:
        name = METRICS[s.metric].cloudwatch
        for t, v in zip(s.time_s.tolist(), _shown(s), strict=True):
            writer.writerow((_stamp(t, "%Y-%m-%dT%H:%M:%SZ"), name, v))
    return out.getvalue()


def _wide(series: list[Series]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["timestamp", *(METRICS[s.metric].cloudwatch for s in series)])
    columns = [dict(zip(s.time_s.tolist(), _shown(s), strict=True)) for s in series]
    for t in sorted({time for column in columns for time in column}):
        row = [column.get(t, "") for column in columns]
        writer.writerow([_stamp(t, "%Y-%m-%d %H:%M:%S"), *row])
    return out.getvalue()


def _described(instance: Instance) -> dict[str, Any]:
    storage = instance.storage
    bought = storage.provisioned_bytes_per_s
    fields = {
        "DBInstanceIdentifier": instance.identifier,
        "DBInstanceClass": instance.db_class,
        "Engine": instance.engine,
        "DBInstanceStatus": "available",
        "AvailabilityZone": f"{instance.region}a",
        "MultiAZ": instance.multi_az,
        "StorageType": storage.kind,
        "AllocatedStorage": None if storage.size_gib is None else int(storage.size_gib),
        "Iops": None if storage.provisioned_ops_per_s is None else int(storage.provisioned_ops_per_s),
        "StorageThroughput": None if bought is None else round(bought / MIB),
        "InstanceCreateTime": None if instance.launched_s is None else _stamp(instance.launched_s),
    }
    return {"DBInstances": [{k: v for k, v in fields.items() if v is not None}]}


def _truth(incident: Incident) -> dict[str, Any]:
    truth = incident.truth
    return {
        "seed": incident.seed,
        "family": incident.family,
        "is_simulated": True,
        "period_s": truth.period_s,
        "start_s": int(truth.time_s[0]),
        "fraction": [round(float(f), 4) for f in truth.fraction],
        "is_ambiguous": truth.is_ambiguous.tolist(),
        "is_seen": truth.is_seen.tolist(),
        "intervals": [asdict(i) for i in truth.intervals],
    }
