"""All vCPUs busy."""

from plimsoll.catalog.load import Catalog
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric

_BY_DEFINITION = Origin(source="by definition: every vCPU busy", read_on="")


def metrics() -> tuple[Metric, ...]:
    """What is compared with it."""
    return (Metric.CPU_RATIO,)


def applies(instance: Instance) -> bool:
    """Every machine has a CPU, whatever else is unknown."""
    del instance
    return True


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    One: a ratio of all vCPUs.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    count, origin = instance.vcpu_count, _BY_DEFINITION
    if count is None and instance.db_class is not None:
        limits = catalog.instance_limits(instance.db_class)
        count = limits.vcpu_count
        origin = limits.origin if count is not None else origin
    return (
        Ceiling(
            family=Family.CPU,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=1.0,
            unit="ratio",
            origin=origin,
            note=f"{count} vCPUs" if count is not None else "",
        ),
    )
