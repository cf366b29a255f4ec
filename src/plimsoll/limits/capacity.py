"""The largest capacity of Aurora Serverless v2: the bound of its CPU and memory."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.units import number

_BY_DEFINITION = Origin(source="by definition: a ratio of the largest capacity", read_on="")


def applies(instance: Instance) -> bool:
    """Return whether the instance is Aurora Serverless; no other has a capacity."""
    return is_serverless(instance)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """Return one ceiling, a ratio of the largest capacity; the note gives the capacity if it is known."""
    del catalog
    if not applies(instance):
        return ()
    capacity = above_zero(instance.capacity_acu_max)
    origin, note = _BY_DEFINITION, "the number of capacity units is unknown"
    if capacity is not None:
        origin, note = READ_FROM_INSTANCE, f"{number(capacity)} Aurora capacity units"
    return (
        Ceiling(
            family=Family.CAPACITY,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=1.0,
            unit="ratio",
            origin=origin,
            note=note,
        ),
    )
