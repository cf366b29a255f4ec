"""What the indexer counts, for Prometheus (OpenMetrics)."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from search_service.consume import Consumed
from search_service.errors import SettingsError
from search_service.index_work import Indexed

HOST = "127.0.0.1"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """The counters of one indexer."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.registry = CollectorRegistry()
        self._read = Counter("search_events_read", "Events read from Kafka", registry=self.registry)
        self._applied = Counter(
            "search_events_applied",
            "Events that changed the copy",
            ["type"],
            registry=self.registry,
        )
        self._ignored = Counter(
            "search_events_ignored",
            "Events at or below the version of the copy",
            registry=self.registry,
        )
        self._dead = Counter(
            "search_events_dead", "Events written as dead letters", registry=self.registry
        )
        self._lag = Gauge(
            "search_lag_events", "Events of this indexer not applied yet", registry=self.registry
        )
        self._indexed = Counter(
            "search_documents_indexed", "Documents that the index has", registry=self.registry
        )
        self._refused = Counter(
            "search_documents_refused", "Documents that the engine refused", registry=self.registry
        )
        self._failures = Counter(
            "search_failures",
            "Attempts that a server did not answer",
            ["work"],
            registry=self.registry,
        )
        self._freshness = Histogram(
            "search_freshness_seconds",
            "From the moment an entity was written to the moment its document was indexed",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._apply = Histogram(
            "search_apply_seconds",
            "One round of applying events",
            buckets=_SECONDS,
            registry=self.registry,
        )

    def serve(self, port: int) -> None:
        """
        Answer `GET /metrics` on loopback, from a thread of its own.

        Raises:
            SettingsError: the port is taken.
        """
        try:
            start_http_server(port, HOST, self.registry)
        except OSError as error:
            raise SettingsError(
                f"SEARCH_METRICS_PORT is {port}, which cannot be used: {error.strerror}",
                "Give another port, or 0 for none.",
            ) from None

    def applied(self, consumed: Consumed, seconds: float, lag: Mapping[str, int]) -> None:
        """Count a round of applying events."""
        self._lag.set(sum(lag.values()))
        if consumed.read:
            self._read.inc(consumed.read)
            self._ignored.inc(consumed.ignored)
            self._dead.inc(consumed.dead)
            self._apply.observe(seconds)
            for type_name, count in consumed.changed_by_type.items():
                self._applied.labels(type_name).inc(count)

    def indexed(self, indexed: Indexed) -> None:
        """Count a page of documents."""
        self._indexed.inc(indexed.done)
        self._refused.inc(len(indexed.refused))
        for seconds in indexed.freshness_s:
            self._freshness.observe(seconds)

    def failed(self, work: str) -> None:
        """Count an attempt that a server did not answer; `work` is `apply` or `index`."""
        self._failures.labels(work).inc()
