"""
Seven things that go wrong with connections, each made for real, and a silent twin of each.

JVM services with HikariCP pools, a real Pgpool-II and a real PostgreSQL. The twin has the same servers and services; only
what makes the pattern is changed. All orders are simulated.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.inspect import NO_CEILING, inspect_observation
from plimsoll.app.observing import Observing
from plimsoll_lab.experiments.packages import set_up_packages
from plimsoll_lab.experiments.pooled_cluster.database import DATABASE, ROLE, create_database
from plimsoll_lab.experiments.pooled_cluster.ground import BuiltPgpool, pooler_address
from plimsoll_lab.experiments.pooled_cluster.system import Fleet, PooledSystem, RunningServices
from plimsoll_lab.judges.pooled.cluster import default_system, default_unmended
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.experiment

CONNECTIONS = 120
LIFE_S = 1
# Before what is changed, so that it is seen to change.
BEFORE_S = 2.5
PATIENCE_S = 60.0
CODES = {
    "leak": "ConnectionLeak",
    "storm": "ConnectionStorm",
    "idle in transaction": "IdleInTransaction",
    "aborted": "AbortedTransactions",
    "larger than the server": "PoolsExceedMaxConnections",
    "never let go": "ServersOutliveLifeTime",
    "cut while idle": "ClientsCutWhileIdle",
}
LOUD = ("critical", "warning")


class Case(Struct, frozen=True, kw_only=True):
    """What is started, and what is changed while it is watched."""

    pooler: Mapping[str, str] = {}
    is_unmended: bool = False
    pool: int = 40
    instances: int = 1
    first: Mapping[str, object] = {}
    changes: Mapping[str, object] = {}
    seconds: float = 12.0
    until: int = 0
    """Connections of the services at which it ends, on a machine however slow."""
    leaves: bool = False
    """Whether the clients leave before it is looked at once."""


SLOWLY = {"min_idle": 2, "rate": 5}
LEAVING = Case(
    pooler={
        "serialize_accept": "on",
        "child_life_time": "0",
        "connection_life_time": str(LIFE_S),
        "num_init_children": "30",
    },
    pool=20,
    first={"rate": 5},
    seconds=1.0,
    leaves=True,
)
# A glance may take 1 % of the time, so they are up to seven seconds apart here. In 40 s there are six or more, and about
# twenty leaks: enough that chance, by which a transaction leaks, leaves neither a third without any nor all in one.
LEAKING = Case(pool=60, first=SLOWLY, changes={"leak": 0.03}, seconds=40.0, until=16)
# Each transaction keeps its connection for half a second: many more are wanted than there are.
STORMING = Case(pool=60, first=SLOWLY, changes={"hold_ms": 500, "rate": 60, "queue": 200, "retry": "immediate"})
HOLDING = Case(first=SLOWLY, changes={"hold_ms": 3000, "rate": 10})
ABORTING = Case(first=SLOWLY, changes={"abort": 1.0, "abort_s": 30, "rate": 5})
# 64 children with 4 connections each do not fit into 117; 25 do.
LARGE = Case(pooler={"num_init_children": "64", "max_pool": "4"}, pool=4, first={"rate": 5}, seconds=1.0)
# A pool that keeps more connections than it uses, and one whose connections are all at work.
CUT = Case(pooler={"client_idle_limit": "4"}, pool=12, first={"min_idle": 12, "rate": 0.5}, seconds=14.0)

NAMED = {
    "leak": LEAKING,
    "storm": STORMING,
    "idle in transaction": HOLDING,
    "aborted": ABORTING,
    "larger than the server": LARGE,
    "never let go": replace(LEAVING, is_unmended=True),
    "cut while idle": CUT,
}
SILENT = {
    "leak": replace(LEAKING, changes={"leak": 0.0}, until=0),
    # The pool is as large as the machine needs, and always full.
    "storm": replace(STORMING, pool=6, first={"min_idle": 6, "rate": 5}),
    "idle in transaction": replace(HOLDING, changes={"rate": 10}),
    "aborted": replace(ABORTING, changes={"rate": 5}),
    "larger than the server": replace(LARGE, pooler={"num_init_children": "25", "max_pool": "4"}),
    "never let go": LEAVING,
    "cut while idle": replace(CUT, pool=2, first={"min_idle": 2, "rate": 20}),
}


def until_filled(services: RunningServices, case: Case) -> None:
    """A pool that fills is none of the patterns."""
    until_opened(services, min(int(str(case.first.get("min_idle", case.pool))), case.pool))


def until_opened(services: RunningServices, count: int) -> None:
    """Wait until the pools have so many connections."""
    until = time.monotonic() + PATIENCE_S
    while services.counts.now.connections < count:
        assert time.monotonic() < until, services.counts
        services.check()
        time.sleep(0.2)


def until_left(services: RunningServices) -> None:
    """Wait until all clients but one have left, each with a Terminate message: Pgpool-II keeps a backend only then."""
    services.order(pool=1)
    until = time.monotonic() + PATIENCE_S
    while services.counts.now.connections > 1:
        assert time.monotonic() < until, services.counts
        services.check()
        time.sleep(0.2)
    services.end()


class Ground(Struct, frozen=True):
    """A filled server, and the services' program."""

    server: Postgres
    system: PooledSystem
    password: str

    def found(self, case: Case) -> dict[str, str]:
        """Causes that are named, with their severity."""
        settings = {"num_init_children": "100", "max_pool": "1", **case.pooler}
        pooler = BuiltPgpool(
            [self.server.port],
            user=ROLE,
            password=self.password,
            database=DATABASE,
            settings=settings,
            executable=default_unmended() if case.is_unmended else None,
        )
        fleet = Fleet(services=1, instances=case.instances, pool=case.pool, settings={"queue": 20, **case.first})
        dsn = self.server.dsn.replace("dbname=postgres", f"dbname={DATABASE}")
        said: list[str] = []
        with pooler:
            services = self.system.start(fleet, pooler.port, self.password)
            try:
                until_filled(services, case)
                if case.leaves:
                    until_left(services)
                    time.sleep(LIFE_S + 6)
                address = pooler_address(pooler.port, self.password)
                watching = Observing(dsn, said.append, (address,))
                if not case.leaves:
                    time.sleep(BEFORE_S)
                    services.order(**case.changes)
                time.sleep(case.seconds)
                until_opened(services, case.until)
                observation = watching.end()
            finally:
                services.end()
        assert observation is not None, said
        return {c.code: c.severity for c in inspect_observation(observation, NO_CEILING).causes}


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """One server for all cases."""
    assert default_unmended().exists(), "run .ci/pgpool-unmended"
    password = secrets.token_urlsafe(18)
    with ExitStack() as stack:
        system = stack.enter_context(PooledSystem(default_system()))
        set_up_packages(default_system(), "the pooled cluster", print)
        settings = {"fsync": "off", "max_connections": str(CONNECTIONS)}
        server = stack.enter_context(Postgres(settings))
        create_database(server.dsn, password)
        system.fill(server.port, password, customers=5_000, products=1_000, orders=5_000)
        yield Ground(server, system, password)


@pytest.mark.parametrize("name", NAMED)
def test_a_pattern_is_named(ground: Ground, name: str):
    """As a warning or worse."""
    found = ground.found(NAMED[name])

    assert found.get(CODES[name]) in LOUD, found


@pytest.mark.parametrize("name", SILENT)
def test_its_twin_is_silent(ground: Ground, name: str):
    """Of this pattern and of the six others."""
    found = ground.found(SILENT[name])

    assert set() == {code for code in CODES.values() if found.get(code) in LOUD}, found
