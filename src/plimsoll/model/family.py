"""
The facts about each ceiling family, one row each; no other file has any.

A family is added by one row here and one file in `limits/`.
Reason codes: AWS Compute Optimizer's finding reason codes where it has one (Compute Optimizer API
reference, "RDSDBRecommendation"), extended in its manner.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.metric import Metric

_BYTES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
_OPS = (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
_NETWORK = (Metric.NETWORK_RECEIVE_BYTES_PER_S, Metric.NETWORK_TRANSMIT_BYTES_PER_S)


class FamilyFacts(Struct, frozen=True, kw_only=True):
    """Every fact about one family that does not depend on the instance."""

    name: str
    """For people: `instance EBS throughput`."""
    code: str
    """Reason code of a finding that names it."""
    dimension: Dimension
    unit: str
    """Of its ceiling: `bytes/s`, `ops/s`, `bytes`, `count`, `ratio`, `credits`."""
    metrics: tuple[Metric, ...]
    """The metrics of its use: the sum for storage rates, the larger one for the network."""
    owner: Literal["instance", "volume"] | None = None
    """Which part of the storage path a rate limit belongs to; None where it bounds no storage rate."""
    short_name: str = ""
    """For a narrow column: `instance MB/s`; empty where the name is short enough."""
    balance: Metric | None = None
    """The metric of the credits left; None where no bucket exists."""
    credits_name: str = ""
    """What those credits are called: `instance throughput credits`; empty without a bucket."""
    exhausted_code: str = ""
    """Reason code where that balance reached zero; empty without a bucket."""
    is_resource: bool = True
    """Whether it is a row of the resources table."""
    is_on_aurora: bool = True
    """Whether an Aurora instance has it: its cluster volume has no documented rates and no set size."""
    is_only_where_measured: bool = False
    """Whether it is a row only where its metric was measured or the engine has it."""

    @property
    def counts(self) -> Literal["bytes", "ops"]:
        """Return what a storage rate counts; `bytes` for a family that bounds no storage rate."""
        return "ops" if self.dimension is Dimension.IOPS else "bytes"


# In the order in which reports show them: storage first, then the rest of the machine.
FAMILIES: dict[Family, FamilyFacts] = {
    Family.INSTANCE_EBS_THROUGHPUT: FamilyFacts(
        name="instance EBS throughput",
        short_name="instance MB/s",
        code="EBSThroughputUnderprovisioned",
        owner="instance",
        dimension=Dimension.THROUGHPUT,
        unit="bytes/s",
        metrics=_BYTES,
        balance=Metric.BYTE_BALANCE_RATIO,
        credits_name="instance throughput credits",
        exhausted_code="EBSByteBalanceExhausted",
        is_on_aurora=False,
    ),
    Family.INSTANCE_EBS_IOPS: FamilyFacts(
        name="instance EBS IOPS",
        short_name="instance IOPS",
        code="EBSIOPSUnderprovisioned",
        owner="instance",
        dimension=Dimension.IOPS,
        unit="ops/s",
        metrics=_OPS,
        balance=Metric.IO_BALANCE_RATIO,
        credits_name="instance IOPS credits",
        exhausted_code="EBSIOBalanceExhausted",
        is_on_aurora=False,
    ),
    Family.VOLUME_THROUGHPUT: FamilyFacts(
        name="volume throughput",
        short_name="volume MB/s",
        code="EBSVolumeThroughputUnderprovisioned",
        owner="volume",
        dimension=Dimension.THROUGHPUT,
        unit="bytes/s",
        metrics=_BYTES,
        is_on_aurora=False,
    ),
    Family.VOLUME_IOPS: FamilyFacts(
        name="volume IOPS",
        code="EBSVolumeIOPSUnderprovisioned",
        owner="volume",
        dimension=Dimension.IOPS,
        unit="ops/s",
        metrics=_OPS,
        balance=Metric.VOLUME_BALANCE_RATIO,
        credits_name="gp2 volume credits",
        exhausted_code="BurstBalanceExhausted",
        is_on_aurora=False,
    ),
    Family.THROUGHPUT_CREDITS: FamilyFacts(
        name="instance throughput credits",
        code="EBSByteBalanceExhausted",
        dimension=Dimension.AMOUNT,
        unit="bytes/s",
        metrics=(Metric.BYTE_BALANCE_RATIO,),
        is_resource=False,
    ),
    Family.IOPS_CREDITS: FamilyFacts(
        name="instance IOPS credits",
        code="EBSIOBalanceExhausted",
        dimension=Dimension.AMOUNT,
        unit="ops/s",
        metrics=(Metric.IO_BALANCE_RATIO,),
        is_resource=False,
    ),
    Family.VOLUME_CREDITS: FamilyFacts(
        name="gp2 volume credits",
        code="BurstBalanceExhausted",
        dimension=Dimension.AMOUNT,
        unit="ops/s",
        metrics=(Metric.VOLUME_BALANCE_RATIO,),
        is_resource=False,
    ),
    Family.CPU: FamilyFacts(
        name="CPU", code="CPUUnderprovisioned", dimension=Dimension.AMOUNT, unit="ratio", metrics=(Metric.CPU_RATIO,)
    ),
    Family.CPU_CREDITS: FamilyFacts(
        name="CPU credits",
        code="CPUCreditsExhausted",
        dimension=Dimension.AMOUNT,
        unit="credits",
        metrics=(Metric.CPU_CREDITS,),
        is_resource=False,
    ),
    Family.MEMORY: FamilyFacts(
        name="memory",
        code="MemoryUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="bytes",
        metrics=(Metric.FREEABLE_MEMORY_BYTES,),
    ),
    Family.CONNECTIONS: FamilyFacts(
        name="connections",
        code="ConnectionsUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="count",
        metrics=(Metric.CONNECTION_COUNT,),
    ),
    Family.NETWORK: FamilyFacts(
        name="network",
        code="NetworkBandwidthUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="bytes/s",
        metrics=_NETWORK,
    ),
    Family.STORAGE_SPACE: FamilyFacts(
        name="storage space",
        code="StorageSpaceUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="bytes",
        metrics=(Metric.FREE_STORAGE_BYTES,),
        is_on_aurora=False,
    ),
    Family.LOCAL_STORAGE: FamilyFacts(
        name="local storage",
        code="LocalStorageUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="bytes",
        metrics=(Metric.FREE_LOCAL_STORAGE_BYTES,),
        is_only_where_measured=True,
    ),
    Family.CAPACITY: FamilyFacts(
        name="Aurora capacity",
        code="ServerlessCapacityUnderprovisioned",
        dimension=Dimension.AMOUNT,
        unit="ratio",
        metrics=(Metric.CAPACITY_RATIO,),
        is_only_where_measured=True,
    ),
    Family.UNKNOWN: FamilyFacts(
        name="unknown limit",
        code="UndocumentedLimitReached",
        dimension=Dimension.AMOUNT,
        unit="",
        metrics=(),
        is_resource=False,
    ),
}

INSTANCE_FAMILIES = tuple(f for f, facts in FAMILIES.items() if facts.owner == "instance")
"""Limits of the path from the instance to its storage."""
VOLUME_FAMILIES = tuple(f for f, facts in FAMILIES.items() if facts.owner == "volume")
"""Limits of the volumes, all stripes together."""
RATE_FAMILIES = (*INSTANCE_FAMILIES, *VOLUME_FAMILIES)
"""Limits in series that every request to storage meets."""
BALANCES = {facts.balance: f for f, facts in FAMILIES.items() if facts.balance is not None}
"""Each balance metric, and the family whose credits it counts."""
CREDITS = {
    Family.INSTANCE_EBS_THROUGHPUT: Family.THROUGHPUT_CREDITS,
    Family.INSTANCE_EBS_IOPS: Family.IOPS_CREDITS,
    Family.VOLUME_IOPS: Family.VOLUME_CREDITS,
}
"""Each rate limit with a bucket, and the family of its credits, for times in which none were left."""


def balance_metrics(dimension: Dimension) -> tuple[Metric, ...]:
    """Return the balances whose credits pay for rates of a dimension."""
    return tuple(m for m, family in BALANCES.items() if FAMILIES[family].dimension is dimension)
