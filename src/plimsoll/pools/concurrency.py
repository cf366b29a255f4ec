"""
How many sessions a machine runs well: the universal scalability law, Little's law, Erlang's formula.

Throughput at N busy sessions is X(N) = λN / (1 + σ(N−1) + κN(N−1)): contention σ flattens it, coherence κ
turns it down. N95, the smallest N with 95 % of the most there is, is flatter than the knee and safer:
a few sessions too many cost little, a few too few cost more.

Rule 1: what is beyond 1.2 × N95 was not seen: an answer from less is called extrapolated.
Rule 2: throughput measured while storage was at its ceiling has the ceiling's knee, not the machine's.
Sources: N. Gunther, Guerrilla Capacity Planning (2007); A. K. Erlang (1917); J. D. C. Little (1961).
"""

from collections.abc import Sequence
from math import inf, log

import numpy as np
from msgspec import Struct

from plimsoll.model.pool_size import LoadPoint, ScalabilityCurve
from plimsoll.model.series import FloatArray

# Beyond this nobody runs a database; it bounds the search where nothing turns the curve down.
SESSIONS_MAX = 100_000
_SHARE = 0.95
_SEEN_BEYOND = 1.2
# Fewer different N, or N that are nearer together, say nothing of a curve of three constants.
_LEVELS_MIN = 3
_SPREAD_MIN = 2.0
# Residuals of log X beyond this count less and less (soft L1): a tenth is what a busy machine wobbles.
_WOBBLE = 0.1
# A weak prior, in logarithms; chosen among 0.02 to 1 by bench/pool_size.py for what its answers lose.
_PRIOR = (log(0.03), log(1e-4))
_PRIOR_WEIGHT = 0.3
_STARTS = ((0.01, 1e-6), (0.1, 1e-4), (0.5, 1e-2))


class _Fit(Struct, frozen=True):
    cost: float
    constants: tuple[float, float, float]


def medians(points: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """Return one point for each whole number of busy sessions: the median of its throughputs."""
    bins: dict[int, list[float]] = {}
    for point in points:
        if point.busy > 0 and point.per_s > 0:
            bins.setdefault(max(round(point.busy), 1), []).append(point.per_s)
    return tuple(
        LoadPoint(busy=float(busy), per_s=float(np.median(rates)))
        for busy, rates in sorted(bins.items())
    )


def fit_curve(points: Sequence[LoadPoint], *, is_pegged: bool = False) -> ScalabilityCurve | None:
    """
    Return the curve through measured throughputs; None where they are too few or too near together.

    Args:
        points: throughput at some numbers of busy sessions, in any order.
        is_pegged: whether storage was at its ceiling meanwhile.
    """
    seen = medians(points)
    if len(seen) < _LEVELS_MIN or seen[-1].busy < _SPREAD_MIN * seen[0].busy:
        return None
    busy = np.array([point.busy for point in seen])
    rates = np.log([point.per_s for point in seen])
    first = log(max(point.per_s / point.busy for point in seen))
    best = min(
        (_minimise(np.array([first, log(s), log(k)]), busy, rates) for s, k in _STARTS),
        key=lambda fit: fit.cost,
    )
    rate, contention, coherence = best.constants
    n95, most = _n95(rate, contention, coherence)
    return ScalabilityCurve(
        rate_per_s=rate,
        contention=contention,
        coherence=coherence,
        n95=n95,
        most_per_s=most,
        busy_seen_max=seen[-1].busy,
        level_count=len(seen),
        is_extrapolated=seen[-1].busy < _SEEN_BEYOND * n95,
        is_pegged=is_pegged,
    )


def throughput(curve: ScalabilityCurve, busy: float) -> float:
    """Return throughput of the curve at a number of busy sessions, per second."""
    return _law(curve.rate_per_s, curve.contention, curve.coherence, busy)


def little(busy: float, per_s: float) -> float:
    """Return seconds that each one takes, where `busy` are under way and `per_s` leave."""
    return busy / per_s if per_s > 0 else inf


def erlang_sessions(busy: float, *, wait_ratio_max: float = 0.01) -> int:
    """
    Return the fewest sessions with which at most that share of arrivals waits (Erlang C).

    Args:
        busy: sessions that are busy on average, ≥ 0.
        wait_ratio_max: of arrivals that may wait, 0 < x < 1.
    """
    count = max(int(busy), 1)
    while _wait_ratio(busy, count) > wait_ratio_max and count < SESSIONS_MAX:
        count += 1
    return count


def _wait_ratio(busy: float, count: int) -> float:
    if busy >= count:
        return 1.0
    # Erlang B by recurrence, which stays between 0 and 1, then C from B.
    blocked = 1.0
    for n in range(1, count + 1):
        blocked = busy * blocked / (n + busy * blocked)
    share = busy / count
    return blocked / (1 - share * (1 - blocked))


def _law(rate: float, contention: float, coherence: float, busy: float) -> float:
    return rate * busy / (1 + contention * (busy - 1) + coherence * busy * (busy - 1))


def _n95(rate: float, contention: float, coherence: float) -> tuple[int, float]:
    """Return the smallest whole N with 95 % of the most there is, and that most."""
    peak = SESSIONS_MAX
    if coherence > 0 and contention < 1:
        peak = min(max(int(((1 - contention) / coherence) ** 0.5), 1), SESSIONS_MAX)
    most = max(_law(rate, contention, coherence, n) for n in (peak, peak + 1))
    low, high = 1, peak
    while low < high:
        middle = (low + high) // 2
        if _law(rate, contention, coherence, middle) >= _SHARE * most:
            high = middle
        else:
            low = middle + 1
    return low, most


def _residuals(theta: FloatArray, busy: FloatArray, rates: FloatArray) -> FloatArray:
    rate, contention, coherence = np.exp(theta)
    slowed = 1 + contention * (busy - 1) + coherence * busy * (busy - 1)
    misses = (np.log(rate * busy / slowed) - rates) / _WOBBLE
    drift = (theta[1:] - np.array(_PRIOR)) * _PRIOR_WEIGHT
    return np.concatenate([misses, drift])


def _cost(residuals: FloatArray) -> float:
    return float(np.sum(2 * (np.sqrt(1 + residuals**2) - 1)))


def _minimise(theta: FloatArray, busy: FloatArray, rates: FloatArray) -> _Fit:
    """Return levenberg and Marquardt's steps on reweighted residuals, in logarithms of the constants."""
    damping, residuals = 1e-2, _residuals(theta, busy, rates)
    cost = _cost(residuals)
    for _ in range(200):
        weights = (1 + residuals**2) ** -0.25
        slope = _slope(theta, busy, rates, residuals) * weights[:, None]
        normal, pull = slope.T @ slope, slope.T @ (residuals * weights)
        step = np.linalg.solve(normal + damping * np.eye(3), -pull)
        trial = np.clip(theta + np.clip(step, -2, 2), -30, [30, -1e-6, 2])
        new = _residuals(trial, busy, rates)
        if _cost(new) < cost:
            gained = cost - _cost(new)
            theta, residuals, cost, damping = trial, new, _cost(new), max(damping / 3, 1e-9)
            if gained < 1e-10 * (1 + cost):
                break
        else:
            damping *= 4
            if damping > 1e12:
                break
    rate, contention, coherence = (float(x) for x in np.exp(theta))
    return _Fit(cost, (rate, contention, coherence))


def _slope(
    theta: FloatArray, busy: FloatArray, rates: FloatArray, residuals: FloatArray
) -> FloatArray:
    columns = []
    for place in range(3):
        nudged = theta.copy()
        nudged[place] += 1e-6
        columns.append((_residuals(nudged, busy, rates) - residuals) / 1e-6)
    return np.stack(columns, axis=1)
