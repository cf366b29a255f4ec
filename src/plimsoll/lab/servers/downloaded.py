"""Start the servers that come from the server store, by name."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from plimsoll.lab.servers.kafka import Kafka
from plimsoll.lab.servers.search import Elasticsearch, OpenSearch

DOWNLOADED: dict[str, type[Kafka | OpenSearch | Elasticsearch]] = {
    kind.kind: kind for kind in (Kafka, OpenSearch, Elasticsearch)
}
"""By name, the class that runs the server."""


@dataclass(frozen=True, kw_only=True)
class StartedServer:
    """A server that answers clients."""

    name: str
    version: str
    address: str
    """Host and port of a broker, the URL of a search engine."""


def start(names: Sequence[str], stack: ExitStack, started: Callable[[StartedServer], None]) -> None:
    """
    Start servers one after the other; each runs until the stack closes.

    Args:
        names: names in `DOWNLOADED`.
        stack: ends the servers when it closes.
        started: called with each server as soon as it answers.

    Raises:
        UsageError: there is no Java or no Maven, or root has no other account to use.
        SourceError: a download failed, or a server did not start.
    """
    for name in names:
        server = DOWNLOADED[name]()
        stack.enter_context(server)
        started(StartedServer(name=name, version=server.version, address=server.address))
