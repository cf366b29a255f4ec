"""
The limits of an instance's class: what the catalog documents, under what the instance itself told.

The provider's API may know a class that the catalog does not, or newer numbers of one that it does.
Where both agree, the catalog's row stays, for its origin says more.
"""

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.limits.layout import above_zero, is_serverless
from plimsoll.model.ceiling import Origin
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.model.limit import InstanceLimits, LegacyLimits
from plimsoll.units import GIB

# The API cuts Mbit/s to whole numbers and the documentation rounds MB/s; both stay within a few
# thousandths, while AWS has never changed a limit by less than a tenth.
AGREES_RATIO = 0.005

_SERVERLESS_NOTE = "about {} GiB of memory for each Aurora capacity unit"


def limits_of(instance: Instance, catalog: Catalog) -> InstanceLimits | None:
    """
    Return what is known of the instance's class, its own answers first.

    EBS numbers that differ from the catalog's by more than AGREES_RATIO are the provider's, and
    `ebs_origin` says so. The memory of Aurora Serverless is that of its largest capacity.

    Returns:
        None for an instance without a class.

    Raises:
        CatalogError: the class is not in the catalog, and nothing was told of its EBS limits.
    """
    row = catalogued(instance, catalog)
    told = _usable(instance.ebs_limits)
    if row is None and (told is None or instance.db_class is None):
        return None
    limits = row if row is not None else _bare(instance, told)
    if is_serverless(instance):
        limits = _serverless(limits, instance, catalog)
    if told is not None and (row is None or _differs(row, told)):
        limits = replace(
            limits,
            ebs_baseline_bytes_per_s=told.baseline_bytes_per_s,
            ebs_burst_bytes_per_s=told.burst_bytes_per_s,
            ebs_baseline_ops_per_s=told.baseline_ops_per_s,
            ebs_burst_ops_per_s=told.burst_ops_per_s,
            ebs_origin=_origin(told),
        )
    memory_bytes = None if is_serverless(instance) else above_zero(instance.memory_bytes)
    return replace(
        limits,
        vcpu_count=instance.vcpu_count or limits.vcpu_count,
        memory_bytes=limits.memory_bytes if memory_bytes is None else round(memory_bytes),
    )


def catalogued(instance: Instance, catalog: Catalog) -> InstanceLimits | None:
    """
    Return the catalog's row of the class, before anything the instance told.

    Returns:
        None without a class, and for an unknown class whose EBS limits the instance told.

    Raises:
        CatalogError: the class is not in the catalog, and nothing was told of its EBS limits.
    """
    if instance.db_class is None:
        return None
    if _usable(instance.ebs_limits) is not None and not catalog.knows(instance.db_class):
        return None
    return catalog.instance_limits(instance.db_class)


def superseded(instance: Instance, catalog: Catalog) -> LegacyLimits | None:
    """
    Return the catalog's numbers as legacy ones, where the provider has told newer and other numbers since.

    An instance that was not stopped and started in between may still have them.

    Raises:
        CatalogError: as limits_of.
    """
    row, told = catalogued(instance, catalog), _usable(instance.ebs_limits)
    if row is None or told is None or not _differs(row, told):
        return None
    if row.ebs_burst_bytes_per_s is None or row.ebs_burst_ops_per_s is None:
        return None
    if told.read_on < row.origin.read_on:
        return None
    return LegacyLimits(
        db_class=row.db_class,
        ebs_baseline_bytes_per_s=row.ebs_baseline_bytes_per_s,
        ebs_burst_bytes_per_s=row.ebs_burst_bytes_per_s,
        ebs_baseline_ops_per_s=row.ebs_baseline_ops_per_s,
        ebs_burst_ops_per_s=row.ebs_burst_ops_per_s,
        origin=replace(row.origin, valid_to=row.origin.read_on),
    )


def is_near(told: float, known: float | None) -> bool:
    """Return whether two numbers are one and the same limit, rounded differently."""
    return known is not None and abs(told - known) <= AGREES_RATIO * known


def _usable(told: EbsLimits | None) -> EbsLimits | None:
    """Return none where the numbers cannot be limits: not above zero, or a baseline above the maximum."""
    if told is None:
        return None
    pairs = (
        (told.baseline_bytes_per_s, told.burst_bytes_per_s),
        (told.baseline_ops_per_s, told.burst_ops_per_s),
    )
    for baseline, burst in pairs:
        if above_zero(baseline) is None or above_zero(burst) is None or baseline > burst:
            return None
    return told


def _differs(row: InstanceLimits, told: EbsLimits) -> bool:
    return not (
        is_near(told.baseline_bytes_per_s, row.ebs_baseline_bytes_per_s)
        and is_near(told.burst_bytes_per_s, row.ebs_burst_bytes_per_s)
        and is_near(told.baseline_ops_per_s, row.ebs_baseline_ops_per_s)
        and is_near(told.burst_ops_per_s, row.ebs_burst_ops_per_s)
    )


def _origin(told: EbsLimits) -> Origin:
    return Origin(source=told.source, read_on=told.read_on)


def _bare(instance: Instance, told: EbsLimits | None) -> InstanceLimits:
    """Return a class that the catalog does not know, without numbers."""
    assert told is not None
    assert instance.db_class is not None
    return InstanceLimits(
        db_class=class_name(instance.db_class),
        ec2_type=None,
        vcpu_count=None,
        memory_bytes=None,
        ebs_baseline_bytes_per_s=None,
        ebs_burst_bytes_per_s=None,
        ebs_baseline_ops_per_s=None,
        ebs_burst_ops_per_s=None,
        network_baseline_bytes_per_s=None,
        network_burst_bytes_per_s=None,
        hypervisor=None,
        cpu_arch=None,
        is_cpu_burstable=None,
        is_current_generation=None,
        is_offered=True,
        is_verified=False,
        origin=_origin(told),
        note="the catalog does not know this class",
    )


def _serverless(limits: InstanceLimits, instance: Instance, catalog: Catalog) -> InstanceLimits:
    """
    Return the memory of the largest capacity; without a capacity, nothing.

    Source:
        Aurora User Guide, aurora-serverless-v2-how-it-works: each unit is about 2 GiB.
    """
    rule = catalog.volume_rule("serverless", "memory_gib_per_acu")
    capacity = above_zero(instance.capacity_acu_max)
    return replace(
        limits,
        memory_bytes=None if capacity is None else round(capacity * rule.value * GIB),
        origin=rule.origin,
        note=_SERVERLESS_NOTE.format(f"{rule.value:g}"),
    )
