"""The IOPS ceilings of the volumes under an instance, reads and writes together."""

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, Volumes, volumes_of
from plimsoll.limits.rule import Ceilings, ceiling_of, together
from plimsoll.model.ceiling import Ceiling, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.units import number


def ceilings(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the IOPS of all volumes together, ops/s; none where type, size or layout is not known.

    gp2 earns credits and bursts, each volume separately; the others have one fixed number.
    """
    return together(_of_one_storage, instance, catalog)


def _of_one_storage(instance: Instance, catalog: Catalog) -> Ceilings:
    if instance.storage.kind == "standard":
        return _magnetic(catalog)
    volumes = volumes_of(instance, catalog)
    if volumes is None:
        return ()
    if volumes.kind == "gp2":
        return _gp2(volumes, catalog)
    provisioned = volumes.provisioned_ops_per_s
    if provisioned is not None:
        return (_fixed(volumes, provisioned, READ_FROM_INSTANCE, "IOPS as provisioned"),)
    # gp3 includes IOPS at no charge; io1 and io2 without provisioned IOPS do not exist.
    if volumes.kind == "gp3":
        included = catalog.volume_rule("gp3", "included_ops_per_s")
        return (_fixed(volumes, included.value, included.origin, "IOPS included with gp3"),)
    return ()


def gp2_baseline_ops_per_s(size_gib: float, catalog: Catalog) -> float:
    """
    Return the baseline of one gp2 volume, ops/s.

    Source:
        EBS User Guide, general-purpose: 3 IOPS per GiB, at least 100 and at most 16,000.
    """
    per_gib = catalog.volume_rule("gp2", "ops_per_s_per_gib").value
    least = catalog.volume_rule("gp2", "ops_per_s_min").value
    most = catalog.volume_rule("gp2", "ops_per_s_max").value
    return min(max(per_gib * size_gib, least), most)


def _gp2(volumes: Volumes, catalog: Catalog) -> Ceilings:
    baseline = gp2_baseline_ops_per_s(volumes.size_gib, catalog)
    burst = catalog.volume_rule("gp2", "ops_per_s_burst")
    fixed = _fixed(volumes, baseline, burst.origin, f"{number(baseline)} IOPS per gp2 volume")
    # From 1,000 GiB the baseline reaches the burst of 3,000 IOPS: credits have no effect any more.
    if baseline >= burst.value:
        return (fixed,)
    # Every volume of a stripe set has its own full bucket of 5.4 million credits.
    capacity = catalog.volume_rule("gp2", "credit_capacity_ops").value * volumes.count
    bucket = {"balance_metric": Metric.VOLUME_BALANCE_RATIO, "capacity_low": capacity, "capacity_high": capacity}
    most = _fixed(volumes, burst.value, burst.origin, f"{number(burst.value)} IOPS per gp2 volume")
    return (replace(fixed, phase=Phase.BASELINE, **bucket), replace(most, phase=Phase.BURST, **bucket))


def _fixed(volumes: Volumes, each_ops_per_s: float, origin: Origin, note: str) -> Ceiling:
    count = "one volume" if volumes.count == 1 else f"{volumes.count} volumes"
    noted = "; ".join(part for part in (f"{note}, {count}", volumes.note) if part)
    return ceiling_of(Family.VOLUME_IOPS, each_ops_per_s * volumes.count, origin, noted)


def _magnetic(catalog: Catalog) -> Ceilings:
    """Return the IOPS maximum of magnetic storage; RDS documents neither its layout nor its throughput."""
    rules = [rule for engine in catalog.engine_families() for rule in catalog.storage_rules(engine, "standard")]
    note = "the most RDS documents for magnetic storage; a volume may serve less"
    return tuple(
        ceiling_of(Family.VOLUME_IOPS, rule.ops_per_s_max, rule.origin, note)
        for rule in rules[:1]  # RDS documents the same maximum for every engine.
        if rule.ops_per_s_max is not None
    )
