"""The kernel checks what it is given, and hands the rest over unchanged."""

from math import inf, nan

import numpy as np
import pytest

from plimsoll import kernel
from plimsoll.errors import DataError
from plimsoll.kernel import Grant, Stage, replay, replay_candidates

KIB = 1024


def gp2(**changes):
    fields = {
        "name": "volume IOPS",
        "counts": "ops",
        "baseline": 300.0,
        "burst": 3000.0,
        "capacity": 5.4e6,
        "unit_bytes": 256 * KIB,
    }
    return Stage(**(fields | changes))


def throughput(limit=128 * KIB * KIB, **changes):
    return Stage(**({"name": "bytes", "counts": "bytes", "baseline": limit, "burst": limit} | changes))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"baseline": -1.0}, "stage 'volume IOPS' has a baseline of -1.0"),
        ({"baseline": nan}, "stage 'volume IOPS' has a baseline of nan"),
        ({"burst": 299.0}, "stage 'volume IOPS' has a burst of 299.0 below its baseline of 300.0"),
        ({"baseline": 0.0, "burst": 0.0}, "stage 'volume IOPS' has a burst of 0.0"),
        ({"capacity": inf}, "stage 'volume IOPS' has a capacity of inf"),
        ({"start_balance": 6e6}, "stage 'volume IOPS' starts with 6000000.0 of 5400000.0 credits"),
        ({"counts": "pages"}, "stage 'volume IOPS' counts 'pages'"),
        ({"unit_bytes": 0.0}, "stage 'volume IOPS' has an accounting unit of 0.0 bytes"),
        ({"sequential_ratio": 1.5}, "stage 'volume IOPS' has a sequential ratio of 1.5"),
        (
            {"sequential_ratio": 0.5, "unit_bytes": None},
            "stage 'volume IOPS' merges sequential requests, but has no unit",
        ),
        ({"stripes": 0}, "stage 'volume IOPS' has 0 stripes"),
    ],
)
def test_a_stage_without_meaning_is_refused(changes, cause):
    """The message says which number of which stage, the hint what it must be."""
    with pytest.raises(DataError) as caught:
        gp2(**changes)

    assert cause == caught.value.message
    assert caught.value.hint.startswith("It must be ")


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ({"demand_ops_per_s": [1.0, nan]}, "demand was not measured in 1 of 2 steps"),
        ({"demand_ops_per_s": [1.0, -1.0]}, "demand is out of range"),
        ({"demand_ops_per_s": [1.0, inf]}, "demand is out of range"),
        ({"demand_ops_per_s": [[1.0]]}, "demand has 2 dimensions"),
        ({"io_size_bytes": [1.0]}, "1 I/O sizes were given for 2 steps"),
        ({"io_size_bytes": 0.0}, "an I/O size is not known where operations are asked for"),
        ({"io_size_bytes": nan}, "an I/O size is not known where operations are asked for"),
        ({"step_s": 0.0}, "a step of 0.0"),
        ({"chain": [gp2(), gp2()]}, "two stages share a name in ['volume IOPS', 'volume IOPS']"),
        ({"chain": [gp2(burst=inf)]}, "stage 'volume IOPS' has no limit"),
        ({"grants": [Grant(stages=("CPU",))]}, "a grant names ['CPU'], but the chain has ['volume IOPS']"),
        ({"grants": [Grant(stages=(), every_s=0.0)]}, "a grant comes every 0.0 s"),
        ({"grants": [Grant(stages=(), first_s=-1.0)]}, "a grant comes first after -1.0 s"),
    ],
)
def test_a_replay_without_meaning_is_refused(arguments, cause):
    """A gap in the demand is not a zero, and a missing size is not a guess."""
    usual = {"demand_ops_per_s": [1.0, 1.0], "io_size_bytes": 8192, "step_s": 60.0, "chain": [gp2()]}

    with pytest.raises(DataError) as caught:
        replay(**(usual | arguments))

    assert cause == caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ({"chains": [[gp2()], [throughput()]]}, "candidate chain 1 has other lengths or units than candidate chain 0"),
        ({"chains": [[gp2()], []]}, "candidate chain 1 has other lengths or units than candidate chain 0"),
        ({"chains": [[gp2()] * 9]}, "a candidate chain has 9 stages"),
        ({"allowed_steps": -1}, "-1 throttled steps are allowed"),
    ],
)
def test_candidates_that_cannot_be_compared_are_refused(arguments, cause):
    """Candidates share one way of counting; only their limits differ."""
    usual = {"chains": [[gp2()]]}

    with pytest.raises(DataError) as caught:
        replay_candidates([1.0], 8192, step_s=60, **(usual | arguments))

    assert cause == caught.value.message


def test_a_size_does_not_matter_where_nothing_is_asked_for():
    """An idle step has no I/O size, and needs none."""
    done = replay([0.0, 10.0], [nan, 8192], step_s=60, chain=[gp2()])

    assert [0.0, 600.0] == done.served_ops.tolist()


def test_a_replay_of_nothing_is_empty():
    """No steps in, no steps out, in the shape that was promised."""
    done = replay([], [], step_s=60, chain=[gp2(), throughput()])

    assert (0,) == done.served_bytes.shape
    assert (2, 0) == done.balance.shape


def test_a_replay_names_what_binds():
    """Small requests meet the operations of the volume, large ones its throughput."""
    size = np.array([8 * KIB, 256 * KIB])

    done = replay([4000.0, 4000.0], size, step_s=60, chain=[throughput(), gp2()], carry=False)

    assert [1, 0] == done.binding.tolist()
    assert [True, False] == done.at_burst.tolist()
    assert [1.0, 1.0] == done.throttled_ratio.tolist()
    assert 128 * KIB * KIB * 60 == pytest.approx(done.served_bytes[1])


def test_a_bucket_starts_full_unless_told_otherwise():
    """`start_balance` is in credits of one stripe; none means full."""
    full = replay([0.0], 1, step_s=1, chain=[gp2()])
    empty = replay([0.0], 1, step_s=1, chain=[gp2(start_balance=0.0)])

    assert 5.4e6 == full.balance[0, 0]
    assert 300.0 == empty.balance[0, 0]


def test_balances_at_the_start_can_be_given_apart():
    """They count instead of those of the chain."""
    demand = [2000.0] * 50
    chain = (gp2(), throughput())
    apart = replay(demand, 8 * KIB, step_s=60.0, chain=chain, balances=[1e6, 0.0])
    within = replay(demand, 8 * KIB, step_s=60.0, chain=(gp2(start_balance=1e6), throughput()))

    assert within.balance.tolist() == apart.balance.tolist()
    assert 300.0 * 60 == apart.served_ops[-1] < replay(
        demand, 8 * KIB, step_s=60.0, chain=chain
    ).served_ops[-1]  # fmt: skip


@pytest.mark.parametrize(
    ("balances", "cause"),
    [
        ([1e6], "1 balances for 2 stages"),
        ([6e6, 0.0], "stage 'volume IOPS' starts with 6000000.0 of 5400000.0 credits"),
        ([-1.0, 0.0], "stage 'volume IOPS' starts with -1.0 of 5400000.0 credits"),
        ([nan, 0.0], "stage 'volume IOPS' starts with nan of 5400000.0 credits"),
    ],
)
def test_balances_that_cannot_be_are_refused(balances, cause):
    with pytest.raises(DataError) as caught:
        replay([1.0], 8 * KIB, step_s=60.0, chain=(gp2(), throughput()), balances=balances)

    assert cause == caught.value.message


def test_a_grant_fills_the_stages_it_names():
    """The named bucket is full after the grant, the other one is not touched."""
    chain = [gp2(start_balance=0.0), gp2(name="other", start_balance=0.0)]
    grant = Grant(stages=("other",), first_s=60.0)

    done = replay([0.0, 0.0], 1, step_s=60, chain=chain, grants=[grant])

    assert [[18_000, 36_000], [18_000, 5.4e6]] == done.balance.tolist()


def test_candidates_agree_with_replays_one_by_one():
    """Many side by side give what each gives alone, while the I/O size does not change."""
    demand = 3000 + 2500 * np.sin(np.arange(300) / 20)
    chains = [[throughput(1e6 * n), gp2(baseline=60.0 * n, stripes=1 + n % 3)] for n in range(1, 41)]

    trials = replay_candidates(demand, 8192, step_s=60, chains=chains)

    for index, chain in enumerate(chains):
        done = replay(demand, 8192, step_s=60, chain=chain)
        assert np.count_nonzero(done.backlog_ops) == trials.throttled_steps[index]
        assert done.served_bytes.sum() == pytest.approx(trials.served_bytes[index])
        assert done.backlog_bytes[-1] == pytest.approx(trials.backlog_bytes[index])
        assert done.balance.min(axis=1) == pytest.approx(trials.balance_min[:, index])


def test_a_candidate_without_a_limit_is_not_limited():
    """Infinite rates stand for a limit that this candidate does not have."""
    free = gp2(baseline=inf, burst=inf, capacity=0.0)

    trials = replay_candidates([1e6, 1e6], 8192, step_s=60, chains=[[free], [gp2()]])

    assert [0, 2] == trials.throttled_steps.tolist()
    assert 1.2e8 == trials.served_ops[0]


def test_a_failed_candidate_is_not_followed():
    """More throttled steps than allowed are counted as one more, and nothing else is said."""
    trials = replay_candidates([1e6] * 9, 8192, step_s=60, chains=[[gp2()]], allowed_steps=3)

    assert [4] == trials.throttled_steps.tolist()
    assert np.isnan(trials.served_ops).all()


def test_no_candidates_give_no_trials():
    """An empty list is not an error."""
    assert 0 == replay_candidates([1.0], 1, step_s=60, chains=[]).throttled_steps.size


def test_the_curve_names_what_binds_and_what_is_next():
    """Below the knee operations bind, above it bytes do."""
    chain = [throughput(), gp2()]
    knee = kernel.knee_bytes(128 * KIB * KIB, 3000)

    curve = kernel.ceiling_curve(chain, [knee / 2, knee * 2], burst=True)

    assert [1, 0] == curve.stage.tolist()
    assert [0, 1] == curve.next_stage.tolist()
    assert 3000 == curve.ops_per_s[0]
    assert 128 * KIB * KIB == pytest.approx(curve.bytes_per_s[1])
    assert curve.next_ops_per_s[1] == pytest.approx(3000)


def test_a_curve_without_meaning_is_refused():
    """A chain has a stage, and a request has a size."""
    with pytest.raises(DataError, match="a chain without any stage"):
        kernel.ceiling_curve([], [1.0])
    with pytest.raises(DataError, match="an I/O size is not above zero"):
        kernel.ceiling_curve([gp2()], [0.0])
    with pytest.raises(DataError, match="an I/O size is not above zero and finite"):
        kernel.ceiling_curve([gp2()], [inf])
    with pytest.raises(DataError, match="a throughput of 0"):
        kernel.knee_bytes(0, 1)


def test_a_stage_answers_for_itself():
    """gp2 of 100 GiB: 2,000 s at 3,000 operations (EBS user guide)."""
    stage = gp2(stripes=4)

    assert 2000 == stage.time_to_empty_s(5.4e6, 3000)
    assert inf == stage.time_to_empty_s(5.4e6, 300)
    assert 1.0 == stage.cost_per_op(1024 * KIB)
    assert 1200 == stage.ceiling_ops_per_s(8 * KIB)
    assert 12_000 == stage.ceiling_ops_per_s(8 * KIB, burst=True)
