"""
Ceilings of an instance from the catalog.

Each family has a rule: a function of `machine.py`, or a file of its own where there is more to say.
"""

from collections.abc import Mapping

from plimsoll.catalog.load import Catalog
from plimsoll.limits import bucket, connections, machine, volumes
from plimsoll.limits.bucket import legacy_limits_of
from plimsoll.limits.chain import chain_of
from plimsoll.limits.class_limits import limits_of
from plimsoll.limits.rule import Ceilings, Rule
from plimsoll.model.ceiling import Family
from plimsoll.model.contained import guarded_each
from plimsoll.model.diagnosis import VERDICT
from plimsoll.model.instance import Instance

__all__ = ["RULES", "ceilings_of", "chain_of", "legacy_limits_of", "limits_of"]

RULES: Mapping[Family, Rule] = {
    **bucket.RULES,
    Family.VOLUME_THROUGHPUT: volumes.throughput,
    Family.VOLUME_IOPS: volumes.iops,
    Family.CONNECTIONS: connections.ceilings,
    **machine.RULES,
}


def ceilings_of(instance: Instance, catalog: Catalog) -> Ceilings:
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
        lambda family: f"the limits of {family.value.replace('_', ' ')}",
        [family for family in Family if family in RULES],
        lambda family: RULES[family](instance, catalog),
        hides=VERDICT,
    )
    return tuple(ceiling for ceilings in found for ceiling in ceilings)
