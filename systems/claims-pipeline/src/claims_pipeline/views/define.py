"""Create the materialized views, and create them anew when their definition has changed."""

import hashlib
from importlib.resources import files

from psycopg import Connection, sql

SCHEMA = "claims"
_REFRESHED = """
CREATE TABLE IF NOT EXISTS claims.refreshed (
  view_name text PRIMARY KEY,
  number bigint NOT NULL,
  refreshed_at timestamptz NOT NULL,
  method text NOT NULL,
  reason text NOT NULL,
  duration_s double precision NOT NULL,
  size_bytes bigint NOT NULL,
  sources jsonb NOT NULL);
COMMENT ON TABLE claims.refreshed IS
  'The last refresh of each view. number counts its refreshes; sources are the numbers of what it was made from.';
"""
_DEFINED = """
SELECT relation.relname, coalesce(obj_description(relation.oid, 'pg_class'), '')
  FROM pg_class AS relation
 WHERE relation.relkind = 'm' AND relation.relnamespace = 'claims'::regnamespace
"""


def definitions() -> dict[str, str]:
    """Return the statements that create each view, by its name, in the order in which they can be created."""
    folder = files("claims_pipeline.views").joinpath("sql")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=_name)
    return {file.name.removesuffix(".sql").partition("_")[2]: file.read_text(encoding="utf-8") for file in found}


def _name(file: object) -> str:
    return str(getattr(file, "name", file))


def _mark(statements: str) -> str:
    return f"definition {hashlib.sha256(statements.encode()).hexdigest()[:16]}"


def outdated(connection: Connection) -> dict[str, str]:
    """Return why each view that is missing or has another definition must be created, by its name."""
    there: dict[str, str] = dict(connection.execute(_DEFINED).fetchall())
    return {
        name: "its definition changed" if name in there else "it was never made"
        for name, statements in definitions().items()
        if there.get(name) != _mark(statements)
    }


def define(connection: Connection) -> list[str]:
    """
    Create the views that are missing or have another definition, without rows, and return their names.

    A view's comment has a checksum of its definition. What is built on a changed view is created anew too.
    """
    created = []
    with connection.transaction():
        connection.execute(_REFRESHED)
        for name, statements in definitions().items():
            mark = _mark(statements)
            # Asked each time, because a dropped view takes those built on it along.
            there: dict[str, str] = dict(connection.execute(_DEFINED).fetchall())
            if there.get(name) == mark:
                continue
            view = sql.Identifier(SCHEMA, name)
            connection.execute(sql.SQL("DROP MATERIALIZED VIEW IF EXISTS {} CASCADE").format(view))
            connection.execute(statements.encode())
            connection.execute(sql.SQL("COMMENT ON MATERIALIZED VIEW {} IS {}").format(view, sql.Literal(mark)))
            created.append(name)
    return created
