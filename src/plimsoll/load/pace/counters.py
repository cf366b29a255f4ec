"""
Read a server's counters of I/O and WAL once a second, and see other batches.

Rule 1: a server that does not answer is no error: counts and peers are None, and the next reading tries again.
        No peers, `()`, is what a server has answered.
Rule 2: transactions are read only and end at once; nothing is written, the batch's rate is its name.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from plimsoll.errors import AccessDenied, Unreachable
from plimsoll.load.pace.law.truths import PeerBatches, ServerCounts, peers_told
from plimsoll.sources.postgres.pg_stat import is_connection_string, not_a_connection_string, refusal
from plimsoll.sources.postgres.session import open_session
from plimsoll.sources.postgres.statements import pacing
from plimsoll.sources.postgres.statements.terms import END, PACING

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session

# A name is set again if the rate changed by more: every change is a message to the server.
_NAME_CHANGE_RATIO = 0.05


class CountersReading(Struct, frozen=True, kw_only=True):
    """The counters of a server at one moment, and other batches."""

    read_bytes: float
    """Of tables and indexes, since the counters began; so are the others."""
    write_bytes: float
    extend_bytes: float
    ops: float
    wal_bytes: float
    full_page_images: float
    cache_bytes: float
    block_bytes: int
    peers: PeerBatches


class ServerCounters:
    """One connection to a server, opened on first use and again after it was lost."""

    def __init__(self, dsn: str) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Raises:
            UsageError: the DSN is not a connection string.
        """
        if not is_connection_string(dsn):
            raise not_a_connection_string()
        self._dsn = dsn
        self._connection: Session[tuple[Any, ...]] | None = None
        self._last: CountersReading | None = None
        self._named: float | None = None

    def open(self) -> None:
        """
        Connect, and read once.

        Raises:
            AccessDenied: the server refused the role, or has no such database.
            Unreachable: no server answered.
        """
        import psycopg

        try:
            self._last = self._read()
        except psycopg.Error as error:
            self._drop()
            raise refusal(error, self._dsn) from None

    def counts(self, batch_bytes_per_s: float) -> tuple[ServerCounts | None, PeerBatches | None]:
        """
        Return what the server did since the last call, and the rates of other batches.

        Args:
            batch_bytes_per_s: rate of this batch, for the others.

        Returns:
            Twice None if the server did not answer. Counts are None also in the first answer after that, and after
            the counters began again.
        """
        import psycopg

        try:
            now = self._read()
            self._tell(batch_bytes_per_s)
        except (psycopg.Error, AccessDenied, Unreachable):
            self._drop()
            return None, None
        last, self._last = self._last, now
        return (None if last is None else _between(last, now)), now.peers

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._drop()

    def _read(self) -> CountersReading:
        from psycopg.rows import tuple_row

        if self._connection is None:
            self._connection = open_session(self._dsn, PACING, tuple_row)
        version = self._connection.info.server_version
        message = "; ".join((PACING.opening(version), pacing.counts(version), pacing.PEERS, END))
        cursor = self._connection.execute(message.encode())
        rows = []
        more: bool | None = True
        while more:
            if cursor.description is not None:
                rows.append(cursor.fetchall())
            more = cursor.nextset()
        ((read, write, extend, ops, wal, images, cache, block),), names = rows
        return CountersReading(
            read_bytes=float(read or 0),
            write_bytes=float(write or 0),
            extend_bytes=float(extend or 0),
            ops=float(ops or 0),
            wal_bytes=float(wal or 0),
            full_page_images=float(images or 0),
            cache_bytes=float(cache),
            block_bytes=int(block),
            peers=peers_told(
                [(rate, role, is_of_ours) for name, role, is_of_ours in names if (rate := peer_of(name)) is not None]
            ),
        )

    def _tell(self, rate: float) -> None:
        assert self._connection is not None
        told = self._named
        if told is not None and abs(told - rate) <= _NAME_CHANGE_RATIO * told:
            return
        self._connection.execute(pacing.named(rate).encode())
        self._named = rate

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._named = self._last = None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def peer_of(name: str) -> float | None:
    """Return the rate that another batch's name tells, bytes/s; None if it tells none."""
    rate = name.removeprefix(pacing.NAME_PREFIX)
    # Names are at most 63 bytes; a longer number is cut, and no rate.
    return float(rate) if rate.isdecimal() and rate.isascii() and len(name) < 60 else None


def _between(last: CountersReading, now: CountersReading) -> ServerCounts | None:
    counted = ServerCounts(
        read_bytes=now.read_bytes - last.read_bytes,
        write_bytes=now.write_bytes - last.write_bytes,
        extend_bytes=now.extend_bytes - last.extend_bytes,
        ops=now.ops - last.ops,
        wal_bytes=now.wal_bytes - last.wal_bytes,
        full_page_images=now.full_page_images - last.full_page_images,
        cache_bytes=now.cache_bytes,
        block_bytes=now.block_bytes,
    )
    # Somebody reset the counters, or another server answers now.
    parts = (counted.moved_bytes, counted.extend_bytes, counted.ops, counted.wal_bytes)
    return None if min(*parts, counted.full_page_images) < 0 else counted
