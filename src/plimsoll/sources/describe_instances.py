"""
`aws rds describe-db-instances`: what was bought.

Source: Amazon RDS API Reference, DBInstance. StorageThroughput is MiB/s, AllocatedStorage GiB.
"""

import re
from typing import Any

from msgspec import Struct, field

from plimsoll.model.instance import Instance, Storage
from plimsoll.sources.json_text import as_type
from plimsoll.sources.reading import Reading
from plimsoll.sources.shown import shown
from plimsoll.sources.times import parse_time
from plimsoll.units import mib_per_s

_REGION_OF_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d+)")

# gp2 and magnetic volumes have no provisioned rates; RDS still shows an IOPS number for some.
_WITHOUT_PROVISIONED = frozenset({"gp2", "standard"})

_MOST = 1e9
"""A number above this is a broken file: the largest volume has 64 Ti, the most IOPS are 256,000."""


class _DBInstance(Struct, rename="pascal"):
    identifier: str = field(name="DBInstanceIdentifier")
    db_class: str | None = field(name="DBInstanceClass", default=None)
    engine: str | None = None
    engine_version: str | None = None
    availability_zone: str | None = None
    multi_az: bool | None = field(name="MultiAZ", default=None)
    storage_type: str | None = None
    allocated_storage: float | None = None
    iops: float | None = None
    storage_throughput: float | None = None
    instance_create_time: str | int | float | None = None
    arn: str | None = field(name="DBInstanceArn", default=None)


class _Answer(Struct):
    instances: list[_DBInstance] = field(name="DBInstances")


def read_answer(document: Any, reading: Reading, *, where: str) -> None:
    """
    Add every instance of an answer.

    Args:
        document: the whole answer, a list of its DBInstances, or one of them.

    Raises:
        DataError: fields of the wrong type.
    """
    if isinstance(document, dict) and "DBInstances" in document:
        found = as_type(document, _Answer, where).instances
    elif isinstance(document, list):
        found = as_type(document, list[_DBInstance], where)
    else:
        found = [as_type(document, _DBInstance, where)]
    reading.described += [_instance(d) for d in found]


def _instance(described: _DBInstance) -> Instance:
    kind = described.storage_type.lower() if described.storage_type else None
    is_aurora = (described.engine or "").startswith("aurora") or (kind or "").startswith("aurora")
    provisioned = kind not in _WITHOUT_PROVISIONED and not is_aurora
    throughput = _positive(described.storage_throughput) if provisioned else None
    return Instance(
        identifier=shown(described.identifier, 63),
        db_class=_text(described.db_class),
        engine=_text(described.engine),
        engine_version=_text(described.engine_version),
        region=_region(described),
        multi_az=described.multi_az,
        storage=Storage(
            kind=_text(kind),
            # An Aurora volume grows by itself; RDS reports 1 GiB for it.
            size_gib=None if is_aurora else _positive(described.allocated_storage),
            provisioned_ops_per_s=_positive(described.iops) if provisioned else None,
            provisioned_bytes_per_s=None if throughput is None else mib_per_s(throughput),
        ),
        launched_s=parse_time(described.instance_create_time),
    )


def _text(value: str | None) -> str | None:
    return shown(value, 63) if value else None


def _positive(value: float | None) -> float | None:
    """RDS writes 0 where nothing was bought."""
    return float(value) if value is not None and 0 < value <= _MOST else None


def _region(described: _DBInstance) -> str | None:
    zone = _REGION_OF_ZONE.match(described.availability_zone or "")
    if zone is not None:
        return zone.group(1)
    parts = (described.arn or "").split(":")  # arn:aws:rds:REGION:account:db:name
    return shown(parts[3], 30) or None if len(parts) > 5 else None
