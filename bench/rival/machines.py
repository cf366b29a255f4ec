"""
Define the machines: documented limits of some RDS classes, and the rules of their volumes.

Numbers come from classes.csv (source and date per row) and from the RDS User Guide's storage page
(chap-storage.md, 2026-04-13) and EBS User Guide (general-purpose.md), named at each use.
"""

import csv
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import numpy as np

MIB = 1024.0**2
KIB = 1024.0

# The four limited rates, in the order in which the simulation keeps them.
INSTANCE_BYTES, INSTANCE_OPS, VOLUME_BYTES, VOLUME_OPS = range(4)
FAMILIES = ("instance_ebs_throughput", "instance_ebs_iops", "volume_throughput", "volume_iops")
DIMENSIONS = ("throughput", "iops", "throughput", "iops")

# Far above anything sold: no limit.
UNLIMITED = 1e15


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one documented row of a class: base and peak of both rates, and when it was documented."""

    db_class: str
    vcpus: int
    memory_gib: float
    network_bytes_per_s: float
    valid_from: date | None
    valid_to: date | None
    bytes_base: float
    bytes_peak: float
    ops_base: float
    ops_peak: float

    @property
    def has_numbers(self) -> bool:
        """Return whether any document has this class's limits."""
        return not np.isnan(self.bytes_base)

    @property
    def bursts(self) -> bool:
        """Return whether the class has credits, hence balance metrics."""
        return self.has_numbers and self.bytes_base < self.bytes_peak


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


def _float(text: str) -> float:
    return float(text) if text else float("nan")


@cache
def rows() -> dict[str, tuple[Row, ...]]:
    """Return every class's rows, oldest first; the last one is today's."""
    found: dict[str, list[Row]] = {}
    with (Path(__file__).parent / "classes.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            row = Row(
                db_class=line["db_class"],
                vcpus=int(line["vcpus"]),
                memory_gib=float(line["memory_gib"]),
                network_bytes_per_s=float(line["network_gbps"]) * 1e9 / 8,
                valid_from=_day(line["valid_from"]),
                valid_to=_day(line["valid_to"]),
                bytes_base=_float(line["baseline_mb_per_s"]) * 1e6,
                bytes_peak=_float(line["max_mb_per_s"]) * 1e6,
                ops_base=_float(line["baseline_iops"]),
                ops_peak=_float(line["max_iops"]),
            )
            found.setdefault(row.db_class, []).append(row)
    return {name: tuple(group) for name, group in found.items()}


@dataclass(frozen=True, slots=True)
class Disk:
    """Describe what was bought: kind, size, provisioned rates, and the number of its volumes."""

    kind: str
    size_gib: int
    engine: str = "postgres"
    iops: int | None = None
    throughput_mibps: int | None = None

    @property
    def stripes(self) -> int:
        """Return the number of volumes (chap-storage.md, automatic striping)."""
        if self.engine.startswith("sqlserver"):
            return 1
        return 4 if self.size_gib >= (200 if self.engine.startswith("oracle") else 400) else 1


@dataclass(frozen=True, slots=True)
class Bound:
    """Hold one enforced rate: base, peak with credits, bucket size, and its name."""

    base: float = UNLIMITED
    peak: float = UNLIMITED
    credits_max: float = 0.0
    base_label: tuple[str, str] = ("unknown", "fixed")
    """(family, phase) while the base binds."""
    peak_label: tuple[str, str] = ("unknown", "burst")

    @property
    def bursts(self) -> bool:
        """Return whether credits raise the rate."""
        return self.peak > self.base


def gp2_numbers(disk: Disk) -> tuple[float, float, float, float]:
    """
    Return baseline and burst ops/s, credits, bytes/s of gp2 storage of equal stripes.

    Source: EBS User Guide general-purpose.md: 3 IOPS per GiB (100 to 16,000) per volume, burst to
    3,000 while 5.4 M credits last, 128 MiB/s up to 170 GiB and 250 MiB/s from 334 GiB.
    """
    n, each = disk.stripes, disk.size_gib / disk.stripes
    base = n * min(max(3.0 * each, 100.0), 16000.0)
    rate = n * (128 if each <= 170 else 250) * MIB
    # The RDS table limits the throughput of the storage to 1,000 MiB/s, which four volumes just reach.
    burst = max(base, n * 3000.0)
    return base, burst, n * 5.4e6 if burst > base else 0.0, rate


def volume_bounds(disk: Disk) -> tuple[Bound, Bound]:
    """Return the volumes' bytes/s and ops/s bounds (chap-storage.md, tables per storage type)."""
    fixed = ("volume_throughput", "fixed"), ("volume_iops", "fixed")
    if disk.kind == "gp2":
        base, burst, credit, rate = gp2_numbers(disk)
        bytes_bound = Bound(rate, rate, 0.0, fixed[0], fixed[0])
        if burst <= base:
            return bytes_bound, Bound(base, base, 0.0, fixed[1], fixed[1])
        base_label, peak_label = ("volume_iops", "baseline"), ("volume_iops", "burst")
        return bytes_bound, Bound(base, burst, credit, base_label, peak_label)
    if disk.kind == "gp3":
        iops = disk.iops or (12000 if disk.stripes == 4 else 3000)
        mibps = disk.throughput_mibps or (500 if disk.stripes == 4 else 125)
    elif disk.kind == "io1":
        assert disk.iops is not None
        iops = disk.iops
        # 256 KiB per provisioned I/O up to 500 MiB/s a volume (provisioned-iops.md).
        mibps = min(iops // 4, 500 * disk.stripes) if iops < 2000 else 500 * disk.stripes
    else:
        assert disk.iops is not None
        iops = disk.iops
        mibps = round(min(0.256 * iops, 4000.0 * disk.stripes))
    rate = mibps * MIB
    return (Bound(rate, rate, 0.0, fixed[0], fixed[0]), Bound(float(iops), float(iops), 0.0, fixed[1], fixed[1]))


def _phase(value: float, row: Row, today: Row, names: tuple[str, str], kind: str) -> str:
    """Return `legacy` if today's row has this number for neither rate."""
    if row is today:
        return kind
    now = [getattr(today, name) for name in names]
    for number, phase in zip(now, ("baseline", "burst"), strict=True):
        if abs(value / number - 1) < 0.005:
            return phase if now[0] < now[1] else "fixed"
    return "legacy"


def instance_bounds(row: Row, rng: np.random.Generator) -> tuple[Bound, Bound]:
    """
    Return the instance's bytes/s and ops/s bounds.

    The size of its buckets is not published. Thirty minutes at the peak is promised; it does not say
    whether the baseline counts in those thirty minutes, and "at least" leaves room for more.
    """
    assert row.has_numbers
    today = rows()[row.db_class][-1]
    convention = rng.random()
    found = []
    for family, names in (
        ("instance_ebs_throughput", ("bytes_base", "bytes_peak")),
        ("instance_ebs_iops", ("ops_base", "ops_peak")),
    ):
        base, peak = getattr(row, names[0]), getattr(row, names[1])
        size = 1800.0 * ((peak - base) if convention < 0.6 else peak)
        size *= 1.0 if convention < 0.85 else float(rng.uniform(1.0, 2.2))
        first, second = ("baseline", "burst") if peak > base else ("fixed", "fixed")
        found.append(
            Bound(
                base,
                peak,
                size if peak > base else 0.0,
                (family, _phase(base, row, today, names, first)),
                (family, _phase(peak, row, today, names, second)),
            )
        )
    return found[0], found[1]


def documented(db_class: str, disk: Disk) -> dict[str, list[float]]:
    """Return all numbers, present and legacy, that documents have for this pair, per dimension."""
    volume_bytes, volume_ops = volume_bounds(disk)
    found = {"throughput": [volume_bytes.base], "iops": [volume_ops.base, volume_ops.peak]}
    if disk.kind == "gp2":
        # With an empty bucket, 256 KiB I/O at the baseline rate is a ceiling in bytes/s too.
        found["throughput"].append(min(volume_ops.base * 256 * KIB, volume_bytes.base))
    for row in rows()[db_class]:
        if row.has_numbers:
            found["throughput"] += [row.bytes_base, row.bytes_peak]
            found["iops"] += [row.ops_base, row.ops_peak]
    return found


@dataclass(slots=True)
class Machine:
    """Describe an instance with its storage and every enforced bound."""

    row: Row
    disk: Disk
    bounds: list[Bound]
    """In the order INSTANCE_BYTES, INSTANCE_OPS, VOLUME_BYTES, VOLUME_OPS."""
    multi_az: bool = False
    launched: datetime = field(default_factory=lambda: datetime(2021, 1, 1, tzinfo=UTC))

    def first_bound(self, bytes_per_op: float, *, at_peak: bool = False) -> tuple[int, float]:
        """Return the bound that stops a growing load of one I/O size first, and its margin to the next."""
        ops = np.empty(4)
        for index, bound in enumerate(self.bounds):
            rate = bound.peak if at_peak else bound.base
            ops[index] = rate / bytes_per_op if index in (INSTANCE_BYTES, VOLUME_BYTES) else rate
        order = np.argsort(ops)
        return int(order[0]), float(ops[order[1]] / ops[order[0]])
