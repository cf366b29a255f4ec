"""
Published rules: what the provider documents for a class, a volume or an engine.

A *limit* is a published rule; a *ceiling* is its number for one instance (model/ceiling.py). What
the catalog does not know is None, never zero.

Each of these is a row of a table of the catalog: a field is a column, under its own name or the one that it gives.
A field with a default may be empty there. `origin` is the column `source`.
"""

from typing import Literal

from msgspec import Struct, field

from plimsoll.model.ceiling import Origin
from plimsoll.model.column import Amount, Count, Day, GbitPerS, Gib, MbPerS, MemoryGib, MibPerS, YesNo


class InstanceLimits(Struct, frozen=True, kw_only=True):
    """What is documented for an instance class today."""

    db_class: str
    """`db.r5.2xlarge`"""
    ec2_type: str | None
    """The EC2 type behind it; None where it is not known."""
    vcpu_count: Count | None = field(name="vcpus")
    memory_bytes: MemoryGib | None = field(name="memory_gib")
    ebs_baseline_bytes_per_s: MbPerS | None = field(name="ebs_baseline_mb_per_s", default=None)
    ebs_burst_bytes_per_s: MbPerS | None = field(name="ebs_max_mb_per_s", default=None)
    """EBS throughput, baseline and maximum; equal where there is no burst."""
    ebs_baseline_ops_per_s: Amount | None = None
    ebs_burst_ops_per_s: Amount | None = field(name="ebs_max_ops_per_s", default=None)
    network_baseline_bytes_per_s: GbitPerS | None = field(name="network_baseline_gbit_per_s", default=None)
    network_burst_bytes_per_s: GbitPerS | None = field(name="network_max_gbit_per_s", default=None)
    hypervisor: Literal["nitro", "xen", "bare-metal"] | None
    cpu_arch: str | None
    """`x86_64`, `arm64`, `i386/x86_64`"""
    is_cpu_burstable: YesNo | None = field(name="cpu_burstable")
    is_current_generation: YesNo | None = field(name="current_generation")
    has_bandwidth_weightings: YesNo | None = field(name="bandwidth_weightings")
    """Whether it can shift bandwidth between network and EBS."""
    is_offered: YesNo = field(name="offered")
    """Whether RDS lists the class; a few EC2 sizes are kept that RDS does not sell."""
    documentation: Literal["agrees", "absent"]
    """Whether a second source agrees with the EBS numbers."""
    origin: Origin
    note: str = ""
    """A remark for the reader; in no column."""
    ebs_origin: Origin | None = None
    """Where the four EBS numbers come from; None where it is `origin`, as for the rest. In no column."""


def unnumbered(db_class: str, origin: Origin, note: str) -> InstanceLimits:
    """Return the limits of a class that RDS lists and of which no number is known."""
    return InstanceLimits(
        db_class=db_class,
        ec2_type=None,
        vcpu_count=None,
        memory_bytes=None,
        hypervisor=None,
        cpu_arch=None,
        is_cpu_burstable=None,
        is_current_generation=None,
        has_bandwidth_weightings=None,
        is_offered=True,
        documentation="absent",
        origin=origin,
        note=note,
    )


class PreconfiguredClass(Struct, frozen=True, kw_only=True):
    """A class of RDS for Oracle with more memory for each vCPU."""

    db_class: str
    ec2_type: str
    """The type it probably runs on: the one of equal memory."""
    memory_bytes: MemoryGib = field(name="memory_gib")
    engines: str
    maximum: Literal["agrees", "absent"]
    """Whether the documented maximum of EBS throughput is that of the type."""
    origin: Origin


class ListedClass(Struct, frozen=True, kw_only=True):
    """Where RDS offers a class."""

    db_class: str
    documented: YesNo
    regions: str = ""
    """Number of regions by engine: `postgres:32 mysql:32`."""
    us_east_1: str = ""
    """The engines that offer it in us-east-1."""
    origin: Origin


class LegacyLimits(Struct, frozen=True, kw_only=True):
    """EBS limits that were documented for a class in the past, and differ from today's."""

    ec2_type: str
    ebs_baseline_bytes_per_s: MbPerS | None = field(name="ebs_baseline_mb_per_s", default=None)
    """None where the documentation of that time had only a maximum."""
    ebs_burst_bytes_per_s: MbPerS = field(name="ebs_max_mb_per_s")
    ebs_baseline_ops_per_s: Amount | None = None
    ebs_burst_ops_per_s: Amount = field(name="ebs_max_ops_per_s")
    status: Literal["documented", "partial", "misprint"] = "documented"
    is_lifted_by_restart: YesNo | None = field(name="restart_lifts", default=None)
    """True where EC2 documents that a stop and start applies today's limits; None if undocumented."""
    note: str = ""
    origin: Origin
    """With `valid_from` and `valid_to`, the dates between which it was documented."""


class CpuCredits(Struct, frozen=True, kw_only=True):
    """The CPU credits of a burstable class."""

    ec2_type: str
    credits_per_hour: Amount
    """One credit is one vCPU at 100 % for one minute."""
    credits_max: Amount
    """Most credits that can be saved: what is earned in 24 hours."""
    # EC2 states the baseline per vCPU, which is also the ratio of all vCPUs together.
    baseline_ratio: Amount = field(name="baseline_ratio_per_vcpu")
    """CPU that the earned credits sustain, as a ratio 0–1 of all vCPUs."""
    is_unlimited: YesNo | None = field(name="unlimited", default=None)
    """True where RDS lets the class run on borrowed credits, at a price; None if not documented."""
    origin: Origin


class StorageRule(Struct, frozen=True, kw_only=True):
    """The rule that RDS documents for an engine, a storage type and a range of sizes."""

    kind: Literal["gp2", "gp3", "io1", "io2", "standard"]
    engine: str
    """Engine family: `postgres`, `oracle` …"""
    size_gib_min: Amount | None = None
    size_gib_max: Amount
    """The range, both ends included."""
    volume_count: Count | None = None
    """EBS volumes the storage is striped over; None where it is not documented."""
    documented_since: Day | None = None
    """ISO date on which this layout was first documented; None where no other is known."""
    ops_per_s_min: Amount | None = None
    ops_per_s_max: Amount | None = None
    """Included (gp3) or baseline (gp2) IOPS at both ends of the range."""
    ops_per_s_burst: Amount | None = None
    bytes_per_s_min: MibPerS | None = field(name="mib_per_s_min", default=None)
    bytes_per_s_max: MibPerS | None = field(name="mib_per_s_max", default=None)
    """Throughput at both ends of the range; for io1 and io2 the most that is documented."""
    provisioned_ops_per_s_min: Amount | None = None
    provisioned_ops_per_s_max: Amount | None = None
    """The range of IOPS that can be provisioned; None where none can."""
    provisioned_bytes_per_s_min: MibPerS | None = field(name="provisioned_mib_per_s_min", default=None)
    provisioned_bytes_per_s_max: MibPerS | None = field(name="provisioned_mib_per_s_max", default=None)
    ops_per_gib_min: Amount | None = None
    ops_per_gib_max: Amount | None = None
    bytes_per_op_max: MibPerS | None = field(name="mib_per_s_per_ops_max", default=None)
    """Most provisioned throughput per provisioned IOPS."""
    note: str = ""
    origin: Origin


class VolumeRule(Struct, frozen=True, kw_only=True):
    """One documented number: of a single EBS volume, of instance bursts, or of Aurora Serverless."""

    kind: str
    """`gp2`, `gp3`, `io1`, `io2`, `instance`, `serverless`"""
    rule: str
    """Its name, unit last, as in the data file: `ops_per_s_per_gib`, `mib_per_s`."""
    value: Amount
    origin: Origin


AuroraEngine = Literal["aurora-mysql", "aurora-postgresql"]


class AuroraClass(Struct, frozen=True, kw_only=True):
    """Limits of a class that depend on which of Aurora's two engines it runs."""

    engine: AuroraEngine
    db_class: str
    local_storage_bytes: Gib | None = field(name="local_storage_gib", default=None)
    """Most space for temporary files and, mostly, logs; None where it is not documented."""
    connections: Count | None = None
    """Default of max_connections; None where a formula gives it."""
    origin: Origin


class AuroraCapacity(Struct, frozen=True, kw_only=True):
    """The limits documented for a largest capacity of Aurora Serverless v2."""

    engine: AuroraEngine
    capacity_acu: Amount
    """Aurora capacity units."""
    connections: Count
    """Default of max_connections."""
    origin: Origin


class ConnectionRule(Struct, frozen=True, kw_only=True):
    """The default of max_connections for an engine."""

    engine: str
    version_from: str = ""
    """First version that has it; empty for the oldest."""
    memory_bytes_per_connection: Amount | None = None
    """The default is memory over this; None where the default is a constant."""
    connections_max: Count | None = None
    """Upper bound of the formula, or the constant."""
    origin: Origin
