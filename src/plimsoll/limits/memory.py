"""The memory ceiling of an instance."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import limits_of
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance


def applies(instance: Instance) -> bool:
    """Return whether the memory was reported, or the instance has a class."""
    return instance.memory_bytes is not None or instance.db_class is not None


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return one ceiling in bytes; none where the memory is not known.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    # A serverless instance reports its memory of the moment; its limit is that of the largest capacity.
    reported = None if is_serverless(instance) else instance.memory_bytes
    memory_bytes, origin, note = above_zero(reported), READ_FROM_INSTANCE, ""
    limits = limits_of(instance, catalog) if memory_bytes is None else None
    if limits is not None:
        memory_bytes, origin = limits.memory_bytes, limits.origin
        # FreeableMemory of Aurora Serverless is relative to the largest capacity
        # (Aurora User Guide, aurora-serverless-v2.setting-capacity).
        note = f"of the largest capacity: {limits.note}" if is_serverless(instance) else ""
    if memory_bytes is None:
        return ()
    return (
        Ceiling(
            family=Family.MEMORY,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=float(memory_bytes),
            unit="bytes",
            origin=origin,
            note=note,
        ),
    )
