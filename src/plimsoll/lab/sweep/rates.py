"""What the parts of a run say of it: from where on it was steady, how well its mean is known."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean

# Fewer parts tell nothing of their scatter.
PARTS_MIN = 4
# At least this share of a run is kept.
_KEPT_MIN = 0.5
# Parts must differ by more than this before any is left out: five times what clocks are off by.
_STEADY_RATIO = 0.005


def steady_from(rates: Sequence[float]) -> int:
    """
    Return index of the part from which on a run is steady.

    Credits that idle time has earned let a run begin faster than it goes on. Parts are left out at the
    beginning as long as that makes the standard error of the mean of the rest smaller, half of them at
    most (MSER: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
    Simulation 69, 1997).
    """
    most = int(len(rates) * (1 - _KEPT_MIN))
    if len(rates) < 2 * PARTS_MIN:
        return 0
    errors = []
    for start in range(most + 1):
        rest = rates[start:]
        mean = fmean(rest)
        floor = (_STEADY_RATIO * mean) ** 2
        spread = sum((rate - mean) ** 2 for rate in rest) / len(rest)
        errors.append(((spread + floor) / len(rest), start))
    return min(errors)[1]


def error_of_mean(rates: Sequence[float]) -> float | None:
    """
    Return standard error of the mean of a run, as a share of it, from the rates of its parts in time.

    Parts of equal length cut a steady flow of few requests into more and fewer of them by turns; what
    one has too many its neighbour lacks. Hence the covariance of neighbours is added, which is negative
    then. It never takes away more than nine tenths.

    Returns:
        None with fewer than four parts.
    """
    count = len(rates)
    mean = fmean(rates) if count else 0.0
    if count < PARTS_MIN or mean <= 0:
        return None
    off = [rate - mean for rate in rates]
    own = sum(x * x for x in off) / (count - 1)
    next_to = sum(x * y for x, y in pairwise(off)) / (count - 1)
    return sqrt(max(own + 2 * next_to, own / 10) / count) / mean
