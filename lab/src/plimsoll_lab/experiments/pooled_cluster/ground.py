"""
The servers of the experiment: PostgreSQL × 3 under Patroni, and a Pgpool-II in front, of one build or the other.

Rule 1: the tables are filled at the server that takes writes, before a pooler runs.
Rule 2: whatever was started ends when the stack closes, in the opposite order.
"""

import secrets
import shutil
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from psycopg.conninfo import make_conninfo

from plimsoll.errors import SourceError
from plimsoll.fleet.spark.java import find_java
from plimsoll.units import GIB
from plimsoll_lab.experiments.packages import set_up_packages
from plimsoll_lab.experiments.pooled_cluster import story
from plimsoll_lab.experiments.pooled_cluster.database import DATABASE, ROLE, connection_max_of, create_database
from plimsoll_lab.experiments.pooled_cluster.story import Build, PooledPhase
from plimsoll_lab.experiments.pooled_cluster.system import Fleet, PooledSystem, RunningServices
from plimsoll_lab.experiments.pooled_cluster.unmended import have_unmended
from plimsoll_lab.experiments.room import data_folder
from plimsoll_lab.servers.package import ETCD, PATRONI, PGBOUNCER, PGPOOL, DebianPackage
from plimsoll_lab.servers.patroni import PatroniCluster, ask
from plimsoll_lab.servers.pgbouncer import PgBouncer
from plimsoll_lab.servers.pgpool import Pgpool
from plimsoll_lab.servers.server import HOST
from plimsoll_lab.servers.store import default_store
from plimsoll_lab.sessions.session import PrintLine

# Tables and WAL of three nodes; measured, with a margin of two.
_DATA_BYTES = 3 * GIB
# Each connection is a child of the pooler and a process at every node.
_SERVER_BYTES, _CONNECTION_BYTES = 2 * GIB, 7 * 1024 * 1024
_SPARE_CONNECTIONS = 60
# In the storm all processors are taken for tens of seconds, which must not look like a node that has failed.
_LEADER_TTL_S = 60
_RESTART_S, _POLL_S = 60.0, 0.5
# Few customers, so that concurrent orders of one wait for each other, as with the best customers of a real shop.
_CUSTOMERS, _PRODUCTS, _ORDERS = 120, 5_000, 50_000


class PooledPlan(Struct, frozen=True, kw_only=True):
    """How the experiment is played."""

    phases: tuple[PooledPhase, ...]
    fleet: Fleet
    system: Path
    """Folder of the pooled cluster."""
    unmended: Path
    """Program of a Pgpool-II without the fix."""
    unmended_script: Path | None = None
    """Builds it if it is not there."""
    scale: float = story.SCALE
    nodes: int = 3


class BuiltPgpool(Pgpool):
    """A Pgpool-II of another build, with the configuration of Debian's."""

    def __init__(self, *args: Any, executable: Path | None = None, **options: Any) -> None:
        """Prepare the pooler; `executable` is its program, None for Debian's."""
        super().__init__(*args, **options)
        self._executable = executable

    def _job(self) -> dict[str, Any]:
        job = super()._job()
        if self._executable is not None:
            # The account may not be let into the folder of the build.
            copied = Path(shutil.copy(self._executable, self._directory / "pgpool"))
            self.account.own(copied)
            job["server"][0] = str(copied)
        return job


class PooledGround:
    """What the phases are played on."""

    def __init__(self, plan: PooledPlan, cluster: PatroniCluster, system: PooledSystem, stack: ExitStack) -> None:
        """Keep the servers; the pooler and the services are not started yet."""
        self._plan, self.cluster, self.system = plan, cluster, system
        self._stack = stack
        self.password = secrets.token_urlsafe(18)
        self.pooler: BuiltPgpool | PgBouncer | None = None
        self._is: tuple[Build, float] | None = None
        self._versions: dict[str, str] = {}
        self.services: RunningServices | None = None
        self.leader = cluster.await_leader()

    @property
    def dsn(self) -> str:
        """Return the connection string of the database at the server that takes writes, of a superuser."""
        return make_conninfo(self.leader.address, dbname=DATABASE)

    @property
    def pooler_url(self) -> str:
        """Return the address of the pooler, as `inspect --pooler` takes it; it contains the password."""
        assert self.pooler is not None
        return pooler_address(self.pooler.port, self.password, kind=self.pooler.kind)

    @property
    def versions(self) -> str:
        """Return the servers in words."""
        nodes = len(self.cluster.nodes)
        poolers = "".join(f", {title} {version}" for title, version in self._versions.items())
        return f"{nodes} PostgreSQL under Patroni {self.cluster.version}{poolers}"

    def fill(self) -> None:
        """
        Create role, database and tables, and fill them.

        Raises:
            SourceError: a server refused.
        """
        create_database(self.leader.address, self.password)
        sizes = {"customers": _CUSTOMERS, "products": _PRODUCTS, "orders": _ORDERS}
        self.system.fill(self.leader.port, self.password, **sizes)

    def set_pooler(self, build: Build, life_s: float, servers: int) -> bool:
        """
        Put a pooler in front, in place of the one that runs; return whether it is another one.

        The services lose their connections, and are started again: their pooler's port is another one.

        Args:
            build: which.
            life_s: `connection_life_time` of Pgpool-II, as published.
            servers: most connections of PgBouncer to the server.

        Raises:
            SourceError: the pooler did not start.
        """
        if self._is == (build, life_s):
            return False
        self.end_services()
        if self.pooler is not None:
            self.pooler.stop()
        self.pooler = self._pooler_of(build, life_s, servers)
        self._stack.enter_context(self.pooler)
        self._versions[self.pooler.title] = self.pooler.version
        self._is = (build, life_s)
        return True

    def _pooler_of(self, build: Build, life_s: float, servers: int) -> BuiltPgpool | PgBouncer:
        scale = self._plan.scale
        if build is Build.PGBOUNCER:
            # It sends everything to one server, so to the one that takes writes.
            return PgBouncer(
                [self.leader.port],
                user=ROLE,
                password=self.password,
                database=DATABASE,
                settings=story.bouncer_settings(servers, scale),
            )
        return BuiltPgpool(
            self.cluster.ports,
            user=ROLE,
            password=self.password,
            database=DATABASE,
            settings=story.pooler_settings(life_s, scale),
            executable=self._plan.unmended if build is Build.UNMENDED else None,
        )

    def start_services(self, fleet: Fleet) -> RunningServices:
        """
        Start the services behind the pooler, in place of those that run.

        Raises:
            UsageError: there is no Java or Maven.
            SourceError: they did not start.
        """
        assert self.pooler is not None
        self.end_services()
        self.services = self.system.start(
            fleet, self.pooler.port, self.password, is_preparing=isinstance(self.pooler, BuiltPgpool)
        )
        return self.services

    def end_services(self) -> None:
        """End the services, if they run."""
        if self.services is not None:
            self.services.end()
        self.services = None


def prepare(plan: PooledPlan, print_line: PrintLine, stack: ExitStack) -> PooledGround:
    """
    Start the cluster, and fill its database.

    Args:
        plan: how the experiment is played.
        print_line: called with a sentence before each step.
        stack: ends everything when it closes.

    Raises:
        UsageError: Java, make, the system or a build of the pooler is missing, or there is too little memory.
        SourceError: a server or the services did not start.
    """
    wanted = story.children_of(plan.scale)
    memory = _SERVER_BYTES + wanted * (plan.nodes + 1) * _CONNECTION_BYTES // 2
    data_folder(_DATA_BYTES, memory)
    find_java()
    PooledSystem(plan.system)  # a folder without it is refused before the pooler is built
    if any(phase.build is Build.UNMENDED for phase in plan.phases):
        have_unmended(plan.unmended, plan.unmended_script, print_line)
    system = prepare_system(plan.system, print_line, stack)
    # All that is downloaded comes now, and not after the storm.
    for package in packages_of(plan):
        default_store().get(package)
    cluster = PatroniCluster(
        plan.nodes,
        settings={
            "shared_buffers": "128MB",
            "shared_preload_libraries": "pg_stat_statements",
            # In a storm transactions are open for long. Else a standby ends their sessions when they hold back its
            # replay, and Pgpool-II keeps the leader's half of each.
            "hot_standby_feedback": "on",
            "max_standby_streaming_delay": "-1",
        },
        leader_ttl_s=_LEADER_TTL_S,
    )
    print_line(f"starting {plan.nodes} PostgreSQL under Patroni {cluster.version}")
    stack.enter_context(cluster)
    set_connection_max(cluster, wanted + _SPARE_CONNECTIONS)
    ground = PooledGround(plan, cluster, system, stack)
    print_line(f"filling the database with {_ORDERS:,} simulated orders")
    ground.fill()
    return ground


def packages_of(plan: PooledPlan) -> tuple[DebianPackage, ...]:
    """Return the packages that the servers of a plan run from."""
    is_bounced = any(phase.build is Build.PGBOUNCER for phase in plan.phases)
    return (ETCD, PATRONI, PGPOOL, *((PGBOUNCER,) if is_bounced else ()))


def prepare_system(folder: Path, print_line: PrintLine, stack: ExitStack) -> PooledSystem:
    """
    Return the system in a folder, set up.

    Raises:
        UsageError: Java, make or the system is missing.
        SourceError: it cannot be set up.
    """
    find_java()
    system = stack.enter_context(PooledSystem(folder))
    set_up_packages(folder, "the pooled cluster", print_line)
    return system


def pooler_address(port: int, password: str, *, kind: str = "pgpool") -> str:
    """Return the address of a pooler, as `inspect --pooler` takes it; it contains the password."""
    return f"{kind}://{ROLE}:{quote(password, safe='')}@{HOST}:{port}"


def set_connection_max(cluster: PatroniCluster, count: int) -> None:
    """
    Set max_connections of all nodes, which Patroni keeps in etcd, and start them again.

    Raises:
        SourceError: Patroni refused.
    """
    leader = cluster.await_leader()
    parameters = {"postgresql": {"parameters": {"max_connections": count}}}
    ask(f"{leader.rest_address}/config", "PATCH", parameters)
    # A standby must allow as many connections as the server that it follows.
    for node in sorted(cluster.nodes.values(), key=lambda node: node is leader):
        until = time.monotonic() + _RESTART_S
        # Patroni reads its settings in a loop of seconds; a restart before that changes nothing.
        while connection_max_of(node.address) != count:
            if time.monotonic() > until:
                raise SourceError(
                    f"Patroni did not set max_connections of {node.name} within {_RESTART_S:.0f} s",
                    "Run the experiment again on a machine that is less busy.",
                )
            with suppress(SourceError):
                ask(f"{node.rest_address}/restart", "POST", {})
            time.sleep(_POLL_S)
    cluster.await_leader()
