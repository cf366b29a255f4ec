"""
Copy a sample into a scratch table, and measure what it cost.

Rule 1: the sample goes through the code of a load: the same COPY, the same ledger, as many workers.
Rule 2: commits of the sample do not wait for the disk, so that its speed is that of the load without a storage limit.
        WAL is the same.
Rule 3: no checkpoint is forced: it would write everybody's pages at once. What checkpoints cost is modelled.
"""

import threading
import time
from typing import Any

from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.load.copy.refused import RefusedRow
from plimsoll.load.copy.run import LoadRun
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.rehearse.law.cost import LoadSample, SampledIndex, ServerSetup
from plimsoll.load.rehearse.law.scatter import scatter_ratio
from plimsoll.load.rehearse.sample import FileSample, Slice
from plimsoll.load.rehearse.scratch import ScratchTable, can_connect
from plimsoll.sources.postgres.statements import rehearsing

# The WAL of others is measured for so long before the sample, and taken off.
_OTHERS_S = 1.0
# The first part makes the pages that hold few rows; what the others cost is what rows cost.
_PARTS = 3
# A judgement: index pages for which a window of rows is long enough to see order, and short enough that random rows
# do not touch all of them.
_WINDOW_PAGES_RATIO = 0.25
# With fewer pages, whether rows are scattered cannot be told.
_PAGES_LEAST = 8
_LEAST_S = 1e-3
_REFUSED_HINT = (
    "Correct such rows in the files, or say how they are written (--format, --encoding). Your table is unchanged."
)


class Measured(Struct, frozen=True, kw_only=True):
    """A sample that was copied, and what it says."""

    sample: LoadSample
    server: ServerSetup
    seconds: float
    notes: tuple[str, ...]


class FilledTable(Struct, frozen=True, kw_only=True):
    """What a sample filled, without indexes."""

    row_count: int
    block_count: int
    """Blocks that have rows."""
    workers: int


class Unpaced:
    """A pace that lets everything through, and notes when the first byte went and the last chunk was committed."""

    def __init__(self, workers: int) -> None:
        """Keep how many workers the load has."""
        self._workers = workers
        self._lock = threading.Lock()
        self._first_s: float | None = None
        self._last_s = 0.0

    @property
    def copying_s(self) -> float:
        """Return the time of the copies, without connecting and waiting for the end of threads."""
        first_s = self._first_s
        return _LEAST_S if first_s is None else max(self._last_s - first_s, _LEAST_S)

    def wait(self, byte_count: int, *, stop: threading.Event | None = None) -> float:
        """Return at once."""
        del byte_count, stop
        with self._lock:
            if self._first_s is None:
                self._first_s = time.monotonic()
        return 0.0

    def concurrency(self, most: int = 8) -> int:
        """Return the number of workers."""
        return min(most, self._workers)

    def set_work_left(self, batch_bytes: float | None) -> None:
        """Note the time: the last call is after the last chunk."""
        del batch_bytes
        with self._lock:
            self._last_s = time.monotonic()


def measure(scratch: ScratchTable, sample: FileSample, *, dsn: str, options: CopyOptions, workers: int) -> Measured:
    """
    Copy a sample and return what it cost.

    Args:
        scratch: empty.
        sample: rows of the files.
        dsn: of the server.
        options: how rows are written.
        workers: connections, ≥ 1.

    Raises:
        DataError: the server refuses a row.
        SourceError: the server refuses, or does not answer.
    """
    server = _setup(scratch)
    others_per_s = _others_wal_per_s(scratch)
    dsn = _without_waiting(dsn)
    input_bytes = rows = 0
    parts, rates, seconds = [], [], 0.0
    for number in range(_PARTS):
        slices = sample.slices(workers, of=_PARTS, number=number)
        if not slices:
            continue
        size = sum(one.size_bytes - len(sample.header) for one in slices)
        before = _wal(scratch)
        try:
            elapsed_s, loaded = _copy(scratch, slices, dsn=dsn, options=options, workers=workers)
        except RefusedRow as error:
            raise _refusal(error, sample, slices, options) from error
        after = _wal(scratch)
        input_bytes, rows, seconds = input_bytes + size, rows + loaded, seconds + elapsed_s
        if number > 0 or len(sample.ends) < _PARTS:
            # An image of a page is in WAL because of a checkpoint, and is modelled.
            images = (after[1] - before[1]) * server.block_bytes
            written = after[0] - before[0] - others_per_s * elapsed_s
            parts.append(max(written - images, 0.5 * written, 0.0) / size)
            rates.append(size / elapsed_s)
    mean = sum(parts) / len(parts)
    blocks = _table_blocks(scratch)
    filled = FilledTable(row_count=rows, block_count=blocks, workers=workers)
    indexes, notes = _indexes(scratch, server, filled)
    found = LoadSample(
        input_bytes=input_bytes,
        row_count=rows,
        table_bytes=blocks * server.block_bytes + _toast_bytes(scratch),
        wal_bytes=mean * input_bytes,
        wal_spread_ratio=(max(parts) - min(parts)) / 2 / mean if mean > 0 else 0.0,
        rates_bytes_per_s=tuple(rates),
        is_rate_limited=False,
        indexes=indexes,
    )
    return Measured(sample=found, server=server, seconds=seconds, notes=(*scratch.notes, *notes))


def _copy(
    scratch: ScratchTable, slices: tuple[Slice, ...], *, dsn: str, options: CopyOptions, workers: int
) -> tuple[float, int]:
    pace = Unpaced(workers)
    run = LoadRun(slices, scratch.name, dsn=dsn, options=options, pace=pace, workers_max=workers, is_durable=False)
    done = run.run()
    return pace.copying_s, done.row_count


def _refusal(error: RefusedRow, sample: FileSample, slices: tuple[Slice, ...], options: CopyOptions) -> DataError:
    """Return the error with the place in the user's file instead of that in the sample."""
    (one,) = (one for one in slices if one.identity == error.at.identity)
    origin = sample.origin_of(one, error.at, options.row_format)
    where = f"'{origin.name}', line {origin.line:,}{error.at.column}"
    if error.at.line is None:
        where = f"a row at or after line {origin.line:,} of '{origin.name}'"
    return DataError(f"unable to load {where}: {error.reason}", _REFUSED_HINT)


def _setup(scratch: ScratchTable) -> ServerSetup:
    ((block, buffers, cache, wal, segment, checkpoint_s, completion, images, compressed, vacuum),) = scratch.rows(
        rehearsing.SETTINGS
    )
    return ServerSetup(
        block_bytes=block,
        buffers_bytes=buffers,
        cache_bytes=max(cache, buffers),
        max_wal_bytes=wal,
        segment_bytes=segment,
        checkpoint_s=checkpoint_s,
        completion_ratio=completion,
        has_images=images,
        is_compressed=compressed,
        has_autovacuum=vacuum,
    )


def _wal(scratch: ScratchTable) -> tuple[float, float]:
    ((position, images),) = scratch.rows(rehearsing.WAL)
    return float(position), float(images)


def _others_wal_per_s(scratch: ScratchTable) -> float:
    before, began_s = _wal(scratch)[0], time.monotonic()
    time.sleep(_OTHERS_S)
    return (_wal(scratch)[0] - before) / (time.monotonic() - began_s)


def _table_blocks(scratch: ScratchTable) -> int:
    ((_, blocks),) = scratch.rows(rehearsing.blocks_used(scratch.schema))
    return int(blocks)


def _toast_bytes(scratch: ScratchTable) -> float:
    ((toast,),) = scratch.rows(rehearsing.TOAST_BYTES, scratch.oid)
    return float(toast)


def _indexes(
    scratch: ScratchTable, server: ServerSetup, filled: FilledTable
) -> tuple[tuple[SampledIndex, ...], list[str]]:
    present: dict[str, list[tuple[str, float]]] = {}
    for name, size, definition in scratch.rows(rehearsing.PRESENT_INDEXES, scratch.like_oid):
        present.setdefault(definition, []).append((name, size))
    found, notes = [], []
    for _, method, size, definition, keys, predicate in scratch.rows(rehearsing.SCRATCH_INDEXES, scratch.oid):
        name, now = (present.get(definition) or [("an index", 0.0)]).pop(0)
        scatter = _scatter(scratch, server, filled, (method, size, keys, predicate))
        if scatter is None:
            notes.append(
                f"whether rows come in the order of {name} ({method}) cannot be told from the sample, so there "
                "are only bounds"
            )
        found.append(
            SampledIndex(name=name, method=method, sample_bytes=size, present_bytes=now, scatter_ratio=scatter)
        )
    return tuple(found), notes


def _scatter(
    scratch: ScratchTable, server: ServerSetup, filled: FilledTable, index: tuple[str, float, list[str], Any]
) -> float | None:
    """Return the share of rows that touch another page than those before; None if it cannot be told."""
    method, size, keys, predicate = index
    if method == "hash":
        return 1.0
    pages = size / server.block_bytes
    if method != "btree" or pages < _PAGES_LEAST:
        return None
    per_page = max(filled.row_count / pages, 1.0)
    window = max(int(_WINDOW_PAGES_RATIO * pages), 2)
    query = rehearsing.pages_touched(scratch.schema, ", ".join(keys), predicate)
    ((touched, length),) = scratch.rows(query, per_page, window)
    # A page of the table has rows of one worker, and the next page may have those of another.
    is_mixed = filled.workers > 1
    switches = (length or 0.0) * filled.block_count / max(filled.row_count, 1) if is_mixed else 0.0
    return scatter_ratio(touched=touched or 0.0, rows=length or 0.0, pages=pages, per_page=per_page, switches=switches)


def _without_waiting(dsn: str) -> str:
    """Return the DSN with commits that do not wait; unchanged where a pooler refuses that."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    given = conninfo_to_dict(dsn).get("options") or ""
    changed = make_conninfo(dsn, options=f"{given} -c synchronous_commit=off".strip())
    return changed if can_connect(changed) else dsn
