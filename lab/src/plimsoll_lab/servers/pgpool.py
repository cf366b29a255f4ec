"""
Run a throwaway Pgpool-II in front of PostgreSQL servers, from Debian's package in the server store.

Rule 1: its port is on loopback; clients give the password of PostgreSQL. Its sockets are in its own folder.
Rule 2: the rules of `server.py` apply.
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plimsoll_lab.servers.debian import library_path
from plimsoll_lab.servers.package import PGPOOL
from plimsoll_lab.servers.server import ANSWER_S, HOST, KeptServer, free_ports, version_of
from plimsoll_lab.servers.store import ServerStore, default_store


class Pgpool(KeptServer):
    """
    Run a Pgpool-II of our own while the `with` block lasts.

    `settings` are Pgpool-II's own (`pgpool.conf`).
    """

    kind = "pgpool"
    title = PGPOOL.title
    port_taken = "Address already in use"

    def __init__(
        self,
        ports: Sequence[int],
        *,
        user: str,
        password: str,
        database: str = "postgres",
        settings: Mapping[str, str] | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find Pgpool-II, which is downloaded if it is not there; nothing is started yet.

        Args:
            ports: ports of the PostgreSQL servers on loopback; with several, Pgpool-II finds the one that takes
                writes, again after a failover.
            user: role with which clients and Pgpool-II's own checks connect.
            password: its password, the same on every server.
            database: to which the checks connect.
            settings: settings under Pgpool-II's own names.
            store: where Pgpool-II is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no apt, or root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__(settings or {}, also_remove)
        self._home = (store or default_store()).get(PGPOOL)
        self._ports, self._user, self._password = tuple(ports), user, password
        self._database = database
        self.port = 0

    @property
    def version(self) -> str:
        """Return Debian's version."""
        return version_of(PGPOOL, self._home)

    @property
    def address(self) -> str:
        """Return the URL of the database behind it; it contains the password."""
        return f"postgresql://{self._user}:{self._password}@{HOST}:{self.port}/{self._database}"

    def _job(self) -> dict[str, Any]:
        self.port, control_port = free_ports(2)
        folder = str(self._directory)
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "pcp_listen_addresses": HOST,
            "pcp_port": str(control_port),
            **dict.fromkeys(("socket_dir", "pcp_socket_dir", "wd_ipc_socket_dir"), folder),
            **dict.fromkeys(("logdir", "work_dir"), folder),
            "pid_file_name": f"{folder}/pgpool.pid",
            "enable_pool_hba": "on",
            "num_init_children": "16",
            **(self._cluster() if len(self._ports) > 1 else {"backend_clustering_mode": "raw"}),
            **self._backends(),
            **self._settings,
        }
        configuration = self._write("pgpool.conf", "".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        self._write("pool_passwd", f"{self._user}:TEXT{self._password}\n")
        rules = self._write("pool_hba.conf", f"host all all {HOST}/32 scram-sha-256\n")
        job = self._job_of(
            [
                *(str(self._home / "usr/sbin/pgpool"), "-n", "-f", str(configuration)),
                *("-F", str(self._write("pcp.conf", "")), "-a", str(rules)),
            ],
            first=None,
        )
        job["environment"]["LD_LIBRARY_PATH"] = library_path(self._home)
        return job

    def _backends(self) -> dict[str, str]:
        lines = {}
        for number, port in enumerate(self._ports):
            lines[f"backend_hostname{number}"] = HOST
            lines[f"backend_port{number}"] = str(port)
            lines[f"backend_weight{number}"] = "1"
            lines[f"backend_flag{number}"] = "ALLOW_TO_FAILOVER"
        return lines

    def _cluster(self) -> dict[str, str]:
        """Return the settings that find the writable server, and take back one that was lost."""
        checks = {
            f"{check}_{name}": value
            for check in ("sr_check", "health_check")
            for name, value in (
                ("period", "1"),
                ("user", self._user),
                ("password", self._password),
                ("database", self._database),
            )
        }
        return {
            "backend_clustering_mode": "streaming_replication",
            **checks,
            "health_check_timeout": "3",
            "health_check_max_retries": "0",
            "failover_on_backend_error": "on",
            "auto_failback": "on",
            "auto_failback_interval": "3",
            # The servers elect a new leader within seconds; until then it is searched for.
            "search_primary_node_timeout": "60",
        }

    def _takes_connections(self) -> bool:
        """Return whether a query gets through to PostgreSQL."""
        import psycopg

        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.address, connect_timeout=round(ANSWER_S)) as connection,
        ):
            return connection.execute("select 1").fetchone() == (1,)
        return False
