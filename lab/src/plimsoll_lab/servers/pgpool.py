"""
Run a throwaway Pgpool-II in front of PostgreSQL servers, from Debian's package in the server store.

Rule 1: its port is on loopback; clients give the password of PostgreSQL. Its sockets are in its own folder.
Rule 2: the rules of `server.py` apply.
"""

from typing import Any

from plimsoll_lab.servers.package import PGPOOL
from plimsoll_lab.servers.server import HOST, free_ports
from plimsoll_lab.servers.stored import PoolerServer


class Pgpool(PoolerServer):
    """
    Run a Pgpool-II of our own while the `with` block lasts; of several servers it finds the one that takes writes,
    again after a failover.

    `settings` are Pgpool-II's own (`pgpool.conf`).
    """

    kind = "pgpool"
    title = PGPOOL.title
    package = PGPOOL
    port_taken = "Address already in use"

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
        return self._with_libraries(
            [
                *(str(self._home / "usr/sbin/pgpool"), "-n", "-f", str(configuration)),
                *("-F", str(self._write("pcp.conf", "")), "-a", str(rules)),
            ]
        )

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
