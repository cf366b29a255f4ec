"""Levels that are ceilings: judged, filled out, and freed of each other's shadows."""

from dataclasses import replace

import numpy as np
import pytest

import builders
from builders import BALANCES, HOUR, ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.binding import Match
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.diagnosis.recognition.overlap import is_shadow as is_shadow_of
from plimsoll.diagnosis.recognition.overlap import likeliest_first
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.search import plateaus_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot

BYTES, OPS, VOLUME = BALANCES
EBS = Family.INSTANCE_EBS_THROUGHPUT
IOPS = Family.INSTANCE_EBS_IOPS
FIXED = ceiling(EBS, Phase.FIXED, 100e6)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def of(snapshot: Snapshot, *ceilings: Ceiling) -> list[Plateau]:
    frame = frame_of(snapshot)
    return plateaus_of(frame, congestion_of(frame, load_of(frame)), ceilings)


def pressed(level: float, **how) -> dict:
    demand = builders.working_day(rng(), 0.3 * level, 2 * level)
    size = 16_384 * builders.wander(rng(), demand.size, 0.05)
    return builders.held_at(demand, level, **({"rng": rng(), "size_bytes": size} | how))


def test_the_catalog_names_what_is_found():
    """The same plateau is a documented limit where its number is documented."""
    (plateau,) = of(builders.snapshot(pressed(100e6)), FIXED, ceiling(EBS, Phase.BURST, 300e6))

    assert FIXED == plateau.best.ceiling
    assert plateau.documented > 0.9
    assert plateau.family_probability > 0.9


def test_family_probability_sums_over_the_family():
    """Where baseline and legacy baseline of a family are close, the family is surer than either."""
    rows = (ceiling(EBS, Phase.BASELINE, 100e6), ceiling(EBS, Phase.LEGACY, 100.5e6, legacy=Phase.BASELINE))
    (plateau,) = of(builders.snapshot(pressed(100e6)), *rows)

    assert plateau.family_probability > plateau.best.probability + 0.2


def test_of_two_dimensions_at_documented_numbers_the_flatter_is_the_law():
    """When bytes and operations both stand at documented numbers, the one that varies less is held."""
    size = 16_384 * builders.wander(rng(), 12 * HOUR, 0.006)
    rows = (ceiling(EBS, Phase.FIXED, 6000 * 16_384), ceiling(IOPS, Phase.FIXED, 6000))
    by_ops = of(builders.snapshot(pressed(6000, dimension=Dimension.IOPS, size_bytes=size, jitter=0.0005)), *rows)
    by_bytes = of(builders.snapshot(pressed(6000 * 16_384, size_bytes=size, jitter=0.0005)), *rows)

    assert [IOPS] == [p.best.ceiling.family for p in by_ops if p.best.ceiling]
    assert [EBS] == [p.best.ceiling.family for p in by_bytes if p.best.ceiling]


@pytest.mark.parametrize("dimension", list(Dimension)[:2])
def test_with_a_constant_io_size_a_plateau_is_counted_once(dimension):
    """Both rates stand still when one is held; throughput is the limit that nobody charts."""
    level = 100e6 if dimension == Dimension.THROUGHPUT else 6000.0
    (plateau,) = of(builders.snapshot(pressed(level, dimension=dimension, size_bytes=16_384)))

    assert Dimension.THROUGHPUT == plateau.dimension


def test_partly_pegged_minutes_are_not_a_second_level():
    """Demand that dips a little below the ceiling again and again piles up nowhere else."""
    demand = builders.working_day(rng(), 30e6, 115e6, spread=0.1)
    size = 16_384 * builders.wander(rng(), demand.size, 0.05)
    plateaus = of(builders.snapshot(builders.held_at(demand, 100e6, rng=rng(), size_bytes=size)))

    assert 1 == len(plateaus)
    np.testing.assert_allclose(plateaus[0].level, 100e6, rtol=0.003)


def test_an_empty_balance_takes_the_place_of_waiting():
    """A producer that slows down with its storage waits little, but an empty balance tells."""
    row = ceiling(EBS, Phase.BASELINE, 100e6, balance=BYTES)
    values = pressed(100e6, waiting=0.8)
    busy = (np.arange(12 * HOUR) >= 4 * HOUR) & (np.arange(12 * HOUR) < 8 * HOUR)
    emptied = {BYTES: np.where(busy, 0.0, 1.0)}

    assert [] == of(builders.snapshot(values), row)
    (plateau,) = of(builders.snapshot(values, emptied), row)
    assert row == plateau.best.ceiling
    assert plateau.balances[BYTES].is_empty


def test_without_waiting_measured_a_documented_number_carries_the_claim():
    """With rates alone a plateau is named where its number is documented, and nowhere else."""
    values = pressed(100e6)
    rates = builders.snapshot({metric: values[metric] for metric in builders.RATES})
    (plateau,) = of(rates, FIXED)

    assert FIXED == plateau.best.ceiling
    assert [] == of(rates, ceiling(EBS, Phase.FIXED, 300e6))


def test_error_bars_are_no_narrower_than_enforcement():
    """A level of ten thousand equal samples is still known only as well as limits are enforced."""
    few, many = (of(builders.snapshot(pressed(100e6, jitter=jitter)))[0].level_log_se for jitter in (0.0001, 0.004))

    assert 0.0015 <= few < many < 0.01


def test_only_a_balance_of_its_own_refutes_a_baseline():
    """
    A full IOPS balance says nothing against a throughput baseline; with its own balance full the level
    is still a plateau, but not that baseline.
    """
    row = ceiling(EBS, Phase.BASELINE, 100e6, balance=BYTES)
    full = {OPS: np.ones(12 * HOUR), VOLUME: np.ones(12 * HOUR)}
    (plateau,) = of(builders.snapshot(pressed(100e6), full), row)
    (refuted,) = of(builders.snapshot(pressed(100e6), {BYTES: np.ones(12 * HOUR)}), row)

    assert row == plateau.best.ceiling
    assert {OPS, VOLUME} == set(plateau.balances)
    assert refuted.best.ceiling is None
    assert Metric.BYTE_BALANCE_RATIO in refuted.balances


def test_minutes_under_light_pressure_belong_to_a_documented_number():
    """At a documented number, minutes that stood at it and waited a little are filled in."""
    values = pressed(100e6)
    lightly = slice(8 * HOUR, 9 * HOUR)
    for metric in builders.RATES:
        values[metric][lightly] = values[metric][7 * HOUR : 8 * HOUR]
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][lightly] *= 1.12
    ops = values[Metric.READ_OPS_PER_S] + values[Metric.WRITE_OPS_PER_S]
    values[Metric.QUEUE_DEPTH][lightly] = (ops * 0.0008 * 1.12)[lightly]
    (plateau,) = of(builders.snapshot(values), FIXED)

    assert [[4 * HOUR, 9 * HOUR]] == plateau.runs.tolist()


def test_related_samples_widen_the_error():
    """An hour of samples that drift together knows the level less well than one of independent ones."""
    errors = []
    for memory in (0.0, 0.95):
        values = pressed(100e6, jitter=0.0)
        drift = builders.wander(rng(), 12 * HOUR, 0.006, memory=memory)
        for metric in builders.RATES:
            values[metric] = values[metric] * drift
        errors.append(of(builders.snapshot(values))[0].level_log_se)

    assert errors[1] > 1.15 * errors[0]


@pytest.fixture
def one() -> Plateau:
    """A plateau of throughput at 100 MB/s from minute 240 to 480, score 6, an unknown limit."""
    (found,) = of(builders.snapshot(pressed(100e6)))
    return with_case(found, score=6.0, signs=replace(found.signs, log_sd=0.002))


@pytest.mark.parametrize(("score", "probability"), [(-2, 0.119), (0, 0.5), (2, 0.881), (99, 1.0)])
def test_the_score_is_a_logarithm_of_odds(one, score, probability):
    """Even odds at zero, two nats are seven to one."""
    np.testing.assert_allclose(replace(one, score=score).probability, probability, atol=0.001)


def with_case(plateau: Plateau, **changes) -> Plateau:
    """The plateau with other values, some of which are of its case."""
    mine = {k: v for k, v in changes.items() if k in {"score", "runs"}}
    theirs = {k: v for k, v in changes.items() if k not in mine}
    return replace(plateau, case=replace(plateau.case, **theirs), **mine)


def in_ops(plateau: Plateau, *, score: float, log_sd: float, runs=None) -> Plateau:
    return with_case(
        plateau,
        dimension=Dimension.IOPS,
        level=6000.0,
        score=score,
        signs=replace(plateau.signs, log_sd=log_sd),
        runs=plateau.runs if runs is None else np.array(runs),
    )


def documented(plateau: Plateau) -> Plateau:
    row = ceiling(EBS if plateau.dimension == Dimension.THROUGHPUT else IOPS, Phase.FIXED, 1.0)
    return with_case(plateau, matches=(Match(ceiling=row, probability=1.0, z=0.0),))


@pytest.mark.parametrize(
    ("other", "wins"),
    [
        ({"score": 5.5, "log_sd": 0.001}, True),  # half as noisy, nearly as probable
        ({"score": 5.5, "log_sd": 0.0019}, False),  # hardly flatter
        ({"score": 3.0, "log_sd": 0.001}, False),  # much less probable
        ({"score": 5.5, "log_sd": 0.001, "runs": [[400, 700]]}, False),  # mostly at another time
    ],
)
def test_the_flatter_of_two_at_once_comes_first(one, other, wins):
    """Of a throughput and an IOPS level at the same time the flatter is the law, the other follows it."""
    first, _ = likeliest_first([one, in_ops(one, **other)])

    assert wins == (first.dimension == Dimension.IOPS)


def test_a_number_weighs_more_than_flatness(one):
    """A documented level is not displaced by a flatter one at no number; two documented ones compare."""
    flatter = in_ops(one, score=4.0, log_sd=0.001)

    assert Dimension.THROUGHPUT == likeliest_first([documented(one), flatter])[0].dimension
    assert Dimension.IOPS == likeliest_first([documented(one), documented(flatter)])[0].dimension


@pytest.mark.parametrize(
    ("level", "score", "is_shadow"), [(98e6, 4.0, True), (98e6, 5.5, False), (90e6, 4.0, False), (102e6, 4.0, True)]
)
def test_a_weaker_level_next_to_a_stronger_one_is_its_shadow(one, level, score, is_shadow):
    """Partly pegged minutes pile up within a few percent of the level; further away is another level."""
    free = np.zeros(12 * HOUR, dtype=bool)
    start, end = int(one.runs[0, 0]), int(one.runs[-1, 1])
    edges = np.array([[start - 3, start], [end, end + 3]])
    beside = with_case(one, level=level, score=score, runs=edges)

    assert is_shadow == is_shadow_of(beside, [one], free)


@pytest.mark.parametrize(("level", "is_shadow"), [(98e6, False), (99e6, True)])
def test_a_level_at_another_time_is_no_shadow_unless_it_is_the_same(one, level, is_shadow):
    """Held for an hour apart from a level 2 % above, it is another limit; within the spread, the same one."""
    free = np.zeros(12 * HOUR, dtype=bool)
    later = int(one.runs[-1, 1]) + 20
    apart = with_case(one, level=level, score=4.0, runs=np.array([[later, later + 60]]))

    assert is_shadow == is_shadow_of(apart, [one], free)


@pytest.mark.parametrize(("share", "is_shadow"), [(0.2, False), (0.4, True)])
def test_a_level_over_samples_already_used_is_a_shadow(one, share, is_shadow):
    """What lies by a third or more in another plateau is that plateau seen again, unless documented."""
    taken = np.zeros(12 * HOUR, dtype=bool)
    taken[4 * HOUR : int((4 + 4 * share) * HOUR)] = True
    again = in_ops(one, score=3.0, log_sd=0.001)

    assert is_shadow == is_shadow_of(again, [], taken)
    assert not is_shadow_of(documented(again), [], taken)


def test_a_loosely_kept_baseline_is_found_in_a_dozen_samples():
    """Twelve samples within 1.5 % of a documented baseline, its balance at zero, requests waiting."""
    limit = 86.875e6
    strays = np.array([-5, 0, 14, -11, -1, 6, -4, -1, 10, -10, -3, 13]) / 1000
    burst = np.array([3.47e8, 3.48e8, 2.06e8])
    rate = np.concatenate((burst, limit * (1 + strays)))
    mine = builders.storage(rate, size_bytes=43_000, read_share=1.0, latency_s=0.0265)
    mine[Metric.READ_LATENCY_S][:3] = [0.0062, 0.0062, 0.0104]
    mine[BYTES] = np.concatenate(([0.05, 0.01], np.zeros(13)))

    (plateau,) = of(builders.snapshot(mine), ceiling(EBS, Phase.BASELINE, limit, balance=BYTES))

    assert limit == plateau.best.ceiling.value
    assert [[3, 15]] == plateau.runs.tolist()
    assert plateau.probability > 0.9


def visits(*minutes: int, level: float = 100e6, waiting: float = 10.0) -> Snapshot:
    """A calm day with visits of so many minutes to one level, half an hour apart."""
    random = rng()
    rate = 30e6 * builders.wander(random, 12 * HOUR, 0.2)
    latency = 0.0008 * builders.wander(random, rate.size, 0.05)
    for index, length in enumerate(minutes):
        start = HOUR + 30 * index
        rate[start : start + length] = level * builders.wander(random, length, 0.001)
        latency[start : start + length] *= waiting
    size = 16_384 * builders.wander(random, rate.size, 0.05)
    return builders.snapshot(builders.storage(rate, size_bytes=size, latency_s=latency))


def test_short_visits_to_a_confirmed_level_count_if_requests_wait():
    """
    Once twenty minutes show that a level is a ceiling, three minutes of waiting at it are too; without
    waiting they are not.
    """
    (plateau,) = of(visits(20, 3, 2, 5))
    calm = visits(20, 3)
    calm.series[Metric.READ_LATENCY_S].value[90:93] /= 10
    calm.series[Metric.WRITE_LATENCY_S].value[90:93] /= 10
    calm.series[Metric.QUEUE_DEPTH].value[90:93] /= 10
    (eased,) = of(calm)

    assert [[60, 80], [90, 93], [150, 155]] == plateau.runs.tolist()
    assert [[60, 80]] == eased.runs.tolist()


def test_hovering_at_a_documented_number_is_found():
    """Visits of four minutes, again and again, are stretches at a documented limit; elsewhere not."""
    (plateau,) = of(visits(4, 4, 4, 4), FIXED)

    assert FIXED == plateau.best.ceiling
    assert [[60, 64], [90, 94], [120, 124], [150, 154]] == plateau.runs.tolist()
    assert [] == of(visits(4, 4, 4, 4))
