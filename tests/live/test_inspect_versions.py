"""On versions between the oldest and the newest: a healthy database is left alone, and held sessions are named."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest

from live.installed import DEBIANS, postgres_binaries
from live.machine import clean_environment
from plimsoll.causes.inspect import inspect
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres


@pytest.fixture(scope="module", params=[DEBIANS, "16", "17"])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with pgbench's tables that takes 50 connections, three of them reserved."""
    settings = {"fsync": "off", "max_connections": "50", "autovacuum_naptime": "1h"}
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        running.run("pgbench", "-i", "-q", "-s", "1")
        yield running


def test_a_healthy_pgbench_has_nothing_above_a_note(server: Postgres):
    """Every detector looks at two clients at work."""
    bench = subprocess.Popen(
        [str(server.program("pgbench")), "-n", "-c", "2", "-T", "60"],
        env={**clean_environment(), **server.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found = inspect(observe(server.dsn, duration_s=1.5, every_s=0.5))
    finally:
        bench.terminate()
        bench.wait()

    assert found.load_written_bytes_per_s
    assert [] == [cause.title for cause in found.causes if cause.severity != "note"]
    assert {"io", "statements"} >= {gap.name for gap in found.missing}


def test_transactions_that_are_held_open_are_named(server: Postgres):
    """Twelve of 47 idle in transaction are critical, five that failed a warning."""
    with ExitStack() as stack:
        for index in range(17):
            name = "billing" if index < 12 else "import"
            dsn = f"{server.dsn} application_name={name}"
            connection = stack.enter_context(psycopg.connect(dsn))
            with suppress(psycopg.errors.DivisionByZero):
                connection.execute("select 1" if index < 12 else "select 1/0")
        found = inspect(observe(server.dsn, duration_s=0.3, every_s=0.1))
    by_name = {cause.code: (cause.severity, cause.subject) for cause in found.causes}

    assert ("critical", "plimsoll 'billing' from 127.0.0.1") == by_name["IdleInTransaction"]
    assert ("warning", "plimsoll 'import' from 127.0.0.1") == by_name["AbortedTransactions"]
