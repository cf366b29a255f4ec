"""
The statistics of a window: means, percentiles and peaks of every compared quantity.

Rule 1: every sample counts for the time it covers, or as the caller weighs it. The mean of a latency
        is weighted by operations, because a quiet minute has fewer requests than a busy one.
Rule 2: a quantity that was not measured is None with the reason, never a number from the other
        direction.

No number here has a confidence interval: samples of a workload are correlated over hours, so an
interval from them would be too narrow.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame, sample_widths
from plimsoll.model.comparison import MeasuredQuantity, WindowStatistic
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.model.snapshot import Gap, Snapshot

Weigh = Callable[[IntArray, FloatArray], FloatArray]
"""From starts and lengths of samples, shape (n,), to their weights; zero leaves a sample out."""

# Below a tenth a balance counts as low: alarms are usually set there, and of half an hour of burst
# three minutes are left.
LOW_BALANCE_RATIO = 0.1

_QUANTILES = {WindowStatistic.MEDIAN: 0.5, WindowStatistic.P95: 0.95, WindowStatistic.P99: 0.99}
_RATE = (WindowStatistic.MEAN, WindowStatistic.MEDIAN, WindowStatistic.P95, WindowStatistic.P99, WindowStatistic.PEAK)
_LATENCY = (WindowStatistic.MEAN, WindowStatistic.MEDIAN, WindowStatistic.P95)
_QUEUE = (WindowStatistic.MEAN, WindowStatistic.MEDIAN, WindowStatistic.P95, WindowStatistic.PEAK)
_BALANCE = (WindowStatistic.LOWEST, WindowStatistic.BELOW_TENTH)

STATISTICS: dict[MeasuredQuantity, tuple[WindowStatistic, ...]] = {
    MeasuredQuantity.THROUGHPUT: _RATE,
    MeasuredQuantity.READ_THROUGHPUT: _RATE,
    MeasuredQuantity.WRITE_THROUGHPUT: _RATE,
    MeasuredQuantity.IOPS: _RATE,
    MeasuredQuantity.READ_IOPS: _RATE,
    MeasuredQuantity.WRITE_IOPS: _RATE,
    MeasuredQuantity.IO_SIZE: (WindowStatistic.MEAN,),
    MeasuredQuantity.READ_LATENCY: _LATENCY,
    MeasuredQuantity.WRITE_LATENCY: _LATENCY,
    MeasuredQuantity.QUEUE_DEPTH: _QUEUE,
    MeasuredQuantity.BYTE_BALANCE: _BALANCE,
    MeasuredQuantity.IO_BALANCE: _BALANCE,
    MeasuredQuantity.VOLUME_BALANCE: _BALANCE,
    MeasuredQuantity.CPU: (WindowStatistic.MEAN, WindowStatistic.P95, WindowStatistic.PEAK),
    MeasuredQuantity.CONNECTIONS: (WindowStatistic.MEAN, WindowStatistic.PEAK),
    MeasuredQuantity.FREE_MEMORY: (WindowStatistic.MEAN, WindowStatistic.LOWEST),
}

_BYTES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
_OPS = (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
# The metrics of each subject; it has the unit of the first.
METRICS_OF: dict[MeasuredQuantity, tuple[Metric, ...]] = {
    MeasuredQuantity.THROUGHPUT: _BYTES,
    MeasuredQuantity.READ_THROUGHPUT: _BYTES[:1],
    MeasuredQuantity.WRITE_THROUGHPUT: _BYTES[1:],
    MeasuredQuantity.IOPS: _OPS,
    MeasuredQuantity.READ_IOPS: _OPS[:1],
    MeasuredQuantity.WRITE_IOPS: _OPS[1:],
    MeasuredQuantity.IO_SIZE: (*_BYTES, *_OPS),
    MeasuredQuantity.READ_LATENCY: (Metric.READ_LATENCY_S,),
    MeasuredQuantity.WRITE_LATENCY: (Metric.WRITE_LATENCY_S,),
    MeasuredQuantity.QUEUE_DEPTH: (Metric.QUEUE_DEPTH,),
    MeasuredQuantity.BYTE_BALANCE: (Metric.BYTE_BALANCE_RATIO,),
    MeasuredQuantity.IO_BALANCE: (Metric.IO_BALANCE_RATIO,),
    MeasuredQuantity.VOLUME_BALANCE: (Metric.VOLUME_BALANCE_RATIO,),
    MeasuredQuantity.CPU: (Metric.CPU_RATIO,),
    MeasuredQuantity.CONNECTIONS: (Metric.CONNECTION_COUNT,),
    MeasuredQuantity.FREE_MEMORY: (Metric.FREEABLE_MEMORY_BYTES,),
}
_OPERATIONS_OF = {
    MeasuredQuantity.READ_LATENCY: Metric.READ_OPS_PER_S,
    MeasuredQuantity.WRITE_LATENCY: Metric.WRITE_OPS_PER_S,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number of one window, or why there is none."""

    value: float | None
    gaps: tuple[Gap, ...] = ()
    """Empty where the value is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WeighedSamples:
    """The samples of one subject: only finite values with a weight; shape (n,) each."""

    value: FloatArray
    weight: FloatArray
    operations: FloatArray | None = None
    """For a latency, operations per second; None where they were not measured."""


def by_time(_time_s: IntArray, width_s: FloatArray) -> FloatArray:
    """Return the seconds that each sample covers as its weight."""
    return width_s


def unit_of(subject: MeasuredQuantity, statistic: WindowStatistic) -> str:
    """Return the unit of a number: that of its metric, but a share is a ratio."""
    if statistic is WindowStatistic.BELOW_TENTH:
        return "ratio"
    return "bytes" if subject is MeasuredQuantity.IO_SIZE else METRICS[METRICS_OF[subject][0]].unit


def measures_of(
    snapshot: Snapshot, frame: Frame | None, weigh: Weigh = by_time
) -> dict[tuple[MeasuredQuantity, WindowStatistic], Measure]:
    """
    Return every number of `STATISTICS`, in its order.

    Args:
        snapshot: one window.
        frame: its storage metrics; None where there are none.
        weigh: what each sample counts.
    """
    found = {}
    for subject, statistics in STATISTICS.items():
        samples = _samples(subject, snapshot, frame, weigh)
        for statistic in statistics:
            found[subject, statistic] = _measure(subject, statistic, samples, snapshot)
    return found


def weighted_quantile(value: FloatArray, weight: FloatArray, q: float) -> float:
    """
    Return the smallest value that is not exceeded in a share `q` of the weight.

    Args:
        value: finite, shape (n,), n > 0.
        weight: > 0, shape (n,).
        q: 0–1.
    """
    # Not stable, which takes several times as long: equal values are one number, in whatever order they stand.
    order = np.argsort(value)
    reached = np.cumsum(weight[order])
    # A share that falls exactly on a sample must not slip to the next by the last bit of a sum.
    at = np.searchsorted(reached, q * reached[-1] * (1 - 1e-12), side="left")
    return float(value[order[min(int(at), value.size - 1)]])


def _samples(
    subject: MeasuredQuantity, snapshot: Snapshot, frame: Frame | None, weigh: Weigh
) -> _WeighedSamples | None:
    columns = _columns(frame) if frame is not None else {}
    operations = None
    if subject in columns:
        assert frame is not None
        value, time_s, width_s = columns[subject], frame.time_s, frame.width_s
        operations = _operations(subject, frame)
    else:
        series = snapshot.series.get(METRICS_OF[subject][0])
        if series is None:
            return None
        value, time_s = series.value, series.time_s
        width_s = sample_widths(time_s, series.step_s)
    weight = weigh(time_s, width_s)
    counts = np.isfinite(value) & (weight > 0)
    if operations is not None:
        # CloudWatch gives a latency of zero for a minute without an operation.
        counts &= ~(operations == 0)
    if not counts.any():
        return None
    return _WeighedSamples(
        value=value[counts], weight=weight[counts], operations=None if operations is None else operations[counts]
    )


def _columns(frame: Frame) -> dict[MeasuredQuantity, FloatArray]:
    """Return the columns of the frame by subject; a sum is unknown where either direction is."""
    plain_ops = frame.read_ops_per_s + frame.write_ops_per_s
    with np.errstate(all="ignore"):
        size = np.where(plain_ops > 0, frame.bytes_per_s / plain_ops, np.nan)
    return {
        MeasuredQuantity.THROUGHPUT: frame.bytes_per_s,
        MeasuredQuantity.READ_THROUGHPUT: frame.read_bytes_per_s,
        MeasuredQuantity.WRITE_THROUGHPUT: frame.write_bytes_per_s,
        MeasuredQuantity.IOPS: frame.ops_per_s,
        MeasuredQuantity.READ_IOPS: frame.read_ops_per_s,
        MeasuredQuantity.WRITE_IOPS: frame.write_ops_per_s,
        MeasuredQuantity.IO_SIZE: size,
        MeasuredQuantity.READ_LATENCY: frame.read_latency_s,
        MeasuredQuantity.WRITE_LATENCY: frame.write_latency_s,
    }


def _operations(subject: MeasuredQuantity, frame: Frame) -> FloatArray | None:
    """Return the operations by which the mean of this subject is weighted; None for others."""
    operations = {
        MeasuredQuantity.READ_LATENCY: frame.read_ops_per_s,
        MeasuredQuantity.WRITE_LATENCY: frame.write_ops_per_s,
        MeasuredQuantity.IO_SIZE: frame.read_ops_per_s + frame.write_ops_per_s,
    }.get(subject)
    return None if operations is None or not np.isfinite(operations).any() else operations


def _measure(
    subject: MeasuredQuantity, statistic: WindowStatistic, samples: _WeighedSamples | None, snapshot: Snapshot
) -> Measure:
    if samples is None:
        return Measure(value=None, gaps=_gaps(METRICS_OF[subject], snapshot))
    value, weight = samples.value, samples.weight
    if statistic is WindowStatistic.MEAN and subject in (*_OPERATIONS_OF, MeasuredQuantity.IO_SIZE):
        operations = samples.operations
        if operations is None or not np.isfinite(operations).any():
            return Measure(value=None, gaps=_gaps((_OPERATIONS_OF[subject],), snapshot))
        known = np.isfinite(operations)
        value, weight = value[known], weight[known] * operations[known]
    return Measure(value=_number(statistic, value, weight))


def _number(statistic: WindowStatistic, value: FloatArray, weight: FloatArray) -> float:
    if statistic is WindowStatistic.MEAN:
        # Relative to a value that occurs, so that equal samples have exactly that mean.
        first = float(value[0])
        return first + float(np.average(value - first, weights=weight))
    if statistic is WindowStatistic.PEAK:
        return float(value.max())
    if statistic is WindowStatistic.LOWEST:
        return float(value.min())
    if statistic is WindowStatistic.BELOW_TENTH:
        return float(weight[value < LOW_BALANCE_RATIO].sum() / weight.sum())
    return weighted_quantile(value, weight, _QUANTILES[statistic])


def _gaps(metrics: Iterable[Metric], snapshot: Snapshot) -> tuple[Gap, ...]:
    """Return the metrics missing for a number, by CloudWatch's name, with the source's reason."""
    known = {gap.metric: gap for gap in snapshot.gaps}
    needed = [(m, METRICS[m].cloudwatch or m.value) for m in metrics]
    absent = [
        Gap(metric=name, reason=known[m].reason, remedy=known[m].remedy)
        if m.value in known
        else Gap(metric=name, reason="not measured", remedy="")
        for m, name in needed
        if not _has(snapshot, m)
    ]
    if absent:
        return tuple(absent)
    names = ", ".join(name for _, name in needed)
    return (Gap(metric=names, reason="not measured at the same time", remedy=""),)


def _has(snapshot: Snapshot, metric: Metric) -> bool:
    series = snapshot.series.get(metric)
    return series is not None and bool(np.isfinite(series.value).any())
