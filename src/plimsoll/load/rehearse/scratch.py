"""
Make a scratch table of the shape of another one, and drop it in every ending.

Rule 1: everything lies in a schema of our own. The named table is read in the catalogs, and nothing else of it.
Rule 2: the schema is dropped when the block ends, and no signal ends that. If a run is killed, the next one drops what
        it left: its lock is free then.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, UsageError
from plimsoll.load.rehearse.interrupts import InterruptedOnce
from plimsoll.sources.postgres.named_table import table_named
from plimsoll.sources.postgres.pg_stat import first_line, is_connection_string, not_a_connection_string, refusal
from plimsoll.sources.postgres.session import is_silence, keep_event_triggers_out, open_session
from plimsoll.sources.postgres.statements import rehearsing
from plimsoll.sources.postgres.statements.terms import REHEARSING, Terms

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session


# With the time for a lock these are about half a minute. What cannot be dropped then, the next run drops.
_ATTEMPTS = 10
_PAUSE_S = 0.5
# A judgement: twice that, for a server that answers slowly. Ctrl-C does not end the wait, so something else must.
_DROP_MOST_S = 60.0
# What takes longer, the server ends by itself.
_DROPPING = replace(REHEARSING, answer_s=20)


class ScratchTable(Struct, frozen=True, kw_only=True):
    """The scratch table, and the session that owns it."""

    connection: Any
    """Of psycopg, in autocommit."""
    schema: str
    oid: int
    like: str
    """The table whose shape it has, with its schema, quoted."""
    like_oid: int
    notes: tuple[str, ...]
    left: list[str]
    """After the block: a note if the schema could not be dropped."""

    @property
    def name(self) -> str:
        """Return its name with its schema."""
        return f"{self.schema}.{rehearsing.TABLE}"

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        found = self.connection.execute(statement.encode(), parameters or None).fetchall()
        return list(found)


@contextmanager
def scratch_table(dsn: str, table: str) -> Iterator[ScratchTable]:
    """
    Yield an empty table of the same shape, and drop it when the block ends.

    Raises:
        UsageError: there is no such table, or the server is a standby.
        AccessDenied: the role may not connect, or may not make a schema.
        SourceError: the server refused, or did not answer.
    """
    import psycopg

    if not is_connection_string(dsn):
        raise not_a_connection_string()
    schema = rehearsing.schema_new()
    left: list[str] = []
    try:
        connection = _connected(dsn)
    except psycopg.Error as error:
        raise refusal(error, dsn) from None
    with _dropped_in_the_end(dsn, connection, schema, left):
        try:
            with connection:
                yield _made(connection, table, schema, left)
        except psycopg.errors.InsufficientPrivilege as error:
            raise AccessDenied(
                f"unable to make a scratch table: {first_line(error, dsn)}", f"Needed: {REHEARSING.needs}."
            ) from None
        except psycopg.Error as error:
            raise SourceError(
                f"the rehearsal could not be made: {first_line(error, dsn)}",
                "Nothing of your table was changed; run the command again.",
            ) from None


@contextmanager
def _dropped_in_the_end(
    dsn: str, connection: "Session[tuple[Any, ...]]", schema: str, left: list[str]
) -> Iterator[None]:
    """
    Drop our schema when the block ends.

    Args:
        dsn: of the server.
        connection: of the block; it is closed.
        schema: ours.
        left: takes a note if the schema could not be dropped, and the block ended well.

    Raises:
        SourceError: the schema could not be dropped, and the block did not end well either.
    """
    with InterruptedOnce() as signals:
        try:
            try:
                yield
            finally:
                # If a signal comes before this line has run, it was the first, and the others are held.
                signals.hold()
        finally:
            if not _is_dropped(dsn, connection, schema):
                command = rehearsing.schema_dropped(schema)
                error = sys.exception()
                if error is None:
                    left.append(f"the schema {schema} could not be dropped; the next rehearsal drops it, or: {command}")
                elif isinstance(error, (PlimsollError, KeyboardInterrupt)):
                    why = error.message if isinstance(error, PlimsollError) else "interrupted"
                    raise SourceError(
                        f"{why}; and the schema {schema} could not be dropped",
                        f"The next rehearsal drops it, or this command: {command}",
                    ) from error


def _connected(dsn: str, terms: Terms = REHEARSING) -> "Session[tuple[Any, ...]]":
    from psycopg.rows import tuple_row

    return open_session(dsn, terms, tuple_row)


def can_connect(dsn: str) -> bool:
    """Return whether the server takes a connection with these parameters."""
    import psycopg

    try:
        _connected(dsn).close()
    except psycopg.Error:
        return False
    return True


def _made(connection: "Session[tuple[Any, ...]]", table: str, schema: str, left: list[str]) -> ScratchTable:
    keep_event_triggers_out(connection)
    if _value(connection, rehearsing.IS_STANDBY):
        raise UsageError("the server is a standby, on which no table can be created", "Give the primary.")
    named = table_named(connection, table, connection.path)
    if named is None:
        raise UsageError(f"there is no table '{table}'", "Write it as schema.table.")
    notes = [*_drop_left(connection)]
    # The lock comes first: another run must never find the schema without it.
    connection.execute(rehearsing.LOCK, (schema,))
    connection.execute(rehearsing.schema_made(schema).encode())
    shape = connection.execute(rehearsing.SHAPE, (named.oid,)).fetchone()
    assert shape is not None
    is_unlogged, is_partitioned, options, triggers, keys = shape
    made = rehearsing.table_made(
        schema, named.name, is_unlogged=is_unlogged, options=options if not is_partitioned else ""
    )
    connection.execute(made.encode())
    columns = connection.execute(rehearsing.TAKES_NUMBERS, (named.oid,)).fetchall()
    if columns:
        connection.execute(rehearsing.numbers_made(schema).encode())
    for (column,) in columns:
        connection.execute(rehearsing.numbers_taken(schema, column).encode())
    notes += _not_copied(triggers, keys, is_partitioned=is_partitioned)
    oid = int(_value(connection, rehearsing.OID, f"{schema}.{rehearsing.TABLE}"))
    return ScratchTable(
        connection=connection,
        schema=schema,
        oid=oid,
        like=named.name,
        like_oid=named.oid,
        notes=tuple(notes),
        left=left,
    )


def _not_copied(triggers: int, keys: int, *, is_partitioned: bool) -> Iterator[str]:
    for count, what in ((triggers, "trigger"), (keys, "foreign key")):
        if count:
            yield (
                f"the table has {count} {what}{'s' if count > 1 else ''}, which the scratch table has not: "
                "the load takes longer by their cost"
            )
    if is_partitioned:
        yield "the table is partitioned; the sample went into one table with the same indexes"


def _drop_left(connection: "Session[tuple[Any, ...]]") -> Iterator[str]:
    """Drop the schemas of runs that were killed; yield a note for each."""
    for (schema,) in connection.execute(rehearsing.LEFT).fetchall():
        if not _value(connection, rehearsing.LOCK, schema):
            continue
        connection.execute(rehearsing.schema_dropped(schema).encode())
        connection.execute(rehearsing.UNLOCK, (schema,))
        yield f"the schema {schema}, which a rehearsal that was killed had left, was dropped"


def _value(connection: "Session[tuple[Any, ...]]", statement: str, *parameters: object) -> Any:
    row = connection.execute(statement.encode(), parameters or None).fetchone()
    assert row is not None
    return row[0]


def _is_dropped(dsn: str, connection: "Session[tuple[Any, ...]]", schema: str) -> bool:
    """Drop our schema in a thread, which no signal interrupts, and return whether that succeeded in time."""
    is_dropped = threading.Event()

    def run() -> None:
        if _drop(dsn, connection, schema):
            is_dropped.set()

    thread = threading.Thread(target=run, name="rehearsal-drop", daemon=True)
    thread.start()
    thread.join(_DROP_MOST_S)
    return is_dropped.is_set()


def _drop(dsn: str, connection: "Session[tuple[Any, ...]]", schema: str) -> bool:
    """Drop our schema in a new session: the old one may be lost, or in the middle of a statement."""
    import psycopg

    with suppress(psycopg.Error):
        connection.close()
    # A copy that was interrupted ends with its connection, which the server may notice late.
    for _ in range(_ATTEMPTS):
        try:
            with _connected(dsn, _DROPPING) as fresh:
                keep_event_triggers_out(fresh)
                fresh.execute(rehearsing.schema_dropped(schema).encode())
                return True
        except UsageError:
            break
        except psycopg.Error as error:
            if is_silence(error):
                break
            time.sleep(_PAUSE_S)
    return False
