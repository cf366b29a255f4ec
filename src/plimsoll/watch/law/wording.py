"""How a transition reads: one sentence with number, unit, comparison, since when, and whether it is now."""

from msgspec import Struct

from plimsoll.model.severity import Severity
from plimsoll.units import format_clock, format_duration
from plimsoll.watch.law.machine import Transition
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.law.rulebook import RULES, UNKNOWN
from plimsoll.watch.law.subject import AlertSubject, instance_key

SIMULATED = "These data are simulated"


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a message says beyond its transition."""

    advice: tuple[str, ...] = ()
    """What to do first, in order."""
    is_simulated: bool = False
    page_base: str = ""
    """Beginning of the address of the page of an instance; empty if there is none."""
    runbook_base: str = ""
    """Beginning of the address of every runbook; empty if there are none."""
    picture_png: bytes = b""


def message_of(transition: Transition, surroundings: Surroundings) -> Message:
    """Return the message about a transition, the same for every receiver."""
    subject, condition = transition.subject, transition.condition
    base = surroundings.runbook_base
    is_over = transition.state is WatchState.OK
    facts = () if is_over and condition.is_known else condition.facts
    return Message(
        key=transition.key,
        number=transition.number,
        state=transition.state,
        severity=severity_of(transition),
        account=subject.account,
        region=subject.region,
        instance=subject.instance,
        rule=subject.rule,
        ceiling=condition.name,
        title=title_of(transition),
        facts=(*facts, SIMULATED) if surroundings.is_simulated else facts,
        advice=() if is_over else surroundings.advice,
        since_s=transition.since_s,
        at_s=condition.at_s,
        is_simulated=surroundings.is_simulated,
        link=_link(surroundings.page_base, subject),
        runbook=f"{base}{subject.rule}.md" if base else "",
        picture_png=surroundings.picture_png,
    )


def _link(page_base: str, subject: AlertSubject) -> str:
    key = instance_key(subject.account, subject.region, subject.instance)
    return f"{page_base.rstrip('/')}/instances/{key}" if page_base else ""


def severity_of(transition: Transition) -> Severity:
    """Return the severity of a transition; the end of an episode is a note."""
    facts = RULES[transition.subject.rule]
    if transition.state is WatchState.OK:
        return "note"
    return facts.nearing_severity if transition.state is WatchState.NEARING else facts.severity


def title_of(transition: Transition) -> str:
    """Return the sentence of a transition, without a full stop."""
    name, condition = transition.subject.instance, transition.condition
    if transition.state is WatchState.OK:
        lasted = format_duration(condition.at_s - transition.since_s)
        if not condition.is_known:
            return (
                f"{name} {condition.text}, so this alert ends. It was open for {lasted}, from "
                f"{format_clock(transition.since_s)} UTC"
            )
        ended = condition.ended or RULES[transition.subject.rule].ended
        return (
            f"{name} {ended}: it {condition.text} now. The alert lasted {lasted}, from "
            f"{format_clock(transition.since_s)} UTC"
        )
    since = f"since {format_clock(transition.level_since_s)} UTC"
    if transition.subject.rule == UNKNOWN:
        return f"{name} {condition.text}, {since}"
    held_s = condition.at_s - transition.level_since_s
    if held_s <= 0:
        return f"{name} {condition.text}, now ({format_clock(condition.at_s)} UTC)"
    eased = "no longer binds, but " if transition.before is WatchState.BOUND else ""
    return f"{name} {eased}{condition.text}, {since} and still now ({format_duration(held_s)})"
