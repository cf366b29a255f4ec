"""
Run a throwaway PgBouncer in front of a PostgreSQL server, from Debian's package in the server store.

Rule 1: its port is on loopback; clients give the password of PostgreSQL.
Rule 2: the rules of `server.py` apply.
"""

from typing import Any

from plimsoll_lab.servers.package import PGBOUNCER
from plimsoll_lab.servers.server import HOST, free_ports
from plimsoll_lab.servers.stored import PoolerServer


class PgBouncer(PoolerServer):
    """
    Run a PgBouncer of our own while the `with` block lasts.

    `settings` are PgBouncer's own (section `[pgbouncer]` of its file).
    """

    kind = "pgbouncer"
    title = PGBOUNCER.title
    package = PGBOUNCER

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        users = self._write("users.txt", f'"{self._user}" "{self._password}"\n')
        settings = {
            "listen_addr": HOST,
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": str(users),
            "admin_users": self._user,
            # Drivers of Java ask for it when they connect; PgBouncer knows no such parameter.
            "ignore_startup_parameters": "extra_float_digits",
            **self._settings,
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        configuration = self._write(
            "pgbouncer.ini", f"[databases]\n* = host={HOST} port={self._ports[0]}\n[pgbouncer]\n{lines}"
        )
        return self._with_libraries([str(self._home / "usr/sbin/pgbouncer"), str(configuration)])
