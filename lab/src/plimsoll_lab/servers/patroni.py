"""
Run a throwaway PostgreSQL cluster under Patroni, with an etcd of its own.

Rule 1: all ports are on loopback; PostgreSQL asks for a random password, Patroni's REST API for nothing.
Rule 2: a node ends as a whole: with its Patroni its PostgreSQL ends too.
Rule 3: the rules of `server.py` apply to each node and to etcd.
"""

import contextlib
import json
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, Request, build_opener

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.gate.place import disk_folder
from plimsoll_lab.servers.etcd import Etcd
from plimsoll_lab.servers.link import Link
from plimsoll_lab.servers.package import PATRONI
from plimsoll_lab.servers.pip import SYSTEM_PYTHON
from plimsoll_lab.servers.postgres import installed_binaries, reachable_binaries, wheel_binaries
from plimsoll_lab.servers.processes import kill_below
from plimsoll_lab.servers.server import ANSWER_S, HOST, KeptServer, answers, free_ports, keep_ports
from plimsoll_lab.servers.store import ServerStore, default_store

USER = "postgres"
DATABASE = "postgres"

LEADER_TTL_S = 10
"""
Seconds after which another node takes over from a leader that does not renew its key.

Patroni's default is 30 s, which an experiment with failovers would wait for.
"""
_LOOP_S = 2
# A failover takes the lifetime of the leader's key and a loop; this is many times that, for a busy machine.
_LEADER_S = 120.0
_POLL_S = 0.1
# A switchover is answered when it is over.
_ANSWER_S = 60.0
# A proxy of the environment cannot reach our loopback.
_DIRECT = build_opener(ProxyHandler({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSetup:
    """What the nodes of a cluster share."""

    home: Path
    """Folder of Patroni in the store."""
    binaries: Path
    """PostgreSQL's programs."""
    is_wheel: bool
    etcd_ports: Mapping[str, int]
    """Where each node reaches etcd, by its name: a link that can be cut."""
    folder: Path
    """Where each node has its data, which stays while the cluster lasts."""
    password: str
    settings: Mapping[str, str]
    """Settings of PostgreSQL."""
    leader_ttl_s: int = LEADER_TTL_S
    """Seconds after which another node takes over from a leader that does not renew its key, ≥ 10."""

    @property
    def retry_s(self) -> int:
        """Return for how long Patroni tries to reach etcd: its rule is loop_wait + 2 × retry_timeout ≤ ttl."""
        return (self.leader_ttl_s - _LOOP_S) // 2


class PatroniNode(KeptServer):
    """Run one node: a Patroni, which runs a PostgreSQL."""

    kind = "patroni"
    title = PATRONI.title

    def __init__(self, name: str, setup: ClusterSetup) -> None:
        """Prepare a node; nothing is started yet."""
        super().__init__(setup.settings, (setup.folder,))
        self.name = name
        self._setup = setup
        self.port, self.rest_port = 0, 0
        self._kept_ports: list[socket.socket] = []

    @property
    def version(self) -> str:
        """Return Debian's version of Patroni."""
        return PATRONI.version_in(self._setup.home)

    @property
    def data_directory(self) -> Path:
        """Return the folder of its PostgreSQL's data."""
        return self._setup.folder / self.name

    @property
    def address(self) -> str:
        """Return the URL of its database; it contains the password."""
        return f"postgresql://{USER}:{self._setup.password}@{HOST}:{self.port}/{DATABASE}"

    @property
    def rest_address(self) -> str:
        """Return the URL of its Patroni's REST API."""
        return f"http://{HOST}:{self.rest_port}"

    def takes_writes(self) -> bool:
        """Return whether its PostgreSQL accepts a connection and is no standby."""
        import psycopg

        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.address, connect_timeout=round(ANSWER_S)) as connection,
        ):
            return connection.execute("select pg_is_in_recovery()").fetchone() == (False,)
        return False

    def kill(self) -> None:
        """End its Patroni, its PostgreSQL and every process of both at once, as if the machine had lost its power."""
        assert self._keeper is not None
        kill_below(self._keeper.pid)
        self._keeper.wait()
        self.stop()
        self._kept_ports = keep_ports((self.port, self.rest_port))

    def _reason(self, log: str) -> str:
        # Its PostgreSQL writes to the same log, and knows more.
        fatal = [line.partition("FATAL: ")[2].strip() for line in log.splitlines()]
        return next(filter(None, reversed(fatal)), super()._reason(log))

    def _job(self) -> dict[str, Any]:
        # A machine that comes back has its address; poolers and services know it.
        if not self.data_directory.exists():
            self.port, self.rest_port = free_ports(2)
        while self._kept_ports:
            self._kept_ports.pop().close()
        setup = self._setup
        binaries = reachable_binaries(setup.binaries, self.account, self._directory, is_wheel=setup.is_wheel)
        configuration = self._write("patroni.yml", json.dumps(self._configuration(binaries)))
        job = self._job_of(
            [str(SYSTEM_PYTHON), str(setup.home / "usr/bin/patroni"), str(configuration)],
            first=None,
            endings=["SIGTERM", "SIGKILL"],
        )
        job["environment"] |= {
            "PYTHONPATH": str(setup.home / "usr/lib/python3/dist-packages"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return job

    def _configuration(self, binaries: Path) -> dict[str, Any]:
        accounts = {
            role: {"username": name, "password": self._setup.password}
            for role, name in (("superuser", USER), ("replication", "replicator"))
        }
        rule = f"{HOST}/32 scram-sha-256"
        return {
            "scope": "lab",
            "name": self.name,
            "restapi": {"listen": f"{HOST}:{self.rest_port}", "connect_address": f"{HOST}:{self.rest_port}"},
            # As a proxy: Patroni would otherwise ask etcd for its own address, and go past the link.
            "etcd3": {"hosts": [f"{HOST}:{self._setup.etcd_ports[self.name]}"], "use_proxies": True},
            "bootstrap": {
                "dcs": {
                    "ttl": self._setup.leader_ttl_s,
                    "loop_wait": _LOOP_S,
                    "retry_timeout": self._setup.retry_s,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "scram-sha-256"}],
            },
            "postgresql": {
                "listen": f"{HOST}:{self.port}",
                "connect_address": f"{HOST}:{self.port}",
                "data_dir": str(self.data_directory),
                "bin_dir": str(binaries),
                "pgpass": str(self._directory / "pgpass"),
                "authentication": accounts,
                # Not spread over minutes, so that another node can copy at once.
                "basebackup": [{"checkpoint": "fast"}],
                # A socket's path can be too long (unix(7)), and loopback with a password is enough.
                "parameters": {"unix_socket_directories": "", **self._settings},
                "pg_hba": [f"host all all {rule}", f"host replication replicator {rule}"],
            },
        }

    def _takes_connections(self) -> bool:
        """Return whether its PostgreSQL runs, as leader or behind one."""
        return answers(f"{self.rest_address}/health")


class PatroniCluster:
    """Run an etcd and PostgreSQL nodes under Patroni while the `with` block lasts."""

    def __init__(
        self,
        count: int = 3,
        *,
        settings: Mapping[str, str] | None = None,
        leader_ttl_s: int = LEADER_TTL_S,
        binaries: Path | None = None,
        store: ServerStore | None = None,
    ) -> None:
        """
        Find the programs, which are downloaded if they are not there; nothing is started yet.

        Args:
            count: number of nodes, ≥ 1.
            settings: settings of PostgreSQL on every node, under its own names.
            leader_ttl_s: seconds after which another node takes over from a leader that does not renew its key, ≥ 10.
            binaries: folder with the programs of a PostgreSQL; None for the wheel's.
            store: where etcd and Patroni are kept (default: this account's store).

        Raises:
            UsageError: there is no apt, no Python of the system or no PostgreSQL, or root has no other account.
            SourceError: a download failed, or a file has changed since.
        """
        store = store or default_store()
        if not SYSTEM_PYTHON.exists():
            raise UsageError(
                f"there is no '{SYSTEM_PYTHON}', which Debian's Patroni needs", "Run 'sudo apt-get install -y python3'."
            )
        self.etcd = Etcd(store=store)
        self._home = store.get(PATRONI)
        self._binaries = wheel_binaries() if binaries is None else installed_binaries(binaries)
        self._is_wheel = binaries is None
        self._settings = dict(settings or {})
        self._leader_ttl_s = leader_ttl_s
        self._names = [f"node{number}" for number in range(1, count + 1)]
        self.nodes: dict[str, PatroniNode] = {}
        self._links: dict[str, Link] = {}
        self.user, self.password = USER, secrets.token_urlsafe(18)
        self._stack = ExitStack()

    @property
    def version(self) -> str:
        """Return Debian's version of Patroni."""
        return PATRONI.version_in(self._home)

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the ports of the nodes' PostgreSQL, as a pooler in front of them wants them."""
        return tuple(node.port for node in self.nodes.values())

    @property
    def address(self) -> str:
        """Return one URL of the database for all nodes: clients find the leader; it contains the password."""
        hosts = ",".join(f"{HOST}:{port}" for port in self.ports)
        return f"postgresql://{USER}:{self.password}@{hosts}/{DATABASE}?target_session_attrs=read-write"

    def __enter__(self) -> Self:
        """
        Start etcd and the nodes, and wait until each has a PostgreSQL that runs and one of them takes writes.

        Raises:
            UsageError: the account cannot run PostgreSQL's programs.
            SourceError: one of them did not start; the message has the reason and where its log is kept.
        """
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop the nodes and etcd, and remove the data."""
        self._stack.close()

    def _start(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="plimsoll-cluster-", dir=disk_folder()))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self.etcd.account.own(folder)
        self._stack.enter_context(self.etcd)
        for name in self._names:
            self._links[name] = self._stack.enter_context(Link(self.etcd.port))
        setup = ClusterSetup(
            home=self._home,
            binaries=self._binaries,
            is_wheel=self._is_wheel,
            etcd_ports={name: link.port for name, link in self._links.items()},
            folder=folder,
            password=self.password,
            settings=self._settings,
            leader_ttl_s=self._leader_ttl_s,
        )
        self.nodes = {name: PatroniNode(name, setup) for name in self._names}
        # At the same time: one creates the database, and the others wait for it and copy.
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            for started in [pool.submit(self.start_again, node) for node in self.nodes.values()]:
                started.result()
        self.await_leader()

    def leader(self) -> PatroniNode | None:
        """Return the node that takes writes; None while there is none."""
        for node in self.nodes.values():
            # A node that was elected takes no writes before it has replayed all that it received.
            if answers(f"{node.rest_address}/primary") and node.takes_writes():
                return node
        return None

    def await_leader(self, *, patience_s: float = _LEADER_S) -> PatroniNode:
        """
        Return the node that takes writes, after a failover if one is due.

        Raises:
            SourceError: there was none within the time.
        """
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            if (found := self.leader()) is not None:
                return found
            time.sleep(_POLL_S)
        raise SourceError(
            f"no node of the cluster became its leader within {patience_s:.0f} s",
            "Check the free space and the memory of this machine.",
        )

    def start_again(self, node: PatroniNode) -> None:
        """
        Start a node that was killed, with its data.

        Raises:
            SourceError: it did not start; the message has the reason and where its log is kept.
        """
        self._stack.enter_context(node)

    def cut_off(self, node: PatroniNode) -> None:
        """Take etcd away from a node, as a partition of the network does; its clients still reach it."""
        self._links[node.name].cut()

    def reconnect(self, node: PatroniNode) -> None:
        """End the partition of a node."""
        self._links[node.name].mend()

    def switch_over(self, leader: PatroniNode) -> None:
        """
        Let the leader hand over to a standby that Patroni chooses.

        Raises:
            SourceError: Patroni refused, for example because no standby is ready.
        """
        ask(f"{leader.rest_address}/switchover", "POST", {"leader": leader.name})

    def change(self, settings: Mapping[str, object]) -> None:
        """
        Change the settings that Patroni keeps in etcd, for all nodes.

        Raises:
            SourceError: Patroni refused.
        """
        ask(f"{self.await_leader().rest_address}/config", "PATCH", settings)


def ask(url: str, method: str, value: object) -> None:
    """
    Ask the REST API of a Patroni on loopback to do something.

    Raises:
        SourceError: it refused.
    """
    request = Request(url, json.dumps(value).encode(), method=method)  # noqa: S310 - Patroni on loopback
    try:
        with _DIRECT.open(request, timeout=_ANSWER_S):
            return
    except OSError as error:
        raise SourceError(f"Patroni refused a change: {error}", "Run the command again.") from error
