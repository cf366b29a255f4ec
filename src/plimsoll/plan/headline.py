"""The sentence that a plan begins with."""

from decimal import ROUND_HALF_UP, Decimal

from plimsoll.model.diagnosis import CeilingTime
from plimsoll.model.plan import FASTER, FREE, Judgement, Option
from plimsoll.plan.work import text_of

_CENT = Decimal("0.01")


def headline_of(
    present: Option,
    options: tuple[Option, ...],
    unpriced: tuple[Option, ...],
    unexplained: CeilingTime | None,
) -> str:
    """
    The way past; or that there is none, that none is sure, or that nothing needs one.

    Args:
        present: what is there, judged.
        options: the ways, in their order.
        unpriced: those without a price.
        unexplained: a limit that bound and that no document names.
    """
    sure = [option for option in options if option.judgement is Judgement.LIFTS]
    if present.judgement is Judgement.LIFTS:
        return _enough(present, sure)
    first = _first(options)
    if unexplained is not None:
        return f"{first}what bound is in no document, so no change is sure to lift it"
    faster = _faster(present, options)
    if sure:
        best = sure[0]
        if faster is None or best.role == FREE:
            return f"{first}{best.title} lifts the ceiling{_for(best)}"
        return f"{first}{faster}; {best.title} lifts the ceiling altogether{_for(best)}"
    if faster is not None:
        return f"{first}{faster}; nothing that is allowed and priced lifts the ceiling altogether"
    if unpriced:
        return f"{first}{unpriced[0].title} is the smallest that lifts the ceiling; its price is not known"
    likely = [option for option in options if option.judgement is Judgement.UNSURE]
    if likely:
        best = max(likely, key=lambda option: option.probability)
        chance = f"{100 * best.probability:.0f} % of the plausible demands"
        return f"{first}no change is sure to lift the ceiling; {best.title}{_for(best)} passes {chance}"
    return f"{first}nothing that can be bought within these wishes lifts the ceiling"


def _enough(present: Option, sure: list[Option]) -> str:
    cheaper = [
        option
        for option in sure
        if option.usd_per_day_more is not None and option.usd_per_day_more < 0
    ]
    if cheaper:
        best = min(cheaper, key=lambda option: option.usd_per_day_more or Decimal(0))
        return f"nothing needs a way past; {best.title} would suffice too{_for(best)}"
    return f"nothing needs a way past: {present.title} suffices"


def _faster(present: Option, options: tuple[Option, ...]) -> str | None:
    """What the cheapest much better arrangement does; None where it lifts, or there is none."""
    option = next((o for o in options if o.role == FASTER), None)
    took, takes = present.effect.work, option.effect.work if option else None
    if option is None or took is None or takes is None or option.judgement is Judgement.LIFTS:
        return None
    return f"{option.title} does the same work in {text_of(took, takes)}{_for(option)}"


def _first(options: tuple[Option, ...]) -> str:
    """The restart, which goes before everything that costs money."""
    restart = next((o for o in options if o.role == FREE and o.disruption.is_restart), None)
    if restart is None or restart.judgement is Judgement.LIFTS:
        return ""
    tail = "does not suffice" if restart.judgement is Judgement.DOES_NOT else "may not suffice"
    return f"stop and start it first: that is free, but {tail}; then "


def _for(option: Option) -> str:
    more = option.usd_per_day_more
    if more is None:
        whole = option.cost.usd_per_day
        return f" for ${whole:,.2f} a day in all" if whole else ", at a price that is not known"
    cents = more.quantize(_CENT, rounding=ROUND_HALF_UP)
    if cents == 0:
        return " at the same price"
    return f" for ${cents:,} a day more" if cents > 0 else f" for ${-cents:,} a day less"
