"""The fates of requests that a ceiling delays: the chance of each, by the counts that were measured."""

from collections.abc import Mapping

from plimsoll.model.plan import LoadResponse
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.arrivals import Mix
from plimsoll.plan.demand.loop import LoopEstimate
from plimsoll.plan.demand.nature import weighed
from plimsoll.plan.demand.overload import Overflow
from plimsoll.plan.demand.throttled import ThrottledSteps

# If no work waited outside, the counted clients are all, unless a little more arrived than could be served
# and gave up unnoticed. Clients that pause between requests had no queue.
SURE_LOST, PAUSING_LOST = 0.35, 0.03
# If all arrivals were counted, they are the demand; whether they wait or are lost is a detail. But in one
# load of five some of them are clients that wait, and would send more if they were served faster.
CAME: Mapping[Mix, Mapping[Overflow, float]] = {
    Mix.UNKNOWN: {Overflow.LOST: 0.4, Overflow.JOB: 0.4, Overflow.CLIENTS: 0.2},
    Mix.ALONE: {Overflow.LOST: 0.48, Overflow.JOB: 0.48, Overflow.CLIENTS: 0.04},
    Mix.SHARED: {Overflow.LOST: 0.1, Overflow.CLIENTS: 0.5, Overflow.GREEDY: 0.4},
}
# Rollbacks count work that reached the database and gave up there; work refused earlier leaves none.
ROLLED: Mapping[Overflow, float] = {Overflow.LOST: 0.25, Overflow.JOB: 0.25, Overflow.CLIENTS: 0.5}
# A queue that refused a part of its work lost it: hardly any of it comes back.
TURNED_AWAY: Mapping[Overflow, float] = {Overflow.LOST: 0.9, Overflow.JOB: 0.1}
# If all arrivals were done, nothing is lost; the same holds for a queue that kept all its work, except for
# work that never entered it. Waiting work may be a small part of a load that is mostly clients.
DONE: Mapping[Overflow, float] = {Overflow.JOB: 0.25, Overflow.CLIENTS: 0.75}
KEPT: Mapping[Overflow, float] = {Overflow.LOST: 0.1, Overflow.JOB: 0.45, Overflow.CLIENTS: 0.45}


def fates_of(found: LoopEstimate, held: ThrottledSteps, prior: Prior) -> Mapping[Overflow, float]:
    """Return the chance of each fate; the chances add up to 1."""
    # Strongest evidence first: counted arrivals, then a counted queue, then connections, then the
    # prior.
    if found.arrivals is not None and found.arrivals.is_lost:
        return CAME[found.arrivals.mix] if found.arrivals.is_whole else ROLLED
    if found.arrivals is not None and found.loop is not LoadResponse.CLOSED:
        return DONE
    if found.is_all_done:
        return KEPT
    # As many were done as arrived, and they wait for answers: all are clients.
    if found.arrivals is not None and found.is_sure:
        return {Overflow.CLIENTS: 1.0}
    if found.is_sure:
        lost = PAUSING_LOST if found.is_pausing else SURE_LOST
        return {Overflow.LOST: lost, Overflow.CLIENTS: 1 - lost}
    # A queue that did not keep its work lost most of what it turned away.
    if found.queue_ops is not None:
        return TURNED_AWAY
    weights = weighed(prior, held)
    # Without counts, only the time at the ceilings changes the prior.
    if found.loop is not LoadResponse.OPEN:
        return weights
    # An open load does not wait for its answers, so clients and greedy work are ruled out.
    opened = {habit: weights[habit] for habit in (Overflow.LOST, Overflow.JOB)}
    # A user's prior may give both no weight; the count still shows that the load is open.
    if not any(opened.values()):
        return TURNED_AWAY
    return {habit: weight / sum(opened.values()) for habit, weight in opened.items()}
