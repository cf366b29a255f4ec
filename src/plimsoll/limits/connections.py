"""The ceiling of client connections."""

from math import floor

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import READ_FROM_INSTANCE, above_zero, aurora_engine, is_aurora, is_serverless
from plimsoll.limits.machine import memory
from plimsoll.limits.rule import Ceilings, ceiling_of
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.limit import ConnectionRule
from plimsoll.units import number

_CLASS_NOTE = "default for this class; read the setting from the server"


def ceilings(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return one count, the server's setting or else the documented default; none if neither is known.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    # In SQL Server 0 means "as many as it supports": that is no ceiling, but its default is one.
    if instance.connection_max is not None and instance.connection_max > 0:
        return (ceiling_of(Family.CONNECTIONS, instance.connection_max, READ_FROM_INSTANCE, "max_connections as set"),)
    if is_aurora(instance):
        return _aurora(instance, catalog)
    family = engine_family(instance.engine)
    rule = catalog.connection_rule(family, instance.engine_version) if family else None
    return () if rule is None else _by_formula(rule, instance, catalog)


def _by_formula(rule: ConnectionRule, instance: Instance, catalog: Catalog) -> Ceilings:
    default = _default(rule, instance, catalog)
    if default is None:
        return ()
    note = "default of the engine; read the setting from the server"
    if rule.memory_bytes_per_connection is not None:
        # DBInstanceClassMemory is what is left of the memory after the system's own share, which is
        # not published: the formula applied to the whole memory is an upper bound.
        note = "upper bound of the default formula; read the setting from the server"
    return (ceiling_of(Family.CONNECTIONS, default, rule.origin, note),)


def _aurora(instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the default of an Aurora engine: a table by class for MySQL, a formula for PostgreSQL.

    Source:
        Aurora User Guide, "Maximum connections" of either engine and of Aurora Serverless v2.
    """
    engine = aurora_engine(instance)
    if engine is None or instance.db_class is None:
        return ()
    if is_serverless(instance):
        return _serverless(engine, instance, catalog)
    facts = catalog.aurora_class(engine, instance.db_class)
    if facts is not None and facts.connections is not None:
        return (ceiling_of(Family.CONNECTIONS, facts.connections, facts.origin, _CLASS_NOTE),)
    rule = catalog.connection_rule(engine, instance.engine_version)
    return () if rule is None else _by_formula(rule, instance, catalog)


def _serverless(engine: str, instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the default at the largest capacity; between two documented capacities, that of the larger."""
    capacity = above_zero(instance.capacity_acu_max)
    rows = catalog.aurora_capacities(engine)
    row = next((r for r in rows if capacity is not None and capacity <= r.capacity_acu), None)
    if row is None or capacity is None:
        return ()
    count, note = row.connections, f"default at a largest capacity of {number(capacity)} units"
    if capacity < row.capacity_acu:
        rule = catalog.connection_rule(engine, instance.engine_version)
        default = _default(rule, instance, catalog) if rule is not None else None
        count = count if default is None else min(count, default)
        note = f"upper bound of the default: {number(row.capacity_acu)} units have {row.connections:,}"
    # Aurora PostgreSQL caps the default at 2,000 for a smallest capacity of 0 or 0.5 units. The
    # smallest capacity is not read, so the cap is a note (aurora-serverless-v2.setting-capacity).
    cap = catalog.volume_rule("serverless", "small_minimum_connections_max").value
    if engine == "aurora-postgresql" and count > cap:
        note += f"; {cap:,.0f} where the smallest capacity is 0 or 0.5 units"
    return (ceiling_of(Family.CONNECTIONS, count, row.origin, f"{note}; read the setting from the server"),)


def _default(rule: ConnectionRule, instance: Instance, catalog: Catalog) -> int | None:
    if rule.memory_bytes_per_connection is None:
        return rule.connections_max
    sizes = memory(instance, catalog)
    if not sizes:
        return None
    # Formulas of parameter groups cut decimals (RDS User Guide, user-paramvaluesref), and the default
    # is the LEAST of the quotient and a constant.
    count = floor(sizes[0].value / rule.memory_bytes_per_connection)
    return count if rule.connections_max is None else min(count, rule.connections_max)
