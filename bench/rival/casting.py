"""Draw a machine whose named bound is the first to stop a load of a given I/O size."""

from datetime import UTC, datetime, timedelta

import numpy as np

from rival.machines import INSTANCE_BYTES, VOLUME_BYTES, Disk, Machine, Row, instance_bounds, rows, volume_bounds
from rival.scene import LATENCY_S, WARM_S, Air, Scene
from rival.second import BIN_S

ENGINES = ("postgres",) * 7 + ("mysql", "mariadb", "oracle-se2", "sqlserver-se")

# How much further the next bound must be at the pressing I/O size. A smaller gap occurs in reality, but
# then two bounds explain the same minutes, and there is no single truth to record.
MARGIN = 1.12


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return str(options[int(rng.integers(len(options)))])


def any_engine(rng: np.random.Generator, db_class: str) -> str:
    """Draw an engine that is offered on the class; Arm classes only have the open-source ones."""
    family = db_class.split(".")[1]
    return _pick(rng, ENGINES[:9] if family.endswith("g") else ENGINES)


def roomy(rng: np.random.Generator, engine: str) -> Disk:
    """Draw storage with room to spare: the instance in front of it is the bottleneck."""
    choice = rng.random()
    if engine.startswith("sqlserver"):
        if choice < 0.5:
            size = int(rng.integers(400, 4000))
            return Disk("gp3", size, engine, 16000, 1000)
        return Disk("io1", int(rng.integers(1000, 4000)), engine, int(rng.integers(10, 32)) * 1000)
    if choice < 0.4:
        iops = int(rng.choice([16000, 20000, 24000, 40000]))
        return Disk("gp3", int(rng.integers(500, 6000)), engine, iops, int(rng.choice([1500, 2000, 4000])))
    if choice < 0.65:
        return Disk("io1", int(rng.integers(1000, 6000)), engine, int(rng.integers(12, 40)) * 1000)
    if choice < 0.75:
        return Disk("io2", int(rng.integers(500, 4000)), engine, int(rng.integers(12, 64)) * 1000)
    return Disk("gp2", int(rng.integers(5400, 16000)), engine)


def gp2_small(rng: np.random.Generator, engine: str) -> Disk:
    """Draw gp2 storage that depends on credits."""
    if engine.startswith("sqlserver") or rng.random() < 0.5:
        return Disk("gp2", int(rng.integers(20, 170)), engine)
    low = 200 if engine.startswith("oracle") else 400
    return Disk("gp2", int(rng.integers(low, 680)), engine)


def gp2_plain(rng: np.random.Generator, engine: str) -> Disk:
    """Draw gp2 storage so large that credits do not raise its rate."""
    if engine.startswith("sqlserver"):
        return Disk("gp2", int(rng.integers(1000, 5000)), engine)
    return Disk("gp2", int(rng.integers(4000, 5300)), engine)


def gp3_any(rng: np.random.Generator, engine: str) -> Disk:
    """Draw gp3 storage: with the included rates, or with more bought."""
    striped = 200 if engine.startswith("oracle") else 400
    if engine.startswith("sqlserver"):
        return Disk("gp3", int(rng.integers(50, 2000)), engine, int(rng.integers(6, 20)) * 500, 250)
    if rng.random() < 0.5:
        is_known = rng.random() < 0.5
        return Disk(
            "gp3", int(rng.integers(20, striped)), engine, 3000 if is_known else None,
            125 if is_known else None,
        )  # fmt: skip
    iops = int(rng.choice([12000, 12000, 13000, 15000]))
    return Disk("gp3", int(rng.integers(striped, 3000)), engine, iops, int(rng.choice([500, 500, 600, 750])))


def io_any(rng: np.random.Generator, engine: str) -> Disk:
    """Draw provisioned IOPS, fewer than needed."""
    kind = "io2" if rng.random() < 0.3 else "io1"
    size = int(rng.integers(100, 390 if not engine.startswith("oracle") else 190))
    if rng.random() < 0.4:
        size = int(rng.integers(400, 2000))
    iops = int(rng.choice([1000, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 8000, 10000]))
    return Disk(kind, size, engine, min(iops, size * 50))


DISKS = {"roomy": roomy, "gp2_small": gp2_small, "gp2_plain": gp2_plain, "gp3": gp3_any, "io": io_any}


def classes(*, bursting: bool | None = None, named: bool = True) -> tuple[str, ...]:
    """Return class names by whether today's row bursts, or those without documented numbers."""
    found = []
    for name, group in rows().items():
        today = group[-1]
        if today.has_numbers != named:
            continue
        if bursting is None or today.bursts == bursting:
            found.append(name)
    return tuple(found)


def margin_of(machine: Machine, bound: int, bytes_per_op: float, *, spending: tuple[int, ...] = ()) -> float:
    """Return how many times the bound's load the nearest other bound allows; `spending` ones burst."""
    ops = []
    for index, limit in enumerate(machine.bounds):
        rate = limit.peak if index in spending else limit.base
        ops.append(rate / (bytes_per_op if index in {INSTANCE_BYTES, VOLUME_BYTES} else 1.0))
    others = [value for index, value in enumerate(ops) if index != bound]
    return min(others) / ops[bound]


def machine_of(rng: np.random.Generator, row: Row, disk: Disk) -> Machine:
    """Return a machine under its documented bounds."""
    machine = Machine(row, disk, [*instance_bounds(row, rng), *volume_bounds(disk)])
    machine.multi_az = bool(rng.random() < 0.35)
    return machine


def cast(
    rng: np.random.Generator,
    bound: int,
    bytes_per_op: float,
    *,
    disk: str,
    names: tuple[str, ...],
    spending: tuple[int, ...] = (),
    legacy: bool = False,
) -> Machine | None:
    """
    Try machines until `bound` stops such a load first, with MARGIN; return None if none is found.

    Bounds in `spending` count with credits, all others without.
    """
    at_peak = bound in spending
    for _ in range(120):
        group = rows()[_pick(rng, names)]
        row = group[-1]
        if legacy:
            # Rows that were documented for only a few days were mistakes of the document.
            old = [r for r in group[:-1] if r.valid_from and r.valid_to and (r.valid_to - r.valid_from).days > 60]
            if not old:
                continue
            row = old[int(rng.integers(len(old)))]
        engine = any_engine(rng, row.db_class)
        machine = machine_of(rng, row, DISKS[disk](rng, engine))
        limit = machine.bounds[bound]
        if at_peak and not limit.bursts:
            continue
        if legacy and (limit.peak_label if at_peak else limit.base_label)[1] != "legacy":
            continue
        if margin_of(machine, bound, bytes_per_op, spending=spending) >= MARGIN:
            return machine
    return None


def stage(rng: np.random.Generator, kind: str, machine: Machine, days: float) -> Scene:
    """Build a scene without work: dates, latencies, deviation of the limiter, balances."""
    today = machine.row
    earliest = datetime(2020, 6, 1, tzinfo=UTC)
    if today.valid_from and not today.valid_to:
        earliest = max(earliest, datetime.combine(today.valid_from, datetime.min.time(), UTC))
    minute = int(rng.integers(0, 5 * 365 * 1440))
    first = earliest + timedelta(minutes=minute - minute % 5)
    if today.valid_to:
        born = datetime.combine(today.valid_to, datetime.min.time(), UTC)
        machine.launched = born - timedelta(hours=float(rng.uniform(24, 24 * 400)))
    else:
        machine.launched = first - timedelta(hours=float(rng.uniform(24 * 20, 24 * 900)))
    read_s, write_s = LATENCY_S[machine.disk.kind]
    spread = np.exp(0.15 * rng.standard_normal(2))
    # Multi-AZ writes the second copy synchronously, so writes take longer.
    write_s *= float(rng.uniform(1.5, 3.0)) if machine.multi_az else 1.0
    smallest = machine.bounds[0].base, machine.bounds[1].base
    air = Air(
        read_s=read_s * float(spread[0]),
        write_s=write_s * float(spread[1]),
        per_byte_s=float(rng.uniform(0.5e-9, 4e-9)),
        growth=float(rng.choice([0.0, 0.1, 0.3, 0.6])),
        power=float(rng.choice([2.0, 4.0, 8.0])),
        latency_sd=float(rng.uniform(0.03, 0.15)),
        outlier_p=float(rng.choice([0.0, 3e-4, 1e-3])),
        jitter=float(rng.uniform(0.0005, 0.003)),
        cpu_max=machine.row.vcpus * 0.985,
        net_max=machine.row.network_bytes_per_s,
        # The root volume's own I/O counts for the instance and is in no RDS metric.
        root_bytes=min(float(np.exp(rng.normal(10.6, 0.6))), 0.002 * smallest[0]),
        root_ops=min(float(rng.uniform(1, 12)), 0.002 * smallest[1]),
        cpu_idle=float(rng.uniform(0.01, 0.05)),
        queue_gain=float(rng.choice([1.0, 1.0, 1.0, 0.7, 1.5])),
    )
    scene = Scene(kind, machine, first, int(days * 86400 + WARM_S) // BIN_S, air, rng)
    scene.honest = _honest(rng, machine)
    scene.full = [float(v) for v in rng.uniform(0.3, 1.0, 4)]
    scene.slack_s = float(rng.uniform(0.05, 0.5))
    if rng.random() < 0.4:
        scene.grant = float(rng.choice([0.1, 0.3, 1.0]))
        scene.grant_s = int(rng.integers(0, 1440)) * 60
    return scene


def _honest(rng: np.random.Generator, machine: Machine) -> list[tuple[float, float]]:
    """Draw enforced divided by documented rates; published plateaus are 0.2 to 1.3 % above."""
    found = []
    for limit in machine.bounds:
        base = float(np.clip(rng.normal(1.0, 0.002), 0.994, 1.006))
        peak = float(np.clip(rng.normal(1.002, 0.003), 0.994, 1.009)) if limit.bursts else base
        found.append((base, peak))
    return found
