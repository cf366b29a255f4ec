"""Every plausible demand on a chain: shared stretches change nothing, and are replayed once."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll import kernel
from plimsoll.kernel import Stage
from plimsoll.plan.demand.recovery import Demand, DemandPath
from plimsoll.plan.judge import trials
from plimsoll.plan.judge.trials import trials_of

SIZE = 16_384.0
DAYS, DAY = 4, 1440
N = DAYS * DAY


def chain(ops: float = 1000.0, *, capacity: float = 600_000.0) -> tuple[Stage, ...]:
    """A burstable throughput before a ceiling of operations without credits."""
    return (
        Stage(
            name="instance_ebs_throughput",
            baseline=ops * SIZE,
            burst=3 * ops * SIZE,
            capacity=capacity * SIZE,
            counts="bytes",
        ),
        Stage(name="volume_iops", baseline=4 * ops, burst=4 * ops, counts="ops"),
    )


def window(*factors: float, seed: int = 1, hours: float = 3.0) -> Demand:
    """Simulated days with a press of some hours each; paths differ in how much is asked for in it."""
    rng = np.random.default_rng(seed)
    calm = rng.uniform(50, 700, N)
    size = SIZE * rng.uniform(0.5, 1.5, N)
    paths = []
    for n, factor in enumerate(factors):
        ops = calm.copy()
        for day in range(DAYS):
            start = day * DAY + 300 + 40 * day
            ops[start : start + int(hours * 60)] = factor * 1000
        paths.append(DemandPath(ops_per_s=ops, is_carried=n % 2 == 1, weight=1 / len(factors)))
    fields = dict.fromkeys(Demand.__dataclass_fields__)
    given = {"step_s": 60.0, "io_size_bytes": size, "paths": tuple(paths), "high": paths[-1]}
    return Demand(**(fields | given))


def alone(demand: Demand, path: DemandPath, stages: tuple[Stage, ...]) -> kernel.Replay:
    return kernel.replay(
        path.ops_per_s, demand.io_size_bytes, step_s=demand.step_s, chain=stages, carry=path.is_carried
    )


EMPTY = tuple(replace(stage, start_balance=0.0) for stage in chain())


@pytest.mark.parametrize(
    ("demand", "strict", "generous"),
    [
        *(
            (window(*factors, seed=seed), chain(), chain(capacity=2_000_000.0))
            for factors in ((1.1, 1.4, 2.0, 2.0, 5.0), (0.5, 3.0, 9.0), (2.0,))
            for seed in range(12)
        ),
        # Work that is never caught up with leaves nothing to share; the lighter ones share what they can.
        (window(1.5, 40.0, hours=8.0), chain(), chain()),
        # The window's beginning is replayed for each until its buckets are full.
        (window(1.2, 1.5, 3.0), EMPTY, EMPTY),
    ],
)
def test_what_comes_out_is_what_one_replay_after_the_other_gives(demand, strict, generous):
    """Bit for bit, in every step, for loads that wait and loads that do not."""
    for trial in trials_of(demand, strict, generous):
        expected = alone(demand, trial.path, trial.chain)
        assert np.array_equal(expected.throttled_ratio, trial.outcome.throttled)
        assert np.array_equal(expected.served_ops, trial.outcome.served_ops)
        if trial.path is demand.high:
            assert np.array_equal(expected.balance, trial.outcome.balance)


def test_calm_stretches_are_replayed_once(monkeypatch):
    """
    Of sixteen demands in four days with three hours' press each, a third of all steps is replayed, and
    equal ones once.
    """
    steps = []

    def counted(ops, *rest, **more):
        steps.append(len(ops))
        return kernel.replay(ops, *rest, **more)

    monkeypatch.setattr(trials, "replay", counted)
    demand = window(*np.linspace(1.1, 2.0, 16), 2.0)

    found = trials_of(demand, chain(), chain())

    assert 2 * 17 == len(found)
    assert sum(steps) < 0.4 * 16 * N
    assert found[0].outcome is found[1].outcome


def test_more_credits_are_asked_only_for_what_waited():
    """What never waits with less never waits with more, and keeps its chain."""
    demand = window(0.5, 2.0)
    strict, generous = chain(capacity=60_000.0), chain(capacity=2_000_000.0)

    calm, same, _, pressed = trials_of(demand, strict, generous)

    assert same.outcome is calm.outcome
    assert strict is same.chain
    assert generous is pressed.chain
    assert [False, True] == [calm.is_generous, same.is_generous]
