"""Real PgBouncer and Pgpool-II in front of a real server: what is wrong with them is seen at work."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from live.installed import program
from live.machine import Run
from live.pooler_servers import PgBouncer, Pgpool
from plimsoll.causes.budget import budget_of
from plimsoll.causes.poolers.poolers import causes
from plimsoll.model.cause import Cause
from plimsoll.model.database import PoolerReading
from plimsoll.sources.pooler.read import read_pooler
from plimsoll.sources.postgres.parts import ReadingPart
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

UNMENDED = Path(__file__).parents[2] / "build/pgpool-unmended/pgpool"
CHILDREN = 12
LIFE_S = 1
# The incident's three settings, with a shorter life time.
SERIALIZED = {
    "serialize_accept": "on",
    "child_life_time": "0",
    "connection_life_time": str(LIFE_S),
    "num_init_children": str(CHILDREN),
    "max_pool": "1",
}
PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with a database of another name: Pgpool-II never caches connections to `postgres`."""
    with Postgres({"fsync": "off", "max_connections": "40"}) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create database app")
        yield running


def found(server: Postgres, readings: list[PoolerReading]) -> dict[str, Cause]:
    """What is found with these readings of a pooler, and a look at the server."""
    looked = observe(server.dsn, duration_s=0.0, wants=frozenset({ReadingPart.SESSIONS}))
    whole = replace(looked, poolers=tuple(readings))
    return {cause.code: cause for cause in causes(whole, budget_of(whole))}


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_clients_of_a_full_pool_are_seen_to_wait(server: Postgres):
    """Two servers, both held by open transactions; three more clients wait, over a second."""
    settings = {"pool_mode": "transaction", "default_pool_size": "2"}
    with PgBouncer(server, settings=settings) as pooler, ExitStack() as stack:
        for _ in range(2):
            holder = stack.enter_context(psycopg.connect(pooler.dsn("app")))
            holder.execute("select 1")

        def wait() -> None:
            with psycopg.connect(pooler.dsn("app"), prepare_threshold=None) as one:
                one.execute("select 1")

        waiting = [threading.Thread(target=wait) for _ in range(3)]
        for thread in waiting:
            thread.start()

        def is_waiting() -> bool:
            rows = read_pooler(pooler.url).pools
            return any(r.clients_waiting == 3 and (r.longest_wait_s or 0) >= 1 for r in rows)

        until(is_waiting)
        reading = found(server, [read_pooler(pooler.url)])
        stack.close()
        for thread in waiting:
            thread.join()
        after = found(server, [read_pooler(pooler.url)])

    assert reading["PoolSaturated"].title.startswith("3 clients of pool app for plimsoll wait")
    assert "All 2 server connections of the pool are in use" in reading["PoolSaturated"].text
    assert reading["PreparedStatementsBreak"].severity == "warning"  # 1.18 of Debian 12
    assert "PoolSaturated" not in after


def left_alone(server: Postgres, executable: Path | None) -> dict[str, Cause]:
    """
    Eleven clients at once, of twelve children; all leave, and some seconds later one look is taken.

    One look only: every visit lets a child see that its timer has gone off.
    """
    with Pgpool(server, SERIALIZED, executable=executable) as pooler:
        with ExitStack() as stack:
            for _ in range(CHILDREN - 1):
                stack.enter_context(psycopg.connect(pooler.dsn("app"))).execute("select 1")
        time.sleep(LIFE_S + 5)
        return found(server, [read_pooler(pooler.url)])


def test_a_pgpool_without_the_fix_is_caught_by_what_it_does(server: Postgres):
    """It calls itself a release that is mended; its cached backends outlive connection_life_time."""
    assert UNMENDED.exists(), "run .ci/pgpool-unmended"
    result = left_alone(server, UNMENDED)["ServersOutliveLifeTime"]

    assert f"connection_life_time = {LIFE_S} s" in result.title
    assert "should have the fix of 2020-09-17, but" in result.text
    assert (result.evidence[0].value or 0) >= LIFE_S + 3
    assert (result.evidence[1].value or 0) >= 2


def test_a_pgpool_with_the_fix_lets_go(server: Postgres):
    """The same settings, the same clients, Debian's program: nothing outlives its time."""
    result = left_alone(server, None)

    assert "ServersOutliveLifeTime" not in result
    assert "LifeTimeIgnoredUnderSerializeAccept" not in result


def test_what_pgpool_may_open_is_held_against_the_server(server: Postgres):
    """16 children with 4 connections each are more than 37; all settings are read from it."""
    settings = {"num_init_children": "16", "max_pool": "4"}
    with Pgpool(server, settings) as pooler:
        reading = found(server, [read_pooler(pooler.url)])

    assert "16 × 4 = 64 connections" in reading["PoolsExceedMaxConnections"].title
    assert (reading["PoolsExceedMaxConnections"].evidence[1].reference) == 37


def shipped(name: str) -> Path:
    """A configuration as Debian ships it, beside the program."""
    places = {"pgbouncer": "etc/pgbouncer/pgbouncer.ini", "pgpool": "usr/share/pgpool2/pgpool.conf"}
    return program(name).parents[2] / places[name]


@pytest.mark.parametrize("name", ["pgbouncer", "pgpool"])
def test_shipped_configurations_are_sound(run: Run, name: str):
    """With the version that is here nothing is found; exit status 0."""
    line = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=False)
    version = next(w for w in (line.stdout + line.stderr).split() if w[0].isdigit())
    result = run("lint", "pooler", str(shipped(name)), "--version", version)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "Nothing found." in result.stdout


def test_the_shipped_pgpool_does_not_fit_the_shipped_server(run: Run):
    """32 × 4 = 128 connections, and PostgreSQL takes 100 by default."""
    result = run("lint", "pooler", str(shipped("pgpool")), "--max-connections", "100")

    assert result.returncode == 1
    assert "32 × 4 = 128 connections" in result.stdout
