"""
Published rules: what the provider documents for a class, a volume or an engine.

A *limit* is a published rule; a *ceiling* is its number for one instance (model/ceiling.py). What
the catalog does not know is None, never zero.
"""

from msgspec import Struct

from plimsoll.model.ceiling import Origin


class InstanceLimits(Struct, frozen=True, kw_only=True):
    """What is documented for an instance class today."""

    db_class: str
    """`db.r5.2xlarge`"""
    ec2_type: str | None
    """The EC2 type behind it; None where it is not known."""
    vcpu_count: int | None
    memory_bytes: int | None
    ebs_baseline_bytes_per_s: float | None
    ebs_burst_bytes_per_s: float | None
    """EBS throughput, baseline and maximum; equal where there is no burst."""
    ebs_baseline_ops_per_s: float | None
    ebs_burst_ops_per_s: float | None
    network_baseline_bytes_per_s: float | None
    network_burst_bytes_per_s: float | None
    hypervisor: str | None
    """`nitro`, `xen`, `bare-metal`"""
    cpu_arch: str | None
    """`x86_64`, `arm64`, `i386/x86_64`"""
    is_cpu_burstable: bool | None
    is_current_generation: bool | None
    is_offered: bool
    """Whether RDS lists the class; a few EC2 sizes are kept that RDS does not sell."""
    is_verified: bool
    """Whether a second source agrees with the EBS numbers."""
    origin: Origin
    note: str = ""
    ebs_origin: Origin | None = None
    """Where the four EBS numbers come from; None where it is `origin`, as for the rest."""


class LegacyLimits(Struct, frozen=True, kw_only=True):
    """EBS limits that were documented for a class in the past, and differ from today's."""

    db_class: str
    ebs_baseline_bytes_per_s: float | None
    """None where the documentation of that time had only a maximum."""
    ebs_burst_bytes_per_s: float
    ebs_baseline_ops_per_s: float | None
    ebs_burst_ops_per_s: float
    origin: Origin
    """With `valid_from` and `valid_to`, the dates between which it was documented."""
    is_lifted_by_restart: bool | None = None
    """True where EC2 documents that a stop and start applies today's limits; None if undocumented."""
    note: str = ""


class CpuCredits(Struct, frozen=True, kw_only=True):
    """The CPU credits of a burstable class."""

    db_class: str
    credits_per_hour: float
    """One credit is one vCPU at 100 % for one minute."""
    credits_max: float
    """Most credits that can be saved: what is earned in 24 hours."""
    baseline_ratio: float
    """CPU that the earned credits sustain, as a ratio 0–1 of all vCPUs."""
    is_unlimited: bool | None
    """True where RDS lets the class run on borrowed credits, at a price; None if not documented."""
    origin: Origin


class StorageRule(Struct, frozen=True, kw_only=True):
    """The rule that RDS documents for an engine, a storage type and a range of sizes."""

    kind: str
    engine: str
    """Engine family: `postgres`, `oracle` …"""
    size_gib_min: float | None
    size_gib_max: float
    """The range, both ends included."""
    volume_count: int | None
    """EBS volumes the storage is striped over; None where it is not documented."""
    documented_since: str | None
    """ISO date on which this layout was first documented; None where no other is known."""
    ops_per_s_min: float | None
    ops_per_s_max: float | None
    """Included (gp3) or baseline (gp2) IOPS at both ends of the range."""
    ops_per_s_burst: float | None
    bytes_per_s_min: float | None
    bytes_per_s_max: float | None
    """Throughput at both ends of the range; for io1 and io2 the most that is documented."""
    provisioned_ops_per_s_min: float | None
    provisioned_ops_per_s_max: float | None
    """The range of IOPS that can be provisioned; None where none can."""
    provisioned_bytes_per_s_min: float | None
    provisioned_bytes_per_s_max: float | None
    ops_per_gib_min: float | None
    ops_per_gib_max: float | None
    bytes_per_op_max: float | None
    """Most provisioned throughput per provisioned IOPS."""
    origin: Origin
    note: str = ""


class VolumeRule(Struct, frozen=True, kw_only=True):
    """One documented number: of a single EBS volume, of instance bursts, or of Aurora Serverless."""

    kind: str
    """`gp2`, `gp3`, `io1`, `io2`, `instance`, `serverless`"""
    rule: str
    """Its name, unit last, as in the data file: `ops_per_s_per_gib`, `mib_per_s`."""
    value: float
    origin: Origin


class AuroraClass(Struct, frozen=True, kw_only=True):
    """Limits of a class that depend on which of Aurora's two engines it runs."""

    engine: str
    """`aurora-mysql`, `aurora-postgresql`"""
    db_class: str
    local_storage_bytes: float | None
    """Most space for temporary files and, mostly, logs; None where it is not documented."""
    connections: int | None
    """Default of max_connections; None where a formula gives it."""
    origin: Origin


class AuroraCapacity(Struct, frozen=True, kw_only=True):
    """The limits documented for a largest capacity of Aurora Serverless v2."""

    engine: str
    """`aurora-mysql`, `aurora-postgresql`"""
    capacity_acu: float
    """Aurora capacity units."""
    connections: int
    """Default of max_connections."""
    origin: Origin


class ConnectionRule(Struct, frozen=True, kw_only=True):
    """The default of max_connections for an engine."""

    engine: str
    memory_bytes_per_connection: float | None
    """The default is memory over this; None where the default is a constant."""
    connections_max: int | None
    """Upper bound of the formula, or the constant."""
    origin: Origin
