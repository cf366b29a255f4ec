"""Check that RDS sells a storage as described, and name the first rule that it breaks."""

from plimsoll.catalog.load import Catalog
from plimsoll.errors import UsageError
from plimsoll.limits.layout import is_aurora
from plimsoll.model.instance import Instance, Storage, engine_family
from plimsoll.model.limit import StorageRule
from plimsoll.units import MIB, number

_KINDS = ("gp2", "gp3", "io1", "io2", "standard")
_PROVISIONED_KINDS = ("io1", "io2")


def check_purchase(instance: Instance, catalog: Catalog) -> None:
    """
    Refuse storage that RDS would not sell, and storage that is only half described.

    Raises:
        UsageError: the first contradiction, with what would be possible.
    """
    storage = instance.storage
    if storage.kind is None:
        _check_no_storage(storage)
        return
    if is_aurora(instance):
        _check_aurora(instance)
        return
    if storage.kind not in _KINDS:
        raise UsageError(f"RDS has no storage type '{storage.kind}'", f"Use {', '.join(_KINDS[:-1])} or {_KINDS[-1]}.")
    family = engine_family(instance.engine)
    if family is None:
        raise UsageError(
            f"the layout of {storage.kind} storage depends on the engine",
            "Add --engine postgres, mysql, mariadb, oracle-ee, sqlserver-se or db2-se.",
        )
    if storage.size_gib is None:
        raise UsageError(f"the limits of {storage.kind} storage depend on its size", "Add --size-gib.")
    rule = _rule(family, storage.kind, storage.size_gib, catalog)
    _check_ops(storage, rule, catalog)
    _check_throughput(storage, rule)


def _check_no_storage(storage: Storage) -> None:
    given = {
        "--size-gib": storage.size_gib,
        "--iops": storage.provisioned_ops_per_s,
        "--throughput-mibps": storage.provisioned_bytes_per_s,
        "--volumes": storage.volume_count,
    }
    for flag, value in given.items():
        if value is not None:
            raise UsageError(f"{flag} was given, but no storage type", f"Add --storage {', '.join(_KINDS)}.")


def _check_aurora(instance: Instance) -> None:
    kind = instance.storage.kind or ""
    if not kind.startswith("aurora"):
        raise UsageError(f"Aurora does not keep its data on {kind}", "Omit --storage, or use aurora or aurora-iopt1.")
    if engine_family(instance.engine) not in (None, "aurora"):
        raise UsageError(
            f"{instance.engine} does not run on {kind} storage", "Use an Aurora engine, or gp2, gp3, io1 or io2."
        )


def _rule(family: str, kind: str, size_gib: float, catalog: Catalog) -> StorageRule:
    rules = catalog.storage_rules(family, kind)
    if not rules:
        raise UsageError(f"RDS does not offer {kind} storage for {family}", "Choose another storage type.")
    rule = catalog.storage_rule(family, kind, size_gib)
    if rule is None:
        least, most = rules[0].size_gib_min or 0, rules[-1].size_gib_max
        span = f"from {number(least)} to" if least else "up to"
        raise UsageError(
            f"RDS does not sell {kind} storage of {number(size_gib)} GiB for {family}",
            f"The documented sizes are {span} {number(most)} GiB.",
        )
    return rule


def _check_ops(storage: Storage, rule: StorageRule, catalog: Catalog) -> None:
    ops_per_s, size_gib = storage.provisioned_ops_per_s, storage.size_gib or 0.0
    if ops_per_s is None:
        if rule.kind in _PROVISIONED_KINDS:
            raise UsageError(f"{rule.kind} storage needs provisioned IOPS", "Add --iops.")
        return
    least, most = rule.provisioned_ops_per_s_min, rule.provisioned_ops_per_s_max
    if least is None or most is None:
        raise _not_provisionable("IOPS", rule, size_gib, catalog)
    if not least <= ops_per_s <= most:
        raise UsageError(
            f"{number(ops_per_s)} IOPS cannot be provisioned on {_where(rule, size_gib)}",
            f"Use {number(least)} to {number(most)} IOPS.",
        )
    # RDS checks IOPS against the size, in addition to the range (RDS User Guide, chap-storage).
    ratio = ops_per_s / size_gib
    low, high = rule.ops_per_gib_min or 0.0, rule.ops_per_gib_max or float("inf")
    if not low <= ratio <= high:
        raise UsageError(
            f"{number(ops_per_s)} IOPS on {number(size_gib)} GiB are {number(ratio)} IOPS per GiB",
            f"{rule.kind} for {rule.engine} allows {number(low)} to {number(high)} IOPS per GiB.",
        )


def _check_throughput(storage: Storage, rule: StorageRule) -> None:
    throughput, size_gib = storage.provisioned_bytes_per_s, storage.size_gib or 0.0
    if throughput is None:
        return
    least, most = rule.provisioned_bytes_per_s_min, rule.provisioned_bytes_per_s_max
    if rule.kind in _PROVISIONED_KINDS:
        raise UsageError(f"the throughput of {rule.kind} storage follows from its IOPS", "Omit --throughput-mibps.")
    if least is None or most is None:
        raise UsageError(
            f"throughput cannot be provisioned on {_where(rule, size_gib)}",
            "Omit --throughput-mibps, or describe a larger gp3 storage.",
        )
    if not least <= throughput <= most:
        raise UsageError(
            f"{number(throughput / MIB)} MiB/s cannot be provisioned on {_where(rule, size_gib)}",
            f"Use {number(least / MIB)} to {number(most / MIB)} MiB/s.",
        )
    # gp3 without provisioned IOPS has the included ones, and their number bounds throughput too
    # (EBS User Guide, general-purpose: 0.25 MiB/s per provisioned IOPS).
    ops_per_s = storage.provisioned_ops_per_s or rule.ops_per_s_min or 0.0
    per_op = rule.bytes_per_op_max
    if per_op is not None and throughput > per_op * ops_per_s:
        raise UsageError(
            f"{number(throughput / MIB)} MiB/s need more than {number(ops_per_s)} IOPS",
            f"{rule.kind} allows {number(per_op / MIB)} MiB/s per IOPS:"
            f" add --iops {number(throughput / per_op).replace(',', '')}.",
        )


def _not_provisionable(what: str, rule: StorageRule, size_gib: float, catalog: Catalog) -> UsageError:
    larger = [
        other.size_gib_min
        for other in catalog.storage_rules(rule.engine, rule.kind)
        if other.provisioned_ops_per_s_max is not None and other.size_gib_min is not None
    ]
    hint = f"Omit --{what.lower()}, or use gp3, io1 or io2."
    if larger:
        hint = f"They can be provisioned at {number(min(larger))} GiB and above."
    return UsageError(f"{what} cannot be provisioned on {_where(rule, size_gib)}", hint)


def _where(rule: StorageRule, size_gib: float) -> str:
    return f"{number(size_gib)} GiB of {rule.kind} for {rule.engine}"
