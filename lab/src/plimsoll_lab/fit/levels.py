"""
Two limits in a set of measured rates: one on operations, one on bytes, and their knee.

Theory. A chain serves the minimum of what its stages allow. Over the I/O size, for requests that are not
merged, that is a constant number of operations up to the knee and a constant number of bytes above it.
So the points are split at a size: those below it show the operations, the others the bytes. The best
split is the one whose model is nearest to all points. The kernel computes what a request costs and
which stage binds.

Errors. In log(rate) the points of one branch scatter about one number; the two branches share the
scatter. The range of a branch's number is Student's t of the degrees of freedom left, times the
standard error of the mean.
"""

from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import numpy as np

from plimsoll.kernel import Stage, ceiling_curve
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll_lab.model.sweep import Estimate, SweepPoint

OPS, BYTES = "operations", "bytes"

# A second branch must improve the fit by as much as three standard errors (χ² of 9), and be visible: a
# knee that moves no point by two percent is not one.
CHI_SQUARE_MIN = 9.0
EFFECT_LOG_MIN = 0.02
# Clocks and counters have at least this error, however well the points agree by chance.
NOISE_LOG_MIN = 0.001
# Requests of one size agree with their mean; then each is charged in whole units.
ONE_SIZE_RATIO = 0.02
# Of Student's t, both sides together 5 %, for 1, 2, … degrees of freedom; beyond them the normal's.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)  # fmt: skip
# 97.5th percentile of the normal distribution: both sides together leave 5 %.
_NORMAL95 = 1.960


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The two limits, as logarithms, with their errors."""

    log_ops: float | None
    log_bytes: float | None
    is_ops: BoolArray
    """Which points the operations bind, shape (n,)."""
    residual: FloatArray
    """log(measured / model) of each point, shape (n,)."""
    noise_log: float | None
    """Standard deviation of a point; None where it is unknown."""
    freedom: int
    """Degrees of freedom behind it; 0 where it comes from the points' own errors."""

    @property
    def sum_of_squares(self) -> float:
        """Return the sum of squares of the residuals."""
        return float(np.sum(self.residual**2))

    @property
    def ops(self) -> Estimate | None:
        """Return the limit on operations."""
        return self._estimate(self.log_ops, self.is_ops)

    @property
    def bytes(self) -> Estimate | None:
        """Return the limit on bytes."""
        return self._estimate(self.log_bytes, ~self.is_ops)

    def _estimate(self, level: float | None, points: BoolArray) -> Estimate | None:
        if level is None:
            return None
        return estimate_of(level, self.error_of(points), self.freedom)

    def error_of(self, points: BoolArray) -> float | None:
        """Return the standard error of the mean of these points."""
        count = int(np.count_nonzero(points))
        return None if self.noise_log is None or count == 0 else self.noise_log / sqrt(count)

    @property
    def knee(self) -> Estimate | None:
        """Return the I/O size in bytes at which the two limits meet; None with only one of them."""
        # Bytes per second over operations per second is bytes per operation. The two branches have
        # independent errors, so their squares add up.
        if self.log_ops is None or self.log_bytes is None:
            return None
        errors = self.error_of(self.is_ops), self.error_of(~self.is_ops)
        both = None if None in errors else sqrt(sum((e or 0.0) ** 2 for e in errors))
        return estimate_of(self.log_bytes - self.log_ops, both, self.freedom)


def estimate_of(level: float, error: float | None, freedom: int) -> Estimate:
    """Return a number from its logarithm, with the range of 95 %; no range where the error is not known."""
    if error is None:
        return Estimate(value=exp(level))
    half = _t95(freedom) * error
    return Estimate(value=exp(level), low=exp(level - half), high=exp(level + half))


def _t95(freedom: int) -> float:
    """Return Student's t; freedom 0 means that the error does not come from these points."""
    return _T95[freedom - 1] if 0 < freedom <= len(_T95) else _NORMAL95


def charged_sizes(points: list[SweepPoint], unit_bytes: float | None) -> FloatArray:
    """
    Return the I/O size by which the kernel charges each point, bytes, shape (n,).

    The kernel charges a flow by its mean size. If all requests have one size above the unit, each is
    charged in whole units, and the size is rounded up to them.
    """
    sizes = np.array([point.effective_size_bytes for point in points])
    if unit_bytes is None:
        return sizes
    asked = np.array([point.io_size_bytes for point in points])
    is_one_size = np.abs(sizes / asked - 1) <= ONE_SIZE_RATIO
    # Counters and clocks make the mean differ slightly from the requested size.
    whole = np.array([ceil(size / unit_bytes) * unit_bytes for size in asked])
    rounded: FloatArray = np.where(is_one_size & (asked > unit_bytes), whole, sizes)
    return rounded


def model_log_ops(
    points: list[SweepPoint], log_ops: float | None, log_bytes: float | None, unit_bytes: float | None
) -> FloatArray:
    """Return log(ops/s) of a chain of these two limits at each point, shape (n,)."""
    log_rates = []
    if log_ops is not None:
        stage = _ops_stage(exp(log_ops), unit_bytes)
        curve = ceiling_curve([stage], charged_sizes(points, unit_bytes))
        log_rates.append(np.log(curve.ops_per_s))
    if log_bytes is not None:
        stage = Stage(name=BYTES, baseline=exp(log_bytes), burst=exp(log_bytes), counts="bytes")
        curve = ceiling_curve([stage], [point.effective_size_bytes for point in points])
        log_rates.append(np.log(curve.ops_per_s))
    least: FloatArray = np.minimum.reduce(log_rates)
    return least


def levels_of(points: list[SweepPoint], unit_bytes: float | None = None) -> Levels:
    """
    Return the two limits that are nearest to the points, or one if the other is not visible.

    Args:
        points: of one phase, direction and pattern, all decided by the storage; at least one.
        unit_bytes: the accounting unit to assume; None where size does not matter to operations.
    """
    log_ops = np.log([point.ops_per_s for point in points])
    log_size = np.log([point.effective_size_bytes for point in points])
    cost = _log_cost(points, unit_bytes)
    # In order of bytes per charged operation: the bytes limit binds those with the most.
    order = np.argsort(log_size - cost, kind="stable")
    one_only = [
        _parted(points, log_ops + cost, log_ops + log_size, is_ops, unit_bytes)
        for is_ops in (np.ones(len(points), dtype=bool), np.zeros(len(points), dtype=bool))
    ]
    # One limit is the simpler explanation; two must be better than chance to replace it.
    best = min(one_only, key=lambda levels: levels.sum_of_squares)
    both = []
    for cut in range(1, len(points)):
        is_ops = np.zeros(len(points), dtype=bool)
        is_ops[order[:cut]] = True
        both.append(_parted(points, log_ops + cost, log_ops + log_size, is_ops, unit_bytes))
    parted = min(both, key=lambda levels: levels.sum_of_squares, default=best)
    return parted if is_better(parted, best) else best


def is_better(levels: Levels, than: Levels) -> bool:
    """Return whether a model is nearer to the points by more than their noise explains."""
    gain = than.sum_of_squares - levels.sum_of_squares
    noise = levels.noise_log if levels.noise_log is not None else EFFECT_LOG_MIN
    seen = float(np.max(np.abs(than.residual - levels.residual)))
    return gain > CHI_SQUARE_MIN * noise**2 and seen > EFFECT_LOG_MIN


def _parted(
    points: list[SweepPoint], charged: FloatArray, moved: FloatArray, is_ops: BoolArray, unit_bytes: float | None
) -> Levels:
    """Return the limits if these points are bound by operations and the rest by bytes."""
    # In log(rate) the least-squares estimate of a constant is the mean.
    log_ops = float(np.mean(charged[is_ops])) if is_ops.any() else None
    log_bytes = float(np.mean(moved[~is_ops])) if (~is_ops).any() else None
    measured = np.log([point.ops_per_s for point in points])
    residual = measured - model_log_ops(points, log_ops, log_bytes, unit_bytes)
    noise, freedom = _noise(points, residual, (log_ops is not None) + (log_bytes is not None))
    return Levels(
        log_ops=log_ops, log_bytes=log_bytes, is_ops=is_ops, residual=residual, noise_log=noise, freedom=freedom
    )


def _noise(points: list[SweepPoint], residual: FloatArray, parameters: int) -> tuple[float | None, int]:
    """Return the standard deviation of a point and its degrees of freedom."""
    freedom = len(points) - parameters
    errors = [point.error_ratio for point in points if point.error_ratio is not None]
    own = sqrt(float(np.mean(np.square(errors)))) if len(errors) == len(points) else None
    if freedom <= 0:
        return (None, 0) if own is None else (max(own, NOISE_LOG_MIN), 0)
    # The larger of scatter and the points' own errors: each can be small by chance.
    scatter = max(sqrt(float(np.sum(residual**2)) / freedom), NOISE_LOG_MIN)
    if own is not None and own >= scatter:
        return own, 0
    return scatter, freedom


def _log_cost(points: list[SweepPoint], unit_bytes: float | None) -> FloatArray:
    """Return the log of the operations that one request of each point is charged as, shape (n,)."""
    stage = _ops_stage(1.0, unit_bytes)
    sizes = charged_sizes(points, unit_bytes)
    return np.array([log(stage.cost_per_op(float(size))) for size in sizes])


def _ops_stage(rate: float, unit_bytes: float | None) -> Stage:
    return Stage(name=OPS, baseline=rate, burst=rate, counts="ops", unit_bytes=unit_bytes)
