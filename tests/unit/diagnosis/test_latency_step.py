"""Find little waiting at a ceiling by comparison with the same work at rates a little below it."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.diagnosis.recognition.level import Level
from plimsoll.diagnosis.recognition.signs import step_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import KIB, mib_per_s

UNLISTED = 75e6
GP3_FLOOR = mib_per_s(125)
R6G = Instance(
    identifier="ledger",
    db_class="db.r6g.4xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=364.0, provisioned_ops_per_s=3000.0, provisioned_bytes_per_s=GP3_FLOOR),
)


def day(limit: float, *, step: float, low: float = 0.9, night: float = 0.2) -> dict:
    """
    Work that hovers around a limit for sixteen hours a day.

    Args:
        step: how many times longer requests take while the rate is held.
        low, night: demand in the day at its lowest and at night, as shares of the limit.
    """
    rng = np.random.default_rng(5)
    share = np.concatenate((np.full(8 * HOUR, night), np.full(16 * HOUR, low + 0.12)))
    share = np.tile(share, 2) * builders.wander(rng, 48 * HOUR, 0.05, memory=0.9)
    return builders.held_at(limit * share, limit, rng=rng, size_bytes=64 * KIB, waiting=step, jitter=0.0015)


def held_h(values: dict, level: float, instance: Instance = R6G) -> float:
    found = diagnose(builders.snapshot(values, instance=instance), catalog()).intervals
    return sum(i.end_s - i.start_s for i in found if abs(i.level / level - 1) < 0.01) / 3600


def test_a_third_more_latency_shows_an_unlisted_limit():
    """
    75 MB/s is no number of this class; requests take 40 % longer there than at 70 MB/s in the same hours,
    and nothing more is ever served. With the latency of 70 MB/s somebody asks for no more.
    """
    assert held_h(day(UNLISTED, step=1.4), UNLISTED) > 12
    assert held_h(day(UNLISTED, step=1.0), UNLISTED) == 0


def test_where_the_load_is_never_light_the_hours_next_to_the_level_are_the_reference():
    """The load stays above two thirds of gp3's 125 MiB/s all day, so no light hour tells what requests take."""
    values = day(GP3_FLOOR, step=1.25, night=0.8)

    assert held_h(values, GP3_FLOOR) > 12


def step_at(latency, *, size_bytes=64 * KIB, below=0.95) -> float:
    """The step between an hour at a level and an hour below it, of two latencies."""
    rate = UNLISTED * np.concatenate((np.full(HOUR, below), np.ones(HOUR)))
    values = builders.storage(
        rate, latency_s=np.repeat(latency, HOUR), size_bytes=np.broadcast_to(size_bytes, rate.shape)
    )
    frame = frame_of(builders.snapshot(values))
    level = Level(value=UNLISTED, log_sd=0.001, band_log=0.008, runs=np.array([[HOUR, 2 * HOUR]]))
    inside = np.arange(2 * HOUR) >= HOUR
    return step_of(level, rate, inside, frame, congestion_of(frame, load_of(frame)))


def test_the_step_is_the_ratio_of_the_two_latencies():
    """2 ms at the level and 1 ms below it: twice as long, less what is transfer."""
    assert pytest.approx(np.log(2), abs=0.2) == step_at([1e-3, 2e-3])


def test_other_work_and_rates_far_below_tell_nothing():
    """Requests four times as large are other work, and latency grows with load by itself."""
    size = np.repeat([256 * KIB, 64 * KIB], HOUR)

    assert np.isnan(step_at([1e-3, 2e-3], size_bytes=size))
    assert np.isnan(step_at([1e-3, 2e-3], below=0.5))
