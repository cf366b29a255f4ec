"""
The demand of waiting clients from moment to moment at a ceiling, by their number of requests in flight.

A ceiling hides the rate of demand, but not the requests in flight: N = X·R (Little's law). Clients that
spend Z seconds elsewhere between their requests ask for (N + X·Z)/(r + Z) where the storage takes r.
Their demand at one moment gives Z, and then N gives the other moments: three times as many requests in
flight at the same ceiling are a load that has grown, although its rate is flat. Requests that are
refused, or wait before the database, are not in flight.
"""

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.plan.demand.overload import is_seen
from plimsoll.plan.demand.throttled import BEFORE_S, Episode, MeasuredDemand, ThrottledSteps

# A tenth below the highest ceiling is another one.
HIGHEST = 0.9
# Below this overload, the time that clients spend elsewhere cannot be computed.
LEAST_OVERLOAD = 1.02


def follow_waiting(ops: FloatArray, seen: MeasuredDemand, held: ThrottledSteps, stretch: Episode, rate: float) -> None:
    """Raise the demand of clients in place, in proportion to their requests in flight."""
    asked = asked_by_waiting(seen, held, stretch, rate)
    if asked is not None:
        at = stretch.span
        most = np.fmax(asked, seen.ops_per_s[at])
        ops[at] = np.where(np.isfinite(asked), most, ops[at])


def asked_by_waiting(seen: MeasuredDemand, held: ThrottledSteps, stretch: Episode, rate: float) -> FloatArray | None:
    """
    Return the demand of clients in the steps of a stretch, ops/s; NaN in steps without throttling.

    Args:
        rate: their demand in its first half hour, if it was measured just before; otherwise at its
            highest ceiling.

    Returns:
        Shape (stretch.length,); None where latency or the rate does not show it.
    """
    at = stretch.span
    held_back = held.is_held[at] & np.isfinite(seen.log_excess[at])
    served, base = seen.ops_per_s[at], seen.base_latency_s[at]
    with np.errstate(all="ignore"):
        latency = base * np.exp(seen.log_excess[at])
    # The rate determines Z: a load that was measured free had this demand right after; any other is
    # known only at its highest ceiling.
    first = held_back & (_is_first(seen, held_back) if is_seen(stretch) else _is_highest(stretch, held_back.size))
    # Without the unpressed latency r there is no equation to solve for Z.
    if not first.any() or not np.isfinite(base[first]).all():
        return None
    level = float(np.median(served[first]))
    overload = rate / level if level > 0 else 0.0
    if overload < LEAST_OVERLOAD:
        return None
    took, takes = float(np.median(latency[first])), float(np.median(base[first]))
    # X·(R + Z)/(r + Z) = m·X, solved for Z; clients cannot have less than no time elsewhere.
    think_s = max((took - overload * takes) / (overload - 1), 0.0)
    with np.errstate(all="ignore"):
        asked = served * (latency + think_s) / (base + think_s)
    # The rate is known better than latency, so the result is scaled to it. A latency that was reported as zero says
    # nothing about who waits.
    usual = float(np.median(asked[first]))
    if not usual > 0:
        return None
    found: FloatArray = np.where(held_back, asked * (rate / usual), np.nan)
    return found


def _is_first(seen: MeasuredDemand, held_back: BoolArray) -> BoolArray:
    """Return the first half hour of throttled steps."""
    steps = max(int(BEFORE_S / seen.step_s), 1)
    found: BoolArray = np.cumsum(held_back) <= steps
    return found


def _is_highest(stretch: Episode, size: int) -> BoolArray:
    """Return the steps at the highest ceiling; those of all plateaus if it bound too briefly for one."""
    runs = [r for r in stretch.runs if r.level_ops_per_s >= HIGHEST * stretch.bound_ops_per_s]
    found = np.zeros(size, dtype=np.bool_)
    for run in runs or stretch.runs:
        found[run.start - stretch.span.start : run.end - stretch.span.start] = True
    return found
