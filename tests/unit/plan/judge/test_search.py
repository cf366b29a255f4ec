"""The search for the cheapest that holds: what settles it, and what counts."""

from dataclasses import replace

import numpy as np
import pytest

from plan_cases import asked
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.search import FAILS, HOLDS, DemandSearch, search, throttled_steps
from plimsoll.plan.judge.vectors import LimitColumn, LimitVectors

SLOT = LimitColumn("instance_ebs_throughput", "bytes", None)
KB = 1000.0


def fixed(*mb_per_s: float) -> LimitVectors:
    """Limits without credits, one arrangement each."""
    rates = np.array(mb_per_s) * 1e6
    limits = np.stack([rates, rates, np.zeros(rates.size)], axis=1)[:, None, :]
    return LimitVectors(slots=(SLOT,), limits=limits, of=np.arange(rates.size))


def bucket(baseline: float, burst: float, seconds: float) -> LimitVectors:
    """One bucket that pays for so many seconds at its maximum, MB/s."""
    row = (baseline * 1e6, burst * 1e6, (burst - baseline) * 1e6 * seconds)
    return LimitVectors(slots=(SLOT,), limits=np.array([[row]]), of=np.zeros(1, dtype=np.int64))


def load(*mb_per_s: float, carried: bool = True) -> StepDemand:
    """A demand by the minute, in operations of 100 kB."""
    return asked(np.array(mb_per_s) * 10, 100 * KB, carried=carried)


def everyone(vectors: LimitVectors) -> dict[str, np.ndarray]:
    return {"all": np.ones(vectors.of.size, dtype=np.bool_)}


def test_a_steady_demand_is_settled_without_a_replay():
    """A peak below the baseline holds; a level above the maximum fails."""
    vectors, steady = fixed(50, 100, 150), load(*[90] * 60)
    found = search(vectors, np.array([1, 2, 3]), everyone(vectors), steady, allowed_ratio=0)

    assert found.roles == {"all": (1, 2)}
    assert found.settled.tolist() == [3, 0]


def test_equal_prices_go_by_preference_and_then_by_place():
    """What is preferred never beats a lower price."""
    vectors = fixed(100, 150)

    roles, prices = everyone(vectors), np.array([4, 4])

    assert search(vectors, prices, roles, load(90), allowed_ratio=0).roles == {"all": (0, 1)}
    tie = np.array([2, 1])
    tied = search(vectors, prices, roles, load(90), allowed_ratio=0, tie=tie)
    assert tied.roles == {"all": (1, 0)}
    dearer = search(vectors, np.array([4, 5]), roles, load(90), allowed_ratio=0, tie=tie)
    assert dearer.roles == {"all": (0, 1)}


def test_what_waits_is_counted_until_it_is_served():
    """
    One minute of 300 MB/s under 100: it leaves two minutes' work, and each minute of 50 ends half of
    one minute's: four minutes wait. Shed, only the first one counts.
    """
    carried = load(300, 50, 50, 50, 50, 50, 50)
    lost = load(300, 50, 50, 50, 50, 50, 50, carried=False)
    vectors = fixed(100)

    assert throttled_steps(carried, vectors.chains([0])[0]).tolist() == [True] * 4 + [False] * 3
    assert throttled_steps(lost, vectors.chains([0])[0]).tolist() == [True] + [False] * 6
    for demand, allowed, state in ((carried, 3, FAILS), (carried, 4, HOLDS), (lost, 1, HOLDS)):
        trial = DemandSearch(vectors, demand, allowed_ratio=allowed / 7)
        trial.settle([0])
        assert trial.state.tolist() == [state]


@pytest.mark.parametrize(("allowed", "state"), [(3, HOLDS), (2, FAILS)])
def test_what_was_not_measured_is_counted_against_nobody(allowed: int, state: int):
    """Of five minutes at 200 MB/s under 100 two were not measured: three count."""
    rates = np.array([50.0] * 5 + [200.0] * 5 + [50.0] * 10) * 10
    measured = np.ones(20, dtype=np.bool_)
    measured[5:7] = False
    demand = StepDemand(
        ops_per_s=rates, io_size_bytes=np.full(20, 100 * KB), step_s=60.0, is_carried=False, is_measured=measured
    )
    assert demand.gap_count == 2

    trial = DemandSearch(fixed(100), demand, allowed_ratio=allowed / 18)
    trial.settle([0])

    assert trial.state.tolist() == [state]


def test_a_window_begins_with_the_credits_it_had():
    """Half of ten minutes of credits pays for five minutes at the maximum, and not for six."""
    for minutes, state in ((5, HOLDS), (6, FAILS)):
        demand = replace(load(*[200] * minutes, *[50] * 30), balance_at_start={SLOT.name: 0.5, "another": 0.1})
        trial = DemandSearch(bucket(100, 200, 600), demand, allowed_ratio=0)
        trial.settle([0])

        assert trial.state.tolist() == [state]
