"""A server that is restarted or crashes while it is read, and one that only follows another."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from live.controlled import Controlled, controlled
from live.installed import DEBIANS, NEWEST, VERSIONS
from live.machine import clean_environment
from plimsoll.causes.inspect import inspect
from plimsoll.cli.inspect import status_of
from plimsoll.model.database import Observation, Relation
from plimsoll.reports.inspect.document import headline
from plimsoll.sources.postgres.read import observe

SETTINGS = {
    # What a session asks is told whole, with the settings before it.
    "track_activity_query_size": "16kB",
    "fsync": "off",
    "autovacuum": "off",
    "max_connections": "20",
    "shared_preload_libraries": "pg_stat_statements",
}
SETUP = (
    "create extension pg_stat_statements",
    "create table document as select i, repeat('x', 100) as body from generate_series(1, 5000) i",
    "create role monitor login password 's3cret'",
    "grant pg_monitor to monitor",
)
BEFORE = "the counters from before the restart"
UPDATE = "update document set body = body || 'y' where i <= {}"
WENT_ON = "The server was restarted; its counters continued."
FORGOTTEN = "The server was restarted and lost its counters: they cover the time since then."


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Controlled]:
    """A server of each version, with a table and statements that are counted."""
    with controlled(request.param, SETTINGS, *SETUP) as running:
        yield running


def watched(server: Controlled, *doings: Callable[[], object], at_the_end: bool = False) -> Observation:
    """
    What is seen by a clock that goes on only between glances, where one thing after another is done.

    Two glances follow the last thing, or none `at_the_end`.
    """
    now_s = 0.0
    waiting = iter(doings)

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds
        next(waiting, lambda: None)()
        wait_for(server)

    return observe(server.dsn, duration_s=len(doings) + (0 if at_the_end else 2), clock=lambda: now_s, sleep=sleep)


def wait_for(server: Controlled) -> None:
    """Until it takes connections again."""
    for _ in range(4000):
        with suppress(psycopg.OperationalError):
            psycopg.connect(server.dsn, connect_timeout=2).close()
            return
    raise AssertionError("the server did not come back")


def crash(server: Controlled) -> None:
    """One session is killed, so that the server ends all the others and recovers."""
    with psycopg.connect(server.dsn, autocommit=True) as victim:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        with suppress(psycopg.OperationalError):
            # Until the server has ended the connection.
            victim.execute("select pg_sleep(60)")


def ends_of(observation: Observation, name: str) -> tuple[Relation, Relation]:
    """A table in both readings."""
    first, last = (
        next(one for one in reading.relations if one.name == name) for reading in (observation.first, observation.last)
    )
    return first, last


def calls_of(observation: Observation) -> int:
    """How often the update was called, between the readings."""
    first, last = (
        sum(one.calls for one in reading.statements or () if one.query_id in ids_of(observation))
        for reading in (observation.first, observation.last)
    )
    return last - first


def ids_of(observation: Observation) -> set[int]:
    return {one.query_id for one in observation.last.statements or () if "|| $1" in one.text}


def test_an_orderly_restart_is_a_hole_and_the_counters_go_on(server: Controlled):
    """`pg_ctl restart -m fast`: what was done before and after it is in one sum, and the report says so."""
    found = watched(
        server,
        server.did(UPDATE.format(40)),
        lambda: server.control("-m", "fast", "restart"),
        lambda: None,
        server.did(UPDATE.format(30), UPDATE.format(2)),
    )
    before, after = ends_of(found, "public.document")

    assert WENT_ON == dict(found.missing)["window"]
    assert "did not come" in dict(found.missing)["samples of sessions"]
    assert 72 == after.updated - before.updated
    assert 3 == calls_of(found)
    assert 0 <= found.last.counters.committed - found.first.counters.committed < 500
    assert WENT_ON in inspect(found).notes
    assert_nothing_left(server)


def test_a_vacuum_that_a_restart_ends_is_seen_and_is_over(server: Controlled):
    """Its progress comes from every version, and no more bytes than the table has."""
    asked = "select count(*) > 0 from pg_stat_progress_vacuum where heap_blks_total > 0"
    worker = psycopg.connect(server.dsn, autocommit=True)
    worker.execute("set vacuum_cost_delay = 100; set vacuum_cost_limit = 1")
    thread = threading.Thread(target=lambda: ended(worker, "vacuum document"))
    thread.start()
    try:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            while not admin.execute(asked).fetchone()[0]:
                assert thread.is_alive()
        found = watched(server, lambda: None, lambda: server.control("-m", "fast", "restart"), lambda: None)
    finally:
        thread.join()
        worker.close()
    runs = [run for glance in found.glances for run in glance.vacuums]
    (cause,) = [c for c in inspect(found).causes if c.kind == "vacuum"]
    (table, _) = ends_of(found, "public.document")

    assert 2 <= len(runs) < len(found.glances)
    assert {"public.document"} == {run.relation for run in runs}
    assert {table.size_bytes // 8192} == {run.total_blocks for run in runs}
    assert {False} == {run.is_automatic or run.is_wraparound for run in runs}
    assert (found.server.version_number >= 180_000) == (runs[0].delay_s is not None)
    assert "public.document" == cause.subject
    assert 0 <= (cause.bytes_per_s or 0.0) * found.seconds <= 3 * table.size_bytes


def ended(worker: psycopg.Connection, statement: str) -> None:
    """Run a statement that a restart is going to end."""
    with suppress(psycopg.OperationalError):
        worker.execute(statement.encode())


def ending(server: Controlled, is_killed: bool) -> Callable[[], None]:
    """What ends the server, and forgets its counters."""
    return partial(crash, server) if is_killed else partial(server.control, "-m", "immediate", "restart")


@pytest.mark.parametrize("is_killed", [True, False], ids=["crash", "immediate"])
def test_after_a_crash_the_window_begins_again(server: Controlled, is_killed: bool):
    """A killed session, or `pg_ctl restart -m immediate`: nothing of before is compared with what came after."""
    server.did(*[UPDATE.format(50)] * 3)()

    found = watched(
        server, server.did(UPDATE.format(40)), ending(server, is_killed), lambda: None, server.did(UPDATE.format(30))
    )
    before, after = ends_of(found, "public.document")
    counters = (found.first.counters, found.last.counters)

    assert FORGOTTEN == dict(found.missing)["window"]
    assert "did not come" in dict(found.missing)["samples of sessions"]
    assert 30 == after.updated - before.updated
    # It was known before, and is counted all the same.
    assert 1 == calls_of(found)
    assert 0 <= counters[1].committed - counters[0].committed < 500
    assert counters[0].blocks_hit <= counters[1].blocks_hit
    assert counters[0].wal_bytes <= counters[1].wal_bytes
    assert len(found.glances) >= 4
    assert {None} == {g.transaction_count for g in found.glances if g.time_s < found.first.time_s}
    assert FORGOTTEN in inspect(found).notes
    assert [BEFORE] == [gap.name for gap in inspect(found).missing if gap.name == BEFORE]
    assert_nothing_left(server)


@pytest.mark.parametrize("server", [DEBIANS, NEWEST], indirect=True)
@pytest.mark.parametrize("is_killed", [True, False], ids=["crash", "immediate"])
def test_after_a_crash_at_the_end_nothing_is_all_clear(server: Controlled, is_killed: bool):
    """What was done in nearly all of the time is forgotten: the report says so, status 2, and shows no load of none."""
    began_s = time.monotonic()
    found = watched(
        server, server.did(UPDATE.format(50)), lambda: time.sleep(1.5), ending(server, is_killed), at_the_end=True
    )
    loud = {cause.code for cause in inspect(found).causes if cause.severity != "note"}
    # Autovacuum is off, which is a warning on any day.
    inspection = replace(inspect(found), causes=())
    (gap,) = [gap for gap in inspection.missing if gap.name == BEFORE]

    assert {"AutovacuumOff"} >= loud
    assert 1.5 <= found.forgotten_s <= time.monotonic() - began_s
    assert found.seconds < found.forgotten_s
    assert "verdict" == gap.hides
    assert 2 == status_of(inspection)
    assert headline(inspection).startswith("We cannot say what")
    assert BEFORE in headline(inspection)
    assert_nothing_left(server)


@pytest.mark.parametrize(
    ("server", "mode", "expected"),
    [(DEBIANS, "immediate", FORGOTTEN), (NEWEST, "fast", WENT_ON)],
    indirect=["server"],
    ids=["immediate", "fast"],
)
def test_the_command_survives_a_restart_under_load(server: Controlled, mode: str, expected: str):
    """`plimsoll inspect`: the cause has its table, and no more bytes than the load can have written."""
    server.did(
        "create table letters (id int primary key, n int, body text)",
        "alter table letters alter body set storage external",
        "insert into letters select i, 0, repeat(md5(i::text), 312) from generate_series(1, 50) i",
        "vacuum analyze letters",
    )()
    stop = threading.Event()
    sent = []

    def work() -> None:
        while not stop.is_set():
            with (
                suppress(psycopg.OperationalError),
                psycopg.connect(server.dsn, autocommit=True, connect_timeout=2) as connection,
            ):
                while not stop.wait(0.002):
                    connection.execute(
                        "update letters set n = n + 1, body = body || '' where id = %s", (len(sent) % 50 + 1,)
                    )
                    sent.append(None)

    inspecting = subprocess.Popen(
        [*(sys.executable, "-m", "plimsoll", "inspect", server.dsn), *("--for", "3s", "--format", "json")],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    worker = threading.Thread(target=work)
    worker.start()
    try:
        wait_for_glance(server, inspecting)
        server.control("-m", mode, "restart")
        out, err = inspecting.communicate(timeout=60)
    finally:
        inspecting.kill()
        stop.set()
        worker.join()
        server.did("drop table letters")()
    report = json.loads(out)
    (cause,) = [one for one in report["causes"] if one["kind"] == "toast"]

    assert inspecting.returncode in {0, 1}, err
    assert "" == err
    assert expected in report["notes"]
    assert "public.letters.body" == cause["subject"]
    assert cause["evidence"][0]["value"] == pytest.approx(7, rel=0.1)
    # Rows and WAL are 21 kB each time; pages that are written whole, and new files for WAL, are more.
    assert 0 < cause["written_bytes_per_s"] * report["window"]["duration_s"] < len(sent) * 60_000


def wait_for_glance(server: Controlled, inspecting: subprocess.Popen) -> None:
    """Until its first glance, which follows its first reading."""
    asked = (
        "select count(*) > 0 from pg_stat_activity "
        "where application_name = 'plimsoll' and query like '%pg_stat_progress_vacuum%'"
    )
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        while not connection.execute(asked).fetchone()[0]:
            assert inspecting.poll() is None


def assert_nothing_left(server: Controlled) -> None:
    """The server ends a session a moment after its client has gone."""
    asked = "select count(*) from pg_stat_activity where application_name = 'plimsoll'"
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        for _ in range(200):
            if admin.execute(asked).fetchone() == (0,):
                return
            admin.execute("select pg_sleep(0.02)")

        assert (0,) == admin.execute(asked).fetchone()


def test_a_standby_is_read_by_a_plain_role_and_says_that_it_is_one(server: Controlled):
    """A read-only replica: its tables are those of the primary, and nothing is written to read them."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-standby-", dir="/var/tmp"))
    primary = server.made
    data = folder / "data"
    try:
        subprocess.run(
            [*(str(primary.program("pg_basebackup")), "-D", str(data), "-X", "stream"), *("-c", "fast", "--no-sync")],
            env={**os.environ, **primary.environment},
            check=True,
        )
        (data / "standby.signal").touch()
        for path in (folder, data, *data.rglob("*")):
            primary.account.own(path)
        standby = primary.relocated(data, {**SETTINGS, "primary_conninfo": server.dsn.replace("'", "")})
        with standby:
            dsn = f"host=127.0.0.1 port={standby.port} dbname=postgres user=monitor password=s3cret"
            found = observe(dsn, duration_s=20, clock=iter(range(10**6)).__next__, sleep=lambda _: None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    assert found.server.is_standby
    assert "public.document" in [one.name for one in found.last.relations]
    assert found.last.statements is not None
    assert len(found.glances) >= 1
    assert {"io"} >= {name for name, _ in found.missing}
    assert any("this is a standby" in note for note in inspect(found).notes)
