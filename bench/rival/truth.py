"""Compute the truth: the share of each sample in which a bound throttled requests, and the long runs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rival import second
from rival.camera import Film
from rival.machines import DIMENSIONS
from rival.rhythm import FloatArray
from rival.scene import SAMPLE_S, Scene

PEGGED = 0.8
SHORTEST_S = 600


@dataclass(frozen=True, slots=True)
class TrueInterval:
    """Hold a run of samples in which one bound throttled requests for at least PEGGED of the time."""

    start_s: int
    end_s: int
    """Epoch seconds, [start, end)."""
    dimension: str
    level: float
    """Enforced rate, bytes/s or ops/s."""
    family: str
    phase: str


def held_shares(film: Film) -> FloatArray:
    """Return the share of each sample's measured seconds per bound and state, shape (n, 8)."""
    seen = np.maximum(film.sums[:, second.UP], 1.0)
    return film.sums[:, second.HELD : second.HELD + 8] / seen[:, None]


def added_wait_s(film: Film) -> FloatArray:
    """Return the mean seconds the limiter added to each I/O; NaN where the sample is missing."""
    wait = film.sums[:, second.ADDED] / np.maximum(film.sums[:, second.UP], 1.0)
    return np.where(film.missing, np.nan, wait)


def throttled(film: Film) -> FloatArray:
    """Return the share of time any bound throttled requests; NaN where the sample is missing."""
    share = held_shares(film).sum(axis=1)
    share[film.missing] = np.nan
    return share


def intervals(scene: Scene, film: Film) -> tuple[TrueInterval, ...]:
    """Return the runs of at least SHORTEST_S, in order of their start."""
    shares = held_shares(film)
    per = film.step_s // SAMPLE_S
    found = []
    for code in range(8):
        bound, in_peak = divmod(code, 2)
        for a, b in _runs(shares[:, code] >= PEGGED, film):
            start, end = int(film.time_s[a]), int(film.time_s[b]) + film.step_s
            if end - start < SHORTEST_S:
                continue
            bounds = scene.bounds_at(a * per)
            limit = bounds[bound]
            family, phase = limit.peak_label if in_peak else limit.base_label
            level = scene.level_of(bounds, bound, in_peak=bool(in_peak))
            found.append(TrueInterval(start, end, DIMENSIONS[bound], level, family, phase))
    return tuple(sorted(found, key=lambda i: (i.start_s, i.end_s, i.dimension)))


def _runs(pegged: NDArray[np.bool_], film: Film) -> list[tuple[int, int]]:
    """Return first and last sample of each run; a gap of ten minutes in the data ends a run."""
    found: list[tuple[int, int]] = []
    first = last = -1
    for index in np.flatnonzero(pegged & ~film.missing).tolist():
        hole = (index - last - 1) * film.step_s
        joined = last >= 0 and hole < SHORTEST_S and bool(pegged[last:index].all())
        if not joined:
            if first >= 0:
                found.append((first, last))
            first = index
        last = index
    if first >= 0:
        found.append((first, last))
    return found
