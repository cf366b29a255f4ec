"""
Decode text of a PostgreSQL server in any encoding.

A database in SQL_ASCII holds names and statements in no encoding or in several, and psycopg then hands out
bytes. What is no UTF-8 is replaced by U+FFFD: one odd name must not cost the whole answer.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import psycopg

# Identifiers of text, varchar, name, char(n), "char" and unknown (PostgreSQL, pg_type.dat).
_TYPES = (25, 1043, 19, 1042, 18, 705)


def decode_safely(connection: "psycopg.Connection[Any]") -> None:
    """Return text of this connection as `str`, in every encoding of a database."""
    from psycopg.adapt import Loader

    # The server's name of an encoding may be one that Python does not have.
    encoding = connection.info.encoding if not _is_ascii(connection) else "utf-8"

    class SafeText(Loader):
        """Decodes bytes, and replaces those that cannot be decoded."""

        def load(self, data: "bytes | bytearray | memoryview") -> str:
            return bytes(data).decode(encoding, errors="replace")

    for oid in _TYPES:
        connection.adapters.register_loader(oid, SafeText)


def _is_ascii(connection: "psycopg.Connection[Any]") -> bool:
    """Return whether the server sends bytes as stored (SQL_ASCII)."""
    return connection.pgconn.parameter_status(b"client_encoding") in (b"SQL_ASCII", None)
