"""Reading a real PostgreSQL never hurts it, and what it hides is said."""

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import tuple_row

from live.machine import Run
from plimsoll.errors import AccessDenied, Unreachable
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.sources.postgres.pg_stat import DatabaseCounters, DatabaseProbe, DatabaseSilence, gaps_of
from plimsoll.sources.postgres.session import open_session, opening_of
from plimsoll.sources.postgres.statements.terms import LOADING, RECORDING, SWEEP, Terms
from plimsoll_lab.servers.postgres import Postgres

ROLE = "host=127.0.0.1 port={port} dbname=postgres user={user} password=s3cret"


@pytest.fixture
def admin(postgres: Postgres) -> Iterator[psycopg.Connection]:
    """A superuser's connection."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def plain_role(postgres: Postgres, admin: psycopg.Connection) -> Iterator[str]:
    """The DSN of a role without any right beyond LOGIN."""
    admin.execute("create role plain login password 's3cret'")
    yield ROLE.format(port=postgres.port, user="plain")
    admin.execute("drop role plain")


@pytest.fixture
def probe(postgres: Postgres) -> Iterator[DatabaseProbe]:
    """A connected probe."""
    connected = DatabaseProbe(postgres.dsn, time.monotonic)
    connected.open()
    yield connected
    connected.close()


def test_a_reading_is_a_guarded_read_only_transaction(probe: DatabaseProbe, admin: psycopg.Connection):
    """It can write nothing, waits for nobody, says who it is, and leaves no transaction open."""
    assert isinstance(probe.read(), DatabaseCounters)
    state = admin.execute(
        "select state, backend_xmin from pg_stat_activity where application_name = 'plimsoll'"
    ).fetchall()
    assert [("idle", None)] == state

    connection = probe._connection
    connection.execute(RECORDING.opening(connection.info.server_version))
    names = ("transaction_read_only", "statement_timeout", "lock_timeout")
    values = [next(iter(connection.execute(f"show {n}").fetchone().values())) for n in names]
    assert ["on", "2s", "100ms"] == values
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("create table t ()")
    connection.rollback()
    # The guards end with the transaction, so a pooler hands on a clean connection.
    assert "0" == next(iter(connection.execute("show statement_timeout").fetchone().values()))


def test_a_lock_in_the_way_is_not_waited_for(probe: DatabaseProbe, postgres: Postgres):
    """The reading gives up after a tenth of a second, keeps its connection, and succeeds later."""
    with psycopg.connect(postgres.dsn) as other:
        other.execute("lock table pg_catalog.pg_authid in access exclusive mode")
        answer = probe.read()
        connection = probe._connection
        other.rollback()

    assert isinstance(answer, DatabaseSilence)
    assert "lock timeout" in answer.reason
    assert isinstance(probe.read(), DatabaseCounters)
    assert connection is probe._connection


def test_a_lost_connection_is_made_anew(probe: DatabaseProbe, admin: psycopg.Connection):
    """The reading that met it is a gap, the next one a reading."""
    admin.execute("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'plimsoll'")
    answer = probe.read()

    assert isinstance(answer, DatabaseSilence)
    assert "terminat" in answer.reason
    assert isinstance(probe.read(), DatabaseCounters)


def test_counts_are_those_of_the_server(probe: DatabaseProbe, postgres: Postgres, admin: psycopg.Connection):
    """Connections without ours, sessions at work, waiting ones; transactions and bytes only grow."""
    with psycopg.connect(postgres.dsn) as sleeper:
        before = probe.read()
        sleeper.pgconn.send_query(b"select pg_sleep(30)")
        deadline = time.monotonic() + 10
        while (after := probe.read()).waiting_count == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        sleeper.cancel_safe()
        while sleeper.pgconn.get_result() is not None:
            continue

    assert (2, 0) == (before.connection_count, before.active_count)
    assert (2, 1, 1) == (after.connection_count, after.active_count, after.waiting_count)
    assert after.transaction_count >= before.transaction_count
    assert after.written_bytes >= before.written_bytes > 0


def test_a_role_without_rights_sees_less_and_says_what_it_needs(plain_role: str, admin: psycopg.Connection):
    """Sessions are hidden from it, transactions are not; pg_monitor is enough for all."""
    plain = DatabaseProbe(plain_role, time.monotonic)
    facts = plain.open()
    reading = plain.read()
    admin.execute("grant pg_monitor to plain")
    granted = plain.read()
    monitor_facts = plain.open()
    plain.close()

    assert "GRANT pg_monitor TO plain;" == gaps_of(facts)[0].remedy
    assert None is facts.data_directory
    assert reading.transaction_count > 0
    assert (None, None, None) == (reading.connection_count, reading.active_count, reading.waiting_count)
    assert granted.connection_count is not None
    assert () == gaps_of(monitor_facts)
    assert monitor_facts.data_directory is not None
    assert monitor_facts.is_here


def test_a_refused_password_is_not_repeated(postgres: Postgres, plain_role: str):
    """The error says who was refused and where, never with what."""
    dsn = plain_role.replace("s3cret", "wr0ng-one")
    with pytest.raises(AccessDenied) as raised:
        DatabaseProbe(dsn, time.monotonic).open()

    assert "plain" in raised.value.message
    assert "wr0ng-one" not in raised.value.message + raised.value.hint


def test_no_server_is_unreachable():
    """Port 1 is nobody's."""
    with pytest.raises(Unreachable) as raised:
        DatabaseProbe("host=127.0.0.1 port=1 dbname=x user=y", time.monotonic).open()

    assert "127.0.0.1" in raised.value.message


def test_recording_goes_on_without_the_database(postgres: Postgres, run: Run, tmp_path: Path):
    """Its connection is cut while recording: the host has every step, the database a gap that says why."""
    cut = (
        'sleep 2.2; psql -Xqtc "select pg_terminate_backend(pid) from pg_stat_activity '
        "where application_name = 'plimsoll'\" > cut; sleep 2"
    )
    done = run(
        *("record", "host", "-o", "cut.json", "--", "sh", "-c", cut), **postgres.environment, PLIMSOLL_DSN=postgres.dsn
    )

    assert 0 == done.returncode, done.stderr
    assert "t" == (tmp_path / "cut").read_text().strip()
    snapshot = decode_snapshot((tmp_path / "cut.json").read_bytes())
    steps = snapshot.series[Metric.READ_BYTES_PER_S].time_s.size
    connections = snapshot.series[Metric.CONNECTION_COUNT].time_s.size
    gaps = {gap.metric: gap.reason for gap in snapshot.gaps}
    assert steps >= 4
    assert 0 < connections < steps
    assert "terminat" in gaps["pg_stat views"]


def test_a_database_of_another_machine_is_refused(run: Run):
    """Its transactions beside this host's disk would be two machines in one report."""
    done = run(
        *("record", "host", "--for", "1s"), *("--dsn", "host=203.0.113.7 connect_timeout=2 password=s3cret dbname=x")
    )

    assert 2 == done.returncode
    assert "s3cret" not in done.stderr
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("one", [RECORDING, LOADING, SWEEP], ids=lambda one: one.statements[0])
def test_timeouts_of_the_owner_do_not_end_us(postgres: Postgres, one: Terms):
    """They would end us in the middle, and the cause would look like another; of sessions that idle, ours that last."""
    given = "-c transaction_timeout=30s -c idle_session_timeout=30s -c statement_timeout=30s"
    dsn = psycopg.conninfo.make_conninfo(postgres.dsn, options=given)
    with open_session(dsn, one, tuple_row) as connection:
        if not one.is_of_session:
            connection.execute(opening_of(connection, one))
        names = ("transaction_timeout", "idle_session_timeout")
        values = [connection.execute(f"show {name}").fetchone() for name in names]
        connection.rollback()

    assert [("0",), ("0",) if one.is_of_session else ("30s",)] == values
