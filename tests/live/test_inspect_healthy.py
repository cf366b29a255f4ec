"""Servers that have nothing wrong with them are told nothing above a note, on every version."""

from collections.abc import Iterator

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import VERSIONS, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

# By name: what pgbench is told.
LOADS = {
    "idle": (),
    "reads from the cache": ("-S", "-c", "2", "-T", "3"),
    "20 transactions a second": ("-c", "2", "-R", "20", "-T", "3"),
}


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with its default settings and pgbench's tables, which fit its buffers."""
    found = {"shared_preload_libraries": "pg_stat_statements"}
    with Postgres(found, binaries=postgres_binaries(request.param)) as started:
        started.run("pgbench", "-i", "-q", "-s", "2")
        with psycopg.connect(started.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("checkpoint")
            flush_statistics(connection)
        yield started


@pytest.mark.parametrize("load", LOADS)
def test_a_healthy_server_is_told_nothing_above_a_note(server: Postgres, load: str):
    """Idle, reading from its cache, and changing a little."""

    def work_instead(_: float) -> None:
        if LOADS[load]:
            server.run("pgbench", "-n", *LOADS[load])
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            # Of a fraction of a second one page is a rate.
            connection.execute("select pg_sleep(3)")
            flush_statistics(connection)

    inspection = inspect(observe(server.dsn, duration_s=0.01, sleep=work_instead))

    assert [] == [cause.title for cause in inspection.causes if cause.severity != "note"]
