"""
Whether requests waited: latency and queue against what the same storage does when not pressed.

A ceiling delays requests; a producer that is merely steady does not. So waiting is the necessary
sign, and it is measured against a reference for *this* storage: reads and writes apart, because a
batch of slow writes is not a queue.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.series import BoolArray, FloatArray

# An unpressed EBS SSD volume answers in single-digit milliseconds (EBS user guide), a Multi-AZ write in
# somewhat more (15 ms in a published incident); what is slower at its calmest was never calm.
REFERENCE_MAX_S = 15e-3
# What an unpressed request usually takes, for windows that never show it: between the sub-millisecond
# of io2 and the millisecond or two of gp2.
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
# A workload that breathes spreads over some hundred numbers half a percent apart.
CROWDED_SHARE = 0.05
# DiskQueueDepth is published in steps of about a hundredth; below this it carries no ratio.
QUEUE_FLOOR = 0.05
# Waiting at least as long again as being served, roughly: below it the difference drowns in the jitter
# of an unpressed volume.
HOT_LOG = float(np.log(1.4))
# Rate and waiting move together in an open workload; behind a ceiling waiting moves twenty times as much.
INELASTIC = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """How long requests waited, per sample; shape (n,), NaN where neither latency nor queue is known."""

    log_excess: FloatArray
    """log(latency ÷ unpressed latency of the same mix), mean of what latency and queue say."""
    log_excess_smooth: FloatArray
    """The same, averaged over five samples: less jitter, blunter edges."""
    latency_s: FloatArray
    """Operation-weighted latency; from queue ÷ IOPS (Little) where latency is not measured."""
    reference_s: FloatArray
    """Unpressed latency of each sample's mix of reads and writes."""
    quickest_s: FloatArray
    """
    What that mix takes in the quickest tenth of the window: no less than unpressed.

    NaN where every sample may be at a ceiling, or the quickest are slower than any SSD.
    """
    is_measured: bool
    """Whether latency or queue depth was there at all."""
    is_reference_seen: bool
    """Whether the window shows the storage unpressed; otherwise the reference is a general one."""
    has_latency: bool
    has_queue: bool


def congestion_of(frame: Frame, load: FloatArray, ceilings: Iterable[Ceiling] = ()) -> Congestion:
    """
    Return the waiting in each sample.

    Args:
        frame: what was measured.
        load: 0–1, how busy the storage was relative to the window's own high; picks the samples
            that may serve as reference.
        ceilings: documented numbers; samples that stand at one are no reference.

    Source:
        Little's law: mean number in the system = rate × mean time in it.
    """
    reads = _or_by_bytes(frame.read_ops_per_s, frame.read_bytes_per_s)
    writes = _or_by_bytes(frame.write_ops_per_s, frame.write_bytes_per_s)
    ops = reads + writes
    standing = _standing(frame, ceilings)
    calm = _calm(frame, load) & ~standing
    of_reads = _unpressed(frame.read_latency_s, frame.read_bytes_per_s, reads, calm, standing)
    of_writes = _unpressed(frame.write_latency_s, frame.write_bytes_per_s, writes, calm, standing)
    is_reference_seen = of_reads.is_seen or of_writes.is_seen
    has_latency = bool(
        np.isfinite(frame.read_latency_s).any() or np.isfinite(frame.write_latency_s).any()
    )
    has_queue = bool(np.isfinite(frame.queue_depth).any())
    with np.errstate(all="ignore"):
        # One direction without latency leaves the other to speak for both.
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
        # The queue holds the requests of both directions, whether or not the latency of both is known.
        expected_queue = expected_busy_s
        if len(directions) == 1:
            of_both = expected_busy_s * ops / directions[0][0]
            expected_queue = np.where(np.isfinite(of_both), of_both, expected_busy_s)
            ops = directions[0][0]
        by_latency = np.log(busy_s / expected_busy_s)
        latency_s = np.where(ops > 0, busy_s / ops, np.nan)
        if has_latency:
            by_queue = _queue_excess(frame.queue_depth, expected_queue, calm)
        else:
            latency_s = np.where(ops > 0, frame.queue_depth / ops, np.nan)
            of_all = _unpressed(latency_s, frame.bytes_per_s, ops, calm, standing)
            is_reference_seen = of_all.is_seen
            expected_busy_s, quickest_busy_s = ops * of_all.expected_s, ops * of_all.quickest_s
            by_queue = _queue_excess(frame.queue_depth, expected_busy_s, calm)
        reference_s = np.where(ops > 0, expected_busy_s / ops, np.nan)
        quickest_s = np.where(ops > 0, quickest_busy_s / ops, np.nan)
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


def _calm(frame: Frame, load: FloatArray) -> BoolArray:
    """
    Return samples that may show the storage unpressed: lightly loaded, and not standing at one number.

    A baseline a quarter of the burst is lightly loaded too, and yet it is a queue; so a number at
    which one in twenty of the light samples stands is left out.
    """
    calm = load < CALM_LOAD
    for rate in (frame.bytes_per_s, frame.ops_per_s):
        light = calm & np.isfinite(rate) & (rate > 0)
        # One in twenty of fewer than forty samples would be one sample.
        if light.sum() < 40:
            continue
        bins = np.zeros(rate.size, dtype=np.int64)
        # Bins of half a percent, three together: the jitter of an enforced rate.
        bins[light] = np.floor(np.log(rate[light]) / 0.005).astype(np.int64)
        bins[light] -= bins[light].min()
        count = np.bincount(bins[light], minlength=int(bins[light].max()) + 3)
        crowded = np.convolve(count, np.ones(3), mode="same") > CROWDED_SHARE * light.sum()
        calm = calm & ~(light & crowded[bins])
    return calm


def _standing(frame: Frame, ceilings: Iterable[Ceiling]) -> BoolArray:
    """
    Return samples that may be at a ceiling, however fast or slow they are, so that none is a reference.

    They stand at one number for minutes: three samples in a row at a documented one, eight at any.
    A burst ceiling is fast beside the baseline that follows it, and is a queue all the same.
    """
    standing = np.zeros(frame.size, dtype=bool)
    rows = tuple(ceilings)
    for dimension, rate in (
        (Dimension.THROUGHPUT, frame.bytes_per_s),
        (Dimension.IOPS, frame.ops_per_s),
    ):
        with np.errstate(all="ignore"):
            log_rate = np.log(rate)
            # At a documented number: within what is enforced, and as flat as what is enforced.
            flat = np.abs(np.diff(log_rate)) < FLAT_LOG
        for row in rows:
            if row.dimension == dimension and row.value > 0:
                near = np.abs(log_rate - np.log(row.value)) < NEAR_LOG
                standing |= _in_runs(near[1:] & near[:-1] & flat, STANDING_SAMPLES)
        standing |= _in_runs(flat, FLAT_SAMPLES)
    return standing


def _in_runs(linked: BoolArray, least: int) -> BoolArray:
    """Return samples in runs of at least `least`, of which each is linked to the next; shape (n + 1,)."""
    inside = np.zeros(linked.size + 1, dtype=bool)
    for start, end in runs_of(linked):
        if end - start + 1 >= least:
            inside[start : end + 1] = True
    return inside


def _or_by_bytes(ops_per_s: FloatArray, bytes_per_s: FloatArray) -> FloatArray:
    """Return operations, or where none were measured at all a stand-in for weights: bytes in pages."""
    return ops_per_s if np.isfinite(ops_per_s).any() else bytes_per_s / PAGE_BYTES


def _busy_s(parts: list[tuple[FloatArray, FloatArray]], size: int) -> FloatArray:
    """Return rate × latency of all directions together: requests under way."""
    total = np.zeros(size)
    for rate, latency_s in parts:
        total = total + _weighted(rate, latency_s)
    return total


def _weighted(ops_per_s: FloatArray, latency_s: FloatArray) -> FloatArray:
    # No operations have no latency: CloudWatch then reports 0 or nothing; either adds no waiting.
    return np.where(ops_per_s == 0, 0.0, ops_per_s * latency_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unpressed:
    """Latency that each sample of one direction would have if nothing waited; shape (n,)."""

    expected_s: FloatArray
    quickest_s: FloatArray
    is_seen: bool
    """Whether the window shows it; otherwise the first is general, the second a bound or NaN."""


def _unpressed(
    latency_s: FloatArray,
    bytes_per_s: FloatArray,
    ops_per_s: FloatArray,
    calm: BoolArray,
    standing: BoolArray,
) -> _Unpressed:
    """Return what a request takes unpressed: one latency for all samples, and its own transfer."""
    with np.errstate(all="ignore"):
        transfer_s = np.nan_to_num(bytes_per_s / ops_per_s, posinf=0.0) / TRANSFER_BYTES_PER_S
        # Small requests dominate what is unpressed; whatever the size, some of the time is not transfer.
        fixed_s = np.maximum(latency_s - transfer_s, 0.3 * latency_s)
    reference_s, quickest_s, is_seen = _reference(fixed_s, calm, ops_per_s, standing)
    return _Unpressed(
        expected_s=reference_s + transfer_s, quickest_s=quickest_s + transfer_s, is_seen=is_seen
    )


def _reference(
    latency_s: FloatArray, calm: BoolArray, ops_per_s: FloatArray, standing: BoolArray
) -> tuple[float, float, bool]:
    """
    Return unpressed latency, the window's own quickest, and whether the first is the window's too.

    The tenth percentile, over calm samples, of latency smoothed over five samples: low enough to
    find the calm hours between plateaus, smooth enough not to take jitter for calm. Half-loaded
    hours may hold waiting of their own, hence not the median. Where the load is never light, the
    quickest tenth of what stands at no number is a bound: requests take no less when unpressed.
    """
    known = np.isfinite(latency_s) & (latency_s > 0) & (ops_per_s > 0)
    if not known.any():
        return REFERENCE_FALLBACK_S, float("nan"), False
    quiet = calm[known]
    smooth = _smoothed(latency_s[known])
    # Ten samples, or one in fifty of a long window: a tenth percentile of fewer is one stray
    # reading.
    if quiet.sum() >= max(10, 0.02 * known.sum()):
        lowest = float(np.quantile(smooth[quiet], 0.1))
        if lowest <= REFERENCE_MAX_S:
            return lowest, lowest, True
    free = smooth[~standing[known]]
    if free.size < 10:
        return min(float(smooth.min()), REFERENCE_FALLBACK_S), float("nan"), False
    tenth = float(np.quantile(free, 0.1))
    quickest = tenth if tenth <= REFERENCE_MAX_S else float("nan")
    lowest = float(np.quantile(free, 0.05))
    # Twice as quick as usual: then most of the window waited, and the quick samples show ease.
    is_seen = lowest <= REFERENCE_MAX_S and lowest < 0.5 * float(np.median(smooth))
    return min(lowest, REFERENCE_FALLBACK_S), quickest, is_seen


def _smoothed(values: FloatArray) -> FloatArray:
    """Return geometric mean over five neighbouring samples."""
    if values.size < 10:
        return values
    total = np.concatenate(([0.0], np.cumsum(np.log(values))))
    means = (total[5:] - total[:-5]) / 5
    return np.exp(np.concatenate((np.repeat(means[:1], 2), means, np.repeat(means[-1:], 2))))


def _queue_excess(queue: FloatArray, expected: FloatArray, calm: BoolArray) -> FloatArray:
    """Return log(queue ÷ expected queue), calibrated so that calm samples read zero."""
    # The floor on both sides keeps the rounding of a nearly empty queue from looking like a ratio.
    raw = np.log((queue + QUEUE_FLOOR) / (expected + QUEUE_FLOOR))
    raw[~np.isfinite(raw)] = np.nan
    quiet = np.isfinite(raw) & calm
    # The two metrics need not agree with Little's law in real data; calm samples tell their usual ratio.
    if quiet.sum() >= max(10, 0.02 * np.isfinite(raw).sum()):
        # By a factor of e at most: a larger disagreement is a fault of a metric, not its usual
        # ratio.
        raw = raw - float(np.clip(np.median(raw[quiet]), -1.0, 1.0))
    return raw


def _mean_of_known(first: FloatArray, second: FloatArray) -> FloatArray:
    both = np.isfinite(first) & np.isfinite(second)
    mean = np.where(np.isfinite(first), first, second)
    return np.where(both, (np.nan_to_num(first) + np.nan_to_num(second)) / 2, mean)


def _moving_mean(values: FloatArray) -> FloatArray:
    """Return mean of the known among five neighbouring samples; a single lost sample is filled by them."""
    known = np.isfinite(values)
    kernel = np.ones(5)
    if values.size < kernel.size:
        return values
    count = np.convolve(known.astype(float), kernel, mode="same")
    total = np.convolve(np.where(known, values, 0.0), kernel, mode="same")
    with np.errstate(all="ignore"):
        return np.where(count > 0, total / count, np.nan)


def load_of(frame: Frame) -> FloatArray:
    """
    Return how busy each sample was, 0–1: the larger of throughput and IOPS against their own high.

    The high is the 99th percentile, so that one spike does not make everything else look calm.
    """
    shares = []
    for rate in (frame.bytes_per_s, frame.ops_per_s):
        known = rate[np.isfinite(rate)]
        if known.size:
            high = float(np.quantile(known, 0.99))
            if high > 0:
                shares.append(rate / high)
    if not shares:
        return np.full(frame.size, np.nan)
    return shares[0] if len(shares) == 1 else np.fmax(shares[0], shares[1])
