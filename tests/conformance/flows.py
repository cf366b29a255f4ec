"""
List cases of chains under requests without pause, with the expected results.

Rule 1: an expected result is arithmetic on the numbers in its case, independent of both arms.
Rule 2: an arm reports what was served and what bound (`Served`); `check` decides whether that is right.

The arms are the law itself (`law_arm`) and a mounted gate with fio behind it (`gate_arm`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.kernel import Stage
from plimsoll.units import KIB, MIB

DEPTH = 16
UNIT_BYTES = 256 * KIB
"""Accounting unit of a volume (EBS user guide, I/O characteristics)."""

PAIRS = ((86.875e6, 4_000), (213e6, 7_500), (593.75e6, 18_750))
"""Bytes and operations per second of three instances: those of db.t3.xlarge, of a middle one, of a
db.r5.4xlarge."""

THROUGHPUT, IOPS, VOLUME = "instance_ebs_throughput", "instance_ebs_iops", "volume_iops"


@dataclass(frozen=True, kw_only=True)
class Load:
    """Describe a load without pause."""

    pattern: str
    """`random` or `sequential`."""
    direction: str
    """`read`, `write` or `mixed`, which is half of each."""
    size_bytes: int
    depth: int = DEPTH
    """Requests in flight; with a page cache, the number of programs."""
    is_direct: bool = True
    """Whether requests bypass the page cache."""

    @property
    def name(self) -> str:
        """Return a name for people: `8 kB random read, direct`."""
        kib = self.size_bytes // KIB
        size = f"{kib} kB" if kib < KIB else f"{kib // KIB} MB"
        return f"{size} {self.pattern} {self.direction}, {'direct' if self.is_direct else 'buffered'}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Hold a chain, its load, and the expected result."""

    chain: tuple[Stage, ...]
    load: Load
    binds: str
    """Name of the stage that binds."""
    rate: float
    """What it allows per second, all stripes together, in bytes or in requests."""
    is_bytes: bool
    """Whether `rate` counts bytes; else requests."""

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.load.name}, {limit_name(self)}"


@dataclass(frozen=True, kw_only=True)
class Served:
    """Hold the result of an arm."""

    ops_per_s: float
    bytes_per_s: float
    binds: str | None
    """The stage that made requests wait for the longest time; None for none."""

    def error_of(self, case: Case) -> float:
        """Return the deviation from the expected rate, relative to it."""
        rate = self.bytes_per_s if case.is_bytes else self.ops_per_s
        return rate / case.rate - 1


def limit_name(case: Case) -> str:
    """Format the binding limit: `86.875 MB/s` or `4,000 IOPS`."""
    stage = next(stage for stage in case.chain if stage.name == case.binds)
    rate = stage.baseline * stage.stripes
    return f"{rate / 1e6:g} MB/s" if stage.counts == "bytes" else f"{rate:,.0f} IOPS"


def check(case: Case, served: Served, *, tolerance: float) -> None:
    """Check that the right stage binds, and that exactly what it allows is served."""
    assert case.binds == served.binds
    error = served.error_of(case)
    assert abs(error) <= tolerance, f"{case.name}: {error:+.3%}"


def instance(bytes_per_s: float, ops_per_s: float) -> tuple[Stage, ...]:
    """Return the two limits of an instance without credits."""
    return (
        Stage(name=THROUGHPUT, baseline=bytes_per_s, burst=bytes_per_s, counts="bytes"),
        Stage(name=IOPS, baseline=ops_per_s, burst=ops_per_s, counts="ops"),
    )


def volumes(ops_per_s: float, *, stripes: int = 1, merged: bool = False) -> tuple[Stage, ...]:
    """Return volumes of this many operations per second each, behind a large instance."""
    volume = Stage(
        name=VOLUME,
        baseline=ops_per_s,
        burst=ops_per_s,
        counts="ops",
        unit_bytes=UNIT_BYTES,
        sequential_ratio=1.0 if merged else 0.0,
        stripes=stripes,
    )
    return (*instance(593.75e6, 18_750), volume)


def loads() -> Iterator[Load]:
    """Yield every load that the promise of accuracy names."""
    for is_direct in (True, False):
        for direction in ("read", "write", "mixed"):
            yield Load(pattern="random", direction=direction, size_bytes=8 * KIB, is_direct=is_direct)
        for size_bytes in (128 * KIB, MIB):
            for direction in ("read", "write"):
                yield Load(pattern="sequential", direction=direction, size_bytes=size_bytes, is_direct=is_direct)
    yield Load(pattern="sequential", direction="mixed", size_bytes=128 * KIB)


def paired(load: Load, bytes_per_s: float, ops_per_s: float) -> Case:
    """Return a load on an instance: 8 kB reach its IOPS limit first, 128 kB and more its throughput."""
    is_bytes = load.size_bytes * ops_per_s > bytes_per_s
    return Case(
        chain=instance(bytes_per_s, ops_per_s),
        load=load,
        binds=THROUGHPUT if is_bytes else IOPS,
        rate=bytes_per_s if is_bytes else ops_per_s,
        is_bytes=is_bytes,
    )


def accounting() -> Iterator[Case]:
    """Yield cases of how volumes count: in units, merged if sequential, each by itself."""
    # Two units each.
    large = Load(pattern="random", direction="read", size_bytes=512 * KIB)
    yield Case(chain=volumes(400), load=large, binds=VOLUME, rate=200, is_bytes=False)
    # Eight of 32 kB are one unit.
    small = Load(pattern="sequential", direction="read", size_bytes=32 * KIB, depth=1)
    yield Case(chain=volumes(200, merged=True), load=small, binds=VOLUME, rate=1_600, is_bytes=False)
    random = Load(pattern="random", direction="read", size_bytes=32 * KIB)
    yield Case(chain=volumes(1000), load=random, binds=VOLUME, rate=1000, is_bytes=False)
    # Four volumes, each of which gets every fourth 64 kB, and merges four of these.
    striped = Load(pattern="sequential", direction="read", size_bytes=64 * KIB)
    yield Case(chain=volumes(100, stripes=4, merged=True), load=striped, binds=VOLUME, rate=1_600, is_bytes=False)


def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return (*(paired(load, *pair) for load in loads() for pair in PAIRS), *accounting())
