"""How many clients may be connected."""

from math import floor

from plimsoll.catalog.load import Catalog
from plimsoll.limits import memory
from plimsoll.limits.layout import READ_FROM_INSTANCE
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.limit import ConnectionRule
from plimsoll.model.metric import Metric


def metrics() -> tuple[Metric, ...]:
    """What is compared with it."""
    return (Metric.CONNECTION_COUNT,)


def applies(instance: Instance) -> bool:
    """A server that told its setting, or an engine whose default is documented."""
    return instance.connection_max is not None or instance.engine is not None


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    One count: the server's setting, otherwise the documented default; none where neither is known.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    # SQL Server says 0 for "as many as it can": that is no ceiling, its default is.
    if instance.connection_max is not None and instance.connection_max > 0:
        return (_ceiling(instance.connection_max, READ_FROM_INSTANCE, "max_connections as set"),)
    family = engine_family(instance.engine)
    rule = catalog.connection_rule(family, instance.engine_version) if family else None
    if rule is None:
        return ()
    default = _default(rule, instance, catalog)
    if default is None:
        return ()
    note = "default of the engine; read the setting from the server"
    if rule.memory_bytes_per_connection is not None:
        # DBInstanceClassMemory is what is left of the memory after the system's own share, which is
        # not published: the formula applied to the whole memory is an upper bound.
        note = "upper bound of the default formula; read the setting from the server"
    return (_ceiling(default, rule.origin, note),)


def _default(rule: ConnectionRule, instance: Instance, catalog: Catalog) -> int | None:
    if rule.memory_bytes_per_connection is None:
        return rule.connections_max
    sizes = memory.ceilings(instance, catalog)
    if not sizes:
        return None
    count = floor(sizes[0].value / rule.memory_bytes_per_connection)
    return count if rule.connections_max is None else min(count, rule.connections_max)


def _ceiling(count: int, origin: Origin, note: str) -> Ceiling:
    return Ceiling(
        family=Family.CONNECTIONS,
        phase=Phase.FIXED,
        dimension=Dimension.AMOUNT,
        value=float(count),
        unit="count",
        origin=origin,
        note=note,
    )
