"""Healthy servers of every version are left alone: idle, reading from memory, writing twenty times a second."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from live.installed import VERSIONS, postgres_binaries
from live.machine import clean_environment
from plimsoll.causes.inspect import inspect
from plimsoll.cli.inspect import status_of
from plimsoll.lab.postgres import Postgres
from plimsoll.sources.database.read import observe

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """
    A server with default settings and pgbench's tables.
    """
    with Postgres({"fsync": "off"}, binaries=postgres_binaries(request.param)) as running:
        running.run("pgbench", "-i", "-q", "-s", "1")
        yield running


@contextmanager
def benching(server: Postgres, *arguments: str) -> Iterator[None]:
    """
    pgbench with two clients, for as long as the block lasts; nothing without arguments.
    """
    if not arguments:
        yield
        return
    bench = subprocess.Popen(
        [str(server.program("pgbench")), "-n", "-c", "2", "-T", "60", *arguments],
        env={**clean_environment(), **server.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        bench.terminate()
        bench.wait()


@pytest.mark.parametrize(
    "arguments", [(), ("-S",), ("-R", "20")], ids=["idle", "reading", "writing"]
)
def test_a_healthy_server_has_nothing_above_a_note(server: Postgres, arguments: tuple[str, ...]):
    """
    Status 0: no finding above a note, no reset counter, nothing that stands in the way.
    """
    with benching(server, *arguments):
        seen = observe(server.dsn, duration_s=1.5, every_s=0.5)
    told = inspect(seen)

    assert [] == [(c.code, c.title) for c in told.causes if c.severity != "note"]
    assert () == seen.resets
    assert 0 == status_of(told)
