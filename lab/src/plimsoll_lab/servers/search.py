"""
Run a throwaway OpenSearch or Elasticsearch of one node, from the server store.

Rule 1: its port is on loopback, and nothing asks who calls: other accounts of this machine can reach it.
Rule 2: the rules of `server.py` apply; both engines refuse to run as root.
"""

import json
import shutil
from collections.abc import Mapping
from typing import Any, ClassVar

from plimsoll_lab.servers.java import HEAP_MB
from plimsoll_lab.servers.package import ELASTICSEARCH, OPENSEARCH
from plimsoll_lab.servers.server import HOST, answers, free_ports
from plimsoll_lab.servers.stored import JavaServer

# What both engines ship, without files of logs and of garbage collections, which would go to their own folder.
_JVM = """-Xms{heap}m
-Xmx{heap}m
-XX:+UseG1GC
-Djava.io.tmpdir={temporary}
-XX:ErrorFile={temporary}/crash.log
"""
_LOG = """status = error
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %c{1}: %m%n
"""


class SearchServer(JavaServer):
    """
    Run a search engine of our own while the `with` block lasts; a subclass says which.

    `settings` are the engine's own (`opensearch.yml`).
    """

    variable: str
    """What its environment variables begin with."""
    own_settings: ClassVar[Mapping[str, str]] = {}

    def _job(self) -> dict[str, Any]:
        self.port, transport = free_ports(2)
        folders = {name: self._own_folder(None, name) for name in ("config", "logs", "temporary")}
        data = self._own_folder(self._given_data, "data")
        # The engines keep a key store and the like beside their settings: each server has its own copy.
        for path in (self._home / "config").iterdir():
            if path.is_file():
                copy = folders["config"] / path.name
                shutil.copy(path, copy)
                self.account.own(copy)
        settings = {
            "cluster.name": "plimsoll",
            "node.name": "one",
            "network.host": HOST,
            "http.port": str(self.port),
            "transport.port": str(transport),
            "discovery.type": "single-node",
            "path.data": str(data),
            "path.logs": str(folders["logs"]),
            # A laptop's disk is often fuller than the 85 % at which no shard is placed any more.
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            **self.own_settings,
            **self._settings,
        }
        name = self.package.name
        # A JSON string is one of YAML too.
        lines = (f"{key}: {json.dumps(value)}\n" for key, value in settings.items())
        self._write(f"config/{name}.yml", "".join(lines))
        jvm = _JVM.format(heap=HEAP_MB, temporary=folders["temporary"])
        self._write("config/jvm.options", jvm)
        self._write("config/log4j2.properties", _LOG)
        job = self._ended_by_signals([str(self._home / "bin" / name)])
        job["environment"] |= {
            f"{self.variable}_JAVA_HOME": str(self._java),
            f"{self.variable}_PATH_CONF": str(folders["config"]),
            f"{self.variable}_TMPDIR": str(folders["temporary"]),
        }
        return job

    def _takes_connections(self) -> bool:
        """Return whether the engine answers, and can place shards."""
        question = f"{self.address}/_cluster/health?wait_for_status=yellow&timeout=1s"
        return answers(question)


class OpenSearch(SearchServer):
    """Run an OpenSearch of our own while the `with` block lasts."""

    kind = "opensearch"
    title = OPENSEARCH.title
    package = OPENSEARCH
    variable = "OPENSEARCH"
    # Its answers to reindexing would have more headers than Python's HTTP client takes.
    own_settings: ClassVar[Mapping[str, str]] = {"task_resource_tracking.enabled": "false"}


class Elasticsearch(SearchServer):
    """Run an Elasticsearch of our own while the `with` block lasts."""

    kind = "elasticsearch"
    title = ELASTICSEARCH.title
    package = ELASTICSEARCH
    variable = "ES"
    # It asks for passwords and certificates by default, and looks for geographic databases in the internet.
    own_settings: ClassVar[Mapping[str, str]] = {"xpack.security.enabled": "false"}
