"""What was bought, as prometheus-rds-exporter writes it, and when it changed."""

import numpy as np
import pytest

from plimsoll.model.instance import EbsLimits, Storage
from plimsoll.model.snapshot import EventKind
from plimsoll.sources.prometheus.facts import changes, decimal, described
from plimsoll.sources.prometheus.node import Counted
from plimsoll.units import GIB, MIB

START_S = 1_615_161_600
INFO = {
    "instance_class": "db.t3.large",
    "engine": "postgres",
    "engine_version": "15.4",
    "storage_type": "gp3",
    "multi_az": "false",
    "aws_region": "eu-west-1",
}


def fact(name: str, value=(1.0,), *, at=None, **labels: str) -> Counted:
    values = np.asarray(value, dtype=float)
    times = 60 * np.arange(values.size) if at is None else np.asarray(at)
    return Counted(
        labels={"__name__": f"rds_{name}", **labels}, time_ms=1000 * (START_S + times.astype(np.int64)), value=values
    )


# internal/app/ec2/mock/ec2.go and ec2_test.go of the exporter: t3.large as its own tests export it.
T3_LARGE = [
    fact("instance_baseline_throughput_bytes", [86.88 * MIB]),
    fact("instance_max_throughput_bytes", [347.5 * MIB]),
    fact("instance_baseline_iops_average", [4000]),
    fact("instance_max_iops_average", [15700]),
    fact("instance_vcpu_average", [2]),
    fact("instance_memory_bytes", [8192 * MIB]),
]


def test_an_instance_is_what_its_facts_say():
    """GiB from bytes, MiB/s as RDS means them, a creation from an age, limits of the class in MB/s."""
    series = [
        fact("instance_info", **INFO),
        fact("allocated_storage_bytes", [100 * GIB]),
        fact("allocated_disk_iops_average", [12000]),
        fact("allocated_disk_throughput_bytes", [500 * MIB]),
        fact("instance_age_seconds", [86_400, 86_460]),
    ]
    instance = described("orders", series, T3_LARGE)

    assert instance is not None
    assert ("db.t3.large", "postgres", "15.4", "eu-west-1", False) == (
        instance.db_class,
        instance.engine,
        instance.engine_version,
        instance.region,
        instance.multi_az,
    )
    assert instance.storage == Storage(
        kind="gp3", size_gib=100, provisioned_ops_per_s=12000, provisioned_bytes_per_s=500 * MIB
    )
    assert START_S - 86_400 == instance.launched_s
    assert (2, 8 * GIB) == (instance.vcpu_count, instance.memory_bytes)
    assert instance.ebs_limits == EbsLimits(
        baseline_bytes_per_s=86.88e6,
        burst_bytes_per_s=347.5e6,
        baseline_ops_per_s=4000,
        burst_ops_per_s=15700,
        source="ec2:DescribeInstanceTypes of t3.large, read by prometheus-rds-exporter",
        read_on="2021-03-08",
    )


@pytest.mark.parametrize(
    ("exported", "meant"),
    [(86.88 * MIB, 86.88e6), (593.75 * MIB, 593.75e6), (86.88e6, 86.88e6), (593.75e6, 593.75e6), (5000 * MIB, 5e9)],
)
def test_class_limits_are_decimal_whichever_way_they_were_exported(exported, meant):
    """EC2 says MB/s; the exporter multiplies by 1,024². A release that does not is recognised."""
    assert meant == pytest.approx(decimal(exported), rel=1e-12)


@pytest.mark.parametrize("kind", ["gp2", "io1"])
def test_what_the_exporter_computed_is_not_what_was_bought(kind):
    """For gp2 it writes 3 IOPS a GiB, for io1 a throughput: rules of one volume, which RDS stripes."""
    series = [
        fact("instance_info", **{**INFO, "storage_type": kind}),
        fact("allocated_storage_bytes", [400 * GIB]),
        fact("allocated_disk_iops_average", [1200]),
        fact("allocated_disk_throughput_bytes", [250 * MIB]),
    ]
    instance = described("orders", series, [])

    assert instance is not None
    assert None is instance.storage.provisioned_bytes_per_s
    assert (1200 if kind == "io1" else None) == instance.storage.provisioned_ops_per_s


def test_aurora_has_no_size_and_serverless_has_a_largest_capacity():
    """Limits of a class are all there or not at all: half of them would be a guess."""
    series = [
        fact("instance_info", **{**INFO, "engine": "aurora-postgresql", "storage_type": "aurora"}),
        fact("allocated_storage_bytes", [1 * GIB]),
    ]
    instance = described("a", series, [fact("cluster_acu_max_average", [64]), *T3_LARGE[:3]])

    assert instance is not None
    assert None is instance.storage.size_gib
    assert None is instance.ebs_limits
    assert 64 == instance.capacity_acu_max
    assert None is described("orders", [fact("instance_age_seconds", [5])], T3_LARGE)


def test_the_last_description_counts_and_a_change_is_an_event():
    """
    The earlier class ends where the new one is first seen; a new certificate or another exporter's pod
    makes a new series of the same class.
    """
    before = fact("instance_info", [1, 1], at=[0, 60], **INFO)
    same = fact("instance_info", [1], at=[120], **INFO, ca="2021")
    after = fact("instance_info", [1, 1], at=[300, 360], **{**INFO, "instance_class": "db.r5.large"})
    instance = described("orders", [after, before], [])
    (change,) = changes([after, same, before])

    assert instance is not None
    assert "db.r5.large" == instance.db_class
    assert (EventKind.CLASS_CHANGE, START_S + 300) == (change.kind, change.time_s)
    assert "class changed from db.t3.large to db.r5.large" == change.text


def test_more_storage_and_its_rearrangement_are_events():
    """Sizes, provisioned IOPS and the states that RDS reports, in order of time."""
    series = [
        fact("allocated_storage_bytes", [100 * GIB, 100 * GIB, 500 * GIB]),
        fact("allocated_disk_iops_average", [3000, 3000, 12000]),
        fact("instance_status", [1, 1, 11, 11, 1, 2, 1]),
    ]
    found = [(a.time_s - START_S, a.kind, a.text) for a in changes(series)]

    assert found == [
        (120, EventKind.STORAGE_CHANGE, "provisioned IOPS changed from 3,000 to 12,000"),
        (120, EventKind.STORAGE_CHANGE, "storage changed from 100 to 500 GiB"),
        (120, EventKind.OPTIMISATION, "storage optimisation began"),
        (240, EventKind.OPTIMISATION, "storage optimisation finished"),
        (300, EventKind.BACKUP, "backup began"),
    ]
