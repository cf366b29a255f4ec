"""
Ceilings of an instance from the catalog: one file for each family of limits.

Every family file has the same two functions. `applies(instance)` returns whether the family has a meaning for
the instance. `ceilings(instance, catalog)` returns its numbers, and none where they are not known.
"""

from plimsoll.catalog.load import Catalog
from plimsoll.limits import (
    capacity,
    connections,
    cpu,
    cpu_credits,
    instance_ebs_iops,
    instance_ebs_throughput,
    local_storage,
    memory,
    network,
    storage_space,
    volume_iops,
    volume_throughput,
)
from plimsoll.limits.bucket import legacy_limits_of
from plimsoll.limits.chain import chain_of
from plimsoll.limits.class_limits import limits_of
from plimsoll.model.ceiling import Ceiling
from plimsoll.model.contained import guarded_each
from plimsoll.model.diagnosis import VERDICT
from plimsoll.model.instance import Instance

__all__ = ["FAMILIES", "ceilings_of", "chain_of", "legacy_limits_of", "limits_of"]

FAMILIES = (
    instance_ebs_throughput,
    instance_ebs_iops,
    volume_throughput,
    volume_iops,
    cpu,
    cpu_credits,
    memory,
    connections,
    network,
    storage_space,
    local_storage,
    capacity,
)


def ceilings_of(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return every documented ceiling of an instance, family by family; legacy limits have Phase.LEGACY.

    An instance without a class has only the ceilings that do not need one.

    Raises:
        CatalogError: the instance names a class that is not in the catalog, and whose EBS limits
            the provider did not report.
    """
    # Families that need no class would hide an unknown one: this call raises for it.
    limits_of(instance, catalog)
    found = guarded_each(
        lambda family: f"the limits of {family.__name__.rpartition('.')[2].replace('_', ' ')}",
        FAMILIES,
        lambda family: family.ceilings(instance, catalog) if family.applies(instance) else (),
        hides=VERDICT,
    )
    return tuple(ceiling for ceilings in found for ceiling in ceilings)
