"""The ladder in sentences: the step to try first, the next ones, and their expected cost."""

from decimal import Decimal

from plimsoll.model.plan import Ladder, Option, Plan, RungKind
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.render import words
from plimsoll.units import in_cases, number


def steps_of(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each step, then one for the whole; empty where there is no ladder."""
    ladder = plan.ladder
    if ladder is None:
        return ()
    steps = [_step(plan, place) for place in range(len(ladder.rungs))]
    steps += [words.sentence(ladder.note), _certain(plan, ladder), _expected(ladder)]
    return tuple(part for part in steps if part)


def _step(plan: Plan, place: int) -> str:
    assert plan.ladder is not None
    rung, recommended = plan.ladder.rungs[place], plan.ladder.recommended
    option = plan.options[rung.option]
    named = _named(option, rung.option)
    if rung.kind is RungKind.SOONER:
        return _sooner(plan, place, named)
    chance = f"enough in {in_cases(rung.chance)} cases we consider possible"
    if rung.kind is RungKind.FREE:
        is_advised = plan_words.is_recommended(plan.ladder, place)
        lead = "Recommended, and free" if is_advised else "First, because it is free"
        return f"{lead}: {named}: {chance}."
    after = f"then enough in {in_cases(rung.chance_after)} cases"
    if rung.kind is RungKind.SIZE_UP:
        later = "; if the free step was not, in " + in_cases(rung.chance_after) if place else ""
        return f"One size up: {named}: {chance}{later}."
    if place < recommended:
        return f"Cheaper try: {named}: {chance}."
    if place == recommended:
        is_advised = plan_words.is_recommended(plan.ladder, place)
        return f"{'Recommended' if is_advised else 'Most likely'}: {named}: {chance}."
    return f"If it reaches its ceiling again: {named}: {after}."


def _sooner(plan: Plan, place: int, named: str) -> str:
    """Return `Recommended: option 2, db.m6g.xlarge ($0.67 a day more): the same work in 6.9 h instead of …`."""
    assert plan.ladder is not None
    rung = plan.ladder.rungs[place]
    took, takes = (plan_words.work(one.effect.work) for one in (plan.present, plan.options[rung.option]))
    work = f"the same work in {takes} instead of {took}"
    if place > plan.ladder.recommended:
        return f"If that is not soon enough: {named}: {work}."
    return f"Recommended: {named}: {work}; the load uses any throughput it gets in {in_cases(rung.chance)} cases."


def _certain(plan: Plan, ladder: Ladder) -> str:
    """Return the price of near certainty, if it is no step of the ladder."""
    if ladder.certain is None or any(rung.option == ladder.certain for rung in ladder.rungs):
        return ""
    lead = "Almost certain today"
    if plan_words.is_by_hours(plan):
        lead = "Almost certain to stay below its ceiling, if demand is fixed"
    return f"{lead}: {_named(plan.options[ladder.certain], ladder.certain)}."


def _expected(ladder: Ladder) -> str:
    first, *rest = ladder.rungs[ladder.recommended :]
    later = [rung for rung in rest if rung.kind is RungKind.ENOUGH]
    if first.kind is RungKind.FREE and not later:
        return "If that is not enough, no allowed and priced option is likely to be."
    if ladder.usd_per_day_more is None or not later:
        return ""
    steps = f"{number(ladder.step_count, 2)} steps"
    return f"Expected: {steps}, and {_more(ladder.usd_per_day_more)} for the last one."


def _named(option: Option, place: int) -> str:
    price = (
        f"{plan_words.usd_per_day(option.cost.usd_per_day)} in total"
        if option.usd_per_day_more is None
        else _more(option.usd_per_day_more)
    )
    return f"option {place + 1}, {words.plain(option.title)} ({price})"


def _more(usd_per_day: Decimal) -> str:
    """Return `$0.67 a day more`."""
    text = plan_words.usd_per_day(abs(usd_per_day))
    if plan_words.usd_more(usd_per_day) == "same price":
        return "at the same price"
    return f"{text} {'more' if usd_per_day > 0 else 'less'}"
