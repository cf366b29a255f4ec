"""The CPU ceiling: all vCPUs busy."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued
from plimsoll.limits.layout import is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.instance import Instance

# Aurora User Guide, aurora-serverless-v2.setting-capacity (2026-04).
_SERVERLESS_NOTE = "CPUUtilization is a ratio of the CPU of the largest capacity"
_BY_DEFINITION = Origin(source="by definition: every vCPU busy", read_on="")


def applies(instance: Instance) -> bool:
    """Return True: every machine has a CPU."""
    del instance
    return True


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return one ceiling, a ratio of all vCPUs.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    count, origin = instance.vcpu_count, _BY_DEFINITION
    if count is None:
        limits = catalogued(instance, catalog)
        count = limits.vcpu_count if limits is not None else None
        origin = limits.origin if limits is not None and count is not None else origin
    note = f"{count} vCPUs" if count is not None else ""
    if is_serverless(instance):
        note = _SERVERLESS_NOTE
    return (
        Ceiling(
            family=Family.CPU,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=1.0,
            unit="ratio",
            origin=origin,
            note=note,
        ),
    )
