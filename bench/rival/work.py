"""Define the work of databases: transactions, loads, reports, checkpoints, vacuum, cron."""

import numpy as np

from rival import rhythm
from rival.machines import KIB
from rival.rhythm import FloatArray
from rival.scene import Scene, Stream
from rival.second import BIN_S


def transactions(scene: Scene, *, read_kib: float | None = None) -> Stream:
    """Return a service's short transactions: random reads, log and data writes; no load yet."""
    rng = scene.rng
    return Stream(
        load=np.zeros(scene.bins),
        think_s=float(rng.choice([0.0, 0.01, 0.05, 0.2, 2.0])),
        reads=float(rng.uniform(1, 16)),
        writes=float(rng.uniform(0.3, 4)),
        read_size=(read_kib or float(rng.uniform(8, 14))) * KIB,
        write_size=float(rng.uniform(8, 20)) * KIB,
        cached=True,
        noise=float(rng.uniform(0.01, 0.08)),
    )


def reports(scene: Scene, size_kib: float) -> Stream:
    """Return analytic sessions: each item is a stretch of a scan with some spill to disk."""
    rng = scene.rng
    return Stream(
        load=np.zeros(scene.bins),
        think_s=float(rng.choice([0.0, 0.05, 0.5, 3.0])),
        reads=float(rng.uniform(20, 400)),
        writes=float(rng.uniform(0, 10)),
        read_size=size_kib * KIB,
        write_size=min(size_kib * 1.2, 256.0) * KIB,
        cached=bool(rng.random() < 0.5),
        noise=float(rng.uniform(0.01, 0.08)),
    )


def bulk(scene: Scene, size_kib: float, *, write_share: float | None = None) -> Stream:
    """Return a load, a copy or a rebuild: one item is one I/O, many in flight."""
    rng = scene.rng
    share = float(rng.uniform(0.05, 0.95)) if write_share is None else write_share
    return Stream(
        load=np.zeros(scene.bins),
        is_open=True,
        reads=1.0 - share,
        writes=share,
        read_size=size_kib * KIB,
        write_size=size_kib * KIB,
        noise=0.01,
    )


def items_at_share(scene: Scene, stream: Stream, share: float) -> float:
    """Return the items per second that use `share` of the nearest bound's base."""
    return share * min(scene.items_at(stream, bound) for bound in range(4))


def charge_cpu(scene: Scene, stream: Stream, items_per_s: float, share: float) -> None:
    """Make that many items per second keep `share` of the processors busy."""
    stream.cpu_s = share * scene.machine.row.vcpus / max(items_per_s, 1e-9)


def charge_network(scene: Scene, stream: Stream, items_per_s: float, share: float) -> None:
    """Make that many items per second send `share` of the network's baseline."""
    total = share * scene.machine.row.network_bytes_per_s / max(items_per_s, 1e-9)
    back = float(scene.rng.uniform(0.1, 0.6))
    stream.net_out, stream.net_in = total * (1 - back), total * back


def staff(scene: Scene, stream: Stream, items_per_s: float) -> None:
    """Add as many workers as reach that rate when nothing is slow; they pause if one is too many."""
    svc = scene.service_s(stream) + stream.cpu_s
    stream.inflight = max(1.0, float(np.floor(items_per_s * svc)))
    stream.think_s = max(0.0, stream.inflight / items_per_s - svc)


def add_job(stream: Stream, start: int, items: float) -> None:
    """Add a batch of items to an open stream at one bin."""
    stream.load[start] += items / BIN_S


def checkpoints(scene: Scene, share: float) -> Stream:
    """Return dirty pages written every few minutes, spread over part of the time between."""
    rng = scene.rng
    period = float(rng.choice([300, 300, 900, 1800]))
    spread = float(rng.choice([0.5, 0.9]))
    stream = Stream(
        load=np.zeros(scene.bins),
        is_open=True,
        writes=1.0,
        write_size=float(rng.uniform(8, 48)) * KIB,
        inflight=float(rng.choice([16, 64])),
        noise=0.05,
    )
    rate = items_at_share(scene, stream, share)
    on = (BIN_S * np.arange(scene.bins) + rng.uniform(0, period)) % period < spread * period
    stream.load[:] = rate * on * rhythm.wander(rng, scene.bins, 0.2, 1800)
    return stream


def cron(scene: Scene, share: float) -> Stream:
    """Return jobs every five minutes and every hour, as fast as their few workers go."""
    rng = scene.rng
    stream = bulk(scene, float(rng.choice([16, 32, 64])))
    rate = items_at_share(scene, stream, share)
    stream.pace, stream.inflight = rate, float(rng.integers(1, 8))
    for start in rhythm.every(scene.bins, 300, float(rng.uniform(0, 300))):
        add_job(stream, int(start), rate * float(rng.uniform(5, 25)))
    for start in rhythm.every(scene.bins, 3600, float(rng.uniform(0, 3600))):
        add_job(stream, int(start), rate * float(rng.uniform(30, 150)))
    return stream


def vacuum(scene: Scene, share: float) -> Stream:
    """Return autovacuum: a fixed pace by its cost delay, for tens of minutes, now and then."""
    rng = scene.rng
    stream = bulk(scene, float(rng.choice([8, 16])), write_share=float(rng.uniform(0.1, 0.5)))
    rate = items_at_share(scene, stream, share)
    stream.pace, stream.inflight = rate, 1.0
    count = max(1, int(scene.bins * BIN_S / 43200))
    for a, b in rhythm.stints(rng, scene.bins, count=count, shortest_s=900, longest_s=9000):
        add_job(stream, a, rate * (b - a) * BIN_S)
    return stream


def service(scene: Scene, share: float, shape: FloatArray | None = None) -> Stream:
    """Return the everyday load: transactions whose peak uses `share` of the nearest bound."""
    rng = scene.rng
    stream = transactions(scene)
    rate = items_at_share(scene, stream, share)
    charge_cpu(scene, stream, rate, float(rng.uniform(0.05, 0.35)))
    charge_network(scene, stream, rate, float(rng.uniform(0.02, 0.3)))
    profile = rhythm.office(rng, scene.bins, scene.first) if shape is None else shape
    if rng.random() < 0.15:
        profile = profile * rhythm.deploy(rng, scene.bins)
    if rng.random() < 0.5:
        stream.load = scene.clients_for(stream, rate) * profile
        return stream
    # Arrivals from outside, served by a pool; requests that wait too long are lost.
    stream.is_open, stream.think_s = True, 0.0
    stream.inflight = max(4.0, float(rng.choice([3, 8])) * scene.clients_for(stream, rate))
    stream.carry_s = float(rng.uniform(5, 60))
    stream.load = rate * profile
    return stream


def life(scene: Scene, share: float) -> None:
    """Add what runs on every database, using at most about `share` of the nearest bound."""
    rng = scene.rng
    scene.streams.append(service(scene, 0.55 * share))
    scene.streams.append(checkpoints(scene, 0.2 * share))
    if rng.random() < 0.6:
        scene.streams.append(cron(scene, 0.15 * share))
    if rng.random() < 0.5:
        scene.streams.append(vacuum(scene, 0.1 * share))
    if rng.random() < 0.5:
        # The working set grows and shrinks relative to the cache.
        scene.misses *= rhythm.wander(rng, scene.bins, float(rng.uniform(0.05, 0.3)), 7200)
