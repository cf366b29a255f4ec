"""
Replay a load through a chain of ceilings: how long it takes, where credits end, what decides.

Rule 1: no formula of a bucket is written here. The kernel serves the work; this file says what is left for it: what
        others take and the reserve are taken off the stages, and the speed of the load itself is one more stage.
Rule 2: what a load may take where something is not known, the law of pace says (`pace/law/allowance`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from plimsoll.kernel import Replay, Stage, replay
from plimsoll.load.pace.law.allowance import baseline_share_per_s, has_bucket, stage_allowance
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.rehearse.law.cost import Case, DeviceWork, LoadSample, ServerSetup, work_of

LOAD_ITSELF = "load"
"""Name of the stage that is the speed of the load without storage limits."""

# Steps of a replay: a thousandth of the time is more than the estimate of the work is worth.
_STEPS = 1_000
# Work that takes longer than this does not end.
_LONGEST_S = 366 * 86_400.0
# The time of a load and the checkpoints in it follow from each other; it is known to this part.
_ROUNDS = 40
_SETTLED_RATIO = 1e-3
# A pace knows what a byte costs after about three readings of its counters, a second each, and lets a batch be ahead by a
# second's worth. Until then a byte may count for more or less than it costs, so a load is known to some seconds only.
_PACE_LEARNS_S = 4.0
# A stage that others fill leaves next to nothing; the kernel needs more than nothing.
_LEAST_PER_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is left of a chain for a load, and how fast the load is."""

    chain: tuple[Stage, ...]
    """What was bought."""
    balances: Mapping[str, float]
    """Credits now, 0–1, by stage; of a stage that is absent they are not known, and a pace spends none."""
    reserve_ratio: float
    """Credits that stay, 0–1."""
    headroom_ratio: float
    """Share of each ceiling's highest rate that stays free, 0–1."""
    others_bytes_per_s: float
    others_ops_per_s: float
    share_ratio: float | None = None
    """Share of each baseline that a pace grants without metrics, 0–1, whatever others take; None with metrics."""
    is_paced: bool = False
    """Whether a pace takes new pages off the allowance when they are filled, although they are written later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadForecast:
    """One load, replayed."""

    seconds: float
    """Infinite if it never ends."""
    credits_end_s: float | None
    """When the first bucket that was not empty is; None if none is."""
    binding: str
    """Stage that decides at the end; `load` for the load itself."""
    end_per_s: float
    """What that stage leaves, in what it counts; for the load itself bytes of input."""
    work: DeviceWork


def forecast(
    sample: LoadSample, server: ServerSetup, around: Circumstances, *, input_bytes: float, case: Case
) -> LoadForecast | None:
    """
    Return how a load ends in one case.

    Args:
        sample: what a part of it cost.
        server: settings of the server.
        around: ceilings, credits, others.
        input_bytes: of the whole load, > 0.
        case: the end of everything that is not known.

    Returns:
        None for the likely case if something has bounds only.
    """
    speed = rate_of(sample, case)
    # Checkpoints come by time, and time follows from the work. From below this finds the shortest time that agrees with
    # itself: a load that ends before the next checkpoint does not wait for it.
    duration_s, work = input_bytes / speed if speed < inf else 60.0, None
    ended, is_full = None, True
    for _ in range(_ROUNDS):
        work = work_of(
            sample,
            server,
            input_bytes=input_bytes,
            duration_s=max(duration_s, 1e-3),
            case=case,
            is_full=is_full,
            is_paced=around.is_paced,
        )
        if work is None:
            return None
        ended = _replayed(around, work, input_bytes=input_bytes, speed=speed)
        if ended.seconds <= duration_s * (1 + _SETTLED_RATIO) or ended.seconds == inf:
            break
        duration_s, is_full = ended.seconds, ended.binding != LOAD_ITSELF
    return _learnt(ended, around, case, least_s=input_bytes / speed)


def _learnt(ended: LoadForecast | None, around: Circumstances, case: Case, *, least_s: float) -> LoadForecast | None:
    """Return a forecast with what a pace has to learn first in its bounds."""
    if ended is None or not around.is_paced or ended.binding == LOAD_ITSELF:
        return ended
    seconds = ended.seconds + (case.place - 1) * _PACE_LEARNS_S
    return replace(ended, seconds=max(seconds, least_s, 0.0))


def rate_of(sample: LoadSample, case: Case) -> float:
    """Return the input per second that the load reaches without limits of storage; infinite if not known."""
    rates = sample.rates_bytes_per_s
    if case is Case.HIGH:
        return min(rates)
    if sample.is_rate_limited:
        return inf
    return max(rates) if case is Case.LOW else float(np.mean(rates))


def _left(around: Circumstances, io_size_bytes: float) -> list[Stage]:
    """Return the stages with what is left for the load."""
    return [_stage_left(stage, around, io_size_bytes) for stage in around.chain]


def _stage_left(stage: Stage, around: Circumstances, io_size_bytes: float) -> Stage:
    if around.share_ratio is not None:
        share = baseline_share_per_s(stage, share_ratio=around.share_ratio, io_size_bytes=io_size_bytes)
        return _fixed(stage, share)
    is_bytes = stage.counts == "bytes"
    others = around.others_bytes_per_s if is_bytes else around.others_ops_per_s
    if has_bucket(stage) and stage.name not in around.balances:
        terms = PaceTerms(reserve_ratio=around.reserve_ratio, headroom_ratio=around.headroom_ratio)
        # Without credits the rate is the same over any time.
        allowed = stage_allowance(stage, None, terms=terms, io_size_bytes=io_size_bytes, time_left_s=terms.horizon_s)
        return _fixed(stage, allowed.total_per_s - others)
    others /= stage.stripes
    burst = max((1 - around.headroom_ratio) * stage.burst - others, _LEAST_PER_S)
    baseline = min(max(stage.baseline - others, 0.0), burst)
    if not has_bucket(stage):
        return replace(stage, baseline=burst, burst=burst, capacity=0.0, start_balance=None)
    ratio = around.balances[stage.name]
    spendable = max(ratio - around.reserve_ratio, 0.0) * stage.capacity
    return replace(stage, baseline=baseline, burst=burst, start_balance=spendable)


def _fixed(stage: Stage, rate_per_s: float) -> Stage:
    """Return a stage of one rate, of all stripes together; its operations are of the mean size."""
    rate = max(rate_per_s, _LEAST_PER_S)
    return Stage(name=stage.name, baseline=rate, burst=rate, counts=stage.counts)


def _replayed(around: Circumstances, work: DeviceWork, *, input_bytes: float, speed: float) -> LoadForecast:
    size = work.bytes / work.ops
    whole = _left(around, size)
    if speed < inf:
        rate = speed * work.bytes / input_bytes
        whole.append(Stage(name=LOAD_ITSELF, baseline=rate, burst=rate, counts="bytes"))
    seconds = _shortest_s(whole, work, size)
    while seconds <= _LONGEST_S:
        step_s = seconds / _STEPS
        demand = np.zeros(_STEPS)
        demand[0] = work.ops / step_s
        found = replay(demand, size, step_s=step_s, chain=whole)
        if found.backlog_bytes[-1] <= 1e-6 * work.bytes:
            return _ended(found, whole, work, step_s=step_s, input_bytes=input_bytes)
        # What is left at the rate of the end; never less than a tenth more.
        last = max(float(found.served_bytes[-1]) / step_s, 1e-9)
        seconds += max(1.02 * float(found.backlog_bytes[-1]) / last, 0.1 * seconds)
    return LoadForecast(seconds=inf, credits_end_s=None, binding=whole[0].name, end_per_s=0.0, work=work)


def _shortest_s(chain: Sequence[Stage], work: DeviceWork, size: float) -> float:
    """Return a time in which the work cannot end sooner: at every stage's highest rate."""
    return max(work.ops / stage.ceiling_ops_per_s(size, burst=True) for stage in chain)


def _ended(
    found: Replay, chain: Sequence[Stage], work: DeviceWork, *, step_s: float, input_bytes: float
) -> LoadForecast:
    busy = np.flatnonzero(found.served_bytes > 1e-9 * work.bytes)
    last = int(busy[-1])
    # The step before the last one is a whole one, so it has the rate of the end.
    whole = int(busy[-2]) if busy.size > 1 else last
    part = min(float(found.served_bytes[last] / max(found.served_bytes[whole], 1e-9)), 1.0)
    place = int(found.binding[whole])
    stage = chain[place] if place >= 0 else chain[-1]
    served = found.served_bytes if stage.counts == "bytes" else found.served_ops
    rate = float(served[whole]) / step_s
    if stage.name == LOAD_ITSELF:
        rate *= input_bytes / work.bytes
    return LoadForecast(
        seconds=(last + part) * step_s,
        credits_end_s=_credits_end_s(found, chain, step_s, last),
        binding=stage.name,
        end_per_s=rate,
        work=work,
    )


def _credits_end_s(found: Replay, chain: Sequence[Stage], step_s: float, last: int) -> float | None:
    ends = [
        (int(np.flatnonzero(empty)[0]) + 1) * step_s
        for place, stage in enumerate(chain)
        if has_bucket(stage)
        and stage.balance_at_start > 0
        and (empty := found.balance[place, : last + 1] <= 1e-6 * stage.capacity).any()
    ]
    return min(ends, default=None)
