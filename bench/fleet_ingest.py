"""
Time the ingest of metric streams: JSON lines and OpenTelemetry 1.0, gzipped, of simulated instances.

Prints points of each second of processor time: of the whole ingest into a new lake, and of reading alone
beside the reader in Python, which takes what compiled code leaves. Run: python bench/fleet_ingest.py
"""

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from fleet_data import write
from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.sources.documents.stream_points import StreamPoints, add_messages, add_packed, add_records
from plimsoll.sources.files.bytes import unwrapped

RECORDS_A_MESSAGE = 100
Reader = Callable[[bytes, StreamPoints], None]


def length_of(message: bytes) -> bytes:
    """Return the length of a message as protobuf writes it in front."""
    value, out = len(message), bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def request_of(records: list[dict[str, object]]) -> bytes:
    """Return records of one account and region as an OpenTelemetry message with its length."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    for key, name in (("cloud.account.id", "account_id"), ("cloud.region", "region")):
        resource.resource.attributes.add(key=key).value.string_value = records[0][name]
    scope = resource.scope_metrics.add()
    for record in records:
        metric = scope.metrics.add()
        metric.name = f"amazonaws.com/AWS/RDS/{record['metric_name']}"
        metric.unit = record["unit"]
        point, value = metric.summary.data_points.add(), record["value"]
        point.start_time_unix_nano = record["timestamp"] * 1_000_000
        point.time_unix_nano = point.start_time_unix_nano + 60 * 10**9
        point.count, point.sum = int(value["count"]), value["sum"]
        point.quantile_values.add(quantile=0.0, value=value["min"])
        point.quantile_values.add(quantile=1.0, value=value["max"])
        for key, text in (("Namespace", "AWS/RDS"), ("MetricName", record["metric_name"])):
            point.attributes.add(key=key).value.string_value = text
        dimensions = point.attributes.add(key="Dimensions").value.kvlist_value
        for key, text in record["dimensions"].items():
            dimensions.values.add(key=key).value.string_value = text
    message = request.SerializeToString()
    return length_of(message) + message


def as_messages(source: Path, target: Path) -> None:
    """Write the records of a folder of JSON lines as OpenTelemetry, file by file."""
    for file in sorted(source.rglob("*.gz")):
        records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        groups = range(0, len(records), RECORDS_A_MESSAGE)
        content = b"".join(request_of(records[at : at + RECORDS_A_MESSAGE]) for at in groups)
        written = target / file.relative_to(source)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(gzip.compress(content, 1))


def points_a_second(work: Callable[[], int], repeats: int) -> float:
    """Return the best of some runs, points for each second of processor time."""
    best = 0.0
    for _ in range(repeats):
        begun_s = time.process_time()
        points = work()
        best = max(best, points / (time.process_time() - begun_s))
    return best


def whole(source: Path) -> int:
    """Ingest a folder into a new lake; return the number of points."""
    with tempfile.TemporaryDirectory() as folder:
        return ingest(str(source), open_lake(f"{folder}/lake")).point_count


def reading(files: list[Path]) -> int:
    """Unpack and read files into points; return their number."""
    found = StreamPoints()
    assert all(add_packed(file.read_bytes(), found) for file in files)
    return len(found.columns())


def reading_slowly(file: Path, add: Reader) -> int:
    """Unpack and read one file in Python; return the number of its points."""
    found = StreamPoints()
    add(unwrapped(file.read_bytes(), file), found)
    return len(found.columns())


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--hours", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        points = write(folder / "json", given.instances, 60 * given.hours)
        as_messages(folder / "json", folder / "otel")
        print(f"{points:,} points of {given.instances:,} simulated instances, gzip")
        for form, title, slowly in (
            ("json", "JSON lines", lambda data, found: add_records(data, found, where="a file")),
            ("otel", "OpenTelemetry 1.0", add_messages),
        ):
            files = sorted((folder / form).rglob("*.gz"))
            fast = points_a_second(lambda files=files: reading(files), given.repeats)
            slow = points_a_second(lambda file=files[0], slowly=slowly: reading_slowly(file, slowly), given.repeats)
            ingested = points_a_second(lambda form=form: whole(folder / form), given.repeats)
            print(
                f"{title}: ingest {ingested:,.0f} points/s of one core; reading {fast:,.0f}, in Python "
                f"{slow:,.0f}: {fast / slow:.1f} times as fast"
            )


if __name__ == "__main__":
    main()
