"""
Read EC2's own limits of types, to check the catalog and to know classes that it lacks.

Source: Amazon EC2 API Reference, EbsOptimizedInfo: decimal MB/s.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.model.instance import EbsLimits, Instance, is_bought
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCE_TYPES
from plimsoll.units import MIB, mb_per_s

TYPES_A_CALL = 100
"""Largest MaxResults of DescribeInstanceTypes (EC2 API Reference)."""
_REMEMBERED = "ec2 types"


class TypeFacts(Struct, frozen=True, kw_only=True):
    """EC2's facts about one type; None if EC2 does not state one."""

    ebs_limits: EbsLimits | None
    vcpu_count: int | None
    memory_bytes: int | None


_RATES = ("BaselineThroughputInMBps", "MaximumThroughputInMBps", "BaselineIops", "MaximumIops")


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
            known |= {str(raw.get("InstanceType")): _facts(raw, read_on) for raw in page["InstanceTypes"]}
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


def _facts(raw: dict[str, Any], read_on: str) -> TypeFacts:
    """Return the facts of one element of InstanceTypes, whose numbers botocore has read."""
    size_mib = (raw.get("MemoryInfo") or {}).get("SizeInMiB") or 0
    return TypeFacts(
        ebs_limits=_limits(raw, read_on),
        vcpu_count=_positive((raw.get("VCpuInfo") or {}).get("DefaultVCpus")),
        memory_bytes=_positive(size_mib * MIB),
    )


def _limits(raw: dict[str, Any], read_on: str) -> EbsLimits | None:
    rates = (raw.get("EbsInfo") or {}).get("EbsOptimizedInfo") or {}
    numbers = [rates.get(name, 0) for name in _RATES]
    if not all(map(is_bought, numbers)):
        return None
    baseline_mb_per_s, burst_mb_per_s, baseline_ops_per_s, burst_ops_per_s = numbers
    return EbsLimits(
        baseline_bytes_per_s=mb_per_s(baseline_mb_per_s),
        burst_bytes_per_s=mb_per_s(burst_mb_per_s),
        baseline_ops_per_s=baseline_ops_per_s,
        burst_ops_per_s=burst_ops_per_s,
        source=f"{DESCRIBE_INSTANCE_TYPES.action} of {raw.get('InstanceType')}",
        read_on=read_on,
    )


def _positive(value: int | None) -> int | None:
    return value if value is not None and value > 0 else None
