"""
Refresh the materialized views whose sources have changed.

Rule 1: each view has a number, its count of refreshes, and each table has one, its count of loads. A view is refreshed if
        the numbers of its sources are not those it was made from. No clock is compared: a load that began before a
        refresh and was committed after it has a time before the refresh, but was not counted.
Rule 2: numbers, rows and the record of the refresh are one transaction with one snapshot (REPEATABLE READ).
Rule 3: one refresh at a time. A second one waits, and finds what is left to do.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import Connection, IsolationLevel, sql
from psycopg.types.json import Jsonb

from claims_pipeline.errors import UnavailableError
from claims_pipeline.views.catalog import View, views_of
from claims_pipeline.views.define import SCHEMA, outdated

LOCK = "claims-pipeline refresh"
_LOADS = "SELECT table_name, count(*) FROM claims.changes GROUP BY table_name"
_IS_REFRESHED = "SELECT to_regclass('claims.refreshed')"
_NUMBERS = "SELECT view_name, number FROM claims.refreshed"
_SEEN = "SELECT sources, refreshed_at FROM claims.refreshed WHERE view_name = %s"
_RECORD = """
INSERT INTO claims.refreshed AS old (view_name, number, refreshed_at, method, reason, duration_s, size_bytes, sources)
VALUES (%s, 1, clock_timestamp(), %s, %s, %s, pg_total_relation_size(%s::regclass), %s)
ON CONFLICT (view_name) DO UPDATE
   SET number = old.number + 1, refreshed_at = excluded.refreshed_at, method = excluded.method, reason = excluded.reason,
       duration_s = excluded.duration_s, size_bytes = excluded.size_bytes, sources = excluded.sources
RETURNING size_bytes
"""
WITH_EVERY_LOAD = ("files", "quarantine")
"""Tables that every load writes, whichever kind of file it loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was done with a view, and why."""

    view: str
    method: str
    """`concurrently`, `plainly` or `skipped`."""
    reason: str
    duration_s: float = 0.0
    size_bytes: int = 0
    """With its indexes."""


def refresh(connection: Connection, *, is_forced: bool = False) -> Iterator[Outcome]:
    """
    Refresh each view that needs it, in order, and yield what was done with it.

    Args:
        connection: in autocommit mode, and used by nobody else meanwhile.
        is_forced: refresh all views, for example after rows were changed by hand.

    Raises:
        UnavailableError: the database could not refresh a view; those before it are refreshed.
    """
    connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (LOCK,))
    try:
        for view in views_of(connection):
            yield _refresh(connection, view, is_forced=is_forced)
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(hashtext(%s))", (LOCK,))


def stale(connection: Connection) -> dict[str, str]:
    """Return why each view that is not up to date must be made or refreshed, by its name."""
    found = outdated(connection)
    if connection.execute(_IS_REFRESHED).fetchone() == (None,):
        return found
    with _one_snapshot(connection) as numbers:
        for view in views_of(connection):
            reason, _ = _reason(connection, view, numbers)
            below = [source for source in view.sources if source in found]
            if (reason or below) and view.name not in found:
                found[view.name] = reason or f"{' and '.join(below)} must be refreshed before"
    return found


@contextmanager
def _one_snapshot(connection: Connection) -> Iterator[dict[str, int]]:
    """Open a transaction with one snapshot, and give the number of each table and view in it."""
    before = connection.isolation_level
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with connection.transaction():
            loads: dict[str, int] = dict(connection.execute(_LOADS).fetchall())
            every = dict.fromkeys(WITH_EVERY_LOAD, sum(loads.values()))
            yield {**loads, **every, **dict(connection.execute(_NUMBERS).fetchall())}
    finally:
        if not connection.closed:
            connection.isolation_level = before


def _refresh(connection: Connection, view: View, *, is_forced: bool) -> Outcome:
    try:
        with _one_snapshot(connection) as numbers:
            reason, skipped = _reason(connection, view, numbers)
            if is_forced:
                reason = reason or "all views were asked for"
            if not reason:
                return Outcome(view=view.name, method="skipped", reason=skipped)
            return _make(connection, view, numbers, reason)
    except psycopg.Error as error:
        words = (str(error).splitlines() or ["the connection was lost"])[0]
        raise UnavailableError(
            f"the database could not refresh {view.name}: {words}",
            "Views before it in the order are refreshed. Run claims-pipeline refresh again.",
        ) from error


def _make(connection: Connection, view: View, numbers: dict[str, int], reason: str) -> Outcome:
    can_read_meanwhile = view.is_populated and view.has_unique_index
    name = sql.Identifier(SCHEMA, view.name)
    words = "CONCURRENTLY " if can_read_meanwhile else ""
    method = "concurrently" if can_read_meanwhile else "plainly"
    begun_s = time.monotonic()
    connection.execute(sql.SQL("REFRESH MATERIALIZED VIEW {}{}").format(sql.SQL(words), name))
    # The views built on it are planned in a moment, before autovacuum has counted its rows.
    connection.execute(sql.SQL("ANALYZE {}").format(name))
    duration_s = time.monotonic() - begun_s
    sources = {source: numbers.get(source, 0) for source in view.sources}
    row = connection.execute(
        _RECORD, (view.name, method, reason, duration_s, f"{SCHEMA}.{view.name}", Jsonb(sources))
    ).fetchone()
    assert row is not None
    return Outcome(view=view.name, method=method, reason=reason, duration_s=duration_s, size_bytes=row[0])


def _reason(connection: Connection, view: View, numbers: dict[str, int]) -> tuple[str, str]:
    """Return why a view must be refreshed, or an empty text and why not."""
    row = connection.execute(_SEEN, (view.name,)).fetchone()
    if not view.is_populated or row is None:
        return "it had no rows yet", ""
    seen, refreshed_at = row
    changed = [name for name in view.sources if numbers.get(name, 0) != seen.get(name)]
    if changed:
        return f"{', '.join(changed)} changed", ""
    return "", f"nothing below changed since {refreshed_at:%Y-%m-%d %H:%M:%S %Z}"
