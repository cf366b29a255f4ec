"""
Read and change the entries of a ledger: what of a file is in the table, and what is no more.

Rule 1: the ledger is held in each transaction that uses it: see `trusted`.
Rule 2: no message repeats a value of a row.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.load.copy.inputs import Input, S3Object, stream_of
from plimsoll.load.copy.kept import Claim, Leaf, LoadedInto, check_kept
from plimsoll.load.copy.ledger import (
    LedgerOf,
    LoadedChunk,
    check_bytes,
    check_entries,
    check_identity,
    check_table,
    places_of,
)
from plimsoll.load.copy.refused import reason_of
from plimsoll.load.copy.trusted import hold_ledger
from plimsoll.sources.postgres.named_table import keep_views_out
from plimsoll.sources.postgres.pg_stat import refusal, without_password
from plimsoll.sources.postgres.session import is_silence, open_session, opening_of
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.terms import END, LOADING

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session


class LoadTable(Struct, frozen=True, kw_only=True):
    """The table, and the names that statements use."""

    name: str
    """With its schema, quoted."""
    oid: int
    ledger: str
    """With its schema, quoted."""
    columns: str
    """Quoted, separated by commas."""
    is_partitioned: bool

    def entries_of(self, one: Input, identity: str | None = None) -> LedgerOf:
        """Return what names the entries of a file, of its content now or of another."""
        return LedgerOf(ledger=self.ledger, target=self.name, identity=identity or one.identity, file=one.name)


class LedgerSession:
    """A connection to a table and its ledger, opened again after it was lost. For one thread."""

    def __init__(self, dsn: str, *, is_durable: bool = True) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Args:
            dsn: of the server.
            is_durable: whether commits wait for their WAL although the role's do not.
        """
        self._dsn = dsn
        self._durable = f"; {loading.DURABLE}".encode() if is_durable else b""
        self._connection: Session[tuple[Any, ...]] | None = None

    def truncate(self, table: LoadTable, inputs: Sequence[Input]) -> None:
        """
        Empty the table and forget what was loaded into it, in one transaction.

        Raises:
            AccessDenied: the role may not.
            UsageError: the table is another one now, or one of the files was loaded into it under another name.
            SourceError: the server refuses, for example because others use the table.
        """
        import psycopg

        part = loading.part_of(table.name, is_partitioned=table.is_partitioned)
        try:
            connection = self._held(table, is_durable=True)
            connection.execute(loading.WAIT_SHORTLY)
            connection.execute(loading.truncated(part).encode())
            connection.execute(loading.forgotten(table.ledger).encode(), (table.oid, table.name))
            self._check_emptied(connection, table, inputs)
            connection.execute(loading.COMMIT)
        except psycopg.Error as error:
            self.close()
            raise self._not_emptied(error, table) from None
        except BaseException:
            self.close()
            raise

    def _check_emptied(self, connection: Any, table: LoadTable, inputs: Sequence[Input]) -> None:
        """Check that the right table is empty, and that all of the files can be loaded into it."""
        if connection.execute(loading.IS_SAME, (table.name, table.oid)).fetchone() != (True,):
            raise exchanged(table)
        for one in inputs:
            self._check_elsewhere(connection, table, one.identity, one.name)

    def _not_emptied(self, error: Any, table: LoadTable) -> Exception:
        import psycopg

        if is_lost(error):
            return refusal(error, self._dsn)
        message = f"unable to empty {table.name}: {self._reason(error)}"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return AccessDenied(message, "Needed: TRUNCATE on the table, and DELETE on the ledger.")
        return SourceError(message, "Nothing was changed. If it is in use, try again later.")

    def check_kept(self, table: LoadTable, inputs: Sequence[Input]) -> None:
        """
        Check that the table has what the ledger says of the files, as far as it can be known.

        Raises:
            UsageError: it has not, or it is not known.
            SourceError: the server refused, or did not answer.
        """
        names = {one.identity: one.name for one in inputs}
        rows = self._asked(table, loading.claims(table.ledger), (table.name, list(names)))
        claims = [Claim(*row) for row in rows]
        if claims:
            leaves = [Leaf(*row) for row in self._asked(table, loading.LEAVES, (table.oid,))]
            of = LoadedInto(
                table=table.name, oid=table.oid, ledger=table.ledger, is_partitioned=table.is_partitioned, files=names
            )
            check_kept(claims, leaves, lambda *query: self._looked(table, *query), of)

    def _looked(self, table: LoadTable, query: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
        """Ask about rows of the table; None if the role may not read it, or it takes too long."""
        import psycopg

        try:
            connection = self._held(table)
            keep_views_out(connection, is_local=True)
            connection.execute(loading.LOOK_SHORTLY)
            rows: list[tuple[Any, ...]] = connection.execute(query.encode(), parameters).fetchall()
            connection.execute(END)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.QueryCanceled, psycopg.errors.FeatureNotSupported):
            self.close()
            return None
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, f"unable to look into {table.name}") from None
        return rows

    def loaded(self, table: LoadTable, one: Input) -> tuple[LoadedChunk, ...]:
        """
        Return the chunks of a file that are in the table, in order.

        If other content of a file of this name was loaded, and all of it is in this file, its chunks become those
        of this file: it was corrected, or rows were added.

        Raises:
            UsageError: other content of this name was loaded and is not in this file, it is not known whether the
                rows are in this table, or what the ledger says cannot be true.
            SourceError: the server or S3 refused, or did not answer.
        """
        # In this order: another run of this file may make the other content that of this one in between.
        rows = self._asked(table, loading.other_content(table.ledger), (table.name, one.name, one.identity))
        found = self._chunks_of(table, one)
        if found or not rows:
            return found
        ((other,),) = rows
        check_identity(other, ledger=table.ledger, file=one.name)
        before = self._chunks_of(table, one, other)
        places = places_of(before, stream_of(one).pieces)
        if places is None:
            raise UsageError(
                f"other content of '{one.name}' was loaded into {table.name} before, and is not in it now",
                "If all its rows are new, load it under another name. Else delete the rows of the file, and its"
                f" entries in {table.ledger}.",
            )
        self._move(table, before, places, identities=(other, one.identity))
        return self._chunks_of(table, one)

    def check_bytes(self, table: LoadTable, one: Input, chunks: Sequence[LoadedChunk]) -> None:
        """
        Check that the bytes of a file are those of its entries; of an object of S3 only where rows are missing.

        Raises:
            UsageError: they are not.
            DataError: the file is damaged.
            SourceError: S3 refused, or did not answer.
        """
        is_far = isinstance(one, S3Object) and not one.is_gzip
        check_bytes(chunks, stream_of(one).pieces, is_far=is_far, of=table.entries_of(one))

    def _chunks_of(self, table: LoadTable, one: Input, other: str | None = None) -> tuple[LoadedChunk, ...]:
        """Return the entries of a file, or of other content that had its name."""
        import psycopg

        identity = other or one.identity
        try:
            connection = self._held(table)
            self._check_elsewhere(connection, table, identity, one.name)
            query = loading.chunks(table.ledger).encode()
            rows = connection.execute(query, (table.name, identity)).fetchall()
            connection.execute(END)
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, "unable to read the ledger") from None
        found = tuple(LoadedChunk(*row) for row in rows)
        size_bytes = stream_of(one).size_bytes if other is None else None
        check_entries(found, size_bytes=size_bytes, of=table.entries_of(one, identity))
        return found

    def _check_elsewhere(self, connection: Any, table: LoadTable, identity: str, file: str) -> None:
        query = loading.loaded_elsewhere(table.ledger).encode()
        found = connection.execute(query, (identity, table.name, table.oid)).fetchone()
        check_table(found, file=file, table=table.name, oid=table.oid, ledger=table.ledger)

    def _asked(self, table: LoadTable, query: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            connection = self._held(table)
            rows: list[tuple[Any, ...]] = connection.execute(query.encode(), parameters).fetchall()
            connection.execute(END)
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, "unable to read the ledger") from None
        return rows

    def _held(self, table: LoadTable, *, is_durable: bool = False) -> Any:
        """Begin a transaction in which the ledger is held; a commit of one that is durable waits for its WAL."""
        connection = self._open()
        durable = self._durable if is_durable else b""
        connection.execute(opening_of(connection, LOADING) + durable)
        hold_ledger(connection, table.ledger, table.oid)
        return connection

    def _move(
        self, table: LoadTable, chunks: tuple[LoadedChunk, ...], places: list[int], *, identities: tuple[str, str]
    ) -> None:
        """Make the chunks those of the second identity; where another run did it, nothing is changed."""
        import psycopg

        was, now = identities
        moves = [
            (now, place, place + c.end_byte - c.start_byte, table.name, was, c.start_byte)
            for c, place in zip(chunks, places, strict=True)
        ]
        try:
            connection = self._held(table, is_durable=True)
            connection.cursor().executemany(loading.moved(table.ledger).encode(), moves)
            connection.execute(loading.COMMIT)
        except psycopg.Error as error:
            self.close()
            raise self._error_from(error, "unable to change the ledger") from None

    def close(self) -> None:
        """Close the connection, if there is one; what it did not commit is undone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> "Session[tuple[Any, ...]]":
        from psycopg.rows import tuple_row

        if self._connection is None or self._connection.closed:
            self._connection = open_session(self._dsn, LOADING, tuple_row)
        return self._connection

    def _error_from(self, error: Any, doing: str) -> Exception:
        """Convert an error of the server to one of ours, without values of rows."""
        import psycopg

        if is_lost(error):
            return refusal(error, self._dsn)
        reason = self._reason(error)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return AccessDenied(f"{doing}: {reason}", f"Needed: {LOADING.needs}.")
        return SourceError(f"{doing}: {reason}", "Run the command again: what was loaded stays.")

    def _reason(self, error: Any) -> str:
        """Return what the server says, without values of rows and passwords."""
        return without_password(reason_of(error), self._dsn)


def exchanged(table: LoadTable) -> UsageError:
    """Return the error that the name means another table than before."""
    return UsageError(
        f"{table.name} is another table than at the beginning of the load",
        "What was loaded before is in the table that had this name then. Check both, and run the command again.",
    )


def is_lost(error: Exception) -> bool:
    """Return whether the connection was lost, or the server is silent."""
    import psycopg

    is_broken = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return is_broken or is_silence(error)
