"""Bursts of half a minute: what averages of a minute hide, and samples of ten seconds show."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import START_S
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.recognition.intervals import judge_fine
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot

GP3 = Instance(db_class="db.m5.2xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=200.0))
FINE_S, COARSE_S, HOURS = 10, 60, 24
SIZE_BYTES = 16_384
# Enhanced Monitoring covers these hours of the day; the load is busy from 8 to 18.
COVERED = (9, 13)


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operations and latency every ten seconds, and which samples stood at 3,000 IOPS."""
    rng = np.random.default_rng(3)
    index = np.arange(HOURS * 360)
    busy = (index // 360 >= 8) & (index // 360 < 18)
    phase = index % 6
    at_ceiling = busy & ((phase < 3) | ((phase == 3) & (rng.random(index.size) < 0.5)))
    noise = rng.standard_normal(index.size)
    ops = np.where(at_ceiling, 3_000 * (1 + 1e-3 * noise), np.where(busy, 1_100, 300) * (1 + 0.1 * noise))
    latency_s = np.where(at_ceiling, 11e-3, 0.7e-3) * (1 + 0.1 * rng.standard_normal(index.size))
    return ops, latency_s, at_ceiling


def series(step_s: int, first: int, last: int) -> dict[Metric, Series]:
    """What a monitor of that step shows of the samples [first, last)."""
    ops, latency_s, _ = (part[first:last].reshape(-1, step_s // FINE_S) for part in load())
    rate = ops.mean(axis=1)
    wait_s = (ops * latency_s).mean(axis=1) / rate
    values = {
        Metric.READ_OPS_PER_S: 0.6 * rate,
        Metric.WRITE_OPS_PER_S: 0.4 * rate,
        Metric.READ_BYTES_PER_S: 0.6 * rate * SIZE_BYTES,
        Metric.WRITE_BYTES_PER_S: 0.4 * rate * SIZE_BYTES,
        Metric.READ_LATENCY_S: wait_s,
        Metric.WRITE_LATENCY_S: wait_s,
        Metric.QUEUE_DEPTH: rate * wait_s,
    }
    times = START_S + FINE_S * first + step_s * np.arange(rate.size)
    return {m: builders.timed(m, times, v, step_s=step_s) for m, v in values.items()}


@pytest.fixture(scope="module")
def minutes_alone() -> Diagnosis:
    whole = series(COARSE_S, 0, HOURS * 360)
    return diagnose(Snapshot(instance=GP3, series=whole, source="a test"), catalog())


@pytest.fixture(scope="module")
def with_seconds() -> Diagnosis:
    whole = series(COARSE_S, 0, HOURS * 360)
    fine = series(FINE_S, COVERED[0] * 360, COVERED[1] * 360)
    snapshot = Snapshot(instance=GP3, series=whole, source="a test", fine=fine)
    return diagnose(snapshot, catalog())


def test_minutes_show_waiting_below_every_ceiling(minutes_alone):
    """On average the volume was at two thirds of its limit, and requests waited: that is reported."""
    assert () == minutes_alone.time_at
    assert Verdict.UNKNOWN is minutes_alone.verdict
    assert 10 * 3600 == pytest.approx(sum(w.end_s - w.start_s for w in minutes_alone.waiting))


def test_a_burst_that_follows_a_known_interval_is_a_burst_of_its_own():
    """What ends in the second in which it begins does not overlap it."""
    fine = series(FINE_S, 9 * 360, 9 * 360 + 90)
    whole = series(COARSE_S, 9 * 360, 9 * 360 + 90)
    snapshot = Snapshot(instance=GP3, series=whole, source="a test", fine=fine)
    ceilings = ceilings_of(GP3, catalog())
    first, *rest = judge_fine(snapshot, ceilings, ())
    before = replace(first, start_s=first.start_s - 600, end_s=first.start_s)

    assert (first, *rest) == judge_fine(snapshot, ceilings, (before,))
    assert tuple(rest) == judge_fine(snapshot, ceilings, (first,))


def test_seconds_show_all_the_time_that_was_spent_at_the_ceiling(with_seconds):
    """Of four hours that samples of ten seconds cover, each burst of half a minute counts."""
    _, _, at_ceiling = load()
    truth_s = FINE_S * int(at_ceiling[COVERED[0] * 360 : COVERED[1] * 360].sum())
    (at,) = with_seconds.time_at

    assert (Family.VOLUME_IOPS, 3_000.0) == (at.family, at.ceiling.value)
    assert truth_s == pytest.approx(at.seconds, rel=0.02)
    assert 240 == at.interval_count
