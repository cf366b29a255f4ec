"""
The database of an experiment, from outside: a connection, and a probe of its response.

Rule: what is asked, and of which table, comes from each experiment.
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql

from plimsoll.errors import SourceError
from plimsoll_lab.servers.server import ANSWER_S

# Of the response: often enough for a median of twenty seconds, seldom enough to be no load.
_EVERY_S = 0.2
# A statement of the probe that waits longer is counted with this time.
_PATIENCE_MS = 20_000


class ExperimentDatabase:
    """A connection to the database of an experiment; use it in a `with` block."""

    def __init__(self, dsn: str) -> None:
        """Keep where it is; nothing is opened yet."""
        self._dsn = dsn
        self._connection: psycopg.Connection | None = None

    def __enter__(self) -> Self:
        """
        Connect.

        Raises:
            SourceError: the server does not answer.
        """
        try:
            self._connection = psycopg.connect(self._dsn, autocommit=True, application_name="plimsoll lab")
        except psycopg.Error as error:
            raise refused(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def tidy(self) -> None:
        """Leave nothing for autovacuum and the checkpointer to do that was there before the experiment."""
        for statement in ("vacuum (analyze)", "checkpoint"):
            self.run(statement)

    def count_statements(self) -> None:
        """Create the extension that counts statements, as RDS has it."""
        self.run("create extension pg_stat_statements")

    def run(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """
        Run a statement, and return its rows.

        Raises:
            SourceError: the server refused it, or has ended.
        """
        with self._opened() as cursor:
            try:
                cursor.execute(sql.SQL(statement), values or None)
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error as error:
                raise refused(error) from error

    def copy_rows(self, statement: str, parts: Iterable[bytes]) -> None:
        """
        Send rows with a COPY … FROM STDIN.

        Args:
            statement: the COPY.
            parts: whole or broken rows, in order.

        Raises:
            SourceError: the server refused it, or has ended.
        """
        with self._opened() as cursor:
            try:
                with cursor.copy(sql.SQL(statement)) as copy:
                    for part in parts:
                        copy.write(part)
            except psycopg.Error as error:
                raise refused(error) from error

    def cancel(self) -> None:
        """Cancel the statement that runs, from another thread."""
        if self._connection is not None:
            # The server may have ended, and its statements with it.
            with suppress(psycopg.Error):
                self._connection.cancel_safe(timeout=ANSWER_S)

    def _opened(self) -> psycopg.Cursor:
        assert self._connection is not None
        return self._connection.cursor()


class ResponseProbe:
    """Runs one statement after the other, and keeps how long each took; use it in a `with` block."""

    def __init__(self, dsn: str, statement: str, next_values: Callable[[], tuple[object, ...]]) -> None:
        """
        Keep what is asked.

        Args:
            dsn: of the database.
            statement: what is run again and again.
            next_values: returns the values of the next one.
        """
        self._dsn = dsn
        self._statement, self._next_values = statement, next_values
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.times_s: list[float] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        # The server may go away at the end of the experiment; then there is nothing to look up.
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(
                self._dsn,
                autocommit=True,
                application_name="plimsoll lab probe",
                options=f"-c statement_timeout={_PATIENCE_MS}",
            ) as connection,
        ):
            while not self._stop.wait(_EVERY_S):
                began = time.monotonic()
                with suppress(psycopg.errors.QueryCanceled):
                    connection.execute(sql.SQL(self._statement), self._next_values())
                self.times_s.append(time.monotonic() - began)


def refused(error: psycopg.Error) -> SourceError:
    """Return the error of an experiment whose database refused something."""
    words = (str(error).splitlines() or ["it gave no reason"])[0]
    return SourceError(f"the database of the experiment refused: {words}", "Run the experiment again.")
