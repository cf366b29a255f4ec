"""Define slow storage: latency rises, queues grow, clients do less; nothing is at a limit."""

import numpy as np

from rival import rhythm, work
from rival.calm import any_size, calm
from rival.machines import INSTANCE_BYTES, INSTANCE_OPS, KIB
from rival.scene import Scene
from rival.second import BIN_S


def storage_fault(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """
    Make the storage slow, so that clients that wait for it do less: lower, flat, slow and queued.

    In three of ten cases the lower level is by chance the class's documented baseline.
    """
    unlucky = rng.random() < 0.3
    scene = calm(rng, kind, days, bursting=True if unlucky else None, disk="roomy")
    factor = float(np.exp(rng.uniform(np.log(3), np.log(20))))
    stream = work.bulk(scene, float(rng.choice([8, 16, 64, 128])))
    share = float(rng.uniform(0.3, 0.8))
    if unlucky:
        # Demand: `factor` times the baseline, on credits; during the fault: the baseline.
        bound = INSTANCE_OPS if stream.read_size < 20 * KIB else INSTANCE_BYTES
        limit = scene.machine.bounds[bound]
        factor = float(rng.uniform(1.5, max(1.6, min(6.0, 0.8 * limit.peak / limit.base))))
        rate = scene.items_at(stream, bound) * factor
        scene.must_export = ("balance",)
    else:
        rate = work.items_at_share(scene, stream, share)
    work.staff(scene, stream, rate)
    size_s = stream.read_size * scene.air.per_byte_s
    slow = factor + (factor - 1) * size_s / scene.air.read_s
    if unlucky:
        # Ten fast minutes, the fault, and the rest of the job fast again.
        a, b = rhythm.stints(rng, scene.bins, count=1, shortest_s=1800, longest_s=2 * 3600)[0]
        work.add_job(stream, max(0, a - 60), rate * (900 + (b - a) * BIN_S / factor))
        _slow_down(scene, slow, [(a, b)])
    else:
        if rng.random() < 0.5:
            stream.is_open = False
            stream.load[:] = stream.inflight
        else:
            work.add_job(stream, 0, rate * scene.bins * BIN_S)
        _slow_down(scene, slow, _episodes(scene))
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.05))
    return scene


def _episodes(scene: Scene) -> list[tuple[int, int]]:
    count = int(scene.rng.integers(1, 4))
    return rhythm.stints(scene.rng, scene.bins, count=count, shortest_s=1200, longest_s=5 * 3600)


def _slow_down(scene: Scene, factor: float, episodes: list[tuple[int, int]]) -> None:
    rng = scene.rng
    spread = float(rng.choice([0.01, 0.04, 0.12]))
    for a, b in episodes:
        scene.slow[:, a:b] *= factor * rhythm.wander(rng, b - a, spread, 900)


def latency_fault_open(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Make the storage slow under open work: the same rate, more of it in flight."""
    scene = calm(rng, kind, days)
    work.life(scene, 0.1)
    stream = work.bulk(scene, any_size(rng))
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.6)))
    stream.load[:] = rate * rhythm.office(rng, scene.bins, scene.first)
    _slow_down(scene, float(rng.uniform(2, 12)), _episodes(scene))
    stream.inflight = 40 * rate * scene.service_s(stream)
    scene.streams.append(stream)
    return scene


def multi_az_switch(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Add a standby: writes take longer from then on, and the loader writes less."""
    scene = calm(rng, kind, days)
    stream = work.bulk(scene, float(rng.choice([8, 16, 64])), write_share=0.9)
    rate = work.items_at_share(scene, stream, float(rng.uniform(0.3, 0.7)))
    work.staff(scene, stream, rate)
    work.add_job(stream, 0, rate * scene.bins * BIN_S)
    at = int(rng.integers(scene.bins // 5, 4 * scene.bins // 5))
    scene.slow[1, at:] *= float(rng.uniform(1.6, 3.5))
    scene.streams.append(stream)
    scene.streams.append(work.service(scene, 0.05))
    return scene


def lazy_loading(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Load blocks after a restore: every first access is remote, ten times as slow."""
    scene = calm(rng, kind, days)
    scene.machine.launched = scene.first
    work.life(scene, float(rng.uniform(0.1, 0.3)))
    last = int(scene.bins * float(rng.uniform(0.3, 0.9)))
    decay = np.linspace(1.0, 0.3, last)
    scene.slow[0, :last] *= 1.0 + float(rng.uniform(6, 20)) * decay
    stream = work.bulk(scene, float(rng.choice([16, 128])), write_share=0.02)
    stream.inflight = float(rng.choice([1, 2, 4, 8]))
    work.add_job(stream, 60, stream.inflight / scene.service_s(stream) * 0.2 * last * BIN_S)
    stream.pace = work.items_at_share(scene, stream, 0.6)
    scene.streams.append(stream)
    return scene


def stuck_volume(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Impair a volume: I/O takes a second, next to nothing is served, all clients wait."""
    scene = calm(rng, kind, days)
    work.life(scene, float(rng.uniform(0.05, 0.2)))
    for stream in scene.streams:
        # Waiting work is given up, or it would reach a bound when the volume is back.
        stream.carry_s, stream.inflight = 20.0, min(stream.inflight, 16.0)
    for a, b in rhythm.stints(rng, scene.bins, count=2, shortest_s=600, longest_s=3600):
        scene.slow[:, a:b] *= float(rng.uniform(100, 1500))
    return scene


def snapshot_window(rng: np.random.Generator, kind: str, days: float) -> Scene:
    """Run the nightly backup: writes slow down for an hour under a constant load."""
    scene = calm(rng, kind, max(days, 1.0))
    work.life(scene, float(rng.uniform(0.01, 0.1)))
    stream = work.bulk(scene, any_size(rng), write_share=float(rng.uniform(0.3, 1.0)))
    stream.noise = float(rng.choice([0.001, 0.004, 0.015]))
    stream.load[:] = work.items_at_share(scene, stream, float(rng.uniform(0.2, 0.8)))
    scene.streams.append(stream)
    for start in rhythm.nights(rng, scene.bins):
        end = start + int(rng.uniform(900, 5400)) // BIN_S
        scene.slow[1, start:end] *= float(rng.uniform(1.5, 6))
        scene.slow[0, start:end] *= float(rng.uniform(1.0, 2))
    return scene
