"""Conversion of the data files' rows to values of the model, and of their units to SI units."""

from collections.abc import Callable
from decimal import Decimal

from msgspec.structs import replace

from plimsoll.catalog.schema import Row
from plimsoll.model.ceiling import Origin
from plimsoll.model.limit import (
    AuroraCapacity,
    AuroraClass,
    ConnectionRule,
    CpuCredits,
    InstanceLimits,
    LegacyLimits,
    StorageRule,
)
from plimsoll.model.pooler import PoolerDefault, PoolerFix
from plimsoll.model.price import Price
from plimsoll.model.session_load import StorageWait, WaitRule
from plimsoll.units import gbit_per_s, gib, mb_per_s, mib_per_s

UNVERIFIED_HOST = "the EC2 type behind this preconfigured class is inferred from equal memory, not documented"
NO_NUMBERS = "RDS lists this class, but documents no numbers for it"


def instance_limits(row: Row, origin: Origin) -> InstanceLimits:
    """Return a row of instance_limits.csv."""
    return InstanceLimits(
        db_class=row["db_class"],
        ec2_type=row["ec2_type"],
        vcpu_count=row["vcpus"],
        memory_bytes=round(gib(row["memory_gib"])),
        ebs_baseline_bytes_per_s=_scaled(row["ebs_baseline_mb_per_s"], mb_per_s),
        ebs_burst_bytes_per_s=_scaled(row["ebs_max_mb_per_s"], mb_per_s),
        ebs_baseline_ops_per_s=row["ebs_baseline_ops_per_s"],
        ebs_burst_ops_per_s=row["ebs_max_ops_per_s"],
        network_baseline_bytes_per_s=_scaled(row["network_baseline_gbit_per_s"], gbit_per_s),
        network_burst_bytes_per_s=_scaled(row["network_max_gbit_per_s"], gbit_per_s),
        hypervisor=row["hypervisor"],
        cpu_arch=row["cpu_arch"],
        is_cpu_burstable=row["cpu_burstable"],
        is_current_generation=row["current_generation"],
        is_offered=row["offered"],
        is_verified=row["documentation"] == "agrees",
        origin=origin,
    )


def preconfigured_limits(row: Row, host: InstanceLimits) -> InstanceLimits:
    """
    Return a row of classes_preconfigured.csv, with the EBS numbers of the EC2 type it probably runs on.

    The number of vCPUs and the network of such a class are not inferred from that type.
    """
    return replace(
        host,
        db_class=row["db_class"],
        vcpu_count=None,
        memory_bytes=round(gib(row["memory_gib"])),
        network_baseline_bytes_per_s=None,
        network_burst_bytes_per_s=None,
        is_offered=True,
        is_verified=False,
        note=UNVERIFIED_HOST,
    )


def listed_only(row: Row, origin: Origin) -> InstanceLimits:
    """Return a row of classes.csv for which no other table has numbers."""
    return InstanceLimits(
        db_class=row["db_class"],
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
        origin=origin,
        note=NO_NUMBERS,
    )


def legacy_limits(db_class: str, row: Row, origin: Origin) -> LegacyLimits:
    """Return a row of instance_limits_legacy.csv, under the name RDS gives the type."""
    return LegacyLimits(
        db_class=db_class,
        ebs_baseline_bytes_per_s=_scaled(row["ebs_baseline_mb_per_s"], mb_per_s),
        ebs_burst_bytes_per_s=mb_per_s(row["ebs_max_mb_per_s"]),
        ebs_baseline_ops_per_s=row["ebs_baseline_ops_per_s"],
        ebs_burst_ops_per_s=row["ebs_max_ops_per_s"],
        origin=replace(origin, valid_from=row["valid_from"], valid_to=row["valid_to"]),
        is_lifted_by_restart=row["restart_lifts"],
        note=row["note"] or "",
    )


def consolidated(legacy: list[LegacyLimits], now: InstanceLimits) -> tuple[LegacyLimits, ...]:
    """Return the legacy limits with equal neighbours joined, without those that equal today's limits."""
    stretches: list[LegacyLimits] = []
    for limits in legacy:
        if stretches and _ebs(stretches[-1]) == _ebs(limits):
            first = stretches[-1]
            origin = replace(first.origin, valid_to=limits.origin.valid_to)
            stretches[-1] = replace(first, origin=origin, note=first.note or limits.note)
        else:
            stretches.append(limits)
    return tuple(limits for limits in stretches if _ebs(limits) != _ebs(now))


def cpu_credits(db_class: str, row: Row, origin: Origin) -> CpuCredits:
    """Return a row of cpu_credits.csv."""
    return CpuCredits(
        db_class=db_class,
        credits_per_hour=row["credits_per_hour"],
        credits_max=row["credits_max"],
        # EC2 states the baseline per vCPU, which is also the ratio of all vCPUs together.
        baseline_ratio=row["baseline_ratio_per_vcpu"],
        is_unlimited=row["unlimited"],
        origin=origin,
    )


def storage_rule(row: Row, origin: Origin) -> StorageRule:
    """Return a row of storage_rules.csv."""
    return StorageRule(
        kind=row["kind"],
        engine=row["engine"],
        size_gib_min=row["size_gib_min"],
        size_gib_max=row["size_gib_max"],
        volume_count=row["volume_count"],
        documented_since=row["documented_since"],
        ops_per_s_min=row["ops_per_s_min"],
        ops_per_s_max=row["ops_per_s_max"],
        ops_per_s_burst=row["ops_per_s_burst"],
        bytes_per_s_min=_scaled(row["mib_per_s_min"], mib_per_s),
        bytes_per_s_max=_scaled(row["mib_per_s_max"], mib_per_s),
        provisioned_ops_per_s_min=row["provisioned_ops_per_s_min"],
        provisioned_ops_per_s_max=row["provisioned_ops_per_s_max"],
        provisioned_bytes_per_s_min=_scaled(row["provisioned_mib_per_s_min"], mib_per_s),
        provisioned_bytes_per_s_max=_scaled(row["provisioned_mib_per_s_max"], mib_per_s),
        ops_per_gib_min=row["ops_per_gib_min"],
        ops_per_gib_max=row["ops_per_gib_max"],
        bytes_per_op_max=_scaled(row["mib_per_s_per_ops_max"], mib_per_s),
        origin=origin,
        note=row["note"] or "",
    )


def connection_rule(row: Row, origin: Origin) -> ConnectionRule:
    """Return a row of connection_rules.csv."""
    return ConnectionRule(
        engine=row["engine"],
        memory_bytes_per_connection=row["memory_bytes_per_connection"],
        connections_max=row["connections"] or row["connections_max"],
        origin=origin,
    )


def pooler_fix(row: Row, origin: Origin) -> PoolerFix:
    """Return a row of pooler_fixes.csv."""
    return PoolerFix(
        pooler=row["pooler"],
        defect=row["defect"],
        since=row["since"],
        branch=row["branch"],
        fixed_in=row["fixed_in"],
        fixed_on=row["fixed_on"],
        origin=origin,
    )


def pooler_default(row: Row, origin: Origin) -> PoolerDefault:
    """Return a row of pooler_defaults.csv."""
    return PoolerDefault(pooler=row["pooler"], setting=row["setting"], value=row["value"], origin=origin)


def wait_rule(row: Row, origin: Origin) -> WaitRule:
    """Return a row of wait_events.csv."""
    return WaitRule(
        engine=row["engine"], event=row["event"], storage=StorageWait(row["storage"]), work=row["work"], origin=origin
    )


def aurora_class(row: Row, origin: Origin) -> AuroraClass:
    """Return a row of aurora_classes.csv."""
    return AuroraClass(
        engine=row["engine"],
        db_class=row["db_class"],
        local_storage_bytes=_scaled(row["local_storage_gib"], gib),
        connections=row["connections"],
        origin=origin,
    )


def aurora_capacity(row: Row, origin: Origin) -> AuroraCapacity:
    """Return a row of aurora_capacity.csv."""
    return AuroraCapacity(
        engine=row["engine"], capacity_acu=row["capacity_acu"], connections=row["connections"], origin=origin
    )


def instance_price(row: Row, origin: Origin) -> Price:
    """Return a row of the instance prices."""
    return Price(
        usd=row["usd_per_hour"],
        unit="hour",
        region=row["region"],
        as_of=row["as_of"],
        is_weak=row["weak"],
        origin=origin,
    )


def derived_multi_az(single: Price, offer: Row) -> Price | None:
    """
    Return a Multi-AZ price that is not listed: the Single-AZ price times the ratio of the offer.

    Returns:
        None for an offer without a ratio.
    """
    if offer["multi_az_ratio"] is None:
        return None
    return replace(
        single,
        usd=single.usd * Decimal(str(offer["multi_az_ratio"])),
        is_weak=single.is_weak or offer["multi_az_basis"] != "verified",
        note="Multi-AZ price derived from the Single-AZ price",
    )


def storage_price(row: Row, origin: Origin) -> Price:
    """Return a row of storage_prices.csv.gz."""
    return Price(
        usd=row["usd"],
        unit=row["unit"],
        region=row["region"],
        as_of=row["as_of"],
        is_weak=row["weak"],
        origin=origin,
        note=row["note"] or "",
    )


def _scaled(value: float | None, convert: Callable[[float], float]) -> float | None:
    return None if value is None else float(convert(value))


def _ebs(limits: InstanceLimits | LegacyLimits) -> tuple[float | None, ...]:
    return (
        limits.ebs_baseline_bytes_per_s,
        limits.ebs_burst_bytes_per_s,
        limits.ebs_baseline_ops_per_s,
        limits.ebs_burst_ops_per_s,
    )
