"""Compute the load of the server, of which causes have shares, and the severity of a share."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from plimsoll.causes.danger import rank_of
from plimsoll.causes.growth import per_s, setting_of
from plimsoll.causes.spills import decoded_by, temporary
from plimsoll.model.cause import Cause
from plimsoll.model.database import Index, IoRow, Observation, Relation
from plimsoll.model.severity import Severity

# Judgements: a cause with a quarter of the load decides which storage must be bought; one with less than a
# twentieth is not visible in a graph of the load.
CRITICAL_SHARE = 0.25
_WARNING_SHARE = 0.05
# On an idle server any cause has a large share. The smallest class of RDS has an EBS baseline of 10.9 MB/s
# (db.t3.micro, 87 Mbit/s); a twentieth of that is only a note.
SMALL_BYTES_PER_S = 0.5e6
# Judgements: below a hundredth of the load, or 0.1 MB/s, a cause is not worth a line.
SHARE_LEAST = 0.01
BYTES_LEAST = 0.1e6
# From 18 on `pg_stat_io` counts WAL (release notes of 18).
_COUNTS_WAL_IO = 180_000


class Budget(Struct, frozen=True, kw_only=True):
    """Rates to compare causes with, bytes/s; None if unknown."""

    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    """Of the whole server, as it requested them from the operating system."""
    uncounted_bytes_per_s: float = 0.0
    """Of vacuums that still run, by estimate: the server counts them when they end."""
    ceiling_bytes_per_s: float | None = None
    ceiling_name: str = ""
    plateaus: tuple[tuple[float, float], ...] = ()
    """Intervals at a ceiling from a diagnosis, epoch seconds [start, end)."""
    is_estimated: bool = False
    """Whether the rates are estimated from blocks, checkpoints and WAL: before 16 there is no `pg_stat_io`."""

    @property
    def load_bytes_per_s(self) -> float | None:
        """Reads and writes together, with those of running vacuums."""
        if self.read_bytes_per_s is None or self.written_bytes_per_s is None:
            return None
        return self.read_bytes_per_s + self.written_bytes_per_s + self.uncounted_bytes_per_s

    def of_load(self, bytes_per_s: float | None) -> float | None:
        """Return the share of the load, 0–1."""
        load = self.load_bytes_per_s
        if bytes_per_s is None or not load:
            return None
        return min(bytes_per_s / load, 1.0)

    def of_ceiling(self, bytes_per_s: float | None) -> float | None:
        """Return the share of the ceiling; above 1 if the page cache served a part."""
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
    Return the server's reads and writes between two readings: from `pg_stat_io`, before 16 by estimate.

    From 18 on `pg_stat_io` has WAL; before, WAL is added from `pg_stat_wal`. Files of sorts, of decoded
    transactions and of index builds are in neither and are added. A process reports its reads and writes
    when its transaction or vacuum ends, so a long one appears all at once.
    """
    read, written = rates_of(observation, lambda _: True)
    is_estimated = False
    if read is None and (estimated := _estimated(observation)) is not None:
        (read, written), is_estimated = estimated, True
    if read is not None:
        other_read, other_written = _other_rates(observation)
        read += other_read
        written = None if written is None or other_written is None else written + other_written
    return Budget(
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        ceiling_bytes_per_s=ceiling_bytes_per_s,
        ceiling_name=ceiling_name,
        plateaus=plateaus,
        is_estimated=is_estimated,
    )


def rates_of(observation: Observation, selects: Callable[[IoRow], bool]) -> tuple[float | None, float | None]:
    """Return bytes/s read and written by the rows of `pg_stat_io` that `selects(row)`; None before 16."""
    first, last, seconds = observation.first, observation.last, observation.seconds
    if first.io is None or last.io is None or seconds <= 0:
        return None, None
    sums = [
        (
            sum(row.read_bytes for row in reading.io or () if selects(row)),
            sum(row.written_bytes + row.extended_bytes for row in reading.io or () if selects(row)),
        )
        for reading in (first, last)
    ]
    read, written = (max(b - a, 0.0) / seconds for a, b in zip(*sums, strict=True))
    return read, written


def severity_of(budget: Budget, bytes_per_s: float | None) -> Severity:
    """Return `critical`, `warning` or `note` by the larger share, of the load or of the ceiling."""
    return severity_by(bytes_per_s, budget.of_load(bytes_per_s), budget.of_ceiling(bytes_per_s))


def severity_by(bytes_per_s: float | None, of_load: float | None, of_ceiling: float | None) -> Severity:
    """Return the severity for given shares, 0–1, for a detector that computes them itself."""
    if bytes_per_s is None:
        return "note"
    # On an idle server any cause has a large share of the load.
    share = max((of_load or 0.0) if bytes_per_s >= SMALL_BYTES_PER_S else 0.0, of_ceiling or 0.0)
    # Far below a known ceiling even most of the load is little: it needs no larger storage.
    is_far = of_ceiling is not None and of_ceiling < _WARNING_SHARE
    if share >= CRITICAL_SHARE and not is_far:
        return "critical"
    return "warning" if share >= _WARNING_SHARE else "note"


def ranked(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """
    Sort causes by severity, then by danger to the service, then by bytes.

    Equal causes keep the order of their detector.
    """
    order = {"critical": 0, "warning": 1, "note": 2}

    def key(cause: Cause) -> tuple[int, int, float, int]:
        danger, place = rank_of(cause)
        moved = -(cause.bytes_per_s or 0.0)
        return order.get(cause.severity, 3), danger, moved, place

    return tuple(sorted(causes, key=key))


def _other_rates(observation: Observation) -> tuple[float, float | None]:
    """
    Return bytes/s read and written that `pg_stat_io`, or the counters before 16, do not have.

    If WAL counters were reset, the writes are unknown; if they are hidden, WAL is left out.
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
    Return bytes/s of WAL that were written to the operating system; None if unknown.

    18 counts them. Before, they follow from the generated bytes: a write begins on the page where the last
    one ended, and ends on a partial page, so it takes one page more than its bytes on average. A write that
    only frees WAL buffers writes whole pages. New files are first filled with zeros (wal_init_zero).
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
    Return bytes/s of zeros that new WAL files were filled with.

    A server recycles its files after a while and then writes no zeros. Before 18 the zeros are the growth of
    the WAL folder; 0 if the role may not list it.
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

    A build writes the file without shared buffers, so no counter has it. An index that existed before its
    rows, by contrast, has touched a page for each row.
    """
    # With very many indexes the reading has only the most used ones, so an old index may be new in it.
    newest = max((index.oid for index in observation.first.indexes), default=0)
    block = observation.server.block_bytes
    return sum(
        index.size_bytes
        for index in observation.last.indexes
        if index.oid > newest and (index.blocks_read + index.blocks_hit) * block < index.size_bytes
    )


def _estimated(observation: Observation) -> tuple[float, float] | None:
    """
    Estimate bytes/s read and written without WAL and temporary files; None if `pg_stat_io` exists.

    Reads are blocks not found in shared buffers, less the blocks by which files grew: before 16 those count
    as reads too. Writes are those of checkpointer, background writer and backends, with the growth of files.
    """
    first, last = observation.first.counters, observation.last.counters
    if observation.first.io is not None or "io" in observation.resets or observation.seconds <= 0:
        return None
    read = (last.blocks_read - first.blocks_read) * observation.server.block_bytes
    read -= grown_bytes(observation)
    written = backend_written_per_s(observation)
    for name in ("checkpoint_written_bytes", "background_written_bytes"):
        before, after = getattr(first, name), getattr(last, name)
        if written is None or before is None or after is None:
            return None
        written += (after - before) / observation.seconds
    return max(read, 0) / observation.seconds, max(written or 0.0, 0.0)


def backend_written_per_s(observation: Observation) -> float | None:
    """
    Return bytes/s that backends wrote, with the growth of files; None if unknown.

    Before 16 the checkpointer counts them. It reads its queue when that is half full or a checkpoint is due
    (PostgreSQL, checkpointer.c, ForwardSyncRequest), so the counter may lack up to half as many pages as there
    are buffers. Statements count their pages at once. So their count is used if the delay explains the
    difference and no vacuum was seen; a vacuum's pages are in no statement.
    """
    first, last = observation.first.counters, observation.last.counters
    before, after = first.backend_written_bytes, last.backend_written_bytes
    if before is None or after is None or observation.seconds <= 0:
        return None
    reported = max(after - before, 0.0)
    if observation.last.io is None and observation.last.statements is not None:
        block = observation.server.block_bytes
        counted = float(_blocks_by_statements(observation) * block)
        late = (setting_of(observation, "shared_buffers") or 0.0) / 2 * block
        has_vacuums = any(glance.vacuums for glance in observation.glances)
        is_late = abs(reported - counted) <= late
        reported = counted if is_late and not has_vacuums else max(reported, counted)
    return reported / observation.seconds


def _blocks_by_statements(observation: Observation) -> int:
    """Return pages that statements wrote between the readings, with those by which files grew."""
    earlier = {one.query_id: one for one in observation.first.statements or ()}
    written = 0
    for after in observation.last.statements or ():
        before = earlier.get(after.query_id)
        is_reset = before is not None and after.calls < before.calls
        then = before.written_blocks if before is not None and not is_reset else 0
        written += max(after.written_blocks - then, 0)
    return written


def grown_bytes(observation: Observation) -> int:
    """Return the growth of tables, TOAST relations and indexes in bytes; a new one counts whole."""
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
