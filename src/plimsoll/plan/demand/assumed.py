"""What was assumed to recover a demand, in sentences for people."""

from collections.abc import Mapping

import numpy as np

from plimsoll.model.plan import LoadResponse
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.arrivals import Arrivals
from plimsoll.plan.demand.held import ASSUMED_SIZE_BYTES, Measured, Throttled
from plimsoll.plan.demand.loop import LoopEstimate
from plimsoll.plan.demand.overload import Overflow, growth_quantiles, is_seen

NINE_IN_TEN = np.array([0.9])
HABITS = {
    Overflow.LOST: "dropped",
    Overflow.JOB: "queued and done later",
    Overflow.CLIENTS: "asked by clients that wait",
    Overflow.GREEDY: "part of a load that takes whatever it is given",
}


def assumptions_of(
    seen: Measured,
    held: Throttled,
    found: LoopEstimate,
    weights: Mapping[Overflow, float],
    prior: Prior,
    *,
    is_lower_bound: bool,
) -> tuple[str, ...]:
    """The assumptions behind a window's demand, the gravest first; none where all was measured."""
    said = []
    if is_lower_bound:
        said.append(
            "Only a lower bound of demand is known: too little of the window was free of waiting."
        )
    if held.stretches and found.arrivals is not None and found.arrivals.is_lost:
        said.append(_of_arrivals(found.arrivals))
    elif held.stretches:
        said += [_of_stretches(held, prior), _of_habit(found, weights)]
    if not seen.has_size:
        said.append(
            f"Each operation is taken for {ASSUMED_SIZE_BYTES / 1024:.0f} KiB: bytes and operations "
            "were not both measured."
        )
    lost = int(np.count_nonzero(~seen.is_measured))
    if lost:
        said.append(
            f"{lost} of {seen.time_s.size} samples are missing; they are filled in between their "
            "neighbours and never counted."
        )
    return tuple(said)


def _of_arrivals(came: Arrivals) -> str:
    if came.is_whole:
        return (
            "Demand behind the ceiling is what came, as it was counted beside what was done; one in "
            "five that some of it are clients who would ask for more."
        )
    return (
        "Demand behind the ceiling is what reached the database, done or rolled back; what was "
        "refused before is not known."
    )


def _of_stretches(held: Throttled, prior: Prior) -> str:
    shown = sum(is_seen(stretch) for stretch in held.stretches)
    count = len(held.stretches)
    if shown == count:
        return "Demand behind the ceiling is what was seen just before it bound, and wanders on."
    if shown:
        return (
            f"{shown} of {count} stretches at a ceiling showed their demand just before it bound; "
            "the others are taken to be like them."
        )
    return (
        "While the limit held, how much more was wanted could not be seen. We assume that it was less "
        f"than {prior.overload_median:g} times the ceiling in half of such cases, and less than "
        f"{growth_quantiles(prior, NINE_IN_TEN)[0]:.1f} times in nine of ten (--prior)."
    )


def _of_habit(found: LoopEstimate, weights: Mapping[Overflow, float]) -> str:
    if found.loop is LoadResponse.CLOSED:
        return (
            f"Clients were counted and spend {1e3 * found.think_s:.2g} ms elsewhere for each request"
            + ("." if found.is_sure else "; a queue before a full pool would look the same.")
        )
    if found.loop is LoadResponse.OPEN:
        return "What is not served at once is lost or done later; served faster, no more is asked."
    parts = [
        f"{100 * weights[habit]:.0f} % {text}" for habit, text in HABITS.items() if habit in weights
    ]
    return f"Delayed requests may have had any of these fates: {', '.join(parts)} (--prior)."
