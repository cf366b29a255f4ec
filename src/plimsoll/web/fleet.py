"""The fleet: one row for each instance, most urgent first."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from plimsoll.watch.found import BoardEntry
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.reading import CeilingNumbers
from plimsoll.watch.ledger import Acknowledgement
from plimsoll.web import words
from plimsoll.web.spark import Spark, spark_of

_RANK = {WatchState.BOUND: 0, WatchState.UNKNOWN: 1, WatchState.NEARING: 2, WatchState.OK: 4}
# What somebody knows of comes after all that nobody knows of yet.
_ACKNOWLEDGED_RANK = 3
_RATES = ("bytes/s", "ops/s")
STATES = tuple(_RANK)
_NEVER_S = 10**9


class FleetRow(Struct, frozen=True, kw_only=True):
    """One instance, as it is shown."""

    key: str
    rank: str
    """Sorts rows, most urgent first."""
    name: str
    place: str
    """Account and region; empty where there are none."""
    facts: str
    """Class, storage, engine."""
    state: WatchState
    is_acknowledged: bool
    since: str
    ceiling: str
    served: str
    of: str
    used_ratio: float | None
    spark: Spark
    balance: str
    balance_ratio: float | None
    empty_in: str
    data_end: str
    is_simulated: bool
    reason: str
    """Why nothing new was read; empty if it was."""


def is_fresh(entry: BoardEntry, steady_s: float) -> bool:
    """Return whether the numbers of an entry may be shown."""
    until_s = entry.status.fresh_until_s
    return until_s is not None and steady_s <= until_s


def open_alerts(entry: BoardEntry) -> list[Standing]:
    """Return the open alerts of an instance, worst first."""
    found = [s for s in entry.status.standings if s.state is not WatchState.OK]
    return sorted(found, key=lambda s: (_RANK[s.state], s.since_s, s.subject))


def is_known(standing: Standing, known: Mapping[str, Acknowledgement]) -> bool:
    """Return whether somebody acknowledged an alert in its present state."""
    found = known.get(standing.key)
    return found is not None and found.number == standing.number


def row_of(entry: BoardEntry, known: Mapping[str, Acknowledgement], *, fresh: bool) -> FleetRow:
    """
    Return the row of an instance.

    Args:
        entry: what was last found of it.
        known: acknowledgements by the key of the episode.
        fresh: whether its numbers may be shown.
    """
    numbers = entry.status.numbers if fresh else None
    alerts = open_alerts(entry)
    ceilings = numbers.ceilings if numbers else ()
    state = _state_of(ceilings, alerts, is_read=numbers is not None)
    acknowledged = bool(alerts) and all(is_known(alert, known) for alert in alerts)
    alerted = {alert.subject.ceiling: _RANK[alert.state] for alert in reversed(alerts)}
    first = min(ceilings, key=lambda one: _urgency(one, alerted.get(one.ceiling)), default=None)
    empties = [c.empty_in_s for c in ceilings if c.empty_in_s is not None]
    balances = [c.balance_ratio for c in ceilings if c.balance_ratio is not None]
    empty_in_s, balance = min(empties, default=None), min(balances, default=None)
    ratio = first.used_ratio if first else None
    facts = dict(entry.status.numbers.facts) if entry.status.numbers else {}
    instance = entry.status.instance
    rank = _RANK[state]
    if acknowledged and rank < _ACKNOWLEDGED_RANK:
        rank = _ACKNOWLEDGED_RANK
    return FleetRow(
        key=instance.key,
        rank=_sortable(rank, empty_in_s, ratio, instance.name),
        name=words.shown(instance.name),
        place=words.shown(" · ".join(p for p in (instance.account, instance.region) if p)),
        facts=words.shown(" · ".join(facts[n] for n in ("instance_class", "storage_type", "engine") if facts.get(n))),
        state=state,
        is_acknowledged=acknowledged,
        since=words.moment(min((a.since_s for a in alerts), default=0)),
        ceiling=words.family_name(first.ceiling) if first else "",
        served=words.amount(first.served, first.unit) if first else words.NOTHING,
        of=words.amount(first.sustained, first.unit) if first else words.NOTHING,
        used_ratio=ratio,
        spark=spark_of(entry.snapshot if fresh else None, first or CeilingNumbers(ceiling="", unit="")),
        balance=words.percent(balance),
        balance_ratio=balance,
        empty_in=words.duration(empty_in_s),
        data_end=words.moment(entry.status.numbers.at_s if entry.status.numbers else None),
        is_simulated=facts.get("simulated") == "true",
        reason=words.shown(entry.record.reason, 200),
    )


def _state_of(ceilings: Iterable[CeilingNumbers], alerts: list[Standing], *, is_read: bool) -> WatchState:
    """Return the worst of what is announced and of what is found now."""
    states = [alert.state for alert in alerts]
    states += [c.state for c in ceilings if c.state is not None]
    if not is_read:
        states.append(WatchState.UNKNOWN)
    return min(states, key=_RANK.__getitem__, default=WatchState.OK)


def _urgency(one: CeilingNumbers, alerted: int | None) -> tuple[int, bool, float]:
    """Return what sorts the ceilings of an instance: the one that is shown comes first, as a rule that of an alert."""
    calm = _RANK[WatchState.OK]
    return (
        min(_RANK[one.state or WatchState.OK], calm if alerted is None else alerted),
        one.unit not in _RATES,
        -(one.used_ratio or 0.0),
    )


def _sortable(rank: int, empty_in_s: float | None, ratio: float | None, name: str) -> str:
    """Return a text whose order is that of urgency: state, time to empty, headroom, name."""
    empty = min(int(empty_in_s), _NEVER_S) if empty_in_s is not None else _NEVER_S
    # In steps of a twentieth: rows do not change places with every minute.
    free = 9999 - min(int(20 * (ratio or 0.0)), 9999)
    return f"{rank}|{empty // 900:07d}|{free:04d}|{words.shown(name)}"


def summary_of(rows: Iterable[FleetRow]) -> str:
    """Return how many instances are in which state: `2 bound, 44 ok`."""
    rows = list(rows)
    counts = Counter(row.state for row in rows)
    acknowledged = sum(row.is_acknowledged for row in rows)
    parts = [f"{counts[state]} {state.value}" for state in STATES if counts[state]]
    if acknowledged:
        parts.append(f"{acknowledged} acknowledged")
    return ", ".join(parts) or "No instance was read yet"
