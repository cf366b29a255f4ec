"""
Draw the machines of the incidents: real classes, documented storage rules, and what is enforced.

Written from the published rules, independently of the product's catalog and law, so that a mistake
there is not repeated here. Instance rows: classes.csv (EC2 DescribeInstanceTypes data as carried by
moto 5.2.5, read 2026-10-27; legacy rows from the history of awsdocs/amazon-ec2-user-guide).
Storage rules: RDS User Guide, "Amazon RDS DB instance storage", and EBS User Guide, "General
Purpose SSD volumes" and "Provisioned IOPS SSD volumes" (2026-04).
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import log
from pathlib import Path

import numpy as np
from numpy.random import Generator

MIB = 1024**2
STAGES = ("inst_tput", "inst_iops", "vol_tput", "vol_iops", "extra_tput", "extra_iops")
FAMILY = {
    "inst_tput": "instance_ebs_throughput",
    "inst_iops": "instance_ebs_iops",
    "vol_tput": "volume_throughput",
    "vol_iops": "volume_iops",
}
# Two documented numbers closer than this cannot be distinguished by level. The enforced level is drawn
# from 0.985 to 1.003 of the nominal one, so anything beyond 4 % is another number.
APART_LOG = log(1.04)
SAME_LOG = log(1.004)


def is_bytes(stage: str) -> bool:
    """Return whether the stage counts bytes (else operations)."""
    return stage.endswith("tput")


@dataclass(frozen=True, slots=True)
class Row:
    """Hold the limits of a class, as documented at one time; bytes/s and ops/s."""

    db_class: str
    kind: str
    documented_from: str
    documented_to: str
    tput: tuple[float, float]
    iops: tuple[float, float]
    vcpu_count: int
    memory_gib: float
    network_bytes_per_s: float
    engines: tuple[str, ...]

    @property
    def is_bursting(self) -> bool:
        """Return whether any of its limits has a burst above the baseline."""
        return self.tput[1] > self.tput[0] or self.iops[1] > self.iops[0]


@dataclass(frozen=True, slots=True)
class Disk:
    """Describe storage as bought, with the rates of its volumes together; bytes/s and ops/s."""

    kind: str
    size_gib: int
    volume_count: int
    tput: float
    iops: tuple[float, float]
    credit_ops: float
    provisioned_ops: float | None = None
    provisioned_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """Hold one documented number: its stage and its value."""

    stage: str
    phase: str
    former_phase: str | None
    value: float


@dataclass(slots=True)
class Machine:
    """Hold the described machine, and the limits that are really enforced."""

    db_class: str | None
    engine: str
    row: Row
    """Row that is enforced."""
    disk: Disk
    """Storage that is described."""
    real_disk: Disk
    """Storage that is enforced; the same object unless the description is stale."""
    levels: tuple[Level, ...]
    """Every number that follows from the description, legacy ones included."""
    extra: tuple[str, float] | None = None
    """An undocumented limit: stage and value."""
    replaced: frozenset[str] = frozenset()
    """Stages whose documented number is not enforced."""
    launched: str | None = None
    """ISO date of InstanceCreateTime."""
    capacity_s: dict[str, float] = field(default_factory=dict)
    """Bucket capacity of the instance stages, in seconds of (burst − baseline)."""

    def nominal(self, stage: str) -> tuple[float, float]:
        """Return baseline and burst enforced at a stage before deviations; infinite if none."""
        if stage in self.replaced:
            return (np.inf, np.inf)
        if stage == "inst_tput":
            return self.row.tput
        if stage == "inst_iops":
            return self.row.iops
        if stage == "vol_tput":
            return (self.real_disk.tput, self.real_disk.tput)
        if stage == "vol_iops":
            return self.real_disk.iops
        if self.extra and self.extra[0] == stage:
            return (self.extra[1], self.extra[1])
        return (np.inf, np.inf)


@cache
def rows() -> tuple[Row, ...]:
    """Return every row of classes.csv."""
    with (Path(__file__).parent / "classes.csv").open(newline="") as file:
        return tuple(
            Row(
                db_class=line["db_class"],
                kind=line["kind"],
                documented_from=line["documented_from"],
                documented_to=line["documented_to"],
                tput=(float(line["baseline_mb_per_s"]) * 1e6, float(line["burst_mb_per_s"]) * 1e6),
                iops=(float(line["baseline_ops_per_s"]), float(line["burst_ops_per_s"])),
                vcpu_count=int(line["vcpu_count"]),
                memory_gib=float(line["memory_gib"]),
                network_bytes_per_s=float(line["network_baseline_gbit_per_s"]) * 1e9 / 8,
                engines=tuple(line["engines"].split()),
            )
            for line in csv.DictReader(file)
        )


def current_rows() -> tuple[Row, ...]:
    """Return the rows documented today."""
    return tuple(r for r in rows() if r.kind == "current")


def legacy_rows(db_class: str | None) -> tuple[Row, ...]:
    """Return the rows documented earlier for a class."""
    return tuple(r for r in rows() if r.kind == "legacy" and r.db_class == db_class)


# "Instances launched before … may need to be stopped and started": the EC2 user guide names these
# families and 2019-12-03 or 2020-02-26; only their rows are enforced as legacy limits here.
_KEEPS_LEGACY = ("m5.", "m5d.", "r5.", "r5d.", "t3.", "z1d.")


def enforceable_legacy_rows() -> tuple[Row, ...]:
    """Return legacy rows that an instance may still have, documented for longer than a few weeks."""
    return tuple(
        r
        for r in rows()
        if r.kind == "legacy"
        and r.db_class.removeprefix("db.").startswith(_KEEPS_LEGACY)
        and r.documented_to >= "2019-12-01"
    )


def gp2_volumes(size: int, count: int) -> Disk:
    """Return gp2 storage on `count` volumes."""
    each = size / count
    base = min(max(3 * each, 100.0), 16000.0)
    burst = max(base, 3000.0)
    mib = 128 if each <= 170 else 250
    credit = 5.4e6 * count if burst > base else 0.0
    return Disk("gp2", size, count, mib * MIB * count, (base * count, burst * count), credit)


def _fixed(kind: str, size: int, count: int, ops: float, mib: float, bought: tuple[bool, bool]) -> Disk:
    return Disk(
        kind, size, count, mib * MIB, (ops, ops), 0.0, ops if bought[0] else None, mib * MIB if bought[1] else None
    )


def draw_disk(rng: Generator, engine: str, kind: str) -> Disk:
    """Draw storage of a kind that is sold for this engine, without sizes of disputed throughput."""
    stripe_from = {"oracle": 200, "sqlserver": 10**9}.get(engine, 400)
    size = int(round(float(np.exp(rng.uniform(log(20), log(12000)))) / 5) * 5)
    if engine == "sqlserver":
        size = min(size, 16000)
    count = 4 if size >= stripe_from else 1
    if kind == "gp2":
        # 170 to 334 GiB per volume: "up to 250 MiB/s while credits last" has no second number.
        if 170 < size / count < 334:
            size = int(170 * count) if rng.random() < 0.5 else int(340 * count)
            count = 4 if size >= stripe_from else 1
            if 170 < size / count < 334:
                size = 150
                count = 1
        return gp2_volumes(size, count)
    if kind == "gp3":
        if engine == "sqlserver":
            ops = float(rng.choice([3000, 3000, 4000, 6000, 8000, 12000, 16000]))
            mib = float(min(rng.choice([125, 125, 200, 250, 400, 500, 700, 1000]), ops * 0.25))
            return _fixed("gp3", size, 1, ops, mib, (ops > 3000, mib > 125))
        if count == 1:
            return _fixed("gp3", size, 1, 3000.0, 125.0, (False, False))
        ops = float(rng.choice([12000, 12000, 12000, 14000, 16000, 20000, 24000, 32000]))
        ops = min(ops, 500.0 * size)
        mib = float(rng.choice([500, 500, 500, 600, 750, 1000, 1500, 2000]))
        return _fixed("gp3", size, 4, ops, min(mib, ops * 0.25), (True, True))
    size = max(size, 100)
    count = 4 if size >= stripe_from else 1
    choices = [1000, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 8000, 10000, 12000, 15000, 20000]
    most = 50.0 * size if kind == "io1" else 500.0 * size
    ops = float(min(rng.choice(choices), most))
    # Up to 32,000 IOPS an io1 volume gives 500 MiB/s; io2 gives 0.256 MiB/s per IOPS, at most 4,000.
    mib = 500.0 * count if kind == "io1" else min(4000.0 * count, ops * 0.256)
    return _fixed(kind, size, count, ops, mib, (True, False))


def _instance_levels(row: Row) -> list[Level]:
    out = []
    for stage, pair in (("inst_tput", row.tput), ("inst_iops", row.iops)):
        if pair[0] == pair[1]:
            out.append(Level(stage, "fixed", None, pair[0]))
        else:
            out += [Level(stage, "baseline", None, pair[0]), Level(stage, "burst", None, pair[1])]
    return out


def documented_levels(db_class: str | None, disk: Disk | None) -> tuple[Level, ...]:
    """Return every number that a reader of the documents can know for this description."""
    out: list[Level] = []
    for row in current_rows():
        if row.db_class == db_class:
            out += _instance_levels(row)
    for row in legacy_rows(db_class):
        out += [
            Level(level.stage, "legacy", level.phase, level.value)
            for level in _instance_levels(row)
            if not any(known.stage == level.stage and abs(log(known.value / level.value)) < SAME_LOG for known in out)
        ]
    if disk is not None:
        out.append(Level("vol_tput", "fixed", None, disk.tput))
        base, burst = disk.iops
        if base == burst:
            out.append(Level("vol_iops", "fixed", None, base))
        else:
            out += [Level("vol_iops", "baseline", None, base), Level("vol_iops", "burst", None, burst)]
    return tuple(out)


def identify(levels: tuple[Level, ...], stage: str, value: float) -> Level | None:
    """Return the documented number of an enforced nominal value; None if it is undocumented."""
    same = [level for level in levels if level.stage == stage and abs(log(level.value / value)) < SAME_LOG]
    return same[0] if same else None


def is_distinct(machine: Machine) -> bool:
    """
    Return whether each enforced number differs from every other documented number by its level.

    This compares all stages of a dimension; an enforced number may equal its own documented one.
    """
    for stage in STAGES:
        for value in set(machine.nominal(stage)):
            if not np.isfinite(value):
                continue
            own = identify(machine.levels, stage, value)
            for level in machine.levels:
                if is_bytes(level.stage) != is_bytes(stage) or level == own:
                    continue
                if abs(log(level.value / value)) < APART_LOG:
                    return False
            for other in STAGES:
                for rival in set(machine.nominal(other)):
                    if other == stage or not np.isfinite(rival):
                        continue
                    if is_bytes(other) == is_bytes(stage) and abs(log(rival / value)) < APART_LOG:
                        return False
    return True


Condition = Callable[[Machine], bool]


def draw_machine(
    rng: Generator,
    *,
    accepts: Condition,
    kinds: tuple[str, ...] = ("gp2", "gp3", "gp3", "io1", "io2"),
    pool: tuple[Row, ...] | None = None,
    alter: Callable[[Generator, Machine], Machine | None] | None = None,
) -> Machine:
    """
    Draw a machine with distinct limits that suits the family, by rejection sampling over real rows.

    Args:
        accepts: whether the family can use a machine, e.g. a volume well above the instance's baseline.
        pool: rows to enforce; today's rows if None.
        alter: makes the description wrong; None from it draws again.
    """
    chosen = pool if pool is not None else current_rows()
    for _ in range(5000):
        row = chosen[int(rng.integers(len(chosen)))]
        engine = str(rng.choice(row.engines))
        disk = draw_disk(rng, engine, str(rng.choice(kinds)))
        levels = documented_levels(row.db_class, disk)
        machine: Machine | None = Machine(row.db_class, engine, row, disk, disk, levels)
        if alter is not None and machine is not None:
            machine = alter(rng, machine)
        if machine is not None and accepts(machine) and is_distinct(machine):
            machine.capacity_s = _capacities(rng, machine.row)
            if machine.launched is None:
                machine.launched = _launched(rng)
            return machine
    raise AssertionError("no class and storage satisfy this family")


def _capacities(rng: Generator, row: Row) -> dict[str, float]:
    """
    Draw the capacity of both instance buckets in seconds of (burst − baseline).

    AWS publishes none. "30 minutes at maximum" reads as (M − B)·1800 s or as M·1800 s (the gp2
    convention); a third draw is anything between those and twice as much.
    """
    out = {}
    reading = rng.random()
    other = rng.uniform(1.0, 2.0)
    for stage, (base, burst) in (("inst_tput", row.tput), ("inst_iops", row.iops)):
        if burst <= base:
            out[stage] = 0.0
        elif reading < 0.45:
            out[stage] = 1800.0
        elif reading < 0.8:
            out[stage] = 1800.0 * burst / (burst - base)
        else:
            out[stage] = 1800.0 * other * burst / (burst - base)
    return out


def _launched(rng: Generator) -> str | None:
    # Most instances run for months to a few years; one in ten descriptions lacks the date.
    if rng.random() < 0.1:
        return None
    year = int(rng.choice([2018, 2020, 2021, 2022, 2023]))
    return f"{year}-{int(rng.integers(1, 13)):02d}-{int(rng.integers(1, 28)):02d}"
