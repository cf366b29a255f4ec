"""
Connect to the server that a sweep reads, choose the table, and observe its I/O.

Rule 1: sessions are read only, with a time limit on every statement, under our application name. A table
        is created, and then dropped, only with the user's permission.
Rule 2: names are resolved in pg_catalog only, and no view is read: code of the database's owner must not
        run with our privileges (PostgreSQL, CVE-2018-1058).
Rule 3: no message contains a password: the server's text is passed through `hide` first.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import Struct

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, UsageError
from plimsoll.model.sql_name import quoted_name, spellings
from plimsoll.sources.postgres.session import keep_event_triggers_out, open_session
from plimsoll.sources.postgres.statements import sweep as sql
from plimsoll.sources.postgres.statements.terms import SWEEP
from plimsoll.units import GIB, KIB, MIB, format_bytes
from plimsoll_lab.sweep.plan import ShowProgress

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session

# From 17 on a scan reads several blocks at once, up to io_combine_limit (PostgreSQL 17 release notes).
VERSION_MIN = 170_000
# From 18 on a session can read its own counters, which count requests instead of blocks.
VERSION_COUNTS = 180_000

# A table larger than the buffers by this factor is mostly out of them when it is read again.
_TABLE_RATIO = 3
# Large enough to take some time, even if the buffers are small.
_SCRATCH_MIN_BYTES = 512 * MIB
# A larger table would take hours to create, and such a server has large tables itself.
_SCRATCH_MAX_BYTES = 64 * GIB
SCRATCH_PREFIX = "plimsoll_sweep_"


class SweepServerFacts(Struct, frozen=True, kw_only=True):
    """Describe the server, as far as a sweep needs it."""

    version_number: int
    version: str
    block_bytes: int
    buffers_bytes: int
    cache_bytes: int
    direct: str
    combine_limit: str | None
    is_read_only: bool
    is_standby: bool
    connections_left: int
    role: str

    @property
    def is_direct(self) -> bool:
        """Return whether the server reads tables past the system's page cache."""
        return "data" in self.direct

    @property
    def largest_request_bytes(self) -> int:
        """Return the most bytes that it reads at once: 256 KiB in 17, its start setting from 18 on."""
        if self.combine_limit is None:
            return 256 * KIB
        number = int("".join(c for c in self.combine_limit if c.isdigit()) or "1")
        unit = self.combine_limit.lstrip("0123456789").strip()
        return number * {"MB": MIB, "kB": KIB, "": self.block_bytes}.get(unit, 1)


class SweepTable(Struct, frozen=True, kw_only=True):
    """Describe the table to read."""

    name: str
    """Name, quoted as the server quotes it."""
    size_bytes: int
    is_own: bool = False


class SweepServer:
    """Connect to a server, and report its errors without secrets."""

    def __init__(self, dsn: str, hide: Callable[[str], str]) -> None:
        """
        Remember the server; nothing is connected yet.

        Args:
            dsn: libpq connection string or URI.
            hide: removes passwords from a text.
        """
        self._dsn, self._hide = dsn, hide
        self._path: tuple[str, ...] = ()
        self.prewarm = ""
        """`pg_prewarm` with its schema, after it was found."""

    def connect(self, *, is_read_only: bool = True) -> "Session[dict[str, Any]]":
        """
        Return a new session, in which each statement is its own transaction.

        Raises:
            SourceError: the server refused or did not answer.
        """
        import psycopg
        from psycopg.rows import dict_row

        try:
            connection = open_session(self._dsn, SWEEP, dict_row)
            self._path = connection.path
            if is_read_only:
                connection.execute(sql.READ_ONLY)
        except psycopg.Error as error:
            raise self.error_from(error, "unable to connect") from None
        return connection

    def error_from(self, error: Exception, doing: str) -> PlimsollError:
        """Convert an error of the server to one of ours."""
        import psycopg

        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = self._hide(lines[0] if lines else type(error).__name__)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return AccessDenied(f"{doing}: {reason}", "Use a role with this privilege.")
        if isinstance(error, psycopg.errors.QueryCanceled):
            return SourceError(
                f"{doing}: no answer within {SWEEP.statement_s} s",
                "The storage is too slow for this depth or size: give less --depth or smaller --sizes.",
            )
        return SourceError(f"{doing}: {reason}", "See the server's log.")

    def facts(self) -> SweepServerFacts:
        """
        Return what the server supports.

        Raises:
            UsageError: the server is too old.
            SourceError: the server refused.
        """
        with self.connect() as connection:
            version = connection.info.server_version
        if version < VERSION_MIN:
            raise UsageError(
                f"PostgreSQL {version // 10000} reads block by block, so its I/O size cannot be set",
                "Sweep a server of version 17 or later, or the disk itself with --path.",
            )
        row = self._row(sql.FACTS)
        assert row is not None
        return SweepServerFacts(**row)

    def _row(self, query: str, *values: object) -> dict[str, Any] | None:
        """
        Return one row from a separate session.

        Raises:
            SourceError: the server refused.
        """
        import psycopg

        with self.connect() as connection:
            try:
                return connection.execute(query.encode(), values).fetchone()
            except psycopg.Error as error:
                raise self.error_from(error, "unable to ask the server") from None

    def _named(self, text: str) -> dict[str, Any] | None:
        pairs = spellings(text, self._path)
        return self._row(sql.NAMED, [pair[0] for pair in pairs], [pair[1] for pair in pairs])

    def has_prewarm(self) -> bool:
        """Return whether `pg_prewarm`, which reads chosen blocks, can be called in this database."""
        row = self._row(sql.FUNCTION, "pg_prewarm")
        self.prewarm = row["name"] if row else ""
        return bool(self.prewarm)

    def evicting(self, connection: "Session[dict[str, Any]]") -> str:
        """Return the function that evicts our table from the buffers; empty if only a superuser may."""
        row = connection.execute(sql.FUNCTION.encode(), ["pg_buffercache_evict_relation"]).fetchone()
        return row["name"] if row else ""

    def existing_table(self, facts: SweepServerFacts, named: str | None) -> SweepTable:
        """
        Return a table of the database to read: the named one, or the largest.

        Raises:
            UsageError: there is none, or none that is larger than the caches.
        """
        least = _TABLE_RATIO * facts.buffers_bytes
        remedy = (
            "Name a larger one with --table, or give --allow-writes: then a table of "
            f"{format_bytes(scratch_bytes(facts))} is created, read and dropped."
        )
        row = self._row(sql.LARGEST) if named is None else self._named(named)
        if named is not None and (row is None or row["kind"] not in ("r", "m")):
            raise UsageError(f"there is no table '{named}'", "Write it as schema.table.")
        if row is None or row["size_bytes"] < least:
            size = format_bytes(row["size_bytes"]) if row else "nothing"
            what = f"table '{named}'" if named else "the largest readable table"
            raise UsageError(
                f"{what} has {size}; less than {_TABLE_RATIO} × shared_buffers "
                f"({format_bytes(least)}) would come from the buffers, not from the disk",
                remedy,
            )
        return SweepTable(name=row["name"], size_bytes=int(row["size_bytes"]))

    @contextmanager
    def scratch_table(self, facts: SweepServerFacts, show_progress: ShowProgress) -> Iterator[SweepTable]:
        """
        Create a table with one row in each block, and drop it at the end.

        Raises:
            UsageError: the server accepts no writes.
            SourceError: it refused to make the table.
        """
        import psycopg

        if facts.is_standby or facts.is_read_only:
            raise UsageError(
                "the server accepts no writes, so no table can be created there",
                "Leave --allow-writes out, and name a large --table.",
            )
        plain = f"{SCRATCH_PREFIX}{uuid4().hex[:12]}"
        blocks = scratch_bytes(facts) // facts.block_bytes
        with self.connect(is_read_only=False) as connection:
            # The schema in which the role creates tables by default, so it surely may do so there.
            schema = next((one for one in self._path if one != "pg_catalog"), "public")
            name = f"{quoted_name(schema)}.{plain}"
            try:
                keep_event_triggers_out(connection)
                _fill(connection, name, blocks, facts, show_progress)
                row = connection.execute(sql.NAMED.encode(), [[schema], [plain]]).fetchone()
                assert row is not None
                yield SweepTable(name=row["name"], size_bytes=int(row["size_bytes"]), is_own=True)
            except psycopg.Error as error:
                raise self.error_from(error, "unable to make a table") from None
            finally:
                # A new session: the old one may be in the middle of an interrupted statement.
                with suppress(psycopg.Error, PlimsollError), self.connect(is_read_only=False) as last:
                    keep_event_triggers_out(last)
                    last.execute(sql.dropped(name).encode())


def scratch_bytes(facts: SweepServerFacts) -> int:
    """Return the size that our own table needs."""
    wanted = max((_TABLE_RATIO + 1) * facts.buffers_bytes, _SCRATCH_MIN_BYTES)
    return min(wanted, _SCRATCH_MAX_BYTES)


def _fill(
    connection: "Session[dict[str, Any]]", name: str, blocks: int, facts: SweepServerFacts, show_progress: ShowProgress
) -> None:
    import psycopg

    # A row that leaves no room for a second one; plain storage neither compresses nor moves it.
    width = facts.block_bytes - 300
    show_progress(f"making a table of {blocks:,} blocks, one row in each")
    connection.execute(sql.NO_TIMEOUT)
    connection.answer_s = None
    connection.execute(sql.made(name).encode())
    done = 0
    while done < blocks:
        some = min(_ROWS_AT_ONCE, blocks - done)
        connection.execute(sql.filled(name, width=width, count=some).encode())
        done += some
    # Freeze every row now, so that reading it later writes nothing (hint bits).
    connection.execute(sql.frozen(name).encode())
    # Write it to disk now, so that no checkpoint disturbs the first points; only some roles may do that.
    with suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute(sql.CHECKPOINT)


# A row fills a block: 128 MiB between two checks for an interruption.
_ROWS_AT_ONCE = 16_384
