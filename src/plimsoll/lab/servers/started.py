"""Start servers of the lab by name."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from plimsoll.lab.servers.cloudwatch import AwsDouble
from plimsoll.lab.servers.kafka import Kafka
from plimsoll.lab.servers.postgres import Postgres
from plimsoll.lab.servers.search import Elasticsearch, OpenSearch

STARTED: Mapping[str, type[Postgres | Kafka | OpenSearch | Elasticsearch | AwsDouble]] = {
    kind.kind: kind for kind in (Postgres, Kafka, OpenSearch, Elasticsearch, AwsDouble)
}
"""By name, the class that runs the server."""


@dataclass(frozen=True, kw_only=True)
class StartedServer:
    """A server that answers clients."""

    name: str
    version: str
    address: str
    """Host and port of a broker, otherwise a URL; that of a database contains its password."""


_RESTART_S = 60.0
"""PostgreSQL recovers and a search engine starts within this time on two busy cores."""


def start(
    names: Sequence[str],
    stack: ExitStack,
    started: Callable[[StartedServer], None],
    *,
    restart: bool = False,
) -> None:
    """
    Start servers one after the other; each runs until the stack closes.

    Args:
        names: names in `STARTED`.
        stack: ends the servers when it closes.
        started: called with each server as soon as it answers.
        restart: whether a server that somebody kills is started again.

    Raises:
        UsageError: there is no Java or no Maven, or root has no other account to use.
        SourceError: a download failed, or a server did not start.
    """
    for name in names:
        server = STARTED[name]()
        server.restart_s = _RESTART_S if restart else 0
        stack.enter_context(server)
        started(StartedServer(name=name, version=server.version, address=server.address))
