"""Queries that people run before a destructive command: printed, never run here. Names come quoted for SQL."""

from collections.abc import Sequence

# The version whose views have the time of the last scan.
_HAS_LAST_SCAN = 160_000
# Since when a server has counted: a reset of its database, or the last crash, which leaves that of WAL.
_SINCE = (
    "greatest((SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()), "
    "(SELECT stats_reset FROM pg_stat_wal)) AS counted_since"
)
EXTENSION = "CREATE EXTENSION IF NOT EXISTS pgstattuple;"


def literal(text: str) -> str:
    """Return a text as a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def being_built(indexes: Sequence[str]) -> str:
    """Return the query for sessions that build one of these indexes."""
    return (
        "SELECT pid, index_relid::regclass, phase FROM pg_stat_progress_create_index "  # noqa: S608
        f"WHERE index_relid IN ({_regclasses(indexes)});"
    )


def scans_of(indexes: Sequence[str], version_number: int) -> str:
    """Return the query for the scans of indexes."""
    return _scans(version_number, _regclasses(indexes))


def scans_of_parts(index: str, version_number: int) -> str:
    """Return the query for the scans of the parts of a partitioned index."""
    return _scans(version_number, f"SELECT relid FROM pg_partition_tree({literal(index)})")  # noqa: S608


def leaf_density(index: str) -> str:
    """Return the query for how full the pages of a B-tree are; it reads the whole index."""
    return f"SELECT avg_leaf_density, leaf_fragmentation FROM pgstatindex({literal(index)});"  # noqa: S608


def density(table: str) -> str:
    """Return the query for the free space of a table; pages that are all visible are not read."""
    return (
        "SELECT approx_free_percent, approx_tuple_percent, dead_tuple_percent "  # noqa: S608
        f"FROM pgstattuple_approx({literal(table)}::regclass);"
    )


def toast_density(table: str) -> str:
    """Return the same for the TOAST relation of a table; some versions have only the exact one, which reads all."""
    return (
        "SELECT free_percent, tuple_percent, dead_tuple_percent FROM pgstattuple("  # noqa: S608
        f"(SELECT reltoastrelid FROM pg_class WHERE oid = {literal(table)}::regclass)::regclass);"
    )


def slot_of(name: str) -> str:
    """Return the query for a replication slot."""
    return (
        "SELECT slot_name, slot_type, active, restart_lsn, wal_status "  # noqa: S608
        f"FROM pg_replication_slots WHERE slot_name = {literal(name)};"
    )


def prepared_of(gid: str) -> str:
    """Return the query for a prepared transaction."""
    return f"SELECT gid, prepared, owner FROM pg_prepared_xacts WHERE gid = {literal(gid)};"  # noqa: S608


def _scans(version_number: int, which: str) -> str:
    last = ", last_idx_scan" if version_number >= _HAS_LAST_SCAN else ""
    return (
        f"SELECT indexrelid::regclass, idx_scan{last}, {_SINCE} FROM pg_stat_all_indexes "  # noqa: S608
        f"WHERE indexrelid IN ({which});"
    )


def _regclasses(names: Sequence[str]) -> str:
    return ", ".join(f"{literal(name)}::regclass" for name in names)
