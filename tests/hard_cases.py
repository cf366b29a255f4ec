"""
Windows of which each was once read wrongly or in silence: what happened in them, and what has to be found.

Everything is simulated, most of it second by second, so that what a mean over a sample hides is known.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import builders
from builders import held_at, series, wander
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB, MIB, gib

DAY = 1440
GP3 = Storage(kind="gp3", size_gib=200)


class Case(NamedTuple):
    """One window, and its answer."""

    happened: str
    """What happened, as the table of the documentation says it."""
    snapshot: Callable[[], Snapshot]
    verdict: str
    """The value of the verdict."""
    family: Family | None = None
    """What binds; None if nothing known does."""
    cause: str = ""
    """Code of the likeliest cause of waiting; empty without any."""
    says: str = ""
    """Words of the first sentence."""


def instance(db_class: str = "db.r5.4xlarge", storage: Storage = GP3, **more) -> Instance:
    return Instance(identifier="orders", db_class=db_class, engine="postgres", storage=storage, **more)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def quiet(count: int = 2 * DAY, rate: float = 5e6) -> dict[Metric, FloatArray]:
    """Storage with a light load, by the minute."""
    return builders.storage(rate * wander(rng(), count, 0.15), latency_s=0.0008 * wander(rng(), count, 0.08))


def pulses(
    length_s: float,
    period_s: int,
    step_s: int,
    *,
    limit: float = 3000.0,
    clients: float = 64,
    hours: tuple[int, int] = (8, 20),
    size: float = 16 * KIB,
) -> Snapshot:
    """
    Two days of jobs at a volume's IOPS, simulated by the second and averaged over samples as CloudWatch does.

    Args:
        length_s: how long a job keeps `clients` requests in flight.
        period_s: from the start of one job to that of the next.
        step_s: length of a sample.
        limit: IOPS of the volume.
        hours: of the day in which jobs run.
    """
    time_s = np.arange(2 * 86_400)
    hour = time_s // 3600 % 24
    is_job = (time_s % period_s < length_s) & (hour >= hours[0]) & (hour < hours[1])
    calm = 350 * np.repeat(wander(rng(), time_s.size // 60, 0.02), 60)
    ops = np.where(is_job, limit * (1 + rng().normal(0, 0.003, time_s.size)), calm)
    in_flight = np.where(is_job, clients, ops * 0.0008)
    mean_ops, queue = (values.reshape(-1, step_s).mean(axis=1) for values in (ops, in_flight))
    values = builders.storage(mean_ops * size, size_bytes=size, latency_s=queue / mean_ops)
    storage = GP3 if limit == 3000 else Storage(kind="gp3", size_gib=500)
    return builders.snapshot(values, instance=instance("db.r5.8xlarge", storage), step_s=step_s)


def used(metric: Metric, calm: float, full: float, *, whole: Instance | None = None, hours: int = 6) -> Snapshot:
    """A resource of the machine that is used to the full for the last hours of two days."""
    values = calm * wander(rng(), 2 * DAY, 0.01)
    values[-60 * hours :] = full
    return builders.snapshot(quiet(), {metric: values}, instance=whole or instance())


def connections() -> Snapshot:
    """Connections that rise and stay some hundredths below the formula, which counts memory that others use."""
    values = np.concatenate((np.linspace(100, 432, DAY), 432 + np.minimum(np.arange(DAY) // 90, 6)))
    return builders.snapshot(quiet(), {Metric.CONNECTION_COUNT: values}, instance=instance("db.t3.medium"))


def slow(times: float, *, at: slice, reads_only: bool = False, fades: bool = False, **about) -> Snapshot:
    """Storage that answers slowly for a time, while twelve clients ask for what they get."""
    count = 2 * DAY
    factor = np.ones(count)
    length = len(range(count)[at])
    factor[at] = times ** np.linspace(1, 0, length) if fades else times
    read_s = 0.0009 * wander(rng(), count, 0.05) * factor
    write_s = 0.0009 * wander(np.random.default_rng(12), count, 0.05) * (1 if reads_only else factor)
    ops = 12 / (0.0134 + (read_s + write_s) / 2) * (1 + rng().normal(0, 0.012, count))
    values = builders.storage(ops * 8 * KIB, size_bytes=8 * KIB, latency_s=read_s, write_latency_s=write_s)
    return builders.snapshot(values, instance=instance(**about))


def by_turns() -> Snapshot:
    """Large requests for six hours, small ones for the next six: the volume's throughput and its IOPS by turns."""
    hour = np.arange(2 * DAY) // 60
    size = np.where(hour % 12 < 6, 256.0 * KIB, 8.0 * KIB)
    most = np.minimum(125 * MIB, 3000 * size) * (1 + rng().normal(0, 0.002, 2 * DAY))
    is_calm = hour % 24 < 4
    served = np.where(is_calm, 5e6 * wander(rng(), 2 * DAY, 0.15), most)
    latency = np.where(is_calm, 0.0008, 0.02 * wander(rng(), 2 * DAY, 0.2, memory=0.5))
    return builders.snapshot(
        builders.storage(served, size_bytes=size, latency_s=latency), instance=instance("db.r5.8xlarge")
    )


def pegged(level: float, *, drift: float = 0.0, gap_hours: int = 0, hours: int = 60, **about) -> Snapshot:
    """At an enforced rate for the first hours of three days; it may drift, and hours may not have been measured."""
    count = 3 * DAY
    demand = np.where(np.arange(count) >= 60 * hours, 5e6, 3 * level) * wander(rng(), count, 0.15)
    wave = 1 + drift * np.sin(np.arange(count) / 400)
    values = held_at(demand, level, rng=rng()) if not drift else held_at(demand / wave, level, rng=rng(), jitter=0.006)
    if drift:
        for metric in builders.RATES:
            values[metric] = values[metric] * wave
    kept = np.ones(count, dtype=bool)
    kept[DAY : DAY + 60 * gap_hours] = False
    times = builders.START_S + 60 * np.arange(count)
    parts = [builders.timed(metric, times[kept], value[kept]) for metric, value in values.items()]
    return builders.snapshot(*parts, instance=instance(**about))


def fixed() -> Snapshot:
    """gp2 of 100 GiB at its 300 IOPS for two days, gp3 since: the same load does not wait."""
    demand = 600 * wander(rng(), 4 * DAY, 0.05)
    is_old = np.arange(4 * DAY) < 2 * DAY
    served = np.where(is_old, 300 * (1 + rng().normal(0, 0.003, 4 * DAY)), demand)
    latency = np.where(is_old, 0.2 * wander(rng(), 4 * DAY, 0.1), 0.0008 * wander(rng(), 4 * DAY, 0.08))
    values = builders.storage(served * 16 * KIB, latency_s=latency)
    balance = series(Metric.VOLUME_BALANCE_RATIO, np.zeros(2 * DAY))
    return builders.snapshot(values, balance, instance=instance(storage=Storage(kind="gp3", size_gib=100)))


def hovering() -> Snapshot:
    """A load around the volume's IOPS that is served as it comes."""
    ops = np.minimum(2870 * wander(rng(), 2 * DAY, 0.03, memory=0.8), 3005)
    latency = 0.0009 * wander(rng(), 2 * DAY, 0.05)
    return builders.snapshot(builders.storage(ops * 16 * KIB, latency_s=latency), instance=instance())


def nothing() -> Snapshot:
    """Numbers that only rounding leaves."""
    return builders.snapshot({metric: np.full(DAY, 5e-324) for metric in (*builders.RATES, *builders.LATENCIES)})


SERVERLESS = Instance(identifier="srv", db_class="db.serverless", engine="aurora-postgresql", capacity_acu_max=8.0)
FRESH = {"launched_s": builders.START_S - 1800}
CASES = {
    "CPU": Case(
        "The CPU was at 100 % for six hours, to the end.",
        lambda: used(Metric.CPU_RATIO, 0.4, 1.0), "binds", Family.CPU, says="is up against its CPU",
    ),
    "full disk": Case(
        "The disk was full for six hours.",
        lambda: used(Metric.FREE_STORAGE_BYTES, gib(30), 0.0), "binds", Family.STORAGE_SPACE, says="storage space",
    ),
    "connections": Case(
        "All 500 connections were in use for six hours.",
        lambda: used(Metric.CONNECTION_COUNT, 200, 500, whole=instance(connection_max=500)),
        "binds", Family.CONNECTIONS,
    ),
    "connections below the formula": Case(
        "Connections rose to 432 and then by no more than six, below the 450 of the default formula.",
        connections, "binds", Family.CONNECTIONS,
    ),
    "network": Case(
        "The network was at the baseline of the class for six hours.",
        lambda: used(Metric.NETWORK_TRANSMIT_BYTES_PER_S, 5e6, 93.6e6, whole=instance("db.m5.large")), "binds", Family.NETWORK,
    ),
    "capacity": Case(
        "Aurora Serverless was at its largest capacity for six hours.",
        lambda: used(Metric.CAPACITY_RATIO, 0.3, 1.0, whole=SERVERLESS), "binds", Family.CAPACITY,
    ),
    "two ceilings": Case(
        "Throughput and IOPS of the volume bound by turns, with the size of the requests.",
        by_turns, "binds", Family.VOLUME_IOPS, says="and against its volume throughput",
    ),
    "a job of a minute": Case(
        "One minute of every five at 3,000 IOPS, seen by the minute.",
        lambda: pulses(60, 300, 60), "binds", Family.VOLUME_IOPS,
    ),
    "a job of two minutes": Case(
        "Two minutes of every ten at 3,000 IOPS, seen by the minute.",
        lambda: pulses(120, 600, 60), "binds", Family.VOLUME_IOPS,
    ),
    "a job of half a minute": Case(
        "Half a minute of every five at 3,000 IOPS, seen by the minute.",
        lambda: pulses(30, 300, 60), "unknown", cause="within_sample", says="times normal",
    ),
    "a duty cycle": Case(
        "102 s of every five minutes at 3,000 IOPS, seen every five minutes: 1,250 IOPS that look like a limit.",
        lambda: pulses(102, 300, 300), "unknown", cause="within_sample",
    ),
    "a duty cycle of a faster volume": Case(
        "75 s of every five minutes at 12,000 IOPS, seen every five minutes.",
        lambda: pulses(75, 300, 300, limit=12_000.0), "unknown", cause="within_sample",
    ),
    "a duty cycle of another period": Case(
        "3 of every 15 minutes at 3,000 IOPS, seen every five minutes.",
        lambda: pulses(180, 900, 300), "unknown", cause="within_sample",
    ),
    "a drifting limit": Case(
        "At 81.25 MB/s for 60 hours; the enforced rate drifts by 0.6 %.",
        lambda: pegged(81.25e6, drift=0.006, db_class="db.r5.large"), "binds", Family.INSTANCE_EBS_THROUGHPUT,
    ),
    "a gap": Case(
        "At 81.25 MB/s for 60 hours, of which 12 were not measured.",
        lambda: pegged(81.25e6, gap_hours=12, db_class="db.r5.large"), "binds", Family.INSTANCE_EBS_THROUGHPUT,
        says="2 d of the 2 d 12 h measured of 3 d",
    ),
    "a repair": Case(
        "gp2 of 100 GiB at its 300 IOPS for two days, then gp3, and nothing waits.",
        fixed, "binds", Family.UNKNOWN, says="until",
    ),
    "hovering": Case("The load varied around 3,000 IOPS, and all of it was served at once.", hovering, "near",
        says="did not wait."),
    "a restored instance": Case(
        "Created from a snapshot half an hour before: reads are slow, and it fades.",
        lambda: slow(30, at=slice(0, 900), reads_only=True, fades=True, **FRESH), "unknown", cause="loading",
    ),
    "a noisy neighbour": Case(
        "Storage answered eight times as slowly for 40 minutes under a smooth load.",
        lambda: slow(8, at=slice(1500, 1540)), "unknown", cause="storage_fault",
    ),
    "magnetic storage": Case(
        "Magnetic storage was slow for hours.",
        lambda: slow(40, at=slice(600, 1500), storage=Storage(kind="standard", size_gib=200)), "unknown", cause="magnetic",
    ),
    "another class": Case(
        "Three times the IOPS of the volume were served: the class or the storage is not what was given.",
        lambda: builders.snapshot(quiet(rate=9500 * 16 * KIB), instance=instance()), "unknown",
        says="more in 2 d than its limits allow",
    ),
    "rounding": Case("All rates and latencies were 5e-324.", nothing, "unknown"),
}  # fmt: skip
