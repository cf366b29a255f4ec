"""One instance: its ceilings now, its alerts, and what was sent about it."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from plimsoll.watch.found import BoardEntry
from plimsoll.watch.history import DeliveryState, PastTransition
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.reading import CeilingNumbers
from plimsoll.watch.ledger import Acknowledgement
from plimsoll.web import words
from plimsoll.web.fleet import is_known, open_alerts
from plimsoll.web.spark import Spark, spark_of

# Texts of a message are sentences; one that is longer than a screen is no sentence.
_TEXT_MAX = 600


class LiveCeilingRow(Struct, frozen=True, kw_only=True):
    """One ceiling of an instance at the end of its data."""

    name: str
    state: WatchState | None
    served: str
    of: str
    used_ratio: float | None
    balance: str
    balance_ratio: float | None
    empty_in: str
    spark: Spark


class AlertRow(Struct, frozen=True, kw_only=True):
    """An open alert."""

    key: str
    number: int
    """Of its newest transition: what somebody acknowledges."""
    state: WatchState
    title: str
    about: str
    """Rule and ceiling."""
    since: str
    facts: tuple[str, ...]
    advice: tuple[str, ...]
    runbook: str
    known_by: str
    """Who acknowledged it, when and why; empty if nobody did."""


class TransitionRow(Struct, frozen=True, kw_only=True):
    """A change of a state, and what became of its message."""

    when: str
    state: WatchState
    title: str
    deliveries: tuple[str, ...]


def ceiling_rows(entry: BoardEntry, *, fresh: bool) -> tuple[LiveCeilingRow, ...]:
    """Return the ceilings of an instance; none where its numbers are too old to be shown."""
    numbers = entry.status.numbers
    if numbers is None or not fresh:
        return ()
    return tuple(_ceiling(entry, one) for one in numbers.ceilings if _is_telling(one))


def _is_telling(one: CeilingNumbers) -> bool:
    return one.served is not None or one.balance_ratio is not None or one.state is not None


def _ceiling(entry: BoardEntry, one: CeilingNumbers) -> LiveCeilingRow:
    return LiveCeilingRow(
        name=words.family_name(one.ceiling),
        state=one.state,
        served=words.amount(one.served, one.unit),
        of=words.amount(one.sustained, one.unit),
        used_ratio=one.used_ratio,
        balance=words.percent(one.balance_ratio),
        balance_ratio=one.balance_ratio,
        empty_in=words.duration(one.empty_in_s),
        spark=spark_of(entry.snapshot, one),
    )


def alert_rows(
    entry: BoardEntry, past: Iterable[PastTransition], known: Mapping[str, Acknowledgement]
) -> tuple[AlertRow, ...]:
    """
    Return the open alerts of an instance, worst first.

    Args:
        entry: what was last found of it.
        past: its transitions, newest first.
        known: acknowledgements by the key of the episode.
    """
    newest: dict[str, PastTransition] = {}
    for one in past:
        newest.setdefault(one.key, one)
    return tuple(_alert(s, newest.get(s.key), known) for s in open_alerts(entry))


def _alert(standing: Standing, last: PastTransition | None, known: Mapping[str, Acknowledgement]) -> AlertRow:
    subject = standing.subject
    about = subject.rule + (f" · {words.family_name(subject.ceiling)}" if subject.ceiling else "")
    return AlertRow(
        key=standing.key,
        number=standing.number,
        state=standing.state,
        title=words.shown(last.title, _TEXT_MAX) if last else words.shown(about),
        about=words.shown(about),
        since=words.moment(standing.since_s),
        facts=_shown(last.facts) if last else (),
        advice=_shown(last.advice) if last else (),
        runbook=last.runbook if last and last.runbook.startswith(("https://", "http://")) else "",
        known_by=_known_by(known[standing.key]) if is_known(standing, known) else "",
    )


def _shown(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(words.shown(text, _TEXT_MAX) for text in texts)


def _known_by(known: Acknowledgement) -> str:
    person = words.shown(known.person) if known.person else "Somebody"
    note = f": {words.shown(known.note, 300)}" if known.note else ""
    return f"{person} acknowledged this at {words.moment(known.at_s)} UTC{note}"


def transition_rows(past: Iterable[PastTransition]) -> tuple[TransitionRow, ...]:
    """Return transitions with what became of their messages, newest first."""
    return tuple(
        TransitionRow(
            when=words.moment(one.at_s),
            state=one.state,
            title=words.shown(one.title, _TEXT_MAX),
            deliveries=tuple(_delivery(each) for each in one.deliveries),
        )
        for one in past
    )


def _delivery(one: DeliveryState) -> str:
    name = words.shown(one.receiver)
    if one.sent_s is not None:
        return f"{name}: sent {words.moment(one.sent_s)}"
    if one.error:
        return f"{name}: waits, {one.attempts} failed ({words.shown(one.error, 200)})"
    return f"{name}: waits"
