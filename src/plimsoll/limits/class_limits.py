"""
The limits of an instance's class, from the catalog and from the provider's API.

The API may know a class that the catalog lacks, or newer numbers. The API's numbers win where the two differ.
Where they agree, the catalog's row stays, because its origin is more precise.
"""

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.limits.layout import above_zero, is_serverless
from plimsoll.model.ceiling import Origin
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.model.limit import InstanceLimits, LegacyLimits, unnumbered
from plimsoll.units import GIB

# The API cuts Mbit/s to whole numbers and the documentation rounds MB/s; both stay within a few
# thousandths, while AWS has never changed a limit by less than a tenth.
AGREES_RATIO = 0.005


def limits_of(instance: Instance, catalog: Catalog) -> InstanceLimits | None:
    """
    Return the limits of the instance's class; numbers that the provider reported come first.

    EBS numbers that differ from the catalog's by more than AGREES_RATIO are the provider's, and
    `ebs_origin` names it. The memory of Aurora Serverless is that of its largest capacity.

    Returns:
        None for an instance without a class.

    Raises:
        CatalogError: the class is not in the catalog, and its EBS limits were not reported.
    """
    row = catalogued(instance, catalog)
    reported = _usable(instance.ebs_limits)
    limits = row
    if limits is None and reported is not None and instance.db_class is not None:
        limits = unnumbered(class_name(instance.db_class), _origin(reported), "the catalog does not know this class")
    if limits is None:
        return None
    if is_serverless(instance):
        limits = _serverless(limits, instance, catalog)
    if reported is not None and (row is None or _differs(row, reported)):
        limits = replace(
            limits,
            ebs_baseline_bytes_per_s=reported.baseline_bytes_per_s,
            ebs_burst_bytes_per_s=reported.burst_bytes_per_s,
            ebs_baseline_ops_per_s=reported.baseline_ops_per_s,
            ebs_burst_ops_per_s=reported.burst_ops_per_s,
            ebs_origin=_origin(reported),
        )
    # A serverless instance reports the memory that it has at this moment, not its limit.
    memory_bytes = None if is_serverless(instance) else above_zero(instance.memory_bytes)
    return replace(
        limits,
        vcpu_count=instance.vcpu_count or limits.vcpu_count,
        memory_bytes=limits.memory_bytes if memory_bytes is None else round(memory_bytes),
    )


def catalogued(instance: Instance, catalog: Catalog) -> InstanceLimits | None:
    """
    Return the catalog's row of the class, without the numbers that the provider reported.

    Returns:
        None without a class, and for an unknown class whose EBS limits the provider reported.

    Raises:
        CatalogError: the class is not in the catalog, and its EBS limits were not reported.
    """
    if instance.db_class is None:
        return None
    if _usable(instance.ebs_limits) is not None and not catalog.knows(instance.db_class):
        return None
    return catalog.instance_limits(instance.db_class)


def superseded(instance: Instance, catalog: Catalog) -> LegacyLimits | None:
    """
    Return the catalog's numbers as legacy limits, if the provider has since reported different ones.

    An instance that was not stopped and started in between may still have them.

    Raises:
        CatalogError: as limits_of.
    """
    row, reported = catalogued(instance, catalog), _usable(instance.ebs_limits)
    if row is None or reported is None or not _differs(row, reported):
        return None
    if row.ebs_burst_bytes_per_s is None or row.ebs_burst_ops_per_s is None:
        return None
    # A recorded answer can be older than the catalog: then the catalog has the newer numbers.
    if reported.read_on < row.origin.read_on:
        return None
    return LegacyLimits(
        ec2_type=row.ec2_type or "",
        ebs_baseline_bytes_per_s=row.ebs_baseline_bytes_per_s,
        ebs_burst_bytes_per_s=row.ebs_burst_bytes_per_s,
        ebs_baseline_ops_per_s=row.ebs_baseline_ops_per_s,
        ebs_burst_ops_per_s=row.ebs_burst_ops_per_s,
        origin=replace(row.origin, valid_to=row.origin.read_on),
    )


def is_near(reported: float, known: float | None) -> bool:
    """Return whether two numbers are the same limit, rounded differently."""
    return known is not None and abs(reported - known) <= AGREES_RATIO * known


def _usable(reported: EbsLimits | None) -> EbsLimits | None:
    """Return the reported limits; None where a number is not above zero, or a baseline exceeds its burst."""
    if reported is None:
        return None
    pairs = (
        (reported.baseline_bytes_per_s, reported.burst_bytes_per_s),
        (reported.baseline_ops_per_s, reported.burst_ops_per_s),
    )
    for baseline, burst in pairs:
        if above_zero(baseline) is None or above_zero(burst) is None or baseline > burst:
            return None
    return reported


def _differs(row: InstanceLimits, reported: EbsLimits) -> bool:
    return not (
        is_near(reported.baseline_bytes_per_s, row.ebs_baseline_bytes_per_s)
        and is_near(reported.burst_bytes_per_s, row.ebs_burst_bytes_per_s)
        and is_near(reported.baseline_ops_per_s, row.ebs_baseline_ops_per_s)
        and is_near(reported.burst_ops_per_s, row.ebs_burst_ops_per_s)
    )


def _origin(reported: EbsLimits) -> Origin:
    return Origin(source=reported.source, read_on=reported.read_on)


def _serverless(limits: InstanceLimits, instance: Instance, catalog: Catalog) -> InstanceLimits:
    """
    Return the limits with the memory of the largest capacity; None as memory if that is unknown.

    Source:
        Aurora User Guide, aurora-serverless-v2-how-it-works: each unit is about 2 GiB.
    """
    rule = catalog.volume_rule("serverless", "memory_gib_per_acu")
    capacity = above_zero(instance.capacity_acu_max)
    return replace(
        limits,
        memory_bytes=None if capacity is None else round(capacity * rule.value * GIB),
        origin=rule.origin,
        note=f"about {rule.value:g} GiB of memory for each Aurora capacity unit",
    )
