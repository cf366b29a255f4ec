"""Pools are compared with max_connections and the machine; fits are compared with known curves."""

import math

import numpy as np
import pytest

from plimsoll.model.pool_size import Basis, LoadPoint, PoolVerdict, ServerCapacity, Service
from plimsoll.pools.concurrency import erlang_sessions, fit_curve, mean_duration_s, median_points, throughput
from plimsoll.pools.pool_size import size_pools

LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)
TWELVE = tuple(Service(name=f"s{n}", containers=4, pool=20) for n in range(12))


def law(busy: float, contention: float, coherence: float) -> float:
    return 1000 * busy / (1 + contention * (busy - 1) + coherence * busy * (busy - 1))


def truth_n95(contention: float, coherence: float) -> int:
    rates = [law(n, contention, coherence) for n in range(1, 20_000)]
    most = max(rates)
    return next(n for n, rate in enumerate(rates, 1) if rate >= 0.95 * most)


def simulated(contention: float, coherence: float, most: int, seed: int) -> list[LoadPoint]:
    """Return three noisy measurements at each level up to `most`, from a fixed seed."""
    rng = np.random.default_rng(seed)
    return [
        LoadPoint(busy=n, per_s=law(n, contention, coherence) * math.exp(rng.normal(0, 0.03)))
        for n in LEVELS
        if n <= most
        for _ in range(3)
    ]


def test_points_without_sessions_or_transactions_are_ignored():
    """The median counts for each number of active sessions; idle and stuck servers give no point."""
    points = [(2, 10.0), (2, 12.0), (2, 90.0), (0, 5.0), (3, 0.0)]
    found = median_points([LoadPoint(busy=busy, per_s=per_s) for busy, per_s in points])

    assert found == (LoadPoint(busy=2.0, per_s=12.0),)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("contention", "coherence"), [(0.02, 1e-4), (0.1, 1e-3), (0.05, 5e-4), (0.3, 1e-3)])
def test_a_curve_measured_beyond_its_knee_is_found(contention: float, coherence: float, seed: int):
    """If the knee was measured, N95 gives at least 90 % of the true maximum, and is not extrapolated."""
    curve = fit_curve(simulated(contention, coherence, 128, seed))
    assert curve is not None
    most = max(law(n, contention, coherence) for n in range(1, 2000))

    assert not curve.is_extrapolated
    assert law(curve.n95, contention, coherence) >= 0.9 * most
    assert curve.n95 == pytest.approx(truth_n95(contention, coherence), rel=0.35)


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_measured_in_part_is_extrapolated(seed: int):
    """Eight sessions of 63 were measured: the answer is extrapolated."""
    curve = fit_curve(simulated(0.02, 1e-4, 8, seed))
    assert curve is not None

    assert curve.is_extrapolated


def test_one_bad_measurement_does_not_bend_the_curve():
    """Medians by level and the soft L1 cost keep the effect of one disturbed run small."""
    points = simulated(0.1, 1e-3, 128, 1)
    disturbed = [*points, LoadPoint(busy=16, per_s=200.0)]
    clean, bent = fit_curve(points), fit_curve(disturbed)
    assert clean is not None
    assert bent is not None

    assert abs(bent.n95 - clean.n95) <= 3


@pytest.mark.parametrize(
    "points",
    [
        [],
        [LoadPoint(busy=8, per_s=100.0)] * 9,
        [LoadPoint(busy=n, per_s=100.0 * n) for n in (1, 2)],
        [LoadPoint(busy=n, per_s=100.0) for n in (10, 11, 12)],
        [LoadPoint(busy=0, per_s=1.0), LoadPoint(busy=4, per_s=0.0)],
    ],
    ids=["none", "one level", "two levels", "too near", "nothing done"],
)
def test_too_little_gives_no_curve(points: list[LoadPoint]):
    """A curve needs at least three numbers of sessions, the largest twice the smallest."""
    assert fit_curve(points) is None


def test_a_curve_that_never_falls_has_a_bound():
    """Throughput that never falls still gives a finite answer, which is extrapolated."""
    curve = fit_curve([LoadPoint(busy=n, per_s=100.0 * n) for n in LEVELS])
    assert curve is not None

    assert curve.is_extrapolated
    assert throughput(curve, 128) == pytest.approx(12_800, rel=0.1)


def test_the_published_cluster_needs_555_sessions():
    """4,500 to 5,000 queries per second at 100 ms are 450 to 500 active sessions; Erlang's formula gives 555."""
    assert erlang_sessions(5_000 * 0.1) == 555
    assert mean_duration_s(500, 5_000) == pytest.approx(0.1)


@pytest.mark.parametrize("busy", [0.5, 3.0, 20.0])
def test_erlangs_formula_agrees_with_its_definition(busy: float):
    """By the textbook's sum, at most 1 % wait with this number of sessions, and more with one fewer."""

    def waits(count: int) -> float:
        if count <= busy:
            return 1.0
        top = busy**count / math.factorial(count) * count / (count - busy)
        return top / (sum(busy**k / math.factorial(k) for k in range(count)) + top)

    count = erlang_sessions(busy)

    assert waits(count) <= 0.01 < waits(count - 1)


def test_twelve_services_of_four_containers_make_960():
    """960 connections exceed 497; 8 vCPUs run 16 sessions; one connection per container makes 48."""
    sizing = size_pools(TWELVE, ServerCapacity(connection_max=500, vcpu_count=8))

    assert sizing.connections == 960
    assert sizing.verdict is PoolVerdict.EXCEEDS_CONNECTIONS
    assert (sizing.runs, sizing.basis, sizing.target) == (16, Basis.RULE, 16)
    assert {item.pool for item in sizing.recommended} == {1}
    assert sizing.needs_pooler
    assert any("rule of thumb" in note for note in sizing.notes)


def test_the_server_bounds_where_the_machine_is_larger():
    """Nine tenths of 997 are 897; divided among 48 containers they are 18 each."""
    sizing = size_pools(TWELVE, ServerCapacity(connection_max=1000, vcpu_count=1000))

    assert sizing.verdict is PoolVerdict.FITS
    assert sizing.target == 897
    assert {item.pool for item in sizing.recommended} == {18}
    assert not sizing.needs_pooler


def test_services_share_in_proportion_to_their_pools():
    """100 are divided into 80 and 20, so 20 and 10 per container; no pool grows."""
    services = (Service(name="orders", containers=4, pool=40), Service(name="search", containers=2, pool=20))
    sizing = size_pools(services, ServerCapacity(vcpu_count=50))
    large = size_pools(services, ServerCapacity(vcpu_count=500))

    assert [item.pool for item in sizing.recommended] == [20, 10]
    assert sizing.recommended[0].arithmetic == ("100 × 160 / 200 = 80 for the service; 80 / 4 containers = 20")
    assert [item.pool for item in large.recommended] == [40, 20]


def shaped(containers: int) -> tuple[Service, ...]:
    """One service with so many containers."""
    return (Service(name="orders", containers=containers, pool=50),)


@pytest.mark.parametrize(
    ("containers", "vcpus", "pool", "word"),
    [
        # 6 / 4 = 1.5, and 8 connections are nearer to 6 than 4 are.
        (4, 3, 2, "rounded up"),
        # 30 / 28 = 1.07: 28 are nearer than 56.
        (28, 15, 1, "rounded down"),
        # 10 / 4 = 2.5: 8 and 12, of which 12 is nearer by ratio.
        (4, 5, 3, "rounded up"),
    ],
)
def test_pools_are_whole_numbers_near_their_part(containers: int, vcpus: int, pool: int, word: str):
    """Two sessions per vCPU are divided among the containers; the report says how it was rounded."""
    (found,) = size_pools(shaped(containers), ServerCapacity(vcpu_count=vcpus)).recommended

    assert pool == found.pool
    assert found.arithmetic.endswith(word)


def test_rounding_gives_up_a_tenth_of_the_throughput_at_most():
    """Rounded down, four containers would have four of the seven sessions that are needed."""
    curve = fit_curve([LoadPoint(busy=n, per_s=100.0 * min(n, 7)) for n in (1, 2, 4, 7, 8, 16, 32)])
    assert curve is not None
    best = curve.most_per_s
    for containers in (1, 2, 3, 4, 5, 6, 8, 12):
        sizing = size_pools(shaped(containers), ServerCapacity(curve=curve))
        total = sum(one.pool * containers for one in sizing.recommended)

        assert throughput(curve, total) >= 0.9 * best, (containers, total, curve.n95)


def test_rounding_up_stays_within_the_server():
    """Nine tenths of 10 are 9: four containers get 2 each, although 3 would be nearer to the curve."""
    room = ServerCapacity(connection_max=10, reserved=0, vcpu_count=100)
    (found,) = size_pools(shaped(4), room).recommended

    assert 2 == found.pool


@pytest.mark.parametrize(("ratio", "target"), [(2.5, 20), (None, 8), (1.0, 8), (0.5, 8)])
def test_a_connection_is_taken_while_a_transaction_is_idle_too(ratio: float | None, target: int):
    """
    8 sessions at work need 20 connections if a transaction runs a statement for two fifths of its time. A ratio below
    one cannot be, and changes nothing.
    """
    sizing = size_pools(shaped(1), ServerCapacity(vcpu_count=4, taken_ratio=ratio))
    words = f"so 8 sessions at work need {target} connections"

    assert (8, target, target) == (sizing.runs, sizing.target, sizing.recommended[0].pool)
    assert (target > 8) == any(words in note for note in sizing.notes) == any("held" in note for note in sizing.notes)


def test_a_measured_curve_comes_before_the_rule_of_thumb():
    """A measured curve comes first; the basis says if it is extrapolated or measured at a ceiling."""
    whole = fit_curve(simulated(0.1, 1e-3, 128, 1))
    part = fit_curve(simulated(0.02, 1e-4, 8, 1))
    at_ceiling_curve = fit_curve(simulated(0.1, 1e-3, 128, 1), at_ceiling=True)
    answers = [
        size_pools(TWELVE, ServerCapacity(curve=curve, vcpu_count=2, connection_max=1000))
        for curve in (whole, part, at_ceiling_curve)
    ]

    assert whole is not None
    assert answers[0].runs == whole.n95
    assert [a.basis for a in answers] == [Basis.MEASURED, Basis.EXTRAPOLATED, Basis.CEILING]
    assert "extrapolated" in " ".join(answers[1].notes)
    assert "the curve shows the storage limit" in " ".join(answers[2].notes)
    assert answers[0].verdict is PoolVerdict.EXCEEDS_MACHINE


def test_nothing_known_gives_no_number():
    """Without server and machine the answer has the total and what is missing."""
    sizing = size_pools(TWELVE, ServerCapacity())

    assert (sizing.verdict, sizing.target, sizing.recommended) == (PoolVerdict.UNKNOWN, None, ())
    assert len(sizing.notes) == 2


def test_an_almost_idle_server_does_not_size_pools():
    """Little's law needs active sessions; for an almost idle server the note says so instead."""
    quiet, busy = (
        " ".join(size_pools(TWELVE, ServerCapacity(vcpu_count=8, busy=n, per_s=100.0)).notes) for n in (0.04, 0.2)
    )

    assert "only 0.04 sessions were active on average, too few to size pools" in quiet
    assert "Little" not in quiet
    assert "0.2 active sessions / 100 transactions per s = 2 ms each" in busy
