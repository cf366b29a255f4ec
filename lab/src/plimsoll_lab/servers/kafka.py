"""
Run a throwaway Kafka broker, from the jars of the server store.

Rule 1: it is one node that is broker and controller (KRaft), on two ports of loopback.
Rule 2: the rules of `server.py` apply.
"""

import socket
import struct
import uuid
from base64 import urlsafe_b64encode
from typing import Any

from plimsoll_lab.servers.java import HEAP_MB
from plimsoll_lab.servers.package import KAFKA
from plimsoll_lab.servers.server import ANSWER_S, HOST, free_ports
from plimsoll_lab.servers.stored import JavaServer

# ApiVersions, version 0: the one request that every broker answers before anything else (Kafka protocol guide).
_API_VERSIONS = 18
_CLIENT = b"plimsoll"
_REQUEST = struct.pack(">hhih", _API_VERSIONS, 0, 1, len(_CLIENT)) + _CLIENT
_LOG = """rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c{1}: %m%n
"""


class Kafka(JavaServer):
    """
    Run a Kafka broker of our own while the `with` block lasts.

    `settings` are Kafka's own (`server.properties`).
    """

    kind = "kafka"
    title = KAFKA.title
    package = KAFKA

    @property
    def address(self) -> str:
        """Return the address of the broker, as clients want it for `bootstrap.servers`."""
        return f"{HOST}:{self.port}"

    def _job(self) -> dict[str, Any]:
        self.port, controller = free_ports(2)
        data = self._own_folder(self._given_data, "data")
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(data),
            # One node cannot hold the three copies that are the default.
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # The default of 50 partitions is created when the first group joins, which takes seconds.
            "offsets.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            # A mistyped name is an error, not a topic with default settings.
            "auto.create.topics.enable": "false",
            **self._settings,
        }
        properties = self._write("server.properties", "".join(f"{key}={value}\n" for key, value in settings.items()))
        log = self._write("log4j2.properties", _LOG)
        java = [
            *(str(self._java / "bin/java"), f"-Xms{HEAP_MB // 2}m", f"-Xmx{HEAP_MB}m"),
            *(f"-Dlog4j2.configurationFile={log}", "-cp", f"{self._home / 'lib'}/*"),
        ]
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        return self._ended_by_signals(
            [*java, "kafka.Kafka", str(properties)],
            first=[
                *(*java, "kafka.tools.StorageTool", "format", "--ignore-formatted"),
                *(f"--cluster-id={cluster}", "--config", str(properties)),
            ],
        )

    def _takes_connections(self) -> bool:
        """Return whether the broker answers a request for the versions of its protocol."""
        try:
            with socket.create_connection((HOST, self.port), ANSWER_S) as line:
                line.sendall(struct.pack(">i", len(_REQUEST)) + _REQUEST)
                answer = line.recv(10)
        except OSError:
            return False
        # Length, the number of the request, and an error code, of which 0 means none.
        return len(answer) == 10 and struct.unpack(">ih", answer[4:]) == (1, 0)
