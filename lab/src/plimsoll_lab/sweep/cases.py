"""
List the configurations of the I/O-size experiment, and what others measured on them.

Source of the figures: Pythian, "Investigating IO performance on Amazon RDS for Oracle": full scans of a
table with one row in each block, `db_file_multiblock_read_count` from 1 to 128. Its KB are 1,024 bytes:
it gives 256,000 KB/s for the 250 MB/s of db.m4.4xlarge.
"""

from msgspec import Struct

from plimsoll.model.ceiling import Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import KIB


class Figure(Struct, frozen=True, kw_only=True):
    """Hold one published number with a remark."""

    name: str
    """`operations` or `throughput`: the number of the fit to compare it with."""
    phase: Phase
    unit: str
    published: float
    remark: str


class SweepCase(Struct, frozen=True, kw_only=True):
    """Describe one configuration."""

    name: str
    instance: Instance
    figures: tuple[Figure, ...] = ()


def _bought(db_class: str, kind: str, size_gib: float, iops: float | None = None) -> Instance:
    storage = Storage(kind=kind, size_gib=size_gib, provisioned_ops_per_s=iops)
    return Instance(db_class=db_class, engine="postgres", storage=storage)


def _throughput(phase: Phase, kib_per_s: float, remark: str) -> Figure:
    return Figure(name="throughput", phase=phase, unit="bytes/s", published=kib_per_s * KIB, remark=remark)


_AT_UNIT = (
    "What looked like a throughput that depends on class and volume size is {ops} operations of 256 KiB "
    "each, the unit by which gp2 charges; that is {kib:,} KB/s, and the scans came near it."
)
_INSTANCE = "The instance's 56.25 MB/s (57,600 KB/s) bind, {when}; this limit has not changed since."
_RETIRED = (
    "They came near the class's 250 MB/s, which they write as 256,000 KB/s, from 64 KB on. The documentation "
    "of that time (December 2017 to February 2018) counted I/O above 32 KB as several operations, which would "
    "have limited 1,000 IOPS to 32,000 KB/s. Neither they nor this run saw that. The rule was withdrawn, "
    "and the unit is 256 KiB."
)


def _unit_remark(ops: int) -> str:
    return _AT_UNIT.format(ops=ops, kib=ops * 256)


CASES = (
    SweepCase(
        name="m4.4xlarge-io1",
        instance=_bought("db.m4.4xlarge", "io1", 100, 1_000),
        figures=(
            Figure(
                name="operations",
                phase=Phase.FIXED,
                unit="ops/s",
                published=1_000,
                remark="Operations bound up to 32 KB and throughput from 64 KB on, because sequential reads "
                "are merged into operations of up to 256 KiB; scattered ones are bound by operations up to "
                "244 KiB.",
            ),
            Figure(name="throughput", phase=Phase.FIXED, unit="bytes/s", published=250e6, remark=_RETIRED),
        ),
    ),
    SweepCase(
        name="m4.4xlarge-gp2-100",
        instance=_bought("db.m4.4xlarge", "gp2", 100),
        figures=(
            _throughput(Phase.BASELINE, 75_144, _unit_remark(300)),
            _throughput(
                Phase.BURST,
                133_776,
                "The volume's 128 MiB/s (131,072 KB/s) bind, then as now; they measured two percent more.",
            ),
        ),
    ),
    SweepCase(
        name="m4.large-gp2-30",
        instance=_bought("db.m4.large", "gp2", 30),
        figures=(
            _throughput(
                Phase.BASELINE,
                24_537,
                _unit_remark(100) + " Three per GiB would be 90, but no gp2 volume has fewer than 100.",
            ),
            _throughput(Phase.BURST, 54_872, _INSTANCE.format(when="while credits last")),
            Figure(
                name="operations",
                phase=Phase.BURST,
                unit="ops/s",
                published=3_059,
                remark="A gp2 volume bursts to 3,000 IOPS, then as now.",
            ),
        ),
    ),
    SweepCase(
        name="m4.large-gp2-40",
        instance=_bought("db.m4.large", "gp2", 40),
        figures=(_throughput(Phase.BASELINE, 29_116, _unit_remark(120)),),
    ),
    SweepCase(
        name="m4.large-gp2-50",
        instance=_bought("db.m4.large", "gp2", 50),
        figures=(_throughput(Phase.BASELINE, 37_291, _unit_remark(150)),),
    ),
    SweepCase(
        name="m4.large-gp2-100",
        instance=_bought("db.m4.large", "gp2", 100),
        figures=(
            _throughput(Phase.BASELINE, 54_500, _INSTANCE.format(when="before 300 operations of 256 KiB could")),
            _throughput(Phase.BURST, 54_500, _INSTANCE.format(when="burst or not")),
        ),
    ),
    SweepCase(name="m7g.large-gp3-100", instance=_bought("db.m7g.large", "gp3", 100)),
    SweepCase(name="t4g.medium-gp3-100", instance=_bought("db.t4g.medium", "gp3", 100)),
)
"""Configurations in the order in which they are run."""
