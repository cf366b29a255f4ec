"""
Compute what went through files because it exceeded its memory: sorts, hashes, and decoded transactions.

Theory of operation. `pg_stat_database.temp_bytes` is the size of temporary files when they were closed. A sort
with several merge passes overwrites its file in each, but `temp_bytes` counts the file once.
`pg_stat_statements` counts each block written and read, so it comes first. Without it the number of passes
follows from the sort: it has runs of work_mem each, and merges as many at a time as work_mem has buffers for
(PostgreSQL, tuplesort.c, `tuplesort_merge_order`). The last merge writes nothing.

`pg_stat_io` and the counters before it have none of this, so it is added to the load. Logical decoding writes
other files, which only `pg_stat_replication_slots` counts. They are read back once, when the transaction ends.
"""

from math import ceil

from msgspec import Struct

from plimsoll.causes.growth import per_s, setting_of
from plimsoll.model.database import DecodingSlot, Observation
from plimsoll.units import KIB

# A judgement: a row takes twice as much in memory as in a file, for its header and pointer. The factor depends
# on the rows.
MEMORY_PER_FILE_BYTE = 2.0
# Blocks of memory per tape in a merge, and the bounds of tapes per merge (PostgreSQL, tuplesort.c:
# TAPE_BUFFER_OVERHEAD, MERGE_BUFFER_SIZE, MINORDER, MAXORDER).
_TAPE_BLOCKS = 2 + 32
_ORDER_LEAST, _ORDER_MOST = 6, 500
# A judgement: known statements represent all only if they wrote at least half of the files.
_KNOWN_LEAST = 0.5


class Spill(Struct, frozen=True, kw_only=True):
    """Bytes per second through files."""

    written: float
    read: float
    is_counted: bool
    """Whether blocks were counted; else the rates are estimated from file sizes."""
    files: float
    """Bytes of the files, each counted once."""
    file_count: float

    @property
    def passes(self) -> float:
        """Mean number of times a file was written; at least 1."""
        return max(self.written / self.files, 1.0) if self.files else 1.0


def temporary(observation: Observation) -> Spill | None:
    """Return what sorts, hashes and others moved through temporary files; None if nothing."""
    files = per_s(observation, "temp_bytes") or 0.0
    block, seconds = observation.server.block_bytes, observation.seconds
    if seconds <= 0:
        return None
    blocks_written, blocks_read = _blocks(observation)
    written, read = blocks_written * block / seconds, blocks_read * block / seconds
    if not files and not written:
        return None
    count = per_s(observation, "temp_files") or 0.0
    if written and written >= _KNOWN_LEAST * files:
        # Evicted statements are assumed to behave like the known ones.
        scale = max(files / written, 1.0)
        return Spill(written=written * scale, read=read * scale, is_counted=True, files=files, file_count=count)
    written = files * passes_of(observation, files / count if count else 0.0)
    return Spill(written=written, read=written, is_counted=False, files=files, file_count=count)


def passes_of(observation: Observation, file_bytes: float) -> int:
    """Return how often a sort with work_mem writes a file of this size; at least once."""
    work_mem_kib = setting_of(observation, "work_mem")
    if not work_mem_kib or file_bytes <= 0:
        return 1
    work_mem = work_mem_kib * KIB
    order = int(work_mem / (_TAPE_BLOCKS * observation.server.block_bytes))
    order = min(max(order, _ORDER_LEAST), _ORDER_MOST)
    runs = ceil(file_bytes * MEMORY_PER_FILE_BYTE / work_mem)
    passes = 1
    while runs > order:
        runs, passes = ceil(runs / order), passes + 1
    return passes


class Decoded(Struct, frozen=True, kw_only=True):
    """What one slot decoded between the readings, bytes/s."""

    slot: DecodingSlot
    """As in the last reading."""
    spilled: float
    transactions: float
    """Number of spilled transactions in the window, not per second."""
    wal_read: float
    """WAL that was read for it: the part its consumer confirmed."""


def decoded_by(observation: Observation) -> tuple[Decoded, ...]:
    """Return each slot that decoded anything, the most spilled bytes first, without reset counters."""
    first, last = observation.first.slots, observation.last.slots
    if first is None or last is None or observation.seconds <= 0:
        return ()
    earlier = {slot.name: slot for slot in first}
    found = []
    for slot in last:
        before = earlier.get(slot.name) or DecodingSlot(name=slot.name, plugin=slot.plugin)
        spilled = slot.spilled_bytes - before.spilled_bytes
        # A slot created in between did not read the WAL before it.
        confirmed = (slot.confirmed_bytes or 0.0) - (before.confirmed_bytes or 0.0)
        read = confirmed if before.confirmed_bytes is not None else 0.0
        if spilled < 0 or (spilled == 0 and read <= 0):
            continue
        found.append(
            Decoded(
                slot=slot,
                spilled=spilled / observation.seconds,
                transactions=max(slot.spilled_transactions - before.spilled_transactions, 0),
                wal_read=max(read, 0.0) / observation.seconds,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.spilled, one.slot.name)))


def _blocks(observation: Observation) -> tuple[int, int]:
    """Return blocks of temporary files that statements wrote and read between the readings."""
    earlier = {one.query_id: one for one in observation.first.statements or ()}
    written = read = 0
    for after in observation.last.statements or ():
        before = earlier.get(after.query_id)
        if before is not None and after.calls < before.calls:
            before = None
        written += max(after.temp_written_blocks - (before.temp_written_blocks if before else 0), 0)
        read += max(after.temp_read_blocks - (before.temp_read_blocks if before else 0), 0)
    return written, read
