"""A sweep of a real PostgreSQL: requests of the size that was asked for, and nothing left behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psycopg
import pytest

from live.loads import asked
from live.machine import Run, clean_environment
from plimsoll.errors import SourceError, UsageError
from plimsoll.units import GIB, KIB, MIB
from plimsoll_lab.model.sweep import Pattern
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.sweep import server as sweep_server
from plimsoll_lab.sweep.plan import SweepPlan
from plimsoll_lab.sweep.postgres import sweep_database
from plimsoll_lab.sweep.server import SweepServer

PLAN = SweepPlan(sizes_bytes=(64 * KIB,), for_each_s=1, depth=2, max_bytes=200 * GIB)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Small buffers and a table of 64 MB with one row in each block, past the page cache."""
    settings = {"shared_buffers": "16MB", "max_connections": "20", "debug_io_direct": "data"}
    with Postgres(settings) as made:
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_prewarm")
            connection.execute('create table "Wide rows" (filler text storage plain)')
            connection.execute("""insert into "Wide rows" select repeat('x', 7892) from generate_series(1, 8192)""")
            connection.execute('vacuum (freeze) "Wide rows"')
        yield made


def left_over(server: Postgres) -> list[tuple]:
    """Our tables, and sessions of ours that are still there."""
    tables = asked(server, "select relname from pg_class where relname like 'plimsoll%'")
    sessions = "select pid from pg_stat_activity where application_name = 'plimsoll'"
    end = time.monotonic() + 10
    while (found := asked(server, sessions)) and time.monotonic() < end:
        time.sleep(0.05)
    return tables + found


def test_requests_come_in_the_size_that_was_asked_for(server: Postgres, run: Run):
    """Scattered ones exactly, scans nearly; the largest table is found, and nothing is written."""
    done = run(
        "sweep", "--sizes", "8KiB,64KiB", "--for-each", "1s", "--depth", "4",
        "--max-bytes", "100GiB", "--format", "json", PLIMSOLL_DSN=server.dsn,
    )  # fmt: skip

    assert done.returncode in (0, 2), done.stderr
    (found,) = json.loads(done.stdout)["configurations"]
    points = {(p["pattern"], p["io_size_bytes"]): p for p in found["sweep"]["points"]}
    assert 4 == len(points)
    scattered, scanned = points["scattered", 65536.0], points["sequential", 65536.0]
    assert 65536 == pytest.approx(scattered["bytes_per_s"] / scattered["ops_per_s"], rel=0.15)
    assert 65536 == pytest.approx(scanned["bytes_per_s"] / scanned["ops_per_s"], rel=0.5)
    assert '"Wide rows"' in found["sweep"]["method"]
    password = server.dsn.rpartition("password=")[2]
    assert password not in done.stdout + done.stderr
    assert [] == left_over(server)


def test_a_table_of_ours_is_dropped(server: Postgres, monkeypatch):
    """Also when the sweep is broken off in the middle."""
    monkeypatch.setattr(sweep_server, "_SCRATCH_MIN_BYTES", 64 * MIB)
    texts: list[str] = []

    def interrupt(line: str) -> None:
        texts.append(line)
        if line.startswith("1/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep_database(
            SweepServer(server.dsn, str), PLAN, place="here", allow_writes=True, table=None, show_progress=interrupt
        )

    assert "8,192 blocks" in texts[0]
    assert [] == left_over(server)


def test_ctrl_c_ends_the_sessions_too(server: Postgres):
    """Whatever they read is cancelled on the server."""
    child = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "sweep", "--for-each", "1h", "--max-bytes", "900TiB"],
        env={**clean_environment(), "PLIMSOLL_DSN": server.dsn},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    sessions = "select 1 from pg_stat_activity where application_name = 'plimsoll' and state = 'active'"
    end = time.monotonic() + 30
    while not asked(server, sessions) and time.monotonic() < end:
        time.sleep(0.05)

    child.send_signal(signal.SIGINT)
    _, complaint = child.communicate(timeout=30)

    assert 130 == child.returncode, complaint
    assert "Traceback" not in complaint
    assert [] == left_over(server)


@pytest.mark.parametrize(
    ("named", "words"), [("pg_class", "less than 3 × shared_buffers"), ("nowhere", "there is no table")]
)
def test_a_table_that_would_not_do_is_refused(server: Postgres, named, words):
    """One that the buffers hold, or that is not there."""
    with pytest.raises(UsageError, match=words):
        sweep_database(
            SweepServer(server.dsn, str), PLAN, place="", allow_writes=False, table=named, show_progress=print
        )


def test_an_old_server_is_refused(server: Postgres, monkeypatch):
    """Before 17 there is no I/O size to set."""
    monkeypatch.setattr(sweep_server, "VERSION_MIN", 990_000)

    with pytest.raises(UsageError, match="reads block by block"):
        SweepServer(server.dsn, str).facts()


def test_a_server_that_fails_in_the_middle_is_one_sentence(server: Postgres):
    """Its words without the password, and no traceback."""

    def end_them(line: str) -> None:
        asked(server, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'plimsoll'")

    secret = server.dsn.rpartition("password=")[2]
    with pytest.raises(SourceError) as raised:
        sweep_database(
            SweepServer(server.dsn, lambda text: text.replace(secret, "***")),
            PLAN, place="", allow_writes=False, table=None, show_progress=end_them,
        )  # fmt: skip

    assert secret not in raised.value.message
    assert [] == left_over(server)


def test_without_pg_prewarm_scans_are_enough(server: Postgres):
    """The points are sequential only, and that is said."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("drop extension pg_prewarm")
    try:
        found = sweep_database(
            SweepServer(server.dsn, str), PLAN, place="", allow_writes=False, table=None, show_progress=print
        )
    finally:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_prewarm")

    assert {Pattern.SEQUENTIAL} == {point.pattern for point in found.points}
    assert any("pg_prewarm" in note for note in found.notes)
