"""
Compute what CloudWatch would show: means of one or five minutes, rounded, noisy, with gaps.

A five-minute value is the mean of the one-minute values. Queue depth and latency come from
different counters and do not agree exactly (published incidents differ by a factor of two and
more), so each has its own factor. Balances are read every minute or every five, as the mean of
the period or as its last moment, in whole percents, tenths, or unrounded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from incidents import signals
from incidents.scenario import Load
from incidents.signals import Array, log_uniform
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series

PER_MINUTE = signals.GRID_S // signals.STEP_S
SHIFTS = (
    "noise3", "five_minute", "missing_queue", "missing_latency", "missing_balances", "no_catalog",
)  # fmt: skip


@dataclass(slots=True)
class Lens:
    """Describe how one incident is observed; drawn before any shift so that shifts change nothing else."""

    period_s: int
    balance_period_s: int
    balance_unit: float
    """Rounding step of a balance as a ratio; 0 for none."""
    is_balance_last: bool
    noise_sd: float
    is_clock_noise: bool
    latency_sd: float
    queue_factor: float
    queue_sd: float
    latency_unit_s: float
    queue_unit: float
    missing_share: float
    gap_count: int
    is_gap_per_metric: bool
    absent: frozenset[str]


def draw_lens(rng: Generator) -> Lens:
    """Draw how an incident is observed, without any shift."""
    absent = set()
    if rng.random() < 0.06:
        absent.add("queue")
    elif rng.random() < 0.06:
        absent.add("latency")
    if rng.random() < 0.12:
        absent.add("balances")
    if rng.random() < 0.1:
        absent.add("resources")
    period = 60 if rng.random() < 0.75 else 300
    return Lens(
        period_s=period,
        balance_period_s=300 if period == 300 or rng.random() < 0.6 else 60,
        balance_unit=float(rng.choice([0.01, 0.01, 0.001, 0.0])),
        is_balance_last=bool(rng.random() < 0.5),
        noise_sd=log_uniform(rng, 0.0002, 0.004),
        is_clock_noise=bool(rng.random() < 0.4),
        latency_sd=log_uniform(rng, 0.02, 0.15),
        queue_factor=float(np.clip(np.exp(rng.normal(0, 0.35)), 0.35, 2.8)),
        queue_sd=log_uniform(rng, 0.02, 0.2),
        latency_unit_s=float(rng.choice([0.0, 0.0, 1e-5, 1e-4])),
        queue_unit=float(rng.choice([0.0, 0.0, 0.01, 0.1])),
        missing_share=0.0 if rng.random() < 0.6 else log_uniform(rng, 0.001, 0.03),
        gap_count=int(rng.integers(1, 5)) if rng.random() < 0.2 else 0,
        is_gap_per_metric=bool(rng.random() < 0.25),
        absent=frozenset(absent),
    )


def shifted(lens: Lens, shift: str | None) -> Lens:
    """Return the same lens after a shift of conditions."""
    if shift == "noise3":
        lens.noise_sd *= 3
        lens.latency_sd *= 3
        lens.queue_sd *= 3
    elif shift == "five_minute":
        lens.period_s = lens.balance_period_s = 300
    elif shift and shift.startswith("missing_"):
        # Keep one of queue and latency: the shift tests what happens without the other.
        lost = shift.removeprefix("missing_")
        kept = lens.absent - {"queue", "latency"} if lost != "balances" else lens.absent
        lens.absent = kept | {lost}
    return lens


def minute_mean(value: Array) -> Array:
    """Return the means of whole minutes of a series over steps, shape (n // 12,)."""
    return value.reshape(-1, PER_MINUTE).mean(axis=1)


def _coarse(minutes: Array, period_s: int) -> Array:
    return minutes.reshape(-1, period_s // 60).mean(axis=1)


def _rounded(value: Array, unit: float) -> Array:
    return np.round(value / unit) * unit if unit > 0 else value


@dataclass(slots=True)
class Served:
    """Name the arrays that the engine returned; they are over steps."""

    rate: Array
    latency: Array
    service: Array
    stage: Array
    phase: Array
    soft: Array
    level: Array
    credits: Array
    capacity: tuple[float, float, float]
    """Capacities of the instance's byte and I/O buckets and of the volumes'; 0 if none."""


def observe(rng: Generator, load: Load, served: Served, lens: Lens, start_s: int) -> dict[Metric, Series]:
    """Return every series that would be exported, by metric."""
    minutes = _storage(rng, load, served, lens) | _resources(rng, load, served)
    balances = _balances(rng, load, served, lens)
    kept = _kept(rng, minutes[Metric.READ_BYTES_PER_S].size * 60 // lens.period_s, lens)
    out = {}
    for metric in Metric:
        if metric in minutes:
            value, period = _coarse(minutes[metric], lens.period_s), lens.period_s
        elif metric in balances:
            value, period = balances[metric], lens.balance_period_s
        else:
            continue
        keep = kept if not lens.is_gap_per_metric else _kept(rng, kept.size, lens)
        keep = keep[np.arange(value.size) * period // lens.period_s]
        times = start_s + period * np.arange(value.size, dtype=np.int64)
        # Absent metrics are drawn like the others, so that their absence changes nothing else.
        if _group(metric) not in lens.absent:
            out[metric] = Series(metric=metric, step_s=period, time_s=times[keep], value=value[keep])
    return out


_GROUPS = {
    "queue": (Metric.QUEUE_DEPTH,),
    "latency": (Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S),
    "balances": (Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO),
    "rates": (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S),
}


def _group(metric: Metric) -> str:
    return next((name for name, members in _GROUPS.items() if metric in members), "resources")


def _kept(rng: Generator, count: int, lens: Lens) -> np.ndarray:
    """Draw which samples arrived, shape (count,)."""
    keep = rng.random(count) >= lens.missing_share
    for _ in range(lens.gap_count):
        at = int(rng.integers(count))
        length = int(log_uniform(rng, 300, 4 * 3600)) // lens.period_s
        keep[at : at + length] = False
    keep[: max(2, count // 100)] = True
    return keep


def _storage(rng: Generator, load: Load, served: Served, lens: Lens) -> dict[Metric, Array]:
    flow, rate = load.flow, served.rate
    reads = rate * flow.read_share
    writes = rate - reads
    wait = served.latency - served.service
    # Reads and writes differ in service and in queueing; weighted by their shares, both give the mean
    # that the engine computed.
    slow_write, queue_write = log_uniform(rng, 0.5, 3.0), log_uniform(rng, 0.3, 4.0)
    share = flow.read_share
    in_service = served.service / (share + (1 - share) * slow_write)
    in_queue = wait / (share + (1 - share) * queue_write)
    read_latency = in_service + in_queue
    write_latency = in_service * slow_write + in_queue * queue_write
    count = rate.size // PER_MINUTE
    if lens.is_clock_noise:
        # Counters are read a little early or late: what one minute gains, the next one loses.
        slip = rng.normal(0, lens.noise_sd, count + 1)
        factors = [1 + np.diff(slip)] * 4
    else:
        factors = [1 + rng.normal(0, lens.noise_sd, count) for _ in range(4)]
    out = {
        Metric.READ_BYTES_PER_S: minute_mean(reads * flow.read_size) * factors[0],
        Metric.WRITE_BYTES_PER_S: minute_mean(writes * flow.write_size) * factors[1],
        Metric.READ_OPS_PER_S: minute_mean(reads) * factors[2],
        Metric.WRITE_OPS_PER_S: minute_mean(writes) * factors[3],
    }
    for metric, ops, latency in (
        (Metric.READ_LATENCY_S, reads, read_latency),
        (Metric.WRITE_LATENCY_S, writes, write_latency),
    ):
        mean = minute_mean(ops * latency) / np.maximum(minute_mean(ops), 1e-9)
        noisy = mean * np.exp(rng.normal(0, lens.latency_sd, count))
        out[metric] = _rounded(np.where(minute_mean(ops) > 0, noisy, 0.0), lens.latency_unit_s)
    queue = minute_mean(rate * served.latency) * lens.queue_factor
    out[Metric.QUEUE_DEPTH] = _rounded(queue * np.exp(rng.normal(0, lens.queue_sd, count)), lens.queue_unit)
    return out


def _balances(rng: Generator, load: Load, served: Served, lens: Lens) -> dict[Metric, Array]:
    names = (Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO)
    per = lens.balance_period_s // signals.STEP_S
    out = {}
    for index, metric in enumerate(names):
        shown_full = rng.random() < 0.15
        if index < 2 and load.machine.db_class is not None and not load.machine.row.is_bursting:
            shown_full = shown_full and rng.random() < 0.5
        count = served.rate.size // per
        if served.capacity[index] > 0:
            ratio = (served.credits[index] / served.capacity[index]).reshape(count, per)
            value = ratio[:, -1] if lens.is_balance_last else ratio.mean(axis=1)
            out[metric] = np.clip(_rounded(value, lens.balance_unit), 0, 1)
        elif shown_full:
            out[metric] = np.ones(count)
    return out


def _resources(rng: Generator, load: Load, served: Served) -> dict[Metric, Array]:
    n = served.rate.size
    top = float(served.rate.max())
    busy = served.rate / max(top, 1e-9)
    side = load.side
    cpu = side.get("cpu_ratio")
    if cpu is None:
        cpu = rng.uniform(0.03, 0.2) + rng.uniform(0.1, 0.65) * busy + signals.slow(rng, n, 0.02, 900)
    connections = side.get("connections")
    if connections is None:
        connections = rng.uniform(10, 300) * (1 + 0.3 * busy + signals.slow(rng, n, 0.1, 3600))
    memory = load.machine.row.memory_gib * 1024**3
    free = side.get("memory")
    if free is None:
        free = memory * (rng.uniform(0.05, 0.5) + signals.slow(rng, n, 0.01, 7200))
    bytes_out = served.rate * load.flow.op_bytes * rng.uniform(0.05, 0.6)
    size = load.machine.disk.size_gib * 1024.0**3
    used = rng.uniform(0.2, 0.8) + 0.01 * np.arange(n) / n * rng.uniform(0, 4)
    receive = side.get("network_receive")
    return {
        Metric.CPU_RATIO: np.clip(minute_mean(cpu), 0.002, 1.0),
        Metric.CONNECTION_COUNT: np.round(np.maximum(minute_mean(connections), 0)),
        Metric.FREEABLE_MEMORY_BYTES: np.round(np.maximum(minute_mean(free), 5e7)),
        Metric.SWAP_BYTES: np.round(minute_mean(side.get("swap", np.zeros(n)))),
        Metric.FREE_STORAGE_BYTES: np.round(minute_mean(size * (1 - used))),
        Metric.NETWORK_RECEIVE_BYTES_PER_S: minute_mean(
            receive if receive is not None else bytes_out * rng.uniform(0.1, 1.0)
        ),
        Metric.NETWORK_TRANSMIT_BYTES_PER_S: minute_mean(bytes_out),
    }
