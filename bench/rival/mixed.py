"""Define incidents with a ceiling and something that could be mistaken for one, or hide it."""

import numpy as np

from rival import casting, rhythm, work
from rival.machines import INSTANCE_BYTES, KIB, VOLUME_OPS, Bound, documented, rows
from rival.pressed import SINGLE, Maker, one_bound, press
from rival.scene import SAMPLE_S, WARM_S, Scene
from rival.second import BIN_S

UNKNOWN = ("unknown", "fixed")


def two_ceilings(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach the instance's bytes/s by night, and the volume's IOPS by day."""
    for _ in range(60):
        machine = casting.cast(rng, VOLUME_OPS, 10 * KIB, disk="io", names=casting.classes())
        if machine is None:
            return None
        if casting.margin_of(machine, INSTANCE_BYTES, 160 * KIB) >= casting.MARGIN:
            break
    else:
        return None
    scene = casting.stage(rng, kind, machine, max(days, 1.0))
    scene.full[INSTANCE_BYTES] = float(rng.uniform(0.0, 0.1))
    work.life(scene, 0.1)
    press(scene, VOLUME_OPS, 10.0, how=str(rng.choice(["office", "surge", "stints"])))
    press(scene, INSTANCE_BYTES, 160.0, how="nights")
    return scene


def with_fault(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach a ceiling in some hours, and have slow storage in others."""
    scene = one_bound(INSTANCE_BYTES, "roomy", large=True)(rng, kind, days)
    if scene is None:
        return None
    for a, b in rhythm.stints(rng, scene.bins, count=2, shortest_s=1800, longest_s=2 * 3600):
        scene.slow[:, a:b] *= float(rng.uniform(3, 10)) * rhythm.wander(rng, b - a, 0.1, 600)
    return scene


def fail_over(scene: Scene) -> None:
    """Take the instance away for ten minutes, then start with a cold cache."""
    rng = scene.rng
    at = int(rng.integers(scene.bins // 4, 3 * scene.bins // 4))
    away = int(rng.uniform(300, 900)) // BIN_S
    scene.up[at : at + away] = 0.0
    after = np.arange(scene.bins - at - away) * BIN_S
    scene.misses[at + away :] *= 1.0 + float(rng.uniform(1, 4)) * np.exp(-after / 1800.0)
    scene.note += "; failover"


def with_failover(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach a ceiling, and have ten minutes without measurements; then a cold cache."""
    scene = one_bound(VOLUME_OPS, "gp3", large=False)(rng, kind, days)
    if scene is not None:
        fail_over(scene)
    return scene


# Kinds that others are combined with: one of each family of bound.
BASES = (
    "instance_throughput_baseline",
    "instance_throughput_fixed",
    "instance_iops_fixed",
    "gp3_throughput",
    "gp3_iops",
    "io_iops",
)


def _base(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    return SINGLE[BASES[int(rng.integers(len(BASES)))]](rng, kind, days)


def with_cpu(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach a ceiling in some hours, and saturate processors in others; both are flat."""
    scene = _base(rng, kind, days)
    if scene is None:
        return None
    stream = work.transactions(scene)
    stream.noise = 0.01
    at_full = work.items_at_share(scene, stream, float(rng.uniform(0.15, 0.5)))
    work.charge_cpu(scene, stream, at_full, 0.85)
    stream.load = scene.clients_for(stream, float(rng.uniform(1.3, 3.0)) * at_full)
    stream.load = stream.load * rhythm.office(rng, scene.bins, scene.first) ** 2
    scene.streams.append(stream)
    return scene


def with_limiter(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach a ceiling in some hours, and in others run a paced job a little below it."""
    scene = _base(rng, kind, days)
    if scene is None:
        return None
    stream = work.bulk(scene, scene.streams[-1].bytes_per_op / KIB)
    stream.noise = 0.001
    stream.pace = work.items_at_share(scene, stream, float(rng.uniform(0.6, 0.9)))
    stream.inflight = max(8.0, 3.0 * stream.pace * scene.service_s(stream))
    for a, b in rhythm.stints(rng, scene.bins, count=3, shortest_s=1800, longest_s=3 * 3600):
        work.add_job(stream, a, stream.pace * (b - a) * BIN_S)
    scene.streams.append(stream)
    return scene


def tug_of_war(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Let readers and a writer share the bound in turns: each varies, only their sum is flat."""
    scene = one_bound(INSTANCE_BYTES, "roomy", large=True)(rng, kind, days)
    if scene is None:
        return None
    scene.streams.pop()
    for share, how in ((0.02, "always"), (0.98, "stints")):
        press(scene, INSTANCE_BYTES, 96.0, how=how)
        stream = scene.streams[-1]
        if not stream.is_open:
            continue
        stream.reads, stream.writes = 1.0 - share, share
    writer = work.bulk(scene, 64.0, write_share=1.0)
    rate = scene.items_at(writer, INSTANCE_BYTES)
    writer.inflight = max(4.0, rate * scene.service_s(writer))
    period = float(rng.choice([600, 1200, 3600]))
    for start in rhythm.every(scene.bins, period, float(rng.uniform(0, period))):
        work.add_job(writer, int(start), rate * period * float(rng.uniform(0.05, 0.5)))
    scene.streams.append(writer)
    return scene


def _change_at(scene: Scene) -> int:
    """Return a bin at a whole minute of the window, in its second half."""
    minutes = int((scene.bins * BIN_S - WARM_S) / SAMPLE_S * float(scene.rng.uniform(0.5, 0.8)))
    # Five-minute exports must not mix two machines in one sample.
    return (WARM_S + (minutes - minutes % 5) * SAMPLE_S) // BIN_S


def resized_class(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """
    Reach a ceiling, then move to a larger class; the description only has the larger one.

    For the described class, no document has the level of the earlier hours.
    """
    names = casting.classes()
    machine = casting.cast(rng, INSTANCE_BYTES, 128 * KIB, disk="roomy", names=names)
    if machine is None:
        return None
    level = rows()[names[int(rng.integers(len(names)))]][-1].bytes_base
    known = documented(machine.row.db_class, machine.disk)["throughput"]
    if level > 0.8 * machine.row.bytes_base or any(abs(level / v - 1) < 0.05 for v in known):
        return None
    scene = casting.stage(rng, kind, machine, days)
    now = machine.bounds
    scene.bounds_before = [Bound(level, level, 0.0, UNKNOWN, UNKNOWN), *now[1:]]
    machine.bounds = scene.bounds_before
    work.life(scene, 0.15)
    press(scene, INSTANCE_BYTES, 128.0, how=str(rng.choice(["office", "always", "stints"])))
    machine.bounds = now
    scene.full = [1.0] * 4
    scene.change = _change_at(scene)
    scene.up[scene.change - int(rng.integers(18, 60)) : scene.change] = 0.0
    return scene


def resized_volume(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Reach a ceiling, then add provisioned IOPS; the description only has the new number."""
    machine = casting.cast(rng, VOLUME_OPS, 10 * KIB, disk="io", names=casting.classes())
    if machine is None:
        return None
    level = machine.bounds[VOLUME_OPS].base * float(rng.choice([0.4, 0.5, 0.75]))
    known = documented(machine.row.db_class, machine.disk)["iops"]
    if any(abs(level / v - 1) < 0.05 for v in known):
        return None
    scene = casting.stage(rng, kind, machine, days)
    now = machine.bounds
    scene.bounds_before = [*now[:3], Bound(level, level, 0.0, UNKNOWN, UNKNOWN)]
    machine.bounds = scene.bounds_before
    work.life(scene, 0.15)
    press(scene, VOLUME_OPS, 10.0, how=str(rng.choice(["office", "always", "stints"])))
    machine.bounds = now
    scene.change = _change_at(scene)
    return scene


MIXED: dict[str, Maker] = {
    "two_ceilings": two_ceilings,
    "ceiling_and_fault": with_fault,
    "ceiling_and_failover": with_failover,
    "ceiling_and_cpu": with_cpu,
    "ceiling_and_limiter": with_limiter,
    "tug_of_war": tug_of_war,
    "resized_class": resized_class,
    "resized_volume": resized_volume,
}


def microbursts(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Spend seconds at a bound in every other minute, never most of one: there is no interval to find."""
    scene = one_bound(INSTANCE_BYTES, "roomy", bursting=False, large=True)(rng, kind, days)
    if scene is None:
        return None
    stream = work.bulk(scene, 128.0)
    rate = scene.items_at(stream, INSTANCE_BYTES)
    stream.inflight = max(4.0, 2.0 * rate * scene.service_s(stream))
    period = float(rng.choice([60, 120, 300]))
    # Work arrives over ten seconds, so only more than ten seconds of it reach the bound.
    burst_s = float(rng.uniform(12, 32))
    for start in rhythm.every(scene.bins, period, float(rng.uniform(0, period))):
        work.add_job(stream, int(start), rate * burst_s * float(rng.uniform(0.7, 1.2)))
    scene.streams[-1] = stream
    scene.note = f"bursts of about {burst_s:.0f} s"
    return scene


PARTIAL: dict[str, Maker] = {"microbursts": microbursts}
