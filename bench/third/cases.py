"""Generate incidents: `incident(seed)`; machine, demand, and what a source would have read."""

from dataclasses import dataclass

import numpy as np

from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from third import flow

Array = np.ndarray
DAY_S = 86_400
START_S = 1_750_032_000  # 2025-06-16T00:00:00Z
MIB = 1024.0**2
# Class, baseline and maximum MB/s, baseline and maximum IOPS: AWS, "Amazon EBS-optimized instances", read from
# bench/rival/classes.csv, whose rows have their sources.
CLASSES = (
    ("db.t3.xlarge", 86.875, 347.5, 4000, 15700),
    ("db.m5.large", 81.25, 593.75, 3600, 18750),
    ("db.m5.xlarge", 143.75, 593.75, 6000, 18750),
    ("db.r5.2xlarge", 287.5, 593.75, 12000, 18750),
    ("db.m5.4xlarge", 593.75, 593.75, 18750, 18750),
)
FAMILIES = ("instance_ebs_throughput", "instance_ebs_iops", "volume_throughput", "volume_iops")
PRESSED = ("hovers", "batch", "growth", "closed", "resized", "restarted", "backup_at_limit", "short")
INNOCENT = ("idle", "busy", "deep_and_quick", "cpu_bound", "limiter", "slow_storage", "restarts", "walk", "wide_mix")


@dataclass(frozen=True, slots=True)
class Incident:
    """Hold what a source would have read, and the truth."""

    name: str
    snapshot: Snapshot
    step_s: int
    time_s: Array
    throttled: Array
    """Share of each sample's seconds in which some limit had no token left; NaN where missing."""
    families: Array
    """Limit that acted for most of each sample: index into FAMILIES, -1 for none."""
    levels: Array
    """Its documented rate as described, or as it was before a change."""


@dataclass(slots=True)
class Machine:
    """Describe an instance, with its limits per second as flow.run takes them."""

    instance: Instance
    limits: Array


def machine(rng: np.random.Generator) -> Machine:
    """Draw one of the classes with gp2, gp3 or io1 storage."""
    name, base_mb, peak_mb, base_ops, peak_ops = CLASSES[rng.integers(len(CLASSES))]
    kind = str(rng.choice(["gp2", "gp3", "io1"]))
    # Below 400 GiB, where RDS uses one volume; gp2 between 170 and 334 GiB also bursts in throughput.
    size = float(rng.integers(100, 390))
    if kind == "gp2":
        size = float(rng.choice([100, 150, 335, 380]))
    limits = np.zeros((flow.LIMITS, 4))
    for row, base, peak in ((0, base_mb * 1e6, peak_mb * 1e6), (1, base_ops, peak_ops)):
        limits[row] = base, peak, max((peak - base) * 1800.0, 1.0), 0.0
    if kind == "gp2":
        base = 3 * size
        limits[2] = (250 if size >= 334 else 128) * MIB, 0, 1, 0
        limits[3] = base, max(base, 3000.0), 5.4e6, 0
        storage = Storage(kind=kind, size_gib=size)
    elif kind == "gp3":
        limits[2], limits[3] = (125 * MIB, 0, 1, 0), (3000.0, 0, 1, 0)
        storage = Storage(kind=kind, size_gib=size, provisioned_ops_per_s=3000.0, provisioned_bytes_per_s=125 * MIB)
    else:
        ops = float(rng.choice([2000, 5000, 10_000]))
        limits[2], limits[3] = ((1e12, 0, 1, 0), (ops, 0, 1, 0))  # the instance binds before its bytes
        storage = Storage(kind=kind, size_gib=size, provisioned_ops_per_s=ops)
    limits[:, flow.PEAK] = np.maximum(limits[:, flow.PEAK], limits[:, flow.BASE])
    limits[:, flow.START] = limits[:, flow.CAPACITY] * rng.uniform(0, 1, flow.LIMITS)
    instance = Instance(identifier="third", db_class=name, engine="postgres", storage=storage)
    return Machine(instance, limits)


def least(limits: Array, size: float) -> float:
    """Return the requests per second that the lowest sustained limit allows."""
    return float(np.min(limits[:, flow.BASE] / np.array([size, 1.0, size, 1.0])))


def wandering(rng: np.random.Generator, n: int, spread: float, memory_s: float) -> Array:
    """Return a random walk that returns to 1, with a step a minute."""
    keep = np.exp(-60.0 / memory_s)
    walk = np.zeros(n // 60 + 2)
    shocks = rng.normal(0, spread * np.sqrt(1 - keep**2), walk.size)
    for i in range(1, walk.size):
        walk[i] = keep * walk[i - 1] + shocks[i]
    return np.exp(np.interp(np.arange(n), 60.0 * np.arange(walk.size), walk))


def demand(rng: np.random.Generator, n: int) -> Array:
    """Return demand by the second, 1 at its daily peak: hours of the day times a random walk."""
    hours = np.arange(n) / DAY_S * 2 * np.pi + rng.uniform(0, 6)
    return (0.55 + 0.45 * np.sin(hours)) * wandering(rng, n, 0.12, 5400)


def stretches(rng: np.random.Generator, n: int, count: int, low_s: int, high_s: int) -> list[slice]:
    """Return some stretches of the window, which may overlap."""
    starts = rng.integers(0, max(n - high_s, 1), count)
    return [slice(int(a), int(a) + int(rng.integers(low_s, high_s))) for a in starts]


def incident(seed: int, kind: str | None = None) -> Incident:
    """Generate one incident; equal seeds give equal incidents."""
    rng = np.random.default_rng([seed, 3])
    kinds = PRESSED if rng.random() < 0.5 else INNOCENT
    name = kind or str(kinds[rng.integers(len(kinds))])
    made, n = machine(rng), int(rng.choice([DAY_S, 2 * DAY_S, 3 * DAY_S]))
    mean_size = float(rng.choice([8, 16, 32, 64, 128])) * 1024
    size = mean_size * wandering(rng, n, 0.05, 7200)
    slow, ops = np.ones(n), least(made.limits, mean_size) * demand(rng, n)
    clients, cpu, earlier = float(rng.choice([16, 64, 250])), 0.3, made.limits.copy()
    device = 40.0 * least(made.limits, mean_size)
    change = 0
    low = least(made.limits, mean_size)
    if name == "hovers":
        ops = low * wandering(rng, n, 0.06, 1800) * rng.uniform(0.97, 1.02)
    elif name in {"batch", "backup_at_limit", "short"}:
        ops *= 0.4
        spans = (180, 480) if name == "short" else (1800, 4 * 3600)
        for part in stretches(rng, n, 8 if name == "short" else 4, *spans):
            ops[part] = low * rng.uniform(1.2, 4)
            if name == "backup_at_limit":
                slow[part] = 1.5
    elif name in {"growth", "closed", "restarted"}:
        ops *= rng.uniform(1.15, 2.5)
        clients *= 0.25 if name == "closed" else 1.0
    elif name == "resized":
        ops *= rng.uniform(1.1, 1.5) / 0.7
        earlier[:, : flow.CAPACITY + 1] *= 0.6
        change = n // 2
    elif name == "idle":
        ops *= 0.02
    elif name == "wide_mix":
        ops *= 0.4
        size = mean_size * 0.5 * wandering(rng, n, 0.5, 3600)
    else:
        ops *= 0.6
    if name == "deep_and_quick":
        device, ops = 3.0 * low, np.minimum(ops, 0.6 * low)
    elif name == "cpu_bound":
        ops, cpu = np.minimum(ops, 0.45 * low), 0.97
    elif name == "limiter":
        for part in stretches(rng, n, 4, 3600, 3 * 3600):
            ops[part] = rng.uniform(0.3, 0.8) * low
    elif name == "slow_storage":
        for part in stretches(rng, n, 2, 3600, 3 * 3600):
            slow[part] = rng.uniform(3, 20)
    if name in {"restarted", "restarts"}:
        for part in stretches(rng, n, 3, 120, 600):
            ops[part] = 0
    if name in INNOCENT:
        # Never close: no second may lack a token, including Poisson variation.
        rates = made.limits[:, flow.BASE, None] / np.stack([size, np.ones(n), size, np.ones(n)])
        ops = np.minimum(ops, 0.85 * rates.min(axis=0))
        ops = np.minimum(ops, np.maximum(rates.min(axis=0) - 6 * np.sqrt(ops + 1), 0))
    parts = [(slice(0, change), earlier), (slice(change, n), made.limits)]
    seconds = np.concatenate(
        [flow.run(ops[p], size[p], slow[p], m, 0.7e-3, device, 1.5, clients, rng) for p, m in parts if p.stop > p.start]
    )
    return _film(rng, name, made, seconds, cpu, earlier, change)


def _film(
    rng: np.random.Generator, name: str, made: Machine, seconds: Array, cpu: float, earlier: Array, change: int
) -> Incident:
    """Average over a minute or five, lose samples, and write what CloudWatch would show."""
    step = int(rng.choice([60, 60, 300]))
    rows = seconds.reshape(-1, step, flow.WIDTH)
    mean = rows.mean(axis=1)
    n = mean.shape[0]
    time_s = START_S + step * np.arange(n)
    lost = rng.random(n) < 0.01
    gap = int(rng.integers(n))
    lost[gap : gap + int(rng.integers(2, 12))] |= rng.random() < 0.3
    ops, size = mean[:, flow.OPS], mean[:, flow.BYTES]
    with np.errstate(all="ignore"):
        latency = np.where(ops > 0, mean[:, flow.BUSY_S] / ops, 0.0)
    reads = np.clip(0.6 + 0.1 * np.sin(np.arange(n) / 97.0), 0, 1)
    values = {
        Metric.READ_BYTES_PER_S: size * reads,
        Metric.WRITE_BYTES_PER_S: size * (1 - reads),
        Metric.READ_OPS_PER_S: ops * reads,
        Metric.WRITE_OPS_PER_S: ops * (1 - reads),
        Metric.READ_LATENCY_S: latency * rng.lognormal(0, 0.04, n),
        Metric.WRITE_LATENCY_S: latency * rng.lognormal(0, 0.04, n),
        Metric.QUEUE_DEPTH: mean[:, flow.QUEUE] * rng.lognormal(0, 0.1, n),
        Metric.CPU_RATIO: np.clip(cpu + rng.normal(0, 0.02, n), 0, 1),
    }
    if rng.random() < 0.5 and not change:
        limits = made.limits
        for k, metric in enumerate((Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO)):
            if limits[k, flow.PEAK] > limits[k, flow.BASE]:
                ratio = rows[:, -1, flow.BALANCES + k] / limits[k, flow.CAPACITY]
                values[metric] = np.round(ratio, 2)
    keep = ~lost
    series = {m: Series(metric=m, step_s=step, time_s=time_s[keep], value=v[keep]) for m, v in values.items()}
    held = mean[:, flow.HELD : flow.HELD + 2 * flow.LIMITS]
    throttled = np.where(lost, np.nan, held.sum(axis=1))
    code = held.argmax(axis=1)
    rates = np.where(
        (step * np.arange(n) < change)[:, None, None], earlier[:, : flow.PEAK + 1], made.limits[:, : flow.PEAK + 1]
    )
    levels = rates[np.arange(n), code // 2, code % 2]
    snapshot = Snapshot(instance=made.instance, series=series, source="third", is_simulated=True)
    families = np.where(held.sum(axis=1) > 0, code // 2, -1)
    return Incident(name, snapshot, step, time_s, throttled, families, levels)
