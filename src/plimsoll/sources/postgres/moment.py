"""Keep a reading with what is needed to compare it with another: the counters of each database."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from plimsoll.model.database import Counters, DatabaseReading, IoRow, Relation, Statement, ToastableColumn

Row = tuple[Any, ...]

# Columns of `DATABASES` behind the identifier that are counters; the one behind them is a time.
_COUNTER_NAMES = (
    *("committed", "rolled_back", "temp_files", "temp_bytes", "blocks_read", "blocks_hit"),
    *("sessions", "sessions_abandoned", "sessions_fatal", "sessions_killed"),
)
_RESET = len(_COUNTER_NAMES)

# Counters of the whole server that a crash sets to zero; those of pg_stat_statements are in a file of their own.
SHARED = ("wal", "bgwriter", "io", "checkpointer")

# Processes whose writes `Counters.backend_written_bytes` does not include.
_OWN_COUNTERS = ("checkpointer", "background writer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReading:
    """One reading of one server."""

    reading: DatabaseReading
    databases: dict[int, Row]
    """Row of `DATABASES` without the identifier, by identifier."""
    database_oid: int | None = None
    """Of the one that was connected to."""
    resets: Mapping[str, float | None] = field(default_factory=dict)
    """When counters of the whole server were last reset, by name; epoch seconds, None for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRun:
    """One run of a server, from its start to its end."""

    started_s: float
    """Epoch seconds."""
    is_standby: bool
    counted_from_s: float | None
    """When counters of the whole server were last at zero, epoch seconds; None where withheld."""
    databases: dict[int, tuple[Any, ...]]
    """As in `ServerReading`."""


def compared(first: ServerReading, last: ServerReading) -> tuple[DatabaseReading, DatabaseReading, bool]:
    """
    Return both readings with comparable counters, and whether any database was left out.

    A database that was dropped or whose statistics were reset in between is in neither sum; one that
    was made in between began at zero.
    """
    kept: dict[int, tuple[Row, Row]] = {}
    has_left_out = bool(first.databases.keys() - last.databases.keys())
    for oid, after in last.databases.items():
        before = first.databases.get(oid, (0,) * _RESET + (None,))
        # PostgreSQL 14 sets the reset time of a database when it is first counted, which is not a reset.
        is_reset = oid in first.databases and (
            before[_RESET] not in (None, after[_RESET]) or any(then > now for then, now in _both(before, after))
        )
        has_left_out = has_left_out or is_reset
        if not is_reset:
            kept[oid] = (before, after)
    sums = [sums_of(pair[which] for pair in kept.values()) for which in (0, 1)]
    readings = [
        msgspec.structs.replace(moment.reading, counters=msgspec.structs.replace(moment.reading.counters, **counted))
        for moment, counted in zip((first, last), sums, strict=True)
    ]
    return readings[0], readings[1], has_left_out


def has_gone_back(before: Mapping[int, Row], after: Mapping[int, Row]) -> bool:
    """Return whether a server lost its counters, for example in a crash, or is another one; by database."""
    return any(then > now for oid in before.keys() & after.keys() for then, now in _both(before[oid], after[oid]))


def sums_of(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the fields of `Counters` that are sums over databases."""
    rows = list(rows)
    return {name: sum(row[place] or 0 for row in rows) for place, name in enumerate(_COUNTER_NAMES)}


def began_s(database: Row | None, resets: Mapping[str, float | None], promoted_s: float | None) -> float | None:
    """
    Return when the counters of a database began, epoch seconds; None if the server does not say.

    A reset of a database or of one table has the time of the database. After a crash all counters begin anew:
    then the database has no time, and those of the whole server have that of the recovery. One of them may have been
    reset since, so it is their earliest. A standby keeps its counters at its promotion, without its primary's
    work (observed on 15 and 18).

    Args:
        database: row of `DATABASES` without the identifier; None if unknown.
        resets: as in `ServerReading`.
        promoted_s: of the last promotion, epoch seconds; None for never.
    """
    shared = [at for name, at in resets.items() if at is not None and name in SHARED]
    own = database[_RESET] if database is not None else None
    known = [at for at in (own, min(shared, default=None)) if at is not None]
    return max([*known, promoted_s or 0.0]) if known else None


def counters_of(
    databases: Iterable[Row],
    checkpoints: Row | None,
    wal: Row | None,
    io: Iterable[IoRow] | None,
    *,
    block_bytes: int,
    wal_files_bytes: float | None = None,
    reset_s: float | None = None,
) -> Counters:
    """Return counters of the whole server; what it did not say is None, or zero where None is no answer."""
    timed, requested, checkpointed, cleaned, backend = checkpoints or (0, 0, 0, 0, None)
    wal_bytes, full_pages, records, writes, buffers_full = wal or (None,) * 5
    if io is not None:
        # PostgreSQL 16 has both views, but the older one counts an extension by several blocks as one block.
        by_backends: float | None = sum(
            row.written_bytes + row.extended_bytes
            for row in io
            if row.object == "relation" and row.backend_type not in _OWN_COUNTERS
        )
    else:
        by_backends = None if backend is None else float(backend * block_bytes)
    return Counters(
        **sums_of(databases),
        checkpoints_timed=timed,
        checkpoints_requested=requested,
        checkpoint_written_bytes=float(checkpointed * block_bytes),
        background_written_bytes=float(cleaned * block_bytes),
        backend_written_bytes=by_backends,
        wal_bytes=wal_bytes,
        wal_full_pages=full_pages,
        wal_records=records,
        wal_writes=writes,
        wal_buffers_full=buffers_full,
        wal_files_bytes=wal_files_bytes,
        reset_s=reset_s,
    )


def _both(before: Row, after: Row) -> list[tuple[int, int]]:
    return [(b or 0, a or 0) for b, a in zip(before[:_RESET], after[:_RESET], strict=True)]


def with_toast_reads(relation: Relation, relations: dict[int, Relation]) -> Relation:
    """Return a table with the blocks that were read of its TOAST relation."""
    toast = relations.get(relation.toast_oid or 0)
    if toast is None:
        return relation
    return msgspec.structs.replace(relation, toast_blocks_read=toast.heap_blocks_read)


def with_columns(moment: ServerReading, columns: Mapping[int, tuple[ToastableColumn, ...]]) -> ServerReading:
    """Return the moment with these columns of its tables."""
    relations = (
        msgspec.structs.replace(one, columns=columns[one.oid]) if one.oid in columns else one
        for one in moment.reading.relations
    )
    return replaced(moment, relations=tuple(relations))


def changes_since(relation: Relation, before: Relation | None) -> int:
    """Count rows changed since; those of a table that was made meanwhile are all of them."""
    now = relation.inserted + relation.updated + relation.deleted
    return now - (before.inserted + before.updated + before.deleted if before is not None else 0)


def time_since_s(statement: Statement, before: Statement | None) -> float:
    """Return the time spent since; all of it where the statement is new."""
    return statement.exec_s - (before.exec_s if before is not None else 0.0)


def replaced(moment: ServerReading, **fields: object) -> ServerReading:
    """Return the moment with parts of its reading replaced."""
    return dataclasses.replace(moment, reading=msgspec.structs.replace(moment.reading, **fields))
