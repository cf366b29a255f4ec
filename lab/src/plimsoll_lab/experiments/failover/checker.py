"""
Write unique integers through one address, and find afterwards which of them are there.

Rule 1: each attempt has one outcome. Acknowledged: the server said so. Refused: it said no, or there was no connection.
Unknown: the connection was lost before the answer.
Rule 2: the final read holds a lock that no write passes, at the server that takes writes.
The method is the set test of Jepsen (https://github.com/jepsen-io/jepsen, `jepsen.checker/set`, read 2026-11).
"""

import contextlib
import itertools
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from plimsoll.errors import SourceError
from plimsoll_lab.experiments.failover.database import hang_up, message_of, open_client, write
from plimsoll_lab.model.failover import WriteCounts

# Between attempts to connect, so that clients do not take the processors from the servers.
_PAUSE_S = 0.1
_ENDED_S = 30.0
# What a server says when it acknowledges a commit that no standby has confirmed (syncrep.c).
_UNCONFIRMED = "canceling wait for synchronous replication"


class SetChecker:
    """Writers that insert unique integers, each over a connection of its own, until they are told to stop."""

    def __init__(self, address: str, writers: int) -> None:
        """Prepare the writers for an address of the database; nothing is written yet."""
        self._address = address
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.unknown: set[int] = set()
        self.errors: Counter[str] = Counter()
        # When each was acknowledged, in order: an hour of writes is looked through several times a second.
        self._times: list[float] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._open: dict[int, psycopg.Connection] = {}
        self._threads = [threading.Thread(target=self._write, args=(place,), daemon=True) for place in range(writers)]

    @property
    def counts(self) -> WriteCounts:
        """Return the attempts so far, by outcome."""
        with self._lock:
            return WriteCounts(
                acknowledged=len(self.acknowledged), refused=len(self.refused), unknown=len(self.unknown)
            )

    def errors_seen(self) -> Counter[str]:
        """Return a copy of the messages so far, with how often each came."""
        with self._lock:
            return self.errors.copy()

    def times_since(self, begin_s: float) -> list[float]:
        """Return when writes were acknowledged since a moment of the monotonic clock, in order."""
        with self._lock:
            return self._times[bisect_left(self._times, begin_s) :]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let the writers write while the block lasts."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """
        Let every writer end; an attempt without an answer ends as unknown.

        Raises:
            SourceError: a writer did not end.
        """
        self._is_over.set()
        until = time.monotonic() + _ENDED_S
        # The usual answer takes milliseconds; who waits longer waits for a standby, perhaps for ever.
        self._join(time.monotonic() + 1.0)
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < until:
            for connection in list(self._open.values()):
                hang_up(connection)
            self._join(time.monotonic() + _PAUSE_S)
        if any(thread.is_alive() for thread in self._threads):
            raise SourceError("a client did not end", "Run the experiment again.")

    def _join(self, until_s: float) -> None:
        for thread in self._threads:
            thread.join(max(until_s - time.monotonic(), 0))

    def _write(self, place: int) -> None:
        while not self._is_over.is_set():
            try:
                with self._connected(place) as connection:
                    while not self._is_over.is_set():
                        self._attempt(connection)
            except psycopg.Error:
                # Its outcome is recorded; the next attempt has a new connection.
                self._is_over.wait(_PAUSE_S)

    @contextmanager
    def _connected(self, place: int) -> Iterator[psycopg.Connection]:
        number = next(self._numbers)
        try:
            connection = open_client(self._address)
        except psycopg.Error as error:
            self._record(number, self.refused, error)
            raise
        self._open[place] = connection
        try:
            yield connection
        finally:
            self._open.pop(place, None)
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def _attempt(self, connection: psycopg.Connection) -> None:
        number = next(self._numbers)
        notices: list[str] = []

        def keep(notice: errors.Diagnostic) -> None:
            notices.append(notice.message_primary or "")

        connection.add_notice_handler(keep)
        try:
            write(connection, number)
        except psycopg.Error as error:
            self._record(number, self.refused if is_refusal(error) else self.unknown, error)
            if connection.broken or connection.closed or isinstance(error, errors.ReadOnlySqlTransaction):
                raise
            return
        finally:
            connection.remove_notice_handler(keep)
        with self._lock:
            if any(_UNCONFIRMED in notice for notice in notices):
                self.unknown.add(number)
            else:
                self.acknowledged.add(number)
                self._times.append(time.monotonic())

    def _record(self, number: int, outcome: set[int], error: psycopg.Error) -> None:
        with self._lock:
            outcome.add(number)
            self.errors[message_of(error)] += 1


def is_refusal(error: psycopg.Error) -> bool:
    """
    Return whether an error says that nothing was committed.

    Only what a server answers with severity ERROR is: the transaction was rolled back, and the session goes on. With
    FATAL, or without an answer, the session ended, perhaps after the commit.
    """
    return error.diag.severity_nonlocalized == "ERROR"


def longest_gap_s(times_s: list[float], begin_s: float, end_s: float) -> float:
    """Return the longest time without an event between two moments; all of it without any."""
    edges = [begin_s, *times_s, end_s]
    return max(later - earlier for earlier, later in itertools.pairwise(edges))
