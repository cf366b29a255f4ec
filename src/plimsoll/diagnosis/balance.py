"""
The refill rate, the capacity and the grants of a bucket, learned from its balance metric.

Theory. While a bucket is neither full nor empty its balance is b(t) = b0 + (B/C)·t − S(t)/C, with S the
bytes or operations served so far. So B (refill) and C (capacity) follow from a regression of the
*levels* on time and on S; differences would drown in the rounding of the metric. AWS publishes neither
number for instance buckets; what is shown is a fit, with its error, and jumps that no refill explains.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of, sample_widths
from plimsoll.model.ceiling import Family
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import BucketFit
from plimsoll.model.family import BALANCES, FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray, Series
from plimsoll.units import format_bytes, format_bytes_per_s, format_clock, format_duration, format_ops_per_s, number

# Balances are published rounded; within two percent of full or empty the clamp may be at work.
CLAMP_RATIO = 0.02
# Two numbers and a start for each stretch are fitted; fewer readings would leave nothing to judge
# them by.
READINGS_MIN = 8
# The published study of this regression covered the truth in 79–87 % of its nominal 95 % intervals;
# 1.5 times the error makes them honest.
ERROR_INFLATION = 1.5
# In the study of this regression, fits with less than 5 % standard error were off by 0.3 % in the
# median.
RELIABLE_RATIO = 0.05
# A grant is a jump that refill cannot explain: several percent within one reading.
GRANT_RATIO = 0.04


@dataclass(frozen=True, slots=True)
class _Readings:
    time_s: FloatArray
    """Middle of each reading's period."""
    balance: FloatArray
    served: FloatArray
    """Served since the first sample, averaged over the reading's period."""
    stretch: FloatArray
    """Which unclamped stretch each reading belongs to."""


def bucket_fits(frame: Frame, balances: dict[Metric, Series]) -> tuple[BucketFit, ...]:
    """
    Return the buckets that can be learned from this window.

    Args:
        frame: served rates on their grid.
        balances: the balance series as they were read, not repeated on the grid.

    Source:
        Regression on levels after the EBS burst documentation: credits arrive at the baseline and
        leave as they are served.
    """
    fits = []
    for metric, family in BALANCES.items():
        series = balances.get(metric)
        if series is None or series.time_s.size < READINGS_MIN:
            continue
        # A balance that is always full or empty is clamped throughout, and nothing follows from it.
        if np.count_nonzero(_is_unclamped(series.value)) < READINGS_MIN:
            continue
        rate = frame.bytes_per_s if FAMILIES[family].counts == "bytes" else frame.ops_per_s
        name = FAMILIES[family].credits_name
        fit = guarded(f"the bucket of {name}", partial(_fit, family, series, rate, frame), None)
        if fit is not None:
            fits.append(fit)
    return tuple(fits)


def _fit(family: Family, series: Series, rate: FloatArray, frame: Frame) -> BucketFit | None:
    readings, grants = _readings(series, rate, frame)
    if readings is None:
        return None
    solved = _regress(readings)
    if solved is None:
        return None
    baseline, baseline_se, capacity, capacity_se, residual = solved
    # At this error the capacity may be a third or three times as large: the fit is of no use.
    if not (capacity > 0 and baseline > 0) or capacity_se > 0.6 * capacity:
        return None
    clock = _clock_of(grants)
    reliable = capacity_se < RELIABLE_RATIO * capacity
    fit = BucketFit(
        family=family,
        baseline=baseline,
        baseline_se=baseline_se,
        capacity=capacity,
        capacity_se=capacity_se,
        sample_count=int(readings.balance.size),
        residual_ratio=residual,
        is_reliable=reliable,
        grant_s=tuple(grants),
        grant_clock=clock,
    )
    return BucketFit(**{f: getattr(fit, f) for f in fit.__struct_fields__ if f != "text"}, text=_sentence(fit))


def _readings(series: Series, rate: FloatArray, frame: Frame) -> tuple[_Readings | None, list[int]]:
    """Return unclamped readings with what had been served by then, split at gaps, clamps and grants."""
    width = sample_widths(series.time_s, series.step_s)
    starts, ends = series.time_s.astype(float), series.time_s + width
    # Both ends of every sample: what lies between samples was not measured, and is a hole.
    begins = frame.time_s.astype(float)
    edges = np.column_stack((begins, begins + frame.width_s)).ravel()
    known = np.isfinite(rate)
    total = _running(np.where(known, rate, 0.0) * frame.width_s, np.zeros(rate.size))
    # A reading stands for its whole period (five minutes under basic monitoring), so what had been
    # served is averaged over that period too.
    points = np.linspace(0, 1, 6)
    at = starts[:, None] + (ends - starts)[:, None] * points
    served = np.interp(at, edges, total).mean(axis=1)
    apart_s = np.append(np.diff(begins) - frame.width_s[:-1], 0.0)
    hole = _running(np.where(known, 0.0, frame.width_s), np.maximum(apart_s, 0.0))
    # What was served in a hole is unknown, so the readings on both sides have different starts.
    hole_s = np.interp(ends, edges, hole) - np.interp(starts - width, edges, hole)
    balance = series.value
    free = _is_unclamped(balance) & (hole_s <= 0)
    free &= (starts >= edges[0]) & (ends <= edges[-1])
    jump = np.diff(balance, prepend=balance[0])
    # One lost reading is bridged; after more, a jump may be plain refill.
    follows = np.diff(series.time_s, prepend=series.time_s[0]) <= 2 * width
    grant = _grants(jump, follows, width)
    stretch = np.cumsum(~free | ~follows | grant)
    keep = np.zeros(balance.size, dtype=bool)
    for start, end in runs_of(free):
        # The reading after a clamp or a grant is partly clamped itself.
        if end - start >= 4:
            keep[start + 1 : end - 1] = True
    keep &= ~grant
    moments = [int(t) for t in series.time_s[grant]]
    if keep.sum() < READINGS_MIN:
        return None, moments
    middle = (starts + ends) / 2
    return (_Readings(middle[keep], balance[keep], served[keep], stretch[keep].astype(float)), moments)


def _is_unclamped(balance: FloatArray) -> BoolArray:
    """Return which readings are neither full nor empty."""
    is_free: BoolArray = (balance > CLAMP_RATIO) & (balance < 1 - CLAMP_RATIO)
    return is_free


def _running(within: FloatArray, after: FloatArray) -> FloatArray:
    """Return the running sum at both ends of every sample, from amounts within and after each."""
    parts = np.column_stack((within, after)).ravel()
    return np.concatenate(([0.0], np.cumsum(parts)))[:-1]


def _grants(jump: FloatArray, follows: BoolArray, width: FloatArray) -> BoolArray:
    rises = jump[(jump > 0) & follows]
    # Nine in ten of the rises are refill; fewer than ten rises do not show the usual one.
    usual = float(np.quantile(rises, 0.9)) if rises.size >= 10 else 0.0
    # Five minutes of pure refill of a half-hour bucket is about 5 %; a grant is well above the usual rise.
    floor = np.maximum(GRANT_RATIO, 0.08 * width / 300)
    mask: BoolArray = (jump > np.maximum(floor, 3 * usual)) & follows
    return mask


def _regress(readings: _Readings) -> tuple[float, float, float, float, float] | None:
    """Return b, its error, C, its error and the residual, by Huber-weighted least squares."""
    stretch = readings.stretch
    groups, inverse = np.unique(stretch, return_inverse=True)
    index: IntArray = inverse.astype(np.int64)
    count = np.bincount(index)
    # Each stretch has a start of its own; with two readings its slope is all that is left.
    usable = count[index] >= 3
    if usable.sum() < READINGS_MIN or usable.sum() <= groups.size + 2:
        return None
    hours = readings.time_s / 3600
    scale = max(float(np.ptp(readings.served[usable])), 1.0)
    columns = np.column_stack((hours, readings.served / scale))
    y = readings.balance
    weight = usable.astype(float)
    for _ in range(6):
        x_c, y_c = _centred(columns, y, index, weight)
        root = np.sqrt(weight)
        gram = (x_c * weight[:, None]).T @ x_c
        # Under a steady load time and amount served rise together, and the regression cannot
        # separate refill from capacity.
        if np.linalg.cond(gram) > 1e10:
            return None
        beta, *_ = np.linalg.lstsq(x_c * root[:, None], y_c * root, rcond=None)
        residual = y_c - x_c @ beta
        # 1.4826 × the median deviation is the standard deviation of a normal error. Published
        # balances are rounded, so no fit is better than half a tenth of a percent.
        sd = max(1.4826 * float(np.median(np.abs(residual[usable]))), 5e-4)
        # Huber's weights: a reading further off than 1.5 standard deviations counts in proportion
        # less.
        weight = usable * np.minimum(1.0, 1.5 * sd / np.maximum(np.abs(residual), 1e-12))
    # More served has to mean fewer credits; otherwise it was not this bucket that was spent.
    if beta[1] >= 0:
        return None
    power = float(np.sum(weight * residual**2) / max(weight.sum() - 2 - groups.size, 1))
    related = float(np.clip(np.sum(residual[1:] * residual[:-1]) / max(np.sum(residual**2), 1e-12), 0, 0.9))
    # Neighbouring residuals are alike, so the readings count as fewer (first-order
    # autocorrelation).
    inflate = (1 + related) / (1 - related) * ERROR_INFLATION**2
    covariance = np.linalg.inv(gram) * power * inflate
    # By b(t) = b0 + (B/C)·t − S(t)/C: the slope on S is −1/C and the slope on time is B/C. The relative
    # errors of both follow by the delta method.
    capacity = -scale / beta[1]
    capacity_se = capacity * float(np.sqrt(covariance[1, 1])) / abs(beta[1])
    baseline = beta[0] / 3600 * capacity
    gradient = np.array([1 / beta[0] if beta[0] else 0.0, -1 / beta[1]])
    relative = float(np.sqrt(max(gradient @ covariance @ gradient, 0.0)))
    return baseline, abs(baseline) * relative, capacity, capacity_se, float(np.sqrt(power))


def _centred(columns: FloatArray, y: FloatArray, index: IntArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns and target minus their weighted mean in each stretch, because each has its own b0."""
    total = np.maximum(np.bincount(index, weights=weight), 1e-12)
    x_c = np.empty_like(columns)
    for j in range(columns.shape[1]):
        mean = np.bincount(index, weights=weight * columns[:, j]) / total
        x_c[:, j] = columns[:, j] - mean[index]
    return x_c, y - (np.bincount(index, weights=weight * y) / total)[index]


def _clock_of(grants: list[int]) -> str | None:
    """Return the time of day of the grants, if there are several and they agree within half an hour."""
    if len(grants) < 2:
        return None
    # A mean on the circle, because 23:55 and 00:05 are ten minutes apart.
    angle = np.array(grants) % 86400 / 86400 * 2 * np.pi
    mean = np.angle(np.mean(np.exp(1j * angle)))
    off = np.abs(np.angle(np.exp(1j * (angle - mean)))) / (2 * np.pi) * 86400
    if float(off.max()) > 1800:
        return None
    seconds = round(float(mean) / (2 * np.pi) * 86400) % 86400
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d} UTC"


def _sentence(fit: BucketFit) -> str:
    is_bytes = FAMILIES[fit.family].counts == "bytes"
    error = f"± {number(100 * 1.96 * fit.capacity_se / fit.capacity, 2)} %"
    if is_bytes:
        size, refill = format_bytes(fit.capacity), format_bytes_per_s(fit.baseline)
    else:
        size, refill = f"{number(fit.capacity, 3)} operations", format_ops_per_s(fit.baseline)
    rough = "" if fit.is_reliable else "a rough estimate: "
    text = (
        f"{rough}the bucket holds {size} ({error}) and refills at {refill}; when idle it fills "
        f"in {format_duration(fit.capacity / fit.baseline)} "
        f"({fit.sample_count} readings, fitted within {number(100 * fit.residual_ratio, 2)} %)"
    )
    if fit.grant_clock:
        text += f"; credits are also granted daily at about {fit.grant_clock}"
    elif fit.grant_s:
        text += f"; credits rose at {format_clock(fit.grant_s[0])} without a pause in use"
    return text
