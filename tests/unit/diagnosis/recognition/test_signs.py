"""What is observed of one level."""

import numpy as np
import pytest

import builders
from builders import HOUR, ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.binding import Match
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.diagnosis.recognition.level import Level
from plimsoll.diagnosis.recognition.signs import Signs, signs_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.metric import Metric

BYTES = Metric.BYTE_BALANCE_RATIO
LEVEL = 100e6
UNKNOWN = Match(ceiling=None, probability=1.0, z=float("nan"))
BASELINE = Match(
    ceiling=ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE, LEVEL, balance=BYTES), probability=1.0, z=0.0
)
FIXED = Match(ceiling=ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, LEVEL), probability=1.0, z=0.0)


def noise(count: int, spread: float) -> np.ndarray:
    return builders.wander(np.random.default_rng(3), count, spread)


def calm(hours: int = 1) -> np.ndarray:
    return 20e6 * noise(hours * HOUR, 0.3)


def pegged(hours: int = 1, level: float = LEVEL) -> np.ndarray:
    return level * noise(hours * HOUR, 0.001)


def of(rate, runs, *, waited=None, best=UNKNOWN, balance=None, cpu=None) -> Signs:
    """The signs of LEVEL held in `runs`; by default exactly the samples of the runs waited."""
    inside = np.zeros(rate.size, dtype=bool)
    for start, end in runs:
        inside[start:end] = True
    latency = np.where(inside if waited is None else waited, 0.010, 0.001)
    values = builders.storage(rate, latency_s=latency)
    if balance is not None:
        values[BYTES] = balance
    if cpu is not None:
        values[Metric.CPU_RATIO] = cpu
    frame = frame_of(builders.snapshot(values))
    level = Level(value=LEVEL, log_sd=0.001, band_log=0.008, runs=np.array(runs))
    return signs_of(level, rate, inside, frame, congestion_of(frame, load_of(frame)), best)


def test_time_samples_and_stretches_are_counted():
    """Two stretches of an hour are 120 minutes in 120 samples and two runs."""
    rate = np.concatenate((calm(2), pegged(), calm(), pegged()))
    signs = of(rate, [(120, 180), (240, 300)])

    assert (120.0, 120, 2) == (signs.minutes, signs.samples, signs.run_count)


def test_waiting_is_the_ratio_to_unpressed():
    """Ten times the calm latency is a log excess of log 10, and every sample at the level waited."""
    signs = of(np.concatenate((calm(2), pegged())), [(120, 180)])

    np.testing.assert_allclose(np.exp(signs.log_excess), 10, rtol=0.15)
    assert 1.0 == signs.waited_share
    assert signs.is_reference_seen


def test_a_level_met_without_waiting_has_a_low_share():
    """If half the samples at the number did not wait, the share says so."""
    rate = np.concatenate((calm(2), pegged(2)))
    waited = np.arange(rate.size) >= 180
    signs = of(rate, [(180, 240)], waited=waited)

    assert 0.5 == signs.waited_share


def test_the_workloads_own_noise_is_measured_elsewhere():
    """Spread from one sample to the next away from the level is what flatness is compared with."""
    signs = of(np.concatenate((calm(4), pegged())), [(240, 300)])

    np.testing.assert_allclose(signs.log_sd_elsewhere, 0.3, rtol=0.25)


def test_with_nothing_elsewhere_there_is_no_comparison():
    """A window that is one plateau shows no noise of its own."""
    assert np.isnan(of(pegged(2), [(0, 120)]).log_sd_elsewhere)


@pytest.mark.parametrize(
    ("best", "balance", "pressed", "free"),
    [
        (UNKNOWN, None, slice(120, 180), 1.0),  # at ease, as long as the hour at the level
        (UNKNOWN, None, slice(120, 240), 0.0),  # while requests waited it is not at ease
        (BASELINE, None, slice(120, 180), 0.0),  # a documented baseline may be exceeded on credits
        (BASELINE, 0.5, slice(120, 180), 0.0),
        (BASELINE, 0.0, slice(120, 180), 1.0),  # but not without any
        (FIXED, 0.5, slice(120, 180), 1.0),  # and a limit without a bucket has none
    ],
)
def test_serving_more_counts_unless_pressure_or_credits_explain_it(best, balance, pressed, free):
    """An hour at 150 % of the level: what is served above a baseline on credits says nothing against it."""
    rate = np.concatenate((calm(2), pegged(), pegged(level=1.5 * LEVEL)))
    waited = np.zeros(rate.size, dtype=bool)
    waited[pressed] = True
    values = None if balance is None else np.full(rate.size, balance)
    signs = of(rate, [(120, 180)], waited=waited, best=best, balance=values)

    np.testing.assert_allclose((signs.free_above_ratio, signs.above_ratio), (free, 1.0))


def test_an_unknown_level_may_be_a_baseline():
    """Where a balance is left above the level and empty at it, the excess was paid with credits."""
    rate = np.concatenate((calm(2), pegged(level=3 * LEVEL), pegged()))
    emptied = np.concatenate((np.full(180, 0.5), np.zeros(60)))

    assert 0.0 == of(rate, [(180, 240)], balance=emptied).free_above_ratio
    np.testing.assert_allclose(of(rate, [(180, 240)], balance=np.full(240, 0.5)).free_above_ratio, 1.0)


AFTER_CREDITS = (calm(), pegged(level=3 * LEVEL))


@pytest.mark.parametrize(
    ("pieces", "runs", "entered_from_above", "left_upwards"),
    [
        # When credits run out the rate falls to the level; when demand ends it leaves downwards.
        ((*AFTER_CREDITS, pegged(), calm()), [(120, 180)], 1.0, 0.0),
        # When a fault ends, more is served at once.
        ((calm(), pegged(), pegged(level=1.4 * LEVEL)), [(60, 120)], 0.0, 1.0),
        # After a dip of minutes the level is met from below, but no credits were saved in between.
        ((*AFTER_CREDITS, pegged(2), np.full(10, 20e6), pegged()[:50], calm()), [(120, 240), (250, 300)], 1.0, 0.0),
        # After hours of calm the level is entered anew, and this time from below.
        ((*AFTER_CREDITS, pegged(), calm(3), pegged(), calm()), [(120, 180), (360, 420)], 0.5, 0.0),
        # One minute of more after a stretch is the end of a backlog, not a lifted limit.
        ((calm(), pegged(), np.full(1, 1.4 * LEVEL), calm()), [(60, 120)], 0.0, 0.0),
    ],
    ids=["baseline", "fault", "dip", "pause", "backlog"],
)
def test_how_a_level_is_entered_and_left(pieces, runs, entered_from_above, left_upwards):
    """A baseline is entered from above, a fault is left upwards; a short dip is not a new visit."""
    signs = of(np.concatenate(pieces), runs)

    assert (entered_from_above, left_upwards) == (signs.entered_from_above, signs.left_upwards)


def test_pressed_samples_next_to_the_level_are_counted():
    """Waiting at 95 % and at 105 % of the level is waiting around it, not at it."""
    rate = np.concatenate((calm(2), pegged(), pegged(2, level=0.95 * LEVEL), pegged(level=1.05 * LEVEL)))
    signs = of(rate, [(120, 180)], waited=np.arange(rate.size) >= 120)

    np.testing.assert_allclose((signs.pressed_below_ratio, signs.pressed_above_ratio), (2, 1))


def test_elasticity_is_small_behind_a_ceiling():
    """Waiting varies while the rate does not: their ratio is small; without variation it is unknown."""
    rate = np.concatenate((calm(2), pegged(2)))
    inside = np.arange(rate.size) >= 120
    latency = np.where(inside, 0.01 * noise(rate.size, 0.3), 0.001)
    frame = frame_of(builders.snapshot(builders.storage(rate, latency_s=latency)))
    level = Level(value=LEVEL, log_sd=0.001, band_log=0.008, runs=np.array([[120, 240]]))
    signs = signs_of(level, rate, inside, frame, congestion_of(frame, load_of(frame)), UNKNOWN)

    assert signs.elasticity < 0.01
    assert np.isnan(of(rate, [(120, 240)]).elasticity)


def test_cpu_is_that_at_the_level():
    """The CPU of the pegged minutes counts, not that of the window."""
    rate = np.concatenate((calm(2), pegged()))
    signs = of(rate, [(120, 180)], cpu=np.where(np.arange(180) >= 120, 0.97, 0.2))

    assert 0.97 == signs.cpu_ratio
    assert np.isnan(of(rate, [(120, 180)]).cpu_ratio)


def test_without_latency_and_queue_waiting_is_unknown():
    """Signs that were not measured are NaN, never zero."""
    rate = np.concatenate((calm(2), pegged()))
    values = {m: v for m, v in builders.storage(rate).items() if m in builders.RATES}
    frame = frame_of(builders.snapshot(values))
    level = Level(value=LEVEL, log_sd=0.001, band_log=0.008, runs=np.array([[120, 180]]))
    signs = signs_of(level, rate, rate > 90e6, frame, congestion_of(frame, load_of(frame)), UNKNOWN)

    assert np.isnan([signs.log_excess, signs.waited_share, signs.elasticity]).all()
