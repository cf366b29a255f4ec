"""
Simulated instances of a fleet: what each was asked for, replayed through the limits of its class and storage.

Kinds of load: idle, a daily wave, nightly jobs that stay below the limits (near misses among them), bursts on
credits, and demand that reaches a limit. Rates and latencies have noise. Balances follow from the replay and
are published in whole percents. Simulated data: nothing here was measured.
"""

import json
import zlib
from gzip import compress
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from plimsoll.catalog.load import catalog
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.parts import bucket_of
from plimsoll.fleet.tables import DESCRIBED
from plimsoll.kernel import Replay, Stage, replay
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import METRICS as FACTS
from plimsoll.model.points import PointColumns
from plimsoll.units import mib_per_s

START_S = 1_788_739_200
ACCOUNT, REGION = "123456789012", "us-east-1"
MINUTES_A_FILE = 60
METRICS = (
    *(("ReadThroughput", "Bytes/Second"), ("WriteThroughput", "Bytes/Second")),
    *(("ReadIOPS", "Count/Second"), ("WriteIOPS", "Count/Second")),
    *(("ReadLatency", "Seconds"), ("WriteLatency", "Seconds"), ("DiskQueueDepth", "Count")),
    *(("EBSByteBalance%", "Percent"), ("EBSIOBalance%", "Percent"), ("CPUUtilization", "Percent")),
    *(("FreeableMemory", "Bytes"), ("FreeStorageSpace", "Bytes"), ("DatabaseConnections", "Count")),
    ("SwapUsage", "Bytes"),
)
SHAPES = (
    ("db.m6g.large", "postgres", Storage(kind="gp3", size_gib=100.0)),
    ("db.m6g.large", "postgres", Storage(kind="gp3", size_gib=500.0)),
    ("db.m6g.xlarge", "mysql", Storage(kind="gp3", size_gib=500.0)),
    ("db.m5.2xlarge", "postgres", Storage(kind="gp2", size_gib=500.0)),
    ("db.r6g.large", "postgres", Storage(kind="gp3", size_gib=200.0)),
    (
        *("db.r6g.2xlarge", "postgres"),
        Storage(
            kind="gp3",
            size_gib=1000.0,
            provisioned_ops_per_s=12_000.0,
            provisioned_bytes_per_s=mib_per_s(500),
        ),
    ),
    ("db.r5.2xlarge", "mysql", Storage(kind="io1", size_gib=1000.0, provisioned_ops_per_s=10_000.0)),
    ("db.t4g.medium", "postgres", Storage(kind="gp3", size_gib=50.0)),
    ("db.t3.large", "mariadb", Storage(kind="gp2", size_gib=100.0)),
    ("db.r7g.4xlarge", "postgres", Storage(kind="io2", size_gib=2000.0, provisioned_ops_per_s=30_000.0)),
)  # fmt: skip
KINDS = ("idle", "daily", "nightly", "burst", "bound")
SHARES = (0.35, 0.35, 0.15, 0.07, 0.08)
"""A judgement: most instances of an estate have little to do."""


def instance_of(index: int) -> Instance:
    """Return a simulated instance."""
    db_class, engine, storage = SHAPES[zlib.crc32(b"%d" % index) % len(SHAPES)]
    return Instance(
        identifier=f"db-{index:05d}", db_class=db_class, engine=engine, region=REGION, storage=storage, multi_az=False
    )


def kind_of(index: int) -> str:
    """Return the kind of load of an instance."""
    return str(np.random.default_rng([1, index]).choice(KINDS, p=SHARES))


def series(index: int, minutes: int) -> dict[str, np.ndarray]:
    """Return the metrics of an instance by their CloudWatch names, in CloudWatch's units."""
    dice = np.random.default_rng([2, index])
    chain = chain_of(instance_of(index), catalog())
    asked = _asked(kind_of(index), chain, minutes, dice)
    size = 8192 * dice.uniform(1, 3) * np.ones(minutes)
    done = replay(asked / size, size, step_s=60.0, chain=chain, carry=False)
    ops = done.served_ops / 60
    latency = dice.uniform(4e-4, 1.5e-3) * dice.lognormal(0, 0.2, minutes)
    latency *= 1 + 30 * done.throttled_ratio
    reads = np.clip(0.6 + dice.normal(0, 0.05, minutes), 0, 1)
    cpu = dice.uniform(3, 12) + 45 * asked / asked.max() * dice.uniform(0.2, 1.0)
    flat = np.ones(minutes)
    byte_balance, op_balance = (
        _balance(done, chain, name) for name in ("instance_ebs_throughput", "instance_ebs_iops")
    )
    free = 0.5 * (instance_of(index).storage.size_gib or 0) * 2**30
    memory = catalog().instance_limits(str(instance_of(index).db_class)).memory_bytes or 0
    values = (
        *(ops * size * reads, ops * size * (1 - reads), ops * reads, ops * (1 - reads)),
        *(latency, latency * dice.lognormal(0, 0.1, minutes), ops * latency),
        *(byte_balance * flat, op_balance * flat, cpu * dice.lognormal(0, 0.05, minutes)),
        *(0.4 * memory * dice.lognormal(0, 0.02, minutes), free - 1e3 * np.arange(minutes)),
        *(np.round(40 * dice.lognormal(0, 0.1, minutes)), 0 * flat),
    )
    return dict(zip((name for name, _ in METRICS), values, strict=True))


def _asked(kind: str, chain: tuple[Stage, ...], minutes: int, dice: np.random.Generator) -> np.ndarray:
    """Return the requested bytes/s of each minute."""
    base = min(one.baseline * one.stripes for one in chain if one.counts == "bytes")
    base = min(base, *(8192 * one.baseline * one.stripes for one in chain if one.counts == "ops"))
    minute = np.arange(minutes) + dice.integers(1440)
    wave = 0.55 + 0.45 * np.sin(minute / 1440 * 2 * np.pi)
    noise = dice.lognormal(0, 0.15, minutes)
    if kind == "idle":
        return base * 0.02 * dice.lognormal(0, 0.5, minutes)
    if kind == "daily":
        return base * dice.uniform(0.1, 0.5) * wave * noise
    if kind == "nightly":
        job = np.where(minute % 1440 < 120, dice.uniform(0.5, 0.95), 0.0)
        return base * (0.1 * wave * noise + job * dice.lognormal(0, 0.02, minutes))
    if kind == "burst":
        return base * (0.3 * wave * noise + np.where(minute % 360 < 15, 1.4, 0.0))
    return base * dice.uniform(1.2, 2.5) * wave * noise


def _balance(done: Replay, chain: tuple[Stage, ...], name: str) -> np.ndarray:
    """Return the published balance of a bucket, whole percents; 100 without one."""
    for place, stage in enumerate(chain):
        if stage.name == name and stage.capacity > 0:
            return np.round(100 * done.balance[place] / stage.capacity)
    return np.full(done.served_ops.size, 100.0)


def described_by_aws(instance: Instance) -> dict[str, object]:
    """Return an instance as `describe-db-instances` writes it."""
    storage = instance.storage
    extra = {"Iops": storage.provisioned_ops_per_s} if storage.provisioned_ops_per_s else {}
    if storage.provisioned_bytes_per_s:
        extra["StorageThroughput"] = storage.provisioned_bytes_per_s / 2**20
    return {
        "DBInstanceIdentifier": instance.identifier,
        "DBInstanceClass": instance.db_class,
        "Engine": instance.engine,
        "AvailabilityZone": f"{REGION}a",
        "StorageType": storage.kind,
        "AllocatedStorage": int(storage.size_gib or 0),
        "MultiAZ": False,
        **{name: int(value) for name, value in extra.items()},
    }


def write(folder: Path, instances: int, minutes: int) -> int:
    """Write a metric stream in files of an hour each, and the descriptions; return the number of points."""
    waves = [series(index, minutes) for index in range(instances)]
    head = f'{{"metric_stream_name":"simulated","account_id":"{ACCOUNT}","region":"{REGION}",'
    for first in range(0, minutes, MINUTES_A_FILE):
        lines = []
        for minute in range(first, first + MINUTES_A_FILE):
            for index, wave in enumerate(waves):
                for metric, unit in METRICS:
                    value = float(wave[metric][minute])
                    lines.append(
                        f'{head}"namespace":"AWS/RDS","metric_name":"{metric}","dimensions":'
                        f'{{"DBInstanceIdentifier":"db-{index:05d}"}},"timestamp":{(START_S + 60 * minute) * 1000},'
                        f'"value":{{"max":{value},"min":{value},"sum":{60 * value},"count":60.0}},"unit":"{unit}"}}'
                    )
        name = f"{first // 1440:02d}/{first // 60 % 24:02d}.gz"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(compress("\n".join(lines).encode() + b"\n", 1))
    described = [described_by_aws(instance_of(index)) for index in range(instances)]
    (folder / "instances.json").write_text(json.dumps({"DBInstances": described}))
    return minutes * instances * len(METRICS)


def fill(lake: Lake, instances: int, days: int) -> int:
    """
    Commit simulated points straight into a lake, part by part, as a daily ingest leaves them.

    JSON lines of the same points would take hours for a large fleet. Return the number of points.
    """
    manifest = lake.manifest_or_new(None)
    names = {m.cloudwatch: metric.value for metric, m in FACTS.items() if m.cloudwatch}
    by_bucket: dict[int, list[int]] = {}
    for index in range(instances):
        place = bucket_of(ACCOUNT, REGION, f"db-{index:05d}", manifest.bucket_count)
        by_bucket.setdefault(place, []).append(index)
    empty = pl.DataFrame(DESCRIBED.empty_table())
    described = pl.DataFrame([_row(instance_of(i)) for i in range(instances)], schema=empty.schema)
    time_s = START_S + 60 * np.arange(1440 * days)
    for bucket, members in sorted(by_bucket.items()):
        waves = [series(index, 1440 * days) for index in members]
        for day in range(days):
            part = slice(1440 * day, 1440 * (day + 1))
            points = [
                _points(f"db-{index:05d}", names[metric], unit, time_s[part], wave[metric][part])
                for index, wave in zip(members, waves, strict=True)
                for metric, unit in METRICS
            ]
            key = f"simulated/{bucket}/{day}"
            manifest = lake.commit(manifest, PointColumns.of(points), described, {key: "1"})
            described = empty
    return 1440 * days * instances * len(METRICS)


def _points(instance: str, metric: str, unit: str, time_s: np.ndarray, value: np.ndarray) -> PointColumns:
    shown = value / 100 if unit == "Percent" else value
    return PointColumns(
        series=[(ACCOUNT, REGION, instance, metric)],
        index=np.zeros(value.size, dtype=np.int64),
        time_s=time_s,
        sum=60 * shown,
        count=np.full(value.size, 60.0),
        min=shown,
        max=shown,
    )


def _row(instance: Instance) -> dict[str, object]:
    return {
        "account": "",
        "region": REGION,
        "instance": instance.identifier,
        "valid_from_s": START_S,
        "valid_to_s": None,
        "db_class": instance.db_class,
        "engine": instance.engine,
        "storage": instance.storage.kind,
        "storage_gib": instance.storage.size_gib,
        "is_simulated": True,
        "described": msgspec.json.encode(instance).decode(),
    }
