"""The search is exact: what it finds is what trying everything finds."""

from itertools import count

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from plimsoll.kernel import Stage, replay_candidates
from plimsoll.model.series import BoolArray, IntArray
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.search import HOLDS, search, search_all, throttled_steps
from plimsoll.plan.judge.vectors import LimitColumn, LimitVectors, without_idle
from plimsoll.plan.market.priced import UNKNOWN
from plimsoll.units import KIB

SLOTS = (
    LimitColumn("instance_ebs_throughput", "bytes", None),
    LimitColumn("instance_ebs_iops", "ops", None),
    LimitColumn("volume_throughput", "bytes", None),
    LimitColumn("volume_iops", "ops", 256 * KIB),
)
GRIDS = 200


def limits(rng: Generator, size: int) -> np.ndarray:
    """Limits of a few instances and a few volumes, put together at random; some are missing."""
    table = np.empty((size, len(SLOTS), 3))
    for place, slot in enumerate(SLOTS):
        scale = 60e6 if slot.counts == "bytes" else 2500.0
        baseline = scale * rng.choice([0.5, 0.8, 1.0, 1.5, 2.5, 4.0], size)
        burst = baseline * rng.choice([1.0, 1.0, 2.0, 4.0], size)
        capacity = (burst - baseline) * rng.choice([120.0, 600.0, 1800.0], size)
        table[:, place] = np.stack([baseline, burst, capacity], axis=1)
        table[rng.random(size) < 0.15, place] = (np.inf, np.inf, 0.0)
    return table


def demand(rng: Generator) -> StepDemand:
    """A noisy demand with jobs in it; in some grids with gaps, in some with sizes that vary."""
    steps = int(rng.integers(30, 150))
    ops = rng.gamma(3.0, 400.0, steps) * np.where(rng.random(steps) < 0.3, rng.uniform(0, 3), 1.0)
    ops[rng.random(steps) < 0.1] = 0.0
    has_gaps = rng.random() < 0.5
    # The fast replay mixes requests of different sizes that wait, the exact one does not: where gaps
    # make the search ask the exact one, and the truth below too, sizes are equal.
    varies = not has_gaps and rng.random() < 0.6
    size = rng.uniform(8, 60, steps if varies else 1) * KIB * np.ones(steps)
    size = np.where(rng.random(steps) < 0.05 * varies, 300.0 * KIB, size)
    return StepDemand(
        ops_per_s=ops,
        io_size_bytes=size,
        step_s=float(rng.choice([60.0, 300.0])),
        is_carried=bool(rng.random() < 0.5),
        is_measured=rng.random(steps) > (0.15 if has_gaps else -1.0),
    )


def clip(table: np.ndarray, asked: StepDemand) -> np.ndarray:
    return without_idle(table, SLOTS, io_size_bytes_max=float(asked.io_size_bytes.max()))


def chain(row: np.ndarray) -> tuple[Stage, ...]:
    return tuple(slot.stage(*numbers) for slot, numbers in zip(SLOTS, row.tolist(), strict=True))


def truth(asked: StepDemand, row: np.ndarray, allowed: int) -> bool:
    """Whether a demand passes, by one replay to the end."""
    if not asked.is_measured.all():
        return int((throttled_steps(asked, chain(row)) & asked.is_measured).sum()) <= allowed
    done = replay_candidates(
        asked.ops_per_s, asked.io_size_bytes, step_s=asked.step_s, chains=[chain(row)], carry=asked.is_carried
    )
    return int(done.throttled_steps[0]) <= allowed


def cheapest(more: IntArray, holds: BoolArray, of: IntArray, keep: int) -> tuple[int, ...]:
    """The cheapest of those that hold, one per vector, by looking at all of them."""
    chosen: list[int] = []
    for index in sorted(range(more.size), key=lambda place: (more[place], place)):
        seen = {int(of[one]) for one in chosen}
        if more[index] != UNKNOWN and holds[index] and int(of[index]) not in seen:
            chosen.append(index)
    return tuple(chosen[:keep])


def test_the_search_finds_what_trying_everything_finds():
    """On 200 random grids the search returns the optima of brute force, overall and role by role."""
    found_any, settled_early, replayed = 0, 0, 0
    for seed in range(GRIDS):
        rng = default_rng(seed)
        table = limits(rng, int(rng.integers(2, 24)))
        arrangements = int(rng.integers(len(table), 60))
        of = rng.integers(0, len(table), arrangements).astype(np.int64)
        more = rng.integers(-5, 15, arrangements).astype(np.int64)
        more[rng.random(arrangements) < 0.1] = UNKNOWN
        roles = {
            "all": np.ones(arrangements, dtype=np.bool_),
            "some": rng.random(arrangements) < 0.4,
            "few": rng.random(arrangements) < 0.1,
        }
        asked, allowed_ratio = demand(rng), float(rng.choice([0.0, 0.01, 0.05, 0.2]))
        allowed = asked.allowed_steps(allowed_ratio)
        holds = np.array([truth(asked, row, allowed) for row in table])

        vectors = LimitVectors(slots=SLOTS, limits=clip(table, asked), of=of)
        found = search(vectors, more, roles, asked, allowed_ratio=allowed_ratio, keep=3)

        expected = {name: cheapest(np.where(is_in, more, UNKNOWN), holds[of], of, 3) for name, is_in in roles.items()}
        assert expected == found.roles, f"seed {seed}"
        everything = search_all(vectors, asked, allowed_ratio=allowed_ratio)
        assert holds.tolist() == (everything == HOLDS).tolist(), f"seed {seed}"
        found_any += bool(found.roles["all"])
        settled_early += int(found.settled[0])
        replayed += int(found.settled[1])

    # The grids are neither all easy nor all hopeless, and both comparisons and replays were needed.
    assert 0.3 * GRIDS < found_any < GRIDS
    assert settled_early > GRIDS
    assert replayed > GRIDS


@pytest.mark.parametrize("carry", [True, False])
def test_dropping_idle_limits_changes_no_replay(carry: bool):
    """A limit that cannot bind before another one is dropped, and nobody waits longer or shorter for it."""
    dropped = 0
    for seed in range(60):
        rng = default_rng([seed, 7])
        table, asked = limits(rng, 40), demand(rng)
        clipped = clip(table, asked)
        dropped += int(np.isinf(clipped[..., 0]).sum() - np.isinf(table[..., 0]).sum())

        before, after = (
            replay_candidates(
                asked.ops_per_s,
                asked.io_size_bytes,
                step_s=asked.step_s,
                chains=[chain(row) for row in rows],
                carry=carry,
            )
            for rows in (table, clipped)
        )

        assert before.throttled_steps.tolist() == after.throttled_steps.tolist()
        assert np.allclose(before.served_bytes, after.served_bytes, rtol=1e-9)

    assert dropped > 1000


def test_a_search_stops_where_nothing_dearer_matters():
    """Once enough hold, limits that only dearer arrangements have are not replayed."""
    rng = default_rng(3)
    steps, size = 300, 2000
    table = limits(rng, size)
    table[:, 0] = np.stack([np.linspace(30e6, 60e6, size)] * 2 + [np.zeros(size)], axis=1)
    table[:, 1:] = (np.inf, np.inf, 0.0)
    # A demand that some steps alone hold up, so that no comparison settles anything above 60 MB/s.
    ops = np.where(np.arange(steps) % 50 == 0, 6000.0, 400.0)
    asked = StepDemand(
        ops_per_s=ops,
        io_size_bytes=np.full(steps, 10e3),
        step_s=60.0,
        is_carried=True,
        is_measured=np.ones(steps, dtype=np.bool_),
    )
    vectors = LimitVectors(slots=SLOTS, limits=table, of=np.arange(size))
    prices = np.array([price for price, _ in zip(count(1), range(size), strict=False)])

    found = search(vectors, prices, {"all": prices > 0}, asked, allowed_ratio=0.05)

    assert found.roles["all"] == (0, 1, 2)
    assert found.settled[1] <= 128
