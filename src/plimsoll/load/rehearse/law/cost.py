"""
Compute what a whole load asks of the device, from what a sample of it cost.

Heap, TOAST and WAL grow with the rows, so a sample shows them. It does not show two things, which are modelled:

- Checkpoints. A page that many rows touch is written once for each checkpoint. The first touch after a checkpoint
  puts an image of the whole page into WAL.
- Indexes that outgrow memory. Then a touch of a random page reads it, and another page is written to make room.

Both depend on how scattered the rows are in the order of each index, which the sample shows.

Rule 1: no clock, no server; what is not known makes the bounds wider, and is no number in between.
Rule 2: pages that are still dirty at the end are written after the load, and do not count. A pace takes new pages off
        the allowance when they are filled (`pace/law/caused`), so under a pace these do count.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from plimsoll.load.merging import MERGED_LEAST_BYTES, MERGED_LIKELY_BYTES, MERGED_MOST_BYTES
from plimsoll.model.series import FloatArray

# Random inserts leave B-tree pages ln 2 full on average (Yao 1978, "On random 2-3 trees"); the free part is no part
# of an image. The bounds: a page that was just split, and a full one.
_IMAGE_RATIOS = (0.5, 0.69, 1.0)
# PostgreSQL's documentation gives no rate of compression. From a tenth to nothing gained is a judgement.
_COMPRESSED_RATIOS = (0.1, 1.0)
# By case.
_SEQUENTIAL_BYTES = (MERGED_MOST_BYTES, MERGED_LIKELY_BYTES, MERGED_LEAST_BYTES)
# Linux writes a dirty page of a file after 30 s, and looks every 5 s (vm.dirty_expire_centisecs); at the latest when
# dirty pages are a fifth of memory (vm.dirty_ratio).
_EXPIRE_S = 35.0
_DIRTY_RATIO = 0.2
# On a device that is full, bytes of WAL that are written for each byte that a checkpoint writes. Many connections
# write WAL, and one process writes pages. Measured behind a gate: about 2 (bench/rehearse.py); the bounds are a
# judgement.
_WAL_SHARES = (4.0, 2.0, 1.0)
# While an index grows.
_GRID = (np.arange(100) + 0.5) / 100
# Beyond that many checkpoints their mean is as good.
_CYCLES_MAX = 2_000
_ROUNDS = 40
_SETTLED_RATIO = 1e-6


class Case(StrEnum):
    """Which end of what is not known."""

    LOW = "low"
    LIKELY = "likely"
    HIGH = "high"

    @property
    def place(self) -> int:
        """Return its place in a tuple of low, likely, high."""
        return list(Case).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledIndex:
    """An index that the sample filled."""

    name: str
    method: str
    sample_bytes: float
    present_bytes: float
    """Size before the load of the index that will be loaded."""
    scatter_ratio: float | None
    """Pages that a row touches anew, 0–1; None if not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSample:
    """What copying a sample cost."""

    input_bytes: float
    """> 0."""
    row_count: int
    table_bytes: float
    """Pages in use of the table, with its TOAST table."""
    wal_bytes: float
    """Without full-page images."""
    wal_spread_ratio: float = 0.0
    """How much WAL for each byte differed between parts of the sample: half of the range, divided by the mean."""
    rates_bytes_per_s: tuple[float, ...]
    """Bytes of input per second, of each part of the sample that was timed; at least one."""
    is_rate_limited: bool
    """Whether storage may have limited these rates; then the load can be faster."""
    indexes: tuple[SampledIndex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetup:
    """Settings of the server that decide what a load writes."""

    block_bytes: float
    buffers_bytes: float
    cache_bytes: float
    """Memory in which pages are found without the device: `effective_cache_size`."""
    max_wal_bytes: float
    segment_bytes: float
    """`wal_segment_size`."""
    checkpoint_s: float
    completion_ratio: float
    """`checkpoint_completion_target`."""
    has_images: bool
    is_compressed: bool
    """Whether images are compressed."""
    has_autovacuum: bool

    @property
    def wal_per_checkpoint(self) -> float:
        """
        Return the bytes of WAL after which a checkpoint begins, on average.

        Source:
            PostgreSQL 18, xlog.c: CalculateCheckpointSegments, XLogCheckpointNeeded: whole segments, one less, and
            the one in which the last checkpoint began counts whole.
        """
        segments = int(self.max_wal_bytes / self.segment_bytes / (1 + self.completion_ratio))
        return max(segments - 1.5, 0.5) * self.segment_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWork:
    """What a load asks of the device until its last row is committed."""

    bytes: float
    ops: float
    checkpoints: float


def work_of(
    sample: LoadSample,
    server: ServerSetup,
    *,
    input_bytes: float,
    duration_s: float,
    case: Case,
    is_full: bool,
    is_paced: bool = False,
) -> DeviceWork | None:
    """
    Return what the whole load asks of the device.

    Args:
        sample: what a part cost.
        server: its settings.
        input_bytes: of the whole load, > 0.
        duration_s: how long it takes: checkpoints also come by time, > 0.
        case: the end of everything that is not known.
        is_full: whether the device is, so that a checkpoint is not finished when the next one should begin.
        is_paced: whether new pages count when they are filled, and not only when they are written.

    Returns:
        None for the likely case if the scatter of an index, or the compression of images, is not known.
    """
    if case is Case.LIKELY and not is_likely_known(sample, server):
        return None
    scale = input_bytes / sample.input_bytes
    rows = scale * sample.row_count
    table = scale * sample.table_bytes
    wal = scale * sample.wal_bytes * (1 + (case.place - 1) * sample.wal_spread_ratio)
    image = server.block_bytes * _image_ratio(server, case)
    # Sessions report late by how much files grew. So the lower bound has what is written, and no more.
    is_paced = is_paced and case is not Case.LOW
    cycles, touched = 0.0, _Touched()
    crowd = _crowd(sample.indexes, server, scale=scale, case=case)
    # Images make WAL, WAL makes checkpoints, and checkpoints make images.
    for _ in range(_ROUNDS):
        before, written = cycles, wal + image * touched.images
        cycles = max(written / server.wal_per_checkpoint, duration_s / server.checkpoint_s)
        if is_full:
            in_order = table + touched.appended * server.block_bytes
            waiting = _cycles_in_turn(
                written,
                server.wal_per_checkpoint,
                dirty_bytes=touched.dirty * server.block_bytes / max(before, 1.0),
                in_order_ratio=in_order / written,
                share=_WAL_SHARES[case.place],
            )
            cycles = min(cycles, waiting)
        if abs(cycles - before) <= _SETTLED_RATIO * cycles:
            break
        touched = _sum(
            _touched(one, server, crowd, rows=rows, scale=scale, cycles=cycles, case=case, is_paced=is_paced)
            for one in sample.indexes
        )
    in_order = table + touched.appended * server.block_bytes
    left = 0.0 if is_paced else _unwritten_in_order(in_order, server, cycles=cycles, duration_s=duration_s, case=case)
    sequential = in_order - left + wal + image * touched.images
    sequential += _zeros(sample.indexes, scale=scale, cycles=cycles, case=case)
    if case is Case.HIGH and server.has_autovacuum:
        # A vacuum during the load marks pages as all-visible, and writes them once more.
        sequential += table
    sorted_bytes = (touched.written - touched.evicted) * server.block_bytes
    scattered = touched.evicted + touched.read
    return DeviceWork(
        bytes=sequential + sorted_bytes + scattered * server.block_bytes,
        ops=(sequential + sorted_bytes) / _SEQUENTIAL_BYTES[case.place] + touched.runs + scattered,
        checkpoints=cycles,
    )


def is_likely_known(sample: LoadSample, server: ServerSetup) -> bool:
    """Return whether more than bounds is known of what a load writes."""
    is_scatter_known = all(one.scatter_ratio is not None for one in sample.indexes)
    return is_scatter_known and not (server.has_images and server.is_compressed)


def _cycles_in_turn(wal: float, least_wal: float, *, dirty_bytes: float, in_order_ratio: float, share: float) -> float:
    """
    Return the checkpoint cycles of a load on a device that is full: a checkpoint begins when the last one has ended.

    Args:
        wal: bytes of WAL of the load.
        least_wal: after which a checkpoint begins, if none is at work.
        dirty_bytes: scattered pages that a checkpoint writes, on average.
        in_order_ratio: bytes of pages filled in order for each byte of WAL.
        share: bytes of WAL for each byte that a checkpoint writes, while it does.
    """
    cycle = least_wal
    for count in range(_CYCLES_MAX):
        if wal <= cycle:
            return count + wal / cycle
        wal -= cycle
        cycle = max(least_wal, share * (dirty_bytes + in_order_ratio * cycle))
    return _CYCLES_MAX + wal / cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touched:
    """Pages of indexes, over the whole load."""

    images: float = 0.0
    dirty: float = 0.0
    """Scattered pages in memory that checkpoints have to write."""
    written: float = 0.0
    """Scattered pages that are written before the load ends."""
    evicted: float = 0.0
    """Those of them that made room for others, in no order."""
    runs: float = 0.0
    """Runs of neighbours among the others, which a checkpoint writes in their order."""
    read: float = 0.0
    appended: float = 0.0
    """Pages that rows fill in order, written once."""


def _sum(parts: Iterable[_Touched]) -> _Touched:
    total = _Touched()
    for part in parts:
        total = _Touched(
            images=total.images + part.images,
            dirty=total.dirty + part.dirty,
            written=total.written + part.written,
            evicted=total.evicted + part.evicted,
            runs=total.runs + part.runs,
            read=total.read + part.read,
            appended=total.appended + part.appended,
        )
    return total


def _touched(
    index: SampledIndex,
    server: ServerSetup,
    crowd: FloatArray,
    *,
    rows: float,
    scale: float,
    cycles: float,
    case: Case,
    is_paced: bool,
) -> _Touched:
    scatter = _scatter_of(index, case)
    before = index.present_bytes / server.block_bytes
    growth = scale * index.sample_bytes / server.block_bytes
    starts, ends = _cycles(cycles)
    pages_before = before + growth * starts
    pages = np.maximum(before + growth * ends, 1.0)
    touches = scatter * rows * (ends - starts)
    # Of P pages, n random touches miss a share of e^(−n/P).
    reached = 1 - np.exp(-touches / pages)
    new = scatter * growth * (ends - starts)
    dirty = np.maximum(pages * reached, new)
    images = pages_before * reached if server.has_images else np.zeros_like(dirty)
    if before == 0:
        # The pages of an index that was empty have no image before the first checkpoint.
        images[0] = 0.0
    all_pages = np.maximum(before + growth * _GRID, crowd)
    buffers = server.buffers_bytes / server.block_bytes
    memory = server.buffers_bytes if case is Case.HIGH else server.cache_bytes
    evicted = scatter * rows * _missing(all_pages, buffers)
    read = scatter * rows * _missing(all_pages, memory / server.block_bytes)
    # What was evicted is not there any more when the checkpoint comes.
    held = np.minimum(dirty, buffers * pages / np.interp(ends, _GRID, all_pages))
    kept = held * _written_ratio(cycles, starts.size, server, case)
    if is_paced:
        kept = np.maximum(kept, np.minimum(new, held))
    return _Touched(
        images=float(images.sum()),
        dirty=float(held.sum()),
        written=float(kept.sum()) + evicted,
        evicted=evicted,
        # Of pages that are dirty with chance p, 1 − p of them end a run of neighbours.
        runs=float((kept * (1 - reached)).sum()),
        read=read,
        appended=(1 - scatter) * growth,
    )


def _cycles(cycles: float) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the load at the start and the end of each checkpoint cycle; the last one is a part."""
    count = int(min(max(np.ceil(cycles), 1), _CYCLES_MAX))
    length = 1 / max(min(cycles, _CYCLES_MAX), 1.0)
    starts: FloatArray = np.arange(count, dtype=np.float64) * length
    ends: FloatArray = np.minimum(starts + length, 1.0)
    return starts, ends


def _written_ratio(cycles: float, count: int, server: ServerSetup, case: Case) -> FloatArray:
    """Return the share of each cycle's dirty pages that its checkpoint writes before the load ends."""
    if case is Case.HIGH:
        return np.ones(count)
    # The checkpoint that ends a cycle writes its pages during the next one, over the completion target.
    since = min(cycles, _CYCLES_MAX) - (np.arange(count) + 1)
    if case is Case.LOW:
        since = since - 1
    share: FloatArray = np.clip(since / max(server.completion_ratio, 0.1), 0.0, 1.0)
    return share


def _unwritten_in_order(in_order: float, server: ServerSetup, *, cycles: float, duration_s: float, case: Case) -> float:
    """Return the bytes of pages filled in order that are not written when the load ends."""
    # A chunk is smaller than the ring of a COPY (16 MiB), so its pages stay in shared buffers until a checkpoint or
    # others need the room. Then the kernel keeps them until they are old, too many, or the checkpoint syncs all files:
    # for the first time after a cycle and the completion target, then once in each cycle. At a random time half a
    # cycle has passed since.
    if case is Case.HIGH:
        return 0.0
    has_synced = case is not Case.LOW and cycles >= 1 + server.completion_ratio
    since_s = duration_s / cycles / 2 if has_synced else duration_s
    dirty = in_order * min(since_s / duration_s, 1.0)
    if case is Case.LIKELY:
        return min(dirty, server.buffers_bytes)
    in_kernel = min(in_order * min(_EXPIRE_S / duration_s, 1.0), _DIRTY_RATIO * server.cache_bytes)
    return min(dirty, server.buffers_bytes + in_kernel)


def _zeros(indexes: Iterable[SampledIndex], *, scale: float, cycles: float, case: Case) -> float:
    """Return the bytes of zeros that are written where indexes grow."""
    # An index grows by a page of zeros at a time (md.c, mdzeroextend; a table grows by many pages, which are only
    # reserved). The sync at the end of each checkpoint writes them, and the next checkpoint their content: all but those
    # of before the first checkpoint.
    grown = scale * sum(one.sample_bytes for one in indexes)
    if case is Case.LOW:
        return 0.0
    return grown * (1.0 if case is Case.HIGH else max(1 - 1 / max(cycles, 1.0), 0.0))


def _scatter_of(index: SampledIndex, case: Case) -> float:
    if index.scatter_ratio is not None:
        return index.scatter_ratio
    return 0.0 if case is Case.LOW else 1.0


def _crowd(indexes: Iterable[SampledIndex], server: ServerSetup, *, scale: float, case: Case) -> FloatArray:
    """Return the pages that all indexes together want in memory while they grow; those in order want none."""
    pages = np.ones_like(_GRID)
    for one in indexes:
        size = one.present_bytes + scale * one.sample_bytes * _GRID
        pages = pages + _scatter_of(one, case) * size / server.block_bytes
    return pages


def _missing(pages: FloatArray, memory_pages: float) -> float:
    """Return the share of random pages that are not in memory, on average while indexes grow."""
    return float(np.maximum(1 - memory_pages / pages, 0.0).mean())


def _image_ratio(server: ServerSetup, case: Case) -> float:
    if not server.has_images:
        return 0.0
    ratio = _IMAGE_RATIOS[case.place]
    if not server.is_compressed:
        return ratio
    return ratio * _COMPRESSED_RATIOS[0 if case is Case.LOW else 1]
