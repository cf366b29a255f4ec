"""
Find a table by a given name, so that none of its owner's code runs.

Rule 1: names are compared with those in the catalogs; no text becomes a part of a statement.
Rule 2: what is found is a table of this server: no view, and nothing that another server is asked for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plimsoll.errors import UsageError
from plimsoll.model.sql_name import spellings
from plimsoll.sources.postgres.statements import tables

if TYPE_CHECKING:
    import psycopg


class NamedTable(NamedTuple):
    """A table of this server."""

    oid: int
    name: str
    """With its schema, quoted by the server where that is needed."""
    is_partitioned: bool
    replica_identity: str
    """`d`, `n`, `f` or `i`, as in pg_class."""


def path_of(connection: "psycopg.Connection[Any]") -> tuple[str, ...]:
    """Return the schemas where names without one are looked up; ask before the path is fixed."""
    from psycopg.rows import tuple_row

    row = connection.cursor(row_factory=tuple_row).execute(tables.PATH).fetchone()
    return tuple(row[0]) if row is not None else ()


def keep_views_out(connection: "psycopg.Connection[Any]", *, is_local: bool = False) -> None:
    """Make the server refuse views and foreign tables, if its version can (restrict_nonsystem_relation_kind)."""
    connection.execute(tables.KEEP_VIEWS_OUT, (is_local,))


def table_named(connection: "psycopg.Connection[tuple[Any, ...]]", text: str, path: Sequence[str]) -> NamedTable | None:
    """
    Find a table by its given name; None if there is none.

    Raises:
        UsageError: a part of it lies on another server.
    """
    pairs = spellings(text, path)
    row = connection.execute(tables.FIND, ([p[0] for p in pairs], [p[1] for p in pairs])).fetchone()
    if row is None:
        return None
    if connection.execute(tables.FOREIGN, (row[0],)).fetchone() is not None:
        raise UsageError(
            f"a part of {row[1]} is a foreign table, for which another server would be asked",
            "Name a partition that is on this server.",
        )
    return NamedTable(oid=row[0], name=row[1], is_partitioned=row[2] == "p", replica_identity=row[3])
