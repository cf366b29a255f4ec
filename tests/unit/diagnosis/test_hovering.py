"""A load that hovers at a ceiling all day: pressed now more, now less, and never at ease."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.level import Level
from plimsoll.diagnosis.signs import _elasticity
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import KIB, mib_per_s

MINUTES = 1440
LEVEL = mib_per_s(500)
GP3 = Instance(
    identifier="claims",
    db_class="db.m6g.4xlarge",
    engine="postgres",
    storage=Storage(
        kind="gp3", size_gib=2837.0, provisioned_ops_per_s=13_000.0, provisioned_bytes_per_s=LEVEL
    ),
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
def test_waiting_that_hardly_varies_cannot_show_that_the_rate_moves_along(
    rate_sd, waiting_sd, is_known
):
    """
    An enforced rate jitters by 0.6 %: beside waiting that varies by 7 % that looks like moving along.
    """
    rng = np.random.default_rng(2)
    distance, excess = rng.normal(0, rate_sd, 200), 2 + rng.normal(0, waiting_sd, 200)
    level = Level(value=1e8, log_sd=rate_sd, band_log=4 * rate_sd, runs=np.array([[0, 200]]))
    found = _elasticity(distance, excess, np.ones(200, dtype=bool), level)

    assert is_known == np.isfinite(found)
