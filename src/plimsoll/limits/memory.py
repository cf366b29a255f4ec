"""How much memory the instance has."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric


def metrics() -> tuple[Metric, ...]:
    """What is compared with it: what is left of it."""
    return Metric.FREEABLE_MEMORY_BYTES, Metric.SWAP_BYTES


def applies(instance: Instance) -> bool:
    """A host that told its memory, or an instance with a class."""
    return instance.memory_bytes is not None or instance.db_class is not None


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    One, in bytes; none where it is not known.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    memory_bytes, origin = above_zero(instance.memory_bytes), READ_FROM_INSTANCE
    if memory_bytes is None and instance.db_class is not None:
        limits = catalog.instance_limits(instance.db_class)
        memory_bytes, origin = limits.memory_bytes, limits.origin
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
        ),
    )
