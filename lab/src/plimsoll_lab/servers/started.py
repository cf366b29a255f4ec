"""Start servers of the lab by name."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from plimsoll_lab.servers.cloudwatch import AwsDouble
from plimsoll_lab.servers.etcd import Etcd
from plimsoll_lab.servers.kafka import Kafka
from plimsoll_lab.servers.patroni import PatroniCluster
from plimsoll_lab.servers.pgbouncer import PgBouncer
from plimsoll_lab.servers.pgpool import Pgpool
from plimsoll_lab.servers.postgres import DATABASE, USER, Postgres
from plimsoll_lab.servers.prometheus import Alertmanager, Prometheus
from plimsoll_lab.servers.s3 import S3Store
from plimsoll_lab.servers.search import Elasticsearch, OpenSearch
from plimsoll_lab.servers.server import KeptServer
from plimsoll_lab.servers.sftp import SftpServer

AnyServer = (
    Postgres
    | Kafka
    | OpenSearch
    | Elasticsearch
    | S3Store
    | SftpServer
    | Etcd
    | PatroniCluster
    | Pgpool
    | PgBouncer
    | Prometheus
    | Alertmanager
    | AwsDouble
)
_ALONE: Mapping[str, Callable[[], AnyServer]] = {
    "postgres": Postgres,
    "kafka": Kafka,
    "opensearch": OpenSearch,
    "elasticsearch": Elasticsearch,
    "s3": S3Store,
    "sftp": SftpServer,
    "etcd": Etcd,
    "patroni": PatroniCluster,
    "prometheus": Prometheus,
    "alertmanager": Alertmanager,
    "aws": AwsDouble,
}
_POOLERS = ("pgpool", "pgbouncer")

STARTED = (*_ALONE, *_POOLERS)
"""Names of the servers that can be started."""

PACKAGES_OF: Mapping[str, tuple[str, ...]] = {"patroni": ("etcd", "patroni")}
"""By name of a server, the packages that it runs from, where that is not one of its own name."""


@dataclass(frozen=True, kw_only=True)
class StartedServer:
    """A server that answers clients."""

    name: str
    version: str
    address: str
    """Host and port of a broker, otherwise a URL; that of a database contains its password."""
    notes: tuple[str, ...] = ()
    """What else a client needs, a line each."""


_RESTART_S = 60.0
"""PostgreSQL recovers and a search engine starts within this time on two busy cores."""


def start(
    names: Sequence[str], stack: ExitStack, started: Callable[[StartedServer], None], *, restart: bool = False
) -> None:
    """
    Start servers one after the other; each runs until the stack closes.

    Args:
        names: names in `STARTED`. A pooler is put in front of the Patroni cluster or the PostgreSQL that was
            named before it, otherwise in front of a PostgreSQL of its own.
        stack: ends the servers when it closes.
        started: called with each server as soon as it answers.
        restart: whether a server that somebody kills is started again; the nodes of a cluster are not.

    Raises:
        UsageError: a registry's client or Java is missing, or root has no other account to use.
        SourceError: a download failed, or a server did not start.
    """
    databases: list[Postgres | PatroniCluster] = []
    for name in names:
        server = _pooler(name, databases, stack) if name in _POOLERS else _ALONE[name]()
        if isinstance(server, KeptServer):
            server.restart_s = _RESTART_S if restart else 0
        stack.enter_context(server)
        if isinstance(server, Postgres | PatroniCluster):
            databases.append(server)
        address, notes = server.address, _notes(server)
        started(StartedServer(name=name, version=server.version, address=address, notes=notes))


def _pooler(name: str, databases: list[Postgres | PatroniCluster], stack: ExitStack) -> Pgpool | PgBouncer:
    if not databases:
        databases.append(stack.enter_context(Postgres()))
    behind = databases[-1]
    if isinstance(behind, PatroniCluster):
        ports, user, password, database = behind.ports, behind.user, behind.password, "postgres"
    else:
        ports, user, database = (behind.port,), USER, DATABASE
        password = behind.environment["PGPASSWORD"]
    if name == "pgpool":
        return Pgpool(ports, user=user, password=password, database=database)
    # PgBouncer follows no failover: it stays in front of the server that takes writes now.
    port = behind.await_leader().port if isinstance(behind, PatroniCluster) else behind.port
    return PgBouncer([port], user=user, password=password, database=database)


def _notes(server: AnyServer) -> tuple[str, ...]:
    match server:
        case S3Store():
            return tuple(f"{name}={value}" for name, value in server.environment.items())
        case AwsDouble():
            return (f"AWS_ENDPOINT_URL={server.address}",)
        case SftpServer():
            return (f"key of clients: {server.private_key}", f"host key: {server.host_key}")
        case PatroniCluster():
            return tuple(
                f"{node.name}: {node.address}, Patroni at {node.rest_address}" for node in server.nodes.values()
            )
    return ()
