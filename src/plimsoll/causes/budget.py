"""What shares are shares of: all that the database read and wrote, and the ceiling that binds."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from plimsoll.causes.danger import rank_of
from plimsoll.causes.growth import per_s, setting_of
from plimsoll.causes.spills import decoded_by, temporary
from plimsoll.model.cause import Cause
from plimsoll.model.database import Index, IoRow, Observation, Relation
from plimsoll.model.severity import Severity

# A quarter and a twentieth are judgements: what takes a quarter decides what storage has to be bought,
# and what takes less than a twentieth is below what one can see in a graph of the whole.
CRITICAL_SHARE = 0.25
_WARNING_SHARE = 0.05
# Of an idle server anything is a large share. The smallest class that RDS sells may move
# 10.9 MB/s for ever (db.t3.micro, 87 Mbit/s); a twentieth of that is worth no more than a note.
SMALL_BYTES_PER_S = 0.5e6
# The version that began to count WAL in `pg_stat_io`.
_COUNTS_WAL_IO = 180_000


class Budget(Struct, frozen=True, kw_only=True):
    """Rates to compare with, bytes/s; None where not known."""

    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    """Of the whole server, as it asked the system."""
    uncounted_bytes_per_s: float = 0.0
    """Of vacuums that still run, estimated: the server counts them when they end."""
    ceiling_bytes_per_s: float | None = None
    ceiling_name: str = ""
    plateaus: tuple[tuple[float, float], ...] = ()
    """Stretches of time spent at a ceiling, epoch seconds [start, end), of a diagnosis if there is one."""
    is_estimated: bool = False
    """Whether the rates follow from blocks, checkpoints and WAL: before 16 nothing counts them."""

    @property
    def load_bytes_per_s(self) -> float | None:
        """Reads and writes together, those of vacuums that still run among them."""
        if self.read_bytes_per_s is None or self.written_bytes_per_s is None:
            return None
        return self.read_bytes_per_s + self.written_bytes_per_s + self.uncounted_bytes_per_s

    def of_load(self, bytes_per_s: float | None) -> float | None:
        """Return share 0–1 of the load."""
        load = self.load_bytes_per_s
        if bytes_per_s is None or not load:
            return None
        return min(bytes_per_s / load, 1.0)

    def of_ceiling(self, bytes_per_s: float | None) -> float | None:
        """Return share of the ceiling; above 1 where the page cache took what the disk did not."""
        if bytes_per_s is None or not self.ceiling_bytes_per_s:
            return None
        return bytes_per_s / self.ceiling_bytes_per_s


def budget_of(
    observation: Observation,
    *,
    ceiling_bytes_per_s: float | None = None,
    ceiling_name: str = "",
    plateaus: tuple[tuple[float, float], ...] = (),
) -> Budget:
    """
    Return the server's own reads and writes between two readings; from `pg_stat_io`, before 16 an estimate.

    WAL is in `pg_stat_io` from 18 on; before, what `pg_stat_wal` says is added. Files of sorts, of decoded
    transactions and of indexes that were built are in no such counter, and added. A process adds its reads
    and writes when its transaction or its vacuum ends: what a long one did is then there all at once.
    """
    read, written = rates_of(observation, lambda _: True)
    is_estimated = False
    if read is None and (estimated := _estimated(observation)) is not None:
        (read, written), is_estimated = estimated, True
    if read is not None:
        beside_read, beside_written = _beside(observation)
        read += beside_read
        written = None if written is None or beside_written is None else written + beside_written
    return Budget(
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        ceiling_bytes_per_s=ceiling_bytes_per_s,
        ceiling_name=ceiling_name,
        plateaus=plateaus,
        is_estimated=is_estimated,
    )


def rates_of(
    observation: Observation, wanted: Callable[[IoRow], bool]
) -> tuple[float | None, float | None]:
    """Return Bytes/s read and written by the rows of `pg_stat_io` that `wanted(row)`; None before 16."""
    first, last, seconds = observation.first, observation.last, observation.seconds
    if first.io is None or last.io is None or seconds <= 0:
        return None, None
    sums = [
        (
            sum(row.read_bytes for row in reading.io or () if wanted(row)),
            sum(row.written_bytes + row.extended_bytes for row in reading.io or () if wanted(row)),
        )
        for reading in (first, last)
    ]
    read, written = (max(b - a, 0.0) / seconds for a, b in zip(*sums, strict=True))
    return read, written


def severity_of(budget: Budget, bytes_per_s: float | None) -> Severity:
    """Return `critical`, `warning` or `note`, by the larger of the shares of load and of ceiling."""
    return severity_by(bytes_per_s, budget.of_load(bytes_per_s), budget.of_ceiling(bytes_per_s))


def severity_by(
    bytes_per_s: float | None, of_load: float | None, of_ceiling: float | None
) -> Severity:
    """Return the same of shares as they are told, 0–1, where a detector works them out itself."""
    if bytes_per_s is None:
        return "note"
    # Of an idle server anything is a large share.
    share = max((of_load or 0.0) if bytes_per_s >= SMALL_BYTES_PER_S else 0.0, of_ceiling or 0.0)
    # Far below a ceiling that is known, most of the load is still little: nothing has to be bought for it.
    is_far = of_ceiling is not None and of_ceiling < _WARNING_SHARE
    if share >= CRITICAL_SHARE and not is_far:
        return "critical"
    return "warning" if share >= _WARNING_SHARE else "note"


def ranked(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """
    Return the worst first: by severity, then by what it does to the service, then by bytes.

    What is alike stays in its detector's order, which knows what is the worst of its kind.
    """
    order = {"critical": 0, "warning": 1, "note": 2}

    def key(cause: Cause) -> tuple[int, int, float, int]:
        danger, place = rank_of(cause)
        moved = -(cause.bytes_per_s or 0.0)
        return order.get(cause.severity, 3), danger, moved, place

    return tuple(sorted(causes, key=key))


def _beside(observation: Observation) -> tuple[float, float | None]:
    """
    Return bytes/s read and written that neither `pg_stat_io` nor the counters before it have.

    A reset counter of WAL leaves what was written unknown; one that is hidden leaves it out.
    """
    read, written = 0.0, built_bytes(observation) / observation.seconds
    spill = temporary(observation)
    if spill is not None:
        read, written = read + spill.read, written + spill.written
    for decoded in decoded_by(observation):
        read, written = read + decoded.spilled, written + decoded.spilled
        if observation.server.version_number < _COUNTS_WAL_IO:
            read += decoded.wal_read
    if observation.server.version_number >= _COUNTS_WAL_IO:
        return read, written
    wal = wal_written(observation)
    if wal is None and "wal" in observation.resets:
        return read, None
    return read, written + (wal or 0.0)


def wal_written(observation: Observation) -> float | None:
    """
    Return Bytes/s of WAL that reached the system; None where nothing tells.

    18 counts them. Before, they follow from what was generated: a write begins on the page on which the last
    one ended and ends on a page that is not full, so that it takes a page more than its bytes, on average.
    One that only makes room in the buffers writes whole pages. New files are filled with zeros first.
    """
    if observation.server.version_number >= _COUNTS_WAL_IO and observation.last.io is not None:
        return rates_of(observation, lambda row: row.object == "wal")[1]
    generated = per_s(observation, "wal_bytes")
    if generated is None:
        return None
    writes = per_s(observation, "wal_writes") or 0.0
    part = max(writes - (per_s(observation, "wal_buffers_full") or 0.0), 0.0)
    return generated + part * observation.server.block_bytes + wal_zeros(observation)


def wal_zeros(observation: Observation) -> float:
    """
    Return bytes/s of the zeros that new log files were filled with.

    A server that has run for a while uses its files again, and fills none. Before 18 it is by how much the
    files became more; 0 where they may not be listed.
    """
    if observation.server.version_number >= _COUNTS_WAL_IO:
        _, zeros = rates_of(observation, lambda row: row.object == "wal" and row.context == "init")
        return zeros or 0.0
    if observation.server.settings.get("wal_init_zero") == "off":
        return 0.0
    return per_s(observation, "wal_files_bytes") or 0.0


def built_bytes(observation: Observation) -> int:
    """
    Return bytes of indexes that were built between the readings.

    A build writes the file around the buffers, where nothing counts it. An index that was there before its
    rows has looked at a page for each of them.
    """
    # Of very many indexes only those that are used most are read, so an old one may be new to us.
    newest = max((index.oid for index in observation.first.indexes), default=0)
    block = observation.server.block_bytes
    return sum(
        index.size_bytes
        for index in observation.last.indexes
        if index.oid > newest and (index.blocks_read + index.blocks_hit) * block < index.size_bytes
    )


def _estimated(observation: Observation) -> tuple[float, float] | None:
    """
    Return Bytes/s read and written without WAL and temporary files, by a server that has no `pg_stat_io`; None where
    it has.

    Reads are blocks not found among the shared buffers, less those by which files grew, which are counted
    as such; writes those of checkpointer, background writer and backends, the blocks by which files grew
    among them.
    """
    first, last = observation.first.counters, observation.last.counters
    if observation.first.io is not None or "io" in observation.resets or observation.seconds <= 0:
        return None
    read = (last.blocks_read - first.blocks_read) * observation.server.block_bytes
    read -= grown_bytes(observation)
    written = by_backends(observation)
    for name in ("checkpoint_written_bytes", "background_written_bytes"):
        before, after = getattr(first, name), getattr(last, name)
        if written is None or before is None or after is None:
            return None
        written += (after - before) / observation.seconds
    return max(read, 0) / observation.seconds, max(written or 0.0, 0.0)


def by_backends(observation: Observation) -> float | None:
    """
    Return Bytes/s that backends wrote themselves, the growth of files among them; None where nothing tells.

    Before 16 the view hears of them from the checkpointer, which looks when half of its queue is full, or a
    checkpoint is due (PostgreSQL, checkpointer.c, ForwardSyncRequest): it may be late by half as many pages
    as there are buffers. Statements count their pages at once. So they are believed where the delay explains
    the difference and no vacuum was seen, which is no statement.
    """
    first, last = observation.first.counters, observation.last.counters
    before, after = first.backend_written_bytes, last.backend_written_bytes
    if before is None or after is None or observation.seconds <= 0:
        return None
    told = max(after - before, 0.0)
    if observation.last.io is None and observation.last.statements is not None:
        block = observation.server.block_bytes
        counted = float(_blocks_by_statements(observation) * block)
        late = (setting_of(observation, "shared_buffers") or 0.0) / 2 * block
        has_vacuums = any(glance.vacuums for glance in observation.glances)
        is_late = abs(told - counted) <= late
        told = counted if is_late and not has_vacuums else max(told, counted)
    return told / observation.seconds


def _blocks_by_statements(observation: Observation) -> int:
    """Return pages that statements wrote between the readings, those by which they made files grow among them."""
    earlier = {one.query_id: one for one in observation.first.statements or ()}
    written = 0
    for after in observation.last.statements or ():
        before = earlier.get(after.query_id)
        is_reset = before is not None and after.calls < before.calls
        then = before.written_blocks if before is not None and not is_reset else 0
        written += max(after.written_blocks - then, 0)
    return written


def grown_bytes(observation: Observation) -> int:
    """Return by how much tables, TOAST relations and indexes grew; one that is new grew by all it has."""
    first, last = observation.first, observation.last
    pairs: tuple[tuple[Sequence[Relation | Index], Sequence[Relation | Index]], ...] = (
        (first.relations, last.relations),
        (first.indexes, last.indexes),
    )
    grown = 0
    for before, after in pairs:
        sizes = {one.oid: one.size_bytes for one in before}
        grown += sum(max(one.size_bytes - sizes.get(one.oid, 0), 0) for one in after)
    return grown - built_bytes(observation)
