"""Where the judgements of a plan's evidence lie: what decides, and what must not."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.kernel import Stage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement, LoadResponse
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand.loop import loop_of
from plimsoll.plan.demand.throttled import seen_of, throttled_of
from plimsoll.plan.judge.effect import judge
from unit.plan.demand.test_loop import CEILING_OPS, SIZE, N, clients
from unit.plan.judge.test_effect import demand_of, level


@pytest.mark.parametrize(
    ("minutes", "expected"), [(25, Judgement.LIFTS), (45, Judgement.UNSURE), (75, Judgement.DOES_NOT)]
)
def test_at_least_30_minutes_may_be_an_hour_and_are_no_more(minutes: int, expected: Judgement):
    """EC2 promises the maximum for 30 minutes at least: 25 are safe, 45 are unknown, 75 are not promised."""
    # Drained at (M − B), the smaller capacity lasts exactly 30 minutes.
    baseline, burst = 50.0, 1000.0
    stage = Stage(
        name="instance_ebs_iops", baseline=baseline, burst=burst, capacity=(burst - baseline) * 1800, counts="ops"
    )
    demand = demand_of(level(burst, minutes=minutes, otherwise=10.0), balance_at_start={"instance_ebs_iops": 1.0})

    assert expected == judge(demand, (stage,)).judgement


def loop_with(sessions: FloatArray) -> LoadResponse:
    storage, _, ops = clients(60)
    counted = {
        Metric.CONNECTION_COUNT: sessions,
        Metric.TRANSACTIONS_PER_S: ops / 10,
        Metric.WAITING_WORK_COUNT: np.zeros(N),
    }
    snapshot = builders.snapshot(storage, counted)
    seen = seen_of(snapshot)
    return loop_of(snapshot, seen, throttled_of(seen, diagnose(snapshot, catalog()))).loop


@pytest.mark.parametrize(("others", "loop"), [(5, LoadResponse.CLOSED), (25, LoadResponse.UNKNOWN)])
def test_clients_are_known_where_little_else_moves_the_connections(others: int, loop: LoadResponse):
    """60 clients among a few connections of others show; among others that vary as much they do not."""
    _, count, _ = clients(60)
    come_and_go = np.random.default_rng(7).normal(0, others, N)

    assert loop == loop_with(150 + count + come_and_go)


def free_before(rates: FloatArray) -> FloatArray:
    """What is seen of a load at liberty before its first plateau, of a simulated window."""
    latency = np.where(np.abs(rates - CEILING_OPS) < 60, 0.02, 0.0008)
    snapshot = builders.snapshot(builders.storage(rates * SIZE, size_bytes=SIZE, latency_s=latency))
    seen = seen_of(snapshot)
    (stretch,) = throttled_of(seen, diagnose(snapshot, catalog())).stretches
    return stretch.free_ops_per_s


@pytest.mark.parametrize(("late", "is_seen"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_load_at_liberty_is_seen_although_the_credits_end_within_a_sample(late: int, is_seen: bool):
    """
    Ten minutes at twice the ceiling count, also where the last two samples before it are part of each.

    What ended three minutes before the ceiling began to bind is another load.
    """
    rng = np.random.default_rng(5)
    rates = 500 * builders.wander(rng, 12 * builders.HOUR, 0.05)
    start = 5 * builders.HOUR
    rates[start : start + 10] = 2 * CEILING_OPS
    rates[start + 10 - late : start + 10] = 0.8 * CEILING_OPS
    held = slice(start + 10, start + 10 + 4 * builders.HOUR)
    rates[held] = CEILING_OPS * (1 + rng.normal(0, 0.001, 4 * builders.HOUR))

    free = free_before(rates)

    # In the last minutes before the ceiling requests may wait already.
    assert is_seen == (np.count_nonzero(free > 1.9 * CEILING_OPS) >= 6)
