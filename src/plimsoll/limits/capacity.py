"""How far Aurora Serverless v2 may grow: at its largest capacity it has no more CPU and memory."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.units import number

_BY_DEFINITION = Origin(source="by definition: a ratio of the largest capacity", read_on="")


def applies(instance: Instance) -> bool:
    """Return whether it is Aurora Serverless, which alone has a capacity."""
    return is_serverless(instance)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """Return one: a ratio of the largest capacity, which the note gives where it is known."""
    del catalog
    if not applies(instance):
        return ()
    capacity = above_zero(instance.capacity_acu_max)
    origin, note = _BY_DEFINITION, "how many capacity units that is was not read"
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
