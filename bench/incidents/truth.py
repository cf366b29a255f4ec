"""
Compute the truth on the grid of the samples.

A sample's fraction is the share of its steps in which a ceiling throttled requests. Two kinds of steps
are neither free nor throttled, because no measurement could tell: requests slowed by a steep latency law
above 90 % of a ceiling that is never quite reached, and requests that wait for less than 15 % of their
service time (the engine's `soft` steps). Samples in which those or the throttled steps make 10–80 % of
the time are ambiguous.

A true interval is a maximal run of samples with a ceiling reached in ≥ 80 % of the steps, always the
same one, pressed (not lightly) for at least half of the run, at least ten minutes long, bridging at
most two samples that are below that or were lost.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incidents import signals
from incidents.engine import BASELINE, BURST
from incidents.machine import FAMILY, STAGES, Machine, identify, is_bytes
from incidents.observe import Served

SHARE_PRESSED = 0.8
SHARE_FREE = 0.1
SHARE_MOSTLY = 0.5
LEAST_S = 600
BRIDGE_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class TrueInterval:
    """Hold one stretch at one ceiling; rates in bytes/s or ops/s."""

    start_s: int
    end_s: int
    dimension: str
    level: float
    """Median enforced rate for the database's volumes at the ceiling."""
    family: str
    phase: str
    former_phase: str | None
    is_unknown: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """Hold the truth per sample and per interval."""

    period_s: int
    time_s: NDArray[np.int64]
    fraction: NDArray[np.float64]
    is_ambiguous: NDArray[np.bool_]
    is_seen: NDArray[np.bool_]
    """Whether reads and writes of bytes and operations all arrived for that sample."""
    intervals: tuple[TrueInterval, ...]

    @property
    def is_clear(self) -> bool:
        """Return whether no ceiling ever throttled a request."""
        return not bool(self.fraction.any() or self.is_ambiguous.any())


def _keys(served: Served) -> NDArray[np.int64]:
    """Return stage and phase as one number per step; −1 if free, shape (n,)."""
    return np.where(served.stage >= 0, served.stage.astype(np.int64) * 3 + served.phase, -1)


def truth_of(machine: Machine, served: Served, period_s: int, start_s: int, seen: NDArray[np.bool_]) -> Truth:
    """Return the truth on the grid of a period; `seen` has shape (n * STEP_S // period_s,)."""
    per = period_s // signals.STEP_S
    keys = _keys(served).reshape(-1, per)
    soft = served.soft.reshape(-1, per) > 0
    held = (keys >= 0).mean(axis=1)
    fraction = ((keys >= 0) & ~soft).mean(axis=1)
    touched = ((keys >= 0) | soft).mean(axis=1)
    ambiguous = (touched >= SHARE_FREE) & (fraction < SHARE_PRESSED)
    times = start_s + period_s * np.arange(fraction.size, dtype=np.int64)
    intervals = []
    for key in np.unique(keys[keys >= 0]).tolist():
        share = (keys == key).mean(axis=1)
        inside = (held >= SHARE_PRESSED) & (share > 0.5 * held) & seen
        for first, last in _runs(inside, LEAST_S // period_s):
            if fraction[first : last + 1].mean() < SHARE_MOSTLY:
                continue
            steps = slice(first * per, (last + 1) * per)
            exact = _keys(served)[steps] == key
            level = float(np.median(served.level[steps][exact]))
            span = (int(times[first]), int(times[last]) + period_s)
            intervals.append(_named(machine, key, span, level))
    intervals.sort(key=lambda i: i.start_s)
    return Truth(period_s, times, fraction, ambiguous, seen, tuple(intervals))


def _runs(inside: NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    """Return first and last index of each run, bridging short breaks, at least `least` samples long."""
    where = np.flatnonzero(inside)
    if where.size == 0:
        return []
    cut = np.flatnonzero(np.diff(where) > BRIDGE_SAMPLES + 1)
    firsts = where[np.concatenate(([0], cut + 1))]
    lasts = where[np.concatenate((cut, [where.size - 1]))]
    pairs = zip(firsts.tolist(), lasts.tolist(), strict=True)
    return [(a, b) for a, b in pairs if b - a + 1 >= least]


def _named(machine: Machine, key: int, span: tuple[int, int], level: float) -> TrueInterval:
    stage, phase = STAGES[key // 3], key % 3
    nominal = machine.nominal(stage)[1 if phase == BURST else 0]
    known = identify(machine.levels, stage, nominal)
    dimension = "throughput" if is_bytes(stage) else "iops"
    name = {BASELINE: "baseline", BURST: "burst"}.get(phase, "fixed")
    return TrueInterval(
        start_s=span[0],
        end_s=span[1],
        dimension=dimension,
        level=level,
        family=FAMILY[stage] if known else "unknown",
        phase=known.phase if known else name,
        former_phase=known.former_phase if known else None,
        is_unknown=known is None,
    )
