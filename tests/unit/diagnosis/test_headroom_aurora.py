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
UNDOCUMENTED = "no size is documented for this class"
PARTLY_USED = UNDOCUMENTED + ": {} GiB of at least 100 GiB were in use at the peak"


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


UNUSED = {Metric.CPU_RATIO: np.full(60, 0.2)}
GIVEN = (ceiling(Family.LOCAL_STORAGE, Phase.FIXED, gib(1000)),)


@pytest.mark.parametrize(
    ("instance", "ceilings", "measured", "verdict", "size_gib", "peak_gib", "note"),
    [
        # db.r6g.large has 32 GiB under Aurora PostgreSQL; what is not free is in use.
        (PROVISIONED, None, filled(30, 4), Verdict.NEAR, 32, 28, ""),
        (PROVISIONED, None, filled(30, 20), Verdict.SLACK, 32, 12, ""),
        # With 60 GiB free, the documented 32 GiB are not the size; what was seen bounds it.
        (PROVISIONED, None, filled(60, 6), Verdict.NEAR, 60, 54, "more than the documented 32 GiB was free"),
        (PROVISIONED, None, UNUSED, Verdict.UNKNOWN, 32, None, "not measured: FreeLocalStorage is missing"),
        # The most that was free is a lower bound of an unknown size; 90 % of it in use is at least near.
        (NVME, None, filled(100, 10), Verdict.NEAR, 100, 90, PARTLY_USED.format(90)),
        # A disk with 50 of at least 100 GiB in use may be nearly full.
        (NVME, None, filled(100, 50), Verdict.UNKNOWN, None, 50, PARTLY_USED.format(50)),
        # A constant amount of free space says nothing about the size.
        (NVME, None, filled(100, 99.5), Verdict.UNKNOWN, None, None, f"{UNDOCUMENTED}, and the window shows no use"),
        # The documented size may come from anywhere.
        (NVME, GIVEN, filled(100, 10), Verdict.NEAR, 1000, 990, ""),
    ],
    ids=["near", "slack", "refuted", "unmeasured", "lower bound", "half", "constant", "given"],
)
def test_local_storage_is_judged_by_its_size(instance, ceilings, measured, verdict, size_gib, peak_gib, note):
    """Documented, given, or at least what was free at once."""
    local = resources(instance, measured, ceilings=ceilings)[Family.LOCAL_STORAGE]
    size = local.ceiling and local.ceiling.value

    assert verdict == local.verdict
    assert (size_gib and gib(size_gib), peak_gib and gib(peak_gib)) == (size, local.peak)
    assert local.note.startswith(note)
    assert (size_gib in (60, 100)) == ("lower bound" in (local.ceiling.note if local.ceiling else ""))


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
