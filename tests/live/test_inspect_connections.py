"""Connections made for real: held open, broken, stormed, leaked and thrown away; each is named."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import psycopg
import pytest

from live.machine import Run
from plimsoll.causes.budget import budget_of
from plimsoll.causes.connections.connections import causes, missing_of
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres import read
from plimsoll.sources.postgres.parts import ReadingPart
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

USABLE = 47
WANTS = frozenset({ReadingPart.SESSIONS})


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that takes 50 connections, three of them reserved."""
    with Postgres({"fsync": "off", "max_connections": "50"}) as running:
        running.run("pgbench", "-i", "-q", "-s", "1")
        yield running


@pytest.fixture
def crowd(server: Postgres) -> Iterator[Callable[..., list[psycopg.Connection]]]:
    """Open so many connections of an application; all are closed at the end."""
    with ExitStack() as stack:

        def open_more(count: int, application: str = "web") -> list[psycopg.Connection]:
            dsn = f"{server.dsn} application_name={application}"
            # At once: on a busy machine one after the other would be no storm.
            with ThreadPoolExecutor(count) as pool:
                opened = list(pool.map(psycopg.connect, [dsn] * count))
            return [stack.enter_context(one) for one in opened]

        yield open_more


def watched(server: Postgres, seconds: float, *doings: Callable[[], object], every_s: float = 1.0) -> Observation:
    """Watch in real time; each doing follows one glance."""
    waiting = iter(doings)

    def sleep(length_s: float) -> None:
        next(waiting, lambda: None)()
        time.sleep(length_s)

    return observe(server.dsn, duration_s=seconds, every_s=every_s, wants=WANTS, sleep=sleep)


def found(observation: Observation) -> dict[str, Cause]:
    return {cause.code: cause for cause in causes(observation, budget_of(observation))}


def test_transactions_that_are_held_open_are_named(server: Postgres, crowd):
    """Twelve of 47 idle in transaction are critical; five that failed are a warning; who they are."""
    for connection in crowd(12, "billing"):
        connection.execute("select 1")
    for connection in crowd(5, "import"):
        with suppress(psycopg.Error):
            connection.execute("select 1/0")
    reading = found(watched(server, 0.5))

    assert reading["IdleInTransaction"].severity == "critical"
    assert reading["IdleInTransaction"].subject == "plimsoll 'billing' from 127.0.0.1"
    assert reading["IdleInTransaction"].title.startswith("12 sessions hold a transaction open")
    assert reading["AbortedTransactions"].severity == "warning"
    assert reading["AbortedTransactions"].subject == "plimsoll 'import' from 127.0.0.1"


def test_a_storm_that_fills_the_server_is_named(server: Postgres, crowd):
    """From two to 40 connections between two glances: a storm, and near the maximum."""
    crowd(2)
    reading = found(watched(server, 2.0, lambda: crowd(38, "checkout")))

    assert reading["ConnectionStorm"].severity == "critical"
    assert "from 2 to 40" in reading["ConnectionStorm"].title
    assert reading["ConnectionStorm"].subject == "plimsoll 'checkout' from 127.0.0.1"
    assert reading["NearMaxConnections"].title.startswith(f"40 of {USABLE} usable connections")
    assert "ConnectionLeak" not in reading


def test_a_leak_is_named_with_its_holder(server: Postgres, crowd, monkeypatch: pytest.MonkeyPatch):
    """One idle connection more each second, for eleven seconds; on a slow machine glances would come less often."""
    monkeypatch.setattr(read, "_EVERY_S_MAX", 1.0)
    crowd(2, "leaky")
    observation = watched(server, 11.0, *[lambda: crowd(1, "leaky")] * 11)
    result = found(observation)["ConnectionLeak"]

    assert result.subject == "plimsoll 'leaky' from 127.0.0.1"
    assert result.severity == "critical"  # 47 are full within the minute
    assert len(observation.glances) >= 8


def test_connections_of_one_transaction_each_are_named(server: Postgres):
    """pgbench connects anew for every transaction; arrivals are the server's own count."""
    work = threading.Thread(target=server.run, args=("pgbench", "-n", "-S", "-C", "-c", "4", "-j", "2", "-T", "5"))
    work.start()
    time.sleep(0.5)
    before = _sessions(server)
    observation = watched(server, 3.0, every_s=0.5)
    came = _sessions(server) - before
    work.join()
    result = found(observation)

    counted = (observation.last.counters.sessions or 0) - (observation.first.counters.sessions or 0)
    assert counted == pytest.approx(came, rel=0.15, abs=5)
    # A machine that is busy with other things may not make fifty in three seconds.
    assert ("ShortConnections" in result) == (counted >= 50 and counted / observation.seconds >= 5)
    assert {"ShortConnections", "ConnectionArrivals"} & set(result)


def _sessions(server: Postgres) -> int:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        row = connection.execute("select sum(sessions) from pg_stat_database").fetchone()
    assert row is not None
    return int(row[0])


def test_what_became_of_them_is_counted(server: Postgres, crowd):
    """Eight that an operator ended are told as killed."""
    crowd(8, "victim")

    def kill() -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'victim'"
            )

    reading = found(watched(server, 1.5, kill, every_s=0.5))

    assert "8 killed" in reading["SessionsEndedBadly"].title


def test_a_healthy_pgbench_gives_notes_only(server: Postgres):
    """Four clients that stay connected and work."""
    work = threading.Thread(target=server.run, args=("pgbench", "-n", "-c", "4", "-j", "2", "-T", "3"))
    work.start()
    time.sleep(0.5)
    observation = watched(server, 1.5)
    work.join()
    result = found(observation)

    assert {cause.severity for cause in result.values()} == {"note"}
    assert set(result) <= {"ConnectionsHeld", "ConnectionArrivals"}
    assert result["ConnectionsHeld"].title.startswith(f"4 of {USABLE} usable")


def test_a_role_without_rights_is_told_what_it_cannot_see(server: Postgres, crowd):
    """Connections are counted all the same; their states are unknown and named."""
    crowd(3)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create role plain login password 'plain'")
        dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=plain password=plain"
        observation = observe(dsn, duration_s=0.2, wants=WANTS)
        connection.execute("drop role plain")
    result = found(observation)["ConnectionsHeld"]

    assert "with a hidden state" in " ".join(piece.text for piece in result.evidence)
    assert "states of sessions" in {gap.name for gap in missing_of(observation)}


def test_a_server_of_this_machine_shows_its_processors(server: Postgres):
    """Its process is seen here, and may use what we may, or what its group may."""
    count = observe(server.dsn, duration_s=0).server.vcpu_count

    assert count is not None
    assert 1 <= count <= len(os.sched_getaffinity(0))


def test_pools_are_sized_against_a_real_server(server: Postgres, run: Run):
    """The limit is read from the server: 2 × 30 do not fit into 47."""
    result = run("pool-size", "--service", "a=2x30", "--for", "1s", PLIMSOLL_DSN=server.dsn)

    assert result.returncode == 1, result.stderr
    assert "50 − 3 reserved = 47" in result.stdout
