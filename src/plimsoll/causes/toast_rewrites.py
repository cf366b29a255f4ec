"""
Count TOAST values that updates replaced between two readings, and the bytes that this wrote.

Rule 1: counters show that a value was sent again, never that it was equal. `toast/toast.py` judges that
        from sizes, statements and samples.
Rule 2: bytes are the minimum: the new rows, their index entries, their WAL and the WAL that marks the old
        rows. `toast/writes.py` estimates what else reached the disk.
"""

from msgspec import Struct

from plimsoll.model.database import Observation, Relation
from plimsoll.model.postgres import ALIGNMENT_BYTES, CHUNKS_PER_PAGE, LINE_POINTER_BYTES, PAGE_HEADER_BYTES

# Bytes of a row of a TOAST relation without its chunk: header 24, chunk_id 4, chunk_seq 4, length 4
# and line pointer 4, aligned (PostgreSQL, heaptoast.h and htup_details.h; measured on 15 and 18).
_ROW_BYTES = 36
# An index entry with its line pointer has 20 bytes; pages of an index that only grows are full.
_INDEX_BYTES = 20
# WAL of a row without its chunk: the records of the row, of the index entry and of the old row.
# 178 to 196 bytes on PostgreSQL 15 and 18.
_WAL_BYTES = 185

# Fewer updates in a window are not reported. A judgement.
_UPDATES_MIN = 20
# Each insert or delete of the table accounts for about the mean number of chunks per row. That is assumed
# to be wrong by a quarter at most. A judgement.
_MEAN_ERROR = 0.25
# Unchanged values leave as many chunks dead as they write. A difference above a twentieth shows that sizes
# change, so the updates do change the values. A judgement.
_SIZE_CHANGE = 0.05


class Rewrite(Struct, frozen=True, kw_only=True):
    """Values of one table that updates replaced."""

    table: Relation
    toast: Relation
    """The TOAST relation in the last reading; `table` is of the same reading."""
    seconds: float
    updates: int
    chunks: float
    """Chunks replaced by updates."""
    chunks_per_value: float
    data_bytes_per_chunk: float
    row_bytes_per_chunk: float
    """Space of one chunk in the TOAST relation."""
    size_change: float
    """(written − left dead) ÷ the larger of both; 0 if values keep their number of chunks."""
    is_steady: bool
    """Whether `size_change` is zero within the error of the counters."""
    is_exact: bool
    """Whether only updates changed the table, so that chunks are counted exactly."""

    @property
    def chunks_per_update(self) -> float:
        """Return the dead rows of the TOAST relation that one update leaves."""
        return self.chunks / self.updates

    @property
    def table_bytes_per_s(self) -> float:
        """Return bytes/s of new rows and index entries of the TOAST relation."""
        return self.chunks * (self.row_bytes_per_chunk + _INDEX_BYTES) / self.seconds

    @property
    def wal_bytes_per_s(self) -> float:
        """Return bytes/s of WAL without full-page images."""
        return self.chunks * (self.data_bytes_per_chunk + _WAL_BYTES) / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Return the least bytes/s that must be written."""
        return self.table_bytes_per_s + self.wal_bytes_per_s

    @property
    def value_bytes(self) -> float:
        """Return the mean stored size of a value."""
        return self.chunks_per_value * self.data_bytes_per_chunk


def rewrites_of(observation: Observation) -> tuple[Rewrite, ...]:
    """Return every table whose updates replaced TOAST values, except tables whose counters were reset."""
    first = {relation.oid: relation for relation in observation.first.relations}
    last = {relation.oid: relation for relation in observation.last.relations}
    found = []
    for table in observation.last.relations:
        toast = last.get(table.toast_oid) if table.toast_oid is not None else None
        if toast is None or table.oid not in first or toast.oid not in first:
            continue
        rewrite = _rewrite(observation, (first[table.oid], table), (first[toast.oid], toast))
        if rewrite is not None:
            found.append(rewrite)
    return tuple(found)


def _rewrite(
    observation: Observation, tables: tuple[Relation, Relation], toasts: tuple[Relation, Relation]
) -> Rewrite | None:
    updates = tables[1].updated - tables[0].updated
    inserted, deleted = _came_and_went(tables)
    written, dead = _came_and_went(toasts)
    if min(inserted, deleted, written, dead) < 0 or updates < _UPDATES_MIN:
        return None
    if observation.seconds <= 0:
        return None
    table, toast = tables[1], toasts[1]
    mean = _chunks_per_row(tables, toasts)
    if mean is None:
        if inserted or deleted:  # inserts and deletes account for an unknown part of the chunks
            return None
        mean = 0.0
    written_by_updates = max(written - inserted * mean, 0.0)
    dead_by_updates = max(dead - deleted * mean, 0.0)
    chunks = min(written_by_updates, dead_by_updates)
    largest = max(written_by_updates, dead_by_updates)
    doubt = _MEAN_ERROR * (inserted + deleted) * mean
    if chunks <= doubt or chunks < 1:
        return None
    change = written_by_updates - dead_by_updates
    chunks_per_value = max(chunks / updates, mean, 1.0)
    data, row = _bytes_per_chunk(observation, toast, chunks_per_value)
    return Rewrite(
        table=table,
        toast=toast,
        seconds=observation.seconds,
        updates=updates,
        chunks=chunks,
        chunks_per_value=chunks_per_value,
        data_bytes_per_chunk=data,
        row_bytes_per_chunk=row,
        size_change=change / largest,
        is_steady=abs(change) <= _SIZE_CHANGE * largest + doubt,
        is_exact=not inserted and not deleted,
    )


def _chunks_per_row(tables: tuple[Relation, Relation], toasts: tuple[Relation, Relation]) -> float | None:
    """Return the mean number of chunks per row; None if both readings lack live rows, as after a reset."""
    for table, toast in zip(tables, toasts, strict=True):
        if table.live_rows:
            return toast.live_rows / table.live_rows
    return None


def _came_and_went(readings: tuple[Relation, Relation]) -> tuple[int, int]:
    before, after = readings
    return after.inserted - before.inserted, after.deleted - before.deleted


def _bytes_per_chunk(observation: Observation, toast: Relation, chunks_per_value: float) -> tuple[float, float]:
    """
    Return the mean bytes of a chunk, and of the space it takes.

    All chunks of a value except the last are full, which bounds the mean from both sides. The mean space of a
    row narrows these bounds, unless the relation is bloated.
    """
    chunk_bytes = _chunk_bytes(observation)
    block_bytes = observation.server.block_bytes
    row_max = block_bytes / (block_bytes // (chunk_bytes + _ROW_BYTES))
    low = (chunks_per_value - 1) * chunk_bytes / chunks_per_value
    rows = toast.rows + toast.dead_rows
    row = toast.size_bytes / rows if rows and toast.size_bytes else float("inf")
    if not low + _ROW_BYTES <= row <= row_max:
        middle = (low + chunk_bytes) / 2
        return middle, min(middle + _ROW_BYTES, row_max)
    high = min(row - _ROW_BYTES, chunk_bytes)
    # A value of one chunk has no full chunks, so the space of its row gives its size.
    return (high if chunks_per_value < 1.5 else (low + high) / 2), row


def _chunk_bytes(observation: Observation) -> int:
    """Return the chunk size that the server reports; if unknown, the size with four rows to a page."""
    chunk_bytes = observation.server.toast_chunk_bytes
    if chunk_bytes is not None:
        return chunk_bytes
    # heaptoast.h, MaximumBytesPerTuple and TOAST_MAX_CHUNK_SIZE: the page less its header and line pointers,
    # divided by four, aligned down, less the row's own bytes.
    usable = observation.server.block_bytes - PAGE_HEADER_BYTES - CHUNKS_PER_PAGE * LINE_POINTER_BYTES
    return usable // CHUNKS_PER_PAGE // ALIGNMENT_BYTES * ALIGNMENT_BYTES - _ROW_BYTES
