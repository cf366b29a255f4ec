"""
Which metrics the watch exposes, and their samples, from what it last found.

Rule 1: what is unknown has no sample. It is never 0, and never the last known value.
Rule 2: base units, ratios 0–1, and the three labels of an instance that Qonto's exporter uses, so that both join.
Rule 3: an alert has a sample while it is open, and none while it is ok, as `ALERTS` of Prometheus.

Source:
    Prometheus, "Metric and label naming"; prometheus-rds-exporter 0.18.1, labels.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.reading import CeilingNumbers, InstanceNumbers

PREFIX = "plimsoll_"
IDENTITY = ("aws_account_id", "aws_region", "dbidentifier")
_CEILING = (*IDENTITY, "ceiling")
_FACTS = ("instance_class", "storage_type", "engine", "simulated")
# Endings of names by unit. A ratio of its own maximum is `used_ratio` already.
_UNITS = {"bytes/s": "bytes_per_second", "ops/s": "operations_per_second", "bytes": "bytes", "count": "connections"}
_STATES = (WatchState.OK, WatchState.NEARING, WatchState.BOUND, WatchState.UNKNOWN)

_SECRETS = re.compile(r"(?<=//)[^/?#]*@|[?#].*")

Kind = Literal["gauge", "counter", "info"]


class ExposedMetric(Struct, frozen=True, kw_only=True):
    """One metric; its name has the prefix and the ending that its kind asks for."""

    name: str
    kind: Kind = "gauge"
    labels: tuple[str, ...] = ()
    meaning: str
    """A sentence without full stop, the same in the exposition and in the guide."""


class MetricSample(Struct, frozen=True, kw_only=True):
    """One value of a metric; its labels are in the order of the metric's."""

    name: str
    labels: tuple[str, ...] = ()
    value: float


class InstanceStatus(Struct, frozen=True, kw_only=True):
    """What the loop last found of one instance."""

    instance: WatchedInstance
    standings: tuple[Standing, ...]
    """Of the rules that are on."""
    numbers: InstanceNumbers | None
    """None where this process has read nothing yet."""
    fresh_until_s: float | None
    """Steady time until which the numbers may be shown; None if they may not any more."""
    interval_s: float | None


class OwnerStatus(Struct, frozen=True, kw_only=True):
    """What the owner of the lease knows, after a turn of the loop."""

    instances: tuple[InstanceStatus, ...]
    month_usd: float | None
    """Cost of the requests of this calendar month; None where the price is not known."""
    budget_usd: float | None
    planned_usd: float | None
    """Cost of 30 days at the present intervals."""
    waiting: Mapping[str, int]
    """Messages that wait, by receiver."""


class ProcessStatus(Struct, frozen=True, kw_only=True):
    """What this process knows of itself."""

    version: str
    is_owner: bool
    round_s: float | None
    """Epoch seconds of the end of the last turn of the loop; None before the first."""
    counts: Mapping[tuple[str, str], int]
    """Events since the start by name of the counter and value of its label."""


def _gauge(name: str, labels: tuple[str, ...], meaning: str) -> ExposedMetric:
    return ExposedMetric(name=PREFIX + name, labels=labels, meaning=meaning)


def _counter(name: str, label: str, meaning: str) -> ExposedMetric:
    labels = (label,) if label else ()
    return ExposedMetric(name=PREFIX + name, kind="counter", labels=labels, meaning=meaning)


INFO = ExposedMetric(
    name=f"{PREFIX}instance_info",
    kind="info",
    labels=(*IDENTITY, *_FACTS),
    meaning="What the instance is, for joins; always 1",
)
BUILD = ExposedMetric(
    name=f"{PREFIX}build_info", kind="info", labels=("version",), meaning="Version of the program; always 1"
)
VERDICT = _gauge("instance_verdict", (*IDENTITY, "verdict"), "1 for the verdict of the last window, else 0")
DATA_TIME = _gauge("instance_data_timestamp_seconds", IDENTITY, "End of the newest complete minute that was read")
DATA_AGE = _gauge("instance_data_age_seconds", IDENTITY, "Age of the newest complete minute that was read")
STALE = _gauge(
    "instance_stale",
    IDENTITY,
    "1 if nothing new was read for 15 minutes: use, balance and forecasts are then left out; else 0",
)
INTERVAL = _gauge("instance_poll_interval_seconds", IDENTITY, "Time between polls of the instance")
CATALOG = _gauge(
    "instance_catalog_timestamp_seconds",
    IDENTITY,
    "Day on which the oldest documented number of its ceilings was read from its source",
)
CEILINGS = {
    unit: _gauge(f"ceiling_{name}", (*_CEILING, "phase"), "What the ceiling allows, by phase")
    for unit, name in _UNITS.items()
}
SERVED = {unit: _gauge(f"served_{name}", _CEILING, "What is used of the ceiling now") for unit, name in _UNITS.items()}
HEADROOM = {
    unit: _gauge(f"headroom_{name}", _CEILING, "What is free below the baseline or fixed ceiling; 0 above it")
    for unit, name in _UNITS.items()
}
USED = _gauge(
    "ceiling_used_ratio", _CEILING, "What is used of the baseline or fixed ceiling; above 1 while credits are spent"
)
BALANCE = _gauge("balance_ratio", _CEILING, "Credits that are left")
EMPTY = _gauge("time_to_empty_seconds", _CEILING, "Time until credits are spent or space is full, at the present rate")
STATE = _gauge(
    "ceiling_state",
    (*_CEILING, "state"),
    "1 for what is found now, before any delay: ok, nearing, bound or unknown; else 0",
)
ALERT = _gauge("alert", (*IDENTITY, "rule", "ceiling", "state"), "1 while an alert is open")
ALERT_TIME = _gauge(
    "alert_start_timestamp_seconds", (*IDENTITY, "rule", "ceiling"), "Time at which an open alert began"
)
OWNER = _gauge("watch_lease_owner", (), "1 if this process has the lease and reads, 0 for a spare")
ROUND_TIME = _gauge("watch_last_round_timestamp_seconds", (), "End of the last turn of the loop")
INSTANCES = _gauge("watch_instances", (), "Instances that are watched")
MONTH = _gauge("watch_month_cost_dollars", (), "Cost of the metrics requested in this calendar month (UTC)")
BUDGET = _gauge("watch_month_budget_dollars", (), "Budget of a calendar month")
PLANNED = _gauge("watch_planned_cost_dollars", (), "Cost of 30 days at the present intervals")
OUTBOX = _gauge("watch_outbox_messages", ("receiver",), "Messages that are queued and not sent")
ROUNDS = _counter("watch_rounds_total", "", "Turns of the loop, also as a spare")
POLLS = _counter("watch_polls_total", "target", "Readings of a target")
POLL_ERRORS = _counter("watch_poll_errors_total", "target", "Targets and instances that could not be read")
REQUESTED = _counter("watch_metrics_requested_total", "target", "Metrics requested, which CloudWatch bills")
INSPECTIONS = _counter("watch_inspections_total", "dbidentifier", "Inspections of a database")
INSPECTION_ERRORS = _counter("watch_inspection_errors_total", "dbidentifier", "Inspections that brought nothing")
LEDGER_ERRORS = _counter("watch_ledger_errors_total", "", "Turns that the ledger refused")
SENT = _counter("watch_messages_sent_total", "receiver", "Messages sent")
FAILED = _counter("watch_messages_failed_total", "receiver", "Attempts to send a message that failed")

COUNTERS = (ROUNDS, POLLS, POLL_ERRORS, REQUESTED, INSPECTIONS, INSPECTION_ERRORS, LEDGER_ERRORS, SENT, FAILED)
METRIC_TABLE: tuple[ExposedMetric, ...] = (
    INFO,
    VERDICT,
    DATA_TIME,
    DATA_AGE,
    STALE,
    INTERVAL,
    CATALOG,
    *CEILINGS.values(),
    *SERVED.values(),
    *HEADROOM.values(),
    USED,
    BALANCE,
    EMPTY,
    STATE,
    ALERT,
    ALERT_TIME,
    BUILD,
    OWNER,
    ROUND_TIME,
    INSTANCES,
    MONTH,
    BUDGET,
    PLANNED,
    OUTBOX,
    *COUNTERS,
)
"""Every metric, in the order in which it is exposed."""


def target_label(target: str) -> str:
    """Return a target without what an address may carry of secrets: a user with a password, and a query."""
    return _SECRETS.sub("", target)


def samples_of(
    process: ProcessStatus, owner: OwnerStatus | None, *, now_s: float, steady_s: float
) -> tuple[MetricSample, ...]:
    """
    Return all samples.

    Args:
        process: this process.
        owner: what it knows of the instances; None for a spare, which knows nothing of them.
        now_s: epoch seconds.
        steady_s: steady time, the clock of `fresh_until_s`.
    """
    found = [*_of_process(process)]
    if owner is not None:
        found += _of_owner(owner)
        for status in owner.instances:
            found += _of_instance(status, now_s=now_s, steady_s=steady_s)
    # One instance may be named by two targets of one account; a series may be there once only.
    return tuple({(sample.name, sample.labels): sample for sample in found}.values())


def _one(metric: ExposedMetric, value: float | None, labels: tuple[str, ...] = ()) -> Iterator[MetricSample]:
    """Yield a sample, or none where the value is unknown."""
    assert len(labels) == len(metric.labels), metric.name
    if value is not None:
        yield MetricSample(name=metric.name, labels=labels, value=float(value))


def _of_process(process: ProcessStatus) -> Iterator[MetricSample]:
    yield from _one(BUILD, 1, (process.version,))
    yield from _one(OWNER, process.is_owner)
    yield from _one(ROUND_TIME, process.round_s)
    for (name, label), count in process.counts.items():
        metric = next(m for m in COUNTERS if m.name == name)
        yield from _one(metric, count, (label,) if metric.labels else ())


def _of_owner(owner: OwnerStatus) -> Iterator[MetricSample]:
    yield from _one(INSTANCES, len(owner.instances))
    yield from _one(MONTH, owner.month_usd)
    yield from _one(BUDGET, owner.budget_usd)
    yield from _one(PLANNED, owner.planned_usd)
    for receiver, count in owner.waiting.items():
        yield from _one(OUTBOX, count, (receiver,))


def _of_instance(status: InstanceStatus, *, now_s: float, steady_s: float) -> Iterator[MetricSample]:
    place, numbers = _place(status.instance), status.numbers
    is_fresh = status.fresh_until_s is not None and steady_s <= status.fresh_until_s
    yield from _one(STALE, not is_fresh, place)
    yield from _one(INTERVAL, status.interval_s, place)
    shown = numbers.verdict if numbers is not None and is_fresh else Verdict.UNKNOWN
    for verdict in Verdict:
        yield from _one(VERDICT, verdict is shown, (*place, verdict.value))
    yield from _alerts(place, status.standings)
    if numbers is None:
        return
    yield from _one(INFO, 1, (*place, *(dict(numbers.facts)[name] for name in _FACTS)))
    yield from _one(DATA_TIME, numbers.at_s, place)
    yield from _one(DATA_AGE, max(now_s - numbers.at_s, 0.0), place)
    yield from _one(CATALOG, numbers.catalog_s, place)
    for one in numbers.ceilings:
        yield from _of_ceiling(one, (*place, one.ceiling), is_fresh=is_fresh)


def _of_ceiling(one: CeilingNumbers, labels: tuple[str, ...], *, is_fresh: bool) -> Iterator[MetricSample]:
    if one.state is not None:
        state = one.state if is_fresh else WatchState.UNKNOWN
        for each in _STATES:
            yield from _one(STATE, each is state, (*labels, each.value))
    if one.unit in _UNITS:
        for phase, value in one.limits:
            yield from _one(CEILINGS[one.unit], value, (*labels, phase))
    if not is_fresh:
        return
    yield from _one(BALANCE, one.balance_ratio, labels)
    yield from _one(EMPTY, one.empty_in_s, labels)
    if one.unit in _UNITS:
        yield from _one(SERVED[one.unit], one.served, labels)
    if one.served is None or not one.sustained:
        return
    yield from _one(USED, one.used_ratio, labels)
    if one.unit in _UNITS:
        yield from _one(HEADROOM[one.unit], max(one.sustained - one.served, 0.0), labels)


def _alerts(place: tuple[str, ...], standings: Iterable[Standing]) -> Iterator[MetricSample]:
    for standing in standings:
        if standing.state is WatchState.OK:
            continue
        subject = (standing.subject.rule, standing.subject.ceiling)
        yield from _one(ALERT, 1, (*place, *subject, standing.state.value))
        yield from _one(ALERT_TIME, standing.since_s, (*place, *subject))


def _place(instance: WatchedInstance) -> tuple[str, str, str]:
    return instance.account, instance.region, instance.name
