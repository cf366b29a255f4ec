"""
The duration of the same work by price: each setup that does it clearly sooner than all cheaper ones.

A lower bound that needs no replay settles most setups. A job takes at least the time of its bytes and
operations, minus one full bucket, at the baseline. It also takes at least the time of its throttled work
at the burst rate. The rest is replayed in order of price.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from plimsoll.model.plan import WorkTime
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.vectors import BASELINE, BURST, CAPACITY, LimitVectors
from plimsoll.plan.judge.work import Job, jobs_of, work_of

# Judgement: a fifth of the time is the least gain that justifies a change, and a replay of demand that was
# measured by the minute is accurate to a few percent.
_SOONER = 0.8
# Rounding of the bound, and of the mean size of a task's operations, is far below a percent.
_LOOSELY = 0.99


@dataclass(frozen=True, slots=True)
class FasterArrangement:
    """A setup that does the work sooner than all cheaper ones."""

    index: int
    """Its place among the arrangements."""
    work: WorkTime


def sooner_by_price(
    demand: Demand, vectors: LimitVectors, queue: Sequence[int] | IntArray, present: WorkTime, *, growth: float = 1.0
) -> tuple[FasterArrangement, ...]:
    """
    Return setups in order of price, each at least a fifth sooner than the one before and the present one.

    Args:
        demand: as recovered.
        vectors: distinct limits, and which arrangement has which.
        queue: arrangements in order of price.
        present: the duration with the current setup.
        growth: factor of the work.
    """
    least = _LOOSELY * _least_s(demand, vectors, jobs_of(demand), growth) / 60
    most = _SOONER * present.chained_minutes
    found = []
    for index in np.asarray(queue, dtype=np.int64).tolist():
        vector = int(vectors.of[index])
        # The bound is a fraction of the cost of a replay, and most arrangements stop here.
        if least[vector] > most:
            continue
        (chain,) = vectors.chains([vector])
        limited = tuple(stage for stage in chain if isfinite(stage.burst))
        work = work_of(demand, limited, growth=growth)
        if work is not None and work.chained_minutes <= most:
            found.append(FasterArrangement(index, work))
            most = _SOONER * work.chained_minutes
    return tuple(found)


def most_for_the_money(found: Sequence[FasterArrangement], present: WorkTime, usd_more: Sequence[float]) -> int | None:
    """
    Return the place of the setup that saves the most time per additional dollar; None without any.

    If some cost no more than the current setup, it is the fastest of these.

    Args:
        found: by price.
        present: the duration with the current setup.
        usd_more: the additional cost of each, in the same order.
    """
    if not found:
        return None
    no_dearer = [place for place, more in enumerate(usd_more) if more <= 0]
    if no_dearer:
        return no_dearer[-1]

    def saved_per_usd(place: int) -> float:
        saved = present.chained_minutes - found[place].work.chained_minutes
        return saved / usd_more[place]

    return max(range(len(found)), key=saved_per_usd)


def _least_s(demand: Demand, vectors: LimitVectors, jobs: Sequence[Job], growth: float) -> FloatArray:
    """Return a lower bound of the jobs' duration with each vector, seconds, shape (vectors,)."""
    asked = StepDemand(
        ops_per_s=demand.served_ops_per_s * growth,
        io_size_bytes=demand.io_size_bytes,
        step_s=demand.step_s,
        is_carried=True,
        is_measured=demand.is_measured,
    )
    cost = np.stack([asked.rates(slot.stage(1.0, 1.0)) for slot in vectors.slots]) * demand.step_s
    baseline, burst, capacity = (vectors.limits[..., at] for at in (BASELINE, BURST, CAPACITY))
    least_s = np.zeros(len(vectors))
    for job in jobs:
        held = [slice(task.start, task.end) for task in job.tasks if task.is_held]
        in_held = np.sum([cost[:, one].sum(axis=1) for one in held], axis=0)
        in_job = cost[:, job.start : job.end].sum(axis=1)
        own_s = (job.end - job.start - sum(one.stop - one.start for one in held)) * demand.step_s
        # One full bucket at most: credits earned during the job are the baseline's own rate.
        at_baseline = (in_job - capacity) / baseline
        least_s += np.maximum(at_baseline, own_s + in_held / burst).max(axis=1)
    return least_s
