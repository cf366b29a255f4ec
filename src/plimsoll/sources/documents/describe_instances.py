"""
Read `aws rds describe-db-instances`: class and storage of instances, and pending changes.

Source: Amazon RDS API Reference, DBInstance. StorageThroughput is MiB/s, AllocatedStorage GiB.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, field

from plimsoll.model.instance import Instance, Storage, is_bought
from plimsoll.model.kept import MOST_BOUGHT
from plimsoll.model.snapshot import Gap
from plimsoll.sources.files.json_text import as_type, field_by_field
from plimsoll.sources.reading.reading import Reading
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import parse_time
from plimsoll.units import mib_per_s, number

_REGION_OF_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d+)")

# gp2 and magnetic volumes have no provisioned rates; RDS still shows an IOPS number for some.
_WITHOUT_PROVISIONED = frozenset({"gp2", "standard"})

# States of additional storage that does not exist yet, or no longer.
_NOT_THERE = frozenset({"CREATING", "DELETING"})

# AWS allows 50 tags, and does not count its own, which begin with `aws:`.
# Source: Amazon RDS user guide, "Tagging Amazon RDS resources".
_TAGS_MOST, _TAG_KEY_MOST, _TAG_VALUE_MOST = 64, 128, 256
_TAGS_OF_AWS = "aws:"

_Number = Annotated[float, Meta(ge=0, le=MOST_BOUGHT)]
"""GiB, IOPS or MiB/s; RDS writes 0 where none were bought."""


class _Volume(Struct, rename="pascal"):
    """An additional volume. The API spells its IOPS otherwise than those of the instance."""

    volume_name: str | None = None
    storage_type: str | None = None
    allocated_storage: _Number | None = None
    iops: _Number | None = field(name="IOPS", default=None)
    storage_throughput: _Number | None = None
    storage_volume_status: str | None = None


class _ProcessorFeature(Struct, rename="pascal"):
    name: str | None = None
    value: str | int | None = None


class _Tag(Struct, rename="pascal"):
    key: str = ""
    value: str | None = None


class _Pending(Struct, rename="pascal"):
    """Pending changes that affect a limit; a pending password is not read."""

    db_class: str | None = field(name="DBInstanceClass", default=None)
    engine_version: str | None = None
    multi_az: bool | None = field(name="MultiAZ", default=None)
    storage_type: str | None = None
    allocated_storage: _Number | None = None
    iops: _Number | None = None
    storage_throughput: _Number | None = None
    processor_features: list[_ProcessorFeature] | None = None
    dedicated_log_volume: bool | None = None
    additional_storage_volumes: list[_Volume] | None = None


class _DBInstance(Struct, rename="pascal"):
    identifier: str = field(name="DBInstanceIdentifier")
    db_class: str | None = field(name="DBInstanceClass", default=None)
    engine: str | None = None
    engine_version: str | None = None
    license_model: str | None = None
    availability_zone: str | None = None
    multi_az: bool | None = field(name="MultiAZ", default=None)
    storage_type: str | None = None
    allocated_storage: _Number | None = None
    iops: _Number | None = None
    storage_throughput: _Number | None = None
    instance_create_time: Any = None
    """Text or a number from the AWS CLI, a datetime from an SDK."""
    arn: str | None = field(name="DBInstanceArn", default=None)
    cluster: str | None = field(name="DBClusterIdentifier", default=None)
    processor_features: list[_ProcessorFeature] | None = None
    additional_storage_volumes: list[_Volume] | None = None
    pending: _Pending | None = field(name="PendingModifiedValues", default=None)
    tag_list: list[_Tag] | None = None


def read_answer(document: Any, reading: Reading, *, where: str) -> None:
    """
    Add every instance of an answer to a reading.

    Args:
        document: the whole answer, a list of its DBInstances, or one of them.

    A field of the wrong type is dropped with a gap; the rest is used.

    Raises:
        DataError: not an answer, or an instance without a name.
    """
    if isinstance(document, dict) and "DBInstances" in document:
        document = document["DBInstances"]
    every = as_type(document, list[Any], where) if isinstance(document, list) else [document]
    for one in every:
        described, odd = field_by_field(one, _DBInstance, where)
        launched = described.instance_create_time
        if launched not in (None, "") and _launched(launched) is None:
            odd.append("InstanceCreateTime")
        reading.described.append(_instance(described))
        reading.gaps += [_odd_field(name, one[name]) for name in odd]


def _odd_field(name: str, value: object) -> Gap:
    return Gap(
        metric=name,
        reason=f"'{shown(str(value), 40)}' is not a valid value of this field, so it was left out",
        remedy="Export the description again with the AWS CLI, without a --query filter.",
    )


def instance_of(document: dict[str, Any]) -> Instance:
    """
    Return one element of DBInstances.

    Args:
        document: as the AWS CLI prints it, or as an SDK returns it, with datetimes.

    Raises:
        DataError: fields of the wrong type, or no identifier.
    """
    return _instance(field_by_field(document, _DBInstance, "the description of an instance")[0])


def _instance(described: _DBInstance) -> Instance:
    kind = described.storage_type.lower() if described.storage_type else None
    is_aurora = (described.engine or "").startswith("aurora") or (kind or "").startswith("aurora")
    cluster = None if is_aurora else described.cluster
    return Instance(
        identifier=shown(described.identifier, 63),
        db_class=_text(described.db_class),
        engine=_text(described.engine),
        engine_version=_text(described.engine_version),
        license_model=_text((described.license_model or "").lower() or None),
        region=_region(described),
        # A member of a Multi-AZ DB cluster states false, but its cluster spans zones (RDS user guide).
        multi_az=True if cluster else described.multi_az,
        cluster=shown(cluster, 63) if cluster else UNSET,
        # RDS reports an allocated size of 1 GiB for every Aurora volume, which grows by itself.
        storage=Storage(kind=_text(kind)) if is_aurora else _storage(described),
        launched_s=_launched(described.instance_create_time),
        vcpu_count=_vcpus(described.processor_features),
        pending=_pending(described.pending or _Pending()),
        tags=UNSET if described.tag_list is None else _tags(described.tag_list),
    )


def _tags(listed: list[_Tag]) -> tuple[tuple[str, str], ...]:
    """Return printable tags by key; if there are too many, those of AWS are left out first."""
    found = {shown(tag.key, _TAG_KEY_MOST): shown(tag.value or "", _TAG_VALUE_MOST) for tag in listed if tag.key}
    kept = sorted(found, key=lambda key: (key.startswith(_TAGS_OF_AWS), key))[:_TAGS_MOST]
    return tuple((key, found[key]) for key in sorted(kept))


def _storage(bought: _DBInstance | _Volume) -> Storage:
    kind = bought.storage_type.lower() if bought.storage_type else None
    provisioned = kind not in _WITHOUT_PROVISIONED
    throughput = _positive(bought.storage_throughput) if provisioned else None
    more = (bought.additional_storage_volumes or []) if isinstance(bought, _DBInstance) else []
    return Storage(
        kind=_text(kind),
        size_gib=_positive(bought.allocated_storage),
        provisioned_ops_per_s=_positive(bought.iops) if provisioned else None,
        provisioned_bytes_per_s=None if throughput is None else mib_per_s(throughput),
        additional=tuple(
            _storage(volume) for volume in more if (volume.storage_volume_status or "").upper() not in _NOT_THERE
        ),
    )


def _launched(value: object) -> int | None:
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return parse_time(value)


def _vcpus(features: list[_ProcessorFeature] | None) -> int | None:
    """
    Return cores times threads if both were chosen; RDS omits the field for the default of the class.

    Source:
        Amazon RDS API Reference, ProcessorFeature.
    """
    chosen = {f.name: str(f.value) for f in features or []}
    cores, threads = chosen.get("coreCount", ""), chosen.get("threadsPerCore", "")
    if not (cores.isdecimal() and threads.isdecimal() and max(len(cores), len(threads)) <= 4):
        return None
    return int(cores) * int(threads) or None


def _pending(ordered: _Pending) -> tuple[str, ...]:
    size, ops = _positive(ordered.allocated_storage), _positive(ordered.iops)
    throughput, vcpus = _positive(ordered.storage_throughput), _vcpus(ordered.processor_features)
    phrases = (
        f"class {_text(ordered.db_class)}" if ordered.db_class else "",
        f"{vcpus} vCPUs" if vcpus else "",
        f"storage type {_text(ordered.storage_type)}" if ordered.storage_type else "",
        f"storage {number(size)} GiB" if size else "",
        f"IOPS {number(ops)}" if ops else "",
        f"storage throughput {number(throughput)} MiB/s" if throughput else "",
        {True: "dedicated log volume", False: "no dedicated log volume", None: ""}[ordered.dedicated_log_volume],
        *(
            f"additional storage {_text(volume.volume_name)}"
            for volume in ordered.additional_storage_volumes or []
            if volume.volume_name
        ),
        {True: "Multi-AZ", False: "single-AZ", None: ""}[ordered.multi_az],
        f"engine version {_text(ordered.engine_version)}" if ordered.engine_version else "",
    )
    return tuple(phrase for phrase in phrases if phrase)


def _text(value: str | None) -> str | None:
    return shown(value, 63) if value else None


def _positive(value: float | None) -> float | None:
    """Return a positive number; None for 0, which RDS writes if nothing was bought."""
    return float(value) if value is not None and is_bought(value) else None


def _region(described: _DBInstance) -> str | None:
    zone = _REGION_OF_ZONE.match(described.availability_zone or "")
    if zone is not None:
        return zone.group(1)
    parts = (described.arn or "").split(":")  # arn:aws:rds:REGION:account:db:name
    return shown(parts[3], 30) or None if len(parts) > 5 else None
