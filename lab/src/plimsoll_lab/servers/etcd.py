"""
Run a throwaway etcd of one member, from Debian's package in the server store.

Rule 1: its two ports are on loopback, and nothing asks who calls.
Rule 2: the rules of `server.py` apply.
"""

import re
from typing import Any

from plimsoll_lab.servers.package import ETCD
from plimsoll_lab.servers.server import HOST, answers, free_ports
from plimsoll_lab.servers.stored import StoredServer

# '{"level":"fatal",…,"msg":"discovery failed","error":"listen tcp …: bind: address already in use"}'
_ERROR = re.compile(r'"error":"((?:[^"\\]|\\.)*)"')


class Etcd(StoredServer):
    """
    Run an etcd of our own while the `with` block lasts.

    `settings` are passed to the server as `--name=value`.
    """

    kind = "etcd"
    title = ETCD.title
    package = ETCD
    port_taken = "address already in use"

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
        options = (f"--{name}={value}" for name, value in settings.items())
        return self._ended_by_signals([str(self._home / "usr/bin/etcd"), *options])

    def _takes_connections(self) -> bool:
        """Return whether it has a leader and takes writes."""
        return answers(f"{self.address}/health")
