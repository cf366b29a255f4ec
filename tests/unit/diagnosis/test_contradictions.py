"""What is impossible is said, and no verdict rests on it; gaps are gaps; limits that are over are history."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import FITTING, VERDICT, Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB, gib

COUNT = 12 * HOUR
ORDERS = Instance(
    identifier="orders", db_class="db.m5.4xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=100)
)


def of(*parts, instance: Instance = ORDERS) -> Diagnosis:
    return diagnose(builders.snapshot(*parts, instance=instance), catalog())


def rates(ops_per_s, *, size_bytes=8 * KIB) -> dict:
    return builders.storage(np.asarray(ops_per_s, dtype=float) * size_bytes, size_bytes=size_bytes)


@pytest.mark.parametrize("times", [1.7, 2.8, 75.0])
def test_more_than_a_limit_gives_is_not_near_it(times):
    """3,000 IOPS are all that 100 GiB of gp3 give, so class, storage or a unit is not what was given."""
    ops = np.full(COUNT, 400.0)
    ops[2 * HOUR : 5 * HOUR] = 3_000 * times
    found = of(rates(ops))

    assert Verdict.UNKNOWN is found.verdict
    assert FITTING == found.missing[0].name
    assert f"{3_000 * times:,.0f} IOPS for 3 h" in found.missing[0].remedy
    (volume,) = (r for r in found.resources if r.family is Family.VOLUME_IOPS)
    assert Verdict.UNKNOWN is volume.verdict
    assert not [f for f in found.findings if "near its" in f.title and "volume IOPS" in f.title]


@pytest.mark.parametrize("times", [0.5, 1.0, 1.15])
def test_what_a_limit_gives_contradicts_nothing(times):
    ops = np.full(COUNT, 400.0)
    ops[2 * HOUR : 5 * HOUR] = 3_000 * times

    assert FITTING not in {gap.name for gap in of(rates(ops)).missing}


@pytest.mark.parametrize(
    ("metrics", "factor", "name"),
    [
        ((Metric.QUEUE_DEPTH,), 1000.0, "latency and queue depth that agree"),
        (builders.LATENCIES, 1000.0, "latency and queue depth that agree"),
        ((Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S), 2048.0, "throughput and IOPS that agree"),
        ((Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S), 1000.0, "throughput and IOPS that agree"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_metrics_that_contradict_each_other_are_named(metrics, factor, name):
    """Milliseconds as seconds, sectors as megabytes: two witnesses of one thing differ by a power of ten."""
    rng = np.random.default_rng(3)
    values = rates(1_400 * builders.wander(rng, COUNT, 0.2))
    assert name not in {gap.name for gap in of(values).missing}
    for metric in metrics:
        values[metric] = values[metric] * factor

    assert name in {gap.name for gap in of(values).missing}


def test_more_free_space_than_the_storage_has_is_no_use_of_it():
    found = of(rates(np.full(COUNT, 400.0)), {Metric.FREE_STORAGE_BYTES: np.full(COUNT, gib(186))})
    (space,) = (r for r in found.resources if r.family is Family.STORAGE_SPACE)

    assert (Verdict.UNKNOWN, None) == (space.verdict, space.peak)
    assert "a storage size that fits" in {gap.name for gap in found.missing}


def held(gap: slice, *metrics: Metric, at: float = 3_000.0) -> Snapshot:
    """Three hours of twelve at the volume's IOPS; some metrics have no samples within a slice."""
    rng = np.random.default_rng(4)
    asked = np.full(COUNT, 600.0) * builders.wander(rng, COUNT, 0.1)
    asked[5 * HOUR : 8 * HOUR] = 9_000
    size = 8 * KIB * builders.wander(rng, COUNT, 0.1)
    values = builders.held_at(asked, at, rng=rng, dimension=Dimension.IOPS, size_bytes=size, waiting=12)
    for metric in metrics or tuple(values):
        values[metric][gap] = np.nan
    return builders.snapshot(values, instance=ORDERS)


@pytest.mark.parametrize(
    "metrics", [(Metric.WRITE_OPS_PER_S, Metric.WRITE_BYTES_PER_S), (Metric.READ_OPS_PER_S, Metric.READ_BYTES_PER_S)]
)
def test_a_hole_in_the_incident_leaves_the_verdict_open(metrics):
    """Queue and latency are measured and show waiting there: the metrics that are missing are named, with their hours."""
    found = diagnose(held(slice(5 * HOUR - 10, 8 * HOUR + 10), *metrics), catalog())
    gap = found.missing[0]

    assert (Verdict.UNKNOWN, VERDICT) == (found.verdict, gap.hides)
    assert "for 3 h 20 min" in gap.name
    assert "04:50" in gap.remedy


def test_a_limit_above_which_more_was_served_since_is_over():
    """After the storage was changed 2,000 IOPS are served: nothing is to be bought for the 900 before."""
    snapshot = held(slice(0, 0), at=900.0)
    values = {metric: series.value.copy() for metric, series in snapshot.series.items()}
    later = rates(np.full(4 * HOUR, 2_000.0))
    for metric, value in later.items():
        values[metric][8 * HOUR :] = value
    found = diagnose(builders.snapshot(values, instance=ORDERS), catalog())

    assert found.binding.over_s is not None
    assert found.findings[0].moves[0].startswith("Buy nothing for it")


@pytest.mark.parametrize(("now_gib", "jump_gib", "level"), [(300, 0, 900), (435, 40, 1_185), (100, 0, 300)])
def test_a_level_is_the_baseline_of_a_gp2_size(now_gib, jump_gib, level):
    """3 IOPS for each GiB: the size of the storage now, or before its free space jumped."""
    snapshot = held(slice(0, 0), at=float(level))
    free = np.full(COUNT, gib(20))
    free[9 * HOUR :] += gib(jump_gib)
    instance = Instance(db_class="db.m5.4xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=now_gib))
    values = {metric: series.value for metric, series in snapshot.series.items()}
    found = of(values, {Metric.FREE_STORAGE_BYTES: free}, instance=instance)

    assert f"--storage gp2 --size-gib {level / 3:g}" in found.binding.lookalikes[0].flags
