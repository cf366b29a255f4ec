"""
Whether requests waited: latency and queue against what the same storage does when not pressed.

A ceiling delays requests; a producer that is merely steady does not. So waiting is the necessary
sign, and it is measured against a reference for *this* storage: reads and writes apart, because a
batch of slow writes is not a queue.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.model.series import FloatArray

# An unpressed EBS SSD volume answers in well under 5 ms ("single-digit milliseconds", EBS user guide);
# a reference above that is itself a queue, so it is capped, or a window that is pegged throughout
# would look normal to itself.
REFERENCE_MAX_S = 5e-3
REFERENCE_FALLBACK_S = 2e-3
# DiskQueueDepth is published in steps of about a hundredth; below this it carries no ratio.
QUEUE_FLOOR = 0.05
# Waiting at least as long again as being served, roughly: below it the difference drowns in the jitter
# of an unpressed volume.
HOT_LOG = float(np.log(1.4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """How long requests waited, per sample; shape (n,), NaN where neither latency nor queue is known."""

    log_excess: FloatArray
    """log(latency ÷ unpressed latency of the same mix), mean of what latency and queue say."""
    latency_s: FloatArray
    """Operation-weighted latency; from queue ÷ IOPS (Little) where latency is not measured."""
    reference_s: FloatArray
    """Unpressed latency of each sample's mix of reads and writes."""
    is_measured: bool
    """Whether latency or queue depth was there at all."""
    has_latency: bool
    has_queue: bool


def congestion_of(frame: Frame, load: FloatArray) -> Congestion:
    """
    The waiting in each sample.

    Args:
        frame: what was measured.
        load: 0–1, how busy the storage was relative to the window's own high; picks the samples
            that may serve as reference.

    Source:
        Little's law: mean number in the system = rate × mean time in it.
    """
    ops = frame.read_ops_per_s + frame.write_ops_per_s
    read_ref = _reference(frame.read_latency_s, load, frame.read_ops_per_s)
    write_ref = _reference(frame.write_latency_s, load, frame.write_ops_per_s)
    has_latency = bool(
        np.isfinite(frame.read_latency_s).any() or np.isfinite(frame.write_latency_s).any()
    )
    has_queue = bool(np.isfinite(frame.queue_depth).any())
    with np.errstate(invalid="ignore", divide="ignore"):
        busy_s = _weighted(frame.read_ops_per_s, frame.read_latency_s) + _weighted(
            frame.write_ops_per_s, frame.write_latency_s
        )
        expected_busy_s = frame.read_ops_per_s * read_ref + frame.write_ops_per_s * write_ref
        by_latency = np.log(busy_s / expected_busy_s)
        latency_s = np.where(ops > 0, busy_s / ops, np.nan)
        if has_latency:
            by_queue = _queue_excess(frame.queue_depth, expected_busy_s, load)
        else:
            queue_ref = _reference(frame.queue_depth / ops, load, ops)
            by_queue = _queue_excess(frame.queue_depth, ops * queue_ref, load)
            latency_s = np.where(ops > 0, frame.queue_depth / ops, np.nan)
            expected_busy_s = ops * queue_ref
        reference_s = np.where(ops > 0, expected_busy_s / ops, np.nan)
    by_latency[~np.isfinite(by_latency)] = np.nan
    return Congestion(
        log_excess=_mean_of_known(by_latency, by_queue),
        latency_s=latency_s,
        reference_s=reference_s,
        is_measured=has_latency or has_queue,
        has_latency=has_latency,
        has_queue=has_queue,
    )


def _weighted(ops_per_s: FloatArray, latency_s: FloatArray) -> FloatArray:
    # No operations have no latency: CloudWatch then reports 0 or nothing; either adds no waiting.
    return np.where(ops_per_s == 0, 0.0, ops_per_s * latency_s)


def _reference(latency_s: FloatArray, load: FloatArray, ops_per_s: FloatArray) -> float:
    """Unpressed latency: lower quartile where the load was low, else the lowest seen, capped."""
    known = np.isfinite(latency_s) & (latency_s > 0) & (ops_per_s > 0)
    calm = known & (load < 0.6)
    if calm.sum() >= max(10, 0.02 * known.sum()):
        return min(float(np.quantile(latency_s[calm], 0.25)), REFERENCE_MAX_S)
    if known.any():
        return min(float(np.quantile(latency_s[known], 0.05)), REFERENCE_FALLBACK_S)
    return REFERENCE_FALLBACK_S


def _queue_excess(queue: FloatArray, expected: FloatArray, load: FloatArray) -> FloatArray:
    """log(queue ÷ expected queue), calibrated so that calm samples read zero."""
    raw = np.log((queue + QUEUE_FLOOR) / (expected + QUEUE_FLOOR))
    raw[~np.isfinite(raw)] = np.nan
    calm = np.isfinite(raw) & (load < 0.6)
    # The two metrics need not agree with Little's law in real data; calm samples tell their usual ratio.
    if calm.sum() >= max(10, 0.02 * np.isfinite(raw).sum()):
        raw = raw - float(np.clip(np.median(raw[calm]), -1.0, 1.0))
    return raw


def _mean_of_known(first: FloatArray, second: FloatArray) -> FloatArray:
    both = np.isfinite(first) & np.isfinite(second)
    mean = np.where(np.isfinite(first), first, second)
    return np.where(both, (np.nan_to_num(first) + np.nan_to_num(second)) / 2, mean)


def load_of(frame: Frame) -> FloatArray:
    """
    How busy each sample was, 0–1: the larger of throughput and IOPS against their own high.

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
