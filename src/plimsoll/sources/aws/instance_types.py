"""
Read EC2's own limits of types, to check the catalog and to know classes that it lacks.

Source: Amazon EC2 API Reference, EbsOptimizedInfo: decimal MB/s.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.instance import EbsLimits, Instance, is_bought
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCE_TYPES
from plimsoll.sources.files.json_text import as_type
from plimsoll.units import MIB, mb_per_s

TYPES_A_CALL = 100
"""Largest MaxResults of DescribeInstanceTypes (EC2 API Reference)."""
_REMEMBERED = "ec2 types"


class TypeFacts(Struct, frozen=True, kw_only=True):
    """EC2's facts about one type; None if EC2 does not state one."""

    ebs_limits: EbsLimits | None
    vcpu_count: int | None
    memory_bytes: int | None


class _Rates(Struct):
    baseline_mb_per_s: float = msgspec.field(name="BaselineThroughputInMBps", default=0)
    baseline_ops_per_s: float = msgspec.field(name="BaselineIops", default=0)
    burst_mb_per_s: float = msgspec.field(name="MaximumThroughputInMBps", default=0)
    burst_ops_per_s: float = msgspec.field(name="MaximumIops", default=0)


class _Ebs(Struct):
    rates: _Rates | None = msgspec.field(name="EbsOptimizedInfo", default=None)


class _Vcpus(Struct):
    count: int | None = msgspec.field(name="DefaultVCpus", default=None)


class _TypeMemory(Struct):
    size_mib: int | None = msgspec.field(name="SizeInMiB", default=None)


class _Type(Struct, rename="pascal"):
    instance_type: str
    ebs_info: _Ebs = msgspec.field(default_factory=_Ebs)
    v_cpu_info: _Vcpus = msgspec.field(name="VCpuInfo", default_factory=_Vcpus)
    memory_info: _TypeMemory = msgspec.field(default_factory=_TypeMemory)


def facts_of(account: Account, types: Iterable[str]) -> dict[str, TypeFacts]:
    """
    Return EC2's facts about each type; leave out types that the region does not offer.

    Each account is queried once; later calls use the stored answer.

    Raises:
        SourceError: EC2 refused or did not answer.
    """
    known: dict[str, TypeFacts | None] = account.remembered.setdefault(_REMEMBERED, {})
    wanted = sorted(set(types) - known.keys())
    read_on = datetime.fromtimestamp(account.now_s(), UTC).date().isoformat()
    for at in range(0, len(wanted), TYPES_A_CALL):
        batch = wanted[at : at + TYPES_A_CALL]
        # Use a filter: as a parameter, a type that the region does not offer would be an error.
        for page in account.pages(
            DESCRIBE_INSTANCE_TYPES, Filters=[{"Name": "instance-type", "Values": batch}], MaxResults=TYPES_A_CALL
        ):
            for raw in page["InstanceTypes"]:
                _remember(raw, known, read_on)
        for name in batch:
            known.setdefault(name, None)
    return {name: facts for name in types if (facts := known.get(name)) is not None}


def with_facts(instance: Instance, facts: TypeFacts) -> Instance:
    """Return the instance with EC2's limits, and with its vCPUs and memory if they are not known."""
    return msgspec.structs.replace(
        instance,
        ebs_limits=facts.ebs_limits,
        vcpu_count=facts.vcpu_count if instance.vcpu_count is None else instance.vcpu_count,
        memory_bytes=facts.memory_bytes if instance.memory_bytes is None else instance.memory_bytes,
    )


def _remember(raw: Any, known: dict[str, TypeFacts | None], read_on: str) -> None:
    try:
        found = as_type(raw, _Type, "a type of EC2")
    except DataError:
        return
    known[found.instance_type] = TypeFacts(
        ebs_limits=_limits(found, read_on),
        vcpu_count=_positive(found.v_cpu_info.count),
        memory_bytes=_positive((found.memory_info.size_mib or 0) * MIB),
    )


def _limits(found: _Type, read_on: str) -> EbsLimits | None:
    rates = found.ebs_info.rates
    if rates is None or not all(map(is_bought, msgspec.structs.astuple(rates))):
        return None
    return EbsLimits(
        baseline_bytes_per_s=mb_per_s(rates.baseline_mb_per_s),
        burst_bytes_per_s=mb_per_s(rates.burst_mb_per_s),
        baseline_ops_per_s=rates.baseline_ops_per_s,
        burst_ops_per_s=rates.burst_ops_per_s,
        source=f"{DESCRIBE_INSTANCE_TYPES.action} of {found.instance_type}",
        read_on=read_on,
    )


def _positive(value: int | None) -> int | None:
    return value if value is not None and value > 0 else None
