"""The ladder in sentences: what to try first, what after it, and what that is expected to cost."""

from decimal import Decimal

from plimsoll.model.plan import FREE, Ladder, Option, Plan
from plimsoll.sinks import plan_words as said_as
from plimsoll.sinks import words
from plimsoll.units import in_cases, number


def steps_of(plan: Plan) -> tuple[str, ...]:
    """A sentence for each step, then one for the whole; empty where there is no ladder."""
    ladder = plan.ladder
    if ladder is None:
        return ()
    said = [_step(plan, place) for place in range(len(ladder.rungs))]
    return tuple(part for part in (*said, _certain(plan, ladder), _expected(ladder)) if part)


def _step(plan: Plan, place: int) -> str:
    assert plan.ladder is not None
    rung, recommended = plan.ladder.rungs[place], plan.ladder.recommended
    option = plan.options[rung.option]
    named = _named(option, rung.option)
    chance = f"enough in {in_cases(rung.chance)} cases we consider possible"
    if option.role == FREE:
        lead = "Recommended, and free" if place == recommended else "First, as it is free"
        return f"{lead}: {named}: {chance}."
    if place < recommended:
        return f"Cheaper try: {named}: {chance}."
    if place == recommended:
        return f"Recommended: {named}: {chance}."
    then = f"then enough in {in_cases(rung.chance_after)} cases"
    return f"If it reaches its ceiling again: {named}: {then}."


def _certain(plan: Plan, ladder: Ladder) -> str:
    """What certainty costs, where it is no step of its own."""
    if ladder.certain is None or any(rung.option == ladder.certain for rung in ladder.rungs):
        return ""
    return f"Almost certain today: {_named(plan.options[ladder.certain], ladder.certain)}."


def _expected(ladder: Ladder) -> str:
    count = len(ladder.rungs) - ladder.recommended
    if ladder.usd_per_day_more is None or count < 2:
        return ""
    steps = f"{number(ladder.step_count, 2)} steps"
    return f"Expected: {steps}, and {_more(ladder.usd_per_day_more)} for the one that is kept."


def _named(option: Option, place: int) -> str:
    price = (
        f"{said_as.usd_per_day(option.cost.usd_per_day)} in all"
        if option.usd_per_day_more is None
        else _more(option.usd_per_day_more)
    )
    return f"option {place + 1}, {words.plain(option.title)} ({price})"


def _more(usd_per_day: Decimal) -> str:
    """`$0.67 a day more`."""
    text = said_as.usd_per_day(abs(usd_per_day))
    if said_as.usd_more(usd_per_day) == "same price":
        return "at the same price"
    return f"{text} {'more' if usd_per_day > 0 else 'less'}"
