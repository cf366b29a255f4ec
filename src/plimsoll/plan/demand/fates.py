"""What becomes of the requests that a ceiling holds back: how likely each fate is, by what was counted."""

from collections.abc import Mapping

from plimsoll.model.plan import LoadResponse
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.arrivals import Mix
from plimsoll.plan.demand.loop import LoopEstimate
from plimsoll.plan.demand.nature import weighed
from plimsoll.plan.demand.overload import Overflow
from plimsoll.plan.demand.throttled import ThrottledSteps

# Where no work waited outside, those who were counted are all; unless little more came than could
# be served, and gave up without a trace. Clients who pause between requests had nobody queueing.
SURE_LOST, PAUSING_LOST = 0.35, 0.03
# Where all that came was counted, that is the demand; whether it waits or is gone is a detail. But in
# one load of five some of it are clients who wait, and would come more often were they served faster.
CAME: Mapping[Mix, Mapping[Overflow, float]] = {
    Mix.UNKNOWN: {Overflow.LOST: 0.4, Overflow.JOB: 0.4, Overflow.CLIENTS: 0.2},
    Mix.ALONE: {Overflow.LOST: 0.48, Overflow.JOB: 0.48, Overflow.CLIENTS: 0.04},
    Mix.SHARED: {Overflow.LOST: 0.1, Overflow.CLIENTS: 0.5, Overflow.GREEDY: 0.4},
}
# Rollbacks tell of what reached the database and gave up there; what was refused before left none.
ROLLED: Mapping[Overflow, float] = {Overflow.LOST: 0.25, Overflow.JOB: 0.25, Overflow.CLIENTS: 0.5}
# What turned away a part of a queue's work turned away what was lost: hardly any of it comes back.
TURNED_AWAY: Mapping[Overflow, float] = {Overflow.LOST: 0.9, Overflow.JOB: 0.1}
# Where all that came was done, nothing is lost; nor where a queue kept it, but for what never got in.
# The work that waits may be a small part of a load whose greater part are clients.
DONE: Mapping[Overflow, float] = {Overflow.JOB: 0.25, Overflow.CLIENTS: 0.75}
KEPT: Mapping[Overflow, float] = {Overflow.LOST: 0.1, Overflow.JOB: 0.45, Overflow.CLIENTS: 0.45}


def fates_of(found: LoopEstimate, held: ThrottledSteps, prior: Prior) -> Mapping[Overflow, float]:
    """Return how likely each fate is; shares add up to 1."""
    # Strongest evidence first: counted arrivals, then a counted queue, then connections, then the
    # prior.
    if found.arrivals is not None and found.arrivals.is_lost:
        return CAME[found.arrivals.mix] if found.arrivals.is_whole else ROLLED
    if found.arrivals is not None and found.loop is not LoadResponse.CLOSED:
        return DONE
    if found.is_kept:
        return KEPT
    # As many were done as came, and they wait for answers: all are clients.
    if found.arrivals is not None and found.is_sure:
        return {Overflow.CLIENTS: 1.0}
    if found.is_sure:
        lost = PAUSING_LOST if found.is_pausing else SURE_LOST
        return {Overflow.LOST: lost, Overflow.CLIENTS: 1 - lost}
    # A queue that did not keep its work lost most of what it turned away.
    if found.queue_ops is not None:
        return TURNED_AWAY
    weights = weighed(prior, held)
    # How long the load stayed at its ceilings is all that moves the prior where nothing was
    # counted.
    if found.loop is not LoadResponse.OPEN:
        return weights
    # An open load does not wait for its answers, so clients and greedy work are ruled out.
    opened = {habit: weights[habit] for habit in (Overflow.LOST, Overflow.JOB)}
    # A prior of the user's may give both no weight; the count still says that the load is open.
    if not any(opened.values()):
        return TURNED_AWAY
    return {habit: weight / sum(opened.values()) for habit, weight in opened.items()}
