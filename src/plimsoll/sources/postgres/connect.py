"""
Send statements to a PostgreSQL server over one connection, in guarded read-only transactions.

Rule 1: no error and no place contains a password.
Rule 2: a request is one message and one transaction, which ends before its answer is used.
Rule 3: its cost is counted: statements, bytes of rows, seconds until the answer.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plimsoll.sources.postgres.machine import processors_of
from plimsoll.sources.postgres.pg_stat import first_line, is_connection_string, not_a_connection_string, refusal
from plimsoll.sources.postgres.session import is_silence, open_session
from plimsoll.sources.postgres.statements.terms import END, INSPECTION

if TYPE_CHECKING:
    import psycopg

    from plimsoll.sources.postgres.session import Session

Rows = list[tuple[Any, ...]]

# A DataRow message has seven bytes and four for each value, besides the values (PostgreSQL docs,
# "Message Formats").
_ROW_BYTES = 7
_VALUE_BYTES = 4


class NoAnswer(Exception):
    """A request got no answer; the message gives the reason, without secrets."""

    def __init__(self, reason: str, state: str = "", *, is_connection_lost: bool = False) -> None:
        """Keep the reason, its SQLSTATE, and whether the connection is lost."""
        super().__init__(reason)
        self.reason = reason
        self.state = state
        self.is_connection_lost = is_connection_lost


class ServerConnection:
    """A connection to one server, opened on first use and again after it was lost."""

    def __init__(self, dsn: str, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Args:
            dsn: libpq connection string or URI; what it leaves out comes from PG* variables,
                service and password files, as with every libpq program.
            clock: seconds, by which the time of answers is counted.

        Raises:
            UsageError: the DSN is not a connection string.
        """
        if not is_connection_string(dsn):
            raise not_a_connection_string()
        self._dsn = dsn
        self._clock = clock
        self._connection: Session[tuple[Any, ...]] | None = None
        self.place = ""
        """`127.0.0.1:5432/orders`, once it was connected to."""
        self.vcpu_count: int | None = None
        """Of this machine, where the server runs on it; None where it is not seen to."""
        self.query_count = 0
        self.received_bytes = 0
        self.asked_s = 0.0
        self._was_silent = False

    def open(self) -> None:
        """
        Connect, if that is not so yet.

        Raises:
            AccessDenied: the server refused the role, or has no such database.
            Unreachable: no server answered.
        """
        import psycopg

        if self._connection is not None:
            return
        try:
            self._connect()
        except psycopg.Error as error:
            raise refusal(error, self._dsn) from None

    def ask(self, *statements: str, lock: str = "") -> list[Rows]:
        """
        Return the rows of each statement, all of one transaction; strings for what is not a number.

        Args:
            statements: what is asked.
            lock: is run before them, and gives no rows.

        Raises:
            NoAnswer: one of them failed, or the connection did.
        """
        import psycopg

        began_s = self._clock()
        try:
            connection = self._connection or self._connect()
            opening = INSPECTION.opening(connection.info.server_version)
            message = "; ".join((opening, *filter(None, [lock]), *statements, END))
            # Without parameters this is PostgreSQL's simple protocol: one message, many results.
            answers = self._answers(connection.execute(message.encode()))
        except psycopg.Error as error:
            state = getattr(error, "sqlstate", None) or ""
            self._was_silent = is_silence(error)
            is_lost = not self._roll_back()
            raise NoAnswer(first_line(error, self._dsn), state, is_connection_lost=is_lost) from None
        except BaseException:
            # Ctrl-C: nothing waits for the answer any more.
            self.close()
            raise
        finally:
            self.asked_s += self._clock() - began_s
            self.query_count += len(statements)
        assert len(statements) == len(answers)
        connection.answer_s, self._was_silent = INSPECTION.answer_s, False
        return answers

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> "Session[tuple[Any, ...]]":
        from psycopg.rows import tuple_row

        connection = open_session(self._dsn, INSPECTION, tuple_row)
        info = connection.info
        self.place = f"{info.host}:{info.port}/{info.dbname}"
        self.vcpu_count = processors_of(info.backend_pid, info.user, info.dbname)
        if self._was_silent:
            # One long wait tells enough; the server gets another chance, not another such wait.
            connection.answer_s = INSPECTION.connect_s
        self._connection = connection
        return connection

    def _answers(self, cursor: "psycopg.Cursor[tuple[Any, ...]]") -> list[Rows]:
        answers = []
        more: bool | None = True
        while more:
            if cursor.description is not None and cursor.pgresult is not None:
                answers.append(cursor.fetchall())
                result = cursor.pgresult
                self.received_bytes += sum(
                    _ROW_BYTES
                    + sum(_VALUE_BYTES + len(result.get_value(row, column) or b"") for column in range(result.nfields))
                    for row in range(result.ntuples)
                )
            more = cursor.nextset()
        return answers

    def _roll_back(self) -> bool:
        """Roll back the failed transaction, and return whether the connection is still usable."""
        import psycopg

        try:
            if self._connection is not None and not self._connection.closed:
                self._connection.execute(END.encode())
                return True
        except psycopg.Error:
            pass
        self.close()
        return False
