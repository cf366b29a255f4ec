"""Define incidents with a ceiling: each function draws a machine and drives it to one bound."""

from collections.abc import Callable

import numpy as np

from rival import casting, rhythm, work
from rival.machines import INSTANCE_BYTES, INSTANCE_OPS, KIB, VOLUME_BYTES, VOLUME_OPS, Bound, documented
from rival.scene import Scene, Stream
from rival.second import BIN_S

RHYTHMS = ("office", "office", "nights", "nights", "always", "stints", "stints", "surge", "drip", "ramp")

Maker = Callable[[np.random.Generator, str, float], Scene | None]


def _pressing_stream(scene: Scene, size_kib: float, *, job: bool) -> Stream:
    rng = scene.rng
    if job or rng.random() < 0.2:
        return work.bulk(scene, size_kib)
    if size_kib <= 24:
        stream = work.transactions(scene, read_kib=size_kib)
        stream.write_size = float(rng.uniform(0.8, 1.3)) * size_kib * KIB
        return stream
    return work.reports(scene, size_kib)


def _durations(scene: Scene, *, short: bool) -> tuple[float, float]:
    """Return the seconds a stint would take at the bound, shortest and longest."""
    if short:
        return 840.0, 2400.0
    return 900.0, min(6 * 3600.0, 0.3 * scene.bins * BIN_S)


def _jobs(scene: Scene, stream: Stream, rate: float, heft: float, *, how: str) -> None:
    rng = scene.rng
    shortest, longest = _durations(scene, short=how == "short")
    if how == "nights":
        long_s = float(rng.uniform(1800, min(5 * 3600.0, 0.25 * scene.bins * BIN_S)))
        for start in rhythm.nights(rng, scene.bins):
            work.add_job(stream, start, rate * long_s * float(rng.uniform(0.8, 1.2)))
    else:
        count = int(rng.integers(2, 8))
        for a, b in rhythm.stints(rng, scene.bins, count=count, shortest_s=shortest, longest_s=longest):
            work.add_job(stream, a, rate * (b - a) * BIN_S)
    svc = scene.service_s(stream) + stream.cpu_s
    stream.inflight = max(2.0, float(np.ceil(heft * rate * svc)))


def _rising(scene: Scene, stream: Stream, rate: float, profile: rhythm.FloatArray) -> None:
    """Add clients or arrivals that demand rate x profile."""
    rng = scene.rng
    if stream.is_open or rng.random() < 0.3:
        stream.is_open, stream.think_s = True, 0.0
        want = rate * float(profile.max())
        stream.inflight = max(8.0, float(rng.choice([2, 6])) * want * (scene.service_s(stream) + stream.cpu_s))
        stream.carry_s = float(rng.uniform(5, 120))
        stream.load = rate * profile
    else:
        stream.load = scene.clients_for(stream, rate) * profile


def _profile(scene: Scene, how: str, heft: float) -> rhythm.FloatArray:
    rng, bins = scene.rng, scene.bins
    if how == "office":
        return heft * rhythm.office(rng, bins, scene.first)
    if how == "always":
        return heft * rhythm.wander(rng, bins, 0.08, 3600)
    if how == "ramp":
        # Growth that reaches the bound late in the window and stays there.
        return np.linspace(0.2, heft, bins) * rhythm.wander(rng, bins, 0.08, 1800)
    if how == "drip":
        # Demand that hovers about the bound for hours.
        return float(rng.uniform(0.95, 1.25)) * rhythm.wander(rng, bins, 0.12, 5400)
    profile = float(rng.uniform(0.2, 0.6)) * rhythm.wander(rng, bins, 0.08, 1800)
    for a, b in rhythm.stints(rng, bins, count=int(rng.integers(1, 4)), shortest_s=1800, longest_s=4 * 3600):
        profile[a:b] = heft * rhythm.wander(rng, b - a, 0.1, 1800)
    return profile


def press(scene: Scene, bound: int, size_kib: float, *, at_peak: bool = False, how: str) -> None:
    """Add a stream that demands more than the bound allows, at some rhythm."""
    rng = scene.rng
    heft = float(np.clip(np.exp(rng.normal(0.65, 0.4)), 1.2, 5.0))
    job = how in {"nights", "stints", "short"}
    stream = _pressing_stream(scene, size_kib, job=job)
    rate = scene.items_at(stream, bound, at_peak=at_peak)
    work.charge_cpu(scene, stream, heft * rate, float(rng.uniform(0.05, 0.5)))
    work.charge_network(scene, stream, heft * rate, float(rng.uniform(0.0, 0.4)))
    if job:
        _jobs(scene, stream, rate, heft, how=how)
    else:
        _rising(scene, stream, rate, _profile(scene, how, heft))
    scene.streams.append(stream)
    scene.note = f"{how}, {heft:.2f} times the bound"


def any_rhythm(rng: np.random.Generator) -> str:
    return RHYTHMS[int(rng.integers(len(RHYTHMS)))]


def _large(rng: np.random.Generator) -> float:
    return float(rng.choice([48, 64, 96, 128, 128, 192, 256]))


def _small(rng: np.random.Generator) -> float:
    return float(rng.uniform(8, 14))


def one_bound(
    bound: int,
    disk: str,
    *,
    bursting: bool | None = None,
    large: bool,
    spending: tuple[int, ...] = (),
    legacy: bool = False,
) -> Maker:
    """Return a maker for one bound of one sort of machine."""

    def make(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
        size = _large(rng) if large else _small(rng)
        names = casting.classes(bursting=bursting)
        machine = casting.cast(rng, bound, size * KIB, disk=disk, names=names, spending=spending, legacy=legacy)
        if machine is None:
            return None
        scene = casting.stage(rng, kind, machine, days)
        at_peak = bound in spending
        if machine.bounds[bound].bursts:
            scene.full[bound] = 1.0 if at_peak else float(rng.uniform(0.0, 0.12))
        for other in spending:
            scene.full[other] = 1.0
        work.life(scene, float(rng.uniform(0.05, 0.3)))
        how = "short" if at_peak and bound < 2 else any_rhythm(rng)
        press(scene, bound, size, at_peak=at_peak, how=how)
        return scene

    return make


def _unlisted(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Limit a rate at a number that no document has, present or legacy, for this class or storage."""
    bound = int(rng.choice([INSTANCE_BYTES, INSTANCE_BYTES, INSTANCE_OPS, VOLUME_BYTES]))
    size = _small(rng) if bound == INSTANCE_OPS else _large(rng)
    machine = casting.cast(rng, min(bound, 1), size * KIB, disk="roomy", names=casting.classes())
    if machine is None:
        return None
    known = documented(machine.row.db_class, machine.disk)
    dimension = "iops" if bound == INSTANCE_OPS else "throughput"
    for _ in range(50):
        level = machine.bounds[min(bound, 1)].base * float(rng.uniform(0.35, 0.93))
        if all(abs(level / number - 1) > 0.05 for number in known[dimension]):
            break
    else:
        return None
    machine.bounds[bound] = Bound(level, level, 0.0, ("unknown", "fixed"), ("unknown", "fixed"))
    scene = casting.stage(rng, kind, machine, days)
    work.life(scene, float(rng.uniform(0.05, 0.25)))
    press(scene, bound, size, how=any_rhythm(rng))
    return scene


def _nameless(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Use a class without documented EBS numbers."""
    names = casting.classes(named=False)
    group = casting.rows()[names[int(rng.integers(len(names)))]]
    label = ("unknown", "fixed")
    rate = float(rng.uniform(35, 110)) * 1e6
    ops = float(rng.uniform(1800, 4500))
    disk = casting.roomy(rng, "postgres")
    machine = casting.Machine(
        group[-1],
        disk,
        [Bound(rate, rate, 0.0, label, label), Bound(ops, ops, 0.0, label, label), *casting.volume_bounds(disk)],
    )
    bound = int(rng.integers(0, 2))
    size = _small(rng) if bound == INSTANCE_OPS else 128.0
    if casting.margin_of(machine, bound, size * KIB) < casting.MARGIN:
        return None
    scene = casting.stage(rng, kind, machine, days)
    work.life(scene, float(rng.uniform(0.05, 0.25)))
    press(scene, bound, size, how=any_rhythm(rng))
    return scene


def _merged(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """
    Send small sequential I/O that the volume merges: operations above its IOPS limit, which is normal.

    Source: EBS User Guide ebs-io-characteristics.md: eight sequential 32 KiB I/Os count as one.
    """
    machine = casting.cast(rng, VOLUME_BYTES, 128 * KIB, disk="gp3", names=casting.classes(bursting=None))
    if machine is None:
        return None
    scene = casting.stage(rng, kind, machine, days)
    work.life(scene, float(rng.uniform(0.05, 0.2)))
    press(scene, VOLUME_BYTES, 32.0, how=str(rng.choice(["nights", "stints"])))
    scene.streams[-1].merge = 0.125
    host_ops = machine.bounds[VOLUME_BYTES].base / (32 * KIB)
    return scene if host_ops < 0.85 * machine.bounds[INSTANCE_OPS].base else None


def _granted(rng: np.random.Generator, kind: str, days: float) -> Scene | None:
    """Stay at the ceiling day and night; once a day a grant fills the bucket and the rate jumps."""
    machine = casting.cast(rng, INSTANCE_BYTES, 128 * KIB, disk="roomy", names=casting.classes(bursting=True))
    if machine is None:
        return None
    scene = casting.stage(rng, kind, machine, max(days, 1.5))
    scene.full[INSTANCE_BYTES] = 0.0
    scene.grant = float(rng.choice([0.5, 1.0]))
    scene.grant_s = int(rng.integers(0, 1440)) * 60
    work.life(scene, 0.1)
    press(scene, INSTANCE_BYTES, 128.0, how="always")
    return scene


INSTANCE = "roomy"
SINGLE: dict[str, Maker] = {
    "instance_throughput_baseline": one_bound(INSTANCE_BYTES, INSTANCE, bursting=True, large=True),
    "instance_throughput_burst": one_bound(
        INSTANCE_BYTES, INSTANCE, bursting=True, large=True, spending=(INSTANCE_BYTES, INSTANCE_OPS)
    ),
    "instance_throughput_fixed": one_bound(INSTANCE_BYTES, INSTANCE, bursting=False, large=True),
    "instance_iops_baseline": one_bound(INSTANCE_OPS, INSTANCE, bursting=True, large=False),
    "instance_iops_burst": one_bound(
        INSTANCE_OPS, INSTANCE, bursting=True, large=False, spending=(INSTANCE_BYTES, INSTANCE_OPS)
    ),
    "instance_iops_fixed": one_bound(INSTANCE_OPS, INSTANCE, bursting=False, large=False),
    "gp2_credits_spent": one_bound(VOLUME_OPS, "gp2_small", large=False),
    "gp2_burst_held": one_bound(VOLUME_OPS, "gp2_small", large=False, spending=(VOLUME_OPS,)),
    "gp2_iops_fixed": one_bound(VOLUME_OPS, "gp2_plain", large=False),
    "gp2_throughput": one_bound(VOLUME_BYTES, "gp2_plain", large=True),
    "gp2_throughput_on_credits": one_bound(VOLUME_BYTES, "gp2_small", large=True, spending=(VOLUME_OPS,)),
    "gp3_iops": one_bound(VOLUME_OPS, "gp3", large=False),
    "gp3_throughput": one_bound(VOLUME_BYTES, "gp3", large=True),
    "io_iops": one_bound(VOLUME_OPS, "io", large=False),
    "io_throughput": one_bound(VOLUME_BYTES, "io", large=True),
    "legacy_limit": one_bound(INSTANCE_BYTES, INSTANCE, large=True, legacy=True),
    "legacy_burst": one_bound(
        INSTANCE_BYTES, INSTANCE, large=True, legacy=True, spending=(INSTANCE_BYTES, INSTANCE_OPS)
    ),
    "unlisted_limit": _unlisted,
    "nameless_class": _nameless,
    "merged_sequential": _merged,
    "granted_daily": _granted,
}
