"""
Run a throwaway etcd of one member, from Debian's package in the server store.

Rule 1: its two ports are on loopback, and nothing asks who calls.
Rule 2: the rules of `server.py` apply.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plimsoll_lab.servers.package import ETCD
from plimsoll_lab.servers.server import HOST, KeptServer, answers, free_ports, version_of
from plimsoll_lab.servers.store import ServerStore, default_store

# '{"level":"fatal",…,"msg":"discovery failed","error":"listen tcp …: bind: address already in use"}'
_ERROR = re.compile(r'"error":"((?:[^"\\]|\\.)*)"')


class Etcd(KeptServer):
    """
    Run an etcd of our own while the `with` block lasts.

    `settings` are passed to the server as `--name=value`.
    """

    kind = "etcd"
    title = ETCD.title
    port_taken = "address already in use"

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        data_directory: Path | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find etcd, which is downloaded if it is not there; nothing is started yet.

        Args:
            settings: settings under etcd's own names.
            data_directory: folder of the data, which stays; created if it does not exist. None for a
                folder that is removed at the end.
            store: where etcd is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no apt, or root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__(settings or {}, also_remove)
        self._home = (store or default_store()).get(ETCD)
        self._given_data = data_directory
        self.port = 0

    @property
    def version(self) -> str:
        """Return Debian's version."""
        return version_of(ETCD, self._home)

    @property
    def address(self) -> str:
        """Return the URL of its API."""
        return f"http://{HOST}:{self.port}"

    def _reason(self, log: str) -> str:
        # A setting that it does not know is followed by a page of those that it knows.
        unknown = [line for line in log.splitlines() if line.startswith("flag provided")]
        errors = unknown or _ERROR.findall(log)
        return str(errors[-1]) if errors else super()._reason(log)

    def _job(self) -> dict[str, Any]:
        self.port, peer_port = free_ports(2)
        data = self._own_folder(self._given_data, "data")
        peer = f"http://{HOST}:{peer_port}"
        settings = {
            "name": "one",
            "data-dir": str(data),
            "listen-client-urls": self.address,
            "advertise-client-urls": self.address,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"one={peer}",
            "log-level": "warn",
            "logger": "zap",
            **self._settings,
        }
        return self._job_of(
            [str(self._home / "usr/bin/etcd"), *(f"--{name}={value}" for name, value in settings.items())],
            first=None,
            endings=["SIGTERM", "SIGKILL"],
        )

    def _takes_connections(self) -> bool:
        """Return whether it has a leader and takes writes."""
        return answers(f"{self.address}/health")
