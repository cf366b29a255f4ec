"""
The jobs of the pipeline: each loads the file of one organisation, and then refreshes its views.

Rule 1: a job runs in a thread with a connection of its own; ending the jobs cancels what they wait for.
Rule 2: what a job waits for besides the database is its worker's disk, or the pace that it was handed.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Lock
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from plimsoll.errors import SourceError
from plimsoll_lab.experiments.claims_pipeline.database import COPY_ROWS, VIEWS, ClaimsDatabase
from plimsoll_lab.experiments.claims_pipeline.story import LoadPath

# As much as a pipe of Linux holds (pipe(7)).
_PIECE_BYTES = 65_536
# Of a paced load, for each statement: a few in each second.
_CHUNK_BYTES = 262_144
# What a refresh costs at most, in passes over the rows; measured: 3 to 3.5. It reads them, the first one after a load
# also writes every page again, with its hint bits, and an image of it to WAL, and the view is written twice.
_PASSES = 4.0


class BatchPace(Protocol):
    """Makes the jobs of a batch wait."""

    def wait(self, byte_count: int, stop: Event) -> None:
        """Wait until so many bytes of a file may go."""

    def wait_for_storage(self, byte_count: float, stop: Event) -> None:
        """Wait until one statement may read or write so many bytes of storage, as fast as it can."""


class WorkerDisk:
    """The disk of a worker: what is written to it or read from it takes its time."""

    def __init__(self, bytes_per_s: float) -> None:
        """Set its rate, > 0."""
        self._bytes_per_s = bytes_per_s

    def pieces(self, path: Path, stop: Event) -> Iterator[bytes]:
        """Yield a file at this rate; end early if `stop` is set."""
        began_s, done = time.monotonic(), 0
        with path.open("rb") as file:
            while (piece := file.read(_PIECE_BYTES)) and not stop.is_set():
                yield piece
                done += len(piece)
                stop.wait(max(0.0, began_s + done / self._bytes_per_s - time.monotonic()))


class JobTimes(Struct, frozen=True, kw_only=True):
    """When the parts of a job were done, real seconds since the jobs began."""

    loaded_s: float
    done_s: float


class Batch(Struct, frozen=True, kw_only=True):
    """What the jobs of a phase do."""

    dsn: str
    files: tuple[tuple[int, Path], ...]
    """Organisation and file of each job."""
    path: LoadPath
    are_views_refreshed: bool
    worker: WorkerDisk
    worker_folder: Path
    pace: BatchPace | None = None


class Jobs:
    """The jobs of a phase; use it in a `with` block, whose end ends them."""

    def __init__(self, batch: Batch) -> None:
        """Keep what they do; nothing is started yet."""
        self._batch = batch
        self._stop = Event()
        self._lock, self._turn = Lock(), Lock()
        self._open: list[ClaimsDatabase] = []
        self._pool = ThreadPoolExecutor(max_workers=max(1, len(batch.files)))
        self._running: list[Future[JobTimes]] = []
        self._loaded = self._refreshed = 0

    def __enter__(self) -> Self:
        """Start them."""
        began_s = time.monotonic()
        self._running = [self._pool.submit(self._run, org, path, began_s) for org, path in self._batch.files]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what still runs, and wait for its end."""
        self._stop.set()
        with self._lock:
            for database in self._open:
                database.cancel()
        self._pool.shutdown()

    @property
    def are_done(self) -> bool:
        """Return whether all have ended."""
        return all(one.done() for one in self._running)

    @property
    def words(self) -> str:
        """Return what they have done, for people."""
        count = len(self._running)
        if not count:
            return "no job"
        text = f"{self._loaded} of {count} files loaded"
        if self._batch.are_views_refreshed:
            text += f", {self._refreshed} of {count * len(VIEWS)} views refreshed"
        return text

    def check(self) -> None:
        """
        Check that none has failed.

        Raises:
            SourceError: one has.
        """
        for one in self._running:
            if one.done():
                one.result()

    def times(self) -> Sequence[JobTimes]:
        """Return the times of all jobs, which have ended."""
        return [one.result() for one in self._running]

    def _run(self, org: int, path: Path, began_s: float) -> JobTimes:
        with ClaimsDatabase(self._batch.dsn) as database:
            self._note(database)
            try:
                self._load(database, path)
                self._loaded += 1
                loaded_s = time.monotonic() - began_s
                if self._batch.are_views_refreshed:
                    self._refresh(database, org)
                return JobTimes(loaded_s=loaded_s, done_s=time.monotonic() - began_s)
            finally:
                with self._lock:
                    self._open.remove(database)

    def _note(self, database: ClaimsDatabase) -> None:
        with self._lock:
            self._open.append(database)

    def _load(self, database: ClaimsDatabase, path: Path) -> None:
        batch = self._batch
        if batch.path is LoadPath.SERVER:
            database.copy_file(str(path))
        elif batch.path is LoadPath.WORKER:
            local = batch.worker_folder / path.name
            with local.open("wb") as file:
                for piece in batch.worker.pieces(path, self._stop):
                    file.write(piece)
            database.copy_rows(COPY_ROWS, batch.worker.pieces(local, self._stop))
            local.unlink()
        else:
            self._load_paced(database, path)
        self._check_running()

    def _load_paced(self, database: ClaimsDatabase, path: Path) -> None:
        """Load whole lines, one COPY for each chunk: a server counts what a statement did when it ends."""
        pace = self._batch.pace
        assert pace is not None
        rest = b""
        with path.open("rb") as file:
            while (chunk := file.read(_CHUNK_BYTES)) and not self._stop.is_set():
                part = rest + chunk
                end = part.rfind(b"\n") + 1
                lines, rest = part[:end], part[end:]
                pace.wait(end, self._stop)
                database.copy_rows(COPY_ROWS, (lines,))

    def _refresh(self, database: ClaimsDatabase, org: int) -> None:
        pace = self._batch.pace
        for view in VIEWS:
            # Nothing holds a statement to a rate, so at a pace one refresh runs after the other.
            with nullcontext() if pace is None else self._turn:
                if pace is not None:
                    pace.wait_for_storage(_PASSES * database.present_bytes(org), self._stop)
                self._check_running()
                database.refresh(view, org)
            with self._lock:
                self._refreshed += 1

    def _check_running(self) -> None:
        """Raise an error in a job that is ended early: half a file must not be taken for a whole one."""
        if self._stop.is_set():
            raise SourceError("the job was ended", "Run the experiment again.")
