"""
Simulated snapshots: what an instance would report under a known demand and a known ceiling.

Everything here is simulated. Served is the smaller of demand and ceiling; what is held back waits.
The queue follows Little's law: requests in flight are rate × latency.
"""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB

START_S = 1_615_161_600  # 2021-03-08T00:00:00Z, a multiple of every period
STEP_S = 60
HOUR = 60
"""Samples of a minute in an hour."""

NOWHERE = Origin(source="a test", read_on="2026-01-01")
RATES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
LATENCIES = (Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S)
BALANCES = (Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO)


def series(metric: Metric, value: ArrayLike, *, step_s: int = STEP_S, start_s: int = START_S) -> Series:
    """One value every `step_s`."""
    array = np.asarray(value, dtype=np.float64)
    times = start_s + step_s * np.arange(array.size, dtype=np.int64)
    return Series(metric=metric, step_s=step_s, time_s=times, value=array)


def timed(metric: Metric, time_s: ArrayLike, value: ArrayLike, *, step_s: int = STEP_S) -> Series:
    """Samples at times of their own."""
    return Series(
        metric=metric,
        step_s=step_s,
        time_s=np.asarray(time_s, dtype=np.int64),
        value=np.asarray(value, dtype=np.float64),
    )


def snapshot(
    *every: Mapping[Metric, ArrayLike] | Series,
    instance: Instance | None = None,
    step_s: int = STEP_S,
    start_s: int = START_S,
) -> Snapshot:
    """A simulated snapshot of regular series and of series made elsewhere; later ones win."""
    found: dict[Metric, Series] = {}
    for part in every:
        if isinstance(part, Series):
            found[part.metric] = part
        else:
            for metric, value in part.items():
                found[metric] = series(metric, value, step_s=step_s, start_s=start_s)
    return Snapshot(instance=instance or Instance(), series=found, source="a test", is_simulated=True)


def storage(
    bytes_per_s: ArrayLike,
    *,
    size_bytes: ArrayLike = 16 * KIB,
    read_share: ArrayLike = 0.5,
    latency_s: ArrayLike = 0.0008,
    write_latency_s: ArrayLike | None = None,
) -> dict[Metric, FloatArray]:
    """What storage reports of a served rate: rates, latencies and, by Little's law, the queue."""
    served, size, reads = np.broadcast_arrays(np.asarray(bytes_per_s, dtype=np.float64), size_bytes, read_share)
    read_s = np.broadcast_to(np.asarray(latency_s, dtype=np.float64), served.shape)
    write_s = read_s if write_latency_s is None else np.broadcast_to(write_latency_s, served.shape)
    ops = served / size
    return {
        Metric.READ_BYTES_PER_S: served * reads,
        Metric.WRITE_BYTES_PER_S: served * (1 - reads),
        Metric.READ_OPS_PER_S: ops * reads,
        Metric.WRITE_OPS_PER_S: ops * (1 - reads),
        Metric.READ_LATENCY_S: read_s.copy(),
        Metric.WRITE_LATENCY_S: np.array(write_s),
        Metric.QUEUE_DEPTH: ops * (reads * read_s + (1 - reads) * write_s),
    }


def wander(rng: np.random.Generator, count: int, spread: float, *, memory: float = 0.0) -> FloatArray:
    """
    Log-normal noise around 1, shape (count,).

    Args:
        spread: standard deviation of its logarithm.
        memory: correlation of neighbours, 0 ≤ x < 1.
    """
    shocks = rng.normal(0, np.sqrt(1 - memory**2), count)
    walk = np.empty(count)
    level = 0.0
    for index, shock in enumerate(shocks):
        level = memory * level + shock
        walk[index] = level
    return np.exp(spread * walk)


def held_at(
    demand: FloatArray,
    ceiling: float,
    *,
    rng: np.random.Generator,
    dimension: Dimension = Dimension.THROUGHPUT,
    size_bytes: ArrayLike = 16 * KIB,
    read_share: ArrayLike = 0.5,
    waiting: float = 8.0,
    calm_s: float = 0.0008,
    jitter: float = 0.001,
) -> dict[Metric, FloatArray]:
    """
    What storage reports of a demand behind a ceiling.

    Args:
        demand: bytes/s (ops/s for Dimension.IOPS) asked for, shape (n,).
        ceiling: what is let through at most, in the unit of the demand.
        waiting: how many times longer a request takes while the ceiling binds.
        calm_s: latency while it does not bind.
        jitter: standard deviation of the enforced rate, as a ratio.
    """
    size = np.broadcast_to(np.asarray(size_bytes, dtype=np.float64), demand.shape)
    enforced = ceiling * (1 + rng.normal(0, jitter, demand.size))
    served = np.minimum(demand, enforced)
    rate = served if dimension == Dimension.THROUGHPUT else served * size
    calm = calm_s * wander(rng, demand.size, 0.08)
    pressed = calm_s * waiting * wander(rng, demand.size, 0.15, memory=0.7)
    latency = np.where(demand > enforced, np.maximum(pressed, calm), calm)
    return storage(rate, size_bytes=size, read_share=read_share, latency_s=latency)


def working_day(
    rng: np.random.Generator, calm: float, busy: float, *, hours: int = 12, spread: float = 0.15
) -> FloatArray:
    """Demand by the minute: calm in the first and last third, busy between, log-normal around it."""
    third = hours * HOUR // 3
    level = np.concatenate((np.full(third, calm), np.full(third, busy), np.full(third, calm)))
    return level * wander(rng, level.size, spread, memory=0.5)


def bucket_balance(
    served_per_s: FloatArray, *, baseline: float, capacity: float, start_ratio: float = 1.0, step_s: int = STEP_S
) -> FloatArray:
    """Balance 0–1 at the end of each step of a bucket that a served rate draws on, by its definition."""
    balance, left = np.empty(served_per_s.size), start_ratio
    for index, served in enumerate(served_per_s):
        left = min(max(left + (baseline - served) * step_s / capacity, 0.0), 1.0)
        balance[index] = left
    return balance


def ceiling(
    family: Family,
    phase: Phase,
    value: float,
    *,
    legacy: Phase | None = None,
    balance: Metric | None = None,
    valid_to: str | None = None,
) -> Ceiling:
    """A documented number whose dimension and unit follow from its family."""
    return Ceiling(
        family=family,
        phase=phase,
        dimension=FAMILIES[family].dimension,
        value=value,
        unit=FAMILIES[family].unit,
        origin=replace(NOWHERE, valid_to=valid_to),
        former_phase=legacy,
        balance_metric=balance,
    )
