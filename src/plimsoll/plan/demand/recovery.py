"""
The demand of a load, recovered from the served rates.

Without a binding ceiling, demand is the served rate. At a ceiling it was higher, by an unknown factor:
every plausible demand is a *path* with a weight (overload.py has the distribution). Equal inputs give
equal bytes, because paths are quantiles and not random samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.family import BALANCES
from plimsoll.model.plan import Band, DemandSummary, LoadResponse
from plimsoll.model.prior import Prior
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.arrivals import Arrivals, Mix
from plimsoll.plan.demand.assumed import assumptions_of
from plimsoll.plan.demand.fates import fates_of
from plimsoll.plan.demand.in_flight import follow_waiting
from plimsoll.plan.demand.loop import NEEDED, LoopEstimate, loop_of
from plimsoll.plan.demand.nature import nature_of, without_greedy
from plimsoll.plan.demand.overload import (
    NORMAL,
    Overflow,
    counted_of,
    is_bounded,
    is_seen,
    middles,
    neighbours_of_greedy,
    overloads_of,
)
from plimsoll.plan.demand.throttled import (
    CLEAR,
    TURN_STEPS,
    Episode,
    MeasuredDemand,
    ThrottledSteps,
    seen_of,
    throttled_of,
)

# Loads that send the next request after an answer: their arrivals are no demand from outside.
WAITING = (Overflow.CLIENTS, Overflow.GREEDY)
# Their share of a load from outside: half, without any evidence.
CLIENTS_SHARE = 0.5
DEFAULT_PRIOR = Prior()
# Arrivals are counted to a few percent, and cost as much in storage as completed work.
CAME_LOG_SD = 0.05
# Every path costs a replay for each option that is judged. Habits whose demand is spread over the
# whole prior get more paths, and greedy ones, which are nearly one rate, the fewest.
QUANTILES: Mapping[Overflow, int] = {Overflow.LOST: 12, Overflow.JOB: 6, Overflow.CLIENTS: 8, Overflow.GREEDY: 3}
# The printed band includes the demand of nine in ten plausible paths.
BAND = (0.05, 0.5, 0.95)
# With less than a twelfth of the window free of ceilings (two hours of a day), the unthrottled load is
# unknown. It is also unknown if requests wait for that long and no ceiling explains it.
FREE_RATIO = 1 / 12
# The demand of counted clients may be a fifth below the measured rate; with less, the count is of others.
COUNTED_LEAST = 0.8
# A learned baseline is known to a percent or two; documented ones are further apart.
SAME = 0.03


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DemandPath:
    """One plausible demand."""

    ops_per_s: FloatArray
    """Shape (n,), finite, ≥ 0; gaps are filled and never counted."""
    is_carried: bool
    """Whether unserved requests wait (True) or are dropped (False)."""
    weight: float
    """Chance 0–1 of this path."""
    is_greedy: bool = False
    """Whether it uses any throughput it gets."""
    is_endless: bool = False
    """Whether it also has no bound, so that no size is enough for it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Demand of one window; arrays of shape (n,)."""

    step_s: float
    time_s: IntArray
    is_measured: BoolArray
    is_held_back: BoolArray
    served_ops_per_s: FloatArray
    served_bytes_per_s: FloatArray
    io_size_bytes: FloatArray
    base_latency_s: FloatArray
    """Latency without waiting; NaN where unknown."""
    latency_s: FloatArray
    """Measured latency; NaN where unknown."""
    balance_at_start: Mapping[str, float]
    """Share 0–1 of each bucket that was full when the window began, by stage name, where measured."""
    burst_s: Mapping[str, tuple[float, float]]
    """Least and most seconds for which a bucket pays burst − baseline, where it was learned."""
    is_joined: bool = False
    """Whether the volume merges requests: more were served than its limit of operations."""
    paths: tuple[DemandPath, ...]
    low: DemandPath
    """The lowest plausible demand."""
    middle: DemandPath
    high: DemandPath
    """The highest plausible demand."""
    is_free_seen: bool
    """Whether the demand of every throttled stretch was also measured without throttling."""
    summary: DemandSummary


def recover(snapshot: Snapshot, diagnosis: Diagnosis, *, growth: float = 1.0, prior: Prior = DEFAULT_PRIOR) -> Demand:
    """
    Return the demand behind what was served.

    Args:
        snapshot: the measured window.
        diagnosis: of that same window.
        growth: factor of the demand, > 0; it applies to the paths and the summary's peaks, not to the
            served rates.

    Raises:
        DataError: storage was not measured.
        UsageError: a growth that is not a positive number.
    """
    if not 0 < growth < np.inf:
        raise UsageError(
            f"demand cannot grow to {growth:g} times what it is", "Give a positive factor, such as --growth 2x."
        )
    seen = seen_of(snapshot)
    held = throttled_of(seen, diagnosis)
    found = _consistent(loop_of(snapshot, seen, held), seen, held)
    weights = fates_of(found, held, prior)
    paths = _paths(seen, held, found, (growth, prior), weights)
    low, middle, high = _chosen(paths)
    # A window near a documented limit that never shows the storage without waiting may be one long plateau.
    is_near = diagnosis.verdict in (Verdict.NEAR, Verdict.UNKNOWN)
    is_unclear = not held.stretches and not seen.is_reference_seen and is_near
    is_free_seen = all(is_seen(stretch) for stretch in held.stretches)
    return Demand(
        step_s=seen.step_s,
        time_s=seen.time_s,
        is_measured=seen.is_measured,
        is_held_back=held.is_held,
        served_ops_per_s=seen.ops_per_s,
        served_bytes_per_s=seen.ops_per_s * seen.io_size_bytes,
        io_size_bytes=seen.io_size_bytes,
        base_latency_s=seen.base_latency_s,
        latency_s=seen.latency_s,
        balance_at_start=_balances(snapshot, seen),
        burst_s=_burst_s(diagnosis),
        is_joined=_is_joined(seen, diagnosis),
        paths=paths,
        low=low,
        middle=middle,
        high=high,
        is_free_seen=is_free_seen,
        summary=_summary(seen, held, found, (low, middle, high), is_unclear=is_unclear, believed=(weights, prior)),
    )


def _balances(snapshot: Snapshot, seen: MeasuredDemand) -> dict[str, float]:
    """Return the first reading of each balance, if it is from the window's first hour."""
    found = {}
    for metric, family in BALANCES.items():
        series = snapshot.series.get(metric)
        if series is None or not series.time_s.size:
            continue
        # A later reading does not show the start: 30 minutes at the maximum may empty a bucket
        # (EC2 user guide, EBS-optimized instances).
        if series.time_s[0] - seen.time_s[0] <= 3600 and np.isfinite(series.value[0]):
            found[family.value] = float(np.clip(series.value[0], 0.0, 1.0))
    return found


def _burst_s(diagnosis: Diagnosis) -> dict[str, tuple[float, float]]:
    """Return the learned capacities of the instance's buckets, in seconds of burst − baseline."""
    found = {}
    for fit in diagnosis.buckets:
        known = [c for c in diagnosis.ceilings if c.family == fit.family]
        # Capacity in seconds of burst applies to another class of the family as well.
        same = [c for c in known if abs(c.value / fit.baseline - 1) < SAME]
        origins = [c.origin for c in same if c.bucket_phase == Phase.BASELINE]
        tops = [c.value for c in known if c.bucket_phase == Phase.BURST and c.origin in origins]
        if not tops or not fit.is_reliable:
            continue
        extra = max(tops) - fit.baseline
        # Two standard errors either side: some 95 % of a normal error.
        low, high = fit.capacity - 2 * fit.capacity_se, fit.capacity + 2 * fit.capacity_se
        found[fit.family.value] = (max(low, 0.0) / extra, high / extra)
    return found


def _is_joined(seen: MeasuredDemand, diagnosis: Diagnosis) -> bool:
    """
    Return whether more requests were served than the volume's limit of operations, burst included.

    Source:
        Amazon EBS user guide, "I/O characteristics": sequential operations that follow one another
        on a volume of solid state are counted as one, up to 256 KiB.
    """
    known = [c.value for c in diagnosis.ceilings if c.family == Family.VOLUME_IOPS and c.phase != Phase.LEGACY]
    if not known:
        return False
    counted = (seen.ops_per_s * seen.counted_ratio)[seen.is_measured]
    # The steps of a turn may be counted in the wrong minute; one more is a rate that was served.
    return int(np.count_nonzero(counted > CLEAR * max(known))) > TURN_STEPS


def _paths(
    seen: MeasuredDemand,
    held: ThrottledSteps,
    found: LoopEstimate,
    wanted: tuple[float, Prior],
    weights: Mapping[Overflow, float],
) -> tuple[DemandPath, ...]:
    growth, prior = wanted
    if not held.stretches:
        # Nothing was throttled, so the served rate is the demand.
        return (DemandPath(ops_per_s=seen.ops_per_s * growth, is_carried=False, weight=1.0),)
    paths = []
    for habit, weight in weights.items():
        if not weight:
            continue
        u = middles(QUANTILES[habit])
        # Counted clients or arrivals are known and bounded, so they are not greedy.
        is_counted = np.isfinite(found.think_s) or found.arrivals is not None
        is_greedy = habit is Overflow.GREEDY and not is_counted and not neighbours_of_greedy(held)
        rates = overloads_of(held, habit, u, prior)
        for q, row in zip(u, rates, strict=True):
            ops = _asked(seen, held, found, habit, (float(q), row))
            paths += [
                DemandPath(
                    ops_per_s=asked * growth,
                    is_carried=habit is Overflow.JOB,
                    weight=share * weight / u.size,
                    is_greedy=is_greedy,
                    # Few requests in flight bound even a greedy load at a rate that can be bought.
                    is_endless=is_greedy and not is_bounded(held, prior),
                )
                for asked, share in without_greedy(ops, seen, held, prior, is_greedy=habit is Overflow.GREEDY)
            ]
    return tuple(paths)


def _consistent(found: LoopEstimate, seen: MeasuredDemand, held: ThrottledSteps) -> LoopEstimate:
    """Return the estimate of the loop, or an unknown one if the counted clients cannot explain the rate."""
    if not np.isfinite(found.think_s) or not held.stretches:
        return found
    # The longest stretch has the most readings of both.
    longest = max(held.stretches, key=lambda stretch: stretch.length)
    counted = counted_of(seen, held, found.think_s, 0.5)[longest.span]
    least = float(np.median(longest.free_ops_per_s)) if is_seen(longest) else 0.0
    if float(np.median(counted)) >= COUNTED_LEAST * max(least, longest.bound_ops_per_s):
        return found
    return LoopEstimate(loop=LoadResponse.UNKNOWN, reason=NEEDED)


def _asked(
    seen: MeasuredDemand, held: ThrottledSteps, found: LoopEstimate, habit: Overflow, at: tuple[float, FloatArray]
) -> FloatArray:
    """Return the demand of one path: a habit at a quantile, with its rates for each stretch."""
    q, rates = at
    is_counted = np.isfinite(found.think_s)
    # Counted clients bound the demand at every moment, whatever the habit assumes.
    most = counted_of(seen, held, found.think_s, q) if is_counted else None
    came = found.arrivals
    if came is not None and came.is_lost:
        asked = _by_arrivals(seen, held, came, float(np.exp(CAME_LOG_SD * NORMAL.inv_cdf(q))))
        if habit is Overflow.JOB and came.mix is Mix.UNKNOWN and not came.is_even:
            # The job may be any part of the completed work.
            return seen.ops_per_s + q * (asked - seen.ops_per_s)
        return _with_clients(seen, held, came, asked, rates) if habit in WAITING else asked
    is_all = habit is Overflow.GREEDY or (habit is Overflow.CLIENTS and found.is_sure)
    # A measured demand without throttling is better than one inferred from clients.
    if most is not None and is_all and not all(is_seen(stretch) for stretch in held.stretches):
        # The upper half of the paths counts the uncertain steps at the edges as full, the lower half
        # as served.
        return _by_clients(seen, held, most, is_wide=q > 0.5)
    if habit is Overflow.JOB and found.queue_ops is not None:
        return _by_queue(seen, held, found.queue_ops, rates if most is None else most)
    ops = _by_stretches(seen, held, rates, habit, is_wide=q > 0.5)
    if most is None or habit is Overflow.LOST:
        # Refused requests are not among those in flight.
        return ops
    return np.clip(ops, None, np.maximum(most, seen.ops_per_s))


def _by_clients(seen: MeasuredDemand, held: ThrottledSteps, counted: FloatArray, *, is_wide: bool) -> FloatArray:
    """Return the demand of counted clients in the throttled steps."""
    ops = np.where(held.is_held | held.is_partly, counted, seen.ops_per_s)
    if is_wide:
        for stretch in held.stretches:
            _lift_edges(ops, held, stretch, float(np.median(counted[stretch.span])))
    return ops


def _by_arrivals(seen: MeasuredDemand, held: ThrottledSteps, came: Arrivals, factor: float) -> FloatArray:
    """Return the counted arrivals in the throttled stretches."""
    ops = seen.ops_per_s.copy()
    for stretch in held.stretches:
        # One step more on either side: arrivals and ceilings may be counted in neighbouring
        # minutes.
        span = slice(max(stretch.span.start - 1, 0), stretch.span.stop + 1)
        asked = came.ops_per_s[span] * factor
        ops[span] = np.where(np.isfinite(asked), asked, ops[span])
    return ops


def _with_clients(
    seen: MeasuredDemand, held: ThrottledSteps, came: Arrivals, asked: FloatArray, rates: FloatArray
) -> FloatArray:
    """Return the arrivals plus the demand of waiting clients, of all work or of the uncounted share."""
    more = _more(seen, held, rates)
    if came.share is None:
        return asked + CLIENTS_SHARE * more
    others = 1 - np.nan_to_num(came.share, nan=CLIENTS_SHARE)
    return asked * (1 - others) + (seen.ops_per_s + more) * others


def _more(seen: MeasuredDemand, held: ThrottledSteps, rates: FloatArray) -> FloatArray:
    """Return the demand of clients above the served rate, if all work were theirs."""
    more = np.zeros(seen.ops_per_s.size)
    for stretch, rate in zip(held.stretches, rates, strict=True):
        factor = float(rate) / stretch.bound_ops_per_s - 1
        more[stretch.span] = np.where(held.is_held, seen.ops_per_s * factor, 0.0)[stretch.span]
    return more


def _by_queue(seen: MeasuredDemand, held: ThrottledSteps, queue: FloatArray, most: FloatArray) -> FloatArray:
    """Return the arrivals by served and queued work, taken up no faster than the workers can."""
    ops = seen.ops_per_s.copy()
    for index, stretch in enumerate(held.stretches):
        span = stretch.span
        # Work that waits at a moment arrived before it: arrivals = served so far + queue.
        served = np.cumsum(seen.ops_per_s[span])
        came = np.maximum.accumulate(served + queue[span] / seen.step_s)
        rate = most[span] if most.size == ops.size else np.full(stretch.length, most[index])
        taken = _taken(np.minimum(came, served[-1]), np.maximum(rate, seen.ops_per_s[span]))
        ops[span] = np.maximum(np.diff(np.maximum(taken, served), prepend=0.0), 0.0)
    return ops


def _taken(came: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the work taken up by each moment: the arrivals by then, at no more than `rate`."""
    whole = np.cumsum(rate)
    # min over earlier moments j of came[j] + what could be taken since then.
    found: FloatArray = np.minimum(whole, whole + np.minimum.accumulate(came - whole))
    return found


def _by_stretches(
    seen: MeasuredDemand, held: ThrottledSteps, rates: FloatArray, habit: Overflow, *, is_wide: bool
) -> FloatArray:
    """Return a demand with one rate in each stretch; wide ones also fill the samples at its edges."""
    ops = seen.ops_per_s.copy()
    for stretch, rate in zip(held.stretches, rates, strict=True):
        if habit is Overflow.JOB:
            _finish_sooner(ops, seen, stretch, np.full(stretch.length, float(rate)))
            continue
        _lift(ops, seen, held, stretch, float(rate))
        if habit in WAITING:
            follow_waiting(ops, seen, held, stretch, float(rate))
        if is_wide:
            _lift_edges(ops, held, stretch, float(rate))
    return ops


def _lift(ops: FloatArray, seen: MeasuredDemand, held: ThrottledSteps, stretch: Episode, rate: float) -> None:
    """Replace the served rate of a stretch by a demand of `rate`, in place."""
    for run in stretch.runs:
        inside = slice(run.start, run.end)
        # Overload is a factor on each step's own ceiling, which moves with the I/O size.
        asked = held.ceiling_ops_per_s[inside] * rate / run.level_ops_per_s
        ops[inside] = np.fmax(asked, seen.ops_per_s[inside])


def _lift_edges(ops: FloatArray, held: ThrottledSteps, stretch: Episode, rate: float) -> None:
    """Raise the samples at the edges of a stretch, and its partly throttled ones, to `rate`, in place."""
    edge = np.zeros(ops.size, dtype=bool)
    for run in stretch.runs:
        edge[max(run.start - 1, 0) : run.start] = True
        edge[run.end : run.end + 1] = True
    edge[stretch.span] |= held.is_partly[stretch.span]
    edge &= ~held.is_held
    ops[edge] = np.fmax(ops[edge], rate)


def _finish_sooner(ops: FloatArray, seen: MeasuredDemand, stretch: Episode, asked: FloatArray) -> None:
    """Replace the rates of a stretch by arrivals as fast as `asked`, with the same total, in place."""
    served = np.cumsum(seen.ops_per_s[stretch.span])
    # Work served by a moment had arrived by then, and no work arrives after the last of it.
    came = np.minimum(np.maximum(np.cumsum(asked), served), served[-1])
    ops[stretch.span] = np.maximum(np.diff(came, prepend=0.0), 0.0)


def _chosen(paths: tuple[DemandPath, ...]) -> tuple[DemandPath, DemandPath, DemandPath]:
    """
    Return the paths at the band's quantiles, ordered by peak and then by total demand.

    The middle one is of the bounded paths, because an endless demand has no middle.
    """
    order = sorted(paths, key=lambda p: (float(p.ops_per_s.max()), float(p.ops_per_s.sum())))
    ended = [p for p in order if not p.is_endless] or order
    low, high = (_at_quantile(order, q) for q in (BAND[0], BAND[2]))
    return low, _at_quantile(ended, BAND[1]), high


def _at_quantile(order: Sequence[DemandPath], quantile: float) -> DemandPath:
    reached = np.cumsum([p.weight for p in order])
    return order[min(int(np.searchsorted(reached, quantile * reached[-1])), len(order) - 1)]


def _summary(
    seen: MeasuredDemand,
    held: ThrottledSteps,
    found: LoopEstimate,
    chosen: tuple[DemandPath, DemandPath, DemandPath],
    *,
    is_unclear: bool,
    believed: tuple[Mapping[Overflow, float], Prior],
) -> DemandSummary:
    step = seen.step_s
    measured_s = float(np.count_nonzero(seen.is_measured)) * step
    held_s = float(np.count_nonzero(held.is_held & seen.is_measured)) * step
    is_known = all(is_seen(stretch) for stretch in held.stretches)
    # Arrivals are the demand where they exceed completions.
    came = found.arrivals
    is_known |= came is not None and came.is_whole and came.is_lost
    is_lower_bound = not is_known and held_s > (1 - FREE_RATIO) * measured_s
    is_lower_bound |= is_unclear or held.unexplained_ratio > FREE_RATIO
    size = seen.io_size_bytes
    served = seen.ops_per_s
    weights, prior = believed
    nature, greedy_ratio, nature_reason = nature_of(held, weights, prior)
    # At least zero: a path that finishes sooner has less demand later.
    missing = [float((np.fmax(p.ops_per_s - served, 0) * size).sum()) * step for p in chosen]
    return DemandSummary(
        measured_s=measured_s,
        held_back_s=held_s,
        loop=found.loop,
        loop_reason=found.reason,
        is_lower_bound=is_lower_bound,
        peak_bytes_per_s=_band([float((p.ops_per_s * size).max()) for p in chosen]),
        peak_ops_per_s=_band([float(p.ops_per_s.max()) for p in chosen]),
        held_back_bytes=_band(missing),
        assumptions=assumptions_of(seen, held, found, weights, prior, is_lower_bound=is_lower_bound),
        nature=nature,
        greedy_ratio=greedy_ratio,
        nature_reason=nature_reason,
    )


def _band(three: list[float]) -> Band:
    low, middle, high = sorted(three)
    return Band(low=low, middle=middle, high=high)
