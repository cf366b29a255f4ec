"""Apply the caller's instance options to the instance of a snapshot."""

import msgspec

from plimsoll.app.moments import epoch_of
from plimsoll.app.options import InstanceOptions
from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance, Storage, engine_family, is_bought
from plimsoll.units import mib_per_s

STORAGE_KINDS = ("gp2", "gp3", "io1", "io2", "standard", "aurora", "aurora-iopt1")


def with_flags(instance: Instance, flags: InstanceOptions) -> Instance:
    """
    Return the instance with every given option applied.

    Raises:
        UsageError: an engine, storage type, size or date that is not valid.
        CatalogError: a class that does not exist.
    """
    if flags.engine is not None and engine_family(flags.engine) is None:
        raise UsageError(
            f"engine '{flags.engine}' is not one that RDS has",
            "Use postgres, mysql, mariadb, oracle-ee, oracle-se2, sqlserver-se, db2-se or aurora-…",
        )
    if flags.storage is not None and flags.storage.lower() not in STORAGE_KINDS:
        raise UsageError(
            f"storage type '{flags.storage}' is not one that RDS has", f"Use one of {', '.join(STORAGE_KINDS)}."
        )
    for name, value in (
        ("--size-gib", flags.size_gib),
        ("--iops", flags.iops),
        ("--throughput-mibps", flags.throughput_mibps),
    ):
        if value is not None and not is_bought(value):
            raise UsageError(f"{name} {value:g} is not possible", "Give the number bought.")
    old = instance.storage
    throughput = flags.throughput_mibps
    storage = Storage(
        kind=(flags.storage or old.kind or "").lower() or None,
        size_gib=flags.size_gib if flags.size_gib is not None else old.size_gib,
        provisioned_ops_per_s=flags.iops if flags.iops is not None else old.provisioned_ops_per_s,
        provisioned_bytes_per_s=(mib_per_s(throughput) if throughput is not None else old.provisioned_bytes_per_s),
        volume_count=old.volume_count,
        additional=old.additional,
    )
    return msgspec.structs.replace(
        instance,
        identifier=flags.identifier or instance.identifier,
        db_class=_class_of(flags.db_class, instance.db_class),
        engine=flags.engine or instance.engine,
        storage=storage,
        launched_s=(epoch_of(flags.launched) if flags.launched is not None else instance.launched_s),
    )


def _class_of(typed: str | None, read: str | None) -> str | None:
    """Return the class as the source names it if both agree, else as typed; a source may know newer classes."""
    if typed is None:
        return read
    from plimsoll.catalog.load import catalog
    from plimsoll.catalog.names import class_name

    is_as_read = read is not None and class_name(typed) == class_name(read)
    return read if is_as_read else catalog().class_named(typed)
