"""
Load chunks into one table: COPY and a row of the ledger in one transaction.

Rule 1: a chunk is claimed in the ledger before it is copied. The primary key of the ledger lets one transaction
        win, so a chunk is loaded once, whoever loads it and whenever a run was killed.
Rule 2: after a lost connection it is not known whether a transaction was committed; claiming the chunk again
        tells.
Rule 3: no message repeats a value of a row.
"""

import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from plimsoll.errors import AccessDenied, DataError, SourceError, UsageError
from plimsoll.load.copy.rows import Chunk, RowFormat
from plimsoll.model.sql_name import quoted_name
from plimsoll.sources.postgres.named_table import keep_views_out, path_of, table_named
from plimsoll.sources.postgres.pg_stat import refusal, without_password
from plimsoll.sources.postgres.session import open_session
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.terms import END, LOADING

if TYPE_CHECKING:
    import psycopg

# After so many attempts without success a chunk fails: about half a minute, which a restart of a server takes.
_ATTEMPTS = 6
_FIRST_PAUSE_S = 0.5
# Pieces in which a chunk is sent and paced.
SEND_BYTES = 65_536


class CopyOptions(Struct, frozen=True, kw_only=True):
    """How the server reads the rows; None leaves the server's default."""

    is_csv: bool
    has_header: bool = False
    """Whether the first line of each file is none of its rows."""
    delimiter: str | None = None
    null: str | None = None
    quote: str | None = None
    encoding: str = "UTF8"
    columns: tuple[str, ...] = ()
    """Columns of the rows in order; empty for all of the table."""

    @property
    def row_format(self) -> RowFormat:
        """Return what tells where a row ends."""
        return RowFormat(is_csv=self.is_csv, quote=(self.quote or '"').encode())


class LoadTable(Struct, frozen=True, kw_only=True):
    """The table, and the names that statements use."""

    name: str
    """With its schema, quoted."""
    ledger: str
    """With its schema, quoted."""
    columns: str
    """Quoted, separated by commas."""


class LoadedChunk(Struct, frozen=True):
    """A chunk of a file that is in the table."""

    start_byte: int
    end_byte: int
    row_count: int


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


class TableSession:
    """A connection that loads chunks, opened again after it was lost. For one thread."""

    def __init__(self, dsn: str, options: CopyOptions) -> None:
        """Keep the DSN; nothing is connected yet."""
        self._dsn, self._options = dsn, options
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def find(self, table: str) -> LoadTable:
        """
        Find the table, and make the ledger in its schema if it is not there.

        Raises:
            UsageError: there is no such table, or one of the columns is not in it.
            AccessDenied: the role may not make the ledger.
            SourceError: the server refused, or did not answer.
        """
        import psycopg

        try:
            found, there, ledger = self._find_once(table)
        except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
            # Another load made the ledger at the same time; now it is there.
            self.close()
            found, there, ledger = self._find_once(table)
        except psycopg.Error as error:
            raise self._error_from(error, f"unable to load into '{table}'") from None
        wanted = self._options.columns or tuple(there)
        absent = [name for name in wanted if name not in there]
        if absent:
            raise UsageError(
                f"table '{table}' has no column '{absent[0]}'",
                f"Its columns are {', '.join(there)}.",
            )
        columns = ", ".join(quoted_name(name) for name in wanted)
        return LoadTable(name=found, ledger=ledger, columns=columns)

    def _find_once(self, table: str) -> tuple[str, list[str], str]:
        connection = self._open()
        path = path_of(connection)
        connection.execute(LOADING.opening.encode())
        keep_views_out(connection, is_local=True)
        found = table_named(connection, table, path)
        if found is None:
            raise UsageError(f"there is no table '{table}'", "Write it as schema.table.")
        ((schema,),) = connection.execute(loading.SCHEMA_OF, (found.oid,)).fetchall()
        ((there,),) = connection.execute(loading.COLUMNS, (found.oid,)).fetchall()
        ledger = f"{schema}.{loading.LEDGER_NAME}"
        connection.execute(loading.ledger_made(ledger).encode())
        connection.execute(loading.COMMIT)
        return found.name, list(there or ()), ledger

    def loaded(self, table: LoadTable, *, file: str, identity: str) -> tuple[LoadedChunk, ...]:
        """
        Return the chunks of a file that are in the table, in order.

        Raises:
            UsageError: other content was loaded from a file of this name.
            SourceError: the server refused, or did not answer.
        """
        import psycopg

        try:
            connection = self._open()
            connection.execute(LOADING.opening.encode())
            rows = connection.execute(
                loading.loaded(table.ledger).encode(), (table.name, identity)
            ).fetchall()
            other = connection.execute(
                loading.other_content(table.ledger).encode(), (table.name, file, identity)
            ).fetchone()
            connection.execute(END)
        except psycopg.Error as error:
            raise self._error_from(error, "unable to read the ledger") from None
        if other is not None and not rows:
            raise UsageError(
                f"other content of '{file}' was loaded into {table.name} before",
                f"Rename the file if its rows are new; the ledger is {table.ledger}.",
            )
        return tuple(LoadedChunk(*row) for row in rows)

    def load(
        self,
        table: LoadTable,
        chunk: Chunk,
        *,
        file: str,
        identity: str,
        wait: Callable[[int], object],
    ) -> int:
        """
        Load a chunk, or find that it is loaded.

        Args:
            table: from `find`.
            chunk: whole rows.
            file: name for the ledger and for messages.
            identity: of the file's content.
            wait: called with the size of each piece before it is sent.

        Returns:
            Rows that were loaded now; 0 if another transaction had loaded them.

        Raises:
            RefusedRow: the server refuses a row; nothing of the chunk is loaded.
            SourceError: the server refuses, or does not answer for half a minute.
        """
        import psycopg

        where = f"'{file}', bytes {chunk.start_byte:,} to {chunk.end_byte:,}"
        for attempt in range(_ATTEMPTS):
            try:
                return self._load_once(table, chunk, (file, identity), wait)
            except (
                psycopg.OperationalError,
                psycopg.errors.DeadlockDetected,
                psycopg.errors.SerializationFailure,
            ) as error:
                self.close()
                if attempt + 1 == _ATTEMPTS or isinstance(error, psycopg.errors.DiskFull):
                    raise self._error_from(error, f"unable to load {where}") from None
                time.sleep(_FIRST_PAUSE_S * 2**attempt)
            except (psycopg.DataError, psycopg.IntegrityError) as error:
                self.close()
                raise self._refused_row(error, f"unable to load {where}", identity, chunk) from None
            except psycopg.Error as error:
                self.close()
                raise self._error_from(error, f"unable to load {where}") from None
            except BaseException:
                self.close()
                raise
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connection, if there is one; what it did not commit is undone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _load_once(
        self,
        table: LoadTable,
        chunk: Chunk,
        file: tuple[str, str],
        wait: Callable[[int], object],
    ) -> int:
        connection = self._open()
        connection.execute(LOADING.opening.encode())
        name, identity = file
        key = (table.name, name, identity, chunk.start_byte, chunk.end_byte)
        claimed = connection.execute(loading.claimed(table.ledger).encode(), key).fetchone()
        if claimed is None:
            connection.execute(END)
            return 0
        cursor = connection.cursor()
        with cursor.copy(self._copy_command(table, chunk).encode()) as copy:
            for piece in pieces_to_send(chunk.pieces):
                wait(len(piece))
                copy.write(piece)
        rows = max(cursor.rowcount, 0)
        connection.execute(
            loading.counted(table.ledger).encode(), (rows, table.name, identity, chunk.start_byte)
        )
        connection.execute(loading.COMMIT)
        return rows

    def _copy_command(self, table: LoadTable, chunk: Chunk) -> str:
        options = self._options
        given = {
            "delimiter": options.delimiter,
            "null": options.null,
            "quote": options.quote,
            "encoding": options.encoding,
        }
        parts = [f"format {'csv' if options.is_csv else 'text'}"]
        parts += [f"{n} {loading.literal(v)}" for n, v in given.items() if v is not None]
        # The name of the file's columns, which is in its first chunk alone.
        if options.has_header and chunk.start_byte == 0:
            parts.append("header true")
        return loading.copied(table.name, table.columns, ", ".join(parts))

    def _open(self) -> "psycopg.Connection[tuple[Any, ...]]":
        from psycopg.rows import tuple_row

        if self._connection is None or self._connection.closed:
            self._connection = open_session(self._dsn, LOADING, tuple_row)
        return self._connection

    def _error_from(self, error: Any, doing: str) -> Exception:
        """Convert an error of the server to one of ours, without values of rows."""
        import psycopg

        if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
            return refusal(error, self._dsn)
        reason = self._reason(error)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return AccessDenied(f"{doing}: {reason}", f"Needed: {LOADING.needs}.")
        return SourceError(f"{doing}: {reason}", "Run the command again: what was loaded stays.")

    def _refused_row(self, error: Any, doing: str, identity: str, chunk: Chunk) -> RefusedRow:
        found = re.search(r"line (\d+)(, column [^:]+)?", error.diag.context or "")
        at = RefusedAt(
            identity=identity,
            start_byte=chunk.start_byte,
            line=int(found[1]) if found else None,
            column=(found[2] or "") if found else "",
        )
        line = "" if at.line is None else f", line {at.line} of them{at.column}"
        return RefusedRow(f"{doing}{line}", at, self._reason(error))

    def _reason(self, error: Any) -> str:
        """Return what the server says, without values of rows and passwords."""
        first = (error.diag.message_primary or type(error).__name__).partition(': "')[0]
        return without_password(first, self._dsn)


def pieces_to_send(pieces: Iterable[bytes]) -> Iterable[memoryview]:
    """Return pieces of at most `SEND_BYTES`, without copying them."""
    for piece in pieces:
        view = memoryview(piece)
        for start in range(0, len(view), SEND_BYTES):
            yield view[start : start + SEND_BYTES]
