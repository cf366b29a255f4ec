"""
What went through files because it did not fit its memory: sorts, hashes, and decoded transactions.

Theory of operation. `pg_stat_database.temp_bytes` is how large temporary files were when they were closed. A
sort that had to merge more than once wrote its file several times over, in the same place: `temp_bytes` has it
once. `pg_stat_statements` counts each block that was written and read, so it comes first. Without it the
number of passes follows from the sort: runs of work_mem each, merged so many at a time as work_mem has
buffers for (PostgreSQL, tuplesort.c, `tuplesort_merge_order`), the last merge handing on what it reads.

Neither `pg_stat_io` nor the counters before it have any of this, so it belongs into the load by itself. Logical
decoding writes files of another kind, which only `pg_stat_replication_slots` counts; they are read back when
the transaction ends, once.
"""

from math import ceil

from msgspec import Struct

from plimsoll.causes.growth import per_s, setting_of
from plimsoll.model.database import DecodingSlot, Observation
from plimsoll.units import KIB

# A row in memory takes more than in a file, for its header and pointer: twice as much, a judgement
# (documentation of EXPLAIN shows both for a sort; the factor depends on the rows).
MEMORY_PER_FILE_BYTE = 2.0
# Of one tape while it is merged, in blocks: two of overhead and 32 to read ahead; a merge takes from 6 to 500
# tapes at a time (PostgreSQL, tuplesort.c: TAPE_BUFFER_OVERHEAD, MERGE_BUFFER_SIZE, MINORDER, MAXORDER).
_TAPE_BLOCKS = 2 + 32
_ORDER_LEAST, _ORDER_MOST = 6, 500
# The statements that are known must have written half of the files for their mean to stand for all; a judgement.
_KNOWN_LEAST = 0.5


class Spill(Struct, frozen=True, kw_only=True):
    """Bytes per second through files."""

    written: float
    read: float
    is_counted: bool
    """Whether blocks were counted; else the figures follow from the sizes of files."""
    files: float
    """Sizes of the files, each once."""
    file_count: float

    @property
    def passes(self) -> float:
        """How often a file was written, on average; at least once."""
        return max(self.written / self.files, 1.0) if self.files else 1.0


def temporary(observation: Observation) -> Spill | None:
    """Return what sorts, hashes and the like moved through temporary files; None where there was nothing."""
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
        # What statements did that are not known any more is taken to have gone as theirs.
        scale = max(files / written, 1.0)
        return Spill(
            written=written * scale,
            read=read * scale,
            is_counted=True,
            files=files,
            file_count=count,
        )
    written = files * passes_of(observation, files / count if count else 0.0)
    return Spill(written=written, read=written, is_counted=False, files=files, file_count=count)


def passes_of(observation: Observation, file_bytes: float) -> int:
    """Return how often a sort writes a file of that size that has work_mem alone; at least once."""
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
    """What one slot decoded between the readings, bytes per second."""

    slot: DecodingSlot
    """As of the last reading."""
    spilled: float
    transactions: float
    """That were spilled, in all and not per second."""
    wal_read: float
    """WAL that its reader confirmed, which had to be read."""


def decoded_by(observation: Observation) -> tuple[Decoded, ...]:
    """Return each slot that decoded anything, the most spilled bytes first; a counter that went back is left out."""
    first, last = observation.first.slots, observation.last.slots
    if first is None or last is None or observation.seconds <= 0:
        return ()
    earlier = {slot.name: slot for slot in first}
    found = []
    for slot in last:
        before = earlier.get(slot.name) or DecodingSlot(name=slot.name, plugin=slot.plugin)
        spilled = slot.spilled_bytes - before.spilled_bytes
        # A slot that was made in between has read nothing of what lies before it.
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
