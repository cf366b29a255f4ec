"""
The overload: how far demand was above a ceiling, by evidence or else by the prior.

*Overload* is demand over the ceiling that throttled it, more than one. Evidence, strongest first:

1. The same work seen while credits lasted, or after them: a measurement with a spread.
2. The same window's other work, where only that was seen: the same with a wider spread.
3. Clients that wait for their answers: N requests in flight at latency R stand for N/(r0 + Z)
   per second without throttling, Z being the time they spend elsewhere (Little's law).
4. None: then the prior. An open load reaches its ceiling by growing, some percent a month, and
   is noticed within weeks; so demand is most often between one and two times the ceiling.
"""

from enum import StrEnum
from statistics import NormalDist

import numpy as np

from plimsoll.model.prior import Prior
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand.throttled import CLEAR, SAME_SIZE, Episode, MeasuredDemand, ThrottledSteps

# A demand of more than ten times the served rate does not last: clients time out first.
OVERLOAD_MAX = 10.0
# One or two readings may be the minute in which the load started or ended; more are the load itself.
FREE_LEAST = 3
# Fewer than one open load in twenty exceeds this quantile: the high end of the printed band.
BOUNDED_SHARE = 0.95
# Load varies: the demand of half an hour ago is the present demand within some percent.
FREE_LOG_SD = 0.07
# Clients are counted; what each does elsewhere is known to a fifth.
COUNTED_LOG_SD = 0.2
# A few readings may be from the rise of the load; each adds this spread.
FEW_LOG_SD = 0.3
# The same window's other work: the same machine and users, but not the same job.
POOLED_LOG_SD = 0.3
# The demand of users varies by a factor of two to four within a day: 15 % in an hour, and at most by half
# and half again from one time of day to another.
SWING_LOG_SD, SWING_LOG_SD_MAX = 0.15, 0.5
# Two ceilings a quarter apart are two: a burst rate and its baseline, not the drift of one.
TWO_LEVELS = 1.25
DAY_S = 86_400.0
# Parts of the distribution of overload; a finer one gives no visible difference.
GROWTH_PARTS = 60
NORMAL = NormalDist()


class Overflow(StrEnum):
    """The fate of requests that are not served at once."""

    LOST = "lost"
    """They came from outside, were delayed, and are not repeated."""
    JOB = "job"
    """They are part of a queue of work: served faster, it is done sooner."""
    CLIENTS = "clients"
    """They come from clients that wait and pause: served faster, these ask for more, within bounds."""
    GREEDY = "greedy"
    """They are part of a load that uses any throughput it gets, within its requests in flight."""


def middles(count: int) -> FloatArray:
    """Return the middles of `count` equal parts of 0–1."""
    return (np.arange(count) + 0.5) / count


def is_seen(stretch: Episode) -> bool:
    """Return whether the stretch's own demand was measured without throttling."""
    free = stretch.free_ops_per_s
    is_enough = free.size >= FREE_LEAST and free.size > stretch.pressed_count
    return is_enough and bool(CLEAR * np.median(free) > stretch.bound_ops_per_s)


def is_at_two_ceilings(stretch: Episode) -> bool:
    """Return whether it was throttled at two separate ceilings."""
    return stretch.bound_ops_per_s > TWO_LEVELS * stretch.floor_ops_per_s


def is_same_work(one: Episode, other: Episode) -> bool:
    """Return whether two stretches are the same work on two days: of one size, ceiling and time of day."""
    level = one.floor_ops_per_s / other.floor_ops_per_s
    # Another ceiling or another size of requests is another piece of work.
    is_alike = 1 / TWO_LEVELS <= level <= TWO_LEVELS and is_same_size(one, other)
    later_s = abs(other.runs[0].start - one.runs[0].start) * one.length_s / one.length
    apart_s = abs((later_s + DAY_S / 2) % DAY_S - DAY_S / 2)
    # Of two stretches that begin within half of the shorter one, half lies at the same hours.
    return is_alike and apart_s <= min(one.length_s, other.length_s) / 2


def is_same_size(one: Episode, other: Episode) -> bool:
    """Return whether the requests of two stretches have one size."""
    size = one.runs[0].io_size_bytes / other.runs[0].io_size_bytes
    return 1 / SAME_SIZE < size < SAME_SIZE


def neighbours_of_greedy(held: ThrottledSteps) -> tuple[int, ...]:
    """
    Return the places of stretches that may be greedy work next to a load whose demand was measured.

    They ran at their burst ceiling and at their baseline, and never below: for example a vacuum or a load
    job within the day of a load with bounded demand. Their requests differ in size from that load's;
    otherwise they are that load at another hour.
    """
    seen = [stretch for stretch in held.stretches if is_seen(stretch)]
    if not seen:
        return ()
    return tuple(
        place
        for place, stretch in enumerate(held.stretches)
        if not is_seen(stretch)
        and is_at_two_ceilings(stretch)
        and not any(is_same_size(stretch, other) for other in seen)
    )


def is_bounded(held: ThrottledSteps, prior: Prior) -> bool:
    """
    Return whether a greedy load is bounded at a rate that an open load may have too.

    N requests in flight that each take r are served at most N/r per second, however high the ceiling
    (Little's law). If that is within the range of nearly all open loads, a setup that can be bought is
    enough for it. Where latency is not known, there is no bound.
    """
    most = float(growth_quantiles(prior, np.array([BOUNDED_SHARE]))[0])
    unseen = [stretch for stretch in held.stretches if not is_seen(stretch)]
    return all(np.isfinite(stretch.waiting) and middle_reach(held, stretch) <= most for stretch in unseen)


def reach_of(held: ThrottledSteps, stretch: Episode, u: FloatArray) -> FloatArray:
    """
    Return how far the requests in flight reach, over the ceiling, at quantiles u; shape (k,), ≥ 1.

    N requests in flight are served at most N/r1 per second (Little's law). r1 is the latency of storage that
    is fully loaded but not overloaded, between the latency without waiting and a few times that.
    """
    if not np.isfinite(stretch.waiting):
        return np.full(u.size, OVERLOAD_MAX)
    found: FloatArray = np.maximum(stretch.waiting / np.exp(full_log_rises(held, u)), 1.0)
    return found


def middle_reach(held: ThrottledSteps, stretch: Episode) -> float:
    """Return how far its requests in flight reach, over the ceiling, as likely more as less."""
    return float(reach_of(held, stretch, np.array([0.5]))[0])


def full_log_rises(held: ThrottledSteps, u: FloatArray) -> FloatArray:
    """Return log(latency at full load ÷ latency without waiting) at quantiles u of demand, decreasing."""
    least, most = held.full_log_rise
    # Most storage answers nearly as fast when fully loaded, hence the root.
    found: FloatArray = most - (most - least) * np.sqrt(u)
    return found


def growth_quantiles(prior: Prior, u: FloatArray, *, length_s: float = 0.0) -> FloatArray:
    """
    Return the overload of a load that outgrew its ceiling, at quantiles u: 1 + a lognormal, with a maximum.

    Args:
        length_s: time above the ceiling: a load that is only a little above it would have dipped below.
    """
    overload, weight = _growth(prior, length_s)
    reached = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    found: FloatArray = np.interp(u, reached, overload)
    return found


def staying(prior: Prior, length_s: float) -> float:
    """Return the chance 0–1 that a load that outgrew its ceiling stays above it for that time."""
    return float(_growth(prior, length_s)[1].mean())


def exceeding(prior: Prior, overload: float) -> float:
    """Return the chance 0–1 that a load that outgrew its ceiling exceeds that overload."""
    if overload <= 1:
        return 1.0
    deviate = np.log((overload - 1.0) / (prior.overload_median - 1.0)) / prior.overload_log_sd
    return 1 - NORMAL.cdf(float(deviate))


def _growth(prior: Prior, length_s: float) -> tuple[FloatArray, FloatArray]:
    """Return overloads of equal prior chance, and for each the chance to stay above one."""
    deviate = np.array([NORMAL.inv_cdf(float(q)) for q in middles(GROWTH_PARTS)])
    more = (prior.overload_median - 1.0) * np.exp(prior.overload_log_sd * deviate)
    overload = np.minimum(1.0 + more, OVERLOAD_MAX)
    # A random walk: its spread grows with the root of time.
    spread = min(SWING_LOG_SD * (length_s / 3600) ** 0.5, SWING_LOG_SD_MAX)
    if spread <= 0:
        return overload, np.ones(overload.size)
    # The lowest point of a random walk lies above -a with chance 2Φ(a/σ) - 1 (reflection principle).
    stays = [2 * NORMAL.cdf(float(a) / spread) - 1 for a in np.log(overload)]
    return overload, np.array(stays)


def overloads_of(held: ThrottledSteps, habit: Overflow, u: FloatArray, prior: Prior) -> FloatArray:
    """
    Return the demand of every stretch at the quantiles u of a habit, ops/s.

    Args:
        u: quantiles 0–1, increasing, shape (k,). A quantile applies to all stretches at once, because
            a system that is far overloaded today is far overloaded tomorrow.

    Returns:
        Operations per second, shape (k, stretches): at least the stretch's highest ceiling, or for
        a job at least what it was served on average.
    """
    columns = []
    for stretch in held.stretches:
        demand = _alone(held, stretch, habit, u, prior)
        # A greedy load that ran at both its ceilings differs from one with a demand below either.
        is_own = is_seen(stretch) or (habit is Overflow.GREEDY and is_at_two_ceilings(stretch))
        if not is_own:
            others = [other for other in held.stretches if is_seen(other)]
            twins = [other for other in others if is_same_work(other, stretch)]
            found = [_elsewhere(other, stretch, u) for other in twins or others]
            # The prior counts as one more witness, except if the same work was measured at the same
            # hour of another day.
            if found:
                witnesses = found if twins else [demand, *found]
                demand = np.quantile(np.concatenate(witnesses), u)
        # A job may come slower than its highest ceiling serves it, but not slower than it was
        # served in all.
        least = stretch.mean_ops_per_s if habit is Overflow.JOB else stretch.bound_ops_per_s
        columns.append(np.maximum(demand, least))
    return np.column_stack(columns) if columns else np.zeros((u.size, 0))


def counted_of(seen: MeasuredDemand, held: ThrottledSteps, think_s: float, u: float) -> FloatArray:
    """
    Return the demand of waiting clients without throttling: X' = X·(R + Z)/(r1 + Z), ops/s.

    Args:
        think_s: Z, the time a client spends elsewhere for each request.
        u: quantile 0–1 of their demand: the higher, the faster a fully loaded storage answers (r1),
            and the less they do elsewhere.

    Returns:
        Shape (n,); what was served where latency is not known.

    Source:
        Little's law for a closed loop of N clients: N = X·(R + Z), whatever the storage.
    """
    think = think_s * np.exp(-COUNTED_LOG_SD * NORMAL.inv_cdf(u))
    base = seen.base_latency_s
    unpressed = base * np.exp(full_log_rises(held, np.array([u]))[0])
    with np.errstate(all="ignore"):
        more = np.fmax((base * np.exp(seen.log_excess) + think) / (unpressed + think), 1.0)
    found: FloatArray = seen.ops_per_s * np.where(np.isfinite(more), more, 1.0)
    return found


def _elsewhere(other: Episode, stretch: Episode, u: FloatArray) -> FloatArray:
    """
    Return the demand of a measured stretch, as evidence for another stretch.

    At the same ceiling its overload is used. At another ceiling its rate is used, because demand does not
    depend on the ceiling: 1.5 times a baseline is not 1.5 times a limit of twice that baseline. The
    served rate is a lower bound.
    """
    found = _seen(other, u, POOLED_LOG_SD)
    apart = other.floor_ops_per_s / stretch.floor_ops_per_s
    is_same = 1 / TWO_LEVELS <= apart <= TWO_LEVELS
    return found / apart if is_same else np.maximum(found, stretch.bound_ops_per_s)


def _alone(held: ThrottledSteps, stretch: Episode, habit: Overflow, u: FloatArray, prior: Prior) -> FloatArray:
    bound = stretch.bound_ops_per_s
    # The quantile of a job is that of its arrivals; of the others, of what they ask for.
    reach = reach_of(held, stretch, np.full(u.size, 0.5) if habit is Overflow.JOB else u)
    top = np.maximum(_seen(stretch, u, 0.0), bound) if is_seen(stretch) else None
    if habit is Overflow.JOB:
        # A measured rate shows how fast work is taken up, not that all of it had arrived by then.
        return _arrivals(stretch, bound * reach if top is None else top, u)
    if top is not None:
        return top
    if habit is Overflow.GREEDY:
        return bound * reach
    overload = growth_quantiles(prior, u, length_s=stretch.length_s)
    # Each waiting client has one request in flight: without waiting they send at most that many times more.
    return bound * (np.minimum(overload, reach) if habit is Overflow.CLIENTS else overload)


def _seen(stretch: Episode, u: FloatArray, more: float) -> FloatArray:
    deviate = np.array([NORMAL.inv_cdf(float(q)) for q in u])
    rates = np.log(stretch.free_ops_per_s)
    few = FEW_LOG_SD**2 / rates.size
    # The demand of a stretch is the mean of a random walk: a third of the variance of its end.
    drift = min(SWING_LOG_SD**2 * stretch.length_s / 3600, SWING_LOG_SD_MAX**2) / 3
    # Independent errors: their variances add up.
    spread = float(np.sqrt(FREE_LOG_SD**2 + np.std(rates) ** 2 + few + drift + more**2))
    found: FloatArray = np.exp(np.median(rates) + spread * deviate)
    return found


def _arrivals(stretch: Episode, top: FloatArray, u: FloatArray) -> FloatArray:
    """
    Return the arrival rate of queued work, between evenly spread and all at once.

    The served work of a stretch is then all that arrived. It arrived no slower than that on average, and
    no faster than the workers could take it without throttling (Little's law).
    """
    low = stretch.mean_ops_per_s
    # Nothing was served, so nothing is known of how it came.
    if low <= 0:
        return top
    found: FloatArray = low * np.maximum(top / low, 1.0) ** u
    return found
