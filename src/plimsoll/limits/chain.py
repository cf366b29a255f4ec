"""
The chain of ceilings that every storage request of an instance passes, as the kernel replays it.

Requests pass the instance's throughput and IOPS buckets and then one of n equal volumes with their
throughput and IOPS. Reads and writes share all four.
"""

from collections.abc import Sequence

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage, ceiling_curve
from plimsoll.limits import volumes
from plimsoll.limits.bucket import BUCKETS, capacity_bounds
from plimsoll.limits.class_limits import limits_of
from plimsoll.limits.layout import is_aurora, volume_count_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.limit import LegacyLimits
from plimsoll.units import KIB, MIB, kib

# An SSD volume counts an operation for every 256 KiB (EBS User Guide, ebs-io-characteristics).
_SSD_UNIT_BYTES = kib(256)
# A chain serves the most operations when they are small and the most bytes when they are large;
# these are the ends of what databases send: a disk sector's 4 KiB, and Linux' 1 MiB.
_SMALL_BYTES, _LARGE_BYTES = 4.0 * KIB, float(MIB)


def chain_of(instance: Instance, catalog: Catalog, *, use_legacy: LegacyLimits | None = None) -> tuple[Stage, ...]:
    """
    Return the stages of an instance, named after their families; undocumented limits have no stage.

    The capacity of an instance bucket is not published. The chain takes the smaller of its two
    readings, the one that promises no more than the documented 30 minutes. Instance IOPS are quoted
    at 16 KiB; larger operations count once, since the throughput stage bounds them first.

    Args:
        instance: what was bought.
        catalog: the documented limits.
        use_legacy: legacy limits to use for the instance stages in place of today's.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    return _instance_stages(instance, catalog, use_legacy) + _volume_stages(instance, catalog)


def most_of(chain: Sequence[Stage], *, is_bytes: bool) -> tuple[float, Family] | None:
    """
    Return the highest rate that a part of a chain serves at any I/O size, and the limit that ends it; None without stages.

    No limit above it is ever reached, and no credits are spent for a baseline that is not below it.
    """
    if not chain:
        return None
    curve = ceiling_curve(chain, [_LARGE_BYTES if is_bytes else _SMALL_BYTES], burst=True)
    rate = float((curve.bytes_per_s if is_bytes else curve.ops_per_s)[0])
    return rate, Family(chain[int(curve.stage[0])].name)


def _instance_stages(instance: Instance, catalog: Catalog, use_legacy: LegacyLimits | None) -> tuple[Stage, ...]:
    if instance.db_class is None or is_aurora(instance):
        return ()
    limits = use_legacy or limits_of(instance, catalog)
    if limits is None:
        return ()
    burst_s = catalog.volume_rule("instance", "burst_s").value

    stages = []
    for bucket in BUCKETS:
        baseline, burst = bucket.numbers(limits)
        if burst is None:
            continue
        # EC2 documents a single number for classes that sustain their maximum: there is no bucket,
        # and the capacity is zero.
        sustained = burst if baseline is None else baseline
        capacity, _ = capacity_bounds(sustained, burst, burst_s)
        name, counts = bucket.family.value, bucket.family.facts.counts
        stages.append(Stage(name=name, baseline=sustained, burst=burst, capacity=capacity, counts=counts))
    return tuple(stages)


def _volume_stages(instance: Instance, catalog: Catalog) -> tuple[Stage, ...]:
    # With an unknown layout the ceilings, if any, are those of the whole storage: one stage of that size.
    stripes = volume_count_of(instance, catalog) or 1
    # AWS documents no size at which magnetic storage counts one request as several.
    unit_bytes = None if instance.storage.kind == "standard" else _SSD_UNIT_BYTES
    throughput, ops = volumes.throughput(instance, catalog), volumes.iops(instance, catalog)
    # Only counts of operations have a unit: a byte is one byte in a request of any size.
    return _striped(throughput, stripes, None) + _striped(ops, stripes, unit_bytes)


def _striped(ceilings: tuple[Ceiling, ...], stripes: int, unit_bytes: float | None) -> tuple[Stage, ...]:
    """Return the stage of a volume family, whose ceilings are sums over all stripes."""
    if not ceilings:
        return ()
    sustained = next(c for c in ceilings if c.phase in (Phase.BASELINE, Phase.FIXED))
    burst = next((c for c in ceilings if c.phase == Phase.BURST), sustained)
    return (
        Stage(
            name=sustained.family.value,
            # RDS stripes evenly, so each volume has an equal share of rate and credits.
            baseline=sustained.value / stripes,
            burst=burst.value / stripes,
            # A fixed rate has no credits: a bucket of zero.
            capacity=(burst.capacity_low or 0.0) / stripes,
            counts=sustained.family.facts.counts,
            unit_bytes=unit_bytes,
            stripes=stripes,
        ),
    )
