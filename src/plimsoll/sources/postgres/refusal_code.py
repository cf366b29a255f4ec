"""
Get the SQLSTATE with which a PostgreSQL server refuses a session.

psycopg hands on the words of such a refusal and not its code, and servers say them in the language of their
`lc_messages`. libpq can report the code instead (PQsetErrorVerbosity, PQERRORS_SQLSTATE; PostgreSQL 18
documentation, 32.11), which must be set after an attempt has begun and before it ends. psycopg has no name
for that, so the attempt is made once more and the library that psycopg loaded is asked by its own.
"""

import re
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

FULL = "53300"
"""too_many_connections: of the server, of the role or of the database."""
DENIED = ("28000", "28P01", "3D000", "42501")
"""Bad authorisation, bad password, no such database, no right to it."""

# PQERRORS_SQLSTATE of libpq-fe.h: the code alone, in no language.
_ERRORS_SQLSTATE = 3
# As libpq writes it: the severity in the server's language, two blanks, the code.
_CODE = re.compile(r":  ([0-9A-Z]{5})\s*$", re.MULTILINE)


def code_of_refusal(conninfo: str, *, patience_s: float) -> str:
    """
    Return the SQLSTATE of a refused connection attempt; empty if it is accepted or nobody answers.

    Args:
        conninfo: libpq connection string.
        patience_s: how long the attempt may take.
    """
    from psycopg import Error
    from psycopg.pq import PGconn

    try:
        connection = PGconn.connect_start(conninfo.encode())
        try:
            if not _give_codes(connection):
                return ""
            _attempt(connection, time.monotonic() + patience_s)
            found = _CODE.search(connection.error_message.decode(errors="replace"))
        finally:
            connection.finish()
    except (Error, OSError, ValueError):
        return ""
    return found[1] if found else ""


def _give_codes(connection: "PGconn") -> bool:
    """Make libpq report SQLSTATEs instead of messages; return whether its library was found."""
    import ctypes
    import sys

    from psycopg import pq

    name = f"psycopg_{pq.__impl__}.pq" if pq.__impl__ != "python" else "psycopg.pq._pq_ctypes"
    module = sys.modules.get(name)
    try:
        # What the module was linked with is found through it.
        library = (
            ctypes.CDLL(module.__file__)
            if module is not None and (module.__file__ or "").endswith(".so")
            else getattr(module, "pq", None)
        )
        set_verbosity = library.PQsetErrorVerbosity  # type: ignore[union-attr]
    except (AttributeError, OSError):
        return False
    set_verbosity.argtypes, set_verbosity.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_int
    pointer: int | None = getattr(connection, "pgconn_ptr", None)
    if pointer is None:
        return False
    set_verbosity(pointer, _ERRORS_SQLSTATE)
    return True


def _attempt(connection: "PGconn", until_s: float) -> None:
    """Continue until the server accepts or refuses the connection, or the time is over."""
    from psycopg.pq import PollingStatus

    while (left_s := until_s - time.monotonic()) > 0:
        step = connection.connect_poll()
        if step == PollingStatus.READING:
            select.select([connection.socket], [], [], left_s)
        elif step == PollingStatus.WRITING:
            select.select([], [connection.socket], [], left_s)
        else:
            return
