"""
Remove counters that were reset between two readings: they are unknown, never zero.

Somebody calls `pg_stat_reset_shared('io')`, and the difference of two readings is nothing or a part of what
was done. Rule 1: a reset is known by the time that the server keeps of it, or by a counter that fell.
Rule 2: what was reset is taken out of both readings, so that no difference can be made of it; its name goes
to `Observation.resets`.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from plimsoll.model.database import Counters, DatabaseReading, IoRow, Relation
from plimsoll.sources.postgres.moment import ServerReading

_WAL = ("wal_bytes", "wal_full_pages", "wal_records", "wal_writes", "wal_buffers_full")
_CHECKPOINTS = ("checkpoints_timed", "checkpoints_requested", "checkpoint_written_bytes")
_BACKGROUND = ("background_written_bytes",)
# From 17 on checkpoints have a view of their own, from 16 on sessions are counted in pg_stat_io (release
# notes).
_SPLIT_VERSION = 170_000
_IO_VERSION = 160_000


def without_reset(
    first: ServerReading, last: ServerReading, readings: tuple[DatabaseReading, DatabaseReading], version: int
) -> tuple[tuple[DatabaseReading, DatabaseReading], tuple[str, ...]]:
    """
    Return both readings without counters that were reset in between, and their names.

    Args:
        first: the earlier moment, with the times of resets.
        last: the later one.
        readings: of these moments, as `compared` made them.
        version: `server_version_num`.
    """
    names = _reset_between(first, last)
    emptied = [_emptied(reading, names, version) for reading in readings]
    before = emptied[0]
    if "statements" in names:
        # Counters after a reset are all from within the window, so nothing is subtracted.
        before = replace(before, statements=() if before.statements is not None else None)
    if "relations" in names:
        before = replace(before, relations=(), indexes=())
    return (before, emptied[1]), tuple(names)


def _reset_between(first: ServerReading, last: ServerReading) -> list[str]:
    """Return names of what was reset: `io`, `wal`, `bgwriter`, `checkpointer`, `statements`, `relations`."""
    names = [
        name for name, then in first.resets.items() if name in last.resets and last.resets[name] not in (None, then)
    ]
    one, two = first.reading, last.reading
    if "io" not in names and _has_fallen(_io_rows(one.io), _io_rows(two.io)):
        names.append("io")
    counted = [
        ("wal", _WAL),
        ("bgwriter", _BACKGROUND),
        ("bgwriter" if "checkpointer" not in last.resets else "checkpointer", _CHECKPOINTS),
    ]
    for name, fields in counted:
        fell = any(_fell(one.counters, two.counters, field) for field in fields)
        if fell and name not in names:
            names.append(name)
    if _tables_were_reset(first, last):
        names.append("relations")
    return names


def _tables_were_reset(first: ServerReading, last: ServerReading) -> bool:
    before, after = (m.databases.get(m.database_oid or 0) for m in (first, last))
    # PostgreSQL 14 sets the reset time of a database when it is first counted.
    if before and after and before[-1] not in (None, after[-1]):
        return True
    if before and after and before[-1] is None and after[-1] is not None and before[0]:
        return True
    return _has_fallen(_rows(first.reading.relations), _rows(last.reading.relations))


def _emptied(reading: DatabaseReading, names: Iterable[str], version: int) -> DatabaseReading:
    gone: list[str] = []
    if "wal" in names:
        gone += _WAL
    if "bgwriter" in names:
        gone += _BACKGROUND
        gone += _CHECKPOINTS if version < _SPLIT_VERSION else ()
        gone += ("backend_written_bytes",) if version < _IO_VERSION else ()
    if "checkpointer" in names:
        gone += _CHECKPOINTS
    if "io" in names:
        gone.append("backend_written_bytes")
    if "relations" in names:
        # The database's own blocks were reset with its tables, and before 16 the load follows from them.
        gone += ("backend_written_bytes",) if version < _IO_VERSION else ()
    counters = replace(reading.counters, **dict.fromkeys(gone))
    return replace(reading, counters=counters, io=None if "io" in names else reading.io)


def _fell(before: Counters, after: Counters, field: str) -> bool:
    then, now = getattr(before, field), getattr(after, field)
    return then is not None and now is not None and now < then


def _io_rows(rows: Iterable[IoRow] | None) -> dict[Any, tuple[float, ...]]:
    return {
        (row.backend_type, row.object, row.context): (row.read_bytes, row.written_bytes, row.extended_bytes)
        for row in rows or ()
    }


def _rows(relations: Iterable[Relation]) -> dict[Any, tuple[float, ...]]:
    return {r.oid: (r.inserted, r.updated, r.deleted, r.seq_scans) for r in relations}


def _has_fallen(before: dict[Any, tuple[float, ...]], after: dict[Any, tuple[float, ...]]) -> bool:
    """Return whether any counter decreased; rows in only one reading are ignored."""
    return any(
        now < then
        for key, values in before.items()
        if key in after
        for then, now in zip(values, after[key], strict=True)
    )
