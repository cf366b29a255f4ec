"""One evaluation of one instance: conditions and what is remembered in, what is remembered and transitions out."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.machine import Standing, Transition, ended, step
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rulebook import RuleTables, timing_of
from plimsoll.watch.law.rules.bound import RESOURCES
from plimsoll.watch.law.subject import AlertSubject, instance_key

_RANK = {WatchState.OK: 0, WatchState.NEARING: 1, WatchState.BOUND: 2, WatchState.UNKNOWN: 2}


class WatchedInstance(Struct, frozen=True, kw_only=True, order=True):
    """One instance, wherever it is."""

    account: str
    region: str
    name: str

    @property
    def key(self) -> str:
        """Return its key in addresses of the page."""
        return instance_key(self.account, self.region, self.name)

    def subject(self, rule: str, ceiling: str = "") -> AlertSubject:
        """Return the subject of a rule for one ceiling of this instance."""
        return AlertSubject(account=self.account, region=self.region, instance=self.name, rule=rule, ceiling=ceiling)


class Evaluation(Struct, frozen=True, kw_only=True):
    """What follows from one reading of one instance."""

    standings: tuple[Standing, ...]
    """Of every subject of the rules that were judged."""
    transitions: tuple[Transition, ...]
    announced: tuple[Transition, ...]
    """Those of the transitions that people are to read about."""


def evaluate(
    instance: WatchedInstance,
    found: Mapping[str, tuple[Condition, ...]],
    remembered: Iterable[Standing],
    tables: RuleTables,
    *,
    at_s: int,
) -> Evaluation:
    """
    Return what follows from the conditions of an instance.

    Args:
        instance: what was read.
        found: conditions by rule; rules that are absent are not judged.
        remembered: standings of this instance.
        tables: settings of the rules.
        at_s: end of the data, epoch seconds.
    """
    before = {standing.subject: standing for standing in remembered}
    standings: list[Standing] = []
    transitions: list[Transition] = []
    announced: list[Transition] = []
    for rule, conditions in found.items():
        timing = timing_of(rule, tables.of(rule))
        for condition in (*conditions, *_absent(rule, conditions, before, at_s)):
            subject = instance.subject(rule, condition.ceiling)
            standing, transition = step(before.get(subject) or Standing(subject=subject), condition, timing)
            if transition is not None:
                transitions.append(transition)
                was_announced = before.get(subject, standing).is_announced
                if was_announced or _is_worth_a_message(transition, tables):
                    announced.append(transition)
                    is_open = transition.state is not WatchState.OK
                    standing = replace(standing, is_announced=is_open)
            standings.append(standing)
    return Evaluation(standings=tuple(standings), transitions=tuple(transitions), announced=tuple(announced))


def departed(remembered: Iterable[Standing], condition: Condition) -> Evaluation:
    """
    Return what follows when an instance is not watched any more: every open episode ends.

    Args:
        remembered: standings of the instance.
        condition: unknown; its text says why the instance is not watched any more.
    """
    pairs = [
        (standing, ended(standing, replace(condition, ceiling=standing.subject.ceiling)))
        for standing in remembered
        if standing.state is not WatchState.OK
    ]
    return Evaluation(
        standings=(),
        transitions=tuple(transition for _, transition in pairs),
        announced=tuple(transition for standing, transition in pairs if standing.is_announced),
    )


def _is_worth_a_message(transition: Transition, tables: RuleTables) -> bool:
    softest = WatchState(tables.of(transition.subject.rule).notify)
    return _RANK[transition.state] >= _RANK[softest]


def _absent(
    rule: str, conditions: tuple[Condition, ...], before: Mapping[AlertSubject, Standing], at_s: int
) -> list[Condition]:
    """
    Return conditions for ceilings that have an open alert and are no longer found, for example a legacy limit.

    They are ok only where everything that the rule found is known. A resource is always found where it is measured.
    """
    shown = {condition.ceiling for condition in conditions}
    missing = [s for s in before.values() if s.subject.rule == rule]
    missing = [s for s in missing if s.subject.ceiling not in shown]
    is_known = all(condition.is_known for condition in conditions)
    return [
        Condition(
            ceiling=standing.subject.ceiling,
            at_s=at_s,
            is_known=is_known and not (rule == "bound" and standing.subject.ceiling in RESOURCES),
            text="shows nothing more",
        )
        for standing in missing
        if standing.state is not WatchState.OK or standing.bound.since_s or standing.nearing.since_s
    ]
