"""
Say why a server refuses, without values of rows.

Rule: what the server quotes is a value, except in messages that quote only names. What the table's own code says
may be anything, so it is left out.

Source: PostgreSQL documentation, "PostgreSQL Error Codes"; messages of versions 14 to 18.
"""

import re
from typing import Any

from msgspec import Struct

from plimsoll.errors import DataError

# Classes of SQLSTATE: data exception; PL/pgSQL, external routines.
_DATA, _OWN_CODE = "22", ("P0", "38", "39")
# They quote names of columns and encodings: bad COPY format, character not in repertoire, untranslatable character.
_NAMES_ONLY = ("22P04", "22021", "22P05")
_BYTES = re.compile(r"0x[0-9a-f]{2}( 0x[0-9a-f]{2})*")
_QUOTED = re.compile(r'"[^"]*"')


class RefusedAt(Struct, frozen=True, kw_only=True):
    """Where in an input a row is that the server refuses."""

    identity: str
    """Of the input."""
    start_byte: int
    """Of the chunk."""
    line: int | None
    """Line of the chunk at which the row ends, from 1; None if the server does not say it."""
    column: str
    """For example `, column place`; may be empty."""


class RefusedRow(DataError):
    """The server refuses a row."""

    def __init__(self, message: str, at: RefusedAt, reason: str) -> None:
        """Keep the place and the reason, without values of the row."""
        hint = "Correct that row and run the command again: what was loaded stays."
        super().__init__(f"{message}: {reason}", hint)
        self.at, self.reason = at, reason


def line_of(error: Any) -> tuple[int, str] | None:
    """Return line and column of a chunk in which a row is refused; None if no row is."""
    found = re.search(r"line (\d+)(, column [^:]+)?", error.diag.context or "")
    return None if found is None else (int(found[1]), found[2] or "")


def reason_of(error: Any) -> str:
    """
    Return what the server says, without values of rows.

    Args:
        error: of psycopg.
    """
    state = error.sqlstate or ""
    if error.diag.source_function == "exec_stmt_raise" or state.startswith(_OWN_CODE):
        return f"a trigger or function of the table refused it (SQLSTATE {state})"
    text: str = (error.diag.message_primary or type(error).__name__).partition(': "')[0]
    if not state.startswith(_DATA):
        return text
    text = _BYTES.sub("…", text)
    return text if state in _NAMES_ONLY else _QUOTED.sub('"…"', text)


def printable(text: str) -> str:
    """Return a text of the ledger or the server as a terminal may have it."""
    return "".join(c if c.isprintable() else "?" for c in text)
