"""What a change does to a window, by hand-computed cases."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll.errors import DataError
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Family
from plimsoll.model.plan import DemandSummary, Judgement, LoadResponse
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand.recovery import Demand, DemandPath
from plimsoll.plan.judge.effect import judge, started
from plimsoll.plan.judge.verdict import PassShare, verdict_of

SIZE = 10_000.0
N = 100


def demand_of(*asked: FloatArray, is_free_seen: bool = True, size_bytes: float = SIZE, **more) -> Demand:
    """A simulated window of minutes with equally likely demands in ops/s; the first was served."""
    paths = tuple(DemandPath(ops_per_s=a, is_carried=False, weight=1 / len(asked)) for a in asked)
    ones = np.ones(asked[0].size)
    fields = {
        "step_s": 60.0,
        "time_s": 60 * np.arange(ones.size),
        "is_measured": ones > 0,
        "is_held_back": ones < 0,
        "served_ops_per_s": asked[0],
        "served_bytes_per_s": asked[0] * size_bytes,
        "io_size_bytes": size_bytes * ones,
        "base_latency_s": 0.001 * ones,
        "latency_s": 0.001 * ones,
        "balance_at_start": {},
        "burst_s": {},
        "paths": paths,
        "low": paths[0],
        "middle": paths[len(paths) // 2],
        "high": paths[-1],
        "is_free_seen": is_free_seen,
        "summary": DemandSummary(
            measured_s=6000.0,
            held_back_s=0.0,
            loop=LoadResponse.UNKNOWN,
            loop_reason="",
            is_lower_bound=False,
            peak_bytes_per_s=None,
            peak_ops_per_s=None,
            held_back_bytes=None,
            assumptions=(),
        ),
    }
    return Demand(**(fields | more))


def level(rate: float, *, minutes: int = 20, otherwise: float = 100.0) -> FloatArray:
    asked = np.full(N, otherwise)
    asked[10 : 10 + minutes] = rate
    return asked


def fixed(ops: float) -> tuple[Stage, ...]:
    return (Stage(name="volume_iops", baseline=ops, burst=ops, counts="ops"),)


def test_twenty_minutes_above_the_limit_are_twenty_minutes_at_it():
    """
    Of a hundred minutes twenty ask for 1,000 of 500: a fifth, and 18,000 of 28,000 at once; between two
    ends they are 19 to 21. What never ends in sight is as long as the window.
    """
    effect = judge(demand_of(level(1000.0)), fixed(500.0)).effect
    whole = judge(demand_of(np.full(N, 1000.0)), fixed(500.0)).effect

    assert effect.minutes_at_ceiling.middle == pytest.approx(20)
    assert effect.ratio_at_ceiling.middle == pytest.approx(0.2)
    assert effect.served_ratio.middle == pytest.approx(18_000 / 28_000)
    assert (effect.minutes_at_ceiling.low, effect.minutes_at_ceiling.high) == (19, 21)
    assert (whole.minutes_at_ceiling.low, whole.minutes_at_ceiling.high) == (100, 100)


@pytest.mark.parametrize(
    ("rate", "latency_s"),
    [
        # 1,000 a second of 1 ms each keep one in flight; at 500 a second each takes 2 ms.
        (1000.0, 0.002),
        # At half the limit it is the base and six tenths of a sixty-fourth.
        (250.0, 0.001 * (1 + 0.6 / 64)),
    ],
)
def test_latency_at_a_ceiling_is_requests_in_flight_over_rate(rate: float, latency_s: float):
    """Below it, it rises little."""
    effect = judge(demand_of(np.full(N, rate)), fixed(500.0)).effect

    assert effect.latency_s_mean.middle == pytest.approx(latency_s)


def test_the_lowest_balance_has_a_time():
    """600 above the baseline for 20 minutes are 720,000 credits of a million; then it fills again."""
    chain = (Stage(name="volume_iops", baseline=400.0, burst=2000.0, capacity=1e6, start_balance=1e6, counts="ops"),)
    effect = judge(demand_of(level(1000.0)), chain).effect

    assert effect.balance_min_ratio == pytest.approx(0.28)
    assert effect.balance_min_family == Family.VOLUME_IOPS
    assert effect.balance_min_s == 29 * 60
    assert effect.minutes_at_ceiling.high == 0


def test_balances_begin_where_they_were_read_and_at_either_end_where_not():
    """A reading of 40 % counts; without one a bucket is empty at worst and full at best."""
    stage = Stage(name="volume_iops", baseline=100.0, burst=300.0, capacity=1000.0, counts="ops")
    read = demand_of(level(1.0), balance_at_start={"volume_iops": 0.4})
    unread = demand_of(level(1.0))

    assert started(read, [stage], is_generous=False)[0].start_balance == 400
    assert started(unread, [stage], is_generous=False)[0].start_balance == 0
    assert started(unread, [stage], is_generous=True)[0].start_balance == 1000


def test_belief_is_the_weight_of_demands_that_pass():
    """Of four equally likely demands three pass a limit of 1,000."""
    demand = demand_of(*(level(r) for r in (600.0, 700.0, 800.0, 2000.0)))
    judged = judge(demand, fixed(1000.0))

    assert judged.probability == pytest.approx(0.75)
    assert judged.judgement == Judgement.UNSURE
    assert "enough in 8 of 10 cases we consider possible" in judged.reason
    assert judged.settled_by


def test_a_demand_that_no_size_ends_counts_against_every_size():
    """
    Of three demands the first passes, the second does not, and the third takes whatever it is given: the
    chance is one in three. It also keeps a change from lifting.
    """
    passes, fails, endless = level(900), level(1500), level(9000)
    made = demand_of(passes, fails, endless)
    paths = (*made.paths[:2], replace(made.paths[2], is_endless=True))
    known = replace(made, paths=paths, high=paths[2])
    alone = replace(known, paths=(paths[0], paths[2]), middle=paths[0])

    assert pytest.approx(1 / 3, abs=1e-4) == judge(known, fixed(1000.0)).probability
    found = judge(alone, fixed(1000.0))
    assert (0.5, Judgement.UNSURE) == (found.probability, found.judgement)


def test_a_greedy_demand_with_an_end_counts_but_does_not_make_a_change_fail():
    """
    One demand in a hundred passes, and so does one in thirty of those that are not greedy: the chance is
    the former, and *does not* is left unsaid for the latter.
    """
    made = demand_of(level(900), level(3000), level(9000))
    weights, greedy = (0.01, 0.29, 0.7), (False, False, True)
    paths = tuple(
        replace(path, weight=weight, is_greedy=is_greedy)
        for path, weight, is_greedy in zip(made.paths, weights, greedy, strict=True)
    )
    found = judge(replace(made, paths=paths, high=paths[2]), fixed(1000.0))

    assert (0.01, Judgement.UNSURE) == (found.probability, found.judgement)


def test_zero_minutes_need_demand_that_was_seen():
    """The same replay ends at zero where demand was seen at liberty, and at a step where not."""
    seen, unseen = (demand_of(level(100.0), is_free_seen=known) for known in (True, False))

    assert judge(seen, fixed(500.0)).effect.minutes_at_ceiling.high == 0
    assert judge(unseen, fixed(500.0)).effect.minutes_at_ceiling.high == 1


def test_nothing_to_replay_against_is_refused():
    """A change of which no limit is documented cannot be judged."""
    with pytest.raises(DataError, match="no limit of this change"):
        judge(demand_of(level(100.0)), ())


@pytest.mark.parametrize(
    ("strict", "nearly", "is_lower_bound", "expected"),
    [
        (0.95, 1.0, False, Judgement.LIFTS),
        (0.94, 1.0, False, Judgement.UNSURE),
        (1.0, 1.0, True, Judgement.UNSURE),
        (0.0, 0.02, True, Judgement.DOES_NOT),
        (0.0, 0.03, False, Judgement.UNSURE),
    ],
)
def test_verdicts_need_nearly_all_of_the_belief(
    strict: float, nearly: float, is_lower_bound: bool, expected: Judgement
):
    """Lifts from 95 % with the smaller buckets, does not up to 2 % that come near; never lifts alone."""
    share = PassShare(strict=strict, nearly=nearly)

    assert verdict_of(share, is_lower_bound=is_lower_bound) == expected


@pytest.mark.parametrize(("minutes", "expected"), [(20, Judgement.UNSURE), (40, Judgement.DOES_NOT)])
def test_does_not_is_reported_for_twice_what_is_allowed(minutes: int, expected: Judgement):
    """Of 15 allowed minutes 20 are too many, but a replay is not as exact as that; 40 are clear."""
    asked = level(1000.0, minutes=minutes)

    assert expected == judge(demand_of(asked), fixed(500.0), allowed_ratio=0.15).judgement


def test_joined_requests_may_be_fewer_operations():
    """1,000 requests of 10 kB are no more than 39 operations of 256 KiB: a limit of 500 may suffice."""
    volume = (Stage(name="volume_iops", baseline=500.0, burst=500.0, counts="ops", unit_bytes=256 * 1024.0),)
    alone, joined = (judge(demand_of(level(1000.0), is_joined=is_joined), volume) for is_joined in (False, True))

    assert (Judgement.DOES_NOT, 0.0) == (alone.judgement, alone.probability)
    assert (Judgement.UNSURE, 0.5) == (joined.judgement, joined.probability)


def test_a_reason_says_how_long_and_how_sure():
    """Demand that never waits is reported as such; of a time at a ceiling its ends are known to the minute."""
    calm = judge(demand_of(level(200.0)), fixed(500.0))
    some = judge(demand_of(level(1000.0), is_held_back=np.ones(N) > 0), fixed(500.0))
    grown = demand_of(level(200.0), served_ops_per_s=level(100.0))
    many = judge(demand_of(level(200.0), level(201.0)), fixed(500.0))

    assert "demand would never wait for a ceiling" == calm.reason
    assert "still at a ceiling for 19.0 % to 21.0 % of the time (you allow 1 %)" == some.reason
    assert judge(grown, fixed(500.0)).reason.startswith("still at a ceiling for under 0.1 % of")
    assert "under 0.1 % of the time (you allow 1 %); enough in 99 of 100 cases" in many.reason
