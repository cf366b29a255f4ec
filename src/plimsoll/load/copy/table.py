"""
Load chunks into one table: COPY and a row of the ledger in one transaction.

Rule 1: a chunk is claimed in the ledger before it is copied. The primary key of the ledger lets one transaction
        win, so a chunk is loaded once, whoever loads it and whenever a run was killed.
Rule 2: after a lost connection it is not known whether a transaction was committed; claiming the chunk again
        tells.
Rule 3: no message repeats a value of a row.
"""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.load.copy.inputs import Input, stream_of
from plimsoll.load.copy.ledger import LoadedChunk, check_table, digests_of, places_of
from plimsoll.load.copy.refused import RefusedAt, RefusedRow, line_of, reason_of
from plimsoll.load.copy.rows import Chunk, RowFormat
from plimsoll.model.sql_name import quoted_name
from plimsoll.sources.postgres.named_table import keep_views_out, path_of, table_named
from plimsoll.sources.postgres.pg_stat import refusal, without_password
from plimsoll.sources.postgres.session import (
    is_silence,
    keep_event_triggers_out,
    open_session,
    opening_of,
)
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.terms import END, LOADING

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session

# After so many attempts without success a chunk fails: two minutes, which a failover of Amazon RDS takes at most (its
# documentation, "Failing over a Multi-AZ DB instance": typically 60 to 120 seconds).
_ATTEMPTS = 12
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.5, 16.0
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
    oid: int
    ledger: str
    """With its schema, quoted."""
    columns: str
    """Quoted, separated by commas."""


class TableSession:
    """A connection that loads chunks, opened again after it was lost. For one thread."""

    def __init__(self, dsn: str, options: CopyOptions, *, is_durable: bool = True) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Args:
            dsn: of the server.
            options: how rows are written.
            is_durable: whether commits wait for their WAL although the role's do not.
        """
        self._dsn, self._options = dsn, options
        self._durable = f"; {loading.DURABLE}".encode() if is_durable else b""
        self._connection: Session[tuple[Any, ...]] | None = None

    def find(self, table: str) -> LoadTable:
        """
        Find the table, and make the ledger in its schema if it is not there.

        Raises:
            UsageError: there is no such table, or one of the columns is not in it.
            AccessDenied: the role may not make the ledger.
            SourceError: the server refused, or did not answer.
        """
        import psycopg

        wanted = self._options.columns
        twice = next((name for name in wanted if wanted.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"column '{twice}' is named twice", "Name each column once.")
        try:
            found, there = self._find_once(table)
        except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
            # Another load made the ledger at the same time; now it is there.
            self.close()
            found, there = self._find_once(table)
        except psycopg.Error as error:
            raise self._error_from(error, f"unable to load into '{table}'") from None
        absent = [name for name in wanted if name not in there]
        if absent:
            raise UsageError(
                f"table '{table}' has no column '{absent[0]}'",
                f"Its columns are {', '.join(there)}.",
            )
        columns = ", ".join(quoted_name(name) for name in wanted or there)
        return replace(found, columns=columns)

    def _find_once(self, table: str) -> tuple[LoadTable, list[str]]:
        connection = self._open()
        path = path_of(connection)
        connection.execute(opening_of(connection, LOADING))
        keep_views_out(connection, is_local=True)
        found = table_named(connection, table, path)
        if found is None:
            raise UsageError(f"there is no table '{table}'", "Write it as schema.table.")
        ((schema, is_unlogged),) = connection.execute(loading.SCHEMA_OF, (found.oid,)).fetchall()
        ((there,),) = connection.execute(loading.COLUMNS, (found.oid,)).fetchall()
        name = loading.UNLOGGED_LEDGER_NAME if is_unlogged else loading.LEDGER_NAME
        ledger = f"{schema}.{name}"
        ((is_there,),) = connection.execute(loading.IS_THERE, (ledger,)).fetchall()
        if not is_there:
            keep_event_triggers_out(connection, is_local=True)
            connection.execute(loading.ledger_made(ledger, is_unlogged=is_unlogged).encode())
        connection.execute(loading.COMMIT)
        made = LoadTable(name=found.name, oid=found.oid, ledger=ledger, columns="")
        return made, list(there or ())

    def loaded(self, table: LoadTable, one: Input) -> tuple[LoadedChunk, ...]:
        """
        Return the chunks of a file that are in the table, in order.

        If other content of a file of this name was loaded, and all of it is in this file, its chunks become those
        of this file: it was corrected, or rows were added.

        Raises:
            UsageError: other content of this name was loaded and is not in this file, or it is not known
                whether the rows are in this table.
            SourceError: the server or S3 refused, or did not answer.
        """
        # In this order: another run of this file may make the other content that of this one in between.
        rows = self._asked(
            loading.other_content(table.ledger), (table.name, one.name, one.identity)
        )
        found = self._chunks_of(table, one.identity, one.name)
        if found or not rows:
            return found
        ((other,),) = rows
        before = self._chunks_of(table, other, one.name)
        places = places_of(before, stream_of(one).pieces)
        if places is None:
            raise UsageError(
                f"other content of '{one.name}' was loaded into {table.name} before, and is not in it now",
                "If all its rows are new, load it under another name. Else delete the rows of the file, and its"
                f" entries in {table.ledger}.",
            )
        self._move(table, before, places, identities=(other, one.identity))
        return self._chunks_of(table, one.identity, one.name)

    def _chunks_of(self, table: LoadTable, identity: str, file: str) -> tuple[LoadedChunk, ...]:
        elsewhere = self._asked(
            loading.loaded_elsewhere(table.ledger), (identity, table.name, table.oid)
        )
        check_table(
            elsewhere[0] if elsewhere else None,
            file=file,
            table=table.name,
            oid=table.oid,
            ledger=table.ledger,
        )
        rows = self._asked(loading.chunks(table.ledger), (table.name, identity))
        return tuple(LoadedChunk(*row) for row in rows)

    def _asked(self, query: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            connection = self._open()
            connection.execute(opening_of(connection, LOADING))
            rows = connection.execute(query.encode(), parameters).fetchall()
            connection.execute(END)
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, "unable to read the ledger") from None
        return rows

    def _move(
        self,
        table: LoadTable,
        chunks: tuple[LoadedChunk, ...],
        places: list[int],
        *,
        identities: tuple[str, str],
    ) -> None:
        """Make the chunks those of the second identity; where another run did it, nothing is changed."""
        import psycopg

        was, now = identities
        moves = [
            (now, place, place + c.end_byte - c.start_byte, table.name, was, c.start_byte)
            for c, place in zip(chunks, places, strict=True)
        ]
        try:
            connection = self._open()
            connection.execute(opening_of(connection, LOADING) + self._durable)
            connection.cursor().executemany(loading.moved(table.ledger).encode(), moves)
            connection.execute(loading.COMMIT)
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, "unable to change the ledger") from None

    def load(
        self,
        table: LoadTable,
        chunk: Chunk,
        *,
        file: str,
        identity: str,
        wait: Callable[[int], object],
        pause: Callable[[float], object] = time.sleep,
    ) -> int | None:
        """
        Load a chunk, or find that it is loaded.

        Args:
            table: from `find`.
            chunk: whole rows.
            file: name for the ledger and for messages.
            identity: of the file's content.
            wait: called with the size of each piece before it is sent.
            pause: waits for so many seconds before another attempt; raises to end it.

        Returns:
            Rows that were loaded now; None if another transaction had loaded them.

        Raises:
            RefusedRow: the server refuses a row; nothing of the chunk is loaded.
            UsageError: the table is another one than `find` found, another run cuts the file elsewhere, or the options
                do not fit together.
            SourceError: the server refuses, or does not answer for two minutes.
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
                pause(min(_FIRST_PAUSE_S * 2**attempt, _MOST_PAUSE_S))
            except (psycopg.DataError, psycopg.IntegrityError) as error:
                self.close()
                raise self._refusal_of(error, f"unable to load {where}", identity, chunk) from None
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
    ) -> int | None:
        connection = self._open()
        connection.execute(opening_of(connection, LOADING) + self._durable)
        name, identity = file
        key = (
            *(table.name, table.oid, name, identity, chunk.start_byte, chunk.end_byte),
            *digests_of(chunk.pieces),
        )
        claimed = connection.execute(loading.claimed(table.ledger).encode(), key).fetchone()
        if claimed is None:
            place = (table.name, identity, chunk.start_byte)
            found = connection.execute(loading.end_of(table.ledger).encode(), place).fetchone()
            connection.execute(END)
            if found is not None and found[0] != chunk.end_byte:
                raise UsageError(
                    f"another run loads '{name}' in other pieces",
                    "Run the command again when that one has ended: what was loaded stays.",
                )
            return None
        cursor = connection.cursor()
        with cursor.copy(self._copy_command(table, chunk).encode()) as copy:
            for piece in pieces_to_send(chunk.pieces):
                wait(len(piece))
                copy.write(piece)
        rows = max(cursor.rowcount, 0)
        counted = connection.execute(
            loading.counted(table.ledger).encode(), (rows, table.name, identity, chunk.start_byte)
        )
        if not counted.rowcount:
            raise UsageError(
                f"{table.name} is another table than at the beginning of the load",
                "What was loaded before is in the table that had this name then. Check both, and run the command again.",
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

    def _open(self) -> "Session[tuple[Any, ...]]":
        from psycopg.rows import tuple_row

        if self._connection is None or self._connection.closed:
            self._connection = open_session(self._dsn, LOADING, tuple_row)
        return self._connection

    def _error_from(self, error: Any, doing: str) -> Exception:
        """Convert an error of the server to one of ours, without values of rows."""
        import psycopg

        is_lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
        if is_lost or is_silence(error):
            return refusal(error, self._dsn)
        reason = self._reason(error)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return AccessDenied(f"{doing}: {reason}", f"Needed: {LOADING.needs}.")
        return SourceError(f"{doing}: {reason}", "Run the command again: what was loaded stays.")

    def _refusal_of(self, error: Any, doing: str, identity: str, chunk: Chunk) -> Exception:
        """Convert an error about data; without a line, and not of a constraint, it is about the options."""
        import psycopg

        found = line_of(error)
        reason = self._reason(error)
        if found is None and isinstance(error, psycopg.DataError):
            return UsageError(
                f"{doing}: {reason}",
                "Check --encoding, --delimiter, --null and --quote: they may not fit together, or not the server.",
            )
        line, column = found or (None, "")
        at = RefusedAt(identity=identity, start_byte=chunk.start_byte, line=line, column=column)
        place = "" if line is None else f", line {line} of them{column}"
        return RefusedRow(f"{doing}{place}", at, reason)

    def _reason(self, error: Any) -> str:
        """Return what the server says, without values of rows and passwords."""
        return without_password(reason_of(error), self._dsn)


def pieces_to_send(pieces: Iterable[bytes]) -> Iterable[memoryview]:
    """Return pieces of at most `SEND_BYTES`, without copying them."""
    for piece in pieces:
        view = memoryview(piece)
        for start in range(0, len(view), SEND_BYTES):
            yield view[start : start + SEND_BYTES]
