"""When a balance reaches zero or a space fills."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.diagnosis.forecast import forecasts_of
from plimsoll.diagnosis.frame import frame_of
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import BucketFit, Forecast
from plimsoll.model.metric import Metric
from plimsoll.units import gib

BYTES = Metric.BYTE_BALANCE_RATIO
SPACE = Metric.FREE_STORAGE_BYTES


def balance(start: float, per_hour: float, *, hours: float = 3, noise: float = 0.0):
    """A balance by five minutes that changes at one rate, in whole percents if noisy."""
    hour = np.arange(round(hours * 12)) / 12
    value = np.clip(start + per_hour * hour, 0, 1)
    if noise:
        value = value + np.random.default_rng(4).normal(0, noise, value.size)
    return builders.series(BYTES, value, step_s=300)


def of(series, storage_bytes=None):
    return forecasts_of({series.metric: series}, None, (), storage_bytes=storage_bytes)


def test_a_falling_balance_is_empty_when_it_is_used_up():
    """A balance at 30 % that falls by 20 % an hour is empty in an hour and a half."""
    (forecast,) = of(balance(0.90, -0.20, hours=3 + 1 / 12))

    assert Family.INSTANCE_EBS_THROUGHPUT == forecast.family
    np.testing.assert_allclose(forecast.balance_ratio, 0.30)
    np.testing.assert_allclose(forecast.change_per_s, -0.20 / 3600)
    np.testing.assert_allclose(forecast.empty_in_s, 1.5 * 3600)
    assert "instance throughput credits: 30 % left" in forecast.text
    assert "empty in 1 h 30 min" in forecast.text


def test_the_band_holds_the_middle():
    """A balance that wavers is predicted with a band around the middle, not with a point."""
    (forecast,) = of(balance(0.9, -0.20, noise=0.01))

    assert forecast.empty_in_s_low < forecast.empty_in_s
    assert forecast.empty_in_s_high is None or forecast.empty_in_s < forecast.empty_in_s_high


def test_the_band_is_two_standard_errors_wide():
    """Residuals of a percent over an hour of five-minute readings leave the slope this uncertain."""
    (forecast,) = of(balance(0.9, -0.20, hours=13 / 12, noise=0.01))
    hour = np.arange(13) / 12
    value = balance(0.9, -0.20, hours=13 / 12, noise=0.01).value
    (slope, _), covariance = np.polyfit(hour, value, 1, cov=True)
    # Neighbouring residuals are related: one in three counts.
    error = np.sqrt(3 * covariance[0, 0])

    np.testing.assert_allclose(forecast.empty_in_s, -value[-1] / slope * 3600)
    np.testing.assert_allclose(forecast.empty_in_s_low, value[-1] / (2 * error - slope) * 3600, rtol=1e-6)
    np.testing.assert_allclose(forecast.empty_in_s_high, -value[-1] / (slope + 2 * error) * 3600, rtol=1e-6)


def test_a_band_without_an_end_is_reported():
    """Where the balance may as well stand still, the latest end is not known."""
    (forecast,) = of(balance(0.5, -0.03, noise=0.01))

    assert forecast.empty_in_s is not None
    assert forecast.empty_in_s_high is None
    assert "to longer)" in forecast.text


def test_only_the_last_hour_counts():
    """What the balance did in the morning says nothing about how it falls now."""
    falling = balance(0.9, -0.3, hours=1.5)
    value = np.concatenate((np.linspace(0.2, 0.9, 60), falling.value))
    (forecast,) = of(builders.series(BYTES, value, step_s=300))

    np.testing.assert_allclose(forecast.change_per_s, -0.3 / 3600)


def test_beyond_an_hour_the_order_of_magnitude_is_all():
    """A forecast of hours says that it is a rough one; one of minutes does not."""
    (far,) = of(balance(0.9, -0.10))
    (near,) = of(balance(0.9, -0.28))

    assert "rough estimate" in far.text
    assert "rough estimate" not in near.text


@pytest.mark.parametrize(("per_hour", "is_falling"), [(0.0, False), (0.2, False), (-0.008, False), (-0.015, True)])
def test_a_balance_that_does_not_fall_has_no_end(per_hour, is_falling):
    """Standing still, rising, or falling by less than the metric is rounded is no forecast of an end."""
    (forecast,) = of(balance(0.3, per_hour))

    assert is_falling == ((forecast.empty_in_s or 0) > 10 * 3600)
    assert is_falling == (forecast.empty_in_s is not None)
    assert is_falling == ("not falling" not in forecast.text)


def test_an_empty_balance_is_empty_now():
    """At zero there is nothing to foretell."""
    (forecast,) = of(balance(0.2, -0.5))

    assert (0.0, 0.0) == (forecast.balance_ratio, forecast.empty_in_s)
    assert "0 % left" in forecast.text


@pytest.mark.parametrize("value", [[1.0] * 36, [], [0.5, 0.4], [0.6, 0.5, 0.4, np.nan]])
def test_a_full_balance_or_too_little_is_no_forecast(value):
    """A hundred percent needs none; without a last reading, or with less than four, nothing is predicted."""
    assert () == of(builders.series(BYTES, value, step_s=300))


def test_each_balance_names_its_own_credits():
    """Instance throughput, instance IOPS and volume credits are three different things."""
    named = {
        metric: forecasts_of(
            {metric: builders.series(metric, np.linspace(0.9, 0.4, 24), step_s=300)}, None, (), storage_bytes=None
        )[0]
        for metric in builders.BALANCES
    }

    assert [Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS] == [
        forecast.family for forecast in named.values()
    ]
    assert "gp2 volume credits" in named[Metric.VOLUME_BALANCE_RATIO].text


def test_space_that_fills_is_forecast():
    """100 GiB of which 10 GiB a day are used up are full in two days when 20 GiB are left."""
    day = np.arange(0, 8, 1 / 24)
    free = builders.series(SPACE, gib(100) - gib(10) * day, step_s=3600)
    (forecast,) = of(free, storage_bytes=gib(100))
    left_days = (100 - 10 * day[-1]) / 10

    assert Family.STORAGE_SPACE == forecast.family
    np.testing.assert_allclose(forecast.empty_in_s, left_days * 86_400, rtol=1e-6)
    np.testing.assert_allclose(forecast.balance_ratio, left_days / 10)
    assert "storage space: 20 % free" in forecast.text
    assert "full in 2 d" in forecast.text


def test_space_is_judged_by_its_last_week():
    """What was deleted a month ago does not hide that the space is filling now."""
    free = np.concatenate((np.full(24 * 20, gib(40)), gib(80) - gib(5) * np.arange(168) / 24))
    (forecast,) = of(builders.series(SPACE, free, step_s=3600), storage_bytes=gib(100))

    np.testing.assert_allclose(forecast.change_per_s, -0.05 / 86_400, rtol=0.05)
    assert "last 7 d" in forecast.text


@pytest.mark.parametrize(
    ("per_day", "storage_bytes", "count"),
    [(0.01, gib(100), 0), (0.2, gib(100), 0), (-1, gib(100), 0), (10, None, 0), (0.4, gib(100), 1)],
)
def test_space_that_does_not_fill_is_not_mentioned(per_day, storage_bytes, count):
    """A fall of less than a percent, a rise, or an unknown size is no trend; a percent and a half in four days is."""
    free = gib(60) - gib(per_day) * np.arange(0, 4, 1 / 24)
    found = of(builders.series(SPACE, free, step_s=3600), storage_bytes=storage_bytes)

    assert count == len(found)
    assert all(forecast.empty_in_s > 100 * 86_400 for forecast in found)


def by_law(rate: np.ndarray, last: float, *, is_reliable: bool = True) -> Forecast:
    """The forecast of a learned bucket of 600 GB at 80 MB/s, with a balance that stood still."""
    fit = BucketFit(
        family=Family.INSTANCE_EBS_THROUGHPUT, baseline=80e6, baseline_se=1e5, capacity=600e9,
        capacity_se=1e9, sample_count=90, residual_ratio=0.002, is_reliable=is_reliable,
    )  # fmt: skip
    frame = frame_of(builders.snapshot(builders.storage(rate)))
    still = builders.series(BYTES, np.full(rate.size // 5, last), step_s=300)
    (forecast,) = forecasts_of({BYTES: still}, frame, (fit,), storage_bytes=None)
    return forecast


def test_a_learned_bucket_empties_by_the_law():
    """Half of 600 GB, spent 100 MB/s faster than it refills, is gone in fifty minutes."""
    forecast = by_law(np.full(2 * HOUR, 180e6), 0.5)

    np.testing.assert_allclose(forecast.empty_in_s, 3000)
    np.testing.assert_allclose(forecast.change_per_s, -100e6 / 600e9)
    assert "50 % left" in forecast.text
    assert "empty in 50 min (50 min to 50 min)" in forecast.text
    assert "rough estimate" not in forecast.text


def test_the_band_of_the_law_is_that_of_the_rates():
    """A busy minute in ten empties it sooner, a calm one in ten later."""
    rate = np.tile(np.repeat([130e6, 180e6, 230e6], [3, 14, 3]), 6)
    forecast = by_law(rate, 0.5)

    np.testing.assert_allclose(forecast.empty_in_s_low, 2000)
    np.testing.assert_allclose(forecast.empty_in_s_high, 6000)


def test_only_the_last_hour_of_rates_counts():
    """What was served before says nothing about the next hour."""
    forecast = by_law(np.repeat([20e6, 180e6], [3 * HOUR, HOUR + 1]), 0.5)

    np.testing.assert_allclose(forecast.empty_in_s, 3000)


@pytest.mark.parametrize(("rate", "is_reliable"), [(60e6, True), (180e6, False)])
def test_a_bucket_that_gains_or_is_roughly_known_has_no_end(rate, is_reliable):
    """Below its refill it does not empty; a rough fit leaves the forecast to the balance's own slope."""
    forecast = by_law(np.full(2 * HOUR, rate), 0.5, is_reliable=is_reliable)

    assert forecast.empty_in_s is None
    assert "not falling" in forecast.text
    assert is_reliable or "learned" not in forecast.text
