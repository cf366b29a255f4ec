"""Two documented limits of one volume that are met in turn, because the I/O size moves between them."""

import numpy as np

import builders
from builders import ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.search import plateaus_of
from plimsoll.model.ceiling import Dimension, Family, Phase

BYTES_PER_S = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 131_072_000.0)
OPS_PER_S = ceiling(Family.VOLUME_IOPS, Phase.FIXED, 3_000.0)
# I/O of this size meets both at once.
EVEN_BYTES = 131_072_000.0 / 3_000.0
HOURS = 20
MINUTES = np.arange(HOURS * 60)
# Of every hour the last third has the small I/O.
SMALL = MINUTES % 60 >= 40


def in_turn(least: float, most: float) -> list[Plateau]:
    """Behind gp3's included limits for 20 hours, with I/O larger than EVEN_BYTES for 40 minutes of each."""
    rng = np.random.default_rng(11)
    away = np.repeat(rng.uniform(least, most, HOURS * 3), 20)
    size = EVEN_BYTES * np.where(SMALL, 1 - away, 1 + away)
    size *= 1 + rng.normal(0, 0.001, MINUTES.size)
    served = np.minimum(131_072_000.0, 3_000.0 * size) * (1 + rng.normal(0, 0.001, MINUTES.size))
    latency = 0.008 * builders.wander(rng, MINUTES.size, 0.15, memory=0.7)
    series = builders.storage(served, size_bytes=size, latency_s=latency)
    frame = frame_of(builders.snapshot(series))
    ceilings = (BYTES_PER_S, OPS_PER_S)
    return plateaus_of(frame, congestion_of(frame, load_of(frame), ceilings), ceilings)


def minutes_of(plateaus: list[Plateau], dimension: Dimension) -> set[int]:
    held = [(a, b) for p in plateaus if p.dimension == dimension for a, b in p.runs]
    return {int(minute) for a, b in held for minute in range(a, b)}


def test_each_limit_has_the_minutes_in_which_it_was_reached():
    """Larger I/O meets the limit of bytes, smaller the one of operations, and no minute is lost."""
    found = in_turn(0.015, 0.06)

    assert set(np.flatnonzero(SMALL).tolist()) == minutes_of(found, Dimension.IOPS)
    assert set(np.flatnonzero(~SMALL).tolist()) == minutes_of(found, Dimension.THROUGHPUT)


def test_limits_that_cannot_be_distinguished_are_one():
    """Where both rates stand at their numbers at once, all time belongs to one of them."""
    (plateau,) = in_turn(0.0, 0.0)

    assert Dimension.THROUGHPUT == plateau.dimension
    assert [[0, HOURS * 60]] == plateau.runs.tolist()
