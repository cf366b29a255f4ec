"""What shares are shares of: all that the database read and wrote, and the ceiling that binds."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from plimsoll.causes.danger import rank_of
from plimsoll.model.cause import Cause
from plimsoll.model.database import DatabaseReading, Index, IoRow, Observation, Relation

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
        """Share 0–1 of the load."""
        load = self.load_bytes_per_s
        if bytes_per_s is None or not load:
            return None
        return min(bytes_per_s / load, 1.0)

    def of_ceiling(self, bytes_per_s: float | None) -> float | None:
        """Share of the ceiling; above 1 where the page cache took what the disk did not."""
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
    The server's own reads and writes between two readings; from `pg_stat_io`, before 16 an estimate.

    WAL is in `pg_stat_io` from 18 on; before, what `pg_stat_wal` says is added. A process adds its reads
    and writes when its transaction or its vacuum ends: what a long one did is then there all at once.
    """
    read, written = rates_of(observation, lambda _: True)
    is_estimated = False
    if read is None and (estimated := _estimated(observation)) is not None:
        (read, written), is_estimated = estimated, True
    wal = _wal_bytes_per_s(observation)
    if observation.server.version_number < _COUNTS_WAL_IO:
        # A reset counter of WAL leaves what was written unknown; one that is hidden leaves it out.
        hidden = None if "wal" in observation.resets else 0.0
        added = hidden if wal is None else wal
        written = None if written is None or added is None else written + added
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
    """Bytes/s read and written by the rows of `pg_stat_io` that `wanted(row)`; None before 16."""
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


def severity_of(budget: Budget, bytes_per_s: float | None) -> str:
    """`critical`, `warning` or `note`, by the larger of the shares of load and of ceiling."""
    return severity_by(bytes_per_s, budget.of_load(bytes_per_s), budget.of_ceiling(bytes_per_s))


def severity_by(bytes_per_s: float | None, of_load: float | None, of_ceiling: float | None) -> str:
    """The same of shares as they are told, 0–1, where a detector works them out itself."""
    if bytes_per_s is None:
        return "note"
    # Of an idle server anything is a large share.
    share = max((of_load or 0.0) if bytes_per_s >= SMALL_BYTES_PER_S else 0.0, of_ceiling or 0.0)
    if share >= CRITICAL_SHARE:
        return "critical"
    return "warning" if share >= _WARNING_SHARE else "note"


def ranked(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """
    The worst first: by severity, then by what it does to the service, then by bytes.

    What is alike stays in its detector's order, which knows what is the worst of its kind.
    """
    order = {"critical": 0, "warning": 1, "note": 2}

    def key(cause: Cause) -> tuple[int, int, float, int]:
        danger, place = rank_of(cause)
        moved = -(cause.bytes_per_s or 0.0)
        return order.get(cause.severity, 3), danger, moved, place

    return tuple(sorted(causes, key=key))


def _estimated(observation: Observation) -> tuple[float, float] | None:
    """
    Bytes/s read and written without WAL, by a server that has no `pg_stat_io`; None where it has.

    Reads are blocks not found among the shared buffers, less those by which files grew, which are counted
    as such; writes those of checkpointer, background writer and backends, the blocks by which files grew
    among them; temporary files are written.
    """
    first, last = observation.first.counters, observation.last.counters
    if observation.first.io is not None or "io" in observation.resets or observation.seconds <= 0:
        return None
    read = (last.blocks_read - first.blocks_read) * observation.server.block_bytes
    read -= _grown_bytes(observation)
    written = float(last.temp_bytes - first.temp_bytes)
    for name in ("backend_written_bytes", "checkpoint_written_bytes", "background_written_bytes"):
        before, after = getattr(first, name), getattr(last, name)
        if before is None or after is None:
            return None
        written += after - before
    return max(read, 0) / observation.seconds, max(written, 0.0) / observation.seconds


def _grown_bytes(observation: Observation) -> int:
    """By which tables, TOAST relations and indexes grew that are in both readings."""
    first, last = observation.first, observation.last
    pairs: tuple[tuple[Sequence[Relation | Index], Sequence[Relation | Index]], ...] = (
        (first.relations, last.relations),
        (first.indexes, last.indexes),
    )
    grown = 0
    for before, after in pairs:
        sizes = {one.oid: one.size_bytes for one in before}
        grown += sum(max(one.size_bytes - sizes.get(one.oid, one.size_bytes), 0) for one in after)
    return grown


def _wal_bytes_per_s(observation: Observation) -> float | None:
    readings: tuple[DatabaseReading, DatabaseReading] = (observation.first, observation.last)
    before, after = (reading.counters.wal_bytes for reading in readings)
    if before is None or after is None or observation.seconds <= 0:
        return None
    return max(after - before, 0.0) / observation.seconds
