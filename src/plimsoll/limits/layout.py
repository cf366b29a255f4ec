"""
The EBS volumes under an instance's storage: their type, number, size and provisioned rates.

Aurora keeps its data in a cluster volume that is reached over the network. No throughput and no IOPS are documented
for it, so there are none here, and what is documented of EBS for a class is about the class's local disk.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from types import MappingProxyType
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.model.ceiling import Origin
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.limit import AuroraEngine, StorageRule
from plimsoll.model.metric import Metric

_LOCAL_DISK = "on Aurora the EBS limits of a class apply to its local disk, not to the data"
# Aurora User Guide, aurora-auroramonitoring-metrics and concepts-dbinstanceclass-summary (2026-04).
_OTHER_MEANING: Mapping[Metric, str] = MappingProxyType(
    {
        Metric.WRITE_OPS_PER_S: "Aurora counts log records here, not writes to a disk",
        Metric.BYTE_BALANCE_RATIO: _LOCAL_DISK,
        Metric.IO_BALANCE_RATIO: _LOCAL_DISK,
        Metric.VOLUME_BALANCE_RATIO: "Aurora storage has no credits; only gp2 has",
    }
)

READ_FROM_INSTANCE = Origin(source="read from the instance", read_on="")
"""For numbers that the instance itself gave; they are as old as the snapshot."""


class Volumes(Struct, frozen=True, kw_only=True):
    """Equal EBS volumes that requests are spread over."""

    kind: str
    count: int
    size_gib: float
    """Of one volume."""
    provisioned_ops_per_s: float | None
    provisioned_bytes_per_s: float | None
    """Of one volume; None where nothing was bought, or it is not known."""
    engine: str | None
    """Engine family."""
    rule: StorageRule | None
    """The documented rule for this engine, type and size; None if there is none or the engine is unknown."""
    note: str
    """A remark on the layout for the reader; may be empty."""


def is_aurora(instance: Instance) -> bool:
    """Return whether the instance keeps its data in an Aurora volume."""
    kind = instance.storage.kind or ""
    is_engine = engine_family(instance.engine) == "aurora"
    return is_engine or kind.startswith("aurora") or is_serverless(instance)


def is_serverless(instance: Instance) -> bool:
    """Return whether the instance is Aurora Serverless v2, which has a capacity instead of a class."""
    return instance.db_class is not None and class_name(instance.db_class) == "db.serverless"


def aurora_engine(instance: Instance) -> str | None:
    """Return `aurora-mysql` or `aurora-postgresql`; None for other engines, or if it is unknown."""
    name = (instance.engine or "").strip().lower()
    return name if name in get_args(AuroraEngine) else None


def other_meaning(instance: Instance) -> Mapping[Metric, str]:
    """
    Return the metrics that must not be compared with a storage limit here, and why.

    Returns:
        Empty for every engine but Aurora; each reason is part of a sentence.
    """
    return _OTHER_MEANING if is_aurora(instance) else {}


def launch_date(instance: Instance) -> str | None:
    """Return the ISO date in UTC on which the instance was created; None where it is not known."""
    if instance.launched_s is None:
        return None
    try:
        return datetime.fromtimestamp(instance.launched_s, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # no calendar has such a day
        return None


def above_zero(value: float | None) -> float | None:
    """Return the value, or None where it cannot be an amount: zero, negative or not finite."""
    return value if value is not None and isfinite(value) and value > 0 else None


def each_storage(instance: Instance) -> tuple[Instance, ...]:
    """
    Return the instance once for each of its storages: the first one, then the additional ones.

    With several storages an observed number of volumes belongs to none of them, so it is dropped.
    """
    storage = instance.storage
    if not storage.additional:
        return (instance,)
    first = replace(storage, additional=(), volume_count=None)
    return tuple(replace(instance, storage=one) for one in (first, *storage.additional))


def volume_count_of(instance: Instance, catalog: Catalog) -> int | None:
    """Return the number of EBS volumes under an instance; None where any storage's layout is unknown."""
    found = [volumes_of(one, catalog) for one in each_storage(instance)]
    known = [volumes.count for volumes in found if volumes is not None]
    return sum(known) if len(known) == len(found) else None


def volumes_of(instance: Instance, catalog: Catalog) -> Volumes | None:
    """
    Return the volumes under an instance; None where type, size or number of volumes is not known.

    A number of volumes that was observed on the instance wins over the documented striping rule.
    Additional storages are not counted: `each_storage` separates them.
    """
    storage = instance.storage
    size_gib = above_zero(storage.size_gib)
    if storage.kind is None or size_gib is None or is_aurora(instance):
        return None
    engine = engine_family(instance.engine)
    rule = catalog.storage_rule(engine, storage.kind, size_gib) if engine else None
    count = storage.volume_count
    if count is None:
        count = rule.volume_count if rule else None
    # Striping differs by engine. Without the engine, only a number that all engines share is safe.
    if count is None and engine is None:
        count = _common_count(storage.kind, size_gib, catalog)
    if count is None or count < 1:
        return None
    # RDS stripes data over its volumes, and splits size, IOPS and throughput evenly among them
    # (RDS User Guide, chap-storage).
    return Volumes(
        kind=storage.kind,
        count=count,
        size_gib=size_gib / count,
        provisioned_ops_per_s=_share(storage.provisioned_ops_per_s, count),
        provisioned_bytes_per_s=_share(storage.provisioned_bytes_per_s, count),
        engine=engine,
        rule=rule,
        note=_layout_note(instance, rule),
    )


def _common_count(kind: str, size_gib: float, catalog: Catalog) -> int | None:
    """Return the number of volumes that every engine has at this size; None where they differ."""
    rules = [catalog.storage_rule(e, kind, size_gib) for e in catalog.engine_families()]
    counts = {rule.volume_count for rule in rules if rule is not None}
    return counts.pop() if len(counts) == 1 else None


def _share(total: float | None, count: int) -> float | None:
    known = above_zero(total)
    return None if known is None else known / count


def _layout_note(instance: Instance, rule: StorageRule | None) -> str:
    if instance.storage.volume_count is not None:
        return f"{_volumes(instance.storage.volume_count)} seen on the instance"
    launched = launch_date(instance)
    if rule is None or rule.documented_since is None or launched is None:
        return ""
    if launched >= rule.documented_since:
        return ""
    return (
        f"this layout of {_volumes(rule.volume_count or 1)} has been documented since "
        f"{rule.documented_since} and the instance is older, so its layout may differ: "
        "count the devices in Enhanced Monitoring"
    )


def _volumes(count: int) -> str:
    return f"{count} volume{'' if count == 1 else 's'}"
