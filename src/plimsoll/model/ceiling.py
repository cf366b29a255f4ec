"""A limit's number for this instance, with its origin."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.metric import Metric


class Family(StrEnum):
    """The rule that bounds the instance; one file each in `limits/`."""

    INSTANCE_EBS_THROUGHPUT = "instance_ebs_throughput"
    INSTANCE_EBS_IOPS = "instance_ebs_iops"
    VOLUME_THROUGHPUT = "volume_throughput"
    VOLUME_IOPS = "volume_iops"
    CPU = "cpu"
    THROUGHPUT_CREDITS = "instance_throughput_credits"
    """The credits of the instance's throughput bucket (EBSByteBalance%), where none are left."""
    IOPS_CREDITS = "instance_iops_credits"
    """Those of its IOPS bucket (EBSIOBalance%)."""
    VOLUME_CREDITS = "volume_credits"
    """Those of a gp2 volume (BurstBalance)."""
    CPU_CREDITS = "cpu_credits"
    MEMORY = "memory"
    CONNECTIONS = "connections"
    NETWORK = "network"
    STORAGE_SPACE = "storage_space"
    LOCAL_STORAGE = "local_storage"
    """Aurora's disk for temporary files and logs; its data is in the cluster volume."""
    CAPACITY = "capacity"
    """Aurora Serverless: its largest capacity."""
    UNKNOWN = "unknown"


class Phase(StrEnum):
    """The number of the limit."""

    BASELINE = "baseline"
    """The rate that refilled credits sustain."""
    BURST = "burst"
    """The rate while credits last."""
    FIXED = "fixed"
    """A limit without credits."""
    LEGACY = "legacy"
    """A number that AWS published for this class in the past, and that old instances keep."""


class Dimension(StrEnum):
    """What a ceiling bounds; reads and writes together."""

    THROUGHPUT = "throughput"
    """bytes/s"""
    IOPS = "iops"
    """ops/s"""
    AMOUNT = "amount"
    """bytes, connections, credits, or a ratio: not a rate of storage"""


class Origin(Struct, frozen=True, kw_only=True):
    """Where a number comes from."""

    source: str
    """Document or data set, short enough for a footnote."""
    read_on: str
    """ISO date on which that source was read or published."""
    valid_from: str | None = None
    """ISO date from which it was documented; None if not known to have differed."""
    valid_to: str | None = None
    """ISO date until which it was documented; None for what is documented now."""


class Ceiling(Struct, frozen=True, kw_only=True):
    """One number that bounds this instance."""

    family: Family
    phase: Phase
    dimension: Dimension
    value: float
    """bytes/s, ops/s, bytes, count or ratio: as `unit` says."""
    unit: str
    """`bytes/s`, `ops/s`, `bytes`, `count`, `ratio`, `credits`"""
    origin: Origin
    former_phase: Phase | None = None
    """For `legacy`: which number it was (baseline, burst or fixed)."""
    balance_metric: Metric | None = None
    """The metric of the remaining credits; None where no bucket exists."""
    capacity_low: float | None = None
    """Smallest capacity (bytes or ops) compatible with what is documented; None without a bucket."""
    capacity_high: float | None = None
    """Largest such capacity; equal to `capacity_low` where AWS publishes it (gp2)."""
    note: str = ""
    """A remark for the reader about this number."""

    @property
    def bucket_phase(self) -> Phase:
        """Return baseline, burst or fixed, also for legacy limits."""
        return self.former_phase or self.phase
