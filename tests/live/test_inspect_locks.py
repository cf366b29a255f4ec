"""Sessions that wait for each other: the one at the root is named, and nobody is told to buy a machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psycopg
import pytest

from live.installed import VERSIONS, postgres_binaries
from live.machine import Run
from live.pooler_servers import PgBouncer
from patience import until
from plimsoll.causes.connections import sessions as seen
from plimsoll.causes.inspect import inspect
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.parts import ReadingPart
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.refusal_code import FULL, code_of_refusal
from plimsoll_lab.servers.postgres import Postgres

WAITING = 12
SESSIONS = frozenset({ReadingPart.SESSIONS})


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server that takes 30 connections, three of them reserved, with one account."""
    settings = {"fsync": "off", "max_connections": "30", "max_prepared_transactions": "2"}
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create table account (id int primary key, balance int)")
            connection.execute("insert into account values (1, 0), (2, 0)")
        yield running


UPDATE = "update account set balance = balance + 41 where id = 1"


@contextmanager
def waiting(server: Postgres, count: int) -> Iterator[None]:
    """So many sessions that want the first row, until the block ends; they were given a moment to queue."""
    connections: list[psycopg.Connection] = []

    def want(connection: psycopg.Connection) -> None:
        try:
            connection.execute(UPDATE)
        except psycopg.Error:
            return

    with ExitStack() as stack:
        for _ in range(count):
            dsn = f"{server.dsn} application_name=web"
            connections.append(stack.enter_context(psycopg.connect(dsn, autocommit=True)))
        workers = [threading.Thread(target=want, args=(one,)) for one in connections]
        for worker in workers:
            worker.start()
        try:
            with psycopg.connect(server.dsn, autocommit=True) as admin:
                asked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
                while admin.execute(asked).fetchone()[0] < count:
                    time.sleep(0.02)
            time.sleep(1.1)
            yield
        finally:
            for one in connections:
                one.cancel_safe()
            for worker in workers:
                worker.join()


def blocked(observation: Observation) -> Cause:
    (found,) = [c for c in inspect(observation).causes if c.code == "BlockedSessions"]
    return found


def test_the_one_that_all_wait_for_is_named(server: Postgres):
    """
    By process, user, application, what it ran last without its values, and since when; who waits behind
    whom; and it is the headline, not a pool that is too large.
    """
    with psycopg.connect(f"{server.dsn} application_name=nightly-migration") as migration:
        pid = migration.info.backend_pid
        migration.execute("update account set balance = 17 where id = 1 /* 'secret' */")
        with waiting(server, WAITING):
            observation = observe(server.dsn, duration_s=0.5, every_s=0.2)
        migration.rollback()
    found = blocked(observation)
    every = " ".join(piece.text for piece in found.evidence)

    assert found == inspect(observation).causes[0]
    assert "critical" == found.severity
    assert f"{WAITING} sessions wait" in found.title
    assert f"process {pid} of plimsoll 'nightly-migration' from 127.0.0.1" in found.title
    assert "idle in transaction for" in every
    assert "its transaction is open for" in every
    assert "update account set balance = ? where id = ?" in every
    assert "secret" not in every
    assert f"process {pid} blocks" in every
    commands = [c for remedy in found.remedies for c in remedy.commands]
    assert f"SELECT pg_terminate_backend({pid});" in commands
    assert "Check what it does first" in " ".join(remedy.text for remedy in found.remedies)
    assert "MoreActiveThanRuns" not in {cause.code for cause in inspect(observation).causes}


def test_who_waits_for_a_lock_is_not_at_work(server: Postgres):
    """Twelve waiting sessions load no processor: no pool is sized by them."""
    with psycopg.connect(server.dsn) as holder:
        holder.execute(UPDATE)
        with waiting(server, WAITING):
            observation = observe(server.dsn, duration_s=0.5, every_s=0.2, wants=SESSIONS)
        holder.rollback()

    assert WAITING == max(len(seen.in_state(g, seen.ACTIVE)) for g in observation.glances)
    assert (seen.busy_between(observation.glances) or 0.0) < 1.0


def test_a_prepared_transaction_that_holds_the_lock_is_named(server: Postgres):
    """It has no process: the way to end it is another one."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"begin; {UPDATE}; prepare transaction 'orphan'")
        try:
            with waiting(server, 2):
                reading = blocked(observe(server.dsn, duration_s=0.5, every_s=0.2))
        finally:
            connection.execute("rollback prepared 'orphan'")

    assert "a prepared transaction" in reading.title
    assert "ROLLBACK PREPARED '<gid>';" in reading.remedies[0].commands


def test_nobody_who_waits_nothing_to_say(server: Postgres):
    """The question is not even asked."""
    observation = observe(server.dsn, duration_s=0.3, every_s=0.1)

    assert not [cause for cause in inspect(observation).causes if cause.kind == "locks"]
    assert not any(glance.lock_waits for glance in observation.glances)


def test_a_full_server_is_the_diagnosis(server: Postgres, run: Run, tmp_path):
    """Status 1, the words of the server, how to get in; for a plain role at the reserved slots, too."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop role if exists plain")
        admin.execute("create role plain login password 's3cret'")
        place = f"host=127.0.0.1 port={server.port} dbname=postgres"
        plain = f"{place} user=plain password=s3cret"
        with ExitStack() as stack:
            for _ in range(26):
                stack.enter_context(psycopg.connect(plain))
            assert FULL == code_of_refusal(plain, patience_s=10.0)
            done = run("inspect", "--for", "30s", PLIMSOLL_DSN=plain)
        refused = run("pool-size", "--services", "1", "--dsn", plain, "--for", "1s")
    flat = " ".join(done.stdout.split())

    assert 1 == done.returncode, done.stdout + done.stderr
    assert flat.startswith(f"127.0.0.1:{server.port}/postgres is full")
    assert "superuser_reserved_connections" in flat
    assert "reserved_connections for roles with pg_use_reserved_connections" in flat
    assert "rds_superuser" in flat
    assert "host and port" not in flat
    assert "s3cret" not in done.stdout + done.stderr
    assert "takes no more connections" in refused.stderr or refused.returncode in {0, 1}


def test_the_pooler_of_a_full_server_is_read_alone(server: Postgres, run: Run):
    """Its console answers: how many clients it has stands beside the refusal."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop role if exists crowd")
        admin.execute("create role crowd login password 's3cret'")
        place = f"host=127.0.0.1 port={server.port} dbname=postgres"
        dsn = f"{place} user=crowd password=s3cret"
        with PgBouncer(server) as pooler, ExitStack() as stack:
            with suppress(psycopg.OperationalError):
                for _ in range(30):
                    stack.enter_context(psycopg.connect(dsn))
            done = run("inspect", "--for", "1s", "--pooler", pooler.url, PLIMSOLL_DSN=dsn)
    flat = " ".join(done.stdout.split())

    assert 1 == done.returncode, done.stdout + done.stderr
    assert "is full" in flat
    assert "PgBouncer" in flat
    assert "was read 2 times" in flat


def test_a_role_at_its_own_limit_is_told_so(server: Postgres, run: Run):
    """The server has room, the role has not."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop role if exists narrow")
        admin.execute("create role narrow login password 's3cret' connection limit 1")
        dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=narrow password=s3cret"
        with psycopg.connect(dsn):
            done = run("inspect", "--for", "1s", PLIMSOLL_DSN=dsn)
            assert FULL == code_of_refusal(dsn, patience_s=10.0)
        # Its process ends after the client has gone.
        assert until(lambda: not code_of_refusal(dsn, patience_s=10.0))

    assert 1 == done.returncode, done.stdout + done.stderr
    assert "the connection limit of the role or database is reached" in " ".join(done.stdout.split())
