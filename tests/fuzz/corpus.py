"""
Well-formed exports of every format, made from one made-up day of an instance.

Everything here is simulated: the shapes follow the documentation of each format, the numbers are
drawn from a seeded generator. Tests compare what is read with what was drawn; the fuzzer damages
the bytes; the benchmark makes them long.
"""

import csv
import io
import json
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

START_S = 1_615_198_440  # 2021-03-08T10:14:00Z
IDENTIFIER = "orders-primary"

UNITS = {
    "ReadThroughput": "Bytes/Second",
    "WriteThroughput": "Bytes/Second",
    "ReadIOPS": "Count/Second",
    "WriteIOPS": "Count/Second",
    "ReadLatency": "Seconds",
    "WriteLatency": "Seconds",
    "DiskQueueDepth": "Count",
    "EBSByteBalance%": "Percent",
    "EBSIOBalance%": "Percent",
    "BurstBalance": "Percent",
    "CPUUtilization": "Percent",
    "DatabaseConnections": "Count",
}
NAMES = tuple(UNITS)
_SIZES = {"Bytes/Second": 2e8, "Count/Second": 9e3, "Seconds": 0.02, "Percent": 100, "Count": 60}


@dataclass(frozen=True)
class Made:
    """Samples in CloudWatch's units."""

    time_s: np.ndarray
    values: dict[str, np.ndarray] = field(default_factory=dict)
    step_s: int = 60


def made(count: int = 240, *, seed: int = 1, step_s: int = 60, names=NAMES) -> Made:
    """`count` samples of each metric; numbers have six digits, as CloudWatch's averages do."""
    rng = np.random.default_rng(seed)
    time_s = START_S + step_s * np.arange(count)
    values = {name: np.round(rng.uniform(0.1, 0.9, count) * _SIZES[UNITS[name]], 6) for name in names}
    return Made(time_s, values, step_s)


def iso(time_s: int, tail: str = "Z") -> str:
    return datetime.fromtimestamp(int(time_s), UTC).strftime("%Y-%m-%dT%H:%M:%S") + tail


def isos(time_s: np.ndarray, tail: str = "Z") -> list[str]:
    texts = np.datetime_as_string(np.asarray(time_s, dtype="datetime64[s]"), unit="s")
    return [f"{t}{tail}" for t in texts.tolist()]


def metric_data(day: Made, *, label="{name}", tail="+00:00", newest_first=True) -> bytes:
    times = isos(day.time_s, tail)
    order = slice(None, None, -1 if newest_first else 1)
    results = [
        {
            "Id": f"m{index}",
            "Label": label.format(name=name, instance=IDENTIFIER),
            "Timestamps": times[order],
            "Values": values.tolist()[order],
            "StatusCode": "Complete",
        }
        for index, (name, values) in enumerate(day.values.items())
    ]
    return json.dumps({"MetricDataResults": results, "Messages": []}, indent=4).encode()


def request(day: Made, *, stat="Average", identifier=IDENTIFIER) -> bytes:
    queries = [
        {
            "Id": f"m{index}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/RDS",
                    "MetricName": name,
                    "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": identifier}],
                },
                "Period": day.step_s,
                "Stat": stat,
            },
            "ReturnData": True,
        }
        for index, name in enumerate(day.values)
    ]
    return json.dumps({"MetricDataQueries": queries}, indent=2).encode()


def metric_statistics(day: Made, name: str, *, statistics=("Average",), unit=None) -> bytes:
    points = [
        {"Timestamp": iso(t), **dict.fromkeys(statistics, v), "Unit": unit or UNITS[name]}
        for t, v in zip(day.time_s, day.values[name].tolist(), strict=True)
    ]
    np.random.default_rng(0).shuffle(points)
    return json.dumps({"Label": name, "Datapoints": points}, indent=4).encode()


def stream_lines(day: Made, *, identifiers=(IDENTIFIER,), count=3) -> bytes:
    lines = [
        json.dumps(
            {
                "metric_stream_name": "all",
                "account_id": "123456789012",
                "region": "eu-west-1",
                "namespace": "AWS/RDS",
                "metric_name": name,
                "dimensions": {"DBInstanceIdentifier": identifier},
                "timestamp": int(t) * 1000,
                "value": {"max": 2 * v, "min": 0.0, "sum": v * count, "count": float(count)},
                "unit": UNITS[name],
            },
            separators=(",", ":"),
        )
        for at, t in enumerate(day.time_s.tolist())
        for name, values in day.values.items()
        for identifier in identifiers
        for v in (values[at].item(),)
    ]
    return "\n".join(lines).encode() + b"\n"


def otel_lines(day: Made, *, version: str = "1.0", identifier=IDENTIFIER) -> bytes:
    """One request per line; each holds a minute of all metrics."""
    lines = []
    for at, t in enumerate(day.time_s.tolist()):
        metrics = [
            _otel_metric(version, name, identifier, t, day.step_s, values[at].item())
            for name, values in day.values.items()
        ]
        scope = "scopeMetrics" if version == "1.0" else "instrumentationLibraryMetrics"
        resource = {
            "attributes": [
                {"key": "cloud.provider", "value": {"stringValue": "aws"}},
                {"key": "cloud.region", "value": {"stringValue": "eu-west-1"}},
            ]
        }
        request = {"resourceMetrics": [{"resource": resource, scope: [{"metrics": metrics}]}]}
        lines.append(json.dumps(request, separators=(",", ":")))
    return "\n".join(lines).encode() + b"\n"


def _otel_metric(version, name, identifier, time_s, step_s, value):
    flat = {"Namespace": "AWS/RDS", "MetricName": name}
    dimension = {"DBInstanceIdentifier": identifier}
    if version == "1.0":
        attributes = [{"key": k, "value": {"stringValue": v}} for k, v in flat.items()]
        nested = [{"key": k, "value": {"stringValue": v}} for k, v in dimension.items()]
        attributes.append({"key": "Dimensions", "value": {"kvlistValue": {"values": nested}}})
        named = {"attributes": attributes}
    else:
        named = {"labels": [{"key": k, "value": v} for k, v in (flat | dimension).items()]}
    point = {
        "startTimeUnixNano": str(time_s * 10**9),
        "timeUnixNano": str((time_s + step_s) * 10**9),
        "count": "2",
        "sum": 2 * value,
        "quantileValues": [{"quantile": 0, "value": 0}, {"quantile": 1, "value": 2 * value}],
    }
    unit = {"Bytes/Second": "By/s", "Count/Second": "{Count}/s", "Seconds": "s", "Percent": "%"}
    return {
        "name": f"amazonaws.com/AWS/RDS/{name}",
        "unit": unit.get(UNITS[name], "{Count}"),
        "summary" if version == "1.0" else "doubleSummary": {"dataPoints": [point | named]},
    }


def otel_protobuf(day: Made, *, version: str = "1.0", identifier=IDENTIFIER) -> bytes:
    """Length-delimited requests written byte by byte, independent of the reader and of protoc."""
    out = b""
    for at, t in enumerate(day.time_s.tolist()):
        metrics = b"".join(
            _field(2, _wire_metric(version, name, identifier, t, day.step_s, values[at].item()))
            for name, values in day.values.items()
        )
        region = _field(1, _text(1, "cloud.region") + _field(2, _text(1, "eu-west-1")))
        message = _field(1, _field(1, region) + _field(2, metrics))
        out += varint(len(message)) + message
    return out


def _wire_metric(version, name, identifier, time_s, step_s, value) -> bytes:
    pairs = {"Namespace": "AWS/RDS", "MetricName": name}
    dimension = {"DBInstanceIdentifier": identifier}
    if version == "1.0":
        nested = b"".join(_field(1, _pair(k, v)) for k, v in dimension.items())
        named = b"".join(_field(7, _pair(k, v)) for k, v in pairs.items())
        named += _field(7, _text(1, "Dimensions") + _field(2, _field(6, nested)))
    else:
        flat = (pairs | dimension).items()
        named = b"".join(_field(1, _text(1, k) + _text(2, v)) for k, v in flat)
    point = named + b"\x11" + struct.pack("<Q", time_s * 10**9)
    point += b"\x19" + struct.pack("<Q", (time_s + step_s) * 10**9)
    point += b"\x21" + struct.pack("<Q", 2) + b"\x29" + struct.pack("<d", 2 * value)
    metric = _text(1, f"amazonaws.com/AWS/RDS/{name}")
    return metric + _text(3, "1") + _field(11, _field(1, point))


def _pair(key: str, value: str) -> bytes:
    return _text(1, key) + _field(2, _text(1, value))


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode())


def _field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def csv_long(day: Made, *, delimiter=",", with_unit=True) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["timestamp", "metric", "value", *(["unit"] if with_unit else [])])
    times = isos(day.time_s)
    for name, values in day.values.items():
        tail = [UNITS[name]] if with_unit else []
        writer.writerows([t, name, v, *tail] for t, v in zip(times, values.tolist(), strict=True))
    return out.getvalue().encode()


def csv_wide(day: Made, *, delimiter=",", times=None) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["timestamp", *day.values])
    columns = [v.tolist() for v in day.values.values()]
    writer.writerows(zip(times or isos(day.time_s), *columns, strict=True))
    return out.getvalue().encode()


def csv_console(day: Made) -> bytes:
    """The console's download: label rows, then times with slashes."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Full label", *(f"{IDENTIFIER} {name}" for name in day.values)])
    writer.writerow(["Label", *day.values])
    times = [t.replace("-", "/").replace("T", " ").removesuffix("Z") for t in isos(day.time_s)]
    writer.writerows(zip(times, *(v.tolist() for v in day.values.values()), strict=True))
    return out.getvalue().encode()


def parquet(day: Made, *, long: bool = False) -> bytes:
    import polars as pl

    times = pl.Series("timestamp", day.time_s).cast(pl.Int64) * 1000
    times = times.cast(pl.Datetime("ms", "UTC"))
    if long:
        frame = pl.concat(
            pl.DataFrame({"timestamp": times, "metric": [name] * times.len(), "value": values})
            for name, values in day.values.items()
        )
    else:
        frame = pl.DataFrame({"timestamp": times, **day.values})
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def enhanced_document(end_s: int, seed: int = 0, *, volumes: int = 4) -> dict:
    """One document of RDSOSMetrics with the documented fields."""
    rng = np.random.default_rng(seed)

    def device(name):
        reads, writes = (round(v, 2) for v in rng.uniform(10, 900, 2).tolist())
        sectors = 32.0
        return {
            "writeKbPS": round(writes * sectors / 2, 2),
            "readIOsPS": reads,
            "await": round(rng.uniform(0.3, 9), 2),
            "readKbPS": round(reads * sectors / 2, 2),
            "rrqmPS": 0.0,
            "util": round(rng.uniform(1, 99), 2),
            "avgQueueLen": round(rng.uniform(0, 8), 2),
            "tps": round(reads + writes, 2),
            "readKb": 0,
            "device": name,
            "writeKb": 0,
            "avgReqSz": sectors,
            "wrqmPS": 1.5,
            "writeIOsPS": writes,
        }

    return {
        "engine": "POSTGRES",
        "instanceID": IDENTIFIER,
        "instanceResourceID": "db-MADEUPMADEUPMADEUPMADEUPAA",
        "timestamp": iso(end_s),
        "version": 1,
        "uptime": "41 days, 3:02:11",
        "numVCPUs": 8,
        "cpuUtilization": {"total": 37.5, "user": 30.1, "wait": 4.2, "idle": 62.5, "system": 3.2},
        "loadAverageMinute": {"one": 3.11, "five": 2.9, "fifteen": 2.8},
        "memory": {"total": 64_780_000, "free": 1_200_000, "cached": 38_000_000, "buffers": 9_000},
        "swap": {"total": 8_388_604, "free": 8_388_092, "cached": 0, "in": 0.0, "out": 0.0},
        "network": [{"interface": "eth0", "rx": 120_500.25, "tx": 880_400.75}],
        "diskIO": [device("rdsdev"), device("filesystem")],
        "physicalDeviceIO": [device(f"nvme{n + 1}n1") for n in range(volumes)],
        "fileSys": [{"name": "rdsfilesys", "mountPoint": "/rdsdbdata", "total": 41_086_436, "used": 2_384_592}],
        "processList": [{"name": "postgres", "id": 1261, "rss": 81_896, "vmlimit": "unlimited"}],
    }


def enhanced_lines(count: int = 60, step_s: int = 10) -> bytes:
    documents = (enhanced_document(START_S + step_s * n, n) for n in range(count))
    return "\n".join(json.dumps(d) for d in documents).encode() + b"\n"


def enhanced_events(count: int = 30, step_s: int = 10) -> bytes:
    events = [
        {
            "timestamp": (START_S + step_s * n) * 1000,
            "message": json.dumps(enhanced_document(START_S + step_s * n, n)),
            "ingestionTime": (START_S + step_s * n + 3) * 1000,
        }
        for n in range(count)
    ]
    return json.dumps({"events": events, "nextForwardToken": "f/1"}).encode()


def described(*identifiers: str, **fields) -> bytes:
    instances = [
        {
            "DBInstanceIdentifier": identifier,
            "DBInstanceClass": "db.r5.2xlarge",
            "Engine": "postgres",
            "EngineVersion": "12.5",
            "DBInstanceStatus": "available",
            "AllocatedStorage": 1000,
            "InstanceCreateTime": "2019-06-01T12:00:00.123000+00:00",
            "AvailabilityZone": "eu-west-1b",
            "MultiAZ": True,
            "StorageType": "gp2",
            "StorageThroughput": 0,
            "DBInstanceArn": f"arn:aws:rds:eu-west-1:123456789012:db:{identifier}",
        }
        | fields
        for identifier in identifiers or (IDENTIFIER,)
    ]
    return json.dumps({"DBInstances": instances}, indent=4).encode()


def all_formats(day: Made | None = None) -> dict[str, bytes]:
    """One well-formed file of each format, by file name."""
    day = day or made(40)
    return {
        "metric-data.json": metric_data(day),
        "statistics.json": metric_statistics(day, "ReadIOPS"),
        "stream.jsonl": stream_lines(day),
        "otel-1.0.jsonl": otel_lines(day),
        "otel-0.7.jsonl": otel_lines(day, version="0.7"),
        "otel-1.0.bin": otel_protobuf(day),
        "otel-0.7.bin": otel_protobuf(day, version="0.7"),
        "long.csv": csv_long(day),
        "wide.csv": csv_wide(day),
        "console.csv": csv_console(day),
        "long.parquet": parquet(day, long=True),
        "wide.parquet": parquet(day),
        "enhanced.jsonl": enhanced_lines(20),
        "events.json": enhanced_events(10),
        "instances.json": described(),
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder
