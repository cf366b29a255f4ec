"""
Connections to the database, with errors as sentences.

Rule 1: no sentence has a part of an address that cannot be read: any part of it may be the password.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from claims_pipeline.errors import ClaimsError, SettingsError, UnavailableError
from claims_pipeline.settings import Settings

Connection = psycopg.Connection[tuple[Any, ...]]
CONNECT_S = 10


@contextmanager
def connected(settings: Settings, *, autocommit: bool = False) -> Iterator[Connection]:
    """
    Connect while the block lasts.

    Raises:
        SettingsError: the address is none.
        UnavailableError: the server does not answer, or went away.
        ClaimsError: it refuses a statement.
    """
    address = address_of(settings)
    try:
        with psycopg.connect(
            address,
            autocommit=autocommit,
            connect_timeout=CONNECT_S,
            application_name="claims-pipeline",
            # A server that is gone is noticed while we wait for it.
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
        ) as connection:
            yield connection
    except psycopg.OperationalError as error:
        raise UnavailableError(
            f"the database does not answer: {first_line(error)}",
            "Run the command again later; what was not committed is loaded then.",
        ) from error
    except psycopg.Error as error:
        hint = error.diag.message_hint or "See the log of the database."
        raise ClaimsError(f"the database refuses: {first_line(error)}", hint) from error


def address_of(settings: Settings) -> str:
    """
    Return the address of the database, which libpq can read.

    Raises:
        SettingsError: it cannot. The sentence is fixed: libpq's own quotes the address, with its password.
    """
    try:
        parts = conninfo_to_dict(settings.database_url)
    except (psycopg.ProgrammingError, UnicodeEncodeError):
        parts = None
    if parts is None or _has_rest_of_password(parts):
        raise SettingsError(
            "CLAIMS_DATABASE_URL is no address of a database",
            "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; in the password @ is %40, / is %2F and % is %25.",
        )
    return settings.database_url


def _has_rest_of_password(parts: dict[str, Any]) -> bool:
    # No host has an @. After a slash in a password libpq takes its rest for the name, and finds no user.
    host, name = str(parts.get("host", "")), str(parts.get("dbname", ""))
    return "@" in host or ("@" in name and "user" not in parts)


def first_line(error: Exception) -> str:
    """Return an error's first line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
