"""Poolers as they were seen, in simulated readings: each finding where it must and must not be."""

import pytest
from msgspec.structs import replace

import databases as db
from plimsoll.causes.poolers.poolers import causes, config_of, summaries
from plimsoll.model.cause import Cause
from plimsoll.model.database import CachedServer, Observation, PoolerReading, PoolRow
from plimsoll.model.pooler import PooledDatabase

SERIALIZED = {
    "serialize_accept": "1",
    "child_life_time": "0",
    "connection_life_time": "60",
    "num_init_children": "32",
    "max_pool": "2",
}
# As a pooler tells it: every setting, most of them as by default.
PLAIN = {
    "num_init_children": "32",
    "max_pool": "4",
    "child_life_time": "300",
    "connection_life_time": "0",
    "serialize_accept": "0",
    "connection_cache": "1",
    "reset_query_list": "ABORT; DISCARD ALL",
}


def row(**changes) -> PoolRow:
    plain = PoolRow(
        database="orders",
        user="app",
        clients_active=5,
        clients_waiting=0,
        servers_active=5,
        servers_idle=1,
        longest_wait_s=0.0,
        mode="transaction",
        size_max=20,
    )
    return replace(plain, **changes)


def pgbouncer(*moments: PoolRow, **changes) -> list[PoolerReading]:
    return [
        PoolerReading(
            kind="pgbouncer",
            place="127.0.0.1:6432",
            version="1.25.0",
            time_s=db.START_S + 5 * n,
            settings={"pool_mode": "session", "default_pool_size": "20"} | changes,
            pools=(pool,),
        )
        for n, pool in enumerate(moments)
    ]


def cached(child: int, idle_s: float | None, **changes) -> CachedServer:
    plain = CachedServer(
        child_pid=child,
        database="orders",
        user="app",
        backend=0,
        age_s=None if idle_s is None else idle_s + 10,
        idle_s=idle_s,
        is_connected=idle_s is None,
    )
    return replace(plain, **changes)


def pgpool(*moments: list[CachedServer], version="4.1.3", every_s=5.0, clients=None, **changes) -> list[PoolerReading]:
    return [
        PoolerReading(
            kind="pgpool",
            place="127.0.0.1:9999",
            version=version,
            time_s=db.START_S + every_s * n,
            settings=SERIALIZED | changes,
            cached=tuple(servers),
            clients=clients,
        )
        for n, servers in enumerate(moments)
    ]


def found(readings: list[PoolerReading], sessions=(), **result) -> dict[str, Cause]:
    server = db.server(**({"connection_max": 500} | result))
    observation: Observation = db.observation(
        db.reading(),
        db.reading(db.START_S + 60),
        server,
        glances=(db.glance(0, sessions=tuple(sessions)),) if sessions else (),
        poolers=tuple(readings),
    )
    return {cause.code: cause for cause in causes(observation, db.budget())}


def test_a_pooler_at_ease_gives_nothing():
    """Default settings, each read explicitly, and nobody waiting."""
    quiet = pgbouncer(row(mode="session"), row(mode="session"), server_reset_query="DISCARD ALL")
    still = [replace(r, settings=PLAIN) for r in pgpool([cached(1, None)], version="4.3.5")]

    assert found(quiet) == {}
    assert found(still, connection_max=1000) == {}


def test_every_pooler_that_was_read_is_reported():
    """A note names the peak of each reading, so that no finding differs from no reading; a file is named as one."""
    file = PoolerReading(kind="pgpool", place="pgpool.conf", version="", time_s=db.START_S)
    readings = [
        *(replace(r, clients=n) for n, r in enumerate(pgbouncer(row(), row(clients_waiting=3)))),
        *pgpool([cached(1, None), cached(2, 5.0)], clients=2),
        file,
    ]
    plain = db.observation(db.reading(), db.reading(db.START_S + 60))

    assert [
        "PgBouncer 1.25.0 at 127.0.0.1:6432 was read 2 times; at most 1 client, 3 waiting, 6 server connections open",
        f"Pgpool-II 4.1.3 at {readings[2].place} was read once; at most 2 clients, 2 backends cached",
        "Pgpool-II at pgpool.conf was read from its file: only its settings are known, not its activity",
    ] == summaries(replace(plain, poolers=tuple(readings)))
    assert [] == summaries(plain)


def test_settings_as_by_default_are_not_called_set():
    """What the pooler tells and nobody changed is left out; 0 and off are the same."""
    reading = replace(pgpool([])[0], settings=PLAIN | {"max_pool": "1"})

    assert config_of(reading).settings == {"max_pool": "1"}


FULL = row(servers_active=20, servers_idle=0, clients_waiting=7, longest_wait_s=1.5)
MOMENT = row(servers_active=20, clients_waiting=1, longest_wait_s=0.2)
UNUSED = row(servers_active=3, servers_idle=5, servers_used=4, mode="session")
HELD = row(servers_active=10, servers_idle=0, mode="session", clients_waiting=0)
OVER = [cached(n, 100.0) for n in range(20)]
ALONE = replace(UNUSED, servers_active=1, servers_used=0)
BUSY = replace(UNUSED, servers_active=12, servers_idle=0, servers_used=0)
IDLE, ACTIVE = ([db.session(pid=n, state=state) for n in range(10)] for state in ("idle", "active"))
SUMMED = tuple(PooledDatabase(name=name, size_max=60) for name in "ab")
TWO_DATABASES = [replace(reading, databases=SUMMED) for reading in pgbouncer(row(mode="session"))]


@pytest.mark.parametrize(
    ("readings", "known", "code", "severity"),
    [
        # All twenty servers taken and a second in the queue; ten seconds are critical.
        (pgbouncer(row(), FULL, row()), {}, "PoolSaturated", "warning"),
        (pgbouncer(row(), replace(FULL, longest_wait_s=12.0), row()), {}, "PoolSaturated", "critical"),
        # With query_wait_timeout = 4 clients are thrown out soon after two seconds.
        (pgbouncer(replace(FULL, longest_wait_s=2.0), query_wait_timeout="4"), {}, "PoolSaturated", "critical"),
        # A wait in one of three readings, below a second, is chance.
        (pgbouncer(row(), MOMENT, row()), {}, "PoolSaturated", None),
        (pgbouncer(row(), MOMENT, row()), {}, "PoolerClientsWaiting", None),
        # Nine of twelve idle in every reading; not where one reading needed them. Four are what any pool keeps.
        (pgbouncer(UNUSED, UNUSED), {}, "PoolerServersWasted", "note"),
        (pgbouncer(UNUSED, BUSY), {}, "PoolerServersWasted", None),
        (pgbouncer(ALONE, ALONE), {}, "PoolerServersWasted", "note"),
        (pgbouncer(*[replace(ALONE, servers_idle=4)] * 2), {}, "PoolerServersWasted", None),
        # Ten servers have a client and all ten sessions are idle: transaction mode would share them.
        (pgbouncer(HELD), {"sessions": IDLE}, "ServersHeldByIdleClients", "note"),
        (pgbouncer(HELD), {"sessions": ACTIVE}, "ServersHeldByIdleClients", None),
        # 20 idle for 100 s where 60 s is the end; of 497 that is a warning, of 77 critical.
        (pgpool(OVER), {}, "ServersOutliveLifeTime", "warning"),
        (pgpool(OVER), {"connection_max": 80}, "ServersOutliveLifeTime", "critical"),
        # The defect of the version is reported once: by the settings, where nothing has outlived its time yet.
        (pgpool(OVER), {}, "LifeTimeIgnoredUnderSerializeAccept", None),
        (pgpool([cached(1, 10.0)]), {}, "LifeTimeIgnoredUnderSerializeAccept", "critical"),
        (pgpool([cached(1, 10.0)]), {}, "ServersOutliveLifeTime", None),
        # Within the spare seconds, of a child that is busy, or without a life time.
        (pgpool([cached(1, 74.0)]), {}, "ServersOutliveLifeTime", None),
        (pgpool([cached(2, None), cached(2, 500.0, user="other")]), {}, "ServersOutliveLifeTime", None),
        (pgpool([cached(1, 500.0)], connection_life_time="0"), {}, "ServersOutliveLifeTime", None),
        # 64 of 57 usable connections; PgBouncer's databases are summed.
        (pgpool([]), {"connection_max": 60}, "PoolsExceedMaxConnections", "critical"),
        (pgpool([]), {}, "PoolsExceedMaxConnections", None),
        (TWO_DATABASES, {"connection_max": 100}, "PoolsExceedMaxConnections", "critical"),
        # Of 32 children.
        (pgpool([], clients=28), {}, "ChildrenTaken", None),
        (pgpool([], clients=29), {}, "ChildrenTaken", "warning"),
        (pgpool([], clients=32), {}, "ChildrenTaken", "critical"),
    ],
)
def test_what_was_read_is_judged(readings: list[PoolerReading], known: dict, code: str, severity: str | None):
    """Each finding where it must be, as grave as it is, and not a step before."""
    cause = found(readings, **known).get(code)

    assert severity == (cause.severity if cause else None)


def test_a_wait_is_reported_with_its_pool_and_length():
    """And how many servers nobody used."""
    saturated = found(pgbouncer(row(), FULL, row()))["PoolSaturated"]

    assert saturated.title == "7 clients of pool orders for app wait for a server connection, for 1.5 s at most"
    assert "9 of 12" in found(pgbouncer(UNUSED, UNUSED))["PoolerServersWasted"].title


def test_clients_that_wait_for_a_server_that_is_refused_are_reported():
    """Three of twenty servers and clients waiting: the database behind it is the reason."""
    poor = row(servers_active=3, servers_idle=0, clients_waiting=4, longest_wait_s=5.0)
    cause = found(pgbouncer(poor, poor))["PoolerClientsWaiting"]

    assert "The pool has 3 of 20 server connections" in cause.text


NODES = {"backend_hostname0": "a", "backend_hostname1": "b", "serialize_accept": "0"}


@pytest.mark.parametrize(
    ("version", "settings", "words"),
    [
        # A release that should have the fix but still shows the defect is reported: behaviour outweighs the version.
        ("4.3.5", {}, "should have the fix of 2020-09-17, but"),
        # Without the lock, with two nodes and a release before the fix of August 2020.
        ("4.1.2", NODES, "only while node 0 is the primary"),
        ("4.3.5", NODES, "no known defect explains it"),
    ],
)
def test_what_explains_a_backend_that_outlives_its_time_is_told(version: str, settings: dict[str, str], words: str):
    """A defect of the release, or none that is known."""
    assert words in found(pgpool([cached(1, 100.0)], version=version, **settings))["ServersOutliveLifeTime"].text


def test_a_pooler_that_does_not_say_how_long_is_watched():
    """The same connection, idle in all readings over 80 s, has outlived 60 s."""
    silent = [cached(1, None, is_connected=False, age_s=30.0 + 20 * n) for n in range(5)]
    cause = found(pgpool(*([server] for server in silent), every_s=20.0))
    anew = [cached(1, None, is_connected=False, age_s=5.0) for _ in range(5)]

    assert "idle for up to 1 min" in cause["ServersOutliveLifeTime"].title
    assert "ServersOutliveLifeTime" not in found(pgpool(*([server] for server in anew), every_s=20.0))


def test_what_becomes_of_the_next_client_hangs_on_reserved_connections():
    """It waits, or is refused."""
    full, refusing = (
        found(pgpool([], clients=32, **known))["ChildrenTaken"] for known in ({}, {"reserved_connections": "1"})
    )

    assert "kernel's accept queue" in full.text
    assert "Sorry, too many clients already" in refusing.text


@pytest.mark.parametrize(("life_s", "is_advised"), [("0", True), ("60", True), ("30", False)])
def test_a_life_time_that_is_short_is_not_advised_again(life_s: str, is_advised: bool):
    """Six of eight are without clients; thirty seconds are advised where connections live longer, or for ever."""
    mixed = [cached(n, 5.0) for n in range(6)] + [cached(n, None) for n in (10, 11)]
    cause = found(pgpool(mixed, connection_life_time=life_s))["PoolerServersWasted"]

    assert cause.title.startswith("6 of 8 cached backends")
    assert is_advised == ("connection_life_time = 30" in cause.remedies[0].commands)
    assert "PoolerServersWasted" not in found(pgpool(mixed[4:], connection_life_time=life_s))
