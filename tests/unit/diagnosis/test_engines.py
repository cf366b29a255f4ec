"""
Simulated incidents of every engine: the same purchase has other limits, and is up against another one.

Levels are the documented numbers of the RDS User Guide, chap-storage (2026-04-13), put in by hand.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.sources.documents.describe_instances import instance_of
from plimsoll.units import KIB, gib, mb_per_s, mib_per_s

THROUGHPUT, IOPS, EBS = Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS, Family.INSTANCE_EBS_THROUGHPUT


class Case(NamedTuple):
    """What was bought, what its I/O was like, and what throttled it."""

    engine: str
    bought: dict[str, Any]
    kib: int
    family: Family
    level: float


GP3_300: dict[str, Any] = {"StorageType": "gp3", "AllocatedStorage": 300}
GP2_300: dict[str, Any] = {"StorageType": "gp2", "AllocatedStorage": 300}
IO2_300: dict[str, Any] = {"StorageType": "io2", "AllocatedStorage": 300, "Iops": 1000}
GP3_FAST: dict[str, Any] = {"StorageType": "gp3", "AllocatedStorage": 2000, "Iops": 40_000, "StorageThroughput": 500}
MORE = [{"VolumeName": f"rdsdbdata{n}", "StorageType": "GP3", "AllocatedStorage": 200} for n in (2, 3)]
THREE: dict[str, Any] = {"StorageType": "gp3", "AllocatedStorage": 1000, "AdditionalStorageVolumes": MORE}
IO2_FAST: dict[str, Any] = {"StorageType": "io2", "AllocatedStorage": 2000, "Iops": 100_000}
CASES = [
    # 300 GiB of gp3 are one volume, but four for Oracle.
    *(Case(e, GP3_300, 16, IOPS, 3000) for e in ("postgres", "mysql", "mariadb", "db2-se")),
    Case("sqlserver-se", GP3_300, 16, IOPS, 3000),
    Case("oracle-ee", GP3_300, 16, IOPS, 12_000),
    *(Case(e, GP3_300, 96, THROUGHPUT, mib_per_s(125)) for e in ("postgres", "sqlserver-ee")),
    Case("oracle-ee", GP3_300, 96, THROUGHPUT, mib_per_s(500)),
    # SQL Server may buy more on its one volume.
    Case("sqlserver-se", GP3_300 | {"Iops": 9000}, 16, IOPS, 9000),
    Case("sqlserver-se", GP3_300 | {"StorageThroughput": 400}, 128, THROUGHPUT, mib_per_s(400)),
    # 40,000 IOPS bring MySQL 625 MiB/s, and PostgreSQL the 500 that were bought.
    Case("mysql", GP3_FAST, 64, THROUGHPUT, mib_per_s(625)),
    Case("postgres", GP3_FAST, 64, THROUGHPUT, mib_per_s(500)),
    # 1,000 IOPS of io2 bring 256 MiB/s, however many volumes share them.
    *(Case(e, IO2_300, 16, IOPS, 1000) for e in ("postgres", "oracle-se2", "sqlserver-se")),
    # CloudWatch reports all storages together; three of Oracle have 36,000 IOPS.
    Case("oracle-ee", THREE | {"db_class": "db.r5.24xlarge"}, 16, IOPS, 36_000),
    # A preconfigured class is up against its host, an r5.8xlarge, whose 850 MB/s are its limit.
    Case("oracle-ee", IO2_FAST | {"db_class": "db.r5.4xlarge.tpc2.mem2x"}, 128, EBS, mb_per_s(850)),
]


def described(engine: str, db_class: str = "db.r5.12xlarge", **fields: Any) -> Instance:
    return instance_of(
        {
            "DBInstanceIdentifier": "ledger",
            "DBInstanceClass": db_class,
            "Engine": engine,
            "InstanceCreateTime": "2025-06-01T00:00:00Z",
            **fields,
        }
    )


def incident(instance: Instance, family: Family, level: float, *, size_bytes: float, **more: Any) -> Diagnosis:
    """Twelve hours, four of them behind a level; the I/O size wanders as a workload's does."""
    rng = np.random.default_rng(20_261_120)
    demand = builders.working_day(rng, 0.3 * level, 1.8 * level)
    size = size_bytes * builders.wander(rng, demand.size, 0.08, memory=0.5)
    dimension = Dimension.IOPS if family is IOPS else Dimension.THROUGHPUT
    served = builders.held_at(demand, level, rng=rng, dimension=dimension, size_bytes=size)
    return diagnose(builders.snapshot(served, more, instance=instance), catalog())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.engine}-{c.kib}k-{c.level:.0f}")
def test_each_engine_is_up_against_its_own_limit(case: Case):
    """The binding ceiling, its number and its family, from the description that RDS gave."""
    instance = described(case.engine, **case.bought)
    found = incident(instance, case.family, case.level, size_bytes=case.kib * KIB)

    assert Verdict.BINDS == found.verdict
    assert case.family == found.binding.family
    assert pytest.approx(case.level, rel=1e-9) == found.binding.ceiling.value
    assert pytest.approx(case.level, rel=0.005) == found.binding.level
    assert pytest.approx(4 * 3600, rel=0.05) == found.binding.seconds


@pytest.mark.parametrize(("engine", "most"), [("postgres", 3000), ("sqlserver-se", 3000), ("oracle-ee", 12_000)])
def test_bursts_of_gp2_follow_the_number_of_volumes(engine: str, most: float):
    """300 GiB of gp2 burst to 3,000 IOPS on one volume, and to 12,000 on the four of Oracle."""
    falling = {Metric.VOLUME_BALANCE_RATIO: np.linspace(1.0, 0.3, 720)}
    found = incident(described(engine, **GP2_300), IOPS, most, size_bytes=16 * KIB, **falling)

    assert (IOPS, Phase.BURST) == (found.binding.family, found.binding.phase)
    assert pytest.approx(most, rel=0.005) == found.binding.level


@pytest.mark.parametrize("engine", ["postgres", "mysql", "mariadb", "oracle-ee", "sqlserver-se"])
def test_burstable_classes_pay_for_cpu_with_every_engine(engine: str):
    """db.t3 runs in unlimited mode: credits that were charged cost money, and slow nothing down."""
    instance = described(engine, db_class="db.t3.xlarge", **GP3_300)
    found = incident(
        instance,
        IOPS,
        3000 if engine != "oracle-ee" else 12_000,
        size_bytes=16 * KIB,
        **{Metric.CPU_SURPLUS_CREDITS_CHARGED: np.full(720, 2.0)},
    )

    assert "CPUCreditsCharged" in {finding.code for finding in found.findings}


@pytest.mark.parametrize("engine", ["aurora-postgresql", "aurora-mysql"])
def test_aurora_is_never_reported_as_up_against_a_storage_limit(engine: str):
    """A level of Aurora agrees with no documented number, not even with one of the class's EBS limits."""
    instance = described(engine, db_class="db.r5.2xlarge", StorageType="aurora")
    for level in (287.5, 593.75):  # both are EBS limits of the class
        found = incident(instance, Family.INSTANCE_EBS_THROUGHPUT, mb_per_s(level), size_bytes=16 * KIB)

        assert found.binding is not None
        assert (Family.UNKNOWN, None) == (found.binding.family, found.binding.ceiling)


def test_serverless_at_its_largest_capacity_is_bound_by_it():
    """Nothing of Serverless binds by a rate: its capacity, its memory and its connections are judged."""
    rng = np.random.default_rng(7)
    instance = Instance(db_class="db.serverless", engine="aurora-mysql", capacity_acu_max=8.0)
    full = np.full(720, 0.4)
    full[300:360] = 1.0
    measured = {
        Metric.CAPACITY_RATIO: full,
        Metric.CPU_RATIO: 0.5 * full,
        Metric.FREEABLE_MEMORY_BYTES: gib(16) * (1.0 - 0.8 * full),
        Metric.CONNECTION_COUNT: np.full(720, 120.0),
    }
    calm = builders.storage(20e6 * builders.wander(rng, 720, 0.3))
    found = diagnose(builders.snapshot(calm, measured, instance=instance), catalog())
    verdicts = {resource.family: resource.verdict for resource in found.resources}

    assert Verdict.BINDS == found.verdict
    assert Verdict.BINDS == verdicts[Family.CAPACITY]
    assert Verdict.SLACK == verdicts[Family.CONNECTIONS]
    assert "instance class" not in {missing.name for missing in found.missing}
