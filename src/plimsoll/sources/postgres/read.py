"""
Observe a server for a time: a reading, samples of sessions, a reading.

Rule 1: a lost server leaves a gap, and does not end the observation: it is tried until the time is over.
Rule 2: Ctrl-C ends the observation early with a last reading; a second Ctrl-C ends it at once.
Rule 3: sessions are sampled at the requested interval, or less often to use at most 1 % of the time.
"""

import time
from collections.abc import Callable, Sequence

import msgspec

from plimsoll.errors import PlimsollError, Unreachable
from plimsoll.model.database import Glance, Observation, PoolerReading
from plimsoll.model.standing import ServerHealth
from plimsoll.sources.postgres.connect import NoAnswer, ServerConnection
from plimsoll.sources.postgres.moment import ServerReading, ServerRun, compared, has_gone_back
from plimsoll.sources.postgres.parts import EVERYTHING, ReadingPart
from plimsoll.sources.postgres.reader import Reader
from plimsoll.sources.postgres.resets import without_reset

__all__ = ["EVERYTHING", "ReadingPart", "observe"]

# Judgements: sampling must not cost a server with thousands of sessions more than 1 % of a core, and one
# sample in ten seconds still shows whether sessions pile up.
_SHARE_MAX = 0.01
_EVERY_S_MAX = 10.0

# How long the last reading may wait for a server that is starting, and how often it is tried.
_PATIENCE_S = 10.0
_RETRY_S = 0.5

# A judgement: faster changes of a pooler do not matter.
_POOLER_EVERY_S = 5.0


def observe(
    dsn: str,
    *,
    duration_s: float,
    every_s: float = 1.0,
    wants: frozenset[ReadingPart] = EVERYTHING,
    poolers: Sequence[Callable[[], PoolerReading]] = (),
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Observation:
    """
    Read a server twice, `duration_s` apart, and glance at its sessions in between.

    Args:
        dsn: libpq connection string or URI.
        duration_s: between the two readings, ≥ 0.
        every_s: between glances, > 0; they come less often where they would cost more than a
            hundredth of the time.
        wants: parts to read.
        poolers: each reads one pooler in front of the server; asked every five seconds.
        clock: seconds that only grow.
        sleep: waits so many seconds.

    Returns:
        What was seen. Where the last reading did not come, `last` is the latest that did, and
        `missing` says why.

    Raises:
        UsageError: the DSN is not a connection string.
        AccessDenied: the server refused the role.
        Unreachable: no server answered.
        SourceError: it answered, but not as PostgreSQL does.
    """
    assert duration_s >= 0
    assert every_s > 0
    connection = ServerConnection(dsn, clock)
    try:
        watch = _SessionWatch(Reader(connection, wants), poolers, clock, sleep)
        watch.begin()
        try:
            watch.glance_until(clock() + duration_s, every_s)
        except KeyboardInterrupt:
            watch.remark("The observation was interrupted: the counters cover the time until then.")
        return watch.end(connection)
    finally:
        connection.close()


class _SessionWatch:
    """What one observation has so far."""

    def __init__(
        self,
        reader: Reader,
        poolers: Sequence[Callable[[], PoolerReading]],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._reader = reader
        self._poolers = poolers
        self._clock = clock
        self._sleep = sleep
        self._notes: dict[str, str] = {}
        self._glances: list[Glance] = []
        self._pooler_readings: list[PoolerReading] = []
        self._hole_count = 0
        self._is_lost = False
        self._run: ServerRun | None = None
        self._first: ServerReading | None = None
        self._forgotten_s = 0.0

    def begin(self) -> None:
        try:
            self._reader.meet()
            self._run = self._reader.run()
            self._first = self._reader.first()
        except NoAnswer as why:
            raise Unreachable(
                f"PostgreSQL stopped answering: {why.reason}",
                "Check that the server runs and is not overwhelmed, and try again.",
            ) from None
        self._read_poolers()

    def glance_until(self, end_s: float, every_s: float) -> None:
        """Glance at once and then every `every_s`, or as seldom as the cost demands."""
        cheapest_s: float | None = None
        pooler_due_s = self._clock() + _POOLER_EVERY_S
        while (began_s := self._clock()) < end_s:
            # The first sample fills the server's caches, so its cost does not predict that of the others.
            is_first = not self._glances
            if self._glance() and not is_first:
                took_s = self._clock() - began_s
                # The smallest cost is the one least affected by other load on the machine.
                cheapest_s = took_s if cheapest_s is None else min(cheapest_s, took_s)
            if self._poolers and self._clock() >= pooler_due_s:
                self._read_poolers()
                pooler_due_s = self._clock() + _POOLER_EVERY_S
            wait_s = max(every_s, min((cheapest_s or 0.0) / _SHARE_MAX, _EVERY_S_MAX))
            self._sleep(max(min(began_s + wait_s, end_s) - self._clock(), 0.0))

    def end(self, connection: ServerConnection) -> Observation:
        """Take the last reading, and return the whole observation."""
        assert self._first is not None
        last = self._last()
        self._read_poolers()
        first = self._first
        if last is None:
            last = first
        else:
            first, last = self._described(first, last)
        before, after, has_left_out = compared(first, last)
        (before, after), reset = without_reset(first, last, (before, after), self._reader.server.version_number)
        if has_left_out:
            self.note("counters", "A database was dropped or reset during the observation, and is left out.")
        if self._hole_count:
            self.note("samples of sessions", f"{self._hole_count} did not come: {self._notes.pop('hole', '')}")
        return Observation(
            server=self._reader.server,
            first=before,
            last=after,
            glances=tuple(self._glances),
            poolers=tuple(self._pooler_readings),
            resets=reset,
            forgotten_s=self._forgotten_s,
            standing=self._standing(),
            missing=tuple((self._reader.missing | self._notes).items()),
            query_count=connection.query_count,
            received_bytes=connection.received_bytes,
            asked_s=connection.asked_s,
        )

    def _standing(self) -> ServerHealth | None:
        try:
            return self._reader.standing()
        except NoAnswer as why:
            self.note("what may stop the server", f"PostgreSQL stopped answering: {why.reason}")
            return None

    def note(self, what: str, why: str) -> None:
        self._notes[what] = why

    def remark(self, what: str) -> None:
        """Say of the window what a reader must know, each thing once."""
        known = self._notes.get("window", "")
        if what not in known:
            self.note("window", f"{known} {what}".strip())

    def _glance(self) -> bool:
        try:
            self._see_whether_it_is_the_same()
            self._glances.append(self._reader.glance())
        except NoAnswer as why:
            self._miss(why)
            return False
        return True

    def _last(self) -> ServerReading | None:
        """Take the last reading; None if the server does not answer in time."""
        deadline_s = self._clock() + _PATIENCE_S
        while True:
            try:
                self._see_whether_it_is_the_same()
                return self._reader.last()
            except NoAnswer as why:
                self._is_lost = self._is_lost or why.is_connection_lost
                if "does not exist" in why.reason or self._clock() >= deadline_s:
                    self.note("last reading", f"PostgreSQL did not answer: {why.reason}")
                    return None
            self._sleep(_RETRY_S)

    def _described(self, first: ServerReading, last: ServerReading) -> tuple[ServerReading, ServerReading]:
        try:
            return self._reader.described(first, last)
        except NoAnswer as why:
            self.note("columns", f"PostgreSQL stopped answering: {why.reason}")
            return first, last

    def _see_whether_it_is_the_same(self) -> None:
        """
        After a lost connection: was the server started anew, and does it remember?

        A crash resets all counters, and another server may have taken over the name; then the window
        begins again. After an orderly restart the counters go on.
        """
        if not self._is_lost:
            return
        assert self._run is not None
        assert self._first is not None
        run = self._reader.run()
        is_other = run.is_standby != self._run.is_standby
        dates = (self._run.counted_from_s, run.counted_from_s)
        has_forgotten = None not in dates and dates[0] != dates[1]
        # pg_postmaster_start_time does not change in crash recovery, so compare counters too.
        if is_other or has_forgotten or has_gone_back(self._first.databases, run.databases):
            again = self._reader.again()
            self._forgotten_s += max(again.reading.time_s - self._first.reading.time_s, 0.0)
            self._first = again
            # Sessions were what they were; totals of theirs are of other counters than those to come.
            self._glances = [
                msgspec.structs.replace(glance, transaction_count=None, active_s=None) for glance in self._glances
            ]
            self.remark("The server was restarted and lost its counters: they cover the time since then.")
        elif run.started_s != self._run.started_s:
            self.remark("The server was restarted; its counters continued.")
        self._run = run
        self._is_lost = False

    def _miss(self, why: NoAnswer) -> None:
        self._hole_count += 1
        self._notes["hole"] = why.reason
        self._is_lost = self._is_lost or why.is_connection_lost

    def _read_poolers(self) -> None:
        for read in self._poolers:
            try:
                self._pooler_readings.append(read())
            except PlimsollError as error:
                self.note("pooler", f"{error.message}. {error.hint}")
