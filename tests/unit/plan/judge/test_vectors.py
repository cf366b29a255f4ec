"""Distinct limits of many arrangements."""

from math import inf

import numpy as np

from plan_cases import claims, offered
from plimsoll.catalog.load import catalog
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of
from plimsoll.model.instance import Storage
from plimsoll.plan.judge.vectors import LimitColumn, LimitVectors, vectors_of, without_idle
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.units import KIB

THROUGHPUT = LimitColumn("instance_ebs_throughput", "bytes", None)
OPS = LimitColumn("instance_ebs_iops", "ops", None)
VOLUME_THROUGHPUT = LimitColumn("volume_throughput", "bytes", None)
VOLUME_OPS = LimitColumn("volume_iops", "ops", 256 * KIB)
SLOTS = (THROUGHPUT, OPS, VOLUME_THROUGHPUT, VOLUME_OPS)


def finite(chain: tuple[Stage, ...]) -> dict[str, tuple[float, float, float]]:
    """Baseline, burst and capacity of all stripes together, of the stages that limit something."""
    return {
        stage.name: (stage.baseline * stage.stripes, stage.burst * stage.stripes, stage.capacity * stage.stripes)
        for stage in chain
        if np.isfinite(stage.burst)
    }


def of(found: Arrangements, index: int, vectors: LimitVectors) -> dict[str, tuple[float, float, float]]:
    return finite(vectors.chains([int(vectors.of[index])])[0])


def test_every_arrangement_has_a_vector_with_the_numbers_of_its_chain():
    """
    No two rows are equal, and none is left over; what is left of an arrangement's limits is what its own
    chain says, and the rest can never bind.
    """
    found = offered(claims())
    vectors = vectors_of(found, catalog())

    assert vectors.of.shape == (len(found),)
    assert np.array_equal(np.unique(vectors.of), np.arange(len(vectors)))
    assert len(np.unique(vectors.limits.reshape(len(vectors), -1), axis=0)) == len(vectors)
    assert len(vectors) < len(found) / 10
    for index in range(0, len(found), 997):
        whole = finite(chain_of(found.instance(index), catalog()))
        kept = of(found, index, vectors)
        assert kept.items() <= whole.items(), found.name(index)
        assert kept


def test_volumes_that_outrun_the_instance_are_dropped():
    """Four gp2 volumes move 1,000 MiB/s and db.t3.xlarge at most 347.5 MB/s: they are no limit."""
    found = offered(claims())
    assert found.present is not None
    kept = of(found, found.present, vectors_of(found, catalog()))

    assert set(kept) == {"instance_ebs_throughput", "instance_ebs_iops", "volume_iops"}
    assert kept["instance_ebs_throughput"][:2] == (86.875e6, 347.5e6)
    # 3 IOPS a GiB, four volumes of 300 GiB, bursting to 3,000 each with 5.4 million credits each.
    assert kept["volume_iops"] == (3600, 12_000, 21.6e6)


def test_an_instance_that_outruns_its_volumes_is_dropped():
    """One gp3 volume moves 125 MiB/s; db.r5.24xlarge moves nine times that forever."""
    before = claims(db_class="db.r5.24xlarge", storage=Storage(kind="gp3", size_gib=100))
    found = offered(before, keep_class=True, keep_storage=True)
    kept = of(found, 0, vectors_of(found, catalog()))

    assert kept == {"volume_throughput": (125 * 1024**2,) * 2 + (0.0,), "volume_iops": (3000, 3000, 0)}


def test_large_operations_cost_volumes_more_than_the_instance():
    """1,000 operations of 512 KiB are 2,000 at the volumes: they are dropped only where none is so large."""
    table = np.full((1, 4, 3), (inf, inf, 0.0))
    table[0, 0] = (1000 * 256 * KIB, 1000 * 256 * KIB, 0.0)
    table[0, 1] = table[0, 3] = (1500, 1500, 0.0)

    assert without_idle(table, SLOTS)[0, 3, 0] == 1500
    assert without_idle(table, SLOTS, io_size_bytes_max=256 * KIB)[0, 3, 0] == inf
    table[0, 3] = (2500, 2500, 0.0)
    assert without_idle(table, SLOTS)[0, 3, 0] == inf


def test_without_any_limit_there_is_one_vector():
    """Aurora has no EBS: all its classes stand under the same limits, which are none."""
    before = claims(engine="aurora-mysql", db_class="db.r6g.large", storage=Storage(kind="aurora"))
    found = offered(before)
    vectors = vectors_of(found, catalog())

    assert len(vectors) == 1
    assert vectors.chains([0]) == [()]
    assert set(vectors.of.tolist()) == {0}


def test_an_old_instance_keeps_its_limits_with_its_class():
    """212.5 MB/s of 2018 stay while only storage changes; another class has its own present limits."""
    before = claims(db_class="db.r5.2xlarge", storage=Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=30_000))
    found = offered(before)
    legacy = next(one for one in catalog().legacy_limits("db.r5.2xlarge") if one.ebs_baseline_bytes_per_s == 212.5e6)
    vectors = vectors_of(found, catalog(), legacy=legacy)
    is_same = found.is_same_class
    same = np.flatnonzero(is_same).tolist()
    other = [k for k in range(0, len(found), 501) if not is_same[k]]

    for index in same[::50]:
        throughput = of(found, index, vectors).get("instance_ebs_throughput")
        assert throughput is None or throughput[:2] == (212.5e6, 437.5e6)
    for index in other:
        whole = finite(chain_of(found.instance(index), catalog()))
        assert of(found, index, vectors).items() <= whole.items()
