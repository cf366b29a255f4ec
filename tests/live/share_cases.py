"""
Loads that have one cause each, with what tells how many bytes were that cause's.

A part runs in a session of its own. Its bytes are those of all processes of the server while it ran; where it does
more than its cause, as a sort that first has to read a table, the same part is run before with the remedy, and what
it then still asks for is not the cause's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from live.asked_bytes import Asked

Work = Callable[[psycopg.Connection], None]

ROWS = 120_000
SETTINGS = {
    "shared_buffers": "8MB",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "3600",
    "max_wal_size": "2GB",
    "wal_level": "logical",
    # As with data checksums, without making 15 and 18 differ.
    "wal_log_hints": "on",
    "work_mem": "1MB",
    "maintenance_work_mem": "1MB",
    "logical_decoding_work_mem": "64kB",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "jit": "off",
    "fsync": "off",
    "shared_preload_libraries": "pg_stat_statements",
}
SETUP = (
    "create extension pg_stat_statements",
    "create table big (id int primary key, k int, note text)",
    f"insert into big select g, (g * 7919::bigint) % 200003, repeat('x', 100) from generate_series(1, {ROWS}) g",
    "create index big_k on big (k)",
    "create table docs (id int primary key, status int, body text)",
    "alter table docs alter body set storage external",
    "insert into docs select g, 0, repeat(md5(g::text), 250) from generate_series(1, 1500) g",
    "create table small (id int, n int)",
    "create table decoded (id int, note text)",
    "vacuum (freeze, analyze)",
    "checkpoint",
)
_SORT = "select count(*) from (select generate_series(1, {}) g, md5('x') m order by 2, 1 offset 0) s"
_HASH = (
    "select count(*) from (select generate_series(1, 100000) id, md5('x') m offset 0) a "
    "join (select generate_series(1, 100000) id, md5('y') m offset 0) b using (id) where a.m <> b.m"
)
_GET = "select count(*) from pg_logical_slot_get_changes('{}', null, null)"


def running(*statements: str) -> Work:
    """One statement after the other."""

    def work(connection: psycopg.Connection) -> None:
        for statement in statements:
            connection.execute(statement.encode())

    return work


def resent(connection: psycopg.Connection) -> None:
    """Programs that load a row and save all of it."""
    for n in range(500):
        key = n * 97 % 1500 + 1
        (body,) = connection.execute("select body from docs where id = %s", (key,)).fetchone()
        connection.execute("update docs set status = status + 1, body = %s where id = %s", (body, key))


def mended(connection: psycopg.Connection) -> None:
    """The same ones, which save what changed."""
    for n in range(500):
        key = n * 97 % 1500 + 1
        connection.execute("select body from docs where id = %s", (key,)).fetchone()
        connection.execute("update docs set status = status + 1 where id = %s", (key,))


def loaded(connection: psycopg.Connection) -> None:
    """A COPY of 13 MB into an empty table, and the checkpoint that writes what it left."""
    rows = b"".join(b"%d\t%s\n" % (n, b"y" * 100) for n in range(1000))
    with connection.cursor().copy("copy loaded from stdin") as copy:
        for _ in range(ROWS // 1000):
            copy.write(rows)
    connection.execute("checkpoint")


STALE = (
    "drop table if exists stale",
    f"create table stale as select g as id, repeat('z', 100) as note from generate_series(1, {ROWS}) g",
    "create index on stale (id)",
    "vacuum (freeze) stale",
    "delete from stale where id % 5 = 0",
    "checkpoint",
)
# So slow that glances see it on the way: some seconds.
VACUUMED = ("set vacuum_cost_delay = 2", "set vacuum_cost_limit = 60", "vacuum stale")
"""A table with dead rows in every page, and its VACUUM."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A load with the cause that has to be named."""

    code: str
    subject: str = ""
    """How the cause's subject begins."""
    work: Work
    without: Work | None = None
    """The same with the remedy."""
    prepared: tuple[str, ...] = ()
    counts: str = "all"
    """Which of its bytes are the cause's: `read`, `written` or `all`."""

    within: float = 0.07
    """How far the share may be off, of the load: more where bytes are shared out by estimate."""

    def bytes_of(self, asked: Asked, spared: Asked) -> int:
        """The cause's, of what was asked for with it and without."""
        return getattr(asked, self.counts) - getattr(spared, self.counts)


PARTS = {
    "sequential scan": Part(
        code="SequentialScans",
        subject="public.big",
        work=running(*["select count(*) from big where note = 'z'"] * 4),
        counts="read",
    ),
    "bitmap scan": Part(
        code="StatementReads",
        subject="select count(note) from big where k between",
        work=running(
            "set enable_seqscan = off; set enable_indexscan = off",
            *(f"select count(note) from big where k between {n * 5000} and {n * 5000 + 2000}" for n in range(20)),
        ),
        counts="read",
    ),
    "index scan": Part(
        code="StatementReads",
        subject="select note from big where k =",
        work=running(
            "set enable_seqscan = off; set enable_bitmapscan = off",
            *(f"select note from big where k = {n * 97}" for n in range(3000)),
        ),
        counts="read",
    ),
    "sort": Part(code="TemporaryFiles", work=running(*[_SORT.format(100_000)] * 2)),
    "merges": Part(code="TemporaryFiles", work=running("set work_mem = '64kB'", _SORT.format(200_000))),
    "hash join": Part(
        code="TemporaryFiles", work=running("set enable_mergejoin = off; set enable_nestloop = off", _HASH)
    ),
    "index build": Part(
        code="TemporaryFiles",
        work=running("create index built on big (note, id)"),
        without=running(
            "set maintenance_work_mem = '256MB'",
            "create index built_with_room on big (note, id)",
            "drop index built_with_room",
        ),
        prepared=("drop index if exists built",),
    ),
    "values out of line": Part(code="ToastValuesResent", work=resent, without=mended, within=0.12),
    "copy": Part(
        code="BulkLoad",
        subject="public.loaded",
        work=loaded,
        prepared=("drop table if exists loaded", "create table loaded (id int, note text)"),
        counts="written",
    ),
    "first reader": Part(
        code="HintBits",
        subject="public.fresh",
        # Counters do not tell whether a checkpoint came before or after it: in a long window several do.
        work=running("select count(*) from fresh where id > 0", "checkpoint"),
        prepared=(
            "drop table if exists fresh",
            f"create table fresh as select g as id, repeat('z', 100) as note from generate_series(1, {ROWS}) g",
            "checkpoint",
        ),
        counts="written",
    ),
    "decoding": Part(
        code="DecodingSpills",
        subject="held",
        work=running("set work_mem = '256MB'", _GET.format("held")),
        without=running("set work_mem = '256MB'; set logical_decoding_work_mem = '256MB'", _GET.format("spared")),
        prepared=(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots",
            "select pg_create_logical_replication_slot('held', 'test_decoding')",
            "select pg_create_logical_replication_slot('spared', 'test_decoding')",
            "insert into decoded select g, repeat('z', 100) from generate_series(1, 60000) g",
            "checkpoint",
        ),
    ),
    "small commits": Part(
        code="WalWrites", work=running(*(f"insert into small values ({n}, {n})" for n in range(1500))), counts="written"
    ),
    "checkpoint": Part(
        code="CheckpointsRequested",
        work=running("checkpoint"),
        # Changed pages that fit the buffers, so that nobody else has to write them.
        prepared=("checkpoint", "update big set note = note where id <= 20000"),
        counts="written",
    ),
}
"""By name."""

MIXTURES = (
    ("sequential scan", "sort"),
    ("merges", "copy"),
    ("copy", "first reader", "index scan"),
    ("values out of line", "hash join"),
    ("small commits", "bitmap scan"),
    ("decoding", "sequential scan", "copy", "sort"),
)
"""Parts that run in one window."""
