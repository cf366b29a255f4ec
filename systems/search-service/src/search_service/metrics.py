"""What the indexer counts, for Prometheus (OpenMetrics)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from search_service.consume import Consumed
from search_service.errors import SettingsError
from search_service.index_work import Change, Indexed
from search_service.phases import Phases

HOST = "127.0.0.1"
_FRESHNESS = (
    *(0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0),
    *(30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0),
)
"""Narrow where a service that keeps up is, so that p50 and p99 can be told from the buckets."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """The counters of one indexer."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.registry = CollectorRegistry()
        self.phases = Phases()
        self.registry.register(_PhaseCollector(self.phases))
        self._read = Counter("search_events_read", "Events read from Kafka", registry=self.registry)
        self._applied = Counter(
            "search_events_applied", "Events that changed the copy", ["type"], registry=self.registry
        )
        self._ignored = Counter(
            "search_events_ignored", "Events at or below the version of the copy", registry=self.registry
        )
        self._dead = Counter("search_events_dead", "Events written as dead letters", registry=self.registry)
        self._lag = Gauge("search_lag_events", "Events of this indexer not applied yet", registry=self.registry)
        self._indexed = Counter("search_documents_indexed", "Documents that were written", registry=self.registry)
        self._refused = Counter("search_documents_refused", "Documents that the engine refused", registry=self.registry)
        self._failures = Counter(
            "search_failures", "Attempts that a server did not answer", ["work"], registry=self.registry
        )
        self._conflicts = Counter(
            "search_documents_known",
            "Writes that the index had already, in this version or a later one",
            registry=self.registry,
        )
        self._freshness = Histogram(
            "search_freshness_seconds",
            "From the moment a service wrote an entity to the moment a search finds it, by what changed",
            ["changed"],
            buckets=_FRESHNESS,
            registry=self.registry,
        )
        self._fresh_own = self._freshness.labels("product")
        self._fresh_others = self._freshness.labels("supplier or category")
        self._apply = Histogram(
            "search_apply_seconds", "One round of applying events", buckets=_SECONDS, registry=self.registry
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
        self._conflicts.inc(indexed.conflicts)

    def searchable(self, changes: Sequence[Change], now: datetime) -> None:
        """Count documents that a search finds now, with the moments when services wrote the changes."""
        for change in changes:
            if change.own_at is not None:
                self._fresh_own.observe(max(0.0, (now - change.own_at).total_seconds()))
            # The oldest is of something else.
            if change.own_at is None or change.at < change.own_at:
                self._fresh_others.observe(max(0.0, (now - change.at).total_seconds()))

    def failed(self, work: str) -> None:
        """Count an attempt that a server did not answer; `work` is `apply` or `index`."""
        self._failures.labels(work).inc()


class _PhaseCollector(Collector):
    """Reads the phases when somebody asks."""

    def __init__(self, phases: Phases) -> None:
        self._phases = phases

    def collect(self) -> Iterator[CounterMetricFamily]:
        for name, text, found in (
            ("search_phase_seconds", "Time of each phase", self._phases.wall_s),
            ("search_phase_cpu_seconds", "CPU time of each phase", self._phases.cpu_s),
        ):
            family = CounterMetricFamily(name, text, labels=["phase"])
            for phase, seconds in found.items():
                family.add_metric([phase], seconds)
            yield family
