"""Aurora: what is documented for it, and nothing of what is not."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits import ceilings_of, chain_of, legacy_limits_of
from plimsoll.limits.layout import other_meaning
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import GIB
from unit.limits.instances import instance, of

STORAGE_RATES = {
    Family.INSTANCE_EBS_THROUGHPUT,
    Family.INSTANCE_EBS_IOPS,
    Family.VOLUME_THROUGHPUT,
    Family.VOLUME_IOPS,
    Family.STORAGE_SPACE,
}


def aurora(db_class: str = "db.r6g.2xlarge", *, engine: str = "aurora-postgresql") -> Instance:
    return instance(db_class, engine=engine, storage=Storage(kind="aurora"))


def serverless(capacity: float | None, *, engine: str = "aurora-postgresql") -> Instance:
    return instance("db.serverless", engine=engine, capacity_acu_max=capacity)


@pytest.mark.parametrize(
    "subject",
    [
        aurora(),
        aurora(engine="aurora-mysql"),
        aurora("db.r6gd.2xlarge"),
        instance(engine=None, storage=Storage(kind="aurora-iopt1", size_gib=1)),
        serverless(16),
        instance("db.serverless", engine=None),
    ],
)
def test_no_storage_rate_is_made_up(subject: Instance):
    """No throughput, IOPS or size of the cluster volume is documented, so there is none; no legacy one."""
    assert not STORAGE_RATES & {c.family for c in ceilings_of(subject, catalog())}
    assert chain_of(subject, catalog()) == ()
    assert legacy_limits_of(subject, catalog()) == ()
    assert sheet_of(subject, catalog()).rows == ()


@pytest.mark.parametrize(
    ("engine", "db_class", "gib"),
    [
        ("aurora-postgresql", "db.r6g.2xlarge", 126),
        ("aurora-postgresql", "db.t4g.medium", 8.13),
        ("aurora-postgresql", "db.x2g.16xlarge", 1829),
        ("aurora-postgresql", "db.r8g.48xlarge", 3072),
        ("aurora-mysql", "db.r6g.2xlarge", 160),
        ("aurora-mysql", "db.t3.small", 32),
        ("aurora-mysql", "db.x2g.large", 40),
        ("aurora-mysql", "db.r7i.48xlarge", 3840),
    ],
)
def test_local_storage_follows_engine_and_class(engine: str, db_class: str, gib: float):
    """The tables "Temporary storage limits" of the Aurora User Guide, read 2026-04-13."""
    (ceiling,) = of(aurora(db_class, engine=engine), Family.LOCAL_STORAGE)

    assert (ceiling.value, ceiling.unit) == (gib * GIB, "bytes")
    assert ceiling.origin.read_on == "2026-04-13"


@pytest.mark.parametrize(
    "subject", [aurora("db.r6gd.2xlarge"), aurora(engine="aurora"), aurora(None), serverless(16), instance()]
)
def test_local_storage_is_unknown_where_nothing_is_documented(subject: Instance):
    """NVMe classes, an engine or an unknown class, Serverless; and RDS has no such table."""
    assert of(subject, Family.LOCAL_STORAGE) == ()


@pytest.mark.parametrize(
    ("capacity", "mysql", "postgresql", "note"),
    [
        (1, 90, 189, "default at a largest capacity of 1 units"),
        (4, 135, 823, "default at a largest capacity of 4 units"),
        (8, 1000, 1669, "default at a largest capacity of 8 units"),
        (16, 2000, 3360, "default at a largest capacity of 16 units"),
        (32, 3000, 5000, "default at a largest capacity of 32 units"),
        (64, 4000, 5000, "default at a largest capacity of 64 units"),
        (256, 6000, 5000, "default at a largest capacity of 256 units"),
        # A capacity that is not in the table has no more than the next one, nor than the formula.
        (2, 135, 450, "upper bound"),
        (24, 3000, 5000, "upper bound"),
        (0.5, 90, 112, "upper bound"),
    ],
)
def test_default_connections_of_serverless(capacity: float, mysql: int, postgresql: int, note: str):
    """The table "Maximum connections for Aurora Serverless v2", read 2026-04-13."""
    for engine, count in (("aurora-mysql", mysql), ("aurora-postgresql", postgresql)):
        (ceiling,) = of(serverless(capacity, engine=engine), Family.CONNECTIONS)

        assert ceiling.value == count
        assert ceiling.note.startswith(note)


def test_a_small_least_capacity_caps_connections_of_postgresql():
    """With a smallest capacity of 0 or 0.5 units the default ends at 2,000; it is not known here."""
    (large,) = of(serverless(64), Family.CONNECTIONS)
    (small,) = of(serverless(8), Family.CONNECTIONS)

    assert "2,000 where the smallest capacity is 0 or 0.5 units" in large.note
    assert "2,000" not in small.note


def test_serverless_has_the_memory_and_cpu_of_its_largest_capacity():
    """About 2 GiB a unit; CPUUtilization and FreeableMemory are counted up to the largest capacity."""
    subject = instance("db.serverless", engine="aurora-mysql", capacity_acu_max=64.0, memory_bytes=4 * GIB)
    (memory,), (cpu,) = of(subject, Family.MEMORY), of(subject, Family.CPU)

    assert memory.value == 128 * GIB
    assert "2 GiB" in memory.note
    assert memory.origin.source.startswith("Aurora User Guide")
    assert "largest capacity" in cpu.note


def test_capacity_is_a_ratio_of_the_largest():
    """A serverless instance at 100 % has nothing left to grow into."""
    (known,), (bare,) = of(serverless(64), Family.CAPACITY), of(serverless(None), Family.CAPACITY)

    assert (known.phase, known.value, known.unit) == (Phase.FIXED, 1.0, "ratio")
    assert known.note == "64 Aurora capacity units"
    assert bare.value == 1.0
    assert of(aurora(), Family.CAPACITY) == ()


@pytest.mark.parametrize("capacity", [None, 0.0, -1.0, float("nan"), 1e9])
def test_a_capacity_that_cannot_be_gives_no_numbers(capacity: float | None):
    """Without a capacity neither connections nor memory are known; that is no error."""
    families = {c.family for c in ceilings_of(serverless(capacity), catalog())}

    assert {Family.CPU, Family.CAPACITY} <= families
    assert Family.CONNECTIONS not in families


def test_the_network_of_aurora_leaves_the_cluster_volume_out():
    """The ceiling is that of the class; the metrics count the traffic of clients only."""
    assert all("cluster volume" in c.note for c in of(aurora(), Family.NETWORK))
    assert all("cluster volume" not in c.note for c in of(instance(), Family.NETWORK))


def test_metrics_that_mean_another_thing_are_named():
    """Aurora counts log records as writes, and its EBS balances are those of a local disk."""
    assert set(other_meaning(aurora())) == {
        Metric.WRITE_OPS_PER_S,
        Metric.BYTE_BALANCE_RATIO,
        Metric.IO_BALANCE_RATIO,
        Metric.VOLUME_BALANCE_RATIO,
    }
    assert other_meaning(instance()) == {}


def test_the_sheet_says_why_no_balance_is_used():
    """Neither of the two EBS balances is claimed to move."""
    notes = {note.metric: note for note in sheet_of(aurora(), catalog()).balances}

    assert notes[Metric.BYTE_BALANCE_RATIO].can_move is None
    assert "local disk" in notes[Metric.BYTE_BALANCE_RATIO].reason
    assert notes[Metric.VOLUME_BALANCE_RATIO].can_move is False
