"""The limits of the machine itself: CPU, memory, network, disks and capacity; a function for each family."""

from collections.abc import Mapping

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued, limits_of
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, aurora_engine, is_aurora, is_serverless
from plimsoll.limits.rule import Ceilings, Rule, ceiling_of
from plimsoll.model.ceiling import Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.units import gib, number


def _cpu(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return a ratio of all vCPUs."""
    count, origin = instance.vcpu_count, Origin(source="by definition: every vCPU busy", read_on="")
    limits = catalogued(instance, catalog) if count is None else None
    if limits is not None and limits.vcpu_count is not None:
        count, origin = limits.vcpu_count, limits.origin
    note = f"{count} vCPUs" if count is not None else ""
    if is_serverless(instance):  # Aurora User Guide, aurora-serverless-v2.setting-capacity (2026-04)
        note = "CPUUtilization is a ratio of the CPU of the largest capacity"
    return (ceiling_of(Family.CPU, 1.0, origin, note),)


def _cpu_credits(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the maximum of saved credits, then the CPU ratio that the earned credits sustain.

    On RDS most burstable classes run on borrowed credits when the saved ones are spent: they are billed, not
    throttled. The EBS burst of the same class is another bucket, and it does throttle.
    """
    row = catalogued(instance, catalog)
    earned = catalog.cpu_credits(row.db_class) if row is not None else None
    if earned is None:
        return ()
    mode = "no documentation says whether RDS throttles this class at zero credits"
    if earned.is_unlimited:
        mode = "at zero credits RDS bills borrowed credits and does not throttle this class"
    # Earned credits expire after 24 hours, which bounds the balance (EC2 User Guide, burstable-credits-baseline-concepts).
    note = f"{earned.credits_per_hour:g} credits per hour, kept for 24 hours; {mode}"
    saved = replace(
        ceiling_of(Family.CPU_CREDITS, earned.credits_max, earned.origin, note),
        balance_metric=Metric.CPU_CREDITS,
        capacity_low=earned.credits_max,
        capacity_high=earned.credits_max,
    )
    note = f"CPU ratio that the earned credits sustain; {mode}"
    return saved, replace(saved, phase=Phase.BASELINE, value=earned.baseline_ratio, unit="ratio", note=note)


def memory(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the bytes of memory; none where they are not known."""
    # A serverless instance reports its memory of the moment; its limit is that of the largest capacity.
    reported = None if is_serverless(instance) else above_zero(instance.memory_bytes)
    if reported is not None:
        return (ceiling_of(Family.MEMORY, reported, READ_FROM_INSTANCE),)
    limits = limits_of(instance, catalog)
    if limits is None or limits.memory_bytes is None:
        return ()
    # FreeableMemory of Aurora Serverless is relative to the largest capacity
    # (Aurora User Guide, aurora-serverless-v2.setting-capacity).
    note = f"of the largest capacity: {limits.note}" if is_serverless(instance) else ""
    return (ceiling_of(Family.MEMORY, limits.memory_bytes, limits.origin, note),)


def _network(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return baseline and burst, or the one fixed number, bytes/s each way."""
    limits = catalogued(instance, catalog)
    if limits is None or limits.network_baseline_bytes_per_s is None or limits.network_burst_bytes_per_s is None:
        return ()
    # EC2 states bandwidth for each direction: a full-duplex link has it for receiving and for sending.
    phases, note = {Phase.FIXED: limits.network_burst_bytes_per_s}, "each way"
    if limits.network_baseline_bytes_per_s < limits.network_burst_bytes_per_s:
        phases = {Phase.BASELINE: limits.network_baseline_bytes_per_s, Phase.BURST: limits.network_burst_bytes_per_s}
        note = "each way; no metric shows the remaining network credits"
    if is_aurora(instance):  # Aurora User Guide, aurora-auroramonitoring-metrics (2026-04)
        note += "; the metrics leave out the cluster volume"
    return tuple(ceiling_of(Family.NETWORK, rate, limits.origin, note, phase=phase) for phase, rate in phases.items())


def _storage_space(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the allocated storage in bytes; that of Aurora grows automatically."""
    del catalog
    size_gib = None if is_aurora(instance) else above_zero(instance.storage.total_gib)
    if size_gib is None:
        return ()
    note = "allocated storage; autoscaling may raise it"
    return (ceiling_of(Family.STORAGE_SPACE, gib(size_gib), READ_FROM_INSTANCE, note),)


def _local_storage(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the bytes of an Aurora instance's disk for temporary files and, for most classes, logs.

    None are documented for example for classes with NVMe disks. Aurora Serverless reports no local storage.

    Source:
        Aurora User Guide, "Temporary storage limits" of Aurora MySQL and of Aurora PostgreSQL.
    """
    engine, db_class = aurora_engine(instance), instance.db_class
    facts = catalog.aurora_class(engine, db_class) if engine and db_class else None
    if facts is None or facts.local_storage_bytes is None or is_serverless(instance):
        return ()
    note = "the documented maximum for the class; Aurora itself uses a part of it"
    return (ceiling_of(Family.LOCAL_STORAGE, facts.local_storage_bytes, facts.origin, note),)


def _capacity(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return a ratio of the largest capacity of Aurora Serverless v2, the bound of its CPU and memory."""
    del catalog
    if not is_serverless(instance):
        return ()
    capacity = above_zero(instance.capacity_acu_max)
    if capacity is None:
        origin = Origin(source="by definition: a ratio of the largest capacity", read_on="")
        return (ceiling_of(Family.CAPACITY, 1.0, origin, "the number of capacity units is unknown"),)
    return (ceiling_of(Family.CAPACITY, 1.0, READ_FROM_INSTANCE, f"{number(capacity)} Aurora capacity units"),)


RULES: Mapping[Family, Rule] = {
    Family.CPU: _cpu,
    Family.CPU_CREDITS: _cpu_credits,
    Family.MEMORY: memory,
    Family.NETWORK: _network,
    Family.STORAGE_SPACE: _storage_space,
    Family.LOCAL_STORAGE: _local_storage,
    Family.CAPACITY: _capacity,
}
