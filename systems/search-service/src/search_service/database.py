"""The database with the copy: connections, transactions, and tables."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.orm import Session

from search_service.errors import RefusedError, ServiceError, SettingsError, UnavailableError
from search_service.model import AssetRow, Base

CONNECT_S = 5
STATEMENT_MS = 30_000
"""No statement of the service takes longer; a database at a ceiling must not collect waiting statements."""
_NO_TABLE = "42P01"
_EXTERNAL = f"ALTER TABLE {AssetRow.__tablename__} ALTER COLUMN text SET STORAGE EXTERNAL"


def connect(url: str, *, size: int = 5) -> Engine:
    """
    Return a pool of connections; nothing is opened yet.

    Raises:
        SettingsError: it is no URL of a PostgreSQL database.
    """
    try:
        return create_engine(
            # The common form means psycopg here, SQLAlchemy's own default is an older driver.
            url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=size,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": CONNECT_S,
                # A client that vanished is noticed within half a minute, and its locks are given back.
                "options": f"-c statement_timeout={STATEMENT_MS} -c idle_in_transaction_session_timeout=60000"
                " -c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
                "application_name": "search-service",
            },
        )
    except (ArgumentError, ImportError, ValueError) as error:
        raise SettingsError(
            f"SEARCH_DATABASE_URL cannot be used: {error}", "It looks like postgresql://USER@HOST:PORT/DATABASE."
        ) from None


@contextmanager
def connection_to(database: Engine) -> Iterator[Connection]:
    """
    Give a connection of one's own.

    Raises:
        UnavailableError: the database does not answer.
    """
    try:
        with database.connect() as connection:
            yield connection
    except (OperationalError, InterfaceError) as error:
        raise unavailable(error) from error


@contextmanager
def transaction(database: Engine, *, isolation: str = "READ COMMITTED") -> Iterator[Session]:
    """
    Give a session whose changes are committed at the end, or undone if anything is raised.

    Raises:
        UnavailableError: the database does not answer, or the transaction may succeed later.
        RefusedError: a value cannot be stored.
        ServiceError: the tables are missing.
    """
    try:
        with Session(database.execution_options(isolation_level=isolation)) as session, session.begin():
            yield session
    except (OperationalError, InterfaceError) as error:
        raise unavailable(error) from error
    except (DataError, IntegrityError) as error:
        raise RefusedError(f"the database refused a value: {_words(error)}") from error
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != _NO_TABLE:
            raise
        raise ServiceError("the database lacks the tables of the service", "Run: search-service setup.") from error


def unavailable(error: DBAPIError) -> UnavailableError:
    """Return the error: the server does not answer, or it answered that the transaction cannot be now."""
    words = _words(error)
    if getattr(error.orig, "sqlstate", None):
        return UnavailableError(f"the database refused a transaction: {words}")
    return UnavailableError(
        f"the database does not answer: {words}",
        "Start it, or set SEARCH_DATABASE_URL to the address of one that runs.",
    )


def _words(error: DBAPIError) -> str:
    return (str(error.orig).splitlines() or [""])[0]


def prepare(database: Engine) -> None:
    """
    Create the tables that do not exist yet.

    Texts of assets are stored out of line and not compressed (EXTERNAL), as the texts of the published service were
    large whatever their compression; PostgreSQL documentation, "TOAST".

    Raises:
        UnavailableError: the database does not answer.
    """
    with transaction(database) as session:
        # Two set-ups at the same time would both create the tables.
        session.execute(text("SELECT pg_advisory_xact_lock(hashtext('search-service set-up'))"))
        Base.metadata.create_all(session.connection())
        session.execute(text(_EXTERNAL))
