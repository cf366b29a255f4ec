"""The assumptions behind a recovered demand, in sentences for people."""

from collections.abc import Mapping

import numpy as np

from plimsoll.model.plan import LoadResponse
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.arrivals import Arrivals
from plimsoll.plan.demand.loop import LoopEstimate
from plimsoll.plan.demand.overload import Overflow, growth_quantiles, is_seen
from plimsoll.plan.demand.throttled import ASSUMED_SIZE_BYTES, MeasuredDemand, ThrottledSteps

NINE_IN_TEN = np.array([0.9])
HABITS = {
    Overflow.LOST: "dropped",
    Overflow.JOB: "queued and done later",
    Overflow.CLIENTS: "retried by clients that wait",
    Overflow.GREEDY: "part of a load that uses any throughput it gets",
}


def assumptions_of(
    seen: MeasuredDemand,
    held: ThrottledSteps,
    found: LoopEstimate,
    weights: Mapping[Overflow, float],
    prior: Prior,
    *,
    is_lower_bound: bool,
) -> tuple[str, ...]:
    """Return the assumptions behind a window's demand, the most important first; none if all was measured."""
    sentences = []
    if is_lower_bound:
        sentences.append("Only a lower bound of demand is known: too little of the window was free of waiting.")
    if held.stretches and found.arrivals is not None and found.arrivals.is_lost:
        sentences.append(_of_arrivals(found.arrivals))
    elif held.stretches:
        sentences += [_of_stretches(held, prior), _of_habit(found, weights)]
    if not seen.has_size:
        sentences.append(
            f"We assume {ASSUMED_SIZE_BYTES / 1024:.0f} KiB per operation: bytes and operations were not both measured."
        )
    lost = int(np.count_nonzero(~seen.is_measured))
    if lost:
        sentences.append(f"{lost} of {seen.time_s.size} samples are missing. They are interpolated and never counted.")
    return tuple(sentences)


def _of_arrivals(came: Arrivals) -> str:
    if came.is_whole:
        return (
            "Demand at the ceiling was counted as requests arrived. With a chance of 1 in 5, some "
            "of them are clients that would send more."
        )
    return (
        "Demand at the ceiling is what reached the database, committed or rolled back. Requests "
        "refused earlier are unknown."
    )


def _of_stretches(held: ThrottledSteps, prior: Prior) -> str:
    shown = sum(is_seen(stretch) for stretch in held.stretches)
    count = len(held.stretches)
    # From measured to assumed: demand just before, then similar stretches, then the prior.
    if shown == count:
        return "We assume that demand at the ceiling continued as it was just before."
    if shown:
        return (
            f"{shown} of {count} intervals at a ceiling showed their demand just before; "
            "we assume the others are alike."
        )
    return (
        "While the limit bound, we could not see how much more was wanted. We assume less than "
        f"{prior.overload_median:g} times the ceiling in half of such cases, and less than "
        f"{growth_quantiles(prior, NINE_IN_TEN)[0]:.1f} times in 9 of 10 (--prior)."
    )


def _of_habit(found: LoopEstimate, weights: Mapping[Overflow, float]) -> str:
    # Only counted clients have a time outside storage that is known.
    if found.loop is LoadResponse.CLOSED:
        return f"Clients were counted; each spends {1e3 * found.think_s:.2g} ms outside storage per request" + (
            "." if found.is_sure else ". A queue before a full pool would look the same."
        )
    if found.loop is LoadResponse.OPEN:
        return "Delayed requests are dropped or done later. Faster storage brings no more requests."
    parts = [f"{100 * weights[habit]:.0f} % {text}" for habit, text in HABITS.items() if habit in weights]
    return f"Delayed requests may have been {', '.join(parts)} (chances: --prior)."
