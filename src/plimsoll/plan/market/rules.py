"""
The rules of RDS for a change: its effect on users, how to revert it, and the commands that request it.

Nothing here is ever run. Durations are given only where RDS or EBS documents them.

Source:
    EBS User Guide of 2026-11: Monitor the progress of volume modifications; I/O characteristics.
    RDS User Guide of 2026-04: Settings for DB instances; Amazon RDS DB instance storage; Stopping an
    Amazon RDS DB instance temporarily; Failing over a Multi-AZ DB instance. RDS User Guide of 2026-11:
    Modifying settings for General Purpose SSD (gp3) storage; Modifying a Multi-AZ DB cluster;
    Limitations of Multi-AZ DB clusters. API reference of ModifyDBInstance and ModifyDBCluster, as in
    botocore 1.44.
"""

import re
from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.kernel import ceiling_curve
from plimsoll.limits import chain_of, limits_of
from plimsoll.limits.layout import is_aurora, volume_count_of
from plimsoll.model.instance import Deployment, Instance, Storage, engine_family
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.plan import Band, Disruption
from plimsoll.model.shell import shell_word
from plimsoll.units import GIB, KIB, MIB, format_bytes, format_duration, format_ratio, number

_PLACEHOLDER = '"$DB_INSTANCE"'
"""Placeholder for an identifier that is unknown, or that a terminal cannot display."""
# The interval of the AWS CLI's waiters (botocore, rds waiters). There is no waiter for `stopped`, so
# the command has a loop.
_POLL_S = 30
# Families whose generations are counted alike; x and z have counts of their own.
_FAMILY = re.compile(r"db\.[cmrt](?P<generation>[0-9]+)[a-z]*")
_SAVINGS_PLANS_FROM = 7
# "From a few minutes": the least duration of a performance change (EBS user guide, volume modifications).
_FEW_MINUTES_S = 300.0
# The largest request that EBS counts as one I/O of an SSD.
_IO_BYTES = 256 * KIB


def disruption_of(
    before: Instance,
    after: Instance,
    catalog: Catalog,
    *,
    is_restart: bool = False,
    used_gib: float | None = None,
    served_bytes_per_s: float | None = None,
) -> Disruption:
    """
    Return the disruption of a change.

    Args:
        before: the current instance.
        after: the instance after the change; equal to `before` for a stop and start.
        catalog: rules and limits.
        is_restart: whether the change is a stop and start.
        used_gib: the used storage; with None all that is allocated.
        served_bytes_per_s: mean rate of the load that runs while data is copied.
    """
    copied = is_copied(before, after, catalog)
    size_gib = before.storage.total_gib if used_gib is None else used_gib
    moved = size_gib * GIB if copied and size_gib is not None else None
    copy = _copy_text(before, after, catalog, moved, served_bytes_per_s) if copied else ""
    parts = list(_parts(before, after, catalog, copy, is_restart=is_restart))
    from_magnetic = "standard" in (before.storage.kind, after.storage.kind)
    is_type_changed = before.storage.kind != after.storage.kind
    return Disruption(
        text=_sentence("; ".join(parts) or "nothing is changed"),
        is_restart=is_restart or _class_changes(before, after) or (from_magnetic and is_type_changed),
        optimising_s=None if copied else _optimising_s(before, after, catalog, used_gib),
        moved_bytes=moved,
        reversal=" ".join(_reversals(before, after, is_restart=is_restart)),
        notes=tuple(_notes(before, after, catalog, is_restart=is_restart)),
    )


def is_copied(before: Instance, after: Instance, catalog: Catalog) -> bool:
    """Return whether RDS creates new volumes and copies the data, instead of changing volumes in place."""
    was, will = before.storage, after.storage
    if is_aurora(before) or was == will:
        return False
    # A change from magnetic storage is a full copy (RDS User Guide, DB instance storage); a change to it is
    # assumed to be one too.
    if (was.kind == "standard") != (will.kind == "standard"):
        return True
    counts = volume_count_of(before, catalog), volume_count_of(after, catalog)
    # Volumes are changed in place while their number stays. From one to four (PostgreSQL: 400 GiB)
    # RDS makes new ones and copies (RDS User Guide, "Automatic striping across SSD volumes").
    return None not in counts and counts[0] != counts[1]


def commands_of(before: Instance, after: Instance, catalog: Catalog, *, is_restart: bool = False) -> tuple[str, ...]:
    """
    Return the shell lines that would order a change; empty where nothing changes, or RDS cannot do it.

    Every name that comes from outside is quoted for a POSIX shell.

    Args:
        before: as it is.
        after: as it would be.
        catalog: what gp3 includes, which must be said where it was more.
        is_restart: whether the change is a stop and start.
    """
    if is_restart and not can_be_stopped(before):
        return ()
    where = _where(before)
    if is_restart:
        asked = f"aws rds describe-db-instances {where} --query 'DBInstances[0].DBInstanceStatus' --output text"
        return (
            f"aws rds stop-db-instance {where}",
            f'until [ "$({asked})" = stopped ]; do sleep {_POLL_S}; done',
            f"aws rds start-db-instance {where}",
            f"aws rds wait db-instance-available {where}",
        )
    is_cluster = before.deployment is Deployment.MULTI_AZ_CLUSTER
    options = list((_cluster_options if is_cluster else _options)(before, after, catalog))
    if not options:
        return ()
    action = "modify-db-cluster" if is_cluster else "modify-db-instance"
    return (" ".join((f"aws rds {action}", where, *options, "--apply-immediately")),)


def can_be_stopped(instance: Instance) -> bool:
    """Return whether RDS can stop such an instance; read replicas are not known here."""
    if is_aurora(instance) or instance.deployment is Deployment.MULTI_AZ_CLUSTER:
        return False
    return not (engine_family(instance.engine) == "sqlserver" and instance.multi_az)


def _options(before: Instance, after: Instance, catalog: Catalog) -> Iterator[str]:
    if _class_changes(before, after):
        yield f"--db-instance-class {shell_word(class_name(after.db_class or ''))}"
    if before.storage != after.storage and not is_aurora(after):
        yield from _storage_options(before.storage, after, catalog)
    if after.multi_az is not None and bool(before.multi_az) != after.multi_az:
        yield "--multi-az" if after.multi_az else "--no-multi-az"


def _cluster_options(before: Instance, after: Instance, catalog: Catalog) -> Iterator[str]:
    """
    Yield class and storage of all three members, which cannot be modified by themselves.

    Source:
        ModifyDBCluster: DBClusterInstanceClass; StorageType "a value for the Iops parameter is
        required" for a Multi-AZ DB cluster; there is no StorageThroughput, RDS sets it by the IOPS.
    """
    if _class_changes(before, after):
        yield f"--db-cluster-instance-class {shell_word(class_name(after.db_class or ''))}"
    if before.storage == after.storage:
        return
    plain = replace(after.storage, provisioned_bytes_per_s=None)
    options = list(_storage_options(before.storage, replace(after, storage=plain), catalog))
    options = [option for option in options if not option.startswith("--storage-throughput")]
    family = engine_family(after.engine)
    rule = catalog.storage_rule(family, "gp3", plain.size_gib or 0.0) if family else None
    has_ops = any(option.startswith("--iops") for option in options)
    if not has_ops and plain.kind == "gp3" and rule is not None and rule.ops_per_s_min is not None:
        options.append(f"--iops {rule.ops_per_s_min:.0f}")
    yield from options


def _storage_options(was: Storage, after: Instance, catalog: Catalog) -> Iterator[str]:
    """
    Yield the options of the whole storage, because RDS requires size and IOPS together.

    Source:
        ModifyDBInstance: AllocatedStorage "you must also specify the Iops parameter" for gp3, io1
        and io2; StorageType, the same.
    """
    will = after.storage
    if was.kind != will.kind:
        yield f"--storage-type {shell_word(will.kind or '')}"
    if will.size_gib is not None:
        yield f"--allocated-storage {will.size_gib:.0f}"
    ops, rate = will.provisioned_ops_per_s, will.provisioned_bytes_per_s
    if will.kind == "gp3":
        family = engine_family(after.engine)
        rule = catalog.storage_rule(family, "gp3", will.size_gib or 0.0) if family else None
        if rule is not None and rule.provisioned_ops_per_s_min is not None:
            ops = rule.ops_per_s_min if ops is None else ops
            rate = rule.bytes_per_s_min if rate is None else rate
    if ops is not None:
        yield f"--iops {ops:.0f}"
    if rate is not None:
        yield f"--storage-throughput {rate / MIB:.0f}"


def _where(instance: Instance) -> str:
    cluster = instance.cluster
    option = "--db-instance-identifier" if cluster is UNSET else "--db-cluster-identifier"
    name = instance.identifier if cluster is UNSET else cluster
    is_known = bool(name) and name != Instance().identifier and name.isprintable()
    # A name with a leading dash would be read as an option, so it is joined with `=`.
    text = f"{option}={shell_word(name)}" if name.startswith("-") else f"{option} {shell_word(name)}"
    if not is_known:
        text = f"{option} {_PLACEHOLDER}"
    region = instance.region
    return f"{text} --region {shell_word(region)}" if region and region.isprintable() else text


def _parts(before: Instance, after: Instance, catalog: Catalog, copy: str, *, is_restart: bool) -> Iterator[str]:
    if is_restart:
        yield _stop_text(before)
    if _class_changes(before, after):
        yield _class_text(before, catalog)
    if before.storage == after.storage or is_aurora(before):
        return
    if copy:
        yield copy
    else:
        yield (
            "the storage changes in place without downtime; optimising typically takes hours, with"
            " limits between the old and the new"
        )


def _stop_text(instance: Instance) -> str:
    if instance.deployment is Deployment.MULTI_AZ_CLUSTER:
        return "RDS cannot stop a Multi-AZ DB cluster; a change to another class and back should bring new hosts too"
    if not can_be_stopped(instance):
        return (
            "RDS cannot stop SQL Server with a standby; a change to another class and back should bring a new host too"
        )
    return (
        "the database is down until the start has finished; stopping takes minutes to an hour,"
        " starting takes minutes, or hours with much to recover (RDS User Guide); a reboot is not"
        " enough"
    )


def _class_text(instance: Instance, catalog: Catalog) -> str:
    if instance.deployment is Deployment.MULTI_AZ_CLUSTER:
        return "the writer and both readable standbys change class, which interrupts connections for minutes"
    # With a standby a class change ends in a failover, whose duration RDS documents.
    if instance.multi_az:
        low = catalog.volume_rule("modify", "failover_s_min").value
        high = catalog.volume_rule("modify", "failover_s_max").value
        return (
            f"a failover to the standby, typically {low:g} to {high:g} s, longer after large"
            " transactions (RDS User Guide)"
        )
    return "the database is down while the class changes; expect minutes (RDS documents no duration)"


def _optimising_s(before: Instance, after: Instance, catalog: Catalog, used_gib: float | None) -> Band | None:
    """
    Return the duration of optimising volumes that are changed in place; None without any or without a size.

    Volumes of a stripe set are optimised in parallel, so the data of one of them counts.

    Source:
        EBS user guide: performance changes take from a few minutes to a few hours, a full volume of
        1 TiB about 6 hours, and more than 24 hours in some cases.
    """
    was, size_gib = before.storage, before.storage.total_gib
    if was == after.storage or is_aurora(before) or size_gib is None:
        return None
    count = max(volume_count_of(before, catalog) or 1, 1)
    per_gib = catalog.volume_rule("modify", "optimising_s_per_gib").value
    long_s = catalog.volume_rule("modify", "optimising_s_long").value
    middle = per_gib * (size_gib if used_gib is None else min(used_gib, size_gib)) / count
    return Band(low=min(_FEW_MINUTES_S, middle), middle=middle, high=max(long_s, per_gib * size_gib / count))


def _copy_text(
    before: Instance, after: Instance, catalog: Catalog, moved_bytes: float | None, served_bytes_per_s: float | None
) -> str:
    was, will = volume_count_of(before, catalog), volume_count_of(after, catalog)
    counts = f"{will} new volumes in place of {was}" if was and will else "new volumes"
    amount = "all data" if moved_bytes is None else format_bytes(moved_bytes)
    return (
        f"RDS creates {counts} and copies {amount} while the load runs:"
        f" latency rises, and it can take several hours"
        f"{_copy_cost(before, catalog, moved_bytes, served_bytes_per_s)}"
    )


def _copy_cost(before: Instance, catalog: Catalog, moved_bytes: float | None, served_bytes_per_s: float | None) -> str:
    """Return a lower bound of a copy's hours and I/O, as the end of a sentence; empty where unknown."""
    chain = chain_of(before, catalog)
    if not moved_bytes or not chain:
        return ""
    # Copies are sequential, so the largest I/O that counts once gives a lower bound of the time.
    rate = float(ceiling_curve(chain, [_IO_BYTES], burst=True).bytes_per_s[0])
    alone = format_duration(moved_bytes / rate)
    text = f", at least {alone} at the old storage's limit"
    left = rate - (served_bytes_per_s or 0.0)
    under_load = format_duration(moved_bytes / left) if left > 0 else ""
    if not under_load:
        text += ", and this load leaves no capacity for it"
    elif under_load != alone:
        text += f", and {under_load} while this load runs"
    count = f"{moved_bytes / _IO_BYTES:,.0f}"
    return f"{text}; at least {count} reads of 256 KiB, and as many writes"


def _reversals(before: Instance, after: Instance, *, is_restart: bool) -> Iterator[str]:
    was, will = before.storage, after.storage
    if is_restart:
        yield "Nothing to undo."
    if _class_changes(before, after):
        yield "Change the class back at any time, with the same interruption."
    if was == will or is_aurora(before):
        return
    if was.kind != will.kind or was.size_gib == will.size_gib:
        what = "type" if was.kind != will.kind else "IOPS and throughput"
        yield f"Change storage {what} back once optimising has finished."
    if (will.size_gib or 0) > (was.size_gib or 0):
        yield "Storage size cannot be reduced again."


def _notes(before: Instance, after: Instance, catalog: Catalog, *, is_restart: bool) -> Iterator[str]:
    if is_restart and can_be_stopped(before):
        yield "RDS cannot stop a read replica, or an instance that has one."
        if before.multi_az:
            yield "With a standby the stop can take long, and the standby may become the primary."
    if before.pending and not is_restart:
        yield (f"--apply-immediately also applies the pending changes: {', '.join(before.pending)}.")
    if is_restart and before.pending:
        yield f"A stop drops the pending changes: {', '.join(before.pending)}."
    if before.deployment is Deployment.MULTI_AZ_CLUSTER:
        yield "A Multi-AZ DB cluster: its three instances change and are billed together."
    if _class_changes(before, after):
        yield from _class_notes(before, after, catalog)
    if before.storage != after.storage and not is_aurora(before):
        most = catalog.volume_rule("modify", "changes_per_day_max").value
        yield (
            f"Storage can change again once optimising has finished, at most {most:g} times in 24 h"
            " (RDS User Guide). Optimising typically takes hours, and can take more than a day."
        )
    if before.multi_az is False and after.multi_az:
        yield "The standby's storage is loaded from a snapshot; until then latency is higher."


def _class_notes(before: Instance, after: Instance, catalog: Catalog) -> Iterator[str]:
    was, will = limits_of(before, catalog), limits_of(after, catalog)
    if was is None or will is None:
        return
    if was.cpu_arch and will.cpu_arch and was.cpu_arch != will.cpu_arch:
        names = _architecture(was), _architecture(will)
        yield (
            f"Another processor architecture, {names[0]} to {names[1]}. RDS runs the same database"
            " on both; test extensions and query times first."
        )
    if was.vcpu_count and will.vcpu_count and will.vcpu_count < was.vcpu_count:
        yield f"Fewer vCPUs: {will.vcpu_count} instead of {was.vcpu_count}."
    if was.memory_bytes and will.memory_bytes and will.memory_bytes < was.memory_bytes:
        yield (
            f"Less memory: {format_bytes(will.memory_bytes)} instead of"
            f" {format_bytes(was.memory_bytes)}; less data is cached, so reads may increase."
        )
    commitment = _commitment_note(before, after)
    if commitment:
        yield commitment
    earned = catalog.cpu_credits(will.db_class) if will.is_cpu_burstable else None
    if earned is not None:
        yield (
            f"A T class earns CPU credits for {format_ratio(earned.baseline_ratio)} of its vCPUs."
            + (
                " RDS bills what exceeds that."
                if earned.is_unlimited
                else " RDS does not document whether it may exceed that."
            )
        )
    if before.connection_max is not None:
        yield (
            f"max_connections is {number(before.connection_max)} now. A default follows the memory"
            " of the new class; your own value stays."
        )


def _commitment_note(before: Instance, after: Instance) -> str:
    """
    Return a note if a change of generation gains or loses Savings Plans; empty otherwise.

    Source:
        Database Savings Plans were announced in December 2025 for the 7th generation and later (nops.io,
        "AWS Database Savings Plans, Part II"; dev.to, "What DB teams need to know", January 2026).
        Reserved instances are of one family: RDS User Guide, Reserved DB instances (2026-04).
    """
    was, will = (_FAMILY.match(class_name(one.db_class or "")) for one in (before, after))
    if was is None or will is None:
        return ""
    is_old, stays_old = (int(one["generation"]) < _SAVINGS_PLANS_FROM for one in (was, will))
    if is_old == stays_old:
        return ""
    plans = "allows Database Savings Plans" if is_old else "excludes Database Savings Plans"
    return (
        f"A change from {was[0]} to {will[0]} {plans}: AWS sells them for generation {_SAVINGS_PLANS_FROM}"
        f" and later. Reserved instances of {was[0]} do not cover {will[0]}."
    )


def _architecture(limits: InstanceLimits) -> str:
    return "Graviton" if limits.cpu_arch == "arm64" else "x86"


def _class_changes(before: Instance, after: Instance) -> bool:
    if after.db_class is None:
        return False
    return before.db_class is None or class_name(before.db_class) != class_name(after.db_class)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
