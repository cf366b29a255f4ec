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

from plimsoll_lab.servers.package import ALERTMANAGER, PROMETHEUS
from plimsoll_lab.servers.server import HOST, answers, free_ports
from plimsoll_lab.servers.store import ServerStore
from plimsoll_lab.servers.stored import StoredServer

# 'ts=… level=error msg="Error loading config" err="yaml: …"', in both programs.
_ERROR = re.compile(r'\berr="((?:[^"\\]|\\.)*)"')


class MonitoringServer(StoredServer):
    """Run one of the two while the `with` block lasts; a subclass says which."""

    port_taken = "address already in use"
    default: ClassVar[Mapping[str, Any]] = {}
    """The configuration that does nothing."""

    def __init__(
        self,
        configuration: Mapping[str, Any] | None = None,
        *,
        data_directory: Path | None = None,
        store: ServerStore | None = None,
    ) -> None:
        """
        Find the program, as `StoredServer` does.

        Args:
            configuration: what its configuration file has (default: nothing to do).
            data_directory: the same as there.
            store: the same as there.
        """
        super().__init__(data_directory=data_directory, store=store)
        self._configuration = configuration or self.default

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
        return self._ended_by_signals(
            [*(str(self._home / program), f"--web.listen-address={HOST}:{self.port}"), *arguments]
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
