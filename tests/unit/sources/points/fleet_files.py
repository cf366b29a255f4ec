"""Files of many instances, for tests: tables, range exports, and descriptions."""

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from unit.app.lake.streams import START_S, record

INSTANCES = ("orders", "billing", "search")
SIZES = {"ReadIOPS": 1.0, "ReadThroughput": 8192.0, "ReadLatency": 1e-5}
"""Possible sizes and latencies of the operations, else the table is taken to have other units."""


def records(minutes: int = 3) -> list[dict]:
    """Records of three instances, and totals that are no instance."""
    found = [
        record(metric, minute, size * (100.0 * (place + 1) + minute), instance)
        for minute in range(minutes)
        for place, instance in enumerate(INSTANCES)
        for metric, size in SIZES.items()
    ]
    total = record("ReadIOPS", 0, 5.0) | {"dimensions": {"DatabaseClass": "db.r5.large"}}
    return [*found, total]


def firehose(dimensions: pa.DataType, time: pa.DataType) -> pa.Table:
    """Records as the conversion of Firehose writes them, by a table of Glue, with names in lower case."""
    value = pa.struct([(name, pa.float64()) for name in ("max", "min", "sum", "count")])
    columns = {
        name: pa.array([r[name] for r in records()])
        for name in ("metric_stream_name", "account_id", "region", "namespace", "metric_name")
    }
    found = [r["dimensions"] for r in records()]
    if pa.types.is_struct(dimensions):
        found = [{name.lower(): value for name, value in one.items()} for one in found]
    elif pa.types.is_map(dimensions):
        found = [list(one.items()) for one in found]
    else:
        found = [json.dumps(one) for one in found]
    columns["dimensions"] = pa.array(found, dimensions)
    times = pa.array([r["timestamp"] for r in records()])
    columns["timestamp"] = times.cast(pa.timestamp("ms")).cast(time) if time != pa.int64() else times
    columns["value"] = pa.array([r["value"] for r in records()], value)
    columns["unit"] = pa.array([r["unit"] for r in records()])
    return pa.table(columns)


DIMENSIONS = {
    "map": pa.map_(pa.string(), pa.string()),
    "struct": pa.struct([(n, pa.string()) for n in ("databaseclass", "dbinstanceidentifier", "volumename")]),
    "text": pa.string(),
}


def long_table() -> pa.Table:
    rows = [r for r in records() if "DBInstanceIdentifier" in r["dimensions"]]
    return pa.table(
        {
            "account_id": [r["account_id"] for r in rows],
            "region": [r["region"] for r in rows],
            "instance": [r["dimensions"]["DBInstanceIdentifier"] for r in rows],
            "metric": [r["metric_name"] for r in rows],
            "time": [r["timestamp"] // 1000 for r in rows],
            "value": [r["value"]["sum"] / r["value"]["count"] for r in rows],
        }
    )


def wide_table() -> pa.Table:
    frame = pl.DataFrame(long_table()).pivot(
        on="metric", index=["account_id", "region", "instance", "time"], values="value"
    )
    return frame.to_arrow()


YACE = {"account_id": "123456789012", "region": "eu-central-1"}


def yace(metric: str, instance: str) -> dict[str, str]:
    """Labels of yet-another-cloudwatch-exporter."""
    name = {"__name__": f"aws_rds_{metric}", "dimension_DBInstanceIdentifier": instance}
    return name | YACE


def cloudwatch(metric: str, instance: str) -> dict[str, str]:
    """Labels of cloudwatch_exporter."""
    return {"__name__": f"aws_rds_{metric}", "dbinstance_identifier": instance, "job": "aws_rds"}


def matrix(path: Path, rows: list[tuple[dict[str, str], list[float]]]) -> Path:
    """An answer of /api/v1/query_range with one value a minute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    result = [
        {"metric": labels, "values": [[START_S + 60 * i, str(v)] for i, v in enumerate(values)]}
        for labels, values in rows
    ]
    data = {"resultType": "matrix", "result": result}
    path.write_text(json.dumps({"status": "success", "data": data}))
    return path


def export(path: Path, rows: list[tuple[dict[str, str], list[float | None]]]) -> Path:
    """An answer of VictoriaMetrics to /api/v1/export with one value a minute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {"metric": labels, "values": values, "timestamps": [1000 * (START_S + 60 * i) for i in range(len(values))]}
        for labels, values in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


_ROW = {
    "instance": "orders",
    "class": "db.r5.2xlarge",
    "storage_type": "gp3",
    "size": 500,
    "iops": 12000,
    "throughput": 500,
    "engine": "postgres",
    "engine_version": "15.4",
    "region": "eu-central-1",
    "account": "012345678901",
    "multi_az": True,
    "tags": '{"team": "search"}',
    "valid_from": "2026-09-01",
    "valid_to": "2026-09-07T00:30:00Z",
}
ROWS = [
    _ROW,
    _ROW
    | {
        "class": "db.r5.4xlarge",
        "tags": '[{"Key": "team", "Value": "search"}]',
        "valid_from": "2026-09-07T00:30:00Z",
        "valid_to": None,
    },
]


def descriptions(folder: Path, rows: list[dict], form: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if form == "json":
        (folder / "described.json").write_text(json.dumps(rows, indent=1))
    elif form == "jsonl":
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "described.jsonl").write_text(lines)
    elif form == "csv":
        pyarrow.csv.write_csv(pa.Table.from_pylist(rows), folder / "described.csv")
    else:
        pq.write_table(pa.Table.from_pylist(rows), folder / "described.parquet")
    return folder
