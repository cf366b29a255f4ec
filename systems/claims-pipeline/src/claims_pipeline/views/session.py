"""A connection to the database for one command."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection

from claims_pipeline.database.connection import address_of
from claims_pipeline.errors import UnavailableError
from claims_pipeline.settings import Settings

CONNECT_S = 10


@contextmanager
def open_database(settings: Settings) -> Iterator[Connection]:
    """
    Give a connection in autocommit mode, and close it at the end.

    Raises:
        SettingsError: the address is none.
        UnavailableError: the database does not answer, lacks the tables, or refused a statement.
    """
    address = address_of(settings)
    try:
        with psycopg.connect(
            address, autocommit=True, connect_timeout=CONNECT_S, application_name="claims-pipeline"
        ) as connection:
            yield connection
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
        raise UnavailableError(f"the database lacks a table: {_words(error)}", "Run: claims-pipeline setup.") from error
    except psycopg.Error as error:
        raise UnavailableError(
            f"the database cannot be used: {_words(error)}",
            "CLAIMS_DATABASE_URL looks like postgresql://USER@HOST:PORT/DATABASE.",
        ) from error


def _words(error: psycopg.Error) -> str:
    return (str(error).splitlines() or ["it gave no reason"])[0]
