"""What poolers answer becomes a reading; releases differ in their columns."""

from datetime import datetime

import pytest

from plimsoll.errors import UsageError
from plimsoll.model.pooler import PooledUser
from plimsoll.sources.pooler.console import Answer, address_of
from plimsoll.sources.pooler.pgbouncer import read_pgbouncer
from plimsoll.sources.pooler.pgpool import read_pgpool
from plimsoll.sources.pooler.read import config_of, read_pooler

NOW_S = datetime.fromisoformat("2026-11-20T12:00:00+00:00").timestamp()


class Answers:
    """A console that says what it was given."""

    place = "127.0.0.1:9999"
    server_pid = 77

    def __init__(self, **answers: Answer) -> None:
        self._answers = answers

    def show(self, command: str) -> Answer:
        return self._answers[command.removeprefix("SHOW ").lower()]


def row(child: str, backend_pid: str, **others: str) -> dict[str, str]:
    """A line of SHOW POOL_POOLS: a cached connection without a client."""
    return {
        "pool_pid": child,
        "pool_id": "0",
        "backend_id": "0",
        "database": "app",
        "username": "shop",
        "backend_connection_time": "2026-11-20 20:58:00",
        "client_connection_time": "2026-11-20 20:58:00",
        "client_disconnection_time": "2026-11-20 20:59:30",
        "pool_backendpid": backend_pid,
        "pool_connected": "0",
        **others,
    }


OURS = row("500", "77", client_connection_time="2026-11-20 21:00:00", client_disconnection_time="", pool_connected="1")
STATUS = [
    {"item": "connection_life_time", "value": "60", "description": ""},
    {"item": "sr_check_password", "value": "s3cret", "description": ""},
    {"item": "pool_passwd", "value": "/etc/pool_passwd", "description": ""},
    {"item": "lobj_lock_table", "value": "(null)", "description": ""},
    {"item": "backend status0", "value": "up", "description": ""},
]
VERSION = [{"pool_version": "4.1.3 (karasukiboshi)"}]


def pgpool(*rows: dict[str, str]):
    console = Answers(pool_version=VERSION, pool_status=STATUS, pool_pools=list(rows))
    return read_pgpool(console, NOW_S)  # type: ignore[arg-type]


def test_ages_are_right_though_pgpool_lives_in_another_zone():
    """
    Our own visit came at noon UTC by our clock and at 21:00 by its own; it is left out on every node.
    Passwords, files of passwords and states of nodes are no settings.
    """
    ours_of_second_node = {**OURS, "backend_id": "1", "pool_backendpid": "12"}
    reading = pgpool(OURS, ours_of_second_node, row("501", "78"))
    (kept,) = reading.cached

    assert (120.0, 30.0) == (kept.age_s, kept.idle_s)
    assert 0 == reading.clients
    assert "4.1.3" == reading.version
    assert {"connection_life_time": "60", "lobj_lock_table": ""} == reading.settings


def test_older_releases_have_fewer_columns():
    """`create_time` is the age; how long it was idle they do not say."""
    old = {
        name: value
        for name, value in row("501", "78").items()
        if name != "backend_connection_time" and not name.startswith("client_")
    }
    now = datetime.fromtimestamp(NOW_S).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    (kept,) = pgpool({**old, "create_time": now}).cached

    assert (0.0, None) == (kept.age_s, kept.idle_s)


def test_a_client_of_two_nodes_is_one_client():
    """One child, two connections behind it, and none of them is idle."""
    held = row("502", "80", pool_connected="1")
    reading = pgpool(OURS, held, {**held, "backend_id": "1", "pool_backendpid": "81"})

    assert (1, 2) == (reading.clients, len(reading.cached))
    assert [None, None] == [one.idle_s for one in reading.cached]


def pgbouncer(pools: list[tuple[str, str]], counts: dict[str, str], **answers: Answer):
    given = [{"database": name, "user": user, **counts} for name, user in pools]
    return read_pgbouncer(Answers(pools=given, **answers), NOW_S)  # type: ignore[arg-type]


COUNTS = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "sv_used", "maxwait")


def test_pgbouncer_of_any_release_is_read_by_names_of_columns():
    """A release before 1.8 gives no microseconds of the longest wait; the console itself is no pool."""
    reading = pgbouncer(
        [("app", "shop"), ("pgbouncer", "shop")],
        dict(zip(COUNTS, ("9", "4", "20", "0", "1", "7"), strict=True)),
        version=[{"version": "PgBouncer 1.7.2"}],
        config=[
            {"key": "pool_mode", "value": "session"},
            {"key": "auth_query", "value": "select s3cret"},
            {"key": "max_user_connections", "value": "5"},
        ],
        databases=[
            {"name": "app", "pool_size": "20", "reserve_pool": "3", "force_user": "shop"},
            {"name": "pgbouncer", "pool_size": "2"},
        ],
        lists=[{"list": "used_clients", "items": "14"}],
        users=[{"name": "shop", "pool_mode": ""}],
    )

    (pool,) = reading.pools
    assert (9, 4, 20, 1, 7.0, 20) == (
        *(pool.clients_active, pool.clients_waiting, pool.servers_active, pool.servers_used),
        *(pool.longest_wait_s, pool.size_max),
    )
    assert ("1.7.2", 13) == (reading.version, reading.clients)
    assert {"pool_mode": "session", "max_user_connections": "5"} == reading.settings
    assert [("app", "shop", 3)] == [(d.name, d.user, d.reserve) for d in reading.databases]
    assert () == reading.users


def test_a_user_of_pgbouncer_may_have_a_pool_of_its_own_size():
    """It holds before the database's; the bound of all users is shown with each, and is not its own."""
    app = {"name": "app", "pool_size": "20", "min_pool_size": "2", "host": "d", "port": "5433"}
    reading = pgbouncer(
        [("app", "shop"), ("app", "web")],
        dict.fromkeys(COUNTS, "0"),
        version=[{"version": "PgBouncer 1.25.2"}],
        config=[{"key": "max_user_connections", "value": "50"}],
        databases=[app],
        lists=[],
        users=[
            {"name": "shop", "pool_size": "9", "max_user_connections": "50", "pool_mode": ""},
            {"name": "web", "reserve_pool_size": "1", "max_user_connections": "7"},
            {"name": "plain", "pool_size": "", "max_user_connections": "50"},
        ],
    )

    assert [9, 20] == [pool.size_max for pool in reading.pools]
    assert (PooledUser(name="shop", size_max=9), PooledUser(name="web", reserve=1, servers_max=7)) == reading.users
    assert (2, "d:5433") == (reading.databases[0].size_min, reading.databases[0].server)


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("pgbouncer://me@pool", "postgresql://me@pool:6432/pgbouncer"),
        ("pgbouncer://me@pool:7000/app", "postgresql://me@pool:7000/pgbouncer"),
        ("pgpool://me@pool", "postgresql://me@pool:9999/postgres"),
        ("pgpool://me:p%40ss@pool:1/app", "postgresql://me:p%40ss@pool:1/app"),
    ],
)
def test_an_address_names_port_and_database_where_needed(url: str, dsn: str):
    """PgBouncer's console is always the database `pgbouncer`."""
    assert dsn == address_of(url).dsn


@pytest.mark.parametrize("url", ["odyssey://x:s3cret@y", "pgpool://a:s3cret@b@c", "pgpool://[s3cret"])
def test_an_address_that_cannot_be_read_is_not_repeated(url: str):
    """It may hold a password."""
    with pytest.raises(UsageError) as raised:
        address_of(url)

    assert "s3cret" not in raised.value.message + raised.value.hint


def test_a_configuration_file_is_a_reading_of_settings(tmp_path):
    """Without pools, and without a version, which a file does not say."""
    path = tmp_path / "pgpool.conf"
    path.write_text("num_init_children = 200\nmax_pool = 2\n")
    reading = read_pooler(str(path), now=lambda: 1.0)

    assert ("pgpool", "", 1.0) == (reading.kind, reading.version, reading.time_s)
    assert {"num_init_children": "200", "max_pool": "2"} == reading.settings
    assert None is config_of(reading).version
