"""
Compute how many active sessions a machine runs well.

It uses the universal scalability law, Little's law and Erlang's formula. Throughput at N active sessions
is X(N) = λN / (1 + σ(N−1) + κN(N−1)). Contention σ flattens the curve; coherence κ makes it fall again.
N95 is the smallest N with 95 % of the maximum throughput. Throughput changes little around N95, so an
error in N95 costs little.

Rule 1: an answer is extrapolated unless more than 1.2 × N95 active sessions were measured.
Rule 2: throughput measured while storage was at its ceiling shows the ceiling's knee, not the machine's.
Sources: N. Gunther, Guerrilla Capacity Planning (2007); A. K. Erlang (1917); J. D. C. Little (1961).
"""

from collections.abc import Sequence
from math import inf, log

import numpy as np
from msgspec import Struct

from plimsoll.model.pool_size import LoadPoint, ScalabilityCurve
from plimsoll.model.series import FloatArray

# A bound for the search where the curve never falls. It exceeds what one server runs: PostgreSQL starts
# a process for each session.
SESSIONS_MAX = 100_000
# A judgement: the curve is flat near its maximum, so the last 5 % would cost many more sessions.
_SHARE = 0.95
# A judgement: a measurement a fifth above N95 shows that the curve has flattened.
_SEEN_BEYOND = 1.2
# The curve has three constants, so it needs three different N; N within a factor of two show no bend.
_LEVELS_MIN = 3
_SPREAD_MIN = 2.0
# Residuals of log X above this count less and less (soft L1). A judgement: throughput of a busy machine
# varies by about a tenth.
_RESIDUAL_SCALE = 0.1
# A weak prior for contention and coherence, in logarithms. Of weights from 0.02 to 1, bench/pool_size.py
# found that this one loses the least throughput.
_PRIOR = (log(0.03), log(1e-4))
_PRIOR_WEIGHT = 0.3
# The fit has local minima; the best of a light, a medium and a strong bend is taken.
_STARTS = ((0.01, 1e-6), (0.1, 1e-4), (0.5, 1e-2))


class _Fit(Struct, frozen=True):
    cost: float
    constants: tuple[float, float, float]


def median_points(points: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """Return the median throughput for each whole number of active sessions."""
    bins: dict[int, list[float]] = {}
    for point in points:
        if point.busy > 0 and point.per_s > 0:
            bins.setdefault(max(round(point.busy), 1), []).append(point.per_s)
    return tuple(LoadPoint(busy=float(busy), per_s=float(np.median(rates))) for busy, rates in sorted(bins.items()))


def fit_curve(points: Sequence[LoadPoint], *, at_ceiling: bool = False) -> ScalabilityCurve | None:
    """
    Fit a curve to measured throughputs; return None if they are too few or too close together.

    Args:
        points: throughput at several numbers of active sessions, in any order.
        at_ceiling: whether storage was at its ceiling during the measurement.
    """
    seen = median_points(points)
    if len(seen) < _LEVELS_MIN or seen[-1].busy < _SPREAD_MIN * seen[0].busy:
        return None
    busy = np.array([point.busy for point in seen])
    rates = np.log([point.per_s for point in seen])
    first = log(max(point.per_s / point.busy for point in seen))
    best = min(
        (_minimise(np.array([first, log(s), log(k)]), busy, rates) for s, k in _STARTS), key=lambda fit: fit.cost
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
        is_pegged=at_ceiling,
    )


def throughput(curve: ScalabilityCurve, busy: float) -> float:
    """Return the throughput of the curve at a number of active sessions, per second."""
    return _throughput(curve.rate_per_s, curve.contention, curve.coherence, busy)


def mean_duration_s(busy: float, per_s: float) -> float:
    """
    Return the mean seconds per transaction by Little's law.

    Args:
        busy: transactions under way, on average.
        per_s: transactions that end per second.
    """
    return busy / per_s if per_s > 0 else inf


def erlang_sessions(busy: float, *, wait_ratio_max: float = 0.01) -> int:
    """
    Return the smallest number of sessions with which at most a given share of arrivals waits (Erlang C).

    Args:
        busy: active sessions on average, ≥ 0.
        wait_ratio_max: share of arrivals that may wait, 0 < x < 1.
    """
    count = max(int(busy), 1)
    while _wait_ratio(busy, count) > wait_ratio_max and count < SESSIONS_MAX:
        count += 1
    return count


def _wait_ratio(busy: float, count: int) -> float:
    """Return the share of arrivals that wait with `count` sessions (Erlang C)."""
    # With as much work as sessions the queue grows without bound, so every arrival waits.
    if busy >= count:
        return 1.0
    # Erlang B by recurrence, then C from B: the closed form's factorials would overflow.
    blocked = 1.0
    for n in range(1, count + 1):
        blocked = busy * blocked / (n + busy * blocked)
    share = busy / count
    return blocked / (1 - share * (1 - blocked))


def _throughput(rate: float, contention: float, coherence: float, busy: float) -> float:
    """Return the throughput of the universal scalability law, per second."""
    return rate * busy / (1 + contention * (busy - 1) + coherence * busy * (busy - 1))


def _n95(rate: float, contention: float, coherence: float) -> tuple[int, float]:
    """Return the smallest whole N with 95 % of the maximum throughput, and that maximum."""
    peak = SESSIONS_MAX
    # dX/dN = 0 at N = √((1 − σ) / κ) (Gunther, chapter 4); without coherence the curve never falls.
    if coherence > 0 and contention < 1:
        peak = min(max(int(((1 - contention) / coherence) ** 0.5), 1), SESSIONS_MAX)
    most = max(_throughput(rate, contention, coherence, n) for n in (peak, peak + 1))
    low, high = 1, peak
    while low < high:
        middle = (low + high) // 2
        if _throughput(rate, contention, coherence, middle) >= _SHARE * most:
            high = middle
        else:
            low = middle + 1
    return low, most


def _residuals(theta: FloatArray, busy: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the residuals of the fit in logarithms, and after them those of the prior."""
    rate, contention, coherence = np.exp(theta)
    slowed = 1 + contention * (busy - 1) + coherence * busy * (busy - 1)
    misses = (np.log(rate * busy / slowed) - rates) / _RESIDUAL_SCALE
    drift = (theta[1:] - np.array(_PRIOR)) * _PRIOR_WEIGHT
    return np.concatenate([misses, drift])


def _cost(residuals: FloatArray) -> float:
    """Return the soft L1 cost, on which a few outliers have little effect."""
    return float(np.sum(2 * (np.sqrt(1 + residuals**2) - 1)))


def _minimise(theta: FloatArray, busy: FloatArray, rates: FloatArray) -> _Fit:
    """
    Return the fit that minimises the cost.

    It takes Levenberg–Marquardt steps on reweighted residuals. The parameters are logarithms of the
    constants, so that these stay positive.
    """
    damping, residuals = 1e-2, _residuals(theta, busy, rates)
    cost = _cost(residuals)
    for _ in range(200):
        weights = (1 + residuals**2) ** -0.25
        slope = _jacobian(theta, busy, rates, residuals) * weights[:, None]
        normal, pull = slope.T @ slope, slope.T @ (residuals * weights)
        step = np.linalg.solve(normal + damping * np.eye(3), -pull)
        # Steps of at most e² keep exp() finite; contention stays below 1, where the law holds.
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


def _jacobian(theta: FloatArray, busy: FloatArray, rates: FloatArray, residuals: FloatArray) -> FloatArray:
    """Return the derivatives of the residuals by finite differences."""
    columns = []
    for place in range(3):
        nudged = theta.copy()
        nudged[place] += 1e-6
        columns.append((_residuals(nudged, busy, rates) - residuals) / 1e-6)
    return np.stack(columns, axis=1)
