"""
The data of a timeline: bucketed samples, ceiling lines, and time at a ceiling.

A window may hold a year of minutes, a picture two thousand points: samples are put into buckets
of equal length, and each bucket keeps its mean, smallest and largest value, so that neither a
plateau nor a spike disappears.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, IntArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.render import words

READS_AND_WRITES = {
    Dimension.THROUGHPUT: (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S),
    Dimension.IOPS: (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S),
}

# Lengths of a bucket that people read as a unit of time, in seconds.
_ROUND_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200),
    *(86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400),
)

# A ceiling more than this many times the peak would flatten what was measured to a line on the
# axis: a tenth is the last share of a picture in which a shape can be seen.
_FAR = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A quantity per bucket; NaN where nothing was measured. All of shape (n,)."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A horizontal line in a timeline."""

    value: float
    """bytes/s or ops/s"""
    label: str
    is_bound: bool
    """Whether the rate was at this ceiling for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSamples:
    """The series of a snapshot on one grid of buckets."""

    start_s: int
    bucket_s: float
    time_s: FloatArray
    """Middle of each bucket, epoch seconds, shape (n,)."""
    metric: Mapping[Metric, Buckets]
    total: Mapping[Dimension, Buckets]
    """Reads and writes together, only where both were measured."""
    is_reduced: bool
    """Whether a bucket holds more than one sample."""


def bucket_length(window_s: tuple[int, int], step_s: int, points_max: int) -> int:
    """Return the seconds per bucket: a whole number of steps, a round one if possible, few enough buckets."""
    # Without storage metrics there is no step; then the buckets are as many as there may be.
    step_s = max(step_s, 1)
    shortest = (window_s[1] - window_s[0]) / points_max
    if step_s >= shortest:
        return step_s
    for length in _ROUND_S:
        # A round length is not worth a picture of a few points.
        if shortest <= length <= 4 * shortest and length % step_s == 0:
            return length
    return step_s * ceil(shortest / step_s)


def samples_of(snapshot: Snapshot, window_s: tuple[int, int], *, bucket_s: float, count: int) -> TimelineSamples:
    """
    Return every series of the snapshot in `count` buckets of `bucket_s` seconds.

    A sample counts in the bucket that holds the middle of its step; a sample longer than a bucket
    counts in each bucket it covers.
    """
    start_s = window_s[0]

    def fill(time_s: IntArray, value: FloatArray, step_s: int) -> Buckets:
        return _fill(time_s, value, step_s, start_s=start_s, bucket_s=bucket_s, count=count)

    steps = [s.step_s for s in snapshot.series.values()]
    total = {}
    for dimension, (read, write) in READS_AND_WRITES.items():
        both = _sum(snapshot.series.get(read), snapshot.series.get(write))
        if both is not None:
            total[dimension] = fill(*both)
    return TimelineSamples(
        start_s=start_s,
        bucket_s=bucket_s,
        time_s=start_s + bucket_s * (np.arange(count, dtype=np.float64) + 0.5),
        metric={m: fill(s.time_s, s.value, s.step_s) for m, s in snapshot.series.items()},
        total=total,
        is_reduced=bool(steps) and bucket_s > min(steps),
    )


def main_dimension(diagnosis: Diagnosis, samples: TimelineSamples) -> Dimension | None:
    """Return the dimension to show first: the one that bound, or else the measured one."""
    if diagnosis.binding and diagnosis.binding.dimension in samples.total:
        return diagnosis.binding.dimension
    return next((d for d in (Dimension.THROUGHPUT, Dimension.IOPS) if d in samples.total), None)


def lines_of(diagnosis: Diagnosis, dimension: Dimension, peak: float, *, count_max: int) -> tuple[Line, ...]:
    """
    Return the ceilings to draw, lowest first: those that bound, the next one, and near ones.

    Legacy limits are drawn only where the rate was at one. A ceiling far above everything
    measured is left out, except the lowest, when nothing else would be drawn and it still fits.
    """
    lines = {line.value: line for line in _bound_lines(diagnosis, dimension)}
    top = max([peak, *lines]) if lines or peak > 0 else 0.0
    present = sorted(
        (c for c in diagnosis.ceilings if c.dimension is dimension and c.phase is not Phase.LEGACY),
        key=lambda c: c.value,
    )
    following = diagnosis.next_ceiling
    wanted = [following] if following and following.dimension is dimension else []
    wanted += [c for c in present if c.value <= 1.4 * top]
    if not lines and not wanted:
        wanted = present[:1]
    for ceiling in wanted:
        if len(lines) < count_max and ceiling.value not in lines and ceiling.value <= _FAR * top:
            lines[ceiling.value] = Line(value=ceiling.value, label=_label(ceiling), is_bound=False)
    return tuple(lines[value] for value in sorted(lines))


def beyond(diagnosis: Diagnosis, dimension: Dimension, lines: tuple[Line, ...]) -> str:
    """Return the lowest ceiling if none is drawn, for the caption; empty otherwise."""
    present = [c for c in diagnosis.ceilings if c.dimension is dimension]
    present = [c for c in present if c.phase is not Phase.LEGACY]
    return "" if lines or not present else _label(min(present, key=lambda c: c.value))


def at_ceiling(diagnosis: Diagnosis) -> tuple[tuple[int, int], ...]:
    """Return the stretches in which any ceiling bound, merged, in order; epoch seconds."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((i.start_s, i.end_s) for i in diagnosis.intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _label(ceiling: Ceiling) -> str:
    name = words.short_limit_name(ceiling.family, ceiling.phase, ceiling.former_phase)
    return f"{name} {words.ceiling_value(ceiling)}"


def _bound_lines(diagnosis: Diagnosis, dimension: Dimension) -> list[Line]:
    lines = []
    for at in diagnosis.time_at:
        if at.dimension is not dimension:
            continue
        if at.ceiling is not None:
            lines.append(Line(value=at.ceiling.value, label=_label(at.ceiling), is_bound=True))
        else:
            label = f"unknown limit {words.level(at.level, dimension)}"
            lines.append(Line(value=at.level, label=label, is_bound=True))
    return lines


def _sum(read: Series | None, write: Series | None) -> tuple[IntArray, FloatArray, int] | None:
    if read is None or write is None or not read.time_s.size or not write.time_s.size:
        return None
    step_s = max(read.step_s, write.step_s)
    if np.array_equal(read.time_s, write.time_s):
        return read.time_s, read.value + write.value, step_s
    time_s, at_read, at_write = np.intersect1d(read.time_s, write.time_s, assume_unique=True, return_indices=True)
    return time_s, read.value[at_read] + write.value[at_write], step_s


def _fill(time_s: IntArray, value: FloatArray, step_s: int, *, start_s: int, bucket_s: float, count: int) -> Buckets:
    parts = max(1, ceil(step_s / bucket_s))
    middle = (np.arange(parts, dtype=np.float64) + 0.5) * step_s / parts
    place = ((time_s[:, None] - start_s + middle[None, :]) // bucket_s).astype(np.int64).ravel()
    value = np.repeat(value, parts)
    kept = (place >= 0) & (place < count) & np.isfinite(value)
    place, value = place[kept], value[kept]
    number = np.bincount(place, minlength=count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, place, value)
    np.maximum.at(high, place, value)
    mean = np.bincount(place, weights=value, minlength=count) / np.maximum(number, 1)
    empty = number == 0
    return Buckets(
        # Rounding of the sum may leave the mean a hair outside its own extremes.
        mean=np.where(empty, np.nan, np.clip(mean, low, high)),
        low=np.where(empty, np.nan, low),
        high=np.where(empty, np.nan, high),
    )
