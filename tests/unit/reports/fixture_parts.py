"""The nouns that the hand-made diagnoses are put together from: ceilings, series, builders."""

import numpy as np
from msgspec.structs import replace

import builders
from builders import series
from plimsoll.model.ceiling import Family, Origin, Phase
from plimsoll.model.diagnosis import Interval, Resource
from plimsoll.model.instance import EbsLimits, Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot

START_S = 1615161600  # 2021-03-08T00:00:00Z
HOUR_S = 3600
STEP_S = 60
DAY_S = 24 * HOUR_S

NOW = Origin(source="Amazon EC2 User Guide, EBS-optimized instances", read_on="2026-04-12", valid_from="2019-12-04")
LEGACY = Origin(
    source="Amazon EC2 User Guide, edition of 2018-08-04",
    read_on="2026-04-12",
    valid_from="2018-08-04",
    valid_to="2019-12-04",
)
STORAGE = Origin(source="Amazon RDS User Guide, DB instance storage", read_on="2026-04-12")


def ceiling(family, phase, value, *, origin=NOW, legacy=None, **more):
    """A ceiling whose dimension and unit follow from its family."""
    return replace(builders.ceiling(family, phase, value, legacy=legacy), origin=origin, **more)


EBS = Family.INSTANCE_EBS_THROUGHPUT
LEGACY_BASELINE = ceiling(
    EBS,
    Phase.LEGACY,
    212.5e6,
    origin=LEGACY,
    legacy=Phase.BASELINE,
    balance_metric=Metric.BYTE_BALANCE_RATIO,
    note="Kept by instances launched before 2019-12-03 until they are stopped and started.",
)
LEGACY_BURST = ceiling(EBS, Phase.LEGACY, 437.5e6, origin=LEGACY, legacy=Phase.BURST)
BASELINE = ceiling(
    EBS,
    Phase.BASELINE,
    287.5e6,
    balance_metric=Metric.BYTE_BALANCE_RATIO,
    capacity_low=551.25e9,
    capacity_high=1068.75e9,
)
BURST = ceiling(EBS, Phase.BURST, 593.75e6)
IOPS_BASELINE = ceiling(Family.INSTANCE_EBS_IOPS, Phase.BASELINE, 12_000.0)
IOPS_BURST = ceiling(Family.INSTANCE_EBS_IOPS, Phase.BURST, 18_750.0)
VOLUME_IOPS = ceiling(Family.VOLUME_IOPS, Phase.FIXED, 30_000.0, origin=STORAGE)
VOLUME_THROUGHPUT = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 2000 * 1024.0**2, origin=STORAGE)
CPU = ceiling(Family.CPU, Phase.FIXED, 1.0)
MEMORY = ceiling(Family.MEMORY, Phase.FIXED, 64 * 1024.0**3)
CONNECTIONS = ceiling(Family.CONNECTIONS, Phase.FIXED, 5000.0, origin=STORAGE)
NETWORK = ceiling(Family.NETWORK, Phase.BASELINE, 2.5e9 / 8)
SPACE = ceiling(Family.STORAGE_SPACE, Phase.FIXED, 4000 * 1024.0**3, origin=STORAGE)
CEILINGS = (
    *(BASELINE, BURST, LEGACY_BASELINE, LEGACY_BURST, IOPS_BASELINE, IOPS_BURST),
    *(VOLUME_IOPS, VOLUME_THROUGHPUT, CPU, MEMORY, CONNECTIONS, NETWORK, SPACE),
)

INSTANCE = Instance(
    identifier="search-primary",
    db_class="db.r5.2xlarge",
    engine="postgres",
    engine_version="11.9",
    region="us-east-1",
    multi_az=False,
    storage=Storage(kind="io1", size_gib=4000, provisioned_ops_per_s=30_000),
    launched_s=1559383200,
    pending=("class db.r5.4xlarge",),
    ebs_limits=EbsLimits(
        baseline_bytes_per_s=287.5e6,
        burst_bytes_per_s=593.75e6,
        baseline_ops_per_s=12_000.0,
        burst_ops_per_s=18_750.0,
        source="ec2:DescribeInstanceTypes of r5.2xlarge",
        read_on="2026-04-12",
    ),
)

# Epoch seconds of what happens in the pressed day: bursts at night, pegged from morning to evening.
NIGHT = ((START_S + 7800, START_S + 10500), (START_S + 16200, START_S + 18600))
DAY = (START_S + 35280, START_S + 68400)  # 09:48 – 19:00


def wobble(n, salt, size=1.0):
    """Noise without dice, shape (n,), between −size and +size."""
    mixed = (np.arange(1, n + 1, dtype=np.uint64) * 2654435761 + salt * 97_003_339) % 2**32
    mixed = (mixed ^ (mixed >> 15)) * 2246822519 % 2**32
    mixed = (mixed ^ (mixed >> 13)) * 3266489917 % 2**32
    return size * ((mixed ^ (mixed >> 16)) / 2**31 - 1)


def snapshot(values, **more):
    """A snapshot of regular series."""
    return Snapshot(
        instance=more.pop("instance", INSTANCE),
        series={metric: series(metric, value) for metric, value in values.items()},
        source=more.pop("source", "simulated"),
        **more,
    )


def interval(start_s, end_s, bound, *, level, confidence=0.99, **more):
    """An interval at a documented ceiling."""
    fields = {
        "start_s": start_s,
        "end_s": end_s,
        "dimension": bound.dimension,
        "level": level,
        "level_low": level - 2.5e5,
        "level_high": level + 2.5e5,
        "family": bound.family,
        "phase": bound.phase,
        "former_phase": bound.former_phase,
        "ceiling": bound,
        "confidence": confidence,
        "attribution": 0.97,
        "io_size_bytes": 15_200.0,
        "latency_s": 0.098,
        "latency_reference_s": 0.014,
        "queue_depth": 72.0,
        "evidence": (),
        "ruled_out": (),
        "refuted_by": "the rate exceeded 215 MB/s for a minute of this interval",
    }
    return Interval(**(fields | more))


def resource(family, verdict, name, bound, peak, p99, mean, above, **more):
    """A resource with its headroom computed."""
    unit = bound.unit if bound else more.pop("unit", "ratio")
    room = None if bound is None or peak is None else max(bound.value - peak, 0.0)
    return Resource(
        family=family,
        name=name,
        verdict=verdict,
        unit=unit,
        ceiling=bound,
        peak=peak,
        p99=p99,
        mean=mean,
        minutes_above_80=above,
        headroom=room,
        **more,
    )
