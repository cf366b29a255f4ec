"""
Send SHOW commands to a pooler, which answers like a database.

Rule 1: SHOW commands only, in the simple protocol, outside of transactions: consoles know no other.
Rule 2: a password never leaves this file: errors and places are written without it.
Rule 3: a visit is short; whoever wants several moments visits several times.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from plimsoll.errors import AccessDenied, SourceError, Unreachable, UsageError
from plimsoll.sources.postgres.pg_stat import first_line, is_connection_string, is_refusal
from plimsoll.sources.postgres.session import open_session
from plimsoll.sources.postgres.statements.terms import CONSOLE

if TYPE_CHECKING:
    import psycopg

Answer = list[dict[str, str]]

PRODUCTS = {"pgbouncer": "PgBouncer", "pgpool": "Pgpool-II"}

_PORTS = {"pgbouncer": 6432, "pgpool": 9999}
_DATABASES = {"pgbouncer": "pgbouncer", "pgpool": "postgres"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Address of a pooler, and its connection string."""

    kind: str
    """`pgbouncer` or `pgpool`"""
    dsn: str
    """For libpq; it may hold a password."""


class Console:
    """An open connection to a pooler."""

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]", kind: str, dsn: str) -> None:
        """Keep the connection."""
        self._connection = connection
        self._dsn = dsn
        self.kind = kind
        info = connection.info
        self.place = f"{info.host}:{info.port}"
        self.server_pid: int = info.backend_pid
        """Process that serves this connection; for PgBouncer's console, a number of the console."""

    def show(self, command: str) -> Answer:
        """
        Return rows by column name, all values as text; empty where null.

        Raises:
            SourceError: the pooler does not know the command, or closed the connection.
            AccessDenied: the user has no permission.
        """
        import psycopg

        try:
            cursor = self._connection.execute(command.encode())
            names = [column.name.lower() for column in cursor.description or ()]
            rows = cursor.fetchall() if names else []
            # Pgpool-II answers SHOW POOL_VERSION twice, the first time without a row.
            while cursor.nextset():
                rows += cursor.fetchall()
        except psycopg.Error as error:
            raise _failure(self.kind, command, error, self._dsn) from None
        return [
            {name: "" if value is None else str(value) for name, value in zip(names, row, strict=True)} for row in rows
        ]


def address_of(url: str) -> Address:
    """
    Return the address for `pgbouncer://user@host:port` or `pgpool://user@host:port/database`.

    The default port is the pooler's usual one. The default database of Pgpool-II is `postgres`, because Pgpool-II
    keeps no connection to it when a client leaves.

    Raises:
        UsageError: the URL is neither of these.
    """
    try:
        parts = urlsplit(url)
        kind, port = parts.scheme, parts.port
    except ValueError:
        kind, port = "", None
    if kind not in PRODUCTS:
        # The rest may hold a password.
        raise UsageError(
            "the pooler's address is neither pgbouncer://… nor pgpool://…",
            "Write it as 'pgbouncer://user@host:6432' or 'pgpool://user@host:9999/database'.",
        )
    place = parts.netloc if port else f"{parts.netloc.removesuffix(':')}:{_PORTS[kind]}"
    database = _DATABASES[kind] if kind == "pgbouncer" else parts.path.strip("/") or _DATABASES[kind]
    query = f"?{parts.query}" if parts.query else ""
    dsn = f"postgresql://{place}/{database}{query}"
    if not is_connection_string(dsn):
        raise UsageError(
            "the pooler's address cannot be read", "An @, / or : in the password is written %40, %2F or %3A."
        )
    return Address(kind=kind, dsn=dsn)


@contextmanager
def visited(address: Address) -> Iterator[Console]:
    """
    Yield a console until the block ends.

    Raises:
        AccessDenied: the pooler refused the user.
        Unreachable: no pooler answered, or it accepts no more clients.
    """
    import psycopg
    from psycopg.rows import tuple_row

    try:
        connection = open_session(address.dsn, CONSOLE, tuple_row)
    except psycopg.Error as error:
        reason = first_line(error, address.dsn)
        product = PRODUCTS[address.kind]
        if is_refusal(reason):
            raise AccessDenied(
                f"{product} refused the connection: {reason}",
                "PgBouncer's console is for admin_users and stats_users; Pgpool-II wants a user and "
                "database of the server behind it.",
            ) from None
        raise Unreachable(
            f"{product} did not answer: {reason}",
            "Check host and port, that it runs, and that it accepts another client.",
        ) from None
    try:
        yield Console(connection, address.kind, address.dsn)
    finally:
        connection.close()


def number(text: str | None) -> int | None:
    """Return a whole number; None for anything else."""
    return int(text) if text is not None and text.strip().isdecimal() else None


Now = Callable[[], float]
WALL_CLOCK: Now = time.time


def _failure(kind: str, command: str, error: Exception, dsn: str) -> SourceError:
    reason = first_line(error, dsn)
    message = f"{PRODUCTS[kind]} did not answer {command}: {reason}"
    if is_refusal(reason):
        return AccessDenied(message, "Connect as one of its admin_users or stats_users.")
    return SourceError(message, f"Is it {PRODUCTS[kind]}, and does it still run?")
