"""
Create, use and roll back a scratch schema on a user's server in one transaction.

Rule 1: the transaction is always rolled back. Nobody else ever sees the schema, and nothing of it
        outlives us, whether we end well, are interrupted or killed, or the server goes down.
Rule 2: a table of the user's is read only where it is named, under ACCESS SHARE.
Rule 3: values of the user's stay on the server, in this transaction: none is a parameter, which its log could have.
Rule 4: no code of the database's owner runs: names are found in pg_catalog alone, event triggers are
        switched off or we refuse to begin, and no policy, view, domain or cast of theirs is used.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.sources.postgres.named_table import keep_views_out, path_of
from plimsoll.sources.postgres.pg_stat import first_line, is_connection_string, not_a_connection_string, refusal
from plimsoll.sources.postgres.session import keep_event_triggers_out, open_session
from plimsoll.sources.postgres.statements import toast
from plimsoll.sources.postgres.statements.terms import PROOF, Terms

if TYPE_CHECKING:
    import psycopg

    from plimsoll.sources.postgres.session import Session

_EVENT_TRIGGERS_HINT = "Use a database without them: without --table, the figures are the same there."


def connected(dsn: str, terms: Terms) -> "Session[tuple[Any, ...]]":
    """
    Return a connection in which every statement is its own transaction.

    Raises:
        UsageError: the DSN is not a connection string.
        AccessDenied: the server refused the role, or has no such database.
        Unreachable: no server answered.
    """
    import psycopg
    from psycopg.rows import tuple_row

    if not is_connection_string(dsn):
        raise not_a_connection_string()
    try:
        return open_session(dsn, terms, tuple_row)
    except psycopg.Error as error:
        raise refusal(error, dsn) from None


@contextmanager
def scratch_schema(dsn: str) -> Iterator["Scratch"]:
    """
    Yield a schema that is rolled back when the block ends.

    Raises:
        UsageError: the DSN is not a connection string, or the server is a standby.
        AccessDenied: the role may not connect, or not make a schema.
        SourceError: a statement failed; the message has no password.
    """
    import psycopg

    with connected(dsn, PROOF) as connection:
        scratch = Scratch(connection)
        try:
            connection.execute(PROOF.begin.encode())
            scratch.path = path_of(connection)
            connection.execute(PROOF.guards(connection.info.server_version).encode())
            keep_views_out(connection, is_local=True)
            if scratch.value(toast.IS_STANDBY):
                raise UsageError(
                    "the server is a standby, on which no table can be created",
                    "Use the primary, or any other server of the same version.",
                )
            keep_event_triggers_out(connection, is_local=True, hint=_EVENT_TRIGGERS_HINT)
            scratch.run(toast.MAKE_SCHEMA)
            yield scratch
        except psycopg.errors.InsufficientPrivilege as error:
            raise AccessDenied(
                f"the role lacks a right: {first_line(error, dsn)}",
                "It needs CREATE on the database, and SELECT on a table that is named.",
            ) from None
        except psycopg.Error as error:
            raise SourceError(
                f"the proof could not be made: {first_line(error, dsn)}",
                "Nothing is left behind: its transaction was rolled back.",
            ) from None
        finally:
            if not connection.closed:
                connection.rollback()


class Scratch:
    """A scratch schema inside an open transaction."""

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
        """Keep the connection, and choose a schema name that nobody else has."""
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
        Return rows of a statement of ours; none where it gives none.

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
        """Return the first column of the first row; None if there is no row."""
        rows = self.run(statement, *values, **names)
        return rows[0][0] if rows else None

    def is_refused(self, statement: str, *values: object) -> bool:
        """Run a statement in a savepoint, and return whether the server refused it."""
        import psycopg

        self.run(toast.ATTEMPT)
        try:
            self.run(statement, *values)
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.Error:
            self.run(toast.ATTEMPT_FAILED)
            return True
        self.run(toast.ATTEMPT_DONE)
        return False
