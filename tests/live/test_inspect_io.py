"""Causes made on a real server, and named with the table and the bytes that it really read and wrote."""

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import WITH_CAUSES, postgres_binaries
from plimsoll.causes.budget import budget_of
from plimsoll.causes.indexes import sequential_scans, unused
from plimsoll.causes.statements import temporary_files
from plimsoll.causes.wal import checkpoints, wal
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

SETTINGS = {
    "shared_buffers": "8MB",
    "autovacuum": "off",
    "shared_preload_libraries": "pg_stat_statements",
    "max_wal_size": "32MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "300",
    "log_checkpoints": "on",
    "work_mem": "1MB",
    "fsync": "off",
    "max_parallel_workers_per_gather": "0",
}
# Counts must be those of the workload; the reading itself, and catalogs, take a little.
WITHIN = 0.15

Work = Callable[[psycopg.Connection], None]


@pytest.fixture(scope="module", params=WITH_CAUSES)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with a table of 150,000 rows (21 MB), two indexes beside its key, and small buffers."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("create table orders (id int primary key, customer int, note text)")
            connection.execute(
                "insert into orders select g, (g * 7919::bigint) % 100003, repeat('x', 100) "
                "from generate_series(1, 150000) g"
            )
            connection.execute("create index orders_customer on orders ((customer * 31 % 65537))")
            connection.execute("vacuum (freeze, analyze) orders")
            connection.execute("checkpoint")
            flush_statistics(connection)
        yield running


def watched(server: Postgres, work: Work) -> Observation:
    """What is seen of a server while one session works, and that only."""

    def work_instead(_: float) -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            work(connection)
            flush_statistics(connection)

    return observe(server.dsn, duration_s=0.01, sleep=work_instead)


def only(found: tuple[Cause, ...]) -> Cause:
    (cause,) = found
    return cause


def log_of(server: Postgres) -> str:
    return (server._directory / "log").read_text(encoding="utf-8", errors="replace")


def test_a_table_that_is_scanned_is_named_with_its_bytes_and_statement(server: Postgres):
    """Eight scans read eight times what EXPLAIN says of one; the statement and an index to try are told."""
    query = "select id from orders where customer = %s"
    with psycopg.connect(server.dsn) as connection:
        found = connection.execute(
            "explain (analyze, buffers, format json) select id from orders where customer = 1"
        ).fetchone()[0]
        connection.commit()
        flush_statistics(connection)
    seen = watched(server, lambda c: [c.execute(query, (n,)).fetchall() for n in range(8)] and None)
    read_bytes = 8 * found[0]["Plan"]["Shared Read Blocks"] * 8192
    cause = only(sequential_scans.causes(seen, budget_of(seen)))

    assert "public.orders" == cause.subject
    assert pytest.approx(read_bytes / seen.seconds, rel=WITHIN) == cause.read_bytes_per_s
    assert "CREATE INDEX CONCURRENTLY ON public.orders (customer);" == cause.remedies[0].commands[0]
    assert "critical" == cause.severity or seen.server.version_number < 160_000


def test_reads_by_an_index_are_no_scans(server: Postgres):
    """The same table, read by its key."""
    query = "select note from orders where id = %s"
    seen = watched(server, lambda c: [c.execute(query, (n * 97,)).fetchall() for n in range(1500)] and None)
    (table,) = [r for r in seen.last.relations if r.name == "public.orders"]

    assert table.index_scans
    assert () == sequential_scans.causes(seen, budget_of(seen))


def test_a_sort_that_spills_is_named_with_its_bytes(server: Postgres):
    """What EXPLAIN says each sort wrote to files and read of them, three times."""
    query = "select id, note from orders order by note, customer"

    def sort(connection: psycopg.Connection) -> None:
        for _ in range(3):
            connection.execute(f"select count(*) from ({query} offset 0) s")

    with psycopg.connect(server.dsn) as connection:
        explain = f"explain (analyze, buffers, format json) {query}"
        plan = connection.execute(explain).fetchone()[0][0]["Plan"]
        connection.commit()
        flush_statistics(connection)
    seen = watched(server, sort)
    cause = only(temporary_files.causes(seen, budget_of(seen)))

    found = (cause.written_bytes_per_s, cause.read_bytes_per_s)
    blocks = (find(plan, "Temp Written Blocks"), find(plan, "Temp Read Blocks"))

    assert pytest.approx([3 * n * 8192 / seen.seconds for n in blocks], rel=WITHIN) == list(found)
    assert "order by note" in cause.subject
    assert not cause.is_estimated
    assert "BEGIN;\nSET LOCAL work_mem" in cause.remedies[0].commands[0]


def test_the_work_mem_that_is_advised_is_enough(server: Postgres):
    """With it the same sort needs no file."""
    query = "select id, note from orders order by note, customer"
    counted = f"select count(*) from ({query} offset 0) s"
    seen = watched(server, lambda c: c.execute(counted) and None)
    (advice,) = only(temporary_files.causes(seen, budget_of(seen))).remedies[0].commands

    def relieved(connection: psycopg.Connection) -> None:
        # As it is printed, with the statement in its place.
        connection.execute(advice.replace("-- the statement", f"{counted};"))

    again = watched(server, relieved)

    assert () == temporary_files.causes(again, budget_of(again))


def updated(connection: psycopg.Connection) -> None:
    """Every seventh row anew, four times, so that WAL fills its room several times over."""
    for turn in range(4):
        connection.execute("update orders set customer = customer + 1 where id %% 7 = %s", (turn,))


def test_checkpoints_that_wal_brings_on_are_told_with_what_they_write(server: Postgres):
    """
    32 MB of max_wal_size fill within seconds: the pages that the log says were written, and the WAL
    between two positions. The index that nobody asks is maintained meanwhile.
    """
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("checkpoint")
        start = connection.execute("select pg_current_wal_lsn()").fetchone()[0]
        logged = len(log_of(server))
        seen = watched(server, updated)
        generated = connection.execute("select pg_current_wal_lsn() - %s::pg_lsn", (start,)).fetchone()[0]
        index_read = connection.execute(
            "select idx_blks_read from pg_statio_user_indexes where indexrelname = 'orders_customer'"
        ).fetchone()[0]
    budget = budget_of(seen)
    cause = only(checkpoints.causes(seen, budget))
    whole = only(wal.causes(seen, budget))
    idle = only(unused.causes(seen, budget))
    buffers = re.findall(r"wrote (\d+) buffers", log_of(server)[logged:])

    assert "CheckpointsByWal" == cause.code
    assert len(buffers) >= 2
    assert ["max_wal_size"] == [name for name, _ in cause.remedies[0].settings]
    counted = seen.last.counters.wal_bytes - seen.first.counters.wal_bytes
    assert pytest.approx(float(generated), rel=WITHIN) == counted
    assert "WalFullPages" == whole.code
    written = seen.last.counters.checkpoint_written_bytes
    written -= seen.first.counters.checkpoint_written_bytes
    # The last checkpoint may be under way still: the log then has not said yet what it wrote.
    assert written >= sum(map(int, buffers)) * 8192 * (1 - WITHIN)
    assert pytest.approx(written / seen.seconds) == cause.written_bytes_per_s

    assert "public.orders_customer" == idle.subject
    assert 0 < idle.read_bytes_per_s * seen.seconds <= index_read * 8192
    assert idle.is_estimated
    # The server is a minute old, so only the check is printed.
    (check,) = idle.remedies[0].commands
    assert "'public.orders_customer'::regclass" in check


def test_an_index_that_was_used_once_is_not_named(server: Postgres):
    """One scan since the counters began is a use."""

    def used(connection: psycopg.Connection) -> None:
        connection.execute("set enable_seqscan = off")
        connection.execute("select 1 from orders where customer * 31 % 65537 = 5").fetchall()
        connection.execute("update orders set customer = customer + 1 where id < 2000")

    seen = watched(server, used)

    assert () == unused.causes(seen, budget_of(seen))


def find(plan: dict, name: str) -> float:
    """A figure of the nearest node that has it."""
    if name in plan:
        return plan[name]
    return next(found for child in plan["Plans"] if (found := find(child, name)))
