"""Define how much is demanded when: profiles over ten-second bins, 1.0 being the usual peak."""

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rival.second import BIN_S

FloatArray = NDArray[np.float64]
DAY_BINS = 86400 // BIN_S


def wander(rng: np.random.Generator, bins: int, sd: float, tau_s: float) -> FloatArray:
    """Return exp of an Ornstein-Uhlenbeck path with relative size `sd` and memory `tau_s`."""
    # Drawn once a minute and interpolated: what it describes does not change faster.
    minutes = bins // 6 + 2
    keep = float(np.exp(-60.0 / tau_s))
    shocks = rng.standard_normal(minutes) * np.sqrt(1.0 - keep * keep)
    path = np.empty(minutes)
    level = float(rng.standard_normal())
    for index, shock in enumerate(shocks.tolist()):
        level = keep * level + shock
        path[index] = level
    smooth = np.interp(np.arange(bins) / 6.0, np.arange(minutes), path)
    return np.exp(sd * smooth)


def office(rng: np.random.Generator, bins: int, first: datetime) -> FloatArray:
    """Return a working week: a morning rise, a dip at noon, an evening, quiet nights and weekends."""
    second = first.timestamp() + BIN_S * np.arange(bins)
    shift = float(rng.uniform(-6, 6))
    hour = ((second / 3600.0) + shift) % 24.0
    weekday = ((second / 86400.0 + shift / 24.0).astype(np.int64) + 3) % 7
    night = float(rng.uniform(0.05, 0.5))
    wide = float(rng.uniform(2.0, 4.5))
    day = np.exp(-0.5 * ((hour - 10.5) / wide) ** 2)
    evening = float(rng.uniform(0.3, 1.0)) * np.exp(-0.5 * ((hour - 16.5) / wide) ** 2)
    shape = night + (1.0 - night) * np.maximum(day, evening)
    shape *= np.where(weekday >= 5, float(rng.uniform(0.4, 1.0)), 1.0)
    return shape * wander(rng, bins, float(rng.uniform(0.03, 0.15)), float(rng.uniform(300, 3600)))


def deploy(rng: np.random.Generator, bins: int) -> FloatArray:
    """Return a level that changes once or twice, for example after a release."""
    level = np.ones(bins)
    for _ in range(int(rng.integers(1, 3))):
        level[int(rng.integers(bins // 8, bins)) :] *= float(rng.uniform(0.65, 1.5))
    return level


def stints(
    rng: np.random.Generator, bins: int, *, count: int, shortest_s: float, longest_s: float
) -> list[tuple[int, int]]:
    """Return up to `count` separate stretches (first bin, last bin), in order."""
    found: list[tuple[int, int]] = []
    for _ in range(20 * count):
        length = int(rng.uniform(shortest_s, longest_s)) // BIN_S
        if length >= bins * 0.9:
            continue
        start = int(rng.integers(0, bins - length))
        if all(start > b + 120 or start + length < a - 120 for a, b in found):
            found.append((start, start + length))
        if len(found) == count:
            break
    return sorted(found)


def nights(rng: np.random.Generator, bins: int) -> list[int]:
    """Return the bin at which each night's work starts: the same hour of the day, with some delay."""
    start = int(rng.integers(0, int(0.8 * min(bins, DAY_BINS))))
    late = rng.uniform(0, float(rng.choice([30, 600])), bins // DAY_BINS + 1) / BIN_S
    return [
        int(start + DAY_BINS * day + late[day])
        for day in range(bins // DAY_BINS + 1)
        if start + DAY_BINS * day + late[day] < bins
    ]


def every(bins: int, period_s: float, phase_s: float) -> NDArray[np.int64]:
    """Return the bins at which something periodic starts."""
    return (np.arange(phase_s, bins * BIN_S, period_s) // BIN_S).astype(np.int64)
