"""Snapshot and catalog in, diagnosis out."""

import numpy as np
import pytest

import builders
from builders import HOUR, LATENCIES, START_S
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import EbsLimits, Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import mb_per_s

# db.m5.large since 2019: 81.25 MB/s baseline, 593.75 MB/s burst.
M5 = Instance(
    identifier="orders", db_class="db.m5.large", engine="postgres", storage=Storage(kind="gp3", size_gib=500.0)
)


def of(*values, instance=M5, **more) -> Diagnosis:
    return diagnose(builders.snapshot(*values, instance=instance, **more), catalog())


def pressed(level: float, **how) -> dict:
    rng = np.random.default_rng(21)
    demand = builders.working_day(rng, 0.3 * level, 2 * level, spread=0.25)
    size = 32_768 * builders.wander(rng, demand.size, 0.05)
    return builders.held_at(demand, level, **({"rng": rng, "size_bytes": size} | how))


_HOURS = np.arange(12 * HOUR) // HOUR
EMPTIED = {Metric.BYTE_BALANCE_RATIO: np.where((_HOURS >= 4) & (_HOURS < 8), 0.0, 0.6)}
"""The byte balance of `pressed`: without it, four hours of rest before would refute a baseline."""


def quiet() -> dict:
    rng = np.random.default_rng(22)
    rate = builders.working_day(rng, 5e6, 20e6, spread=0.3)
    return builders.storage(rate, latency_s=0.0008 * builders.wander(rng, rate.size, 0.1))


def test_a_baseline_without_credits_binds():
    """
    Four hours at 81 MB/s with an empty byte balance are the baseline of db.m5.large; every other
    documented rate limit is listed with a reason.
    """
    diagnosis = of(pressed(81e6), EMPTIED)
    (interval,) = diagnosis.intervals
    documented = [c for c in diagnosis.ceilings if c.dimension != Dimension.AMOUNT]
    ruled_out = [out.ceiling for out in diagnosis.intervals[0].ruled_out]

    assert Verdict.BINDS == diagnosis.verdict
    assert (Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE) == (interval.family, interval.phase)
    assert 81.25e6 == interval.ceiling.value
    assert (START_S + 4 * 3600, START_S + 8 * 3600) == (interval.start_s, interval.end_s)
    assert interval.confidence > 0.95
    assert interval.attribution > 0.95
    np.testing.assert_allclose(interval.io_size_bytes, 32_768, rtol=0.02)
    np.testing.assert_allclose(interval.latency_s / interval.latency_reference_s, 8, rtol=0.3)
    assert {"match", "flatness", "waiting", "balance"} <= {e.kind for e in interval.evidence}
    assert interval.refuted_by
    assert len(documented) - 1 == len(ruled_out)
    assert diagnosis.intervals[0].ceiling not in ruled_out
    assert all(out.reason for out in diagnosis.intervals[0].ruled_out)


def test_error_bars_lie_on_both_sides_of_the_level():
    """The bars of a level are as far above it as below, in its logarithm, and about half a percent."""
    (interval,) = of(pressed(81e6)).intervals

    np.testing.assert_allclose(interval.level_high / interval.level, interval.level / interval.level_low)
    assert 1.002 < interval.level_high / interval.level < 1.01
    assert interval.level_low < 81e6 < interval.level_high


def test_the_reported_number_of_an_interval_is_its_middle():
    """One slow minute and one deep queue do not move the latency and queue of hours."""
    values = pressed(81e6)
    (before,) = of(values).intervals
    for metric in (*LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][5 * HOUR] *= 100
    (after,) = of(values).intervals

    np.testing.assert_allclose(after.latency_s, before.latency_s, rtol=0.02)
    np.testing.assert_allclose(after.queue_depth, before.queue_depth, rtol=0.02)
    pegged = values[Metric.QUEUE_DEPTH][4 * HOUR : 8 * HOUR]
    np.testing.assert_allclose(after.queue_depth, np.median(pegged), rtol=1e-9)


def test_half_of_storage_measured_is_measured():
    """Hours with operations and without bytes count as measured, hours with neither do not."""
    values = quiet()
    for metric in (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S):
        values[metric][: 6 * HOUR] = np.nan
    for metric in builders.RATES:
        values[metric][: 2 * HOUR] = np.nan

    assert 10 * 3600.0 == of(values).measured_s


def test_time_at_a_ceiling_adds_its_intervals():
    """Two stretches at one limit are one entry with the time of both."""
    values = pressed(81e6)
    for value in values.values():
        value[5 * HOUR : 6 * HOUR] = np.nan
    diagnosis = of(values, EMPTIED)
    (at,) = diagnosis.time_at

    assert diagnosis.binding == at
    assert (2, 3 * 3600.0) == (at.interval_count, at.seconds)
    assert 11 * 3600.0 == diagnosis.measured_s


def test_a_window_that_came_near_is_near():
    """Demand above four fifths of a baseline that never throttled it is near."""
    rng = np.random.default_rng(24)
    rate = np.clip(builders.working_day(rng, 10e6, 70e6, spread=0.1), 0, 79e6)
    latency = 0.0008 * builders.wander(rng, rate.size, 0.1)
    diagnosis = of(builders.storage(rate, size_bytes=65_536, latency_s=latency))

    assert Verdict.NEAR == diagnosis.verdict
    assert () == diagnosis.intervals


def test_without_storage_metrics_it_is_unknown():
    """CPU alone does not clear storage; no series at all is a gap, not a crash."""
    diagnosis = of({Metric.CPU_RATIO: np.full(60, 0.3)})
    empty = diagnose(Snapshot(instance=Instance(), series={}, source=""), catalog())

    assert Verdict.UNKNOWN == diagnosis.verdict
    assert 0.0 == diagnosis.measured_s
    assert "ReadThroughput" in diagnosis.missing[0].name
    assert Verdict.UNKNOWN == empty.verdict
    assert (0, 0) == empty.window_s


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_handful_of_samples_is_not_a_crash(count):
    """A window of minutes has a diagnosis; nothing binds in it."""
    diagnosis = of(builders.storage(np.full(count, 81.25e6), latency_s=0.02))

    assert () == diagnosis.intervals
    assert 60.0 * count == diagnosis.measured_s


def test_near_a_limit_without_waiting_measured_it_is_unknown():
    """Rates that came near a baseline, but no latency and no queue depth: not cleared."""
    rng = np.random.default_rng(26)
    rate = np.clip(builders.working_day(rng, 10e6, 62e6, spread=0.2), 0, 79e6)
    values = builders.storage(rate, size_bytes=65_536 * builders.wander(rng, rate.size, 0.2))
    for metric in (*LATENCIES, Metric.QUEUE_DEPTH):
        del values[metric]
    diagnosis = of(values)

    assert () == diagnosis.intervals
    assert Verdict.UNKNOWN == diagnosis.verdict


def test_an_unknown_class_is_reported_and_the_ceiling_still_found():
    """A class the catalog does not hold costs the name of the limit, not the finding."""
    diagnosis = of(pressed(81e6), instance=Instance(db_class="db.m5.lage", engine="postgres"))

    assert Verdict.BINDS == diagnosis.verdict
    assert Family.UNKNOWN == diagnosis.intervals[0].family
    assert "unknown instance class 'db.m5.lage'" in diagnosis.missing[0].remedy
    assert "The nearest ones are db.m5." in diagnosis.missing[0].remedy


def test_a_class_that_only_the_account_knows_has_the_limits_of_its_ec2_type():
    """A class newer than the catalog is judged by what EC2 says of the same type, and that is reported."""
    found = EbsLimits(
        baseline_bytes_per_s=mb_per_s(78.125),
        burst_bytes_per_s=mb_per_s(1250),
        baseline_ops_per_s=3_600,
        burst_ops_per_s=40_000,
        source="ec2:DescribeInstanceTypes of z9z.large",
        read_on="2026-11-22",
    )
    instance = Instance(db_class="db.z9z.large", engine="postgres", ebs_limits=found)
    diagnosis = of(pressed(78.1e6), EMPTIED, instance=instance)
    (gap,) = [m for m in diagnosis.missing if m.name == "db.z9z.large in the catalog"]

    assert Family.INSTANCE_EBS_THROUGHPUT == diagnosis.intervals[0].family
    assert "ec2:DescribeInstanceTypes of z9z.large, read on 2026-11-22" in gap.remedy
    assert "instance class" not in {m.name for m in diagnosis.missing}


def test_the_volumes_limits_are_kept_for_an_unknown_class():
    """The storage that was bought has its limits whatever the class."""
    storage = Storage(kind="gp3", size_gib=500.0)
    diagnosis = of(
        pressed(522e6, size_bytes=131_072 * builders.wander(np.random.default_rng(3), 720, 0.05)),
        instance=Instance(db_class="db.none.large", engine="postgres", storage=storage),
    )

    assert Family.VOLUME_THROUGHPUT == diagnosis.intervals[0].family


def test_buckets_and_forecasts_are_part_of_it():
    """A balance that moves is fitted, and its end predicted."""
    rng = np.random.default_rng(25)
    blocks = np.repeat(81.25e6 * rng.uniform(0.1, 2.3, 24), HOUR // 2)
    balance = builders.bucket_balance(blocks, baseline=81.25e6, capacity=900e9, start_ratio=0.8)
    diagnosis = of(
        builders.storage(blocks, size_bytes=65_536),
        builders.series(Metric.BYTE_BALANCE_RATIO, balance.reshape(-1, 5).mean(axis=1), step_s=300),
    )

    assert [Family.INSTANCE_EBS_THROUGHPUT] == [bucket.family for bucket in diagnosis.buckets]
    np.testing.assert_allclose(diagnosis.buckets[0].capacity, 900e9, rtol=0.02)
    assert [Family.INSTANCE_EBS_THROUGHPUT] == [f.family for f in diagnosis.forecasts]
