"""Levels: where pressed rates pile up, and the stretches of time spent there."""

import numpy as np
import pytest

import builders
from builders import START_S
from plimsoll.diagnosis.recognition.level import LOOSE_BINS, Level, _level_at, extended, level_min_s, levels_of, middle


def grid(count: int, step_s: int = 60):
    return START_S + step_s * np.arange(count), np.full(count, float(step_s))


def found(rate, *, waited=None, excess=None, step_s=60) -> list[Level]:
    rate = np.asarray(rate, dtype=float)
    time_s, width_s = grid(rate.size, step_s)
    everywhere = np.ones(rate.size, dtype=bool)
    return levels_of(
        rate,
        everywhere if waited is None else waited,
        np.full(rate.size, np.nan) if excess is None else excess,
        time_s,
        width_s,
    )


def noisy(level: float, count: int, spread: float = 0.002, seed: int = 1) -> np.ndarray:
    return level * builders.wander(np.random.default_rng(seed), count, spread)


def test_a_level_is_the_middle_of_what_piles_up():
    """Two hours around one number are one level at that number."""
    (level,) = found(noisy(86.5e6, 120))

    np.testing.assert_allclose(level.value, 86.5e6, rtol=0.001)
    np.testing.assert_allclose(level.log_sd, 0.002, rtol=0.4)
    assert [[0, 120]] == level.runs.tolist()


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        # A burst and a baseline.
        (noisy(340e6, 30), noisy(86e6, 120, seed=2), [86e6, 340e6]),
        # A current and a legacy limit may be close; two numbers are not averaged into one.
        (noisy(100e6, 60), noisy(104e6, 61, seed=2), [104e6, 100e6]),
        # A level is no shoulder of another one that is a little higher, with nothing in between.
        (noisy(100e6, 60, 0.001), noisy(103e6, 120, 0.001, seed=2), [103e6, 100e6]),
    ],
    ids=["burst", "close", "shoulder"],
)
def test_two_levels_come_the_longer_first(first, second, values):
    """Each with its own stretch."""
    levels = found(np.concatenate((first, second)))
    end = first.size + second.size

    np.testing.assert_allclose(values, [level.value for level in levels], rtol=0.002)
    assert [[[first.size, end]], [[0, first.size]]] == [level.runs.tolist() for level in levels]


@pytest.mark.parametrize(
    ("rate", "waited"),
    [
        # Rates that vary by a tenth from minute to minute pile up nowhere for long.
        (noisy(80e6, 240, spread=0.25), None),
        # A number at which nothing waited is not a candidate.
        (noisy(86e6, 120), np.zeros(120, dtype=bool)),
        # Bridges may not carry a stretch: at least half of its time is spent at the number.
        (np.tile(np.repeat([86e6, np.nan], [3, 4]), 20), None),
        # Nothing served, or nothing measured.
        (np.zeros(120), None),
        (np.full(120, np.nan), None),
    ],
    ids=["breathes", "at ease", "bridges", "idle", "unknown"],
)
def test_what_does_not_stay_at_a_number_has_no_level(rate, waited):
    """Or what does not wait there."""
    assert [] == found(rate, waited=waited)


@pytest.mark.parametrize(("minutes", "count"), [(7, 0), (8, 1)])
def test_eight_minutes_are_the_least(minutes, count):
    """Fewer minutes at one number cannot be distinguished from chance."""
    rest = noisy(20e6, 200, spread=0.4)
    rate = np.concatenate((rest[:100], np.full(minutes, 86e6), rest[100:]))

    held = [level for level in found(rate) if abs(level.value / 86e6 - 1) < 0.01]

    assert count == len(held)


@pytest.mark.parametrize(("step_s", "least_s"), [(1, 30), (5, 40), (60, 480), (300, 480)])
def test_the_least_time_follows_the_step(step_s, least_s):
    """Eight samples are asked for, but no less than half a minute and no more than eight minutes."""
    assert least_s == level_min_s(grid(50, step_s)[1])


CALM, EVEN = np.full(30, 20e6), np.full(30, 86e6)


def broken(minutes: int, rate: float) -> np.ndarray:
    """Two hours at 86 MB/s, of which some minutes in the middle have another rate."""
    return np.concatenate((noisy(86e6, 60), np.full(minutes, rate), noisy(86e6, 60 - minutes, seed=2)))


@pytest.mark.parametrize(
    ("rate", "pressed_above", "runs"),
    [
        # Some minutes without data within a plateau do not end it; a quarter of an hour does, or more served.
        (broken(3, np.nan), 0.0, [[0, 120]]),
        (broken(12, np.nan), 0.0, [[0, 60], [72, 120]]),
        (broken(4, 140e6), 0.0, [[0, 60], [64, 120]]),
        # Of a steady rate, 0.8 % above are its wavering, and 1.3 % are more than the limit lets through.
        (np.concatenate((EVEN, [86e6 * 1.008] * 2, EVEN)), 0.0, [[0, 62]]),
        (np.concatenate((EVEN, [86e6 * 1.013] * 2, EVEN)), 0.0, [[0, 30], [32, 62]]),
        # The minute in which the ceiling was reached averages a little below it, but waited like the others.
        (np.concatenate((CALM, [83.5e6], noisy(86e6, 60), [84e6], CALM)), 80e6, [[30, 92]]),
        # At ease it is not the edge of a plateau.
        (np.concatenate((CALM, [83.5e6], noisy(86e6, 60))), 84e6, [[31, 91]]),
    ],
    ids=["lost", "hole", "more", "wavering", "above", "edges", "at ease"],
)
def test_a_stretch_ends_where_the_level_is_left(rate, pressed_above, runs):
    """Not at what was lost, wavered, or was pegged for a part of its minute."""
    (level,) = found(
        rate,
        waited=(rate > 80e6) | np.isnan(rate),
        excess=np.where(rate > pressed_above, 2.0, 0.0) if pressed_above else None,
    )

    assert runs == level.runs.tolist()


def test_the_level_is_not_pulled_down_by_its_edges():
    """Partly pegged minutes widen a stretch, not the number."""
    core = np.full(20, 86e6)
    rate = np.concatenate(([83.5e6], core, [83e6], np.full(40, 10e6), [83.2e6], core, [83.1e6]))

    (level,) = found(rate, waited=rate > 80e6, excess=np.where(rate > 80e6, 2.0, 0.0))

    np.testing.assert_allclose(level.value, 86e6, rtol=1e-9)


def test_the_level_is_that_between_the_edges_of_short_stretches():
    """Half of four samples are edges, in which the limit was met or left: they lie lower, within the spread."""
    rate = np.tile([85.7e6, 86e6, 86e6, 85.7e6, 10e6, 10e6, 10e6, 10e6], 20)
    rate *= builders.wander(np.random.default_rng(1), rate.size, 1e-5)
    waited = rate > 80e6

    (level,) = found(rate, waited=waited, excess=np.where(waited, 2.0, 0.0), step_s=300)

    np.testing.assert_allclose(level.value, 86e6, rtol=1e-4)


def test_samples_of_five_minutes_have_levels_too():
    """Three samples of five minutes are long enough to be a level."""
    rest = noisy(20e6, 40, spread=0.4)

    level = found(np.concatenate((rest[:20], [86e6] * 3, rest[20:])), step_s=300)[0]

    np.testing.assert_allclose(level.value, 86e6, rtol=0.001)
    assert [[20, 23]] == level.runs.tolist()


def test_the_shoulder_of_a_busy_hour_is_no_level():
    """Where more pressed minutes lie just above a number than at it, nothing was held there."""
    rate = np.linspace(96e6, 108e6, 240)
    rate[100:112] = 100e6
    with_shoulder = [level.value for level in found(rate)]
    alone = [level.value for level in found(np.where((rate > 99.7e6) & (rate < 100.3e6), rate, 5e6))]

    assert not [value for value in with_shoulder if abs(value / 100e6 - 1) < 0.004]
    assert [value for value in alone if abs(value / 100e6 - 1) < 0.004]


def test_at_most_two_dozen_levels_are_looked_at():
    """A staircase of forty numbers does not take forty judgements."""
    stairs = np.repeat(np.geomspace(10e6, 900e6, 40)[::-1], 12)

    assert 24 == len(found(stairs))


def test_idle_minutes_leave_the_level_as_it_is():
    """A night without a request has no rate that could be near any level."""
    rate = np.concatenate((noisy(86.5e6, 120), np.zeros(120)))

    assert found(rate[:120])[0].value == found(rate)[0].value


EVERY = np.ones(120, dtype=bool)


@pytest.mark.parametrize(
    ("rate", "band_log", "waited", "runs"),
    [
        # Minutes within its narrow spread belong to it under light pressure too.
        (noisy(86e6, 120, spread=0.001), 0.008, EVERY, [[0, 120]]),
        (noisy(86e6, 120, spread=0.001), 0.008, np.arange(120) < 60, [[0, 60]]),
        # A steady demand two percent below the ceiling is not part of the plateau.
        (np.repeat([86e6, 84.3e6], 60), 0.03, EVERY, [[0, 60]]),
    ],
)
def test_a_known_level_takes_in_what_waited_less(rate, band_log, waited, runs):
    """But nothing next to it."""
    level = Level(value=86e6, log_sd=0.001, band_log=band_log, runs=np.array([[0, 60]]))

    assert runs == extended(level, rate, waited, np.full(120, np.nan), *grid(120)).runs.tolist()


def test_the_middle_of_very_many_is_taken_of_some():
    """The median of half a million samples is that of evenly chosen ones, within their spread."""
    many = noisy(86e6, 200_000, spread=0.01)

    np.testing.assert_allclose(middle(many), np.median(many), rtol=0.001)
    assert 2.0 == middle(np.array([1.0, 2.0, 9.0]))


def test_bytes_of_a_late_sample_count_in_the_next():
    """A minute at 183 MB/s and the next at 242 are the ceiling's 212.5 together; two at 242 end the stretch."""
    rate = noisy(212.5e6, 14)
    late = np.insert(rate, 7, [183e6, 242e6])
    (level,) = found(late, excess=np.full(16, 3.0))

    np.testing.assert_allclose(level.value, 212.5e6, rtol=0.002)
    assert [[0, 16]] == level.runs.tolist()
    assert [] == found(np.insert(rate, 7, [242e6, 242e6]), excess=np.full(16, 3.0))
    # Demand that fell for a minute leaves credits for the next: requests do not wait in the first.
    eased = np.full(16, 3.0)
    eased[7] = 0.1
    assert [] == found(late, excess=eased)


@pytest.mark.parametrize(("half", "apart"), [(40, 0.032), (40, 0.033), (4040, 0.033)])
def test_a_shoulder_around_the_samples_of_a_peak_is_that_peak(half, apart):
    """A dozen samples 3 % above a level: their neighbourhood is mostly the level, so its middle is there."""
    logs = np.repeat([0.0012, 0.0013, 0.0012 + apart, 0.0], [half, half - 12, 12, 1])
    rate = 1e8 * np.exp(logs)
    time_s, width_s = grid(rate.size)
    every, unknown = np.ones(rate.size, dtype=bool), np.full(rate.size, np.nan)
    levels = levels_of(rate, every, unknown, time_s, width_s, jitter_bins=LOOSE_BINS)

    assert [1e8 * np.exp(0.0012)] == pytest.approx([level.value for level in levels], rel=1e-4)


def test_a_number_between_two_groups_of_samples_is_no_level():
    """The middle of an even count lies between two samples, and may be near neither of them."""
    log_rate = np.repeat([18.0, 18.01], 4_500)
    time_s, width_s = grid(log_rate.size)
    every, unknown = np.ones(log_rate.size, dtype=bool), np.full(log_rate.size, np.nan)

    assert None is _level_at(log_rate, 18.005, 0.004, every, unknown, time_s, width_s, 8)
