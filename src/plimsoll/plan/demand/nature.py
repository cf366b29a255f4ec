"""
Open or greedy: whether the demand of a load is bounded, or it uses any throughput it gets.

The demand of users and schedules is bounded. A vacuum, a load job or clients without pauses always run at
the ceiling. They reach a higher one as well, so *lifts* means little for them. Storage metrics give odds,
not proof; they change the weights of the prior by Bayes' rule:

- An open load varies, so it seldom stays above a ceiling for hours; a greedy one always does.
- A greedy load runs at the burst ceiling too, whenever credits return.
- A load that was measured below the ceiling of that moment is not greedy.
"""

from collections.abc import Mapping

import numpy as np

from plimsoll.model.plan import WorkloadKind
from plimsoll.model.prior import Prior
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand.overload import (
    Overflow,
    exceeding,
    is_at_two_ceilings,
    is_bounded,
    is_seen,
    middle_reach,
    neighbours_of_greedy,
    staying,
)
from plimsoll.plan.demand.throttled import Episode, MeasuredDemand, ThrottledSteps
from plimsoll.units import format_duration

# A load that was at two ceilings must be above the higher one too, and a growing open load would have
# reached the lower one long before. One in five got there in one jump, for example by a new customer.
LEAP = 0.2
# A greedy load has as many requests in flight as it has workers, and half of such loads have no more than a few
# times what storage takes at once. The rest of the prior's weight is theirs where more are in flight.
MANY_IN_FLIGHT = 0.5
# From this chance on a nature is named; below it, both are plausible.
NAMED_FROM = 0.7


def weighed(prior: Prior, held: ThrottledSteps) -> Mapping[Overflow, float]:
    """Return the weights of the habits, sum 1, given the time and the ceilings at which a load stayed."""
    weights = {
        Overflow.LOST: prior.lost,
        Overflow.JOB: prior.job,
        Overflow.CLIENTS: prior.clients,
        Overflow.GREEDY: prior.greedy,
    }
    greedy_places = neighbours_of_greedy(held)
    unseen = [
        stretch for place, stretch in enumerate(held.stretches) if not is_seen(stretch) and place not in greedy_places
    ]
    if unseen:
        stays = _stays(prior, max(unseen, key=lambda stretch: stretch.length_s))
        # Bayes' rule: jobs and greedy loads stay at a ceiling with certainty, so their weights are
        # kept.
        weights[Overflow.LOST] *= stays
        weights[Overflow.CLIENTS] *= stays
    if not is_bounded(held, prior):
        weights[Overflow.GREEDY] *= MANY_IN_FLIGHT
    whole = sum(weights.values())
    return {habit: weight / whole for habit, weight in weights.items()}


def greedy_chance(prior: Prior, stretch: Episode) -> float:
    """Return the chance 0–1 that one stretch uses any throughput it gets, whatever the others are."""
    greedy = prior.job + prior.greedy
    still_open = (prior.lost + prior.clients) * _stays(prior, stretch)
    return greedy / (greedy + still_open)


def _stays(prior: Prior, stretch: Episode) -> float:
    """Return the chance 0–1 that an open load stays at its ceilings for the time of a stretch."""
    stays = staying(prior, stretch.length_s)
    if is_at_two_ceilings(stretch):
        apart = stretch.bound_ops_per_s / stretch.floor_ops_per_s
        stays *= max(exceeding(prior, apart), LEAP)
    return stays


def without_greedy(
    ops: FloatArray, seen: MeasuredDemand, held: ThrottledSteps, prior: Prior, *, is_greedy: bool
) -> list[tuple[FloatArray, float]]:
    """
    Return a demand unchanged, and with greedy work next to it as it was served, each with its chance.

    For greedy work no size is enough, so it does not decide between sizes.

    Args:
        is_greedy: whether the demand is one in which that work surely is greedy.
    """
    places = neighbours_of_greedy(held)
    if not places:
        return [(ops, 1.0)]
    left = ops.copy()
    for place in places:
        span = held.stretches[place].span
        left[span] = seen.ops_per_s[span]
    if is_greedy:
        return [(left, 1.0)]
    # The stretches count as one kind of work, and the least certain of them decides.
    chance = min(greedy_chance(prior, held.stretches[place]) for place in places)
    return [(ops, 1 - chance), (left, chance)]


def nature_of(held: ThrottledSteps, weights: Mapping[Overflow, float], prior: Prior) -> tuple[WorkloadKind, float, str]:
    """
    Return the nature of the throttled load, the chance 0–1 that it is greedy, and a sentence.

    Queued work is greedy while it lasts: it is done as fast as the ceiling allows.
    """
    if not held.stretches:
        return WorkloadKind.UNKNOWN, 0.0, ""
    length = np.array([stretch.length_s for stretch in held.stretches])
    seen = np.array([is_seen(stretch) for stretch in held.stretches])
    greedy = weights.get(Overflow.GREEDY, 0.0) + weights.get(Overflow.JOB, 0.0)
    # Weighted by time: a stretch whose demand was measured is not greedy.
    ratio = round(float(greedy * length[~seen].sum() / length.sum()), 4)
    # Between the two marks neither nature is named, because each is plausible.
    if ratio >= NAMED_FROM:
        nature = WorkloadKind.GREEDY
    elif 1 - ratio >= NAMED_FROM:
        nature = WorkloadKind.OPEN
    else:
        nature = WorkloadKind.UNKNOWN
    return nature, ratio, _reason(held, nature, ratio, prior)


def _reason(held: ThrottledSteps, nature: WorkloadKind, ratio: float, prior: Prior) -> str:
    if all(is_seen(stretch) for stretch in held.stretches):
        return (
            "just before the ceiling bound, the load was below the higher ceiling of that moment, so "
            "its demand is fixed"
        )
    longest = max(held.stretches, key=lambda stretch: stretch.length_s)
    where = "at its burst ceiling and at its baseline" if is_at_two_ceilings(longest) else "at it"
    text = f"it stayed {where} for up to {format_duration(longest.length_s)}"
    chance = f"{100 * ratio:.0f} %"
    if nature is WorkloadKind.OPEN:
        return f"{text}; a load that uses any throughput it gets (a vacuum, a load job) is unlikely ({chance})"
    text = f"{text}; with a chance of {chance} it uses any throughput it gets, for example a vacuum or a load job"
    # Little's law bounds a greedy load by its requests in flight; then a size can be enough for it.
    if is_bounded(held, prior):
        most = max(middle_reach(held, stretch) for stretch in held.stretches if not is_seen(stretch))
        return f"{text}. Few requests wait, so such a load reaches at most {most:.2g} times this ceiling"
    return f"{text}. Such a load reaches any ceiling, so compare hours of work"
