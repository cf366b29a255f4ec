"""What a load asked for behind a ceiling, on windows whose demand is known."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.errors import DataError, UsageError
from plimsoll.kernel import Stage
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement
from plimsoll.model.prior import Prior
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.overload import growth_quantiles, middles, staying
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.judge.effect import judge

CEILING = 100e6
HOUR = builders.HOUR


def pressed(busy: float, *, seed: int = 1) -> Snapshot:
    """Twelve hours of which the middle four ask for `busy` bytes/s of a ceiling of 100 MB/s."""
    rng = np.random.default_rng(seed)
    demand = builders.working_day(rng, 30e6, busy, spread=0.02)
    return builders.snapshot(builders.held_at(demand, CEILING, rng=rng))


def on_credits(busy: float, *, burst_hours: int) -> Snapshot:
    """Twelve hours whose middle four ask for `busy`; a ceiling of 400 MB/s at first, and of 100 from then on."""
    rng = np.random.default_rng(3)
    demand = builders.working_day(rng, 30e6, busy, spread=0.01)
    ceiling = np.full(demand.size, CEILING)
    ceiling[: (4 + burst_hours) * HOUR] = 400e6
    served = np.minimum(demand, ceiling * (1 + rng.normal(0, 0.001, demand.size)))
    latency = np.where(demand > ceiling, 8.0, 1.0) * 0.0008 * builders.wander(rng, demand.size, 0.08)
    return builders.snapshot(builders.storage(served, latency_s=latency))


def recovered(snapshot: Snapshot, **more: float | Prior) -> Demand:
    return recover(snapshot, diagnose(snapshot, catalog()), **more)


def fixed(bytes_per_s: float) -> tuple[Stage, ...]:
    return (Stage(name="instance_ebs_throughput", baseline=bytes_per_s, burst=bytes_per_s, counts="bytes"),)


def test_demand_without_a_ceiling_is_what_was_served():
    """Where nothing binds there is one path, it is the served rate, and nothing is assumed."""
    demand = recovered(pressed(60e6))

    assert len(demand.paths) == 1
    assert np.array_equal(demand.served_ops_per_s, demand.high.ops_per_s)
    assert demand.summary.held_back_s == 0
    assert demand.summary.peak_ops_per_s.low == demand.summary.peak_ops_per_s.high
    assert demand.summary.assumptions == ()


def test_behind_a_ceiling_more_was_asked_for_than_was_served():
    """Four pegged hours are throttled; the assumptions say what nobody saw, and what is lost."""
    demand = recovered(pressed(200e6))

    assert demand.summary.held_back_s == pytest.approx(4 * 3600, abs=300)
    assert sum(path.weight for path in demand.paths) == pytest.approx(1)
    assert any("we could not see" in text for text in demand.summary.assumptions)
    assert any("uses any throughput it gets" in text for text in demand.summary.assumptions)


def test_nothing_lifts_what_nobody_saw():
    """
    Half as much again may or may not suffice for a load that never left its ceiling. At nine tenths of it
    all four of twelve hours are at the ceiling; a hundred times as high still leaves a minute in the band.
    """
    demand = recovered(pressed(200e6))
    more, less, most = (judge(demand, fixed(rate)) for rate in (150e6, 90e6, 100 * CEILING))

    assert [Judgement.UNSURE, Judgement.DOES_NOT, Judgement.LIFTS] == [
        judged.judgement for judged in (more, less, most)
    ]
    assert more.settled_by
    assert more.effect.minutes_at_ceiling.high > more.effect.minutes_at_ceiling.low
    assert less.effect.ratio_at_ceiling.low == pytest.approx(1 / 3, abs=0.03)
    assert most.effect.minutes_at_ceiling.high >= 1


def test_growth_multiplies_demand_but_not_what_was_served():
    """Twice the demand is twice every path."""
    once, twice = recovered(pressed(200e6)), recovered(pressed(200e6), growth=2.0)

    assert np.array_equal(once.served_ops_per_s, twice.served_ops_per_s)
    assert np.allclose(2 * once.high.ops_per_s, twice.high.ops_per_s)


def test_demand_seen_while_credits_lasted_is_believed():
    """An hour at 160 MB/s before the bucket was empty says what the three hours at 100 MB/s wanted."""
    found = recovered(on_credits(160e6, burst_hours=1))

    assert found.is_free_seen
    assert found.summary.peak_bytes_per_s.middle == pytest.approx(160e6, rel=0.1)
    assert judge(found, fixed(250e6)).judgement == Judgement.LIFTS
    assert judge(found, fixed(125e6)).judgement == Judgement.DOES_NOT


@pytest.mark.parametrize(("size_kib", "is_joined"), [(32, True), (64, False)])
def test_more_requests_than_a_volume_counts_were_joined(size_kib: int, *, is_joined: bool):
    """A gp3 volume of 125 MiB/s and 3,000 operations served 4,000 requests of 32 KiB: it joined them."""
    rng = np.random.default_rng(5)
    day = builders.working_day(rng, 30e6, 300e6, spread=0.02)
    served = builders.held_at(day, 131.07e6, rng=rng, size_bytes=size_kib * 1024.0)
    volume = Instance(engine="postgres", storage=Storage(kind="gp3", size_gib=200))

    assert is_joined == recovered(builders.snapshot(served, instance=volume)).is_joined


def test_demand_that_nobody_saw_is_seldom_far_above_its_ceiling():
    """Half of the loads ask for less than 1.8 times the ceiling, nine in ten for less than 3.3 times."""
    drawn = growth_quantiles(Prior(), (np.arange(1000) + 0.5) / 1000)

    assert np.median(drawn) == pytest.approx(1.8, abs=0.01)
    assert np.quantile(drawn, 0.9) == pytest.approx(3.23, abs=0.05)
    assert 1 < drawn.min() < drawn.max() < 10


def test_a_load_that_stays_above_its_ceiling_all_day_lies_further_above_it():
    """Demand that swings would have dipped below: a long plateau moves the law up, and never beyond it."""
    u = middles(20)
    brief, long = (growth_quantiles(Prior(), u, length_s=h * 3600) for h in (0.0, 24.0))

    assert np.all(long >= brief)
    assert long[10] > 1.1 * brief[10]
    assert 1 == staying(Prior(), 0) > staying(Prior(), 3600) > staying(Prior(), 86400) > 0.4


def test_what_the_user_knows_goes_before_the_prior():
    """
    Half as much again suffices if the demand is known to lie little above the ceiling, and not if it
    takes whatever it is given.
    """
    snapshot = pressed(200e6)
    little = Prior(overload_median=1.05, overload_log_sd=0.1, job=0, greedy=0)
    greedy = Prior(lost=0, job=0, clients=0, greedy=1)

    usual, low, high = (
        judge(recovered(snapshot, prior=one), fixed(150e6)).probability for one in (Prior(), little, greedy)
    )
    assert high < usual < low
    assert (0, 1) == (high, low)


def test_without_rates_there_is_no_demand():
    """A window of CPU alone is refused with what to export."""
    snapshot = builders.snapshot({Metric.CPU_RATIO: np.full(60, 0.5)})

    with pytest.raises(DataError, match="storage was not measured") as caught:
        recovered(snapshot)
    assert "ReadIOPS" in caught.value.hint


@pytest.mark.parametrize("growth", [0.0, -1.0, float("nan"), float("inf")])
def test_growth_is_a_positive_number(growth: float):
    """Demand grows by a positive finite factor or is refused."""
    with pytest.raises(UsageError, match="demand cannot grow"):
        recovered(pressed(60e6), growth=growth)


@pytest.mark.parametrize(("slower", "is_endless"), [(2.0, False), (10.0, True)])
def test_a_greedy_load_ends_where_few_of_its_requests_are_in_flight(slower: float, *, is_endless: bool):
    """
    Requests that take twice as long as without a ceiling are at most twice as many: an open load may ask
    for that too. With ten times as many no size that most loads need ends it.
    """
    rng = np.random.default_rng(1)
    demand = builders.working_day(rng, 30e6, 200e6, spread=0.02)
    latency = np.where(demand > CEILING, slower, 1.0) * builders.wander(rng, demand.size, 0.05)
    served = np.minimum(demand, CEILING * (1 + rng.normal(0, 0.001, demand.size)))
    found = recovered(builders.snapshot(builders.storage(served, latency_s=0.0008 * latency)))
    greedy = [path for path in found.paths if path.is_greedy]

    assert greedy
    assert [is_endless] * len(greedy) == [path.is_endless for path in greedy]
