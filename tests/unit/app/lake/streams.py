"""Files of a metric stream as Firehose writes them, for tests: JSON lines and OpenTelemetry 1.0, gzipped."""

import gzip
import json
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from fuzz.corpus import varint

START_S = 1_788_739_200
"""2026-09-07 00:00 UTC."""
ACCOUNT, REGION = "123456789012", "eu-central-1"
UNITS = {"ReadIOPS": "Count/Second", "WriteIOPS": "Count/Second", "ReadLatency": "Seconds"}


def record(metric: str, minute: int, mean: float, instance: str = "orders", count: float = 60.0) -> dict:
    """A record of one minute, with a minimum of half the mean and a maximum of twice the mean."""
    return {
        "metric_stream_name": "all",
        "account_id": ACCOUNT,
        "region": REGION,
        "namespace": "AWS/RDS",
        "metric_name": metric,
        "dimensions": {"DBInstanceIdentifier": instance},
        "timestamp": (START_S + 60 * minute) * 1000,
        "value": {"max": 2 * mean, "min": mean / 2, "sum": mean * count, "count": count},
        "unit": UNITS.get(metric, "Bytes/Second"),
    }


def json_file(path: Path, records: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in records).encode()))
    return path


def otel_file(path: Path, records: list[dict]) -> Path:
    """The same records in OpenTelemetry 1.0."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b""
    for one in records:
        request = ExportMetricsServiceRequest()
        resource = request.resource_metrics.add()
        for key, value in (("cloud.account.id", ACCOUNT), ("cloud.region", REGION)):
            resource.resource.attributes.add(key=key).value.string_value = value
        metric = resource.scope_metrics.add().metrics.add()
        metric.name = f"amazonaws.com/AWS/RDS/{one['metric_name']}"
        metric.unit = one["unit"]
        point = metric.summary.data_points.add()
        point.start_time_unix_nano = one["timestamp"] * 1_000_000
        point.time_unix_nano = point.start_time_unix_nano + 60 * 10**9
        point.count, point.sum = int(one["value"]["count"]), one["value"]["sum"]
        point.quantile_values.add(quantile=0.0, value=one["value"]["min"])
        point.quantile_values.add(quantile=1.0, value=one["value"]["max"])
        for key, value in (("Namespace", "AWS/RDS"), ("MetricName", one["metric_name"])):
            point.attributes.add(key=key).value.string_value = value
        dimensions = point.attributes.add(key="Dimensions").value.kvlist_value
        for key, value in one["dimensions"].items():
            dimensions.values.add(key=key).value.string_value = value
        message = request.SerializeToString()
        content += varint(len(message)) + message
    path.write_bytes(gzip.compress(content))
    return path
