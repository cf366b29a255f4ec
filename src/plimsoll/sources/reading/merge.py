"""
Merge samples of one metric into one series: one statistic, one origin, one value per time.

1. Of several statistics the mean is used: Average, else Sum ÷ SampleCount. For a rate, a latency or a queue
nothing else is used, because the maximum of a minute does not show its mean. Other metrics that have only
Maximum or Minimum are used with a gap; sums and percentiles are not used.
2. If one part of an export has a finer period than another, coarser samples in its time range are dropped.
3. Equal times: equal values are one sample; of different ones the last is kept, with a gap.
4. Values that are not numbers, negative, or impossible for any instance are dropped and counted.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from plimsoll.model.family import BALANCES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray, IntArray, Series
from plimsoll.model.snapshot import Gap
from plimsoll.sources.reading.reading import Statistic
from plimsoll.sources.reading.resolve import ResolvedSamples
from plimsoll.sources.values.numbers import mean_of
from plimsoll.sources.values.shown import counted
from plimsoll.sources.values.steps import LONGEST_STEP_S, usual_step_s

DEFAULT_STEP_S = 60
"""Period of RDS's metrics (RDS User Guide), used for a single sample."""

# A judgement: rounding may put a percentage slightly above 100; more than 1 % above, it is not a percentage.
MOST_RATIO = 1.01

# The largest volume has 64 TiB (7e13 bytes), the largest instance 32 TiB of memory and 200 Gbit/s
# (2.5e10 bytes/s): ten quadrillion of anything is a broken file.
MOST_OF_ANYTHING = 1e16

# A judgement: fewer samples do not show their period, because two of them may enclose a gap.
FEWEST_FOR_PERIOD = 10

# Two channels round differently: a stream's sum ÷ count differs from CloudWatch's own average in
# the last digits. Twelve digits are kept by every format, so nine are the same number.
SAME = 1e-9


_ONLY_AS_MEAN = frozenset(
    {
        Metric.READ_BYTES_PER_S,
        Metric.WRITE_BYTES_PER_S,
        Metric.READ_OPS_PER_S,
        Metric.WRITE_OPS_PER_S,
        Metric.READ_LATENCY_S,
        Metric.WRITE_LATENCY_S,
        Metric.QUEUE_DEPTH,
    }
)


def merge(metric: Metric, parts: list[ResolvedSamples]) -> tuple[Series | None, list[Gap]]:
    """
    Return one series from all samples of a metric of one instance.

    Returns:
        The series, None if no sample is usable, and gaps.
    """
    chosen, gaps = _of_one_statistic(metric, parts)
    layers = [_plausible(metric, p) for p in chosen]
    dropped = sum(p.value.size - kept.value.size for p, kept in zip(chosen, layers, strict=True))
    if dropped:
        gaps.append(
            Gap(
                metric=metric.value,
                reason=f"{counted(dropped, 'sample')} dropped: not a number, negative or impossible",
                remedy="Export the metric again.",
            )
        )
    layers = _without_coarse_copies([p for p in layers if p.time_s.size])
    if not layers:
        return None, gaps
    time_s, value, conflicts = _one_per_time(*_joined(layers))
    if conflicts:
        at = counted(conflicts, "time")
        gaps.append(
            Gap(
                metric=metric.value,
                reason=f"conflicting duplicates at {at}; the last one read was kept",
                remedy="Keep one export of each metric and period in the folder.",
            )
        )
    step_s = _step_s(time_s, [p.period_s for p in layers if p.period_s is not None])
    return Series(metric=metric, step_s=step_s, time_s=time_s, value=value), gaps


def _step_s(time_s: IntArray, declared: list[int]) -> int:
    """Return the step that the times show, or the declared one if there are too few."""
    seen = usual_step_s(time_s)
    if declared and (seen is None or time_s.size < FEWEST_FOR_PERIOD):
        return min(declared)
    return seen or DEFAULT_STEP_S


def _of_one_statistic(metric: Metric, parts: list[ResolvedSamples]) -> tuple[list[ResolvedSamples], list[Gap]]:
    by_statistic: dict[Statistic, list[ResolvedSamples]] = {}
    for part in parts:
        by_statistic.setdefault(part.statistic, []).append(part)
    if Statistic.AVERAGE in by_statistic:
        return by_statistic[Statistic.AVERAGE], []
    if Statistic.SUM in by_statistic and Statistic.COUNT in by_statistic:
        return _means(by_statistic[Statistic.SUM], by_statistic[Statistic.COUNT]), []
    if metric in _ONLY_AS_MEAN:
        return [], [_no_mean(metric, by_statistic)]
    extremes = (Statistic.MAXIMUM, Statistic.MINIMUM)
    # The minimum of a balance shows whether credits ran out, so prefer it to the maximum.
    for statistic in reversed(extremes) if metric in BALANCES else extremes:
        if statistic in by_statistic:
            return by_statistic[statistic], [
                Gap(
                    metric=metric.value,
                    reason=f"the export has only the statistic {statistic}, which is used as the mean",
                    remedy="Export the statistic Average.",
                )
            ]
    return [], [_no_mean(metric, by_statistic)]


def _no_mean(metric: Metric, statistics: Iterable[Statistic]) -> Gap:
    names = ", ".join(statistics)
    return Gap(
        metric=metric.value,
        reason=f"the export has only the statistic {names}, which does not show the mean",
        remedy="Export the statistic Average.",
    )


def _means(sums: list[ResolvedSamples], counts: list[ResolvedSamples]) -> list[ResolvedSamples]:
    """Return Sum ÷ SampleCount at the times that have both."""
    time_s, total, _ = _one_per_time(*_joined(sums))
    count_time_s, count, _ = _one_per_time(*_joined(counts))
    both, at, count_at = np.intersect1d(time_s, count_time_s, assume_unique=True, return_indices=True)
    mean = mean_of(total[at], count[count_at])
    return [replace(sums[0], statistic=Statistic.AVERAGE, time_s=both, value=mean)]


def _joined(parts: list[ResolvedSamples]) -> tuple[IntArray, FloatArray]:
    if len(parts) == 1:  # shared as it is: the metrics of a table have the same times
        return parts[0].time_s, parts[0].value
    return np.concatenate([p.time_s for p in parts]), np.concatenate([p.value for p in parts])


def _plausible(metric: Metric, part: ResolvedSamples) -> ResolvedSamples:
    """Return the part without impossible values; ratios slightly above one become one."""
    is_ratio = METRICS[metric].unit == "ratio"
    most = MOST_RATIO if is_ratio else MOST_OF_ANYTHING
    keep = (part.value >= 0) & (part.value <= most)  # NaN compares false
    if keep.all() and not is_ratio:
        return part
    value = np.minimum(part.value[keep], 1.0) if is_ratio else part.value[keep]
    return replace(part, time_s=part.time_s if keep.all() else part.time_s[keep], value=value)


def _without_coarse_copies(parts: list[ResolvedSamples]) -> list[ResolvedSamples]:
    """Drop samples of a coarser period inside the time range of a finer part."""
    periods = [_period_s(p) for p in parts]
    finest_first = sorted(p for p in zip(periods, range(len(parts)), strict=True) if p[0] is not None)
    if len({period for period, _ in finest_first}) < 2:
        return parts
    kept = list(parts)
    ranges: list[tuple[int, int, int]] = []
    for period, index in finest_first:
        assert period is not None
        part = parts[index]
        copied = np.zeros(part.time_s.size, dtype=np.bool_)
        for finer, first, last in ranges:
            if finer < period:
                copied |= (part.time_s >= first) & (part.time_s <= last)
        ranges.append((period, int(part.time_s.min()), int(part.time_s.max())))
        kept[index] = replace(part, time_s=part.time_s[~copied], value=part.value[~copied])
    return [p for p in kept if p.time_s.size]


def _period_s(part: ResolvedSamples) -> int | None:
    if part.period_s is not None:
        return part.period_s
    if part.time_s.size < FEWEST_FOR_PERIOD:
        return None
    return usual_step_s(part.time_s)


def _one_per_time(time_s: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray, int]:
    """Return samples in order of time, the last read of each time, and how many times had two values."""
    difference = np.diff(time_s)
    if np.all(difference > 0):
        return time_s, value, 0
    if np.all(difference < 0):  # newest first, as CloudWatch answers unless asked otherwise
        return time_s[::-1].copy(), value[::-1].copy(), 0
    order = np.argsort(time_s, kind="stable")
    time_s, value = time_s[order], value[order]
    is_last = np.append(time_s[1:] != time_s[:-1], True)
    differs = (time_s[1:] == time_s[:-1]) & ~np.isclose(value[1:], value[:-1], rtol=SAME, atol=0, equal_nan=True)
    conflicts = np.unique(time_s[1:][differs]).size
    return time_s[is_last], value[is_last], conflicts


def longest_window_steps(series: Iterable[Series]) -> int:
    """Return the number of steps of the finest series over the whole window."""
    filled = [s for s in series if s.time_s.size]
    if not filled:
        return 0
    start = min(int(s.time_s[0]) for s in filled)
    end = max(int(s.time_s[-1]) for s in filled)
    return (end - start) // min(LONGEST_STEP_S, *(s.step_s for s in filled)) + 1
