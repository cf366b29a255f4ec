"""
Read instances of an account into snapshots.

A failed required request fails its instance; a failed optional one leaves a gap. Other instances are
not affected.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from plimsoll.errors import DataError, PlimsollError, SourceError, UsageError
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Annotation, Gap, Snapshot
from plimsoll.sources.aws import described as describing
from plimsoll.sources.aws import events, insights, instance_types, metric_data, os_metrics, session_load
from plimsoll.sources.aws.account import CONCURRENCY, Account
from plimsoll.sources.aws.described import Described
from plimsoll.sources.aws.extras import Extras, add_reading, add_stretch, extras_of, gap_of
from plimsoll.sources.aws.metric_data import RATES, Grid, MetricAnswer, MetricQuery
from plimsoll.sources.aws.operations import DESCRIBE_CLUSTERS, DESCRIBE_INSTANCE_TYPES, Operation
from plimsoll.sources.aws.workers import Workers
from plimsoll.sources.reading.assemble import assemble
from plimsoll.sources.reading.reading import Reading
from plimsoll.sources.values.shown import counted

Ec2TypeOf = Callable[[str], str | None]
"""Returns the EC2 type of an instance class; None if it is not known."""

# A judgement: enough calls to keep every thread busy while a snapshot is assembled, and few enough
# that a thousand instances are never in memory at once.
CALLS_AHEAD = 2 * CONCURRENCY

T = TypeVar("T")

# RDS reports the current state, so it applies only to a window that ends within this time of now.
_NOW_S = 3600


@dataclass(slots=True)
class _Part:
    """One instance being read: its description, and the requests that were sent for it."""

    described: Described
    calls: range
    """Indices of the metric calls that have its queries."""
    extras: "Future[Extras] | None" = None


def read_instance(
    account: Account,
    identifier: str,
    window_s: tuple[int, int],
    *,
    ec2_type_of: Ec2TypeOf,
    fine_s: int = 3600,
    has_statements: bool = False,
) -> tuple[Snapshot, Described]:
    """
    Return the snapshot of one instance, and what RDS says of it.

    Args:
        identifier: its name or its ARN; the ARN's region takes precedence over the account's.
        window_s: epoch seconds, [start, end).
        ec2_type_of: returns the EC2 type of a class.
        fine_s: length of the part to read by the second if Enhanced Monitoring is finer than a minute; 0
            for none.
        has_statements: whether `session_load.with_statements` follows, whose requests are planned for, too.

    Raises:
        UsageError: no such instance, a window that CloudWatch does not keep, or more requests than
            allowed.
        SourceError: AWS refused a required request, or did not answer.
        DataError: there is no sample of the instance.
    """
    region, name = describing.region_of(identifier)
    if region is not None:
        account = account.in_region(region)
    grid = _grid_of(account, window_s)
    found = describing.describe_one(account, name)
    if not found.is_rds:
        raise _not_rds(found)
    run = _InstanceReading(account, [found], window_s, grid, ec2_type_of, fine_s, has_statements=has_statements)
    ((described, result),) = run.results()
    if isinstance(result, PlimsollError):
        raise result
    return result, described


def read_instances(
    account: Account,
    pattern: str,
    window_s: tuple[int, int],
    *,
    ec2_type_of: Ec2TypeOf,
    fine_s: int = 0,
    metrics: Sequence[Metric] = metric_data.WANTED,
    is_chosen: Callable[[Described], bool] = lambda _described: True,
) -> Iterator[Snapshot | UnreadInstance]:
    """
    Yield the snapshot of every instance whose name matches, in order of names.

    Args:
        pattern: shell pattern, upper and lower case equal: `*`, `orders-*`.
        window_s, ec2_type_of, fine_s: as for `read_instance`.
        metrics: to ask for; each costs the same whatever the window.
        is_chosen: takes what RDS says of a matching instance; the others are not read.

    Returns:
        A snapshot for each chosen instance, or why it could not be read. Little more is in memory than the caller
        keeps.

    Raises:
        UsageError: no name matches, a window that CloudWatch does not keep, or more requests than
            allowed.
        SourceError: the instances could not be listed.
    """
    grid = _grid_of(account, window_s)
    every = [found for found in describing.describe_all(account, pattern) if is_chosen(found)]
    readable = [d for d in every if d.is_rds]
    results = _InstanceReading(account, readable, window_s, grid, ec2_type_of, fine_s, metrics).results()
    for found in every:
        if not found.is_rds:
            yield _unread(found, _not_rds(found))
            continue
        described, result = next(results)
        assert described.instance.identifier == found.instance.identifier
        yield _unread(found, result) if isinstance(result, PlimsollError) else result


class _InstanceReading:
    """Reads instances that are already described."""

    def __init__(
        self,
        account: Account,
        every: Sequence[Described],
        window_s: tuple[int, int],
        grid: Grid,
        ec2_type_of: Ec2TypeOf,
        fine_s: int,
        metrics: Sequence[Metric] = metric_data.WANTED,
        *,
        has_statements: bool = False,
    ) -> None:
        self._account = account
        self._has_statements = has_statements
        self._window_s = window_s
        self._grid = grid
        self._ec2_type_of = ec2_type_of
        self._fine_s = fine_s
        self._metrics = metrics
        self._shared_gaps: dict[str, list[Gap]] = {}
        self._every = list(every)
        self._calls = metric_data.packed([d.instance.identifier for d in self._every], grid.points, metrics=metrics)

    def results(self) -> Iterator[tuple[Described, Snapshot | PlimsollError]]:
        """Yield every instance in order, with its snapshot or the error."""
        self._account.meter.refuse_beyond(self._calls_left(), counted(len(self._every), "instance"))
        self._account.meter.keep(len(self._calls))
        self._add_capacities()
        self._add_type_facts()
        with Workers(CONCURRENCY) as workers:
            yield from self._in_order(workers)

    def _calls_left(self) -> int:
        """
        Return the number of requests for instances that are described, if none fails.

        It is exact but for Enhanced Monitoring by the second, whose pages depend on the length of the documents,
        and for statements, which are asked for only where a limit was reached; for those it is the largest
        possible number.
        """
        every, now_s = self._every, self._account.now_s()
        total = len(self._calls)
        total += _pages(len({d.cluster for d in every if d.is_serverless}), describing.RECORDS_A_PAGE)
        total += _pages(len(self._types()), instance_types.TYPES_A_CALL)
        total += len(every) if events.is_kept(self._window_s, now_s) else 0
        total += sum(os_metrics.calls_for(d.monitoring_interval_s, self._fine_s) for d in every if os_metrics.is_on(d))
        an_instance = 1 + (session_load.CALLS if self._has_statements else 0)
        return total + an_instance * sum(insights.is_read(d, self._window_s, now_s) for d in every)

    def _in_order(self, workers: Workers) -> Iterator[tuple[Described, Snapshot | PlimsollError]]:
        answers: dict[int, Future[MetricAnswer]] = {}
        submitted = 0
        waiting = deque(self._parts())
        begun: deque[_Part] = deque()
        while waiting or begun:
            while waiting and len(begun) < CALLS_AHEAD:
                part = waiting[0]
                if begun and part.calls.stop > begun[0].calls.stop + CALLS_AHEAD:
                    break
                for index in range(submitted, part.calls.stop):
                    answers[index] = workers.submit(metric_data.ask, self._account, self._calls[index], self._grid)
                submitted = max(submitted, part.calls.stop)
                part.extras = workers.submit(extras_of, self._account, part.described, self._window_s)
                begun.append(waiting.popleft())
            part = begun.popleft()
            yield part.described, self._result(part, answers)
            following = begun or waiting
            keep_from = following[0].calls.start if following else submitted
            for index in [i for i in answers if i < keep_from]:
                del answers[index]

    def _parts(self) -> list[_Part]:
        size = metric_data.queries_a_call(self._grid.points)
        wanted = len(self._metrics)
        return [
            _Part(described, range(i * wanted // size, ((i + 1) * wanted - 1) // size + 1))
            for i, described in enumerate(self._every)
        ]

    def _result(self, part: _Part, answers: dict[int, "Future[MetricAnswer]"]) -> Snapshot | PlimsollError:
        try:
            return self._snapshot(part, [answers[index].result() for index in part.calls])
        except PlimsollError as error:
            return error

    def _snapshot(self, part: _Part, answers: list[MetricAnswer]) -> Snapshot:
        described = part.described
        name = described.instance.identifier
        assert part.extras is not None
        reading = Reading(described=[described.instance])
        failures: dict[MetricQuery, PlimsollError] = {}
        for answer in answers:
            add_reading(answer.readings.pop(name, Reading()), reading)
            failures |= {q: e for q, e in answer.failures.items() if q.identifier == name}
        if not reading.blocks:
            raise next(iter(failures.values()), None) or self._no_sample(described, reading)
        reading.gaps += _failure_gaps(failures)
        extras = part.extras.result()
        add_reading(extras.reading, reading)
        reading.gaps += [*described.gaps, *self._shared_gaps.get(name, ())]
        snapshot = self._assembled(described, reading)
        if add_stretch(self._account, described, snapshot, self._grid, self._fine_s, reading=reading):
            snapshot = self._assembled(described, reading)
        return msgspec.structs.replace(
            snapshot,
            asked_s=self._window_s,
            gaps=(*snapshot.gaps, *_rate_gaps(snapshot)),
            annotations=self._annotations(described, extras.annotations),
        )

    def _assembled(self, described: Described, reading: Reading) -> Snapshot:
        name = described.instance.identifier
        return assemble(reading, identifier=name, source=f"rds:{name} in {self._account.region}", has_units=True)

    # --- optional requests ------------------------------------------------------------------------

    def _add_capacities(self) -> None:
        serverless = [d for d in self._every if d.is_serverless]
        clusters = sorted({d.cluster for d in serverless if d.cluster is not None})
        found = self._shared(describing.capacities, clusters, serverless, "Aurora capacity", DESCRIBE_CLUSTERS)
        self._every = [
            describing.with_capacity(d, found[d.cluster]) if d.is_serverless and d.cluster in found else d
            for d in self._every
        ]

    def _add_type_facts(self) -> None:
        types = self._types()
        found = self._shared(instance_types.facts_of, types, self._every, "EC2 limits", DESCRIBE_INSTANCE_TYPES)
        self._every = [
            msgspec.structs.replace(d, instance=instance_types.with_facts(d.instance, found[t]))
            if (t := self._type_of(d)) in found
            else d
            for d in self._every
        ]

    def _shared(
        self,
        ask: Callable[[Account, list[str]], dict[str, T]],
        about: list[str],
        every: Sequence[Described],
        name: str,
        operation: Operation,
    ) -> dict[str, T]:
        """Return what is asked for several instances together; a failure leaves the gap with each of them."""
        try:
            return ask(self._account, about) if about else {}
        except PlimsollError as error:
            for described in every:
                gap = gap_of(name, operation, error)
                self._shared_gaps.setdefault(described.instance.identifier, []).append(gap)
            return {}

    # --- small parts ------------------------------------------------------------------------------

    def _types(self) -> list[str]:
        return sorted({t for d in self._every if (t := self._type_of(d)) is not None})

    def _type_of(self, described: Described) -> str | None:
        db_class = described.instance.db_class
        return None if db_class is None else self._ec2_type_of(db_class)

    def _annotations(self, described: Described, found: list[Annotation]) -> tuple[Annotation, ...]:
        now_s = self._account.now_s()
        if described.operation is not None and now_s - self._window_s[1] < _NOW_S:
            since_s = described.operation.time_s or min(int(now_s), self._window_s[1] - 1)
            found = [*found, msgspec.structs.replace(described.operation, time_s=since_s)]
        return tuple(sorted(found, key=lambda a: (a.time_s, a.text)))

    def _no_sample(self, described: Described, reading: Reading) -> PlimsollError:
        name, status = described.instance.identifier, described.status
        failed = next((gap for gap in reading.gaps if gap.is_failed), None)
        if failed is not None:
            return SourceError(f"no metric of '{name}' was read: {failed.reason}", failed.remedy)
        return DataError(
            f"CloudWatch has no sample of '{name}' in this window; its status is '{status}'",
            "Give a window in which the instance ran.",
        )


def _grid_of(account: Account, window_s: tuple[int, int]) -> Grid:
    """
    Return the grid of a window, before the first request.

    Raises:
        UsageError: CloudWatch does not keep the window, or more requests than allowed for a single instance.
    """
    now_s = account.now_s()
    grid = metric_data.grid_of(window_s, now_s)
    least = 1 + metric_data.calls_for(1, grid.points) + events.is_kept(window_s, now_s)
    account.meter.refuse_beyond(least, "1 instance")
    return grid


def _pages(count: int, a_page: int) -> int:
    return -(-count // a_page)


def _failure_gaps(failures: dict[MetricQuery, PlimsollError]) -> list[Gap]:
    """Return gaps for the metrics whose requests failed, grouped by cause."""
    by_cause: dict[tuple[str, str], list[str]] = {}
    for query, error in failures.items():
        name = METRICS[query.metric].cloudwatch or query.metric.value
        by_cause.setdefault((error.message, error.hint), []).append(name)
    return [
        Gap(metric=", ".join(names), reason=reason, remedy=remedy, is_failed=True)
        for (reason, remedy), names in by_cause.items()
    ]


def _rate_gaps(snapshot: Snapshot) -> list[Gap]:
    """Return gaps for missing rates that every instance has; other metrics may be absent by design."""
    known = {gap.metric for gap in snapshot.gaps}
    failed = {name for gap in snapshot.gaps for name in gap.metric.split(", ")}
    return [
        Gap(
            metric=metric.value,
            reason="CloudWatch has no sample of it in this window",
            remedy="Give a window in which the instance ran.",
        )
        for metric in RATES
        if metric not in snapshot.series and metric.value not in known and METRICS[metric].cloudwatch not in failed
    ]


def _not_rds(described: Described) -> UsageError:
    instance = described.instance
    return UsageError(
        f"'{instance.identifier}' runs {instance.engine}, which is not supported", "Name an instance of RDS or Aurora."
    )


def _unread(described: Described, error: PlimsollError) -> UnreadInstance:
    return UnreadInstance(identifier=described.instance.identifier, reason=error.message, remedy=error.hint)
