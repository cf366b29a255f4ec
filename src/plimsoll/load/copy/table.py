"""
Load chunks into one table: COPY and a row of the ledger in one transaction.

Rule 1: a chunk is claimed in the ledger before it is copied. The primary key of the ledger lets one transaction
        win, so a chunk is loaded once, whoever loads it and whenever a run was killed.
Rule 2: after a lost connection it is not known whether a transaction was committed; claiming the chunk again
        tells.
Rule 3: no message repeats a value of a row.
Rule 4: the ledger is held in each transaction that uses it: see `trusted`.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.load.copy.entries import LedgerSession, LoadTable, exchanged
from plimsoll.load.copy.ledger import LedgerOf, digests_of
from plimsoll.load.copy.refused import RefusedAt, RefusedRow, line_of
from plimsoll.load.copy.rows import Chunk, RowFormat
from plimsoll.load.copy.trusted import check_ledger, hold_ledger
from plimsoll.model.sql_name import quoted_name
from plimsoll.sources.postgres.named_table import keep_views_out, path_of, table_named
from plimsoll.sources.postgres.session import keep_event_triggers_out, opening_of
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.terms import END, LOADING

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


class TableSession(LedgerSession):
    """A connection that loads chunks, opened again after it was lost. For one thread."""

    def __init__(self, dsn: str, options: CopyOptions, *, is_durable: bool = True) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Args:
            dsn: of the server.
            options: how rows are written.
            is_durable: whether commits wait for their WAL although the role's do not.
        """
        super().__init__(dsn, is_durable=is_durable)
        self._options = options

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
            raise UsageError(f"table '{table}' has no column '{absent[0]}'", f"Its columns are {', '.join(there)}.")
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
        if is_there:
            # A view would be locked with all that it reads.
            check_ledger(connection, ledger, found.oid)
        else:
            keep_event_triggers_out(connection, is_local=True)
            connection.execute(loading.ledger_made(ledger, is_unlogged=is_unlogged).encode())
            connection.execute(loading.others_kept_out(ledger).encode())
        state = hold_ledger(connection, ledger, found.oid)
        connection.execute(loading.COMMIT)
        if state.is_old:
            self._add_place(connection, ledger, found.oid, is_ours=state.is_ours)
        made = LoadTable(name=found.name, oid=found.oid, ledger=ledger, columns="", is_partitioned=found.is_partitioned)
        return made, list(there or ())

    def _add_place(self, connection: Any, ledger: str, oid: int, *, is_ours: bool) -> None:
        """Give a ledger of an earlier version its new column; another load may do it at the same time."""
        if not is_ours:
            raise UsageError(
                f"an earlier version of Plimsoll made {ledger}, and another role owns it",
                f"Its owner can change it: ALTER TABLE {ledger} ADD COLUMN stored_in text;",
            )
        connection.execute(opening_of(connection, LOADING))
        keep_event_triggers_out(connection, is_local=True)
        if hold_ledger(connection, ledger, oid, is_alone=True).is_old:
            connection.execute(loading.place_added(ledger).encode())
        connection.execute(loading.COMMIT)

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

    def _load_once(
        self, table: LoadTable, chunk: Chunk, file: tuple[str, str], wait: Callable[[int], object]
    ) -> int | None:
        connection = self._held(table, is_durable=True)
        name, identity = file
        digest, head = digests_of(chunk.pieces)
        key = (table.name, table.oid, name, identity, chunk.start_byte, chunk.end_byte, digest, head)
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
            if found is not None and found[1] != digest:
                of = LedgerOf(ledger=table.ledger, target=table.name, identity=identity, file=name)
                raise of.refusal(f"the bytes are others from {chunk.start_byte:,} to {found[0]:,}")
            return None
        before = self._places(connection, table) if table.is_partitioned else {}
        cursor = connection.cursor()
        with cursor.copy(self._copy_command(table, chunk).encode()) as copy:
            for piece in pieces_to_send(chunk.pieces):
                wait(len(piece))
                copy.write(piece)
        rows: int = max(cursor.rowcount, 0)
        after = self._places(connection, table)
        written = {place: count - before.get(place, 0) for place, count in after.items()}
        # Where the server does not count, it is not known which partitions have the rows.
        is_known = not table.is_partitioned or sum(written.values()) >= rows
        places = [one for one, count in written.items() if count or not table.is_partitioned]
        noted = (rows, " ".join(places) if is_known else None, table.name, identity, chunk.start_byte)
        if not connection.execute(loading.counted(table.ledger).encode(), noted).rowcount:
            raise exchanged(table)
        connection.execute(loading.COMMIT)
        return rows

    def _places(self, connection: Any, table: LoadTable) -> dict[str, int]:
        """Return the relations that have rows of the table with their files, and rows that this session put in."""
        return dict(connection.execute(loading.PLACES.encode(), (table.oid,)).fetchall())

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


def pieces_to_send(pieces: Iterable[bytes]) -> Iterable[memoryview]:
    """Return pieces of at most `SEND_BYTES`, without copying them."""
    for piece in pieces:
        view = memoryview(piece)
        for start in range(0, len(view), SEND_BYTES):
            yield view[start : start + SEND_BYTES]
