"""Define incidents without a ceiling, most of them made to look like one."""

import numpy as np

from rival import casting, rhythm, slow, work
from rival.calm import Maker, any_size, calm
from rival.machines import INSTANCE_BYTES, INSTANCE_OPS, KIB, VOLUME_OPS
from rival.mixed import fail_over
from rival.scene import Scene, Stream
from rival.second import BIN_S


def flat_producer(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Write a stream of events at the rate at which they arrive, hour after hour."""
    scene = calm(rng, kind, days)
    work.life(scene, float(rng.uniform(0.01, 0.1)))
    stream = work.bulk(scene, any_size(rng), write_share=float(rng.uniform(0.3, 1.0)))
    stream.noise = float(rng.choice([0.001, 0.004, 0.015]))
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.8)))
    stream.load[:] = rate
    if rng.random() < 0.5:
        for a, b in rhythm.stints(rng, scene.bins, count=3, shortest_s=1800, longest_s=4 * 3600):
            stream.load[a:b] = 0.5 * rate
    work.charge_cpu(scene, stream, rate, 0.2)
    scene.streams.append(stream)
    return scene


def replication_apply(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run one apply process at a constant rate, with a primary that is always busy."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.03)
    stream = work.bulk(scene, float(rng.choice([8, 16])), write_share=0.6)
    stream.inflight = float(rng.integers(1, 5))
    alone = stream.inflight / scene.service_s(stream)
    rate = min(0.8 * alone, work.items_at_share(scene, stream, 0.7))
    stream.load[:] = rate * rhythm.wander(rng, scene.bins, float(rng.choice([0.002, 0.02])), 3600)
    scene.streams.append(stream)
    return scene


def limiter_near_a_limit(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """
    Run a rate limiter in the application, set close to a documented number.

    On a class with credits it may be a little above the baseline: credits pay for it, and neither latency
    nor queue changes.
    """
    scene = calm(rng, kind, days, bursting=True, disk="roomy")
    bound = INSTANCE_BYTES if rng.random() < 0.7 else INSTANCE_OPS
    stream = work.bulk(scene, 128.0 if bound == INSTANCE_BYTES else 8.0)
    stream.noise = 0.002
    rate = scene.items_at(stream, bound) * float(rng.uniform(0.968, 1.012))
    stream.inflight = max(8.0, 3.0 * rate * scene.service_s(stream))
    stream.pace = rate
    whole = rng.random() < 0.4
    if whole:
        work.add_job(stream, 0, rate * scene.bins * BIN_S * 1.1)
    else:
        for a, b in rhythm.stints(rng, scene.bins, count=4, shortest_s=1800, longest_s=5 * 3600):
            work.add_job(stream, a, rate * (b - a) * BIN_S)
    work.charge_cpu(scene, stream, rate, 0.3)
    scene.full[bound] = 1.0
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.004))
    scene.must_export = ("balance",)
    return scene


def limiter_under_a_volume_limit(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run the same limiter, a few per cent below the provisioned rate."""
    scene = calm(rng, kind, days, bursting=False, disk=str(rng.choice(["gp3", "io"])))
    stream = work.bulk(scene, 8.0)
    stream.noise = 0.001
    rate = scene.items_at(stream, VOLUME_OPS) * float(rng.uniform(0.93, 0.975))
    if rate * 8 * KIB > 0.8 * scene.machine.bounds[INSTANCE_BYTES].base:
        rate *= 0.5
    stream.inflight = max(8.0, 3.0 * rate * scene.service_s(stream))
    stream.pace = rate
    for a, b in rhythm.stints(rng, scene.bins, count=4, shortest_s=1800, longest_s=5 * 3600):
        work.add_job(stream, a, rate * (b - a) * BIN_S)
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.004))
    return scene


def cpu_saturated(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Keep all processors busy for hours; the storage rate follows, flat and without waiting."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.05)
    stream = work.transactions(scene)
    stream.noise = float(rng.choice([0.01, 0.05]))
    at_full = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.7)))
    work.charge_cpu(scene, stream, at_full, float(rng.uniform(0.85, 0.95)))
    wanted = float(rng.uniform(1.3, 4.0)) * at_full
    profile = rhythm.office(rng, scene.bins, scene.first)
    stream.load = scene.clients_for(stream, wanted) * profile
    scene.streams.append(stream)
    return scene


def network_bound(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Dump data over the network, as fast as the network allows."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.05)
    stream = work.bulk(scene, 128.0, write_share=0.02)
    at_full = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.65)))
    # Rows may be larger or smaller on the network than on disk; the ratio makes the network the
    # bottleneck.
    stream.net_out = scene.air.net_max / at_full
    stream.inflight = max(2.0, round(2.5 * at_full * scene.service_s(stream)))
    for a, b in rhythm.stints(rng, scene.bins, count=3, shortest_s=1800, longest_s=5 * 3600):
        work.add_job(stream, a, at_full * (b - a) * BIN_S)
    scene.streams.append(stream)
    return scene


def lone_scan(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Read one block after another in one thread: its rate is one divided by the latency."""
    scene = calm(rng, kind, days, disk="roomy")
    stream = work.bulk(scene, float(rng.choice([8, 32, 128])), write_share=0.0)
    stream.inflight = 1.0
    scene.air.latency_sd *= float(rng.choice([0.1, 0.5, 1.0]))
    alone = 1.0 / scene.service_s(stream)
    limit = work.items_at_share(scene, stream, 0.8)
    if alone > limit:
        stream.think_s = 1.0 / limit - scene.service_s(stream)
        alone = limit
    for a, b in rhythm.stints(rng, scene.bins, count=3, shortest_s=1800, longest_s=8 * 3600):
        work.add_job(stream, a, alone * (b - a) * BIN_S)
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, float(rng.uniform(0.01, 0.1))))
    return scene


def batch_workers(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """
    Run the same batch every night with the same workers: a flat level that recurs.

    Its I/O is larger than the daily load's, so latency and queue rise with it.
    """
    scene = calm(rng, kind, max(days, 1.0))
    work.life(scene, float(rng.uniform(0.05, 0.15)))
    stream = work.bulk(scene, float(rng.choice([64, 128, 256])))
    share = float(rng.uniform(0.25, 0.75))
    rate = work.items_at_share(scene, stream, share)
    long_s = float(rng.uniform(1800, 4 * 3600))
    for start in rhythm.nights(rng, scene.bins):
        work.add_job(stream, start, rate * long_s)
    if rng.random() < 0.5:
        work.charge_cpu(scene, stream, rate, float(rng.uniform(0.2, 0.7)))
    work.staff(scene, stream, rate)
    scene.streams.append(stream)
    return scene


def benchmark_clients(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run a constant number of clients without pause, below every limit."""
    scene = calm(rng, kind, days)
    stream = work.transactions(scene)
    stream.noise, stream.cached = 0.004, False
    clients = float(rng.choice([1, 4, 8, 16, 32, 64]))
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.3, 0.7)))
    # A client's cycle: storage, some CPU, and the round trips between its statements.
    between_s = max(1e-4, clients / rate - scene.service_s(stream))
    stream.cpu_s = min(0.3 * between_s, 0.6 * scene.machine.row.vcpus / rate)
    stream.think_s = between_s - stream.cpu_s
    stream.load[:] = clients
    if rng.random() < 0.6:
        idle = rhythm.stints(rng, scene.bins, count=3, shortest_s=1200, longest_s=3 * 3600)
        for a, b in idle:
            stream.load[a:b] = 0.0
    scene.streams.append(stream)
    scene.streams.append(work.checkpoints(scene, 0.1))
    return scene


def pool_exhausted(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Let all connections of the pool wait for locks: a flat rate that the disk does not decide."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.05)
    stream = work.transactions(scene)
    stream.noise = float(rng.choice([0.003, 0.02]))
    stream.think_s = float(rng.uniform(0.2, 2.0))
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.7)))
    profile = 1.6 * rhythm.office(rng, scene.bins, scene.first)
    stream.load = scene.clients_for(stream, rate) * np.minimum(profile, 1.0)
    work.charge_cpu(scene, stream, rate, 0.3)
    scene.streams.append(stream)
    return scene


def balance_falls(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Spend credits for hours without running out."""
    gp2 = rng.random() < 0.4
    days = min(days, 1.5)
    scene = calm(rng, kind, days, bursting=None if gp2 else True, disk="gp2_small" if gp2 else "roomy")
    bound = VOLUME_OPS if gp2 else (INSTANCE_BYTES if rng.random() < 0.7 else INSTANCE_OPS)
    scene.full[bound] = 1.0
    stream = work.bulk(scene, 128.0 if bound == INSTANCE_BYTES else 8.0)
    limit = scene.machine.bounds[bound]
    spend = float(rng.uniform(0.4, 0.9)) * limit.credits_max
    length = float(rng.uniform(1800, 6 * 3600))
    rate = min(limit.base + spend / length, 0.85 * limit.peak)
    per_item = stream.bytes_per_item if bound == INSTANCE_BYTES else 1.0
    length = 0.97 * spend / max(rate - 0.95 * limit.base, 1.0)
    stream.pace = rate / per_item
    stream.inflight = max(8.0, 4.0 * stream.pace * scene.service_s(stream))
    at = int(rng.integers(0, scene.bins // 3))
    work.add_job(stream, at, stream.pace * min(length, (scene.bins - at) * BIN_S))
    if rng.random() < 0.4:
        stream.noise = 0.1
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.02))
    return scene


def checkpoint_storms(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Add spikes every few minutes, each shorter than a minute or two, none at a limit."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.15)
    stream = work.bulk(scene, float(rng.choice([16, 64, 128])), write_share=1.0)
    stream.pace = work.items_at_share(scene, stream, float(rng.uniform(0.5, 0.75)))
    stream.inflight = max(4.0, 3.0 * stream.pace * scene.service_s(stream))
    period = float(rng.choice([300, 900]))
    for start in rhythm.every(scene.bins, period, float(rng.uniform(0, period))):
        work.add_job(stream, int(start), stream.pace * float(rng.uniform(15, 110)))
    scene.streams.append(stream)
    return scene


def level_shifts(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Change the level with releases: flat at different heights, I/O sizes and latencies."""
    scene = calm(rng, kind, days)
    edges = np.sort(rng.integers(0, scene.bins, 3))
    for a, b in zip([0, *edges.tolist()], [*edges.tolist(), scene.bins], strict=True):
        stream = work.bulk(scene, any_size(rng))
        stream.noise = 0.01
        rate = work.items_at_share(scene, stream, float(rng.uniform(0.15, 0.75)))
        stream.load[a:b] = rate
        scene.streams.append(stream)
        scene.slow[:, a:b] *= float(rng.choice([1.0, 1.0, 1.4, 2.0]))
    return scene


def quiet(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run an ordinary week of an ordinary database."""
    scene = calm(rng, kind, days)
    work.life(scene, float(rng.uniform(0.02, 0.5)))
    return scene


def failover_only(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Fail over: ten minutes away, a cold cache, and nothing else."""
    scene = quiet(rng, kind, days)
    fail_over(scene)
    return scene


def paced_vacuum(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run autovacuum at the pace of its cost limit: constant for hours, slow by intent."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.1)
    stream: Stream = work.vacuum(scene, float(rng.uniform(0.2, 0.7)))
    stream.inflight = max(4.0, 2.0 * stream.pace * scene.service_s(stream))
    scene.streams.append(stream)
    return scene


def near_the_limit(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Come close to a bound, and slow down for it, without reaching it."""
    scene = calm(rng, kind, days, bursting=False)
    scene.air.growth = float(rng.uniform(0.3, 1.0))
    work.life(scene, 0.02)
    stream = work.bulk(scene, any_size(rng))
    stream.noise = float(rng.choice([0.002, 0.01]))
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.86, 0.93)))
    profile = np.minimum(1.0, float(rng.uniform(1.0, 1.6)) * rhythm.office(rng, scene.bins, scene.first))
    stream.load = rate * profile
    stream.inflight = 20.0 * max(1.0, rate * scene.service_s(stream))
    scene.streams.append(stream)
    return scene


def single_core(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run a report in one process: one core is full, storage waits for it, everything is flat."""
    scene = calm(rng, kind, days)
    work.life(scene, float(rng.uniform(0.02, 0.1)))
    stream = work.bulk(scene, float(rng.choice([64, 128])), write_share=float(rng.uniform(0, 0.2)))
    stream.inflight = 1.0
    alone = min(0.7 / scene.service_s(stream), work.items_at_share(scene, stream, 0.75))
    stream.cpu_s = 1.0 / alone - scene.service_s(stream)
    for a, b in rhythm.stints(rng, scene.bins, count=4, shortest_s=1200, longest_s=5 * 3600):
        work.add_job(stream, a, alone * (b - a) * BIN_S)
    scene.streams.append(stream)
    return scene


def limiter_at_a_legacy_limit(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run a paced job at a legacy number of the class."""
    names = [n for n, g in casting.rows().items() if len(g) > 1 and g[-1].bytes_base > 7e7]
    group = casting.rows()[names[int(rng.integers(len(names)))]]
    legacy = group[int(rng.integers(len(group) - 1))]
    machine = casting.machine_of(rng, group[-1], casting.roomy(rng, "postgres"))
    scene = casting.stage(rng, kind, machine, days)
    # Old enough for the legacy number to be possible.
    scene.machine.launched = scene.machine.launched.replace(year=2019, month=3, day=1)
    scene.full = [1.0] * 4
    stream = work.bulk(scene, 128.0)
    stream.noise = 0.002
    rate = legacy.bytes_base / stream.bytes_per_item * float(rng.uniform(0.985, 1.01))
    rate = min(rate, 0.9 * scene.items_at(stream, INSTANCE_BYTES))
    stream.pace = rate
    stream.inflight = max(8.0, 3.0 * rate * scene.service_s(stream))
    for a, b in rhythm.stints(rng, scene.bins, count=4, shortest_s=1800, longest_s=5 * 3600):
        work.add_job(stream, a, rate * (b - a) * BIN_S)
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.01))
    return scene


def replica_catching_up(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Let a lagging replica apply as fast as one process can: a plateau without a limit."""
    scene = calm(rng, kind, days, disk="roomy")
    stream = work.bulk(scene, float(rng.choice([8, 16])), write_share=float(rng.uniform(0.2, 0.7)))
    stream.inflight = float(rng.integers(1, 3))
    alone = stream.inflight / scene.service_s(stream)
    alone = min(alone, work.items_at_share(scene, stream, 0.8))
    stream.pace = alone if alone < stream.inflight / scene.service_s(stream) else 1e12
    stream.load = 0.6 * alone * rhythm.office(rng, scene.bins, scene.first)
    behind = float(rng.uniform(1, 5)) * 3600
    work.add_job(stream, int(rng.integers(0, scene.bins // 2)), 0.4 * alone * behind)
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.03))
    return scene


def staircase(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run a load test: more clients every half hour, each step flat, none at a limit."""
    scene = calm(rng, kind, days)
    stream = work.transactions(scene)
    stream.noise, stream.cached = 0.004, False
    steps = int(rng.integers(4, 9))
    length = max(60, int(rng.uniform(900, 3600)) // BIN_S)
    top = work.items_at_share(scene, stream, 0.85)
    at = int(rng.integers(0, max(1, scene.bins - steps * length)))
    for step in range(steps):
        a = at + step * length
        stream.load[a : a + length] = scene.clients_for(stream, top * (step + 1) / steps)
    work.charge_cpu(scene, stream, top, 0.5)
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.03))
    return scene


INNOCENT: dict[str, Maker] = {
    "near_the_limit": near_the_limit,
    "single_core": single_core,
    "limiter_at_a_legacy_limit": limiter_at_a_legacy_limit,
    "stuck_volume": slow.stuck_volume,
    "replica_catching_up": replica_catching_up,
    "staircase": staircase,
    "flat_producer": flat_producer,
    "replication_apply": replication_apply,
    "limiter_near_a_limit": limiter_near_a_limit,
    "limiter_under_a_volume_limit": limiter_under_a_volume_limit,
    "storage_fault": slow.storage_fault,
    "latency_fault_open": slow.latency_fault_open,
    "multi_az_switch": slow.multi_az_switch,
    "cpu_saturated": cpu_saturated,
    "network_bound": network_bound,
    "lone_scan": lone_scan,
    "batch_workers": batch_workers,
    "benchmark_clients": benchmark_clients,
    "pool_exhausted": pool_exhausted,
    "balance_falls": balance_falls,
    "lazy_loading": slow.lazy_loading,
    "checkpoint_storms": checkpoint_storms,
    "level_shifts": level_shifts,
    "quiet": quiet,
    "failover_only": failover_only,
    "paced_vacuum": paced_vacuum,
    "snapshot_window": slow.snapshot_window,
}
