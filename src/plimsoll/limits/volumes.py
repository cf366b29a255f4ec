"""The limits of the volumes under an instance: their throughput and IOPS, reads and writes together."""

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, Volumes, volumes_of
from plimsoll.limits.rule import Ceilings, ceiling_of, together
from plimsoll.model.ceiling import Ceiling, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.limit import VolumeRule
from plimsoll.model.metric import Metric
from plimsoll.units import kib, mib_per_s, number

# These two have their throughput raised with their IOPS (RDS User Guide, chap-storage).
_GP3_RAISED_ENGINES = ("mysql", "mariadb")

_Rate = tuple[float, Origin, str]
"""The throughput of one volume in bytes/s, its source and a remark."""


def throughput(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the throughput of all volumes together, bytes/s; none where it is unknown or undocumented."""
    return together(_throughput, instance, catalog)


def iops(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the IOPS of all volumes together, ops/s; none where type, size or layout is not known.

    gp2 earns credits and bursts, each volume separately; the others have one fixed number.
    """
    return together(_iops, instance, catalog)


def _of_all(family: Family, volumes: Volumes, each: float, origin: Origin, note: str) -> Ceiling:
    """Return the sum over all volumes of a number that each has."""
    count = "one volume" if volumes.count == 1 else f"{volumes.count} volumes"
    noted = "; ".join(part for part in (f"{note}, {count}", volumes.note) if part)
    return ceiling_of(family, each * volumes.count, origin, noted)


def _throughput(instance: Instance, catalog: Catalog) -> Ceilings:
    volumes = volumes_of(instance, catalog)
    rate = _rate(volumes, catalog) if volumes is not None else None
    return (_of_all(Family.VOLUME_THROUGHPUT, volumes, *rate),) if volumes is not None and rate is not None else ()


def _rate(volumes: Volumes, catalog: Catalog) -> _Rate | None:
    if volumes.kind == "gp2":
        return _gp2_rate(volumes, catalog)
    if volumes.kind == "gp3":
        return _gp3_rate(volumes, catalog)
    # The throughput of io1 and io2 is a function of their IOPS; no throughput is provisioned.
    if volumes.provisioned_ops_per_s is None:
        return None
    if volumes.kind == "io1":
        return _io1_rate(volumes.provisioned_ops_per_s, catalog)
    if volumes.kind == "io2":
        return _io2_rate(volumes.provisioned_ops_per_s, catalog)
    return None


def _gp2_rate(volumes: Volumes, catalog: Catalog) -> _Rate:
    """
    Return the throughput of a gp2 volume: 128 MiB/s up to 170 GiB, 250 MiB/s above.

    Between 170 and 334 GiB the higher number needs credits. No separate rule is needed: without
    credits such a volume serves 3 IOPS per GiB of at most 256 KiB, and the chain has that bound.

    Source:
        EBS User Guide, general-purpose.
    """
    small = catalog.volume_rule("gp2", "small_size_gib_max").value
    rule = catalog.volume_rule("gp2", "small_mib_per_s" if volumes.size_gib <= small else "mib_per_s")
    return _published(rule, f"{rule.value:g} MiB/s per gp2 volume of this size")


def _gp3_rate(volumes: Volumes, catalog: Catalog) -> _Rate:
    included = catalog.volume_rule("gp3", "included_mib_per_s")
    rate = _published(included, f"{included.value:g} MiB/s included with each gp3 volume")
    if volumes.provisioned_bytes_per_s is not None:
        rate = volumes.provisioned_bytes_per_s, READ_FROM_INSTANCE, "throughput as provisioned"
    # RDS documents the threshold for the whole storage, so the volumes' IOPS are added before it.
    ops_per_s = (volumes.provisioned_ops_per_s or 0.0) * volumes.count
    above = catalog.volume_rule("gp3", "raised_above_ops_per_s")
    if volumes.engine not in _GP3_RAISED_ENGINES or ops_per_s <= above.value:
        return rate
    per_op = catalog.volume_rule("gp3", "raised_kib_per_op")
    raised = kib(per_op.value) * ops_per_s / volumes.count
    # RDS raises the throughput; it does not lower one that was provisioned higher.
    if raised <= rate[0]:
        return rate
    return raised, above.origin, f"raised by RDS to {per_op.value:g} KiB for each provisioned operation"


def _io1_rate(ops_per_s: float, catalog: Catalog) -> _Rate:
    """
    Return the throughput of an io1 volume.

    It is 500 MiB/s up to 32,000 IOPS, above that 16 KiB per provisioned operation, at most 1,000 MiB/s.

    Source:
        EBS User Guide, provisioned-iops.
    """
    above = catalog.volume_rule("io1", "raised_above_ops_per_s")
    if ops_per_s <= above.value:
        plain = catalog.volume_rule("io1", "mib_per_s")
        return _published(plain, f"{plain.value:g} MiB/s per io1 volume")
    per_op = catalog.volume_rule("io1", "raised_kib_per_op")
    most = catalog.volume_rule("io1", "mib_per_s_max")
    note = f"{per_op.value:g} KiB for each provisioned operation, at most {number(most.value)} MiB/s per io1 volume"
    return min(kib(per_op.value) * ops_per_s, mib_per_s(most.value)), per_op.origin, note


def _io2_rate(ops_per_s: float, catalog: Catalog) -> _Rate:
    """
    Return the throughput of an io2 volume: 0.256 MiB/s per provisioned operation, at most 4,000 MiB/s.

    Source:
        EBS User Guide, provisioned-iops.
    """
    per_op = catalog.volume_rule("io2", "mib_per_s_per_ops")
    most = catalog.volume_rule("io2", "mib_per_s_max")
    note = f"{per_op.value:g} MiB/s for each provisioned operation, at most {number(most.value)} MiB/s per io2 volume"
    return mib_per_s(min(per_op.value * ops_per_s, most.value)), per_op.origin, note


def _published(rule: VolumeRule, note: str) -> _Rate:
    return mib_per_s(rule.value), rule.origin, note


def _iops(instance: Instance, catalog: Catalog) -> Ceilings:
    if instance.storage.kind == "standard":
        return _magnetic(catalog)
    volumes = volumes_of(instance, catalog)
    if volumes is None:
        return ()
    if volumes.kind == "gp2":
        return _gp2(volumes, catalog)
    provisioned = volumes.provisioned_ops_per_s
    if provisioned is not None:
        return (_of_all(Family.VOLUME_IOPS, volumes, provisioned, READ_FROM_INSTANCE, "IOPS as provisioned"),)
    # gp3 includes IOPS at no charge; io1 and io2 without provisioned IOPS do not exist.
    if volumes.kind == "gp3":
        included = catalog.volume_rule("gp3", "included_ops_per_s")
        return (_of_all(Family.VOLUME_IOPS, volumes, included.value, included.origin, "IOPS included with gp3"),)
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
    fixed = _of_all(Family.VOLUME_IOPS, volumes, baseline, burst.origin, f"{number(baseline)} IOPS per gp2 volume")
    # From 1,000 GiB the baseline reaches the burst of 3,000 IOPS: credits have no effect any more.
    if baseline >= burst.value:
        return (fixed,)
    # Every volume of a stripe set has its own full bucket of 5.4 million credits.
    capacity = catalog.volume_rule("gp2", "credit_capacity_ops").value * volumes.count
    bucket = {"balance_metric": Metric.VOLUME_BALANCE_RATIO, "capacity_low": capacity, "capacity_high": capacity}
    most = _of_all(Family.VOLUME_IOPS, volumes, burst.value, burst.origin, f"{number(burst.value)} IOPS per gp2 volume")
    return (replace(fixed, phase=Phase.BASELINE, **bucket), replace(most, phase=Phase.BURST, **bucket))


def _magnetic(catalog: Catalog) -> Ceilings:
    """Return the IOPS maximum of magnetic storage; RDS documents neither its layout nor its throughput."""
    rules = [rule for engine in catalog.engine_families() for rule in catalog.storage_rules(engine, "standard")]
    note = "the most RDS documents for magnetic storage; a volume may serve less"
    return tuple(
        ceiling_of(Family.VOLUME_IOPS, rule.ops_per_s_max, rule.origin, note)
        for rule in rules[:1]  # RDS documents the same maximum for every engine.
        if rule.ops_per_s_max is not None
    )
