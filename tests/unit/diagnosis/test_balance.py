"""What a balance teaches about its bucket."""

import re

import numpy as np
import pytest

import builders
from builders import HOUR, START_S
from plimsoll.diagnosis.balance import _clock_of, bucket_fits
from plimsoll.diagnosis.frame import frame_of
from plimsoll.model.ceiling import Family
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.units import format_clock

BYTES = Metric.BYTE_BALANCE_RATIO
BASELINE = 80e6
CAPACITY = 600e9


def demand(hours: int = 12, seed: int = 5) -> np.ndarray:
    """Half-hours far above and far below the baseline, so that the balance moves both ways."""
    rng = np.random.default_rng(seed)
    blocks = np.repeat(BASELINE * rng.uniform(0.1, 2.6, 2 * hours), HOUR // 2)
    return blocks * builders.wander(rng, blocks.size, 0.1)


def read(
    rate: np.ndarray,
    *,
    metric: Metric = BYTES,
    baseline: float = BASELINE,
    capacity: float = CAPACITY,
    start: float = 0.7,
    rounding: float = 0.01,
    added: np.ndarray | None = None,
) -> Series:
    """The balance as CloudWatch shows it: five-minute means in whole percents."""
    balance, left = np.empty(rate.size), start
    for index, served in enumerate(rate):
        grant = 0.0 if added is None else added[index]
        left = float(np.clip(left + grant + (baseline - served) * 60 / capacity, 0, 1))
        balance[index] = left
    means = balance[: rate.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    return builders.series(metric, np.round(means / rounding) * rounding, step_s=300)


def fits(rate, *balances: Series, size_bytes: float = 65_536):
    frame = frame_of(builders.snapshot(builders.storage(rate, size_bytes=size_bytes)))
    assert frame is not None
    return bucket_fits(frame, {one.metric: one for one in balances})


@pytest.mark.parametrize("rounding", [0.01, 0.001])
@pytest.mark.parametrize("seed", range(6))
def test_refill_and_capacity_are_learned(seed, rounding):
    """From served bytes and a rounded balance both numbers of the bucket follow, within their errors."""
    rate = demand(seed=seed)
    (fit,) = fits(rate, read(rate, rounding=rounding))

    assert Family.INSTANCE_EBS_THROUGHPUT == fit.family
    assert abs(fit.baseline - BASELINE) < 3 * fit.baseline_se
    assert abs(fit.capacity - CAPACITY) < 3 * fit.capacity_se
    assert fit.is_reliable
    assert fit.residual_ratio < 0.01


def test_errors_are_not_boasted():
    """The stated error of a fit to whole percents is a few percent; refill, however fast, is not a grant."""
    rate = demand()
    (fit,) = fits(rate, read(rate))

    assert 0.001 < fit.capacity_se / fit.capacity < 0.05
    assert ((), None) == (fit.grant_s, fit.grant_clock)
    assert "grant" not in fit.text


def test_the_sentence_says_size_refill_and_time():
    """A bucket is described by its size, its refill, and how long it takes to fill when idle."""
    rate = demand()
    (fit,) = fits(rate, read(rate, rounding=0.001))

    # 600 GB are 558.8 GiB; at 80 MB/s they refill in 2 h 5 min.
    size, refill = re.findall(r"bucket holds (\S+) GiB .* refills at (\S+) MB/s", fit.text)[0]
    np.testing.assert_allclose(float(size), 558.8, rtol=0.01)
    np.testing.assert_allclose(float(refill), 80, rtol=0.01)
    assert "2 h 5 min" in fit.text
    assert f"{fit.sample_count} readings" in fit.text


def test_a_bucket_of_operations_is_learned_in_operations():
    """A gp2 volume's balance is spent by operations: 3 IOPS per GiB refill 5.4 million credits."""
    rate = demand() / 65_536 * 1.2
    balance = read(rate, metric=Metric.VOLUME_BALANCE_RATIO, baseline=1500, capacity=5.4e6)
    (fit,) = fits(rate * 65_536, balance)

    assert Family.VOLUME_IOPS == fit.family
    assert abs(fit.baseline - 1500) < 3 * fit.baseline_se
    assert abs(fit.capacity - 5.4e6) < 3 * fit.capacity_se
    assert "operations" in fit.text
    assert "IOPS" in fit.text


def test_clamped_readings_teach_nothing():
    """A bucket that is full, or empty, for most of the day is learned from the rest alone."""
    rate = np.concatenate((np.full(8 * HOUR, 5e6), demand(8), np.full(8 * HOUR, 3 * BASELINE)))
    series = read(rate, start=1.0)
    clamped = (series.value <= 0.02) | (series.value >= 0.98)
    (fit,) = fits(rate, series)

    assert clamped.sum() > 100
    assert fit.sample_count <= series.value.size - clamped.sum()
    assert abs(fit.capacity - CAPACITY) < 3 * fit.capacity_se


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_balance_that_never_moves_teaches_nothing(value):
    """A full bucket, or an empty one, has no capacity to be seen; and half an hour of readings is no fit."""
    rate = demand()

    assert () == fits(rate, builders.series(BYTES, np.full(144, value), step_s=300))
    assert () == fits(rate[:30], read(rate[:30]))


def test_a_balance_that_does_not_follow_the_load_is_no_bucket():
    """Where spending does not lower the balance there is nothing to learn."""
    rate = demand()
    unrelated = builders.series(BYTES, 0.5 + 0.2 * np.sin(np.arange(144) / 9 + (rate[::5] > BASELINE)), step_s=300)
    found = fits(rate, unrelated)

    assert not [fit for fit in found if fit.is_reliable]


def test_hours_without_rates_are_left_out():
    """What was served while nothing was measured is unknown, so the readings of that time are not used."""
    rate = demand()
    series = read(rate)
    blind = rate.copy()
    blind[4 * HOUR : 6 * HOUR] = np.nan
    (fit,) = fits(blind, series)

    assert fit.sample_count < fits(rate, series)[0].sample_count - 20
    assert abs(fit.capacity - CAPACITY) < 3 * fit.capacity_se


def daily(days: int, at_s: int, *, jitter_s: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A load that holds the bucket about half full, and a tenth of it granted once a day."""
    rate = np.tile(demand(24, seed=2), days)
    rate *= (BASELINE + 0.3 * CAPACITY / 86_400) / rate.mean()
    added = np.zeros(rate.size)
    for day in range(days):
        added[day * 1440 + (at_s + (day % 2) * jitter_s) // 60] = 0.3
    return rate, added


def test_a_daily_grant_is_seen_with_its_time_of_day():
    """
    A jump that no refill explains, every day at one time, is reported with it, and does not bend the
    fit.
    """
    rate, added = daily(4, 14 * 3600 + 5 * 60)
    (fit,) = fits(rate, read(rate, added=added, rounding=0.001))

    assert 4 == len(fit.grant_s)
    assert {14} == {t % 86_400 // 3600 for t in fit.grant_s}
    assert fit.grant_clock.startswith("14:0")
    assert fit.grant_clock in fit.text
    assert abs(fit.baseline - BASELINE) < 3 * fit.baseline_se
    assert abs(fit.capacity - CAPACITY) < 3 * fit.capacity_se


def test_grants_at_no_fixed_time_have_no_clock():
    """Jumps at different times of day are reported, but not as daily."""
    rate, added = daily(4, 8 * 3600, jitter_s=6 * 3600)
    (fit,) = fits(rate, read(rate, added=added, rounding=0.001))

    assert len(fit.grant_s) >= 3
    assert fit.grant_clock is None
    assert f"credits rose at {format_clock(fit.grant_s[0])}" in fit.text


@pytest.mark.parametrize(
    ("times", "clock"),
    [
        ([14 * 3600 + 300, 86_400 + 14 * 3600 + 300], "14:05 UTC"),
        ([9 * 3600, 86_400 + 9 * 3600 + 1800], "09:15 UTC"),
        ([9 * 3600, 86_400 + 10 * 3600 + 300], None),
        # Just before and just after midnight are one time, not two.
        ([86_400 - 300, 2 * 86_400 + 300, 3 * 86_400 - 300], "23:58 UTC"),
        ([9 * 3600], None),
        ([], None),
    ],
)
def test_a_clock_time_needs_two_that_agree(times, clock):
    """Grants within half an hour of their mean have a time of day; one alone has none."""
    assert clock == _clock_of([START_S + t for t in times])


def test_a_rough_fit_says_so():
    """Two hours of whole percents give an estimate that is marked as rough."""
    rate = demand(3, seed=8)
    rough = [f for n in range(60, 180, 15) for f in fits(rate[:n], read(rate[:n], rounding=0.05))]

    assert rough
    for fit in rough:
        assert fit.is_reliable == (fit.capacity_se < 0.05 * fit.capacity)
        assert fit.is_reliable != fit.text.startswith("a rough estimate: ")


def test_readings_outside_the_storage_window_are_not_used():
    """A balance read before storage was measured has nothing to be compared with."""
    rate = demand()
    whole = read(rate)
    late = builders.timed(BYTES, np.arange(-24, 0) * 300 + START_S, np.linspace(0.9, 0.2, 24), step_s=300)
    both = Series(
        metric=BYTES,
        step_s=300,
        time_s=np.concatenate((late.time_s, whole.time_s)),
        value=np.concatenate((late.value, whole.value)),
    )
    (fit,) = fits(rate, both)

    assert fit.sample_count <= whole.value.size
    assert abs(fit.capacity - CAPACITY) < 3 * fit.capacity_se
