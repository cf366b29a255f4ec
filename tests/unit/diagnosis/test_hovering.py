"""A load that hovers at a ceiling all day: pressed now more, now less, and never at ease."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.recognition.level import Level
from plimsoll.diagnosis.recognition.signs import _elasticity
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import KIB, mib_per_s

MINUTES = 1440
LEVEL = mib_per_s(500)
GP3 = Instance(
    identifier="claims",
    db_class="db.m6g.4xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=2837.0, provisioned_ops_per_s=13_000.0, provisioned_bytes_per_s=LEVEL),
)


def test_minutes_within_the_spread_of_a_ceiling_belong_to_it():
    """
    A day at 500 MiB/s ± 0.3 %; the queue triples for some hours. No minute shows the storage at ease,
    so the hours of the shorter queue are at the ceiling as well.
    """
    rng = np.random.default_rng(1)
    rate = LEVEL * 0.9985 * builders.wander(rng, MINUTES, 0.003)
    latency = 0.00105 * builders.wander(rng, MINUTES, 0.05)
    latency[300:600] *= 3
    sizes = 46 * KIB * builders.wander(rng, MINUTES, 0.03)
    values = builders.storage(rate, size_bytes=sizes, latency_s=latency)
    diagnosis = diagnose(builders.snapshot(values, instance=GP3), catalog())

    assert {LEVEL} == {i.ceiling.value for i in diagnosis.intervals if i.ceiling}
    held_s = sum(i.end_s - i.start_s for i in diagnosis.intervals)
    assert held_s > 0.9 * MINUTES * 60


@pytest.mark.parametrize(
    ("rate_sd", "waiting_sd", "is_known"),
    [(0.007, 0.07, False), (0.001, 0.07, True), (0.007, 0.3, True), (0.05, 0.3, True)],
)
def test_waiting_that_hardly_varies_cannot_show_that_the_rate_moves_along(rate_sd, waiting_sd, is_known):
    """An enforced rate jitters by 0.6 %: with waiting that varies by 7 % that looks as if both changed together."""
    rng = np.random.default_rng(2)
    distance, excess = rng.normal(0, rate_sd, 200), 2 + rng.normal(0, waiting_sd, 200)
    level = Level(value=1e8, log_sd=rate_sd, band_log=4 * rate_sd, runs=np.array([[0, 200]]))
    found = _elasticity(distance, excess, np.ones(200, dtype=bool), level)

    assert is_known == np.isfinite(found)


def test_hours_without_latency_belong_to_a_ceiling_that_is_known():
    """Latency and queue are missing for the first four of twelve hours at 500 MiB/s: unknown is not idle."""
    rng = np.random.default_rng(3)
    wanted = LEVEL * np.repeat([1.5, 0.2], 12 * 60) * builders.wander(rng, MINUTES, 0.1)
    values = builders.held_at(wanted, LEVEL, rng=rng, size_bytes=64 * KIB)
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][:240] = np.nan
    intervals = diagnose(builders.snapshot(values, instance=GP3), catalog()).intervals

    assert sum(i.end_s - i.start_s for i in intervals) > 0.98 * 12 * 3600


def test_a_day_at_a_number_is_not_refuted_by_storage_in_general():
    """
    All day at 500 MiB/s with 1.5 to 1.9 ms for 92 KiB, in some hours 3 ms: what SSD storage usually takes
    does not tell which of these minutes were at ease on this one.
    """
    rng = np.random.default_rng(4)
    rate = LEVEL * 0.999 * builders.wander(rng, MINUTES, 0.0015)
    latency = 0.0017 * builders.wander(rng, MINUTES, 0.08)
    latency[600:700] *= 1.7
    values = builders.storage(rate, size_bytes=92 * KIB, latency_s=latency)
    intervals = diagnose(builders.snapshot(values, instance=GP3), catalog()).intervals

    assert sum(i.end_s - i.start_s for i in intervals) > 0.98 * MINUTES * 60
