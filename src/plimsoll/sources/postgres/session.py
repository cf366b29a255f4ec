"""
Open connections to PostgreSQL servers and to consoles of poolers; no other file opens any.

Rule: whoever connects says on which terms. Those of a session are set before anything else is asked.
"""

import logging
from typing import TYPE_CHECKING, TypeVar

from plimsoll.sources.postgres.statements.terms import Terms
from plimsoll.sources.postgres.text_safe import decode_safely

if TYPE_CHECKING:
    from typing import Any

    import psycopg
    from psycopg.rows import RowFactory

_Row = TypeVar("_Row", bound="tuple[Any, ...] | dict[str, Any]")


def open_session(
    dsn: str, terms: Terms, row_factory: "RowFactory[_Row]"
) -> "psycopg.Connection[_Row]":
    """
    Return a connection in which every statement is its own transaction unless it begins one.

    Args:
        dsn: libpq connection string or URI.
        terms: how long it may take to connect, and how we call ourselves.
        row_factory: `tuple_row` or `dict_row` of psycopg.

    Raises:
        psycopg.Error: the server refused or did not answer.
    """
    import psycopg

    # psycopg logs that a lost connection could not be ended well. Commands say in one sentence that it was lost;
    # without a handler, Python would print the line of the log as well. A program with handlers still gets it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    # No prepared statements: in transaction mode a pooler may send the next transaction to another server
    # process, which does not have them.
    connection = psycopg.connect(
        conninfo_of(dsn, terms),
        row_factory=row_factory,
        autocommit=True,
        prepare_threshold=None,
    )
    decode_safely(connection)
    return connection


def conninfo_of(dsn: str, terms: Terms) -> str:
    """Return the connection string with what the terms add."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, **terms.parameters)
