"""What is measured in a phase of the service besides its storage: the service and the database by their counters."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from plimsoll_lab.experiments.database import ResponseProbe
from plimsoll_lab.experiments.figures import ratio, storage_figures
from plimsoll_lab.experiments.histogram import CountedBuckets
from plimsoll_lab.experiments.search_service.database import TupleCounters
from plimsoll_lab.experiments.search_service.system import ServiceCounters
from plimsoll_lab.gate.record import RecordLine, Truth
from plimsoll_lab.model.experiment import ExperimentFigures


class PhaseWatch:
    """Reads the counters of a phase: first when it is made, and then at each look."""

    def __init__(
        self, service: Callable[[], ServiceCounters | None], database: Callable[[], TupleCounters], probe: ResponseProbe
    ) -> None:
        """Take the first readings; from now on the phase counts."""
        self._service, self._database, self._probe = service, database, probe
        self._first = self._last = service()
        self._tuples = database()
        self._response_count = len(probe.times_s)
        self.looks = 0

    def look(self) -> None:
        """Take a reading."""
        found = self._service()
        if found is not None:
            self._first = self._first or found
            self._last = found
        self.looks += 1

    @property
    def lag(self) -> float | None:
        """Return the events that are written and not applied now."""
        return None if self._last is None else self._last.lag

    @property
    def lag_start(self) -> int | None:
        """Return those at the beginning."""
        return None if self._first is None else int(self._first.lag)

    @property
    def read(self) -> float | None:
        """Return the events that were read in the phase."""
        if self._first is None or self._last is None:
            return None
        return max(0.0, self._last.read - self._first.read)

    @property
    def freshness(self) -> CountedBuckets:
        """Return how old documents were when they were indexed in the phase."""
        if self._first is None or self._last is None:
            return CountedBuckets()
        return self._last.freshness.since(self._first.freshness)

    @property
    def responses_s(self) -> list[float]:
        """Return the responses of the phase."""
        return self._probe.times_s[self._response_count :]

    def tuples(self) -> tuple[TupleCounters, TupleCounters]:
        """Return the counters of the large table at the beginning and now."""
        return self._tuples, self._database()


def figures_of(
    lines: Sequence[RecordLine], truth: Truth, watch: PhaseWatch, clock: float, scale: float
) -> ExperimentFigures:
    """
    Return the figures of a phase.

    Args:
        lines: the gate's, of the whole load.
        truth: of the same lines.
        watch: of the service and the database, in the same time.
        clock: credit clock.
        scale: events are those of so many parts.
    """
    figures = storage_figures(lines, truth, watch.responses_s, clock)
    length_s = sum(line.dt for line in lines)
    before, after = watch.tuples()
    return replace(
        figures,
        applied_per_s=None if watch.read is None else ratio(watch.read * scale, length_s),
        lag_start=watch.lag_start,
        lag_end=None if watch.lag is None else int(watch.lag),
        freshness_s_p50=watch.freshness.quantile(0.5),
        freshness_s_p99=watch.freshness.quantile(0.99),
        dead_tuples_per_update=after.dead_per_update(before),
        vacuum_due_minutes=ratio(figures.minutes, after.vacuum_due_share(before)),
    )
