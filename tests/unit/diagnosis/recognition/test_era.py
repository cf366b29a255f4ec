"""Limits that were changed in the window without a word in its description."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.era import era_of
from plimsoll.diagnosis.recognition.level import Level
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Dimension
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import KIB

OLD, NEW = 156.25e6, 212.5e6
R4_2XLARGE = Instance(
    identifier="orders",
    db_class="db.r4.2xlarge",
    engine="postgres",
    storage=Storage(kind="io1", size_gib=2500.0, provisioned_ops_per_s=30_000.0),
)


def demand(*hours_and_rates: tuple[float, float]) -> np.ndarray:
    """Bytes/s by the minute, log-normal around each rate in turn."""
    rng = np.random.default_rng(7)
    rate = np.concatenate([np.full(round(h * HOUR), r) for h, r in hours_and_rates])
    return rate * builders.wander(rng, rate.size, 0.08, memory=0.5)


def levels_of(wanted: np.ndarray, limit: np.ndarray, *, waiting: float = 4.0) -> dict[int, float]:
    """Hours at each level found, MB/s, of a demand behind a limit that is not always the same."""
    rng = np.random.default_rng(8)
    values = builders.held_at(wanted, limit, rng=rng, size_bytes=64 * KIB, waiting=waiting)
    found: dict[int, float] = {}
    for i in diagnose(builders.snapshot(values, instance=R4_2XLARGE), catalog()).intervals:
        level = round(i.level / 1e6)
        found[level] = found.get(level, 0.0) + (i.end_s - i.start_s) / 3600
    return found


def changed_at(hour: float, size: int) -> np.ndarray:
    return np.where(np.arange(size) < hour * HOUR, OLD, NEW)


def test_a_limit_that_applied_until_it_was_raised_is_found():
    """Three times 156 MB/s for two hours; then the class is changed, and 180 to 212 MB/s are served."""
    wanted = demand((2, 40e6), (2, 230e6), (3, 40e6), (2, 230e6), (3, 40e6), (2, 230e6), (8, 185e6))
    found = levels_of(wanted, changed_at(14, wanted.size))

    assert 5 < found[156] < 7


@pytest.mark.parametrize(("hours", "old"), [(10, 156), (8, 205)])
def test_one_limit_may_follow_at_once_on_another(hours: int, old: int):
    """
    Hours at 156 MB/s, or at 205 just below, then ten or more at the 212.5 MB/s of the class that is described;
    requests take 20 ms all the time, which no SSD volume does unpressed.
    """
    wanted = demand((20, 400e6))
    before = OLD if old == 156 else 205e6
    found = levels_of(wanted, np.where(np.arange(wanted.size) < hours * HOUR, before, NEW), waiting=25.0)

    assert {old, 212} == found.keys()
    assert hours - 0.5 < found[old] < hours + 0.1


def era_at(runs, rate, size_bytes=64 * KIB, **shown) -> np.ndarray:
    frame = frame_of(builders.snapshot(builders.storage(rate, size_bytes=size_bytes)))
    assert frame is not None
    inside = np.zeros(rate.size, dtype=bool)
    for a, b in runs:
        inside[a:b] = True
    level = Level(value=OLD, log_sd=0.001, band_log=0.008, runs=np.array(runs))
    ceilings = ceilings_of(R4_2XLARGE, catalog())
    return era_of(level, rate, inside, frame, ceilings, Dimension.THROUGHPUT, **shown)


def rates(*pieces: float) -> np.ndarray:
    return np.repeat(np.asarray(pieces) * 1e6, HOUR)


def kib(*pieces: float) -> np.ndarray:
    return np.repeat(np.asarray(pieces) * KIB, HOUR)


CLIMB = rates(40, 156.25, 40, 180, 180)
GROWN = rates(156.25, 40, 40, 156.25, 180)
RAISED = rates(156.25, 156.25, 156.25, 170, 170)
BETWEEN = rates(190, 156.25, 156.25, 156.25, 180, 180)
WAITS = np.repeat(np.log([1, 8, 8, 8, 1, 1]), HOUR)
HELD = {"elasticity": 0.005, "excess": WAITS}


@pytest.mark.parametrize(
    ("runs", "rate", "shown", "hours"),
    [
        # What was served before the limit was lowered says nothing of the time since.
        ([(4, 5), (7, 8)], rates(190, 180, 40, 40, 156.25, 40, 40, 156.25), {}, "..xxxxxx"),
        # More is served before, between and after its stretches: all of the window counts against it.
        ([(1, 2), (4, 5)], rates(180, 156.25, 40, 40, 156.25, 180), {}, "xxxxxx"),
        # Whatever climbs stands somewhere first: one visit, then 180 MB/s, is no legacy limit.
        ([(1, 2)], CLIMB, {}, "xxxxx"),
        # Unless requests took longer there than a little below it.
        ([(1, 2)], CLIMB, {"has_step": True}, "xxx.."),
        # Requests of 64 KiB get 156 MB/s; those of 256 KiB get 180 MB/s later: the work was changed.
        ([(0, 1), (3, 4)], GROWN, {"size_bytes": kib(64, 64, 64, 64, 256)}, "xxxxx"),
        ([(0, 1), (3, 4)], GROWN, {}, "xxxx."),
        # 190 MB/s until the credits run out, then 156 MB/s; later the same work gets 180 MB/s for hours.
        ([(1, 3)], rates(190, 156.25, 156.25, 40, 180, 180), {"has_step": True}, "xxxx.."),
        # Three hours at 156 MB/s while waiting varied and the rate did not; then 170 MB/s, at no number.
        ([(0, 3)], RAISED, {}, "xxxxx"),
        ([(0, 3)], RAISED, {"elasticity": 0.05}, "xxx.."),
        ([(1, 3)], rates(40, 156.25, 156.25, 170, 170), {"elasticity": 0.05}, "xxxxx"),
        # 190 MB/s on credits, three hours at 156 MB/s while waiting varied and the rate did not, then 180 MB/s.
        ([(1, 4)], BETWEEN, HELD, ".xxx.."),
        ([(1, 4)], BETWEEN, HELD | {"elasticity": 0.05}, "xxxxxx"),
        ([(1, 4)], BETWEEN, HELD | {"excess": np.roll(WAITS, HOUR)}, "xxxxxx"),
        ([(1, 4)], BETWEEN, {"elasticity": 0.005}, "xxxxxx"),
        ([(1, 4)], BETWEEN, HELD | {"size_bytes": kib(256, 64, 64, 64, 256, 256)}, "xxxxxx"),
        ([(2, 4)], rates(190, 40, 156.25, 156.25, 180, 180), HELD, "xxxxxx"),
    ],
)
def test_the_hours_that_count_for_a_level(runs, rate, shown, hours):
    """Those in which its limit may have applied; where nothing shows a change, all do."""
    era = era_at([(start * HOUR, end * HOUR) for start, end in runs], rate, **shown).reshape(-1, HOUR)

    assert (era.all(axis=1) == era.any(axis=1)).all()
    assert hours == "".join("x" if counts else "." for counts in era.all(axis=1))


def test_storage_that_recovers_is_no_raised_limit():
    """Eight clients without think time on storage of 6 ms, then of 1 ms: what is served moves with latency."""
    rng = np.random.default_rng(9)
    latency = np.repeat([0.006, 0.0012], 10 * HOUR) * builders.wander(rng, 20 * HOUR, 0.06)
    values = builders.storage(8 / latency * 64 * KIB, size_bytes=64 * KIB, latency_s=latency)

    assert () == diagnose(builders.snapshot(values, instance=R4_2XLARGE), catalog()).intervals
