"""What holds of recovered demand and of judgements, whatever was asked for and served."""

from functools import cache

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.kernel import Stage, replay
from plimsoll.model.plan import Judgement
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.judge.effect import judge

LAWFUL = settings(max_examples=25, deadline=None, derandomize=True)
CEILING = 100e6
windows = st.tuples(st.integers(0, 40), st.sampled_from([0.5, 1.1, 1.6, 3.0]), st.sampled_from([1.5, 4.0, 12.0]))


@cache
def window(seed: int, over: float, waiting: float) -> Snapshot:
    """Nine simulated hours; the middle three ask for `over` times a ceiling of 100 MB/s."""
    rng = np.random.default_rng(seed)
    asked = builders.working_day(rng, 25e6, over * CEILING, hours=9, spread=0.03)
    return builders.snapshot(builders.held_at(asked, CEILING, rng=rng, waiting=waiting))


@cache
def demand_of(seed: int, over: float, waiting: float, growth: float = 1.0) -> Demand:
    snapshot = window(seed, over, waiting)
    return recover(snapshot, diagnose(snapshot, catalog()), growth=growth)


def chain(factor: float) -> tuple[Stage, ...]:
    rate = factor * CEILING
    return (Stage(name="instance_ebs_throughput", baseline=rate, burst=rate, counts="bytes"),)


@LAWFUL
@given(windows, st.floats(0.3, 5), st.floats(1, 4))
def test_a_higher_limit_never_fails_where_a_lower_one_lifts(case, factor: float, more: float):
    """Raising a limit turns no *lifts* into *does not*, and lowers no belief in it."""
    lower, higher = (judge(demand_of(*case), chain(f)) for f in (factor, factor * more))

    assert higher.probability >= lower.probability - 1e-9
    if lower.judgement is Judgement.LIFTS:
        assert higher.judgement is Judgement.LIFTS


@LAWFUL
@given(windows, st.floats(0.5, 4), st.sampled_from([1.2, 2.0, 3.5]))
def test_more_demand_is_not_easier_to_serve(case, factor: float, growth: float):
    """Growth lowers the belief in a change, and lengthens every edge of the band."""
    once = judge(demand_of(*case), chain(factor))
    grown = judge(demand_of(*case, growth), chain(factor))

    assert grown.probability <= once.probability + 1e-9
    low, high = once.effect.minutes_at_ceiling, grown.effect.minutes_at_ceiling
    assert high.low >= low.low - 1e-9
    assert high.high >= low.high - 1e-9


@LAWFUL
@given(windows)
def test_what_was_served_had_been_asked_for(case):
    """By any moment every path has asked for at least what was served by then."""
    demand = demand_of(*case)

    served = np.cumsum(demand.served_ops_per_s)
    for path in demand.paths:
        assert np.all(np.cumsum(path.ops_per_s) >= served * (1 - 1e-9))
        assert np.all(np.isfinite(path.ops_per_s) & (path.ops_per_s >= 0))


@LAWFUL
@given(windows, st.floats(0.3, 1))
def test_the_naive_replay_is_the_floor(case, factor: float):
    """
    Below the present ceiling the band's low end is no less than replaying what was served.

    Not where the ceiling is a level that was served: then the noise of a sample, 3 %, decides what is at it.
    """
    assume(all(abs(factor - min(level, 1.0)) > 0.1 * factor for level in case[1:]))
    demand = demand_of(*case)
    naive = replay(
        demand.served_ops_per_s, demand.io_size_bytes, step_s=demand.step_s, chain=chain(factor), carry=False
    )

    floor = float(naive.throttled_ratio.sum()) * demand.step_s / 60
    assert judge(demand, chain(factor)).effect.minutes_at_ceiling.low >= 0.98 * floor - 1


@LAWFUL
@given(windows, st.floats(0.5, 3))
def test_equal_windows_give_equal_answers(case, factor: float):
    """Nothing is thrown: recovering again gives the same paths to the last bit."""
    snapshot = window(*case)
    again = recover(snapshot, diagnose(snapshot, catalog()))
    first = demand_of(*case)

    assert first.summary == again.summary
    for a, b in zip(first.paths, again.paths, strict=True):
        assert np.array_equal(a.ops_per_s, b.ops_per_s)
        assert a.weight == b.weight
    assert judge(first, chain(factor)) == judge(again, chain(factor))


@LAWFUL
@given(windows, st.floats(0.3, 50))
def test_bands_are_in_order_and_within_the_window(case, factor: float):
    """Low is no more than middle, middle no more than high, and no share is above one."""
    effect = judge(demand_of(*case), chain(factor)).effect

    for band in (effect.minutes_at_ceiling, effect.served_ratio, effect.served_bytes_per_s):
        assert band.low <= band.middle <= band.high
    assert 0 <= effect.ratio_at_ceiling.low
    assert effect.ratio_at_ceiling.high <= 1
    assert effect.served_ratio.high <= 1 + 1e-9
