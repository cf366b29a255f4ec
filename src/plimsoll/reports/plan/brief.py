"""A plan in one screen: whether the current setup is enough, and the cheapest way past its ceiling."""

from dataclasses import dataclass

from plimsoll.model.diagnosis import Verdict
from plimsoll.model.plan import Judgement, Plan
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.plan.steps import steps_of
from plimsoll.reports.render import words
from plimsoll.reports.render.brief import Brief
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import STYLES
from plimsoll.units import in_cases

_TITLES = {
    Judgement.LIFTS: "The current setup is enough",
    Judgement.DOES_NOT: "The current setup is not enough",
    Judgement.UNSURE: "Unsure whether the current setup is enough",
}
_STYLES = {
    Judgement.LIFTS: STYLES[Verdict.SLACK],
    Judgement.DOES_NOT: STYLES[Verdict.BINDS],
    Judgement.UNSURE: STYLES[Verdict.UNKNOWN],
}
# The step to try first and the one after it; the whole plan has the others.
_STEPS_SHOWN = 2


def plan_brief(plan: Plan) -> Brief:
    """Return the brief report of a plan."""
    judgement = plan.present.judgement
    steps = steps_of(plan)[:_STEPS_SHOWN]
    rows = [Fact("Now", words.sentence(plan.present.reason))]
    if steps:
        rows += [Fact("Then" if n else "First step", step) for n, step in enumerate(steps)]
    else:
        rows.append(Fact("Answer", words.sentence(plan.headline)))
        rows.append(Fact("To find out", words.sentence(plan.present.settled_by)))
    return Brief(
        title=f"{plan_words.SIGNS[judgement]} {_TITLES[judgement]}: {words.subject(plan.instance)}",
        style=_STYLES[judgement],
        is_simulated=plan.is_simulated,
        rows=tuple(row for row in rows if row.value),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WayPast:
    """The recommended change of a plan."""

    title: str
    """`db.m6g.xlarge, storage as it is`"""
    price: str
    """`+$0.67 a day`; an unknown price is named as unknown."""
    chance: str
    """`enough in 9 of 10 cases`; empty for a load that uses any throughput it gets."""


def way_past(plan: Plan) -> WayPast | None:
    """Return the recommended change; None where no step is proposed."""
    ladder = plan.ladder
    if ladder is None:
        return None
    rung = ladder.rungs[ladder.recommended]
    option = plan.options[rung.option]
    is_by_hours = plan_words.is_by_hours(plan)
    return WayPast(
        title=words.plain(option.title),
        price=plan_words.usd_per_day_more(option.usd_per_day_more),
        chance="" if is_by_hours else f"enough in {in_cases(rung.chance)} cases",
    )
