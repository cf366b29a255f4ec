"""
What servers from the server store have in common, those in Java, and the poolers.

Rule: their ports are on loopback, and the rules of `server.py` apply.
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from plimsoll.fleet.spark.java import find_java
from plimsoll_lab.servers.debian import library_path
from plimsoll_lab.servers.java import last_error
from plimsoll_lab.servers.package import Package
from plimsoll_lab.servers.server import ANSWER_S, HOST, KeptServer
from plimsoll_lab.servers.store import ServerStore, default_store


class StoredServer(KeptServer):
    """Run a server of the store while the `with` block lasts; a subclass says which."""

    package: ClassVar[Package]

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        data_directory: Path | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find the server, which is downloaded if it is not there; nothing is started yet.

        Args:
            settings: settings under the server's own names.
            data_directory: folder of the data, which stays; created if it does not exist. None for a
                folder that is removed at the end.
            store: where the server is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: the registry's client (apt, Maven, pip) or what the server runs on (Java, Python) is missing, or
                root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__(settings or {}, also_remove)
        self._require()
        self._home = (store or default_store()).get(self.package)
        self._given_data = data_directory
        self.port = 0

    def _require(self) -> None:
        """Find what the server runs on, before anything is downloaded."""

    @property
    def version(self) -> str:
        """Return the version of its package."""
        return self.package.version_in(self._home)

    @property
    def address(self) -> str:
        """Return the URL of its API."""
        return f"http://{HOST}:{self.port}"

    def _ended_by_signals(self, server: list[str], first: list[str] | None = None) -> dict[str, Any]:
        """Return the keeper's job for a server that SIGTERM ends."""
        return self._job_of(server, first=first, endings=["SIGTERM", "SIGKILL"])


class JavaServer(StoredServer):
    """A server in Java."""

    def _require(self) -> None:
        self._java = find_java()

    def _reason(self, log: str) -> str:
        return last_error(log)


class PoolerServer(StoredServer):
    """A pooler in front of PostgreSQL servers; clients give the password of PostgreSQL."""

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
        Find the pooler, which is downloaded if it is not there; nothing is started yet.

        Args:
            ports: ports of the PostgreSQL servers on loopback, of which PgBouncer takes one.
            user: role with which clients and the pooler's own checks connect; it may read a pooler's console.
            password: its password, the same on every server.
            database: to which the checks connect.
            settings: settings under the pooler's own names.
            store: where the pooler is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no apt, or root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__(settings, store=store, also_remove=also_remove)
        self._ports, self._user, self._password = tuple(ports), user, password
        self._database = database

    @property
    def address(self) -> str:
        """Return the URL of the database behind it; it contains the password."""
        return f"postgresql://{self._user}:{self._password}@{HOST}:{self.port}/{self._database}"

    def _with_libraries(self, server: list[str]) -> dict[str, Any]:
        """Return the keeper's job for a server that has its libraries in the store."""
        job = self._job_of(server, first=None)
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
