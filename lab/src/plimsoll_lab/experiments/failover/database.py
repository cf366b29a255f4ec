"""
What failovers ask of their own servers: the table of integers, who follows, and the nodes as the pooler sees them.

Rule: a statement that waits for ever is ended from outside, by closing its connection.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from plimsoll.errors import SourceError

CONNECT_S = 5
"""A client gives up to connect after this time."""
_CREATE = "create table written (number bigint not null)"
_INSERT = "insert into written values (%s)"
_LOCK = "lock table written in access exclusive mode"
_READ = "select number from written"
_FOLLOWING = "select sync_state from pg_stat_replication where state = 'streaming'"
_NODES = "show pool_nodes"


def open_client(address: str) -> psycopg.Connection:
    """
    Connect as a client whose statements commit by themselves.

    Raises:
        psycopg.Error: the server refused, or did not answer.
    """
    # Not prepared on the server: a pooler's child may go on with another one.
    return psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_S, prepare_threshold=None)


def write(connection: psycopg.Connection, number: int) -> None:
    """
    Write one integer.

    Raises:
        psycopg.Error: the server said no, or did not answer.
    """
    connection.execute(_INSERT, [number])


def create_table(address: str) -> None:
    """
    Create the table that the writers write to.

    Raises:
        SourceError: the server refused.
    """
    try:
        with open_client(address) as connection:
            connection.execute(_CREATE)
    except psycopg.Error as error:
        raise SourceError(
            f"the table of the experiment was not created: {message_of(error)}", "Run the experiment again."
        ) from error


def read_all(address: str) -> set[int]:
    """
    Return the integers that are there, while nothing can be written.

    Args:
        address: of the server that takes writes.

    Raises:
        SourceError: the server refused.
    """
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_S) as connection:
            connection.execute(_LOCK)
            return {number for (number,) in connection.execute(_READ)}
    except psycopg.Error as error:
        raise SourceError(f"the final read failed: {message_of(error)}", "Run the experiment again.") from error


def following(address: str) -> list[str]:
    """Return the state of each standby that follows a server, `sync` or another; empty without an answer."""
    with contextlib.suppress(psycopg.Error), open_client(address) as connection:
        return [state for (state,) in connection.execute(_FOLLOWING)]
    return []


def pool_nodes(address: str, patience_s: float) -> dict[int, tuple[str, str]]:
    """
    Return status and role of each node as a pooler sees it, by the node's port.

    Raises:
        psycopg.Error: it refused the connection, or did not answer within the time.
    """
    with (
        psycopg.connect(
            address, autocommit=True, connect_timeout=round(patience_s), row_factory=dict_row
        ) as connection,
        _ended_after(connection, patience_s),
    ):
        rows = connection.execute(_NODES).fetchall()
        return {int(row["port"]): (row["status"], row["role"]) for row in rows}


@contextmanager
def _ended_after(connection: psycopg.Connection[Any], patience_s: float) -> Iterator[None]:
    timer = threading.Timer(patience_s, hang_up, [connection])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def hang_up(connection: psycopg.Connection[Any]) -> None:
    """Close the socket below a connection that another thread waits on, which then gets an error."""
    with contextlib.suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def message_of(error: psycopg.Error) -> str:
    """Return the first line of an error without what differs from case to case."""
    text = error.diag.message_primary or str(error).strip() or type(error).__name__
    line = text.splitlines()[0]
    # libpq begins with the address: `connection to server at "127.0.0.1", port 1 failed: …`.
    reason = line.rpartition(" failed: ")[2]
    return reason.removeprefix("FATAL:  ").removeprefix("ERROR:  ").strip() or line
