"""Connections to the database, with errors as sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from claims_pipeline.errors import ClaimsError, UnavailableError
from claims_pipeline.settings import Settings

Connection = psycopg.Connection[tuple[Any, ...]]
CONNECT_S = 10


@contextmanager
def connected(settings: Settings, *, autocommit: bool = False) -> Iterator[Connection]:
    """
    Connect while the block lasts.

    Raises:
        UnavailableError: the server does not answer, or went away.
        ClaimsError: it refuses a statement.
    """
    try:
        with psycopg.connect(
            settings.database_url,
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


def first_line(error: Exception) -> str:
    """Return an error's first line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
