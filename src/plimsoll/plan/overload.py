"""
How far demand lay above a ceiling: what is known of it, and what may be thought where nothing is.

*Overload* is demand over the ceiling that held it back, more than one. Evidence, strongest first:

1. The same work seen while credits lasted, or after them: a measurement with a spread.
2. The same window's other work, where only that was seen: the same with a wider spread.
3. Clients that wait for their answers: N requests in flight at latency R stand for N/(r0 + Z)
   per second when nothing holds them, Z being the time they spend elsewhere (Little's law).
4. Nothing: then the prior below, which says that overload is as likely to exceed any number m as
   1/m — it has no scale, so no size of overload is singled out.
"""

from enum import StrEnum
from statistics import NormalDist

import numpy as np

from plimsoll.model.series import FloatArray
from plimsoll.plan.held import CLEAR, Held, Seen, Stretch

# More than ten times what a system is served, nobody asks of it for long: clients time out first.
OVERLOAD_MAX = 10.0
# A lone reading or two may be the minute in which the load came or went; more are the load itself.
FREE_LEAST = 3
# Load wanders: what was asked for half an hour ago is today's demand give or take some percent.
FREE_LOG_SD = 0.07
# Clients are counted; what each does elsewhere is known to a fifth.
COUNTED_LOG_SD = 0.2
# It walks on while it is not seen: some percent in an hour, but it stays the same load.
DRIFT_LOG_SD, DRIFT_LOG_SD_MAX = 0.04, 0.35
# A few readings may have caught the load while it rose; by how much, they tell one by one.
FEW_LOG_SD = 0.3
# The same window's other work: the same machine and users, but not the same job.
POOLED_LOG_SD = 0.25
# Time a client spends elsewhere for each request, in units of the unpressed latency: none at all for
# one in three (scans, loads), and anything from a tenth to a hundred times for the others.
THINK_NONE = 1 / 3
THINK_RANGE = (0.1, 100.0)
NORMAL = NormalDist()


class Habit(StrEnum):
    """What the load does with what it is not served."""

    LOST = "lost"
    """It came from outside, was held back, and did not come again."""
    JOB = "job"
    """A pile of work that takes as long as it takes: served faster, it is done sooner."""
    CLIENTS = "clients"
    """A fixed number of clients: served faster, they ask for more."""


def middles(count: int) -> FloatArray:
    """Middles of `count` equal parts of 0–1."""
    return (np.arange(count) + 0.5) / count


def is_seen(stretch: Stretch) -> bool:
    """Whether the stretch's own demand was measured while nothing held it back."""
    free = stretch.free_ops_per_s
    is_enough = free.size >= FREE_LEAST and free.size > stretch.pressed_count
    return is_enough and bool(CLEAR * np.median(free) > stretch.bound_ops_per_s)


def prior_quantiles(u: FloatArray) -> FloatArray:
    """Overload at the quantiles u of a law that exceeds m with chance 1/m, cut at OVERLOAD_MAX."""
    found: FloatArray = 1.0 / (1.0 - u * (1.0 - 1.0 / OVERLOAD_MAX))
    return found


def clients_quantiles(waiting: float, u: FloatArray) -> FloatArray:
    """Overload of clients whose requests take `waiting` times as long as unpressed, at quantiles u."""
    low, high = np.log(THINK_RANGE)
    share = np.clip((u - (1 - THINK_NONE)) / THINK_NONE, 0, None)
    think = np.exp(high - (high - low) * np.clip(u / (1 - THINK_NONE), 0, 1))
    think = np.where(share > 0, 0.0, think)
    found: FloatArray = (waiting + think) / (1.0 + think)
    return found


def overloads_of(held: Held, habit: Habit, u: FloatArray) -> FloatArray:
    """
    What every stretch asked for at the quantiles u of a habit, ops/s.

    Args:
        u: quantiles 0–1, increasing, shape (k,). A quantile holds for all stretches at once: one
            system that is far overloaded today is far overloaded tomorrow.

    Returns:
        Operations per second, shape (k, stretches): at least the stretch's highest ceiling, or for
        a job at least what it was served on average.
    """
    columns = []
    for stretch in held.stretches:
        demand = _alone(stretch, habit, u)
        if habit is Habit.JOB:
            columns.append(demand)
            continue
        if not is_seen(stretch) and any(is_seen(s) for s in held.stretches):
            others = [
                _elsewhere(other, habit, u) * stretch.floor_ops_per_s for other in held.stretches
            ]
            demand = np.quantile(np.concatenate(others), u)
        columns.append(np.maximum(demand, stretch.bound_ops_per_s))
    return np.column_stack(columns) if columns else np.zeros((u.size, 0))


def counted_of(seen: Seen, held: Held, think_s: float, u: float) -> FloatArray:
    """
    What clients who wait would ask for if nothing held them: X' = X·(R + Z)/(r1 + Z), ops/s.

    Args:
        think_s: Z, the time a client spends elsewhere for each request.
        u: quantile 0–1 of their demand: the higher, the faster a fully loaded storage answers (r1),
            and the less they do elsewhere.

    Returns:
        Shape (n,); what was served where latency is not known.

    Source:
        Little's law for a closed loop of N clients: N = X·(R + Z), whatever the storage.
    """
    least, most = held.full_log_rise
    think = think_s * np.exp(-COUNTED_LOG_SD * NORMAL.inv_cdf(u))
    base = seen.base_latency_s
    # Most storage answers nearly as fast when fully loaded, hence the root.
    unpressed = base * np.exp(most - (most - least) * np.sqrt(u))
    with np.errstate(all="ignore"):
        more = np.fmax((base * np.exp(seen.log_excess) + think) / (unpressed + think), 1.0)
    found: FloatArray = seen.ops_per_s * np.where(np.isfinite(more), more, 1.0)
    return found


def _elsewhere(stretch: Stretch, habit: Habit, u: FloatArray) -> FloatArray:
    """Demand of a stretch over its lowest ceiling, as a guide to the window's other stretches."""
    spread = POOLED_LOG_SD if is_seen(stretch) else 0.0
    found: FloatArray = _alone(stretch, habit, u, more=spread) / stretch.floor_ops_per_s
    return found


def _alone(stretch: Stretch, habit: Habit, u: FloatArray, *, more: float = 0.0) -> FloatArray:
    bound = stretch.bound_ops_per_s
    waiting = stretch.waiting if np.isfinite(stretch.waiting) else OVERLOAD_MAX
    if habit is Habit.JOB:
        top = _seen(stretch, u, more) if is_seen(stretch) else np.full(u.size, bound * waiting)
        return _arrivals(stretch, top, u)
    if is_seen(stretch):
        return np.maximum(_seen(stretch, u, more), bound)
    if habit is Habit.LOST or not np.isfinite(stretch.waiting):
        return bound * prior_quantiles(u)
    return bound * clients_quantiles(waiting, u)


def _seen(stretch: Stretch, u: FloatArray, more: float) -> FloatArray:
    deviate = np.array([NORMAL.inv_cdf(float(q)) for q in u])
    rates = np.log(stretch.free_ops_per_s)
    few = FEW_LOG_SD**2 / rates.size
    drift = min(DRIFT_LOG_SD**2 * stretch.length_s / 3600, DRIFT_LOG_SD_MAX**2)
    spread = float(np.sqrt(FREE_LOG_SD**2 + np.std(rates) ** 2 + few + drift + more**2))
    found: FloatArray = np.exp(np.median(rates) + spread * deviate)
    return found


def _arrivals(stretch: Stretch, top: FloatArray, u: FloatArray) -> FloatArray:
    """
    How fast the work of a pile comes, if it is not lost: between evenly spread and all at once.

    What was served in a stretch is then all that came; it came no slower than that on average, and
    no faster than the workers could have taken it, had nothing held them (Little's law).
    """
    low = stretch.mean_ops_per_s
    found: FloatArray = low * np.maximum(top / low, 1.0) ** u
    return found
