"""
Read parts of one table in several parallel sessions, repeatedly, and measure how fast they are.

Each session keeps one request in flight (`effective_io_concurrency = 0`), so the number of sessions is the
depth. A session's statements take about a quarter of a second each. What each one read, and when, is kept.
A statement that crosses the edge of the counted time counts by its share.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from plimsoll.errors import SourceError
from plimsoll.model.ceiling import Phase
from plimsoll.sources.postgres.statements import sweep as sql
from plimsoll_lab.model.sweep import Pattern, SweepPoint
from plimsoll_lab.sweep.plan import Step
from plimsoll_lab.sweep.rates import error_of_mean, steady_from
from plimsoll_lab.sweep.server import VERSION_COUNTS, SweepServer, SweepServerFacts, SweepTable

if TYPE_CHECKING:
    import psycopg

# Long enough that starting it costs nothing, short enough to end soon after the time is up.
_STATEMENT_S = 0.25
# A scan starts with small requests and doubles them; enough large ones must follow to outweigh these.
_SCAN_REQUESTS_MIN = 12
_GROWTH_MAX = 4.0
# Twenty checks a second show how many sessions wait, and cost the server next to nothing.
_POLL_S = 0.05
# As many as with fio; their scatter gives the error.
_PARTS = 16
_RAMP_S = 1.0
# Do not use more of a short run than this for the ramp.
_RAMP_RATIO = 0.25
# Requests in flight when the time is up may still have to wait for a slow disk.
_GRACE_S = 30.0
# Time for the last statements to end; a slower one counts in proportion.
_TAIL_S = 5.0
# How much later the counted time may start because of a slow first statement.
_LATE_RATIO = 2.0

# (√5 − 1) / 2: its multiples spread evenly over the whole range from the start (golden-ratio sequence).
_GOLDEN = 0.6180339887498949


class Piece(Struct, frozen=True):
    """Hold what one statement read, and when."""

    began_s: float
    ended_s: float
    bytes: float
    requests: float


class Part(Struct, frozen=True, kw_only=True):
    """Define the blocks that one stream reads."""

    first: int
    count: int


def parts_of(block_count: int, streams: int) -> list[Part]:
    """Divide the table into one part for each stream, without overlaps."""
    each = block_count // streams
    return [Part(first=index * each, count=each) for index in range(streams)]


def stride_of(slots: int) -> int:
    """Return a step that visits every slot once before any repeats, and never two neighbours in a row."""
    if slots < 4:
        return 1
    step = max(round(slots * _GOLDEN), 2)
    # Only a step without a common factor with the number of slots visits them all.
    while gcd(step, slots) != 1:
        step += 1
    return step


class _Stream:
    """Run one session in its own thread."""

    def __init__(
        self,
        connection: "psycopg.Connection[dict[str, Any]]",
        table: SweepTable,
        part: Part,
        step: Step,
        facts: SweepServerFacts,
        *,
        prewarm: str,
    ) -> None:
        self._prewarm = prewarm
        self.connection, self._table, self._part = connection, table, part
        self._step, self._facts = step, facts
        self._blocks = step.size_bytes // facts.block_bytes
        self._place = 0
        self._slots = max(part.count // self._blocks, 1)
        self._stride = stride_of(self._slots)
        self.pieces: list[Piece] = []
        self._counts = (0, 0)
        self.failed: Exception | None = None

    def prepare(self) -> None:
        for setting in sql.SETTINGS:
            self.connection.execute(setting.encode())
        limit_kib = self._step.size_bytes // 1024
        self.connection.execute(sql.largest_request(limit_kib).encode())
        if self._facts.version_number >= VERSION_COUNTS:
            self.connection.execute(sql.REPORT)
            self._counts = self._own_counts()

    def run(self, is_over: Callable[[], bool]) -> None:
        """Read until it is over; keep an error and stop."""
        least = _SCAN_REQUESTS_MIN if self._step.pattern == Pattern.SEQUENTIAL else 1
        requests = least
        try:
            while not is_over():
                began_s = time.monotonic()
                blocks = self._read(requests)
                ended_s = time.monotonic()
                self.pieces.append(self._piece(began_s, ended_s, blocks))
                ratio = _STATEMENT_S / max(ended_s - began_s, 1e-6)
                grown = max(int(requests * min(ratio, _GROWTH_MAX)), least)
                # At most once through the part: a block that comes twice in a statement is in the buffers.
                requests = min(grown, max(self._slots, least))
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to
            self.failed = error

    def _piece(self, began_s: float, ended_s: float, blocks: int) -> Piece:
        """Return what the statement really read, without blocks that were in the buffers."""
        if self._facts.version_number < VERSION_COUNTS:
            asked = blocks * self._facts.block_bytes
            return Piece(began_s, ended_s, asked, asked / self._step.size_bytes)
        before, self._counts = self._counts, self._own_counts()
        return Piece(began_s, ended_s, self._counts[1] - before[1], self._counts[0] - before[0])

    def _read(self, requests: int) -> int:
        if self._step.pattern == Pattern.SCATTERED:
            return self._scattered(requests)
        return self._scan(requests)

    def _scattered(self, requests: int) -> int:
        """Read with requests of exactly the size, in an order in which none starts where another ended."""
        begins = []
        for _ in range(min(requests, self._slots)):
            begins.append(self._part.first + self._place * self._blocks)
            self._place = (self._place + self._stride) % self._slots
        row = self.connection.execute(
            sql.scattered(self._prewarm).encode(), [self._table.name, self._blocks - 1, begins]
        ).fetchone()
        return int(row["blocks"]) if row else 0

    def _scan(self, requests: int) -> int:
        """Read a stretch of a scan; continue where the last one ended, and start again at the end."""
        count = min(requests * self._blocks, self._part.count - self._place)
        first = self._part.first + self._place
        self.connection.execute(sql.scan(self._table.name, first=first, end=first + count).encode())
        self._place += count
        if self._place >= self._part.count:
            self._place = 0
        return count

    def _own_counts(self) -> tuple[int, int]:
        """Return the requests and bytes that the session has read and reported so far."""
        row = self.connection.execute(sql.OWN_COUNTS.encode()).fetchone()
        return (int(row["reads"]), int(row["bytes"])) if row else (0, 0)


class Streams:
    """Keep as many sessions as a sweep needs at most; each step uses some of them."""

    def __init__(self, server: SweepServer, facts: SweepServerFacts, table: SweepTable, count: int) -> None:
        """
        Connect all sessions, and one to observe them.

        Raises:
            SourceError: the server refused a connection.
        """
        self._server, self._facts, self._table = server, facts, table
        self._sessions: list[psycopg.Connection[dict[str, Any]]] = []
        try:
            self._onlooker = server.connect()
            for _ in range(count):
                self._sessions.append(server.connect())
            self._evicting = server.evicting(self._onlooker) if table.is_own else ""
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Cancel what still runs on the server, and disconnect."""
        onlooker = getattr(self, "_onlooker", None)
        for connection in [*self._sessions, *([onlooker] if onlooker is not None else [])]:
            connection.close()
        self._sessions = []

    def measure(self, step: Step, bytes_max: int, phase: Phase, at_start: Callable[[], None]) -> SweepPoint:
        """
        Measure one point; `at_start` is called when all is prepared and nothing has been read.

        Raises:
            SourceError: a session failed, or did not end in time.
        """
        import psycopg

        try:
            return self._measured(step, bytes_max, phase, at_start)
        except psycopg.Error as error:
            raise self._server.error_from(error, f"unable to read {self._table.name}") from None

    def _measured(self, step: Step, bytes_max: int, phase: Phase, at_start: Callable[[], None]) -> SweepPoint:
        block_count = self._table.size_bytes // self._facts.block_bytes
        parts = parts_of(block_count, step.depth)
        streams = [
            _Stream(connection, self._table, part, step, self._facts, prewarm=self._server.prewarm)
            for connection, part in zip(self._sessions, parts, strict=False)
        ]
        for stream in streams:
            stream.prepare()
        if self._evicting:
            self._onlooker.execute(sql.evicted(self._evicting).encode(), [self._table.name])
        run = _StreamRun(streams, step, bytes_max)
        at_start()
        try:
            run.watch(self._look)
        except BaseException:
            self._cancel()
            run.join()
            raise
        for stream in streams:
            if stream.failed is not None:
                raise stream.failed
        return run.point(phase)

    def _look(self, pids: list[int]) -> tuple[int, int]:
        row = self._onlooker.execute(sql.SEEN.encode(), [pids]).fetchone()
        return (int(row["waiting"]), int(row["computing"])) if row else (0, 0)

    def _cancel(self) -> None:
        for connection in self._sessions:
            with suppress(Exception):
                connection.cancel_safe(timeout=2.0)


class _StreamRun:
    """Run the streams of one step for its time."""

    def __init__(self, streams: Sequence[_Stream], step: Step, bytes_max: int) -> None:
        self._streams, self._step, self._bytes_max = streams, step, bytes_max
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=stream.run, args=(self._is_over.is_set,), daemon=True) for stream in streams
        ]
        self._waiting: list[int] = []
        self._computing: list[int] = []
        self._began_s = self._first_s = self._last_s = 0.0

    def watch(self, look: Callable[[list[int]], tuple[int, int]]) -> None:
        """Start the streams, observe them, and end them when the time or the bytes are used up."""
        ramp_s = min(_RAMP_S, _RAMP_RATIO * self._step.length_s)
        self._began_s = time.monotonic()
        self._first_s = self._began_s + ramp_s
        self._last_s = self._first_s + self._step.length_s
        pids = [stream.connection.info.backend_pid for stream in self._streams]
        for thread in self._threads:
            thread.start()
        latest_s = self._last_s + _LATE_RATIO * self._step.length_s
        while (now_s := time.monotonic()) < self._last_s and self._moved() < self._bytes_max:
            if any(stream.failed for stream in self._streams):
                break
            # A statement of the ramp that reaches into the counted time would bring credits from idle
            # time along. So the counted time starts when all first statements are over.
            if not all(stream.pieces for stream in self._streams) and self._last_s < latest_s:
                self._first_s = max(self._first_s, now_s + _POLL_S)
                self._last_s = self._first_s + self._step.length_s
            if now_s >= self._first_s:
                waiting, computing = look(pids)
                self._waiting.append(waiting)
                self._computing.append(computing)
            time.sleep(min(_POLL_S, max(self._last_s - now_s, 0.0)))
        self._last_s = min(self._last_s, time.monotonic())
        # All go on until each has ended a statement. If some stopped earlier, the others would be faster
        # at their end than at their start, and could not be counted in proportion.
        end_s = self._last_s + _TAIL_S
        while time.monotonic() < end_s and not all(self._is_past(s) for s in self._streams):
            time.sleep(_POLL_S)
        self.join()

    def _is_past(self, stream: _Stream) -> bool:
        if stream.failed is not None:
            return True
        return bool(stream.pieces) and stream.pieces[-1].ended_s >= self._last_s

    def join(self) -> None:
        """Wait for the statements that still run; the server's time limit ends them."""
        self._is_over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_GRACE_S)

    def _moved(self) -> float:
        return sum(piece.bytes for stream in self._streams for piece in list(stream.pieces))

    def point(self, phase: Phase) -> SweepPoint:
        """Return the measured point."""
        pieces = [piece for stream in self._streams for piece in stream.pieces]
        # If the bytes were used up during the ramp, there is only the ramp to evaluate.
        first_s = self._first_s if self._last_s - self._first_s > _RAMP_S / 2 else self._began_s
        part_s = max(self._last_s - first_s, 1e-6) / _PARTS
        edges = [first_s + part_s * n for n in range(_PARTS + 1)]
        rates = [within(pieces, a, b, lambda p: p.bytes) / part_s for a, b in pairwise(edges)]
        start = steady_from(rates)
        first_s, rates = edges[start], rates[start:]
        length_s = part_s * len(rates)
        moved = within(pieces, first_s, self._last_s, lambda piece: piece.bytes)
        requests = within(pieces, first_s, self._last_s, lambda piece: piece.requests)
        if moved <= 0 or requests <= 0:
            raise SourceError(
                f"nothing was read from the disk in {self._step.name}",
                "All blocks were in the server's buffers: name a larger --table.",
            )
        looks = max(len(self._waiting), 1)
        seen = sum(self._waiting) + sum(self._computing)
        return SweepPoint(
            io_size_bytes=self._step.size_bytes,
            pattern=self._step.pattern,
            direction=self._step.direction,
            phase=phase,
            ops_per_s=requests / length_s,
            bytes_per_s=moved / length_s,
            length_s=length_s,
            # Each session has one request, so sessions waiting for I/O are requests in flight.
            depth=sum(self._waiting) / looks or None,
            busy_ratio=sum(self._computing) / seen if seen else None,
            error_ratio=error_of_mean(rates),
        )


def within(pieces: Sequence[Piece], first_s: float, last_s: float, amount: Callable[[Piece], float]) -> float:
    """Return what was read within a time; a statement that crosses its edge counts by its share."""
    total = 0.0
    for piece in pieces:
        inside_s = min(piece.ended_s, last_s) - max(piece.began_s, first_s)
        if inside_s > 0:
            total += amount(piece) * inside_s / (piece.ended_s - piece.began_s)
    return total
