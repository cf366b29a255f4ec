"""
Watch how long commits take, and slow a batch down while they take too long.

Rule 1: a commit of ours changes no row. It writes a logical message of no bytes and waits for its WAL, as every
        commit does.
Rule 2: a commit that has not returned counts again and again, as often as others would begin one meanwhile: they all wait.
Rule 3: a server that does not answer is no error of the watch: the share stays, and the load finds out by itself.
"""

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from plimsoll.errors import AccessDenied
from plimsoll.load.pace.law.commits import PROBES_BEFORE, PROBES_PER_S, CommitShare, CommitsSeen
from plimsoll.sources.postgres.pg_stat import refusal
from plimsoll.sources.postgres.session import open_session, opening_of
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.terms import LOADING

if TYPE_CHECKING:
    from plimsoll.sources.postgres.session import Session


# One message, so that the time is that of one answer.
_COMMIT = f"; {loading.SYNCHRONOUS}; {loading.EMPTY_MESSAGE}; {loading.COMMIT}".encode()


class SharedPace(Protocol):
    """What the watch tells; `Pace` is one."""

    def set_share(self, ratio: float) -> None:
        """Let through only this share of the allowance, > 0 and ≤ 1."""
        ...


class CommitWatch:
    """A connection that commits again and again while a batch runs."""

    def __init__(self, dsn: str, pace: SharedPace, slower_ratio: float) -> None:
        """
        Keep what to watch; nothing is connected yet.

        Args:
            dsn: of the server.
            pace: is told the share of its allowance.
            slower_ratio: how many times as long the 95th percentile of commits may take, as checked.
        """
        self._dsn, self._pace, self._ratio = dsn, pace, slower_ratio
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._share: CommitShare | None = None
        self._began_s: float | None = None
        self._connection: Session[tuple[Any, ...]] | None = None

    def __enter__(self) -> Self:
        """
        Measure commits for some seconds, then begin to watch.

        Raises:
            AccessDenied: the role may not call `pg_logical_emit_message`.
            SourceError: the server refused, or did not answer.
        """
        import psycopg

        before = []
        try:
            for _ in range(PROBES_BEFORE):
                before.append(self._commit_s())
                time.sleep(1 / PROBES_PER_S)
        except psycopg.errors.InsufficientPrivilege:
            self._drop()
            raise AccessDenied(
                "unable to measure commits: permission denied for function pg_logical_emit_message",
                "Grant EXECUTE on it to the role, or leave out --commit-latency.",
            ) from None
        except psycopg.Error as error:
            self._drop()
            raise refusal(error, self._dsn) from None
        self._share = CommitShare(self._ratio, before)
        for run in (self._commit_on, self._look_on):
            thread = threading.Thread(target=run, name="load-commits", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the watch."""
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=5)
        self._drop()

    def seen(self) -> CommitsSeen:
        """Return how long commits took since the watch began; only after it began."""
        with self._lock:
            assert self._share is not None
            return self._share.seen

    def _commit_on(self) -> None:
        import psycopg

        while not self._over.wait(1 / PROBES_PER_S):
            try:
                self._observe(self._commit_s())
            except psycopg.Error:
                self._drop()

    def _look_on(self) -> None:
        while not self._over.wait(1 / PROBES_PER_S):
            began_s = self._began_s
            if began_s is not None:
                self._observe(time.monotonic() - began_s, is_ended=False)

    def _observe(self, commit_s: float, *, is_ended: bool = True) -> None:
        with self._lock:
            assert self._share is not None
            if is_ended or self._share.is_slow(commit_s):
                self._pace.set_share(self._share.observe(commit_s))

    def _commit_s(self) -> float:
        from psycopg.rows import tuple_row

        if self._connection is None:
            self._connection = open_session(self._dsn, LOADING, tuple_row)
        message = opening_of(self._connection, LOADING) + _COMMIT
        began_s = self._began_s = time.monotonic()
        try:
            self._connection.execute(message)
        finally:
            self._began_s = None
        return time.monotonic() - began_s

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
