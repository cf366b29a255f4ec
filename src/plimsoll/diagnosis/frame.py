"""
One table of all measurements: every series on the grid of the storage metrics.

Rule 1: reads and writes share every limit, so totals are sums of both. If one half is missing the
        total is unknown; the other half never replaces it.
Rule 2: a gap stays a gap (NaN). A coarser sample is repeated for the length of its step, and finer
        samples are averaged over a step of the grid.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import VERDICT
from plimsoll.model.family import BALANCES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB

# An SSD volume counts an I/O in units of at most 256 KiB (EBS user guide, I/O characteristics).
IO_UNIT_BYTES = 256 * KIB

# A scrape may fail now and then; more samples than this in a row are time that was not measured.
GAP_SAMPLES = 3

_STORAGE = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The series of one snapshot, side by side; shape (n,) each, NaN where not measured."""

    time_s: IntArray
    """Start of each sample, epoch seconds."""
    width_s: FloatArray
    """Length of each sample in seconds; 60 s and 300 s samples may stand in one frame."""
    step_s: int
    """The usual width."""
    read_bytes_per_s: FloatArray
    write_bytes_per_s: FloatArray
    read_ops_per_s: FloatArray
    write_ops_per_s: FloatArray
    read_latency_s: FloatArray
    write_latency_s: FloatArray
    queue_depth: FloatArray
    cpu_ratio: FloatArray
    bytes_per_s: FloatArray
    """Reads and writes together."""
    ops_per_s: FloatArray
    """Operations as storage counts them: whole I/Os, large ones in units of 256 KiB."""
    balances: dict[Metric, FloatArray]
    """Byte, I/O and volume balance (0–1): for each sample the reading that covers it."""

    @property
    def size(self) -> int:
        """Return the number of samples."""
        return int(self.time_s.size)


# Less than one byte or request in thirty years, or a nanosecond: rounding of what was nothing.
NOTHING = 1e-9


def frame_of(snapshot: Snapshot) -> Frame | None:
    """
    Return the frame of a snapshot, on the grid of its densest storage series.

    Returns None when the snapshot holds no storage rate at all.
    """
    present = [snapshot.series[m] for m in _STORAGE if m in snapshot.series]
    present = [s for s in present if s.time_s.size]
    if not present:
        return None
    # On the grid of the densest series no sample of the others is lost.
    base = max(present, key=lambda s: s.time_s.size)
    width_s = sample_widths(base.time_s, base.step_s)

    def column(metric: Metric) -> FloatArray:
        place = partial(on_grid, snapshot.series.get(metric), base.time_s, width_s)
        name = METRICS[metric].cloudwatch or metric.value
        values = guarded(f"the series {name}", place, None, hides=VERDICT)
        if values is None:
            return np.full(base.time_s.size, np.nan)
        return np.where(np.abs(values) < NOTHING, 0.0, values) if (np.abs(values) < NOTHING).any() else values

    balances = {
        metric: column(metric)
        for metric in BALANCES
        if metric in snapshot.series and snapshot.series[metric].time_s.size
    }
    rates = {metric: column(metric) for metric in _STORAGE}
    read_bytes, write_bytes, read_ops, write_ops = rates.values()
    return Frame(
        time_s=base.time_s,
        width_s=width_s,
        step_s=base.step_s,
        read_bytes_per_s=read_bytes,
        write_bytes_per_s=write_bytes,
        read_ops_per_s=read_ops,
        write_ops_per_s=write_ops,
        bytes_per_s=read_bytes + write_bytes,
        ops_per_s=_counted(read_ops, read_bytes) + _counted(write_ops, write_bytes),
        read_latency_s=column(Metric.READ_LATENCY_S),
        write_latency_s=column(Metric.WRITE_LATENCY_S),
        queue_depth=column(Metric.QUEUE_DEPTH),
        cpu_ratio=column(Metric.CPU_RATIO),
        balances=balances,
    )


def sample_widths(time_s: IntArray, step_s: int) -> FloatArray:
    """
    Return the length of time that each sample of a series covers, seconds.

    CloudWatch keeps 60 s for 15 days, 300 s for 63 days and 3600 s beyond, so one export can hold
    several periods: a sample covers the distance to its nearer neighbour when that is one of
    those periods, and the usual step otherwise (a gap is not a long sample).
    """
    width = np.full(time_s.size, float(step_s))
    if time_s.size < 2:
        return width
    if (np.diff(time_s) == step_s).all():
        return width
    ahead = np.append(np.diff(time_s), np.iinfo(np.int64).max)
    behind = np.insert(np.diff(time_s), 0, np.iinfo(np.int64).max)
    nearer = np.minimum(ahead, behind)
    # CloudWatch aligns its longer periods to the epoch.
    for period in (300, 3600):
        if period > step_s:
            width[(nearer == period) & (time_s % period == 0)] = period
    return width


def on_grid(series: Series | None, time_s: IntArray, width_s: FloatArray) -> FloatArray:
    """
    Return a series on the grid of another: exact, repeated (coarser) or averaged (finer).

    Args:
        series: what to place; None gives all NaN.
        time_s: starts of the grid's samples, increasing, shape (n,).
        width_s: their lengths, shape (n,).

    Returns:
        Values, shape (n,); NaN where the series has no value for a sample.
    """
    if series is None or series.time_s.size == 0:
        return np.full(time_s.size, np.nan)
    if series.time_s is time_s or np.array_equal(series.time_s, time_s):
        return series.value
    usual = float(np.median(width_s)) if width_s.size else 0.0
    # With at least two finer samples in one of the grid, their mean is better than the first of them.
    if series.step_s * 2 <= usual:
        return _averaged(series, time_s, width_s)
    held = sample_widths(series.time_s, series.step_s)
    at = np.searchsorted(series.time_s, time_s, side="right") - 1
    known = at >= 0
    at = np.maximum(at, 0)
    known &= time_s < series.time_s[at] + held[at]
    return np.where(known, series.value[at], np.nan)


def _averaged(series: Series, time_s: IntArray, width_s: FloatArray) -> FloatArray:
    finite = np.isfinite(series.value)
    total = np.concatenate(([0.0], np.cumsum(np.where(finite, series.value, 0.0))))
    count = np.concatenate(([0], np.cumsum(finite)))
    first = np.searchsorted(series.time_s, time_s, side="left")
    # Samples belong to the step in which they start.
    last = np.searchsorted(series.time_s, time_s + width_s.astype(np.int64), side="left")
    seen = count[last] - count[first]
    with np.errstate(all="ignore"):
        return np.where(seen > 0, (total[last] - total[first]) / seen, np.nan)


def _counted(ops_per_s: FloatArray, bytes_per_s: FloatArray) -> FloatArray:
    # A mean size above 256 KiB costs at least bytes ÷ 256 KiB operations. Without bytes the size is
    # unknown; nearly all database I/O is below 256 KiB, so each request counts as one.
    counted = np.fmax(ops_per_s, bytes_per_s / IO_UNIT_BYTES)
    counted[np.isnan(ops_per_s)] = np.nan
    return counted


def pieces_of(frame: Frame, known: BoolArray, start: int, end: int) -> list[tuple[int, int]]:
    """
    Return the pieces of the samples [start, end) between gaps: what is not measured is not counted as anything.

    Args:
        frame: the samples.
        known: whether each sample is measured, shape (n,).
        start: first sample, which is measured.
        end: one past the last sample, which is measured.
    """
    at = start + np.flatnonzero(known[start:end])
    ends_s = frame.time_s[at] + frame.width_s[at]
    is_gap = frame.time_s[at][1:] - ends_s[:-1] >= GAP_SAMPLES * frame.width_s[at][:-1]
    breaks = np.flatnonzero(is_gap)
    firsts, lasts = [0, *(breaks + 1).tolist()], [*breaks.tolist(), at.size - 1]
    return [(int(at[a]), int(at[b]) + 1) for a, b in zip(firsts, lasts, strict=True)]


def runs_of(mask: BoolArray) -> IntArray:
    """Return the first and one-past-last index of every run of True, shape (k, 2)."""
    edges = np.diff(np.concatenate(([False], mask, [False])).astype(np.int8))
    return np.column_stack((np.flatnonzero(edges == 1), np.flatnonzero(edges == -1))).astype(np.int64)
