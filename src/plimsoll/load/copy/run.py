"""
Load inputs into a table with as many workers as the allowance carries.

One thread reads and cuts; workers copy. What is in memory is a few chunks, whatever the size of a file.
"""

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from plimsoll.errors import DataError, PlimsollError
from plimsoll.load.copy.entries import LoadTable
from plimsoll.load.copy.inputs import Input, stream_of
from plimsoll.load.copy.ledger import LoadedChunk, StreamRanges, gaps
from plimsoll.load.copy.rows import Chunk, chunks_of
from plimsoll.load.copy.table import CopyOptions, TableSession
from plimsoll.load.pace.law.commits import CommitsSeen
from plimsoll.units import MIB

# Each chunk is a transaction with a flush of WAL: below a megabyte these would be a good part of the time. Larger
# ones need more memory and lose more work when a run is killed. The ledger has places, so it must not change.
CHUNK_BYTES = 4 * MIB
# PostgreSQL takes no row of more than 1 GiB, and no usual one has 64 MiB.
ROW_BYTES_MAX = 64 * MIB
# Chunks that are read ahead.
_AHEAD = 2
# How often a worker that is not needed, or has nothing to do, looks again.
_NAP_S = 0.2


class LoadStopped(PlimsollError):
    """The load was stopped from outside, before everything was loaded."""


class WorkerPace(Protocol):
    """What a load asks of its pace; `Pace` is one."""

    def wait(self, byte_count: int, *, stop: threading.Event | None = None) -> float:
        """Wait until so many bytes may go; return the seconds waited."""
        ...

    def concurrency(self, most: int = 8) -> int:
        """Return how many workers are wanted, from 1 to `most`."""
        ...

    def set_work_left(self, batch_bytes: float | None) -> None:
        """State how many bytes are still to be sent; None if that is not known."""
        ...


class LoadProgress(Struct, frozen=True, kw_only=True):
    """How far a load is."""

    loaded_bytes: int
    """Of this run and of earlier ones, unpacked."""
    total_bytes: int | None
    """None if one of the files is packed."""
    row_count: int
    """Loaded by this run."""
    earlier_bytes: int
    """Of these, loaded by earlier runs or by another at the same time."""
    workers: int
    """Working now."""
    commits: CommitsSeen | None = None
    """At the end of a load that watched them."""


class LoadRun:
    """One run of a load."""

    def __init__(
        self,
        inputs: Sequence[Input],
        table: str,
        *,
        dsn: str,
        options: CopyOptions,
        pace: WorkerPace,
        workers_max: int,
        stop: threading.Event | None = None,
        is_durable: bool = True,
        is_truncated_first: bool = False,
    ) -> None:
        """
        Keep what to load; nothing is read yet.

        Args:
            inputs: files and objects.
            table: name, as typed.
            dsn: of the server.
            options: how rows are written.
            pace: started; every piece waits for it.
            workers_max: upper bound of connections, ≥ 1.
            stop: ends the run when it is set; None for a new one, which is set by a failure only.
            is_durable: whether commits wait for their WAL although the role's do not.
            is_truncated_first: whether the table is emptied, and what was loaded into it forgotten.
        """
        self._inputs, self._table_name = tuple(inputs), table
        self._dsn, self._options, self._pace = dsn, options, pace
        self._is_durable, self._is_truncated_first = is_durable, is_truncated_first
        self._workers_max = workers_max
        self._queue: queue.Queue[tuple[Input, Chunk]] = queue.Queue(maxsize=_AHEAD)
        self._lock = threading.Lock()
        self._stop = stop or threading.Event()
        self._is_read = threading.Event()
        self._failure: BaseException | None = None
        self._rows = self._loaded = self._earlier = self._busy = 0
        self._found: tuple[LoadTable, dict[str, tuple[LoadedChunk, ...]]] | None = None
        sizes = [stream_of(one).size_bytes for one in self._inputs]
        known = [size for size in sizes if size is not None]
        self._total = sum(known) if len(known) == len(sizes) else None

    def progress(self) -> LoadProgress:
        """Return how far the load is."""
        with self._lock:
            return LoadProgress(
                loaded_bytes=self._loaded,
                total_bytes=self._total,
                row_count=self._rows,
                earlier_bytes=self._earlier,
                workers=self._busy,
            )

    def find(self) -> None:
        """
        Find the table and what of the inputs is in the ledger; `run` does it if this was not called.

        Raises:
            UsageError: there is no such table or column, other content of a file was loaded, the ledger cannot be
                trusted, or the table lacks rows that are in it by the ledger.
            DataError: a file is damaged.
            SourceError: the server refuses, or does not answer.
        """
        session = self._session()
        try:
            table = session.find(self._table_name)
            if self._is_truncated_first:
                session.truncate(table, self._inputs)
            done = {one.identity: session.loaded(table, one) for one in self._inputs}
            session.check_kept(table, self._inputs)
        finally:
            session.close()
        for one in self._inputs:
            with _naming(one):
                session.check_bytes(table, one, done[one.identity])
        self._found = table, done

    def run(self) -> LoadProgress:
        """
        Load everything that is not in the ledger.

        Raises:
            UsageError: there is no such table or column, or other content of a file was loaded.
            DataError: the server refuses a row, or a file is damaged.
            SourceError: the server or S3 refuses, or does not answer.
            LoadStopped: it was stopped from outside.
        """
        if self._found is None:
            self.find()
        assert self._found is not None
        table, done = self._found
        threads = [
            threading.Thread(target=self._work, args=(n, table), name=f"load-{n}", daemon=True)
            for n in range(self._workers_max)
        ]
        for thread in threads:
            thread.start()
        try:
            self._read(done)
        except BaseException as error:  # noqa: BLE001 - kept, and raised by the thread that waits
            self._fail(error)
        self._is_read.set()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(_NAP_S)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C ends the workers first
            self._fail(error)
            for thread in threads:
                thread.join(_NAP_S)
        if self._failure is not None:
            raise self._failure
        if self._stop.is_set():
            raise LoadStopped(
                "the load was stopped before its end", "Start it again: it goes on after what was loaded."
            )
        assert self._queue.empty()
        return self.progress()

    def _read(self, done: dict[str, tuple[LoadedChunk, ...]]) -> None:
        for one in self._inputs:
            for chunk in self._chunks(one, done[one.identity]):
                self._tell_work_left()
                while not self._stop.is_set():
                    try:
                        self._queue.put((one, chunk), timeout=_NAP_S)
                        break
                    except queue.Full:
                        continue
                if self._stop.is_set():
                    return

    def _session(self) -> TableSession:
        return TableSession(self._dsn, self._options, is_durable=self._is_durable)

    def _chunks(self, one: Input, done: Sequence[LoadedChunk]) -> Iterator[Chunk]:
        """Yield the chunks of an input that are not loaded."""
        with self._lock:
            known = sum(chunk.end_byte - chunk.start_byte for chunk in done)
            self._loaded += known
            self._earlier += known
        ranges = list(gaps(done))
        stream = StreamRanges(stream_of(one).pieces, ranges[0][0])
        with _naming(one):
            for start_byte, end_byte in ranges:
                yield from chunks_of(
                    stream.range(start_byte, end_byte),
                    self._options.row_format,
                    chunk_bytes=CHUNK_BYTES,
                    row_bytes_max=ROW_BYTES_MAX,
                    start_byte=start_byte,
                )

    def _work(self, number: int, table: LoadTable) -> None:
        session = self._session()
        try:
            while not self._stop.is_set():
                if number >= self._pace.concurrency(self._workers_max):
                    if self._is_read.is_set() and self._queue.empty():
                        return
                    self._stop.wait(_NAP_S)
                    continue
                # Asked first: a chunk may come, and the reading end, while this thread waits.
                is_read = self._is_read.is_set()
                try:
                    one, chunk = self._queue.get(timeout=_NAP_S)
                except queue.Empty:
                    if is_read:
                        return
                    continue
                self._load(session, table, one, chunk)
        except BaseException as error:  # noqa: BLE001 - kept, and raised by the thread that waits
            self._fail(error)
        finally:
            session.close()

    def _load(self, session: TableSession, table: LoadTable, one: Input, chunk: Chunk) -> None:
        with self._lock:
            self._busy += 1
        try:
            rows = session.load(table, chunk, file=one.name, identity=one.identity, wait=self._wait, pause=self._pause)
        finally:
            with self._lock:
                self._busy -= 1
        with self._lock:
            self._rows += rows or 0
            self._loaded += chunk.size_bytes
            if rows is None:
                self._earlier += chunk.size_bytes
        self._tell_work_left()

    def _wait(self, byte_count: int) -> None:
        self._pace.wait(byte_count, stop=self._stop)
        if self._stop.is_set():
            raise _Stopped

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise _Stopped

    def _tell_work_left(self) -> None:
        with self._lock:
            left = None if self._total is None else max(self._total - self._loaded, 0)
        self._pace.set_work_left(left)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._failure is None and not isinstance(error, _Stopped):
                self._failure = error
        self._stop.set()


@contextmanager
def _naming(one: Input) -> Iterator[None]:
    """Name the input in an error about its data."""
    try:
        yield
    except DataError as error:
        raise DataError(f"'{one.name}': {error.message}", error.hint) from error


class _Stopped(Exception):
    """Another thread failed."""
