"""
A scratch schema on a server that is somebody's: made, used and gone in one transaction.

Rule 1: the transaction is always rolled back. Nobody else ever sees the schema, and nothing of it
        outlives us, whether we end well, are interrupted or killed, or the server goes down.
Rule 2: a table of the user's is read only where it is named, under ACCESS SHARE.
Rule 3: values of the user's stay in this process; nothing here writes one anywhere else.
Rule 4: no code of the database's owner runs: names are found in pg_catalog alone, event triggers are
        switched off or we refuse to begin, and no policy, view, domain or cast of theirs is used.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.model.sql_name import ANSWERS, SAFE_PATH
from plimsoll.sources.postgres.named_table import keep_views_out, path_of
from plimsoll.sources.postgres.pg_stat import (
    CONNECTION,
    is_connection_string,
    not_a_connection_string,
    refusal,
    told,
)
from plimsoll.sources.postgres.text_safe import decode_safely

if TYPE_CHECKING:
    import psycopg

# Judgements: the whole proof takes about a second, so what takes a minute waits for something; and a
# lock that is not had at once is somebody else's.
_GUARDS = (
    f"set local search_path = {SAFE_PATH}; set local row_security = off; "
    "set local statement_timeout = '60s'; set local lock_timeout = '500ms'; "
    "set local idle_in_transaction_session_timeout = '60s'; set local jit = off; "
    + "; ".join(f"set local {one}" for one in ANSWERS)
)

# Settings of the database or the role would choose what is left out here; a transaction that is
# serializable and deferrable waits.
_BEGIN = "begin transaction isolation level read committed, not deferrable"

# Event triggers run with the rights of whoever makes a schema. Superusers alone make such triggers, but
# the function may belong to anybody, who may write it anew.
_EVENT_TRIGGERS = """
select e.evtname::pg_catalog.text
from pg_catalog.pg_event_trigger e join pg_catalog.pg_proc p on p.oid = e.evtfoid
     join pg_catalog.pg_roles r on r.oid = p.proowner
where e.evtenabled <> 'D' and e.evtevent <> 'login' and not r.rolsuper and r.rolname <> current_user
order by 1
"""
_IS_SUPERUSER = "select rolsuper from pg_catalog.pg_roles where rolname = current_user"
_CAN_SWITCH_EVENT_TRIGGERS = 170_000


def connected(dsn: str) -> "psycopg.Connection[tuple[Any, ...]]":
    """
    A connection in which every statement is its own transaction.

    Raises:
        UsageError: the DSN is not a connection string.
        AccessDenied: the server refused the role, or has no such database.
        Unreachable: no server answered.
    """
    import psycopg
    from psycopg.conninfo import make_conninfo

    if not is_connection_string(dsn):
        raise not_a_connection_string()
    try:
        connection = psycopg.connect(
            make_conninfo(dsn, **CONNECTION), autocommit=True, prepare_threshold=None
        )
    except psycopg.Error as error:
        raise refusal(error, dsn) from None
    decode_safely(connection)
    return connection


@contextmanager
def scratch_schema(dsn: str) -> Iterator["Scratch"]:
    """
    A schema that is gone when the block ends.

    Raises:
        UsageError: the DSN is not a connection string, or the server is a standby.
        AccessDenied: the role may not connect, or not make a schema.
        SourceError: a statement failed; the message has no password.
    """
    import psycopg

    with connected(dsn) as connection:
        scratch = Scratch(connection)
        try:
            connection.execute(_BEGIN)
            scratch.path = path_of(connection)
            connection.execute(_GUARDS)
            keep_views_out(connection, is_local=True)
            if scratch.value("select pg_catalog.pg_is_in_recovery()"):
                raise UsageError(
                    "the server is a standby, on which nothing can be made",
                    "Ask the primary, or any other server of the same version.",
                )
            _keep_event_triggers_out(scratch)
            connection.execute(f"create schema {scratch.schema}".encode())
            yield scratch
        except psycopg.errors.InsufficientPrivilege as error:
            raise AccessDenied(
                f"the role may not do that: {told(error, dsn)}",
                "It needs CREATE on the database, and SELECT on a table that is named.",
            ) from None
        except psycopg.Error as error:
            raise SourceError(
                f"the proof could not be made: {told(error, dsn)}",
                "Nothing is left behind: its transaction was rolled back.",
            ) from None
        finally:
            if not connection.closed:
                connection.rollback()


def _keep_event_triggers_out(scratch: "Scratch") -> None:
    """
    Switch event triggers off where the role may.

    Raises:
        UsageError: it may not, and one of them would run another role's code with its rights.
    """
    is_new = scratch.connection.info.server_version >= _CAN_SWITCH_EVENT_TRIGGERS
    if is_new and scratch.value(_IS_SUPERUSER):
        scratch.run("set local event_triggers = off")
        return
    names = [f"'{row[0]}'" for row in scratch.run(_EVENT_TRIGGERS)]
    if names:
        raise UsageError(
            f"event triggers of other roles would run with your rights: {', '.join(names)}",
            "Use a database without them: without --table, the figures are the same there.",
        )


class Scratch:
    """A schema of our own inside an open transaction."""

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
        """Take a connection; the schema is named so that no one else's has the name."""
        self.connection = connection
        self.path: tuple[str, ...] = ()
        """Schemas in which names without one are looked up."""
        self.schema = f"plimsoll_proof_{os.getpid()}_{connection.info.backend_pid}"

    @property
    def place(self) -> str:
        """`127.0.0.1:5432/orders`, without user and password."""
        info = self.connection.info
        return f"{info.host}:{info.port}/{info.dbname}"

    def run(self, statement: str, *values: object, **names: str) -> list[tuple[Any, ...]]:
        """
        Rows of a statement of ours; none where it gives none.

        Args:
            statement: `{s}` stands for the schema, `{name}` for a name, `%s` for a value.
            values: of `%s`, in order.
            names: identifiers, quoted by the server where they need to be.
        """
        text = statement.replace("{s}", self.schema)
        for name, quoted in names.items():
            text = text.replace(f"{{{name}}}", quoted)
        cursor = self.connection.execute(text.encode(), values or None)
        return cursor.fetchall() if cursor.description is not None else []

    def value(self, statement: str, *values: object, **names: str) -> Any:
        """The first column of the first row; None without a row."""
        rows = self.run(statement, *values, **names)
        return rows[0][0] if rows else None

    def is_refused(self, statement: str, *values: object) -> bool:
        """Run a statement that the server may refuse; whether it did, without ending anything."""
        import psycopg

        self.run("savepoint attempt")
        try:
            self.run(statement, *values)
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.Error:
            self.run("rollback to savepoint attempt")
            return True
        self.run("release savepoint attempt")
        return False
