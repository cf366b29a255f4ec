"""The throughput ceilings of the volumes under an instance, reads and writes together."""

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, Volumes, volumes_of
from plimsoll.limits.rule import Ceilings, ceiling_of, together
from plimsoll.model.ceiling import Family, Origin
from plimsoll.model.instance import Instance
from plimsoll.model.limit import VolumeRule
from plimsoll.units import kib, mib_per_s, number

# These two have their throughput raised with their IOPS (RDS User Guide, chap-storage).
_GP3_RAISED_ENGINES = ("mysql", "mariadb")


class _Rate(Struct, frozen=True, kw_only=True):
    """The throughput of one volume and its source."""

    bytes_per_s: float
    origin: Origin
    note: str


def ceilings(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the throughput of all volumes together, bytes/s; none where it is unknown or undocumented."""
    return together(_of_one_storage, instance, catalog)


def _of_one_storage(instance: Instance, catalog: Catalog) -> Ceilings:
    volumes = volumes_of(instance, catalog)
    if volumes is None:
        return ()
    rate = _rate(volumes, catalog)
    if rate is None:
        return ()
    count = "one volume" if volumes.count == 1 else f"{volumes.count} volumes"
    note = "; ".join(part for part in (f"{rate.note}, {count}", volumes.note) if part)
    return (ceiling_of(Family.VOLUME_THROUGHPUT, rate.bytes_per_s * volumes.count, rate.origin, note),)


def _rate(volumes: Volumes, catalog: Catalog) -> _Rate | None:
    if volumes.kind == "gp2":
        return _gp2(volumes, catalog)
    if volumes.kind == "gp3":
        return _gp3(volumes, catalog)
    # The throughput of io1 and io2 is a function of their IOPS; no throughput is provisioned.
    if volumes.provisioned_ops_per_s is None:
        return None
    if volumes.kind == "io1":
        return _io1(volumes.provisioned_ops_per_s, catalog)
    if volumes.kind == "io2":
        return _io2(volumes.provisioned_ops_per_s, catalog)
    return None


def _gp2(volumes: Volumes, catalog: Catalog) -> _Rate:
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


def _gp3(volumes: Volumes, catalog: Catalog) -> _Rate:
    included = catalog.volume_rule("gp3", "included_mib_per_s")
    rate = _published(included, f"{included.value:g} MiB/s included with each gp3 volume")
    if volumes.provisioned_bytes_per_s is not None:
        rate = _Rate(
            bytes_per_s=volumes.provisioned_bytes_per_s, origin=READ_FROM_INSTANCE, note="throughput as provisioned"
        )
    # RDS documents the threshold for the whole storage, so the volumes' IOPS are added before it.
    ops_per_s = (volumes.provisioned_ops_per_s or 0.0) * volumes.count
    above = catalog.volume_rule("gp3", "raised_above_ops_per_s")
    if volumes.engine not in _GP3_RAISED_ENGINES or ops_per_s <= above.value:
        return rate
    per_op = catalog.volume_rule("gp3", "raised_kib_per_op")
    raised = kib(per_op.value) * ops_per_s / volumes.count
    # RDS raises the throughput; it does not lower one that was provisioned higher.
    if raised <= rate.bytes_per_s:
        return rate
    note = f"raised by RDS to {per_op.value:g} KiB for each provisioned operation"
    return _Rate(bytes_per_s=raised, origin=above.origin, note=note)


def _io1(ops_per_s: float, catalog: Catalog) -> _Rate:
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
    return _Rate(
        bytes_per_s=min(kib(per_op.value) * ops_per_s, mib_per_s(most.value)),
        origin=per_op.origin,
        note=f"{per_op.value:g} KiB for each provisioned operation, at most {number(most.value)} MiB/s per io1 volume",
    )


def _io2(ops_per_s: float, catalog: Catalog) -> _Rate:
    """
    Return the throughput of an io2 volume: 0.256 MiB/s per provisioned operation, at most 4,000 MiB/s.

    Source:
        EBS User Guide, provisioned-iops.
    """
    per_op = catalog.volume_rule("io2", "mib_per_s_per_ops")
    most = catalog.volume_rule("io2", "mib_per_s_max")
    return _Rate(
        bytes_per_s=mib_per_s(min(per_op.value * ops_per_s, most.value)),
        origin=per_op.origin,
        note=f"{per_op.value:g} MiB/s for each provisioned operation, at most {number(most.value)} MiB/s"
        " per io2 volume",
    )


def _published(rule: VolumeRule, note: str) -> _Rate:
    return _Rate(bytes_per_s=mib_per_s(rule.value), origin=rule.origin, note=note)
