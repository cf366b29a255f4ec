"""
Services of an order domain, with their clients: N services × M instances × a pool of connections each.

Rule 1: each service is one JVM, in which every instance has a pool and threads of its own.
Rule 2: whatever ends this process ends the JVMs.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pooled_cluster.services.counts import Counts, counts_of, total_of
from pooled_cluster.services.errors import UsageError
from pooled_cluster.services.java import build, find_java
from pooled_cluster.services.jvm import Jvm, command_of

KINDS = ("checkout", "fulfilment", "account", "inventory")
"""Business transactions; the services take turns."""
CONSUMER = "notification"
SERVICES_MOST = 50
INSTANCES_MOST = 1000
HEAP_MB = (8, 65_536)
# Judgements. A JVM without connections keeps about 5 MiB alive, and a connection with its 32 prepared statements
# about 0.1 MiB (jcmd GC.heap_info after GC.run); the rest is for requests that wait, and for garbage.
_HEAP_MB = 48
_CONNECTION_MB = 0.2


class Services:
    """The services and their clients while the `with` block lasts; no business transaction arrives before a rate is set."""

    def __init__(
        self,
        database_host: str,
        port: int,
        *,
        services: int = 4,
        instances: int = 5,
        pool: int = 10,
        database: str = "orders",
        user: str = "orders",
        password: str = "",
        kafka: str | None = None,
        heap_mb: int | None = None,
        connect_timeout_s: int = 10,
        socket_timeout_s: int = 0,
        prepare_threshold: int = 5,
        **settings: object,
    ) -> None:
        """
        Keep what to start; nothing is started yet.

        Args:
            database_host: PostgreSQL, or the pooler in front of it.
            port: its port.
            services: number of services, 1 to 50. They take turns in the kinds of business transactions.
            instances: instances of each service, 1 to 1,000.
            pool: connections of each instance, at most.
            database: name of the database, filled by `fill`.
            user: role of the services.
            password: its password.
            kafka: address of a Kafka broker, for example `127.0.0.1:9092`. Then placed orders are told there, and
                one more service reads them. None for neither.
            heap_mb: heap of each JVM in MiB (default: by the number of connections).
            connect_timeout_s: a pool gives up to open a connection after this time.
            socket_timeout_s: a statement without an answer ends after this time; 0 for never.
            prepare_threshold: executions after which the driver prepares a statement on the server; 0 for never.
            settings: first settings, as of `set`.

        Raises:
            UsageError: a number is outside of its range.
        """
        for name, value, most in (
            ("services", services, SERVICES_MOST),
            ("instances", instances, INSTANCES_MOST),
            ("port", port, 65_535),
        ):
            if not 1 <= value <= most:
                raise UsageError(f"{name} must be 1 to {most:,}, not {value:,}")
        if heap_mb is not None and not HEAP_MB[0] <= heap_mb <= HEAP_MB[1]:
            raise UsageError(f"heap_mb must be {HEAP_MB[0]} to {HEAP_MB[1]:,}, not {heap_mb:,}")
        self._services, self._instances = services, instances
        self._kafka = kafka
        self._target = {
            "host": database_host,
            "port": port,
            "database": database,
            "user": user,
            "password": password,
            "connect_timeout_s": connect_timeout_s,
            "socket_timeout_s": socket_timeout_s,
            "prepare_threshold": prepare_threshold,
        }
        self._settings = {"pool": pool, **settings}
        self._heap_mb = heap_mb or round(_HEAP_MB + instances * pool * _CONNECTION_MB)
        self._jvms: list[Jvm] = []
        self._folder = Path()

    def __enter__(self) -> Self:
        """
        Build the services if their sources have changed, and start them.

        Raises:
            UsageError: there is no Java or Maven, or a setting cannot be used.
            UnavailableError: the build failed, or a service did not start.
        """
        java, built = find_java(), build()
        self._folder = Path(tempfile.mkdtemp(prefix="pooled-cluster-services-"))
        try:
            # The consumer creates its topic; then the others can write to it.
            if self._kafka is not None:
                self._start(java, built, CONSUMER, CONSUMER, 1)
                self._jvms[-1].wait()
            for number in range(self._services):
                turn, kind = divmod(number, len(KINDS))
                name = KINDS[kind] if not turn else f"{KINDS[kind]}{turn + 1}"
                self._start(java, built, name, KINDS[kind], self._instances)
            for jvm in self._jvms:
                if not jvm.port:
                    jvm.wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """End the services."""
        self._end()

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the JVMs."""
        return tuple(jvm.pid for jvm in self._jvms)

    @property
    def ports(self) -> dict[str, int]:
        """Return the port of each service's HTTP server on loopback, by its name."""
        return {jvm.name: jvm.port for jvm in self._jvms}

    @property
    def connections_most(self) -> int:
        """Return how many connections all pools together may open, by the first settings."""
        pools = self._services * self._instances + (self._kafka is not None)
        return pools * int(str(self._settings["pool"]))

    def set(self, **changes: object) -> None:
        """
        Change settings of all services while they run.

        Args:
            changes: `rate` (business transactions per second of all services together), `pool`, `min_idle`,
                `threads`, `queue`, `answer_s`, `retry` (none, immediate or backoff), `retries`, `think_ms`,
                `hold_ms`, `leak`, `abort`, `abort_s`, `connection_timeout_s`, `idle_timeout_s`, `max_lifetime_s`.

        Raises:
            UsageError: there is no such setting, or it cannot have the value.
            UnavailableError: a service has ended, or does not answer.
        """
        for jvm in self._jvms:
            jvm.set(self._of_one(jvm.kind, changes))

    def counts(self) -> Counts:
        """
        Return what all services have counted since they were started.

        Raises:
            UnavailableError: a service has ended, or does not answer.
        """
        return total_of(self.counts_by_service().values())

    def counts_by_service(self) -> dict[str, Counts]:
        """
        Return what each service has counted, by its name.

        Raises:
            UnavailableError: a service has ended, or does not answer.
        """
        return {jvm.name: counts_of(jvm.state()) for jvm in self._jvms}

    def metrics(self) -> dict[str, str]:
        """
        Return the metrics of each service in the format of Prometheus, by its name.

        Raises:
            UnavailableError: a service has ended, or does not answer.
        """
        return {jvm.name: jvm.metrics() for jvm in self._jvms}

    def _start(self, java: str, built: Path, name: str, kind: str, instances: int) -> None:
        config: dict[str, Any] = {
            **self._target,
            "name": name,
            "kind": kind,
            "instances": instances,
            "settings": self._of_one(kind, self._settings),
        }
        if self._kafka is not None:
            config["kafka"] = self._kafka
        command = command_of(java, built, self._heap_mb)
        self._jvms.append(Jvm(config, command, self._folder / f"{name}.log"))

    def _of_one(self, kind: str, settings: Mapping[str, object]) -> dict[str, object]:
        """Return settings as one service gets them: its share of the rate."""
        found = dict(settings)
        rate = found.get("rate")
        if isinstance(rate, int | float):
            found["rate"] = 0 if kind == CONSUMER else rate / self._services
        return found

    def _end(self) -> None:
        jvms, self._jvms = self._jvms, []
        for jvm in jvms:
            jvm.end()
        for jvm in jvms:
            jvm.wait_for_end()
        shutil.rmtree(self._folder, ignore_errors=True)
