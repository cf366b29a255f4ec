"""The time until a balance is empty or a space is full, if the load of the last hours continues."""

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Family
from plimsoll.model.contained import guarded, guarded_each
from plimsoll.model.diagnosis import BucketFit, Forecast
from plimsoll.model.family import BALANCES, FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.units import format_duration, format_ratio

# The end of a burst can be predicted within minutes for an hour ahead, not for half a day (published study
# of such forecasts: median error 8 min below one hour, 168 min beyond three). So: the last hour, and a band.
LOOKBACK_S = 3600
SPACE_LOOKBACK_S = 7 * 86400
# The metric is rounded to whole percents: 0 and 100 % mean only empty and full.
FULL_OR_EMPTY = 0.005
# Below a percent an hour a rounded balance is not falling.
FALL_PER_S_MIN = 0.01 / 3600


def forecasts_of(
    series: dict[Metric, Series], frame: Frame | None, buckets: tuple[BucketFit, ...], *, storage_bytes: float | None
) -> tuple[Forecast, ...]:
    """
    Return one forecast per balance that is neither full nor empty, and one for the storage space.

    Where the bucket was learned, the kernel computes the time at the last hour's rate. Elsewhere the
    slope of the balance is extrapolated.

    Args:
        series: the series of the snapshot.
        frame: served rates; with None only slopes are used.
        buckets: buckets that were learned.
        storage_bytes: allocated storage; with None there is no forecast of space.
    """
    learned = {fit.family: fit for fit in buckets if fit.is_reliable}
    found = guarded_each(
        lambda pair: f"the forecast of {FAMILIES[pair[1]].credits_name}",
        BALANCES.items(),
        lambda pair: _of_credits(series.get(pair[0]), pair[1], learned.get(pair[1]), frame),
    )
    space = series.get(Metric.FREE_STORAGE_BYTES)
    # An hour of five-minute samples: fewer show no trend of space.
    if space is not None and storage_bytes and space.time_s.size >= 12:
        found.append(guarded("the forecast of space", lambda: _of_space(space, storage_bytes), None))
    return tuple(forecast for forecast in found if forecast is not None)


def _of_credits(balance: Series | None, family: Family, fit: BucketFit | None, frame: Frame | None) -> Forecast | None:
    name = FAMILIES[family].credits_name
    if balance is None or balance.time_s.size == 0:
        return None
    rates = _recent_rates(frame, family) if frame is not None and fit is not None else None
    if fit is not None and rates is not None and _is_between(balance):
        return _by_law(float(balance.value[-1]), fit, rates, name)
    return _of_balance(balance, family, name)


def forecast_by_law(series: dict[Metric, Series]) -> dict[Metric, Series]:
    """Return the balances whose bucket, if it was learned, gives the forecast: neither full nor empty now."""
    return {
        metric: series[metric]
        for metric in BALANCES
        if metric in series and series[metric].time_s.size and _is_between(series[metric])
    }


def _is_between(balance: Series) -> bool:
    return FULL_OR_EMPTY < float(balance.value[-1]) < 1 - FULL_OR_EMPTY


def _recent_rates(frame: Frame, family: Family) -> FloatArray | None:
    """Return the served rates of the last hour in the bucket's unit; None if hardly any are known."""
    rate = frame.bytes_per_s if FAMILIES[family].counts == "bytes" else frame.ops_per_s
    recent = rate[frame.time_s >= frame.time_s[-1] - LOOKBACK_S]
    known = recent[np.isfinite(recent)]
    # Fewer than four samples show no spread.
    return known if known.size >= 4 else None


def _by_law(balance: float, fit: BucketFit, rates: FloatArray, name: str) -> Forecast:
    """Return the forecast of a learned bucket, at the mean, a high and a low rate of the last hour."""
    stage = Stage(
        name=fit.family.value,
        baseline=fit.baseline,
        # The rate was served, so it has passed every limit already.
        burst=float("inf"),
        capacity=fit.capacity,
        counts=FAMILIES[fit.family].counts,
    )
    credits_left = balance * fit.capacity

    def empty_in_s(rate: float) -> float | None:
        seconds = stage.time_to_empty_s(credits_left, rate)
        return seconds if np.isfinite(seconds) else None

    mean = float(rates.mean())
    # Eight in ten samples of the last hour lie in this range.
    low, high = (float(q) for q in np.quantile(rates, [0.1, 0.9]))
    mid, soon, late = empty_in_s(mean), empty_in_s(high), empty_in_s(low)
    # Credits arrive at the baseline and leave at the served rate.
    change = (fit.baseline - mean) / fit.capacity
    left = f"{name}: {format_ratio(balance)} left"
    if mid is None:
        text = f"{left}, not falling: the last hour spent less than the refill"
        return _forecast(fit.family, balance, change, None, None, None, text)
    text = f"{left}; empty in {_span(mid, soon, late)}"
    return _forecast(fit.family, balance, change, mid, soon, late, text)


def _span(mid: float, soon: float | None, late: float | None) -> str:
    first = format_duration(soon if soon is not None else mid)
    last = format_duration(late) if late is not None else "longer"
    # Beyond an hour such forecasts are off by tens of minutes or more (see above).
    rough = "; a rough estimate" if mid > LOOKBACK_S else ""
    return f"{format_duration(mid)} ({first} to {last}) at the rate of the last hour{rough}"


def _of_balance(series: Series, family: Family, name: str) -> Forecast | None:
    balance = float(series.value[-1])
    if not np.isfinite(balance) or balance >= 0.995:
        return None
    if balance <= 0.005:
        return Forecast(
            family=family,
            balance_ratio=balance,
            change_per_s=0.0,
            empty_in_s=0.0,
            empty_in_s_low=0.0,
            empty_in_s_high=0.0,
            text=f"{name}: 0 % left at the end of the window",
        )
    slope, low, high = _slope(series, LOOKBACK_S)
    if slope is None:
        return None
    left = f"{name}: {format_ratio(balance)} left"
    if slope > -FALL_PER_S_MIN:
        text = f"{left}, not falling in the last hour"
        return _forecast(family, balance, slope, None, None, None, text)
    soon, mid = balance / max(-low, 1e-12), balance / -slope
    late = balance / -high if high < -FALL_PER_S_MIN else None
    text = f"{left}; empty in {_span(mid, soon, late)}"
    return _forecast(family, balance, slope, mid, soon, late, text)


def _of_space(series: Series, storage_bytes: float) -> Forecast | None:
    free = float(series.value[-1])
    slope, low, high = _slope(series, SPACE_LOOKBACK_S)
    if slope is None or not np.isfinite(free):
        return None
    span_s = float(min(SPACE_LOOKBACK_S, series.time_s[-1] - series.time_s[0]))
    # A fall of less than one percent of the storage over the observed time is not a trend.
    if slope * span_s > -0.01 * storage_bytes:
        return None
    mid = free / -slope
    late = free / -high if high < 0 else None
    left = f"storage space: {format_ratio(free / storage_bytes)} free"
    text = f"{left}; full in {format_duration(mid)} at the rate of the last {format_duration(span_s)}"
    text = text if free > 0 else left
    return _forecast(
        Family.STORAGE_SPACE, free / storage_bytes, slope / storage_bytes, mid, free / max(-low, 1e-12), late, text
    )


def _slope(series: Series, lookback_s: int) -> tuple[float | None, float, float]:
    """Return the slope per second over the last stretch, with a band of two standard errors."""
    recent = series.time_s >= series.time_s[-1] - lookback_s
    t, y = series.time_s[recent].astype(float), series.value[recent]
    known = np.isfinite(y)
    t, y = t[known], y[known]
    if t.size < 4:
        return None, 0.0, 0.0
    t = t - t.mean()
    power = float(np.sum(t * t))
    slope = float(np.sum(t * (y - y.mean())) / power)
    residual = y - y.mean() - slope * t
    # Neighbouring residuals of a load are correlated, so one in three counts: the variance is tripled.
    error = float(np.sqrt(np.sum(residual**2) / max(t.size - 2, 1) / power * 3))
    return slope, slope - 2 * error, slope + 2 * error


def _forecast(
    family: Family, balance: float, slope: float, mid: float | None, soon: float | None, late: float | None, text: str
) -> Forecast:
    return Forecast(
        family=family,
        balance_ratio=balance,
        change_per_s=slope,
        empty_in_s=mid,
        empty_in_s_low=soon,
        empty_in_s_high=late,
        text=text,
    )
