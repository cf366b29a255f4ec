"""Evaluate the parts of a run: from where it was steady, and how well its mean is known."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean

# The scatter of fewer parts says nothing.
PARTS_MIN = 4
# Keep at least this share of a run.
_KEPT_MIN = 0.5
# Parts must differ by more than this before any is left out: five times the error of the clocks.
_STEADY_RATIO = 0.005


def steady_from(rates: Sequence[float]) -> int:
    """
    Return the index of the part from which a run is steady.

    With credits from idle time a run may start faster than it goes on. Parts at the beginning are left
    out as long as that lowers the standard error of the mean of the rest, but at most half of them
    (MSER: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
    Simulation 69, 1997).
    """
    most = int(len(rates) * (1 - _KEPT_MIN))
    if len(rates) < 2 * PARTS_MIN:
        return 0
    errors = []
    for start in range(most + 1):
        rest = rates[start:]
        mean = fmean(rest)
        if mean <= 0:
            # All that moved came before: a stall, not a settled rate.
            break
        floor = (_STEADY_RATIO * mean) ** 2
        spread = sum((rate - mean) ** 2 for rate in rest) / len(rest)
        errors.append(((spread + floor) / len(rest), start))
    return min(errors, default=(0.0, 0))[1]


def error_of_mean(rates: Sequence[float]) -> float | None:
    """
    Return the standard error of the mean of a run, as a share of it, from the rates of its parts in time.

    If a steady flow of few requests is cut into equal parts, a part may count one request too many and
    its neighbour one too few. So the covariance of neighbours, which is negative then, is added. It
    removes at most nine tenths.

    Returns:
        The share; None with fewer than four parts.
    """
    count = len(rates)
    mean = fmean(rates) if count else 0.0
    if count < PARTS_MIN or mean <= 0:
        return None
    off = [rate - mean for rate in rates]
    own = sum(x * x for x in off) / (count - 1)
    next_to = sum(x * y for x, y in pairwise(off)) / (count - 1)
    return sqrt(max(own + 2 * next_to, own / 10) / count) / mean
