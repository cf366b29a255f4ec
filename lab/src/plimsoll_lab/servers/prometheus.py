"""
Run a throwaway Prometheus or Alertmanager, from Debian's packages in the server store.

Rule 1: the port is on loopback, and nothing asks who calls. An Alertmanager forms no cluster.
Rule 2: the rules of `server.py` apply.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from plimsoll_lab.servers.package import ALERTMANAGER, PROMETHEUS, DebianPackage
from plimsoll_lab.servers.server import HOST, KeptServer, answers, free_ports, version_of
from plimsoll_lab.servers.store import ServerStore, default_store

# 'ts=… level=error msg="Error loading config" err="yaml: …"', in both programs.
_ERROR = re.compile(r'\berr="((?:[^"\\]|\\.)*)"')


class MonitoringServer(KeptServer):
    """Run one of the two while the `with` block lasts; a subclass says which."""

    package: ClassVar[DebianPackage]
    port_taken = "address already in use"
    default: ClassVar[Mapping[str, Any]] = {}
    """The configuration that does nothing."""

    def __init__(
        self,
        configuration: Mapping[str, Any] | None = None,
        *,
        data_directory: Path | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find the program, which is downloaded if it is not there; nothing is started yet.

        Args:
            configuration: what its configuration file has (default: nothing to do).
            data_directory: folder of the data, which stays; created if it does not exist. None for a
                folder that is removed at the end.
            store: where the program is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no apt, or root has no other account to use.
            SourceError: the download failed, or a file has changed since.
        """
        super().__init__({}, also_remove)
        self._home = (store or default_store()).get(self.package)
        self._configuration = configuration or self.default
        self._given_data = data_directory
        self.port = 0

    @property
    def version(self) -> str:
        """Return Debian's version."""
        return version_of(self.package, self._home)

    @property
    def address(self) -> str:
        """Return the URL of its API."""
        return f"http://{HOST}:{self.port}"

    @abstractmethod
    def command(self, configuration: Path, data: Path) -> list[str]:
        """Return the program, below the folder of its package, and its arguments."""

    def _reason(self, log: str) -> str:
        errors = _ERROR.findall(log)
        return str(errors[-1]).replace('\\"', "'") if errors else super()._reason(log)

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        # JSON is YAML too.
        configuration = self._write(f"{self.kind}.yml", json.dumps(self._configuration))
        program, *arguments = self.command(configuration, self._own_folder(self._given_data, "data"))
        return self._job_of(
            [*(str(self._home / program), f"--web.listen-address={HOST}:{self.port}"), *arguments],
            first=None,
            endings=["SIGTERM", "SIGKILL"],
        )

    def _takes_connections(self) -> bool:
        return answers(f"{self.address}/-/ready")


class Prometheus(MonitoringServer):
    """Run a Prometheus of our own while the `with` block lasts."""

    kind = "prometheus"
    package = PROMETHEUS
    title = PROMETHEUS.title

    def command(self, configuration: Path, data: Path) -> list[str]:
        """Return the program, below the folder of its package, and its arguments."""
        return ["usr/bin/prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={data}"]


class Alertmanager(MonitoringServer):
    """Run an Alertmanager of our own while the `with` block lasts."""

    kind = "alertmanager"
    package = ALERTMANAGER
    title = ALERTMANAGER.title
    default: ClassVar[Mapping[str, Any]] = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]}

    def command(self, configuration: Path, data: Path) -> list[str]:
        """Return the program, below the folder of its package, and its arguments."""
        # It reads the templates of its messages below the folder where it runs.
        (self._directory / "usr").symlink_to(self._home / "usr")
        return [
            "usr/bin/prometheus-alertmanager",
            f"--config.file={configuration}",
            f"--storage.path={data}",
            # Without it, it listens for other members on all addresses.
            "--cluster.listen-address=",
        ]
