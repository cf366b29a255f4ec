"""
Check whether values are possible in their assumed unit; impossible values have another unit.

Exports seldom write units, and a chart is often drawn in MB/s and milliseconds. A rate a million times
too small would be told as a limit of that size. Where only one unit fits, it is taken and said; where
several do (MB/s and MiB/s are 4.9 % apart, and levels are told to a percent), the metric is left out.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Gap
from plimsoll.units import KIB, MIB, format_duration, number

SIZE_MIN_BYTES = 512.0
"""A sector, the smallest operation of a block device."""
SIZE_MAX_BYTES = 4.0 * MIB
"""Linux splits a request at max_sectors_kb, at most 4 MiB on NVMe; EBS counts in units of 256 KiB."""
SAMPLES_MIN = 3
# A judgement: below one operation per second, a mean size or latency covers only a few requests.
OPS_MIN = 1.0
# The tenth of the samples in which storage answers fastest. SSD volumes need some milliseconds then, a
# hard disk ten; a quarter of a second at best over a whole window is 0.25 ms written without its unit.
CALM_QUANTILE = 0.1
CALM_MAX_S = 0.25
# A minute at best is neither: as milliseconds it is a storage that was pressed all the time, or dead.
NO_UNIT_S = 60.0
# Little's law: queue depth = rate × latency. Published metrics agree with it within a factor of a few;
# a latency in milliseconds is a thousand times off.
LITTLE_OFF = 30.0
MS = 1e-3

DIRECTIONS = (
    (Metric.READ_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.READ_LATENCY_S),
    (Metric.WRITE_BYTES_PER_S, Metric.WRITE_OPS_PER_S, Metric.WRITE_LATENCY_S),
)


def in_their_units(series: Mapping[Metric, Series], instance: Instance) -> tuple[dict[Metric, Series], list[Gap]]:
    """
    Return the series that are possible in their unit, and gaps for the others.

    Args:
        series: one instance's, in our units as far as the source said its own.
        instance: Aurora counts log records, not operations of a block device; its rates stay.
    """
    kept, gaps = dict(series), []
    for of_bytes, of_ops, of_latency in DIRECTIONS:
        if not (instance.engine or "").startswith("aurora"):
            gaps += _sizes(kept, of_bytes, of_ops)
        gaps += _latency(kept, series, of_latency, of_ops)
    return kept, gaps


def _sizes(kept: dict[Metric, Series], of_bytes: Metric, of_ops: Metric) -> list[Gap]:
    """Drop bytes and operations whose quotient is no possible size; either may have the wrong unit."""
    rate, ops = _side_by_side(kept.get(of_bytes), kept.get(of_ops))
    busy = (ops >= OPS_MIN) & np.isfinite(rate)
    if int(busy.sum()) < SAMPLES_MIN:
        return []
    size = float(np.median(rate[busy] / ops[busy]))
    if size == 0 or SIZE_MIN_BYTES <= size <= SIZE_MAX_BYTES:
        return []
    del kept[of_bytes], kept[of_ops]
    names = f"{METRICS[of_bytes].cloudwatch} and {METRICS[of_ops].cloudwatch}"
    return [
        Gap(
            metric=names,
            reason=(
                f"together they give {_size(size)} per operation, which no storage does: one of them "
                "is not in the unit it was taken for (bytes/s and operations/s)"
            ),
            remedy=(
                "Export both in CloudWatch's own units, or write the unit beside the name, for example "
                f"'{METRICS[of_bytes].cloudwatch} (MB/s)'."
            ),
        )
    ]


def _latency(kept: dict[Metric, Series], series: Mapping[Metric, Series], metric: Metric, of_ops: Metric) -> list[Gap]:
    """Read a latency as milliseconds if it cannot be seconds, or drop it."""
    found = kept.get(metric)
    if found is None:
        return []
    latency, ops = _side_by_side(found, series.get(of_ops))
    if not latency.size:
        latency, ops = found.value, np.full(found.value.size, OPS_MIN)
    busy = latency[(ops >= OPS_MIN) & (latency > 0)]
    calm = float(np.quantile(busy, CALM_QUANTILE)) if busy.size >= SAMPLES_MIN else 0.0
    if calm < CALM_MAX_S or _agrees_with_queue(series):
        return []
    name = METRICS[metric].cloudwatch
    best = format_duration(calm) if calm >= 1 else f"{number(calm)} s"
    if calm >= NO_UNIT_S:
        del kept[metric]
        return [
            Gap(
                metric=metric.value,
                reason=f"at best {best} in the whole window: {name} is not in seconds",
                remedy=f"Export it in seconds, or write the unit beside the name: '{name} (ms)'.",
            )
        ]
    kept[metric] = replace(found, value=found.value * MS)
    return [
        Gap(
            metric=metric.value,
            reason=f"taken for milliseconds: as seconds, storage took {best} at best in the window",
            remedy=f"Export it in seconds, or write the unit beside the name: '{name} (ms)'.",
        )
    ]


def _agrees_with_queue(series: Mapping[Metric, Series]) -> bool:
    """Return whether the queue depth agrees with these latencies in seconds (Little's law)."""
    queue = series.get(Metric.QUEUE_DEPTH)
    total = 0.0
    for _, of_ops, of_latency in DIRECTIONS:
        latency, ops = _side_by_side(series.get(of_latency), series.get(of_ops))
        known = np.isfinite(latency) & np.isfinite(ops)
        total += float(np.mean(latency[known] * ops[known])) if known.any() else 0.0
    if queue is None or not np.isfinite(queue.value).any() or total == 0:
        return False
    depth = float(np.nanmean(queue.value))
    return depth > 0 and total / depth < LITTLE_OFF


def _side_by_side(one: Series | None, other: Series | None) -> tuple[FloatArray, FloatArray]:
    """Align two series at the times that both have, shape (n,) each."""
    if one is None or other is None:
        return np.zeros(0), np.zeros(0)
    if np.array_equal(one.time_s, other.time_s):
        return one.value, other.value
    _, at, other_at = np.intersect1d(one.time_s, other.time_s, assume_unique=True, return_indices=True)
    return one.value[at], other.value[other_at]


def _size(size_bytes: float) -> str:
    if size_bytes < KIB:
        return f"{number(size_bytes, 2)} bytes"
    return f"{number(size_bytes / MIB, 3)} MiB"
