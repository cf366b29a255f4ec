"""
A table that somebody named, found so that none of its owner's code runs.

Rule 1: names are compared with those in the catalogs; no text becomes a part of a statement.
Rule 2: what is found is a table of this server: no view, and nothing that another server is asked for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plimsoll.errors import UsageError
from plimsoll.model.sql_name import spellings

if TYPE_CHECKING:
    import psycopg

_PATH = "select pg_catalog.current_schemas(true)::pg_catalog.text[]"

# Between our look at the catalogs and our reading, somebody may put a view in the place of the table.
# Servers since August 2024 can refuse to expand one (CVE-2024-7348, found in pg_dump).
_KEEP_VIEWS_OUT = """
select pg_catalog.set_config(name, 'view, foreign-table', %s)
from pg_catalog.pg_settings where name = 'restrict_nonsystem_relation_kind'
"""

_FIND = """
select c.oid::bigint, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
       c.relkind::pg_catalog.text, c.relreplident::pg_catalog.text
from rows from (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[]))
         with ordinality w (schema, name, place)
     join pg_catalog.pg_namespace n on n.nspname = w.schema
     join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.name
where c.relkind in ('r', 'p')
order by w.place
limit 1
"""
# Reading a table reads those that inherit from it.
_FOREIGN = """
with recursive plimsoll_below as (
  select %s::pg_catalog.oid as oid
  union select i.inhrelid from pg_catalog.pg_inherits i join plimsoll_below b on b.oid = i.inhparent
)
select true from plimsoll_below b join pg_catalog.pg_class c on c.oid = b.oid where c.relkind = 'f' limit 1
"""


class NamedTable(NamedTuple):
    """A table of this server."""

    oid: int
    name: str
    """With its schema, quoted by the server where that is needed."""
    is_partitioned: bool
    replica_identity: str
    """`d`, `n`, `f` or `i`, as in pg_class."""


def path_of(connection: "psycopg.Connection[tuple[Any, ...]]") -> tuple[str, ...]:
    """Return the schemas where names without one are looked up; ask before the path is fixed."""
    row = connection.execute(_PATH).fetchone()
    return tuple(row[0]) if row is not None else ()


def keep_views_out(
    connection: "psycopg.Connection[tuple[Any, ...]]", *, is_local: bool = False
) -> None:
    """Let the server refuse to read through views and foreign tables, where it can refuse that."""
    connection.execute(_KEEP_VIEWS_OUT, (is_local,))


def table_named(
    connection: "psycopg.Connection[tuple[Any, ...]]", text: str, path: Sequence[str]
) -> NamedTable | None:
    """
    Find a table by what somebody wrote; None where there is none.

    Raises:
        UsageError: a part of it lies on another server.
    """
    pairs = spellings(text, path)
    row = connection.execute(_FIND, ([p[0] for p in pairs], [p[1] for p in pairs])).fetchone()
    if row is None:
        return None
    if connection.execute(_FOREIGN, (row[0],)).fetchone() is not None:
        raise UsageError(
            f"a part of {row[1]} is a foreign table, for which another server would be asked",
            "Name a partition that is on this server.",
        )
    return NamedTable(
        oid=row[0], name=row[1], is_partitioned=row[2] == "p", replica_identity=row[3]
    )
