"""A counter that somebody resets while it is watched is a gap: never zero, never all clear."""

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from live.installed import DEBIANS, VERSIONS, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.cli.inspect import status_of
from plimsoll.reports.inspect.document import headline
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with a table of 8 MB, which every pass of the load updates."""
    settings = {"fsync": "off", "autovacuum": "on", "checkpoint_timeout": "1h"}
    has_statements = request.param not in (DEBIANS, "16")
    if has_statements:
        settings["shared_preload_libraries"] = "pg_stat_statements"
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            if has_statements:
                connection.execute("create extension pg_stat_statements")
            connection.execute(
                "create table kept as select g as id, repeat('x', 200) as note from generate_series(1, 30000) g"
            )
        yield running


def watched(server: Postgres, *reset: str):
    """A second and a half of updates, in the middle of which somebody resets."""
    stop = threading.Event()

    def work() -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            while not stop.is_set():
                connection.execute("update kept set note = note where id < 5000")

    def somebody() -> None:
        time.sleep(0.8)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in reset:
                connection.execute(statement)

    workers = [threading.Thread(target=one) for one in (work, somebody)]
    for worker in workers:
        worker.start()
    try:
        return observe(server.dsn, duration_s=1.6)
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def version_of(server: Postgres) -> int:
    return int(server.version.partition(".")[0])


def resets_of(server: Postgres, *reset: str) -> tuple[set[str], int, str, float | None]:
    """What was seen to be reset, the exit status without other findings, the headline, and the load."""
    seen = watched(server, *reset)
    inspection = inspect(seen)
    return (set(seen.resets), status_of(inspection), headline(inspection), inspection.load_written_bytes_per_s)


def test_nothing_was_reset(server: Postgres):
    """A window without a reset has its load, and no gap by that name."""
    seen = watched(server)
    inspection = inspect(seen)

    assert () == seen.resets
    assert (inspection.load_written_bytes_per_s or 0) > 0
    assert not [gap for gap in inspection.missing if "reset" in gap.remedy]


def test_io_counters_that_were_reset_leave_the_load_unknown(server: Postgres):
    """From 16 on the load is that of pg_stat_io; before, that of the background writer and checkpoints."""
    kind = "io" if version_of(server) >= 16 else "bgwriter"
    names, status, text, load = resets_of(server, f"select pg_stat_reset_shared('{kind}')")

    assert kind in names
    assert load is None
    assert status in {1, 2}
    assert "No problem" not in text


def test_tables_that_were_reset_leave_the_verdict_open(server: Postgres):
    """pg_stat_reset empties the counters of all tables of the database."""
    names, status, found, _ = resets_of(server, "select pg_stat_reset()")

    assert "relations" in names
    assert status == 2 or not found.startswith("No problem")


def test_wal_and_statements_that_were_reset_are_named(server: Postgres):
    """Each is a gap of its own; the load before 18 needs the counter of WAL."""
    has_statements = server._settings.get("shared_preload_libraries")
    seen = watched(
        server,
        "select pg_stat_reset_shared('wal')",
        *(["select pg_stat_statements_reset()"] if has_statements else []),
        *(["select pg_stat_reset_shared('checkpointer')"] if version_of(server) >= 17 else []),
    )
    inspection = inspect(seen)
    wanted = {"wal"} | ({"statements"} if has_statements else set())
    wanted |= {"checkpointer"} if version_of(server) >= 17 else set()

    assert wanted == set(seen.resets)
    assert len(wanted) == len([gap for gap in inspection.missing if gap.remedy.startswith("They were")])
    assert (inspection.load_written_bytes_per_s is None) == (version_of(server) < 18)
    assert seen.last.counters.wal_bytes is None
