"""Real poolers are asked what they hold, and keep their passwords to themselves."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.pooler_servers import PgBouncer, Pgpool
from plimsoll.errors import AccessDenied, Unreachable
from plimsoll.model.database import PoolerReading
from plimsoll.model.pooler import PooledUser
from plimsoll.sources.pooler.config import read_pooler_config
from plimsoll.sources.pooler.read import config_of, pooler_reader, read_pooler
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import USER, Postgres


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with a database `app`."""
    with Postgres({"fsync": "off"}) as running:
        with psycopg.connect(running.dsn, autocommit=True) as admin:
            admin.execute("create database app")
        yield running


@pytest.fixture(scope="module")
def bouncer(server: Postgres) -> Iterator[PgBouncer]:
    """One server connection for all clients of `app`."""
    with PgBouncer(
        server, "app = @ dbname=app pool_size=1 pool_mode=transaction", settings={"query_wait_timeout": "30"}
    ) as running:
        yield running


@pytest.fixture(scope="module")
def pgpool(server: Postgres) -> Iterator[Pgpool]:
    """Four children with two cached connections each."""
    with Pgpool(server, {"connection_life_time": "60"}) as running:
        yield running


def test_a_client_that_waits_for_a_server_is_seen(bouncer: PgBouncer):
    """The only server is in somebody's transaction: one client has it, one waits."""
    with psycopg.connect(bouncer.dsn("app")) as holder, psycopg.connect(bouncer.dsn("app")) as waiter:
        holder.execute("select 1")
        waiter.pgconn.send_query(b"select 1")
        reading = until(bouncer.url, lambda reading: pool(reading).clients_waiting)
        holder.rollback()
        while waiter.pgconn.get_result() is not None:
            continue

    found = pool(reading)
    assert (1, 1, 1, 0) == (*(found.clients_active, found.clients_waiting), *(found.servers_active, found.servers_idle))
    assert 0 <= found.longest_wait_s < 30
    assert ("transaction", 1) == (found.mode, found.size_max)
    assert 2 == reading.clients
    assert reading.version.count(".") == 2
    assert "30" == config_of(reading).settings["query_wait_timeout"]
    assert ("app", 1, "transaction") == next(
        (one.name, one.size_max, one.mode) for one in reading.databases if one.name == "app"
    )


def test_what_pgpool_keeps_after_a_client_left_is_seen(pgpool: Pgpool):
    """One cached connection to `app` has a client, another has none; our own visit is not counted."""
    with psycopg.connect(pgpool.dsn("app")) as stays:
        stays.execute("select 1")
        with psycopg.connect(pgpool.dsn("app")) as leaves:
            leaves.execute("select 1")
        reading = until(pgpool.url, lambda found: [one for one in found.cached if not one.is_connected])
        server_pid = stays.info.backend_pid

    held, kept = sorted(reading.cached, key=lambda one: not one.is_connected)
    assert (True, False) == (held.is_connected, kept.is_connected)
    assert {("app", "plimsoll", 0)} == {(o.database, o.user, o.backend) for o in reading.cached}
    assert None is held.idle_s
    assert 0 <= kept.idle_s <= kept.age_s < 60
    assert 1 == reading.clients
    assert server_pid > 0
    assert reading.version.startswith("4.")
    assert "60" == reading.settings["connection_life_time"]


def test_a_visit_leaves_nothing_in_the_pooler(pgpool: Pgpool, bouncer: PgBouncer):
    """Pgpool-II keeps no connection for us, and PgBouncer no client."""
    for _ in range(3):
        read_pooler(pgpool.url)
        read_pooler(bouncer.url)
    kept = read_pooler(pgpool.url)

    assert "postgres" not in [one.database for one in kept.cached]
    assert 0 == kept.clients
    assert 0 == until(bouncer.url, lambda found: found.clients == 0).clients


def test_passwords_are_in_no_reading_and_no_message(pgpool: Pgpool, bouncer: PgBouncer):
    """Nor is anything that leads to them: files and queries of users, keys."""
    readings = [read_pooler(pgpool.url), read_pooler(bouncer.url)]
    texts = [str(reading) for reading in readings]
    for pooler in (pgpool, bouncer):
        wrong = pooler.url.replace(":", ":wr0ng", 2).replace(":wr0ng//", "://")
        with pytest.raises((AccessDenied, Unreachable)) as refused:
            read_pooler(wrong)
        texts.append(refused.value.message + refused.value.hint)

    assert not [one for one in texts for secret in (pgpool.password, "wr0ng", "auth_file") if secret in one]


def test_a_pooler_that_is_not_there_is_a_note_in_an_observation(server: Postgres, bouncer: PgBouncer):
    """The one that is there is read at the beginning and at the end; the database all the same."""
    found = observe(
        server.dsn, duration_s=0, poolers=(pooler_reader(bouncer.url), pooler_reader("pgpool://nobody@127.0.0.1:1"))
    )

    assert ["pgbouncer", "pgbouncer"] == [reading.kind for reading in found.poolers]
    assert "Pgpool-II did not answer" in dict(found.missing)["pooler"]
    assert found.last.counters.committed > 0


def test_a_server_is_read_through_its_pooler_as_well(bouncer: PgBouncer, server: Postgres):
    """A question is one transaction and leaves no setting behind, so transaction pooling does not mind."""
    found = observe(bouncer.dsn("app"), duration_s=0)
    with psycopg.connect(bouncer.dsn("app")) as next_one:
        settings = next_one.execute("select current_setting('statement_timeout')").fetchone()

    assert found.last.counters.committed > 0
    assert not {"counters", "relations", "sessions"} & dict(found.missing).keys()
    assert ("0",) == settings
    # Which process serves us is hidden: it may be on any machine.
    assert found.server.vcpu_count is None


def pool(reading: PoolerReading):
    return next(one for one in reading.pools if one.database == "app")


def until(url: str, is_so) -> PoolerReading:
    """The first reading of which it is so."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if is_so(reading := read_pooler(url)):
            return reading
    raise AssertionError(reading)


def test_a_file_is_read_as_its_pooler_reads_it(server: Postgres):
    """Sections go on after an included file, and users have settings of their own: both say the same."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-included-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        (folder / "back.ini").write_text("[databases]\nsmall = dbname=app pool_size=4\n")
        lines = (
            "app = @ dbname=app pool_size=3 max_db_connections=7 min_pool_size=1\n"
            f"[users]\n{USER} = pool_mode=transaction\n%include {folder}/back.ini"
        )
        with PgBouncer(server, lines, settings={"default_pool_size": "5"}) as running:
            reading = read_pooler(running.url)
            written = read_pooler_config(running.folder / "pgbouncer.ini")
            place = f"127.0.0.1:{server.port}"
    finally:
        shutil.rmtree(folder)
    sizes = {d.name: (d.size_max, d.servers_max or 0, d.server) for d in reading.databases}

    assert (3, 7, place) == sizes["app"]
    assert 4 == sizes["small"][0]
    assert [("app", 3, 7, 1, place), ("small", 4, None, None, ":5432"), ("*", *[None] * 3, place)] == [
        (d.name, d.size_max, d.servers_max, d.size_min, d.server) for d in written.databases
    ]
    assert (PooledUser(name=USER, mode="transaction"),) == reading.users == written.users


def test_pgpool_reads_an_included_file_beside_its_own(server: Postgres):
    """What stands there holds, in Pgpool-II and in what is read of its file."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-included-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        (folder / "one.conf").write_text("include = 'two.conf'\n")
        (folder / "two.conf").write_text("client_idle_limit = 77\n")
        with Pgpool(server, {"include": f"{folder}/one.conf"}) as running:
            reading = read_pooler(running.url)
            written = read_pooler_config(running.folder / "pgpool.conf")
    finally:
        shutil.rmtree(folder)

    assert "77" == reading.settings["client_idle_limit"] == written.settings["client_idle_limit"]
    assert "include" not in written.settings
