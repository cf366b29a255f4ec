"""
The database of the services, from outside: its role, and the sessions of that role.

Rule: statements here know no table of the services.
"""

from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from plimsoll.errors import SourceError
from plimsoll_lab.servers.server import ANSWER_S

ROLE = DATABASE = "orders"
# Twice for each sample, so that none is older than it.
_LOOK_S = 0.5
_SESSIONS = """select count(*) filter (where state in ('active', 'fastpath function call')),
  count(*) filter (where state = 'idle' or state is null), count(*) filter (where state = 'idle in transaction'),
  count(*) filter (where state = 'idle in transaction (aborted)')
  from pg_stat_activity where backend_type = 'client backend' and usename = %s"""
_CONNECTION_MAX = "select current_setting('max_connections')"

States = tuple[int, int, int, int]
"""Sessions that are active, idle, idle in transaction, and idle in an aborted one."""


def create_database(address: str, password: str) -> None:
    """
    Create the role of the services and their database.

    Args:
        address: connection string of a superuser at the server that takes writes.
        password: of the role.

    Raises:
        SourceError: the server refused.
    """
    role = sql.SQL("create role {} login password {} in role pg_monitor").format(
        sql.Identifier(ROLE), sql.Literal(password)
    )
    database = sql.SQL("create database {} owner {}").format(sql.Identifier(DATABASE), sql.Identifier(ROLE))
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(role)
            connection.execute(database)
    except psycopg.Error as error:
        raise SourceError(
            f"the database cannot be created: {str(error).splitlines()[0]}", "Run the experiment again."
        ) from error


def connection_max_of(address: str) -> int:
    """Return max_connections of a server; 0 while it does not answer."""
    with suppress(psycopg.OperationalError), psycopg.connect(address, connect_timeout=round(ANSWER_S)) as connection:
        row = connection.execute(_CONNECTION_MAX).fetchone()
        return 0 if row is None else int(row[0])
    return 0


class SessionProbe:
    """Counts the sessions of a role by their state, again and again; use it in a `with` block."""

    def __init__(self, dsn: str, role: str) -> None:
        """Keep the server and the role; nothing is connected yet."""
        self._dsn, self._role = dsn, role
        self._lock, self._over = Lock(), Event()
        self._last: States = (0, 0, 0, 0)
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start counting."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End counting."""
        self._over.set()
        self._thread.join()

    @property
    def states(self) -> States:
        """Return the last counts."""
        with self._lock:
            return self._last

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._count()
            except psycopg.Error:
                # The server starts again, or another node has taken its place.
                self._over.wait(_LOOK_S)

    def _count(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True, connect_timeout=5) as connection:
            while not self._over.wait(_LOOK_S):
                row = connection.execute(_SESSIONS, (self._role,)).fetchone()
                if row is not None:
                    with self._lock:
                        self._last = (int(row[0]), int(row[1]), int(row[2]), int(row[3]))
