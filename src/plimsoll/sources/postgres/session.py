"""
Open connections to PostgreSQL servers and to consoles of poolers; no other file opens any.

Rule 1: whoever connects says on which terms. Those of a session are set before anything else is asked; those of a
        transaction are `opening_of`.
Rule 2: whoever creates or drops something calls `keep_event_triggers_out` before, in each session.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from plimsoll.errors import UsageError
from plimsoll.sources.postgres.named_table import keep_views_out, path_of
from plimsoll.sources.postgres.statements import tables
from plimsoll.sources.postgres.statements.terms import RECORDING, SIGN_OF_LIFE, Terms
from plimsoll.sources.postgres.text_safe import decode_safely

if TYPE_CHECKING:
    from psycopg.rows import RowFactory

    from plimsoll.sources.postgres.answers import Session as Session  # noqa: PLC0414 - others name the type

_Row = TypeVar("_Row", bound="tuple[Any, ...] | dict[str, Any]")

_EVENT_TRIGGERS_HINT = (
    "Run it in a database without them, as the role that owns their functions, or, from PostgreSQL 17 on, "
    "as a superuser, who can leave them out."
)


def open_session(dsn: str, terms: Terms, row_factory: "RowFactory[_Row]") -> "Session[_Row]":
    """
    Return a connection in which every statement is its own transaction unless it begins one.

    Args:
        dsn: libpq connection string or URI.
        terms: how long it may take to connect and to answer, how we call ourselves, and the settings of a session.
        row_factory: `tuple_row` or `dict_row` of psycopg.

    Raises:
        psycopg.Error: the server refused or did not answer.
    """
    from plimsoll.sources.postgres.answers import Session

    # psycopg logs that a lost connection could not be ended well. Commands say in one sentence that it was lost;
    # without a handler, Python would print the line of the log as well. A program with handlers still gets it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    # No prepared statements: in transaction mode a pooler may send the next transaction to another server
    # process, which does not have them.
    connection = Session.connect(
        conninfo_of(dsn, terms), row_factory=row_factory, autocommit=True, prepare_threshold=None
    )
    connection.answer_s = terms.answer_s
    connection.does_server_answer = partial(_does_answer, dsn)
    decode_safely(connection)
    if terms.is_of_session:
        try:
            connection.path = path_of(connection)
            connection.execute(terms.guards(connection.info.server_version).encode())
            keep_views_out(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def is_silence(error: BaseException) -> bool:
    """Return whether an error says that the server did not answer in time."""
    from plimsoll.sources.postgres.answers import SilentServerError

    return isinstance(error, SilentServerError)


def opening_of(connection: "Session[Any]", terms: Terms) -> bytes:
    """Return the message that begins a transaction on these terms, with all guards that the server knows."""
    return terms.opening(connection.info.server_version).encode()


def keep_event_triggers_out(
    connection: "Session[Any]", *, is_local: bool = False, hint: str = _EVENT_TRIGGERS_HINT
) -> None:
    """
    Disable event triggers if the role may; otherwise see that none would run another role's code with our rights.

    Args:
        connection: guarded.
        is_local: for the transaction instead of the session.
        hint: of the error.

    Raises:
        UsageError: one of them would.
    """
    from psycopg.rows import tuple_row

    cursor = connection.cursor(row_factory=tuple_row)
    if cursor.execute(tables.NO_EVENT_TRIGGERS, (is_local,)).fetchall():
        return
    names = [f"'{name}'" for (name,) in cursor.execute(tables.EVENT_TRIGGERS).fetchall()]
    if names:
        raise UsageError(f"event triggers of other roles would run with your rights: {', '.join(names)}", hint)


def conninfo_of(dsn: str, terms: Terms) -> str:
    """Return the connection string with what the terms add."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, **terms.parameters)


def _does_answer(dsn: str) -> bool:
    """Return whether the server answers another session; it does where it refuses one."""
    import psycopg
    from psycopg.rows import tuple_row

    try:
        with open_session(dsn, RECORDING, tuple_row) as other:
            other.does_server_answer = _yes
            other.execute(SIGN_OF_LIFE)
    except psycopg.Error as error:
        return not (is_silence(error) or isinstance(error, psycopg.errors.ConnectionTimeout))
    return True


def _yes() -> bool:
    return True
