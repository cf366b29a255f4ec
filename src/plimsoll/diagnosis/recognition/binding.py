"""
The documented limits that may explain a level: instance or volume, baseline or burst, present or legacy.

Theory. An instance enforces its published number within about a percent (published incidents: 213 for
212.5 MB/s, 86 for 86.875, 443 for 437.5). So a level is compared with every number documented for the
class, present and legacy, and with "none of these". Credits decide between baseline and burst: a
baseline binds only when its balance is empty, a burst only while it is not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.order import quantile
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray

# Enforced ÷ published: centre and spread. The published incidents and token-bucket practice lie between
# 0.985 and 1.013; the middle of them is a little below nominal.
ENFORCED_LOG_CENTRE = -0.003
ENFORCED_LOG_SD = 0.006
# Beyond this many spreads a number is another number.
MATCH_Z_MAX = 2.7
# About one in ten plateaus observed in the field is at no documented number, and such a level may be
# anywhere within a factor of twenty (three e-folds).
UNKNOWN_SHARE = 0.1
UNKNOWN_LOG_RANGE = 3.0
# Balances are published in whole percents: 1 % may be an empty bucket.
EMPTY_RATIO = 0.016


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceView:
    """One balance metric during the stretches at a level."""

    low: float
    """10th percentile, 0–1."""
    high: float
    """90th percentile, 0–1."""
    change_per_s: float
    """Median slope, ratio per second; negative while credits are spent."""

    @property
    def is_empty(self) -> bool:
        """Return whether it was at zero for most of the time."""
        return (self.low + self.high) / 2 <= EMPTY_RATIO or self.low <= EMPTY_RATIO / 2

    @property
    def was_never_empty(self) -> bool:
        """Return whether credits were left all the time."""
        return self.low > 3 * EMPTY_RATIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One explanation of a level: a documented ceiling, or None for an unknown limit."""

    ceiling: Ceiling | None
    probability: float
    """Posterior 0–1 among all explanations."""
    z: float
    """Distance in spreads; NaN for the unknown limit."""


def matches_of(
    level: float,
    *,
    level_log_se: float,
    dimension: Dimension,
    ceilings: Iterable[Ceiling],
    balances: dict[Metric, BalanceView],
) -> tuple[Match, ...]:
    """
    Return every explanation of a level, most probable first; probabilities sum to one.

    Args:
        level: bytes/s or ops/s, reads and writes together.
        level_log_se: standard error of log(level).
        dimension: what the level is a rate of.
        ceilings: all documented ceilings of the instance.
        balances: what each balance metric said while the level was held; absent where not measured.
    """
    rows = [c for c in ceilings if c.family in RATE_FAMILIES and c.dimension == dimension and c.value > 0]
    spread = float(np.hypot(ENFORCED_LOG_SD, level_log_se))
    # A uniform density over the range in which an undocumented limit may lie, per unit of
    # log(rate).
    unknown = UNKNOWN_SHARE / UNKNOWN_LOG_RANGE
    weights: list[tuple[Ceiling | None, float, float]] = [(None, unknown, float("nan"))]
    # Bayes' rule: the prior gives every documented number the same share.
    share = (1 - UNKNOWN_SHARE) / max(len(rows), 1)
    for row in rows:
        z = matching_z(level, row.value, level_log_se)
        if z is None:
            continue
        # The likelihood is a normal density in log(rate), like that of the unknown limit above.
        density = float(np.exp(-0.5 * z * z) / (spread * np.sqrt(2 * np.pi)))
        weight = share * density * credit_factor(row, balances) * _age_factor(row)
        weights.append((row, weight, float(z)))
    total = sum(weight for _, weight, _ in weights)
    found = [Match(ceiling=row, probability=weight / total, z=z) for row, weight, z in weights if weight > 0]
    return tuple(sorted(found, key=lambda m: -m.probability))


def matching_z(level: float, value: float, level_log_se: float) -> float | None:
    """Return the distance of a level from a published number, in spreads; None where it is another."""
    spread = float(np.hypot(ENFORCED_LOG_SD, level_log_se))
    z = float(np.log(level / value) - ENFORCED_LOG_CENTRE) / spread
    return z if abs(z) <= MATCH_Z_MAX else None


def likeness(match: Match) -> float:
    """Return how well a level fits its number, 0–1, by its distance; less for a legacy number."""
    if match.ceiling is None:
        return 1.0
    return float(np.exp(-0.5 * match.z**2)) * _age_factor(match.ceiling)


def near_documented(rate: FloatArray, dimension: Dimension, ceilings: Iterable[Ceiling]) -> BoolArray:
    """Return samples within three percent of some documented number of this dimension, shape (n,)."""
    near = np.zeros(rate.size, dtype=bool)
    most = float(np.fmax.reduce(rate, initial=0.0))
    for row in ceilings:
        is_rate = row.family in RATE_FAMILIES and row.dimension == dimension
        # No sample comes near a number that is far above all of them.
        if is_rate and not most < 0.9 * row.value:
            # Wider than a match: here samples are collected, and their median decides later.
            near |= np.abs(rate / row.value - 1) < 0.03
    return near


def allowed_by_credits(row: Ceiling | None, balances: dict[Metric, FloatArray]) -> BoolArray | bool:
    """Return samples in which the credits allow this row to bind, shape (n,); True without a balance."""
    values = balances.get(row.balance_metric) if row and row.balance_metric else None
    if row is None or values is None:
        return True
    if row.bucket_phase == Phase.BASELINE:
        # A reading covers five minutes, so a low one may include the last credits.
        return ~(values > 3 * EMPTY_RATIO)
    if row.bucket_phase == Phase.BURST:
        return ~(values <= 0)
    return True


def credit_factor(row: Ceiling, balances: dict[Metric, BalanceView]) -> float:
    """Return the likelihood factor of the credits for this row: 0 excludes it, 1 is no evidence."""
    if row.balance_metric is None:
        return 1.0
    view = balances.get(row.balance_metric)
    if view is None:
        return 1.0
    if row.bucket_phase == Phase.BASELINE:
        # An empty bucket is the mechanism by which a baseline binds.
        if view.is_empty:
            return 6.0
        # A balance that is well filled throughout cannot be what throttles.
        return 0.0 if view.was_never_empty else 0.5
    if row.bucket_phase == Phase.BURST:
        # Nearly refuted: a burst needs credits, but the metric is rounded and lags by up to five
        # minutes.
        if view.is_empty and view.high <= EMPTY_RATIO:
            return 0.03
        # A burst spends credits, so a falling balance agrees with it.
        return 2.0 if view.change_per_s < 0 else 1.0
    return 1.0


def _age_factor(row: Ceiling) -> float:
    # Most instances have been stopped at least once since a number changed.
    return 0.5 if row.phase == Phase.LEGACY else 1.0


def balance_view(values: FloatArray, time_s: IntArray, runs: IntArray) -> BalanceView | None:
    """
    Return the low, the high and the slope of a balance during some runs of samples.

    A reading describes the five minutes before it, so the first tenth of each run is left out.

    Args:
        values: the balance, 0–1, shape (n,); NaN where it was not read.
        time_s: start of each sample.
        runs: first and one-past-last sample of each run, shape (k, 2).
    """
    starts, ends = runs[:, 0], runs[:, 1]
    lengths = ends - starts
    starts = np.where(lengths > 3, starts + np.maximum(1, lengths // 10), starts)
    lengths = ends - starts
    # The samples of all runs, one after the other, and the run of each.
    run = np.repeat(np.arange(lengths.size), lengths)
    at = np.arange(run.size) + (starts - (np.cumsum(lengths) - lengths))[run]
    finite = np.isfinite(values[at])
    at, run = at[finite], run[finite]
    if not at.size:
        return None
    firsts = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    first, last = at[firsts], at[np.append(firsts[1:] - 1, at.size - 1)]
    first, last = first[last > first], last[last > first]
    slopes = (values[last] - values[first]) / (time_s[last] - time_s[first])
    every = values[at]
    return BalanceView(
        low=quantile(every, 0.1),
        high=quantile(every, 0.9),
        change_per_s=float(np.median(slopes)) if slopes.size else 0.0,
    )
