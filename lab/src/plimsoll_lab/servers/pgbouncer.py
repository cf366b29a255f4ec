"""
Run a throwaway PgBouncer in front of a PostgreSQL server, from Debian's package in the server store.

Rule 1: its port is on loopback; clients give the password of PostgreSQL.
Rule 2: the rules of `server.py` apply.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plimsoll_lab.servers.debian import library_path
from plimsoll_lab.servers.package import PGBOUNCER
from plimsoll_lab.servers.server import ANSWER_S, HOST, KeptServer, free_ports, version_of
from plimsoll_lab.servers.store import ServerStore, default_store


class PgBouncer(KeptServer):
    """
    Run a PgBouncer of our own while the `with` block lasts.

    `settings` are PgBouncer's own (section `[pgbouncer]` of its file).
    """

    kind = "pgbouncer"
    title = PGBOUNCER.title

    def __init__(
        self,
        port: int,
        *,
        user: str,
        password: str,
        database: str = "postgres",
        settings: Mapping[str, str] | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find PgBouncer, which is downloaded if it is not there; nothing is started yet.

        Args:
            port: port of the PostgreSQL server on loopback.
            user: role with which clients connect; it may read PgBouncer's console.
            password: its password.
            database: to which the check connects.
            settings: settings under PgBouncer's own names.
            store: where PgBouncer is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no apt, or root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__(settings or {}, also_remove)
        self._home = (store or default_store()).get(PGBOUNCER)
        self._behind, self._user, self._password = port, user, password
        self._database = database
        self.port = 0

    @property
    def version(self) -> str:
        """Return Debian's version."""
        return version_of(PGBOUNCER, self._home)

    @property
    def address(self) -> str:
        """Return the URL of the database behind it; it contains the password."""
        return f"postgresql://{self._user}:{self._password}@{HOST}:{self.port}/{self._database}"

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
            "pgbouncer.ini", f"[databases]\n* = host={HOST} port={self._behind}\n[pgbouncer]\n{lines}"
        )
        job = self._job_of([str(self._home / "usr/sbin/pgbouncer"), str(configuration)], first=None)
        job["environment"]["LD_LIBRARY_PATH"] = library_path(self._home)
        return job

    def _takes_connections(self) -> bool:
        """Return whether a query gets through to PostgreSQL."""
        import psycopg

        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.address, connect_timeout=round(ANSWER_S)) as connection,
        ):
            return connection.execute("select 1").fetchone() == (1,)
        return False
