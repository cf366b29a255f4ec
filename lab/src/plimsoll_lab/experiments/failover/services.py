"""
Business transactions of Java services beside the writers, and what a failover does to them.

Rule: nothing here helps them. They have the driver's and the pool's defaults, and clients that try again with back-off.
"""

import time
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from msgspec import Struct

from plimsoll_lab.experiments.failover.checker import longest_gap_s
from plimsoll_lab.experiments.pooled_cluster.figures import grown
from plimsoll_lab.experiments.pooled_cluster.system import Fleet, RunningServices, ServiceCounts
from plimsoll_lab.model.failover import ServicesView

# The services write a line each second, so what a line counts may be older by as much.
_LINE_S, _LOOK_S = 1.0, 0.1
POOL = 3
INSTANCES = 1
RATE_PER_S = 5.0
SIZES = {"customers": 1_000, "products": 2_000, "orders": 10_000}


def fleet_of(services: int) -> Fleet:
    """Return so many services, each with one small pool, whose clients try again."""
    settings: dict[str, object] = {"retry": "backoff", "answer_s": 30}
    return Fleet(services=services, instances=INSTANCES, pool=POOL, settings=settings)


def fleet_words(fleet: Fleet) -> str:
    """Return the services in words."""
    return (
        f"{fleet.services} Java services with a HikariCP pool of {fleet.pool} connections each; {RATE_PER_S:g} business "
        "transactions arrive per second, and clients try again with back-off"
    )


class Looked(Struct, frozen=True, kw_only=True):
    """The counts at one moment."""

    at_s: float
    """By the monotonic clock."""
    counts: ServiceCounts


class ServicesWatch:
    """Follows the counts of services while the `with` block lasts."""

    def __init__(self, services: RunningServices) -> None:
        """Keep the services."""
        self.services = services
        self._lock, self._is_over = Lock(), Event()
        self._done_s: list[float] = []
        self._last = services.counts
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Let business transactions arrive, and begin to follow them."""
        self.services.order(rate=RATE_PER_S)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End following, and end the services."""
        self._is_over.set()
        self._thread.join()
        self.services.end()

    def now(self) -> Looked:
        """Return the counts of this moment."""
        with self._lock:
            return Looked(at_s=time.monotonic(), counts=self._last)

    def has_done_since(self, since_s: float) -> bool:
        """
        Return whether a business transaction was done since a moment of the monotonic clock.

        Raises:
            SourceError: the services have ended.
        """
        self.services.check()
        with self._lock:
            return bool(self._done_s) and self._done_s[-1] > since_s + _LINE_S

    def view(self, first: Looked, last: Looked) -> ServicesView:
        """Return what was done between two moments."""
        with self._lock:
            times = [at_s for at_s in self._done_s if first.at_s <= at_s <= last.at_s]
        return services_view(first, last, times)

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            counts = self.services.counts
            with self._lock:
                if counts.done > self._last.done:
                    self._done_s.append(time.monotonic())
                self._last = counts


def services_view(first: Looked, last: Looked, done_s: list[float]) -> ServicesView:
    """Return what was done between two moments; `done_s` has when some were done, in order."""
    before, now = first.counts, last.counts
    return ServicesView(
        arrivals=now.arrivals - before.arrivals,
        done=now.done - before.done,
        failed=grown(now.failed, before.failed),
        retries=now.retries - before.retries,
        gap_s=longest_gap_s(done_s, first.at_s, last.at_s),
    )
