"""Build windows in which requests wait below every ceiling, and quiet ones that must not be accused."""

from collections.abc import Callable

import numpy as np

from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from third.cases import START_S, Array, wandering

MINUTES = 2880
GP3 = Instance(
    identifier="third",
    db_class="db.m5.4xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=300.0, provisioned_ops_per_s=3000.0, provisioned_bytes_per_s=125 * 1024.0**2),
)
IO1 = Instance(
    identifier="third",
    db_class="db.m5.4xlarge",
    engine="postgres",
    storage=Storage(kind="io1", size_gib=2000.0, provisioned_ops_per_s=18_000.0),
)


def window(
    ops: Array,
    latency_s: Array,
    *,
    size: float = 16_384.0,
    instance: Instance = IO1,
    cpu: float = 0.3,
    queue: Array | None = None,
) -> Snapshot:
    """Return a snapshot of a minute's means; the queue follows Little's law unless it is given."""
    reads = 0.6
    values = {
        Metric.READ_BYTES_PER_S: ops * size * reads,
        Metric.WRITE_BYTES_PER_S: ops * size * (1 - reads),
        Metric.READ_OPS_PER_S: ops * reads,
        Metric.WRITE_OPS_PER_S: ops * (1 - reads),
        Metric.READ_LATENCY_S: latency_s,
        Metric.WRITE_LATENCY_S: latency_s,
        Metric.QUEUE_DEPTH: ops * latency_s if queue is None else queue,
        Metric.CPU_RATIO: np.full(ops.size, cpu),
    }
    time_s = START_S + 60 * np.arange(ops.size)
    series = {m: Series(metric=m, step_s=60, time_s=time_s, value=v) for m, v in values.items()}
    return Snapshot(instance=instance, series=series, source="third", is_simulated=True)


def load(level: float, spread: float = 0.15, seed: int = 1) -> Array:
    """Return requests per second by the minute."""
    rng = np.random.default_rng(seed)
    return level * wandering(rng, MINUTES * 60, spread, 3600)[::60][:MINUTES]


def calm_s(seed: int = 2) -> Array:
    """Return the latency of SSD storage without pressure."""
    return 0.8e-3 * np.random.default_rng(seed).lognormal(0, 0.08, MINUTES)


def slow_hours(times: float, hours: int) -> Snapshot:
    """Multiply latency and queue for some hours, at unchanged rates."""
    latency = calm_s()
    latency[900 : 900 + 60 * hours] *= times
    return window(load(3000.0), latency)


def bursts_in_the_minute() -> Snapshot:
    """Return bursts at the ceiling of 3,000 IOPS for 58 % of each minute, in two fifths of the time."""
    busy = np.arange(MINUTES) % 100 < 40
    ops = np.where(busy, 0.58 * 3000 + 0.42 * 850, 700.0) * np.random.default_rng(3).lognormal(0, 0.02, MINUTES)
    latency = np.where(busy, 11e-3, 0.7e-3) * np.random.default_rng(4).lognormal(0, 0.1, MINUTES)
    return window(ops, latency, instance=GP3, queue=np.where(busy, 37.0, 0.2))


def steady_and_late(times: float, spread: float) -> Snapshot:
    """Return 571 minutes at 194 MB/s, hardly varying, with a multiple of the usual latency."""
    ops, latency = load(4000.0, 0.3), calm_s()
    part = slice(1200, 1771)
    ops[part] = 194e6 / 16_384 * np.random.default_rng(5).lognormal(0, spread, 571)
    latency[part] *= times * np.random.default_rng(6).lognormal(0, 0.1, 571)
    return window(ops, latency)


def deep_all_day() -> Snapshot:
    """Return a device of unknown limits with 72 requests in its queue at every moment."""
    latency = np.full(MINUTES, 72 / 9000.0)
    return window(load(9000.0, 0.05), latency, instance=Instance(identifier="disk"))


def one_rate_all_day() -> Snapshot:
    """Return 72 MB/s within 0.2 % all day at 4 ms, with no light hour."""
    rng = np.random.default_rng(7)
    return window(4400.0 * rng.lognormal(0, 0.002, MINUTES), calm_s() * 5)


CASES: dict[str, Callable[[], Snapshot]] = {
    "slow storage for 3 h": lambda: slow_hours(20.0, 3),
    "slow storage for 12 h": lambda: slow_hours(10.0, 12),
    "bursts within the minute": bursts_in_the_minute,
    "194 MB/s, latency x 7": lambda: steady_and_late(7.0, 0.01),
    "194 MB/s, latency x 7, 0.1 %": lambda: steady_and_late(7.0, 0.001),
    "deep queue, limits unknown": deep_all_day,
    "one rate all day at 4 ms": one_rate_all_day,
}
QUIET: dict[str, Callable[[], Snapshot]] = {
    "busy": lambda: window(load(9000.0), calm_s()),
    "idle": lambda: window(load(3.0), calm_s()),
    "CPU-bound": lambda: window(np.minimum(load(8000.0, 0.5), 8000.0), calm_s(), cpu=0.98),
    "limiter": lambda: window(np.minimum(load(8000.0, 0.5), 8000.0), calm_s()),
    "limiter at 95 % of a number": lambda: window(np.minimum(load(2850.0, 0.5), 2850.0), calm_s(), instance=GP3),
    "limiter at a number": lambda: window(np.minimum(load(3000.0, 0.5), 3000.0), calm_s(), instance=GP3),
    "deep queue at low latency": lambda: window(load(16_000.0, 0.1), 0.5 * calm_s()),
    "slow at night": lambda: window(load(3000.0), calm_s() * np.where(np.arange(MINUTES) % 1440 < 300, 1.5, 1.0)),
}
