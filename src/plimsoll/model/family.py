"""
The facts about each ceiling family, one row each; no other file has any.

A family is added by one row here and one function in `limits/machine.py`, or a file of its own there.
Reason codes: AWS Compute Optimizer's finding reason codes where it has one (Compute Optimizer API
reference, "RDSDBRecommendation"), extended in its manner.
"""

from enum import StrEnum
from typing import Literal, Self

from msgspec import Struct

from plimsoll.model.metric import Metric

_BYTES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
_OPS = (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
_NETWORK = (Metric.NETWORK_RECEIVE_BYTES_PER_S, Metric.NETWORK_TRANSMIT_BYTES_PER_S)


class Dimension(StrEnum):
    """What a ceiling bounds; reads and writes together."""

    THROUGHPUT = "throughput"
    """bytes/s"""
    IOPS = "iops"
    """ops/s"""
    AMOUNT = "amount"
    """bytes, connections, credits, or a ratio: not a rate of storage"""


class FamilyFacts(Struct, frozen=True, kw_only=True):
    """Every fact about one family that does not depend on the instance."""

    id: str
    """As every JSON form writes it."""
    name: str
    """For people: `instance EBS throughput`."""
    code: str
    """Reason code of a finding that names it."""
    dimension: Dimension = Dimension.AMOUNT
    unit: str
    """Of its ceiling: `bytes/s`, `ops/s`, `bytes`, `count`, `ratio`, `credits`."""
    metrics: tuple[Metric, ...]
    """The metrics of its use: the sum for storage rates, else the larger one."""
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
    is_free: bool = False
    """Whether that metric counts what is free of the ceiling, not what is used."""
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


class Family(StrEnum):
    """The rule that bounds the instance, in the order in which reports show them; `limits/` has its numbers."""

    _value_: str
    facts: FamilyFacts

    def __new__(cls, facts: FamilyFacts | str) -> Self:
        """Return a member for its row; for mypy a look-up by value, which is a text, is a call of this, too."""
        assert isinstance(facts, FamilyFacts)
        member = str.__new__(cls, facts.id)
        member._value_ = facts.id
        member.facts = facts
        return member

    INSTANCE_EBS_THROUGHPUT = FamilyFacts(
        id="instance_ebs_throughput",
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
    )
    INSTANCE_EBS_IOPS = FamilyFacts(
        id="instance_ebs_iops",
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
    )
    VOLUME_THROUGHPUT = FamilyFacts(
        id="volume_throughput",
        name="volume throughput",
        short_name="volume MB/s",
        code="EBSVolumeThroughputUnderprovisioned",
        owner="volume",
        dimension=Dimension.THROUGHPUT,
        unit="bytes/s",
        metrics=_BYTES,
        is_on_aurora=False,
    )
    VOLUME_IOPS = FamilyFacts(
        id="volume_iops",
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
    )
    THROUGHPUT_CREDITS = FamilyFacts(
        id="instance_throughput_credits",
        name="instance throughput credits",
        code="EBSByteBalanceExhausted",
        unit="bytes/s",
        metrics=(Metric.BYTE_BALANCE_RATIO,),
        is_resource=False,
    )
    IOPS_CREDITS = FamilyFacts(
        id="instance_iops_credits",
        name="instance IOPS credits",
        code="EBSIOBalanceExhausted",
        unit="ops/s",
        metrics=(Metric.IO_BALANCE_RATIO,),
        is_resource=False,
    )
    VOLUME_CREDITS = FamilyFacts(
        id="volume_credits",
        name="gp2 volume credits",
        code="BurstBalanceExhausted",
        unit="ops/s",
        metrics=(Metric.VOLUME_BALANCE_RATIO,),
        is_resource=False,
    )
    CPU = FamilyFacts(id="cpu", name="CPU", code="CPUUnderprovisioned", unit="ratio", metrics=(Metric.CPU_RATIO,))
    CPU_CREDITS = FamilyFacts(
        id="cpu_credits",
        name="CPU credits",
        code="CPUCreditsExhausted",
        unit="credits",
        metrics=(Metric.CPU_CREDITS,),
        is_resource=False,
    )
    MEMORY = FamilyFacts(
        id="memory",
        name="memory",
        code="MemoryUnderprovisioned",
        unit="bytes",
        metrics=(Metric.FREEABLE_MEMORY_BYTES,),
        is_free=True,
    )
    CONNECTIONS = FamilyFacts(
        id="connections",
        name="connections",
        code="ConnectionsUnderprovisioned",
        unit="count",
        metrics=(Metric.CONNECTION_COUNT,),
    )
    NETWORK = FamilyFacts(
        id="network", name="network", code="NetworkBandwidthUnderprovisioned", unit="bytes/s", metrics=_NETWORK
    )
    STORAGE_SPACE = FamilyFacts(
        id="storage_space",
        name="storage space",
        code="StorageSpaceUnderprovisioned",
        unit="bytes",
        metrics=(Metric.FREE_STORAGE_BYTES,),
        is_free=True,
        is_on_aurora=False,
    )
    LOCAL_STORAGE = FamilyFacts(
        id="local_storage",
        name="local storage",
        code="LocalStorageUnderprovisioned",
        unit="bytes",
        metrics=(Metric.FREE_LOCAL_STORAGE_BYTES,),
        is_free=True,
        is_only_where_measured=True,
    )
    CAPACITY = FamilyFacts(
        id="capacity",
        name="Aurora capacity",
        code="ServerlessCapacityUnderprovisioned",
        unit="ratio",
        metrics=(Metric.CAPACITY_RATIO,),
        is_only_where_measured=True,
    )
    UNKNOWN = FamilyFacts(
        id="unknown", name="unknown limit", code="UndocumentedLimitReached", unit="", metrics=(), is_resource=False
    )


FAMILIES = {family: family.facts for family in Family}
"""The facts of each family."""

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


def unit_at(family: Family, dimension: Dimension) -> str:
    """Return the unit of what binds: of a rate by its dimension, else that of the family's maximum or baseline."""
    if dimension is not Dimension.AMOUNT:
        return "ops/s" if dimension is Dimension.IOPS else "bytes/s"
    # Without CPU credits the CPU stays at a ratio.
    return "ratio" if family is Family.CPU_CREDITS else FAMILIES[family].unit


def balance_metrics(dimension: Dimension) -> tuple[Metric, ...]:
    """Return the balances whose credits pay for rates of a dimension."""
    return tuple(m for m, family in BALANCES.items() if FAMILIES[family].dimension is dimension)
