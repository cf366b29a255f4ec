"""The ceiling of storage space."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.units import gib


def applies(instance: Instance) -> bool:
    """Return whether the storage has a fixed size; that of Aurora grows automatically."""
    return instance.storage.total_gib is not None and not is_aurora(instance)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """Return one ceiling in bytes, the allocated storage; none where it is not known."""
    del catalog
    size_gib = above_zero(instance.storage.total_gib)
    if size_gib is None or not applies(instance):
        return ()
    return (
        Ceiling(
            family=Family.STORAGE_SPACE,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=gib(size_gib),
            unit="bytes",
            origin=READ_FROM_INSTANCE,
            note="allocated storage; autoscaling may raise it",
        ),
    )
