"""
What waiting clients ask for from one moment of a ceiling to the next, by how many of them wait.

A ceiling hides the rate, but not the requests in flight: N = X·R (Little's law). Clients who do
something else for Z seconds between their requests ask for (N + X·Z)/(r + Z) where the storage takes
r. How much they asked for at one moment tells Z, and then N tells the other moments: three times as
many requests in flight behind the same ceiling are a load that has grown, however flat its rate is.
Whoever is turned away, or waits before the database, is not among the requests in flight.
"""

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.plan.demand.overload import is_seen
from plimsoll.plan.demand.throttled import BEFORE_S, Episode, MeasuredDemand, ThrottledSteps

# A tenth below the highest ceiling is another one.
HIGHEST = 0.9
# Below this much above its ceiling a load tells nothing of the time its clients spend elsewhere.
LEAST_OVERLOAD = 1.02


def follow_waiting(
    ops: FloatArray, seen: MeasuredDemand, held: ThrottledSteps, stretch: Episode, rate: float
) -> None:
    """Let clients ask for as much more as more of their requests were in flight, in place."""
    asked = asked_by_waiting(seen, held, stretch, rate)
    if asked is not None:
        at = stretch.span
        most = np.fmax(asked, seen.ops_per_s[at])
        ops[at] = np.where(np.isfinite(asked), most, ops[at])


def asked_by_waiting(
    seen: MeasuredDemand, held: ThrottledSteps, stretch: Episode, rate: float
) -> FloatArray | None:
    """
    Return what clients asked for in the steps of a stretch, ops/s; NaN where nothing held them back.

    Args:
        rate: what they asked for in its first half hour, if that was seen just before; otherwise at
            its highest ceiling.

    Returns:
        Shape (stretch.length,); None where latency or the rate does not tell.
    """
    at = stretch.span
    held_back = held.is_held[at] & np.isfinite(seen.log_excess[at])
    served, base = seen.ops_per_s[at], seen.base_latency_s[at]
    with np.errstate(all="ignore"):
        latency = base * np.exp(seen.log_excess[at])
    # The rate anchors Z: a load that was seen free asked for it right after, any other is known
    # only at its highest ceiling.
    first = held_back & (
        _is_first(seen, held_back) if is_seen(stretch) else _is_highest(stretch, held_back.size)
    )
    # Without the unpressed latency r there is no equation to solve for Z.
    if not first.any() or not np.isfinite(base[first]).all():
        return None
    level = float(np.median(served[first]))
    overload = rate / level
    if overload < LEAST_OVERLOAD:
        return None
    took, takes = float(np.median(latency[first])), float(np.median(base[first]))
    # X·(R + Z)/(r + Z) = m·X, solved for Z; clients cannot have less than no time elsewhere.
    think_s = max((took - overload * takes) / (overload - 1), 0.0)
    with np.errstate(all="ignore"):
        asked = served * (latency + think_s) / (base + think_s)
    # Latency is not known better than the rate: what they asked for first is the rate.
    scale = rate / float(np.median(asked[first]))
    found: FloatArray = np.where(held_back, asked * scale, np.nan)
    return found


def _is_first(seen: MeasuredDemand, held_back: BoolArray) -> BoolArray:
    """Return the first half hour that was held back."""
    steps = max(int(BEFORE_S / seen.step_s), 1)
    found: BoolArray = np.cumsum(held_back) <= steps
    return found


def _is_highest(stretch: Episode, size: int) -> BoolArray:
    """Return the plateaus at the highest ceiling; all of them where it bound too briefly for one."""
    runs = [r for r in stretch.runs if r.level_ops_per_s >= HIGHEST * stretch.bound_ops_per_s]
    found = np.zeros(size, dtype=np.bool_)
    for run in runs or stretch.runs:
        found[run.start - stretch.span.start : run.end - stretch.span.start] = True
    return found
