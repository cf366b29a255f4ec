"""A pace by the counters of a real PostgreSQL: what they count, peers, pipes, and nothing left behind."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import psycopg
import pytest

from contract.tree import ROOT
from live.installed import DEBIANS, postgres_binaries
from live.machine import Run, clean_environment
from paced import T3, slow_truth
from plimsoll.errors import AccessDenied, PlimsollError, Unreachable
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import PeerBatches
from plimsoll.load.pace.pace import Pace
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

CLAIMS = str(ROOT / "examples/claims-pipeline")
NOTHING = 0.0
ALONE = PeerBatches()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A throwaway server with small buffers, so that writes reach the disk."""
    with Postgres({"shared_buffers": "16MB"}) as made:
        yield made


@pytest.fixture
def counters(server: Postgres) -> Iterator[ServerCounters]:
    made = ServerCounters(server.dsn)
    made.open()
    yield made
    made.close()


def test_counters_count_a_load(server: Postgres, counters: ServerCounters):
    """40 MB of rows are written at least twice: to WAL and to the table."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table loaded (a int, b text)")
        counters.counts(NOTHING)
        connection.execute("insert into loaded select n, repeat('x', 400) from generate_series(1, 100000) n")
        connection.execute("checkpoint")
        connection.execute("select pg_stat_force_next_flush()")
    found, peers = counters.counts(NOTHING)

    assert peers == ALONE
    assert found is not None  # the server answered
    assert 40e6 < found.wal_bytes < 60e6
    assert found.wal_bytes + 35e6 < found.moved_bytes < 200e6
    assert 35e6 < found.extend_bytes < 60e6
    assert found.ops > 100
    assert 16 * 2**20 == found.cache_bytes
    assert 8192 == found.block_bytes


@pytest.mark.parametrize("version", [DEBIANS, "16", "17"])
def test_every_version_counts(version: str):
    """Each with the views that it has, from 15 to 17; 18 is the server of the other tests."""
    with Postgres({"fsync": "off"}, binaries=postgres_binaries(version)) as made:
        counters = ServerCounters(made.dsn)
        counters.open()
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("create table t as select n, repeat('x', 90) from generate_series(1, 50000) n")
            connection.execute("checkpoint")
            connection.execute("select pg_stat_force_next_flush()")
        found, _ = counters.counts(NOTHING)
        counters.close()

    assert 5e6 < found.wal_bytes < found.moved_bytes
    assert found.ops > 0
    # Before 16, growth is a part of what was written.
    assert (found.extend_bytes > 5e6) is (version != DEBIANS)


def test_a_role_that_can_only_log_in_is_enough(server: Postgres):
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create role plain login password 'secret-word'")
    dsn = psycopg.conninfo.make_conninfo(server.dsn, user="plain", password="secret-word")
    made = ServerCounters(dsn)
    made.open()
    first, _ = made.counts(NOTHING)
    made.close()

    assert first is not None


def test_batches_see_each_other(server: Postgres, counters: ServerCounters):
    """What one tells, the other reads; when it has gone, there is no peer any more."""
    other = ServerCounters(server.dsn)
    other.open()
    other.counts(12e6)
    _, peers = counters.counts(NOTHING)
    assert PeerBatches(bytes_per_s=(12e6,), part_count=2) == peers

    other.close()
    end = time.monotonic() + 10
    while counters.counts(NOTHING)[1] != ALONE and time.monotonic() < end:
        time.sleep(0.05)
    assert counters.counts(NOTHING)[1] == ALONE


def test_sessions_of_another_role_are_one_part(server: Postgres, counters: ServerCounters):
    """Whoever can log in may call his sessions batches, as many as he likes."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create role many login password 'secret-word'")
    dsn = psycopg.conninfo.make_conninfo(
        server.dsn, user="many", password="secret-word", application_name="plimsoll pace 99999999999"
    )
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(psycopg.connect(dsn))
        _, peers = counters.counts(NOTHING)

    assert peers == PeerBatches(foreign_bytes_per_s=(99999999999.0,) * 20, part_count=2)


def test_a_server_that_goes_away_is_read_again(server: Postgres, counters: ServerCounters):
    """The lost reading is none and tells nothing of peers, and the next ones count again."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'plimsoll%'"
        )
    answers = [counters.counts(NOTHING) for _ in range(4)]

    assert (None, None) == answers[0]
    assert answers[-1][0] is not None
    assert answers[-1][1] == ALONE


def test_a_refusal_keeps_the_password(server: Postgres):
    dsn = psycopg.conninfo.make_conninfo(server.dsn, user="nobody", password="secret-word")
    with pytest.raises((AccessDenied, Unreachable)) as caught:
        ServerCounters(dsn).open()

    assert "secret-word" not in str(caught.value) + caught.value.hint
    assert isinstance(caught.value, PlimsollError)


def test_the_ratio_of_a_real_load_is_learned(server: Postgres):
    """A COPY into a table with an index costs more than a byte for each byte, and less than ten."""
    controller = PaceController(T3, PaceTerms())
    pace = Pace(
        controller,
        read_slow=lambda: slow_truth(end_s=time.time(), bytes_per_s=1e4, ops_per_s=1),
        counters=ServerCounters(server.dsn),
        tick_s=0.25,
    )
    row = "7\t" + "y" * 200 + "\n"
    with pace, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table copied (a int, b text)")
        connection.execute("create index on copied (a)")
        began_s = time.monotonic()
        while time.monotonic() - began_s < 6:
            piece = row * 2000
            pace.wait(len(piece))
            with connection.cursor().copy("copy copied from stdin") as copy:
                copy.write(piece)
        found = pace.allowance().ratio
        sent = pace.sent_bytes

    assert sent > 5e6
    assert found.is_learned
    assert 1 < found.wal_per_byte < 3
    assert 1 < found.bytes_per_byte < 10


def test_the_pipe_feeds_psql(server: Postgres):
    """What comes out of the pipe is what a real psql loads, every row once."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table piped (a int)")
    psql = server.program("psql")
    command = (
        f"seq 1 200000 | {sys.executable} -m plimsoll pace {CLAIMS} --cat | {psql} -X -q -c '\\copy piped from stdin'"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**clean_environment(), **server.environment, "PLIMSOLL_DSN": server.dsn},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    with psycopg.connect(server.dsn) as connection:
        found = connection.execute("select count(*), sum(a) from piped").fetchone()
    assert (200_000, 200_000 * 200_001 // 2) == found


def test_an_http_client_is_answered_until_ctrl_c(server: Postgres):
    """The address is printed; SIGTERM ends the server, and nothing of it stays."""
    process = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "pace", CLAIMS, "--listen", "0"],
        env={**clean_environment(), "PLIMSOLL_DSN": server.dsn},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        base = line.split()[-1].partition("/check")[0]
        path = "/check/gh-ost/postgres/claims-pipeline"
        end = time.monotonic() + 20
        while httpx.head(base + path, trust_env=False).status_code != 200 and time.monotonic() < end:
            time.sleep(0.2)
        answer = httpx.get(base + path, trust_env=False)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)

    assert 200 == answer.status_code, answer.text
    assert 130 == process.returncode
    assert "interrupted" in errors


def test_the_allowance_of_a_file_needs_no_server(run: Run):
    done = run("pace", CLAIMS, "--format", "json", PLIMSOLL_DSN="host=127.0.0.1 port=1")

    assert 0 == done.returncode, done.stderr
    assert "measured" == json.loads(done.stdout)["basis"]
