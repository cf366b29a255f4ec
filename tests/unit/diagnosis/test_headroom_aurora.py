"""How near Aurora came to the limits that it has."""

import numpy as np
import pytest

import builders
from builders import ceiling
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.headroom import resources_of
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.diagnosis import Resource, Verdict
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import gib

PROVISIONED = Instance(db_class="db.r6g.large", engine="aurora-postgresql", storage=Storage(kind="aurora"))
NVME = Instance(db_class="db.r6gd.xlarge", engine="aurora-postgresql")
SERVERLESS = Instance(db_class="db.serverless", engine="aurora-mysql", capacity_acu_max=16.0)
FREE = Metric.FREE_LOCAL_STORAGE_BYTES


def resources(instance: Instance, *values, ceilings: tuple[Ceiling, ...] | None = None) -> dict[Family, Resource]:
    snapshot = builders.snapshot(*values, instance=instance)
    known = ceilings_of(instance, catalog()) if ceilings is None else ceilings
    found = resources_of(snapshot, frame_of(snapshot), known, ())
    return {resource.family: resource for resource in found}


def filled(free_gib: float, filled_gib: float, *, minutes: int = 30) -> dict[Metric, np.ndarray]:
    """Four hours of a local disk with some GiB free, and fewer for some minutes."""
    value = np.full(240, gib(free_gib))
    value[100 : 100 + minutes] = gib(filled_gib)
    return {FREE: value}


def test_aurora_is_judged_by_what_it_has():
    """No row for EBS, volumes or allocated storage; local storage in their place."""
    busy = builders.storage(np.full(60, 400e6))

    families = resources(PROVISIONED, busy)

    assert not {*RATE_FAMILIES, Family.STORAGE_SPACE, Family.CAPACITY} & families.keys()
    assert {Family.CPU, Family.LOCAL_STORAGE} <= families.keys()


def test_serverless_has_a_capacity_and_no_local_storage():
    """FreeLocalStorage is not reported for Aurora Serverless v2."""
    families = resources(SERVERLESS)

    assert Family.CAPACITY in families
    assert Family.LOCAL_STORAGE not in families


def test_other_engines_show_local_storage_where_it_was_measured():
    """RDS classes with NVMe disks report FreeLocalStorage as well; their size is not in the catalog."""
    postgres = Instance(db_class="db.m6gd.large", engine="postgres")

    assert Family.LOCAL_STORAGE not in resources(postgres)
    assert Family.LOCAL_STORAGE in resources(postgres, filled(100, 5))


@pytest.mark.parametrize(("free_gib", "verdict", "peak_gib"), [(4, Verdict.NEAR, 28), (20, Verdict.SLACK, 12)])
def test_local_storage_of_a_documented_size(free_gib, verdict, peak_gib):
    """db.r6g.large has 32 GiB under Aurora PostgreSQL; what is not free is in use."""
    local = resources(PROVISIONED, filled(30, free_gib))[Family.LOCAL_STORAGE]

    assert verdict == local.verdict
    assert (gib(32), gib(peak_gib)) == (local.ceiling.value, local.peak)


def test_local_storage_of_unknown_size_may_be_near():
    """The most that was free is a lower bound of the size; 90 % of it in use is at least near."""
    local = resources(NVME, filled(100, 10))[Family.LOCAL_STORAGE]

    assert Verdict.NEAR == local.verdict
    assert gib(100) == local.ceiling.value
    assert "lower bound" in local.ceiling.note
    assert local.note == ("no size is documented for this class: 90 GiB of at least 100 GiB were in use at the peak")


def test_local_storage_of_unknown_size_is_never_slack():
    """A disk with 50 of at least 100 GiB in use may be nearly full: how much it holds is not known."""
    local = resources(NVME, filled(100, 50))[Family.LOCAL_STORAGE]

    assert Verdict.UNKNOWN == local.verdict
    assert local.ceiling is None
    assert "50 GiB of at least 100 GiB" in local.note


def test_a_window_without_use_of_local_storage_shows_nothing():
    """A constant amount of free space says nothing about the size."""
    local = resources(NVME, filled(100, 99.5))[Family.LOCAL_STORAGE]

    assert Verdict.UNKNOWN == local.verdict
    assert (None, None) == (local.peak, local.ceiling)
    assert local.note.endswith("and the window shows no use of it")


def test_more_free_than_documented_refutes_the_document():
    """With 60 GiB free, the documented 32 GiB are not the size; what was seen bounds it."""
    local = resources(PROVISIONED, filled(60, 6))[Family.LOCAL_STORAGE]

    assert Verdict.NEAR == local.verdict
    assert gib(60) == local.ceiling.value
    assert local.note.startswith("more than the documented 32 GiB was free")


def test_local_storage_that_was_not_measured_is_unknown():
    """The row stays and names the metric."""
    local = resources(PROVISIONED, {Metric.CPU_RATIO: np.full(60, 0.2)})[Family.LOCAL_STORAGE]

    assert Verdict.UNKNOWN == local.verdict
    assert local.note == "not measured: FreeLocalStorage is missing"


@pytest.mark.parametrize(
    ("busy", "verdict", "note"),
    [
        (0.7, Verdict.SLACK, ""),
        (0.9, Verdict.NEAR, ""),
        (1.0, Verdict.NEAR, "at its largest capacity for 30 min: no CPU and memory left to add"),
    ],
)
def test_capacity_is_near_like_cpu(busy, verdict, note):
    """Above 80 % for minutes is near; at 100 % there is nothing left to grow into."""
    value = np.full(240, 0.3)
    value[:30] = busy
    capacity = resources(SERVERLESS, {Metric.CAPACITY_RATIO: value})[Family.CAPACITY]

    assert (verdict, note) == (capacity.verdict, capacity.note)
    assert capacity.ceiling.note == "16 Aurora capacity units"


def test_serverless_memory_is_that_of_its_largest_capacity():
    """16 units have about 32 GiB; more than that may be reported free, and is no use below zero."""
    memory = resources(SERVERLESS, {Metric.FREEABLE_MEMORY_BYTES: np.full(60, gib(32.3))})[Family.MEMORY]

    assert (gib(32), 0.0) == (memory.ceiling.value, memory.peak)
    assert Verdict.SLACK == memory.verdict


def test_connections_of_aurora_are_judged_by_its_own_default():
    """A db.r6g.large has 1,000 under Aurora MySQL, where MySQL would have 1,365."""
    mysql = Instance(db_class="db.r6g.large", engine="aurora-mysql")
    connections = resources(mysql, {Metric.CONNECTION_COUNT: np.full(60, 950.0)})[Family.CONNECTIONS]

    assert (Verdict.NEAR, 1000) == (connections.verdict, connections.ceiling.value)


def test_a_ceiling_handed_in_is_used():
    """The documented size may come from anywhere."""
    local = resources(NVME, filled(100, 10), ceilings=(ceiling(Family.LOCAL_STORAGE, Phase.FIXED, gib(1000)),))[
        Family.LOCAL_STORAGE
    ]

    assert (Verdict.NEAR, gib(990)) == (local.verdict, local.peak)
