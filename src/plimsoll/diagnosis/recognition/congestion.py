"""
The waiting of requests: latency and queue compared with the same storage without waiting.

A ceiling delays requests; a steady application does not. So waiting is the necessary sign of a ceiling.
It is measured against a reference for *this* storage, separately for reads and writes, because a batch
of slow writes is not a queue.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of
from plimsoll.diagnosis.order import median, quantile
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.series import BoolArray, FloatArray

# An unpressed EBS SSD volume answers in single-digit milliseconds (EBS user guide), a Multi-AZ write in
# somewhat more (15 ms in a published incident); what is slower at its calmest was never calm.
REFERENCE_MAX_S = 15e-3
# The usual latency without waiting, for windows that never show it: between the sub-millisecond of io2
# and the millisecond or two of gp2.
REFERENCE_FALLBACK_S = 1e-3
# A large request takes longer without any queue: about 0.4 ms more for 128 KiB than for 8 KiB on EBS SSD
# volumes, some 300 MB/s for one request.
TRANSFER_BYTES_PER_S = 300e6
# A database page; only ratios are made of it.
PAGE_BYTES = 8192.0
# Neighbours no further apart than this may be one enforced rate: twice its usual jitter. Three such
# samples at a documented number, or eight anywhere (what a level needs), may be a ceiling.
FLAT_LOG = 0.01
NEAR_LOG = 0.016
STANDING_SAMPLES = 3
FLAT_SAMPLES = 8
# Below this share of the window's own high a load is light.
CALM_LOAD = 0.6
# A varying workload spreads over some hundred numbers half a percent apart.
CROWDED_SHARE = 0.05
# DiskQueueDepth is published in steps of about a hundredth; below this it carries no ratio.
QUEUE_FLOOR = 0.05
# A smaller excess is within the jitter of latency on a volume without waiting.
HOT_LOG = float(np.log(1.4))
# Rate and waiting vary together in an open workload; at a ceiling waiting varies twenty times as much.
INELASTIC = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """The waiting of requests per sample; shape (n,), NaN where neither latency nor queue is known."""

    log_excess: FloatArray
    """log(latency ÷ latency of the same mix without waiting), mean of the values by latency and queue."""
    log_excess_smooth: FloatArray
    """The same, averaged over five samples: less jitter, less sharp edges."""
    latency_s: FloatArray
    """Operation-weighted latency; from queue ÷ IOPS (Little's law) where latency is not measured."""
    reference_s: FloatArray
    """Latency without waiting of each sample's mix of reads and writes."""
    quickest_s: FloatArray
    """
    Latency of that mix in the fastest tenth of the window, an upper bound of that without waiting.

    NaN where every sample may be at a ceiling, or the fastest are slower than any SSD.
    """
    is_measured: bool
    """Whether latency or queue depth was measured."""
    is_reference_seen: bool
    """Whether the window shows the storage without waiting; otherwise the reference is a general one."""
    has_latency: bool
    has_queue: bool


def congestion_of(frame: Frame, load: FloatArray, ceilings: Iterable[Ceiling] = ()) -> Congestion:
    """
    Return the waiting in each sample.

    Args:
        frame: what was measured.
        load: 0–1, the rate relative to the window's own high; it selects the samples of the
            reference.
        ceilings: documented numbers; samples at one of them are not part of the reference.

    Source:
        Little's law: mean number in the system = rate × mean time in it.
    """
    reads = _or_by_bytes(frame.read_ops_per_s, frame.read_bytes_per_s)
    writes = _or_by_bytes(frame.write_ops_per_s, frame.write_bytes_per_s)
    ops = reads + writes
    with np.errstate(all="ignore"):
        log_bytes, log_ops = np.log(frame.bytes_per_s), np.log(frame.ops_per_s)
    standing = _standing(log_bytes, log_ops, ceilings)
    calm = _calm(load, log_bytes, log_ops) & ~standing
    of_reads = _unpressed(frame.read_latency_s, frame.read_bytes_per_s, reads, calm, standing)
    of_writes = _unpressed(frame.write_latency_s, frame.write_bytes_per_s, writes, calm, standing)
    is_reference_seen = of_reads.is_seen or of_writes.is_seen
    has_latency = bool(np.isfinite(frame.read_latency_s).any() or np.isfinite(frame.write_latency_s).any())
    has_queue = bool(np.isfinite(frame.queue_depth).any())
    with np.errstate(all="ignore"):
        # If one direction has no latency, the other one stands for both.
        directions = [
            (rate, seen, unpressed)
            for rate, seen, unpressed in (
                (reads, frame.read_latency_s, of_reads),
                (writes, frame.write_latency_s, of_writes),
            )
            if np.isfinite(rate).any() and (np.isfinite(seen).any() or not has_latency)
        ]
        busy_s = _busy_s([(r, seen) for r, seen, _ in directions], frame.size)
        expected_busy_s = _busy_s([(r, own.expected_s) for r, _, own in directions], frame.size)
        quickest_busy_s = _busy_s([(r, own.quickest_s) for r, _, own in directions], frame.size)
        # The queue counts requests of both directions, even if the latency of one is unknown.
        expected_queue = expected_busy_s
        if len(directions) == 1:
            of_both = expected_busy_s * ops / directions[0][0]
            expected_queue = np.where(np.isfinite(of_both), of_both, expected_busy_s)
            ops = directions[0][0]
        # By Little's law rate × latency is the number in flight, so this compares it with the number
        # that the same rates would have without waiting.
        by_latency = np.log(busy_s / expected_busy_s)
        latency_s = _each_s(busy_s, ops)
        if has_latency:
            by_queue = _queue_excess(frame.queue_depth, expected_queue, calm)
        else:
            latency_s = _each_s(frame.queue_depth, ops)
            of_all = _unpressed(latency_s, frame.bytes_per_s, ops, calm, standing)
            is_reference_seen = of_all.is_seen
            expected_busy_s, quickest_busy_s = ops * of_all.expected_s, ops * of_all.quickest_s
            by_queue = _queue_excess(frame.queue_depth, expected_busy_s, calm)
        reference_s = _each_s(expected_busy_s, ops)
        quickest_s = _each_s(quickest_busy_s, ops)
    by_latency[~np.isfinite(by_latency)] = np.nan
    log_excess = _mean_of_known(by_latency, by_queue)
    return Congestion(
        log_excess=log_excess,
        log_excess_smooth=_moving_mean(log_excess),
        latency_s=latency_s,
        reference_s=reference_s,
        quickest_s=quickest_s,
        is_measured=bool(np.isfinite(log_excess).any()),
        is_reference_seen=is_reference_seen,
        has_latency=has_latency,
        has_queue=has_queue,
    )


def _calm(load: FloatArray, *log_rates: FloatArray) -> BoolArray:
    """
    Return samples that may show the storage without waiting: light load, and not at one constant rate.

    A baseline at a quarter of the burst is a light load, and yet requests wait at it. So a number at
    which one in twenty of the light samples lies is left out.
    """
    calm = load < CALM_LOAD
    for log_rate in log_rates:
        light = calm & np.isfinite(log_rate)
        light_count = np.count_nonzero(light)
        # One in twenty of fewer than forty samples would be one sample.
        if light_count < 40:
            continue
        # Bins of half a percent, three together: the jitter of an enforced rate.
        bins = np.floor(log_rate / 0.005)
        bins -= np.compress(light, bins).min()
        # All other samples are in the first bin, which does not count.
        index = np.where(light, bins + 1, 0).astype(np.int64)
        count = np.bincount(index, minlength=int(index.max()) + 3)
        count[0] = 0
        crowded = np.convolve(count, np.ones(3), mode="same") > CROWDED_SHARE * light_count
        calm = calm & ~(light & crowded[index])
    return calm


def _standing(log_bytes: FloatArray, log_ops: FloatArray, ceilings: Iterable[Ceiling]) -> BoolArray:
    """
    Return samples that may be at a ceiling, whatever their latency, so that none is a reference.

    They are at one number for minutes: three samples in a row at a documented one, eight at any.
    Latency at a burst ceiling is low compared with the baseline after it, and still requests wait.
    """
    standing = np.zeros(log_bytes.size, dtype=bool)
    rows = tuple(ceilings)
    for dimension, log_rate in ((Dimension.THROUGHPUT, log_bytes), (Dimension.IOPS, log_ops)):
        with np.errstate(all="ignore"):
            # At a documented number: within the error and the jitter of an enforced limit.
            flat = np.abs(np.diff(log_rate)) < FLAT_LOG
        most = float(np.fmax.reduce(log_rate, initial=-np.inf))
        for row in rows:
            # No sample comes near a number that is above all of them.
            if row.dimension == dimension and row.value > 0 and np.log(row.value) - most < NEAR_LOG:
                near = np.abs(log_rate - np.log(row.value)) < NEAR_LOG
                standing |= _in_runs(near[1:] & near[:-1] & flat, STANDING_SAMPLES)
        standing |= _in_runs(flat, FLAT_SAMPLES)
    return standing


def _in_runs(linked: BoolArray, least: int) -> BoolArray:
    """Return samples in runs of at least `least`, of which each is linked to the next; shape (n + 1,)."""
    inside = np.zeros(linked.size + 1, dtype=bool)
    runs = runs_of(linked)
    # A varying rate has thousands of short runs, and few long ones.
    for start, end in runs[runs[:, 1] - runs[:, 0] + 1 >= least].tolist():
        inside[start : end + 1] = True
    return inside


def _or_by_bytes(ops_per_s: FloatArray, bytes_per_s: FloatArray) -> FloatArray:
    """Return the operations, or bytes in pages as their substitute if none were measured."""
    return ops_per_s if np.isfinite(ops_per_s).any() else bytes_per_s / PAGE_BYTES


def _busy_s(parts: list[tuple[FloatArray, FloatArray]], size: int) -> FloatArray:
    """Return rate × latency over all directions: the requests in flight, by Little's law."""
    total = np.zeros(size)
    for rate, latency_s in parts:
        total = total + _weighted(rate, latency_s)
    return total


def _weighted(ops_per_s: FloatArray, latency_s: FloatArray) -> FloatArray:
    # Without operations CloudWatch reports a latency of 0 or none; either adds no waiting.
    in_flight = ops_per_s * latency_s
    in_flight[ops_per_s == 0] = 0.0
    return in_flight


def _each_s(busy_s: FloatArray, ops_per_s: FloatArray) -> FloatArray:
    """Return the latency of a request, by Little's law; NaN where there is none."""
    latency_s = busy_s / ops_per_s
    latency_s[~(ops_per_s > 0)] = np.nan
    return latency_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unpressed:
    """Latency of each sample of one direction without waiting; shape (n,)."""

    expected_s: FloatArray
    quickest_s: FloatArray
    is_seen: bool
    """Whether the window shows it; otherwise the first is general, the second a bound or NaN."""


def _unpressed(
    latency_s: FloatArray, bytes_per_s: FloatArray, ops_per_s: FloatArray, calm: BoolArray, standing: BoolArray
) -> _Unpressed:
    """Return the latency without waiting: one constant for all samples, plus the transfer time by size."""
    with np.errstate(all="ignore"):
        size_bytes = bytes_per_s / ops_per_s
        # Of an unknown size the transfer takes no time.
        size_bytes[~np.isfinite(size_bytes)] = 0.0
        transfer_s = size_bytes / TRANSFER_BYTES_PER_S
        # The transfer time is subtracted, but never more than seven tenths: at any size some of the
        # latency is not transfer.
        fixed_s = np.maximum(latency_s - transfer_s, 0.3 * latency_s)
    reference_s, quickest_s, is_seen = _reference(fixed_s, calm, ops_per_s, standing)
    return _Unpressed(expected_s=reference_s + transfer_s, quickest_s=quickest_s + transfer_s, is_seen=is_seen)


def _reference(
    latency_s: FloatArray, calm: BoolArray, ops_per_s: FloatArray, standing: BoolArray
) -> tuple[float, float, bool]:
    """
    Return the latency without waiting, the window's fastest, and whether the window shows the first.

    It is the tenth percentile, over calm samples, of latency smoothed over five samples: low enough to
    find the calm hours between plateaus, smooth enough to ignore jitter. The median would include
    waiting in half-loaded hours. Where the load is never light, the fastest tenth of samples at no
    constant rate is an upper bound.
    """
    known = np.isfinite(latency_s) & (latency_s > 0) & (ops_per_s > 0)
    known_count = np.count_nonzero(known)
    if not known_count:
        return REFERENCE_FALLBACK_S, float("nan"), False
    if known_count < known.size:
        latency_s, calm, standing = latency_s[known], calm[known], standing[known]
    smooth = _smoothed(latency_s)
    # Ten samples, or one in fifty of a long window: a tenth percentile of fewer is one stray
    # reading.
    if np.count_nonzero(calm) >= max(10, 0.02 * known_count):
        lowest = quantile(np.compress(calm, smooth), 0.1)
        if lowest <= REFERENCE_MAX_S:
            return lowest, lowest, True
    free = smooth[~standing]
    if free.size < 10:
        return min(float(smooth.min()), REFERENCE_FALLBACK_S), float("nan"), False
    tenth = quantile(free, 0.1)
    quickest = tenth if tenth <= REFERENCE_MAX_S else float("nan")
    lowest = quantile(free, 0.05)
    # Half the usual latency: then requests waited in most of the window, and not in the fast samples.
    is_seen = lowest <= REFERENCE_MAX_S and lowest < 0.5 * median(smooth)
    return min(lowest, REFERENCE_FALLBACK_S), quickest, is_seen


def _smoothed(values: FloatArray) -> FloatArray:
    """Return the geometric mean over five neighbouring samples."""
    if values.size < 10:
        return values
    total = np.concatenate(([0.0], np.cumsum(np.log(values))))
    means = (total[5:] - total[:-5]) / 5
    return np.exp(np.concatenate((np.repeat(means[:1], 2), means, np.repeat(means[-1:], 2))))


def _queue_excess(queue: FloatArray, expected: FloatArray, calm: BoolArray) -> FloatArray:
    """Return log(queue ÷ expected queue), calibrated so that calm samples read zero."""
    # The floor on both sides keeps the rounding of a nearly empty queue from looking like a ratio.
    raw = np.log((queue + QUEUE_FLOOR) / (expected + QUEUE_FLOOR))
    known = np.isfinite(raw)
    raw[~known] = np.nan
    quiet = known & calm
    # In real data the two metrics can disagree with Little's law by a constant; calm samples show it.
    if np.count_nonzero(quiet) >= max(10, 0.02 * np.count_nonzero(known)):
        # By a factor of e at most: a larger disagreement is a fault of a metric, not its usual
        # ratio.
        raw = raw - min(max(median(np.compress(quiet, raw)), -1.0), 1.0)
    return raw


def _mean_of_known(first: FloatArray, second: FloatArray) -> FloatArray:
    mean = (first + second) / 2
    # The mean of a value and of one that is not known is the value.
    lacking = ~np.isfinite(mean)
    if lacking.any():
        mean[lacking] = np.where(np.isfinite(first), first, second)[lacking]
    return mean


def _moving_mean(values: FloatArray) -> FloatArray:
    """Return the mean of the known values among five neighbours; it fills a single lost sample."""
    known = np.isfinite(values)
    kernel = np.ones(5)
    if values.size < kernel.size:
        return values
    if known.all():
        count = np.full(values.size, kernel.sum())
        # At the ends there are three and four.
        count[:2] = count[:-3:-1] = 3, 4
        mean: FloatArray = np.convolve(values, kernel, mode="same") / count
        return mean
    count = np.convolve(known.astype(float), kernel, mode="same")
    total = np.convolve(np.where(known, values, 0.0), kernel, mode="same")
    with np.errstate(all="ignore"):
        return np.where(count > 0, total / count, np.nan)


def load_of(frame: Frame) -> FloatArray:
    """
    Return the load of each sample, 0–1: the larger of throughput and IOPS relative to their own high.

    The high is the 99th percentile, so that one spike does not make everything else look calm.
    """
    shares = []
    for rate in (frame.bytes_per_s, frame.ops_per_s):
        is_known = np.isfinite(rate)
        known = rate if is_known.all() else rate[is_known]
        if known.size:
            high = quantile(known, 0.99)
            if high > 0:
                shares.append(rate / high)
    if not shares:
        return np.full(frame.size, np.nan)
    return shares[0] if len(shares) == 1 else np.fmax(shares[0], shares[1])
