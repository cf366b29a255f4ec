"""Compare arrivals with completions: simulated databases that lose, keep or finish what comes."""

import numpy as np
import pytest

import builders
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement, LoadResponse
from plimsoll.model.series import FloatArray
from plimsoll.plan.judge.effect import judge
from unit.plan.demand.test_loop import SIZE, clients, fixed, recovered

N = 12 * builders.HOUR
CEILING_OPS = 6000.0
BEHIND = slice(4 * builders.HOUR, 8 * builders.HOUR)
COST = 10
"""Operations of a transaction."""


def outside(over: float) -> tuple[dict, FloatArray, FloatArray]:
    """
    Twelve simulated hours of requests from outside, `over` times the ceiling in the middle four.

    Returns:
        Storage metrics, operations asked for and operations served per second.
    """
    rng = np.random.default_rng(9)
    asked = 2500 * builders.wander(rng, N, 0.1, memory=0.98)
    asked[BEHIND] = over * CEILING_OPS * builders.wander(rng, 4 * builders.HOUR, 0.02)
    ops = np.minimum(asked, CEILING_OPS * (1 + rng.normal(0, 0.001, N)))
    latency = np.where(asked > ops, 0.0018, 0.0008)
    return builders.storage(ops * SIZE, size_bytes=SIZE, latency_s=latency), asked, ops


def test_what_came_is_the_demand():
    """
    Of 1.6 times a ceiling, 1.25 times is too little and 2.5 is enough; storage alone cannot say of
    1.9.
    """
    storage, asked, ops = outside(1.6)
    counted = recovered(storage, {Metric.ARRIVALS_PER_S: asked / COST, Metric.TRANSACTIONS_PER_S: ops / COST})
    blind = recovered(storage)

    assert counted.summary.loop == LoadResponse.OPEN
    assert "at the ceiling 160 requests arrived for every 100 completed" in (counted.summary.loop_reason)
    assert judge(counted, fixed(1.25 * CEILING_OPS * SIZE)).judgement == Judgement.DOES_NOT
    assert judge(counted, fixed(2.5 * CEILING_OPS * SIZE)).judgement == Judgement.LIFTS
    assert judge(blind, fixed(1.25 * CEILING_OPS * SIZE)).judgement == Judgement.UNSURE
    assert judge(blind, fixed(1.9 * CEILING_OPS * SIZE)).judgement == Judgement.UNSURE


def test_most_transactions_may_be_served_from_memory():
    """Two transactions for each operation tell as much of the demand as one for ten operations."""
    storage, asked, ops = outside(1.6)
    dear, cheap = (
        recovered(
            storage,
            {
                Metric.ARRIVALS_PER_S: asked / cost,
                Metric.COMPLETIONS_PER_S: ops / cost,
                Metric.TRANSACTIONS_PER_S: ops / cost,
            },
        )
        for cost in (COST, 0.5)
    )

    assert [p.weight for p in dear.paths] == pytest.approx([p.weight for p in cheap.paths])


def test_requests_and_transactions_need_not_be_the_same():
    """Three transactions for a request: the ratio at liberty says so, and is taken out."""
    storage, asked, ops = outside(1.6)
    demand = recovered(storage, {Metric.ARRIVALS_PER_S: asked / COST, Metric.TRANSACTIONS_PER_S: 3 * ops / COST})

    assert demand.middle.ops_per_s[BEHIND].mean() == pytest.approx(1.6 * CEILING_OPS, rel=0.05)


def test_rollbacks_tell_of_what_gave_up():
    """What times out in the database ends as a rollback; what is usual of them is not counted."""
    storage, asked, ops = outside(1.6)
    rolled = 0.01 * ops / COST + (asked - ops) / COST
    demand = recovered(storage, {Metric.TRANSACTIONS_PER_S: ops / COST + rolled, Metric.ROLLBACKS_PER_S: rolled})

    assert demand.summary.loop == LoadResponse.OPEN
    assert "committed or rolled back" in " ".join(demand.summary.assumptions)
    assert demand.low.ops_per_s[BEHIND].mean() == pytest.approx(1.6 * CEILING_OPS, rel=0.1)
    assert demand.middle.ops_per_s[BEHIND].mean() == pytest.approx(1.6 * CEILING_OPS, rel=0.1)


def test_clients_who_get_all_they_ask_for_lose_nothing():
    """All that came was done: those who were counted are all, and no queue stood before them."""
    storage, count, ops = clients(60)
    demand = recovered(
        storage,
        {Metric.CONNECTION_COUNT: 25 + count, Metric.ARRIVALS_PER_S: ops / COST, Metric.TRANSACTIONS_PER_S: ops / COST},
    )

    assert demand.summary.loop == LoadResponse.CLOSED
    assert "all that arrived was done" in demand.summary.loop_reason
    assert judge(demand, fixed(18_000 * SIZE)).judgement == Judgement.LIFTS


def test_a_count_of_other_work_is_left_aside():
    """Arrivals that at liberty are one time a half and another time twice what is done say nothing."""
    storage, asked, ops = outside(1.6)
    other = asked * np.exp(np.random.default_rng(2).normal(0, 0.7, N))
    demand = recovered(storage, {Metric.ARRIVALS_PER_S: other / COST, Metric.TRANSACTIONS_PER_S: ops / COST})

    assert demand.summary.loop == LoadResponse.UNKNOWN


def test_a_load_that_has_the_database_to_itself_is_distinguished_from_one_that_shares_it():
    """
    Completions over transactions stay alike where nobody else is there; where clients are squeezed
    at the same time, they change, and these clients may ask for more.
    """
    storage, asked, ops = outside(1.6)
    others = np.where(asked > ops, 2000.0, 500.0)
    alone, shared = (
        recovered(
            storage,
            {
                Metric.ARRIVALS_PER_S: (asked - more) / COST,
                Metric.COMPLETIONS_PER_S: (ops - more) / COST,
                Metric.TRANSACTIONS_PER_S: ops / COST,
            },
        )
        for more in (0.0, others)
    )

    assert judge(alone, fixed(1.9 * CEILING_OPS * SIZE)).judgement == Judgement.LIFTS
    assert judge(shared, fixed(1.9 * CEILING_OPS * SIZE)).judgement == Judgement.UNSURE
    assert shared.high.ops_per_s.max() > 1.1 * alone.high.ops_per_s.max()
