"""The headline of a plan."""

from decimal import ROUND_HALF_UP, Decimal

from plimsoll.model.diagnosis import CeilingTime
from plimsoll.model.plan import FASTER, FREE, PROBABLY, Judgement, Ladder, Option, RungKind
from plimsoll.plan.judge.work import text_of
from plimsoll.units import format_ratio, in_cases

# The chance that the load uses any throughput it gets is reported from one in ten on.
GREEDY_FROM = 0.1
_CENT = Decimal("0.01")


def headline_of(
    present: Option,
    options: tuple[Option, ...],
    unpriced: tuple[Option, ...],
    unexplained: CeilingTime | None,
    *,
    ladder: Ladder | None = None,
    is_open: bool = False,
    greedy_ratio: float = 0.0,
) -> str:
    """
    Return the recommendation: the steps to try, or that no change helps, or that none is needed.

    Args:
        present: the current setup, judged.
        options: the options, in their order.
        unpriced: those without a price.
        unexplained: an undocumented limit that bound.
        ladder: the steps to try.
        is_open: whether demand is bounded: hours of work then mean little.
        greedy_ratio: chance 0–1 that the load uses any throughput it gets; the chances of steps count it.
    """
    # In order of importance: no change is needed, an undocumented limit, then the steps.
    if present.judgement is Judgement.LIFTS:
        return _enough([o for o in options if o.judgement is Judgement.LIFTS])
    if unexplained is not None:
        best = "" if ladder is None else _despite(options[ladder.rungs[ladder.recommended].option])
        return f"{_first(options)}the limit that bound is undocumented, so no change is sure to lift it{best}"
    if ladder is not None and ladder.rungs[ladder.recommended].kind is RungKind.SOONER:
        return _by_hours(present, options, ladder)
    faster = _faster(present, options)
    if ladder is None:
        return _without_steps(options, unpriced, faster)
    chosen = options[ladder.rungs[ladder.recommended].option]
    # Hours of work mean little for a load with bounded demand, and add nothing if the faster setup is
    # the recommended step.
    is_shown = faster is not None and not is_open and chosen.role not in (FREE, FASTER)
    first = [faster] if faster is not None and is_shown else []
    tried = _tried(present, chosen)
    if first and chosen.judgement is Judgement.LIFTS:
        tried = f"to lift the ceiling altogether: {chosen.title} ({_price(chosen)})"
    sentences = [*first, tried, *_after(options, ladder)]
    # A step is hardly ever enough in this case, so the reader needs another measure for it.
    if greedy_ratio >= GREEDY_FROM and chosen.judgement is not Judgement.LIFTS:
        sentences.append(
            f"with a chance of {format_ratio(greedy_ratio)} the load uses any throughput it gets: then no "
            "size is enough, so compare hours of work"
        )
    if chosen.role != FREE:
        sentences[0] = f"{_first(options)}{sentences[0]}"
    return ". ".join(text[:1].upper() + text[1:] if n else text for n, text in enumerate(sentences))


def _without_steps(options: tuple[Option, ...], unpriced: tuple[Option, ...], faster: str | None) -> str:
    """Return the headline of a plan without a ladder."""
    first = _first(options)
    sure = next((option for option in options if option.judgement is Judgement.LIFTS), None)
    if sure is not None:
        lead = "" if faster is None or sure.role == FREE else f"{faster}; "
        return f"{first}{lead}{sure.title} lifts the ceiling{_for(sure)}"
    if faster is not None:
        return f"{first}{faster}; no allowed and priced option lifts the ceiling altogether"
    if unpriced:
        return f"{first}{unpriced[0].title} is the smallest that lifts the ceiling; its price is unknown"
    return f"{first}no option within these constraints lifts the ceiling"


def _tried(present: Option, option: Option) -> str:
    """Return the recommended step: `try db.m6g.xlarge ($0.67 a day more): enough in 7 of 10 cases …`."""
    if option.role == FREE:
        return f"stop and start it: free, and enough in {_cases(option.probability)}"
    if option.judgement is Judgement.LIFTS:
        return f"{option.title} lifts the ceiling{_for(option)}"
    work = _work(present, option)
    takes = f", and the same work takes {work}" if work else ""
    what = f"{option.title} ({_price(option)}): enough in {_cases(option.probability)}{takes}"
    if option.probability < PROBABLY:
        return f"no change is sure to be enough; the most likely is {what}"
    return f"try {what}"


def _after(options: tuple[Option, ...], ladder: Ladder) -> list[str]:
    """Return the next step if this one is not enough, and the price of near certainty."""
    sentences = []
    chosen = options[ladder.rungs[ladder.recommended].option]
    rungs = ladder.rungs[ladder.recommended + 1 :]
    later = [options[rung.option] for rung in rungs if rung.kind is RungKind.ENOUGH]
    if later:
        chance = in_cases(later[0].probability)
        sentences.append(f"if it reaches its ceiling again: {later[0].title} ({_price(later[0])}, enough in {chance})")
    if ladder.certain is not None and chosen.judgement is not Judgement.LIFTS:
        sure = options[ladder.certain]
        if sure is not (later[0] if later else None):
            sentences.append(f"to be almost certain today: {sure.title} ({_price(sure)})")
    if chosen.role == FREE and not later:
        sentences.append("in the other cases, no allowed and priced option is likely to be enough")
    return sentences


def _by_hours(present: Option, options: tuple[Option, ...], ladder: Ladder) -> str:
    """Return the headline for a load that uses any throughput it gets: the duration of the same work."""
    chosen, *later = (options[rung.option] for rung in ladder.rungs[ladder.recommended :])
    sentences = [f"{_first(options)}try {chosen.title} ({_price(chosen)}): the same work takes"]
    sentences[0] += f" {_work(present, chosen)}"
    sentences.append(_capital(ladder.note.partition(";")[0]))
    sentences += [f"If that is not soon enough: {one.title} ({_price(one)}), {_work(present, one)}" for one in later]
    return ". ".join(sentences)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _despite(option: Option) -> str:
    if option.role == FREE:
        return ""
    return f"; {option.title} ({_price(option)}) is enough in {_cases(option.probability)}"


def _cases(chance: float) -> str:
    return f"{in_cases(chance)} cases we consider possible"


def _enough(sure: list[Option]) -> str:
    cheaper = [option for option in sure if option.usd_per_day_more is not None and option.usd_per_day_more < 0]
    if cheaper:
        best = min(cheaper, key=lambda option: option.usd_per_day_more or Decimal(0))
        return f"no change is needed; {best.title} would be enough too{_for(best)}"
    return "no change is needed: what there is now is enough"


def _faster(present: Option, options: tuple[Option, ...]) -> str | None:
    """Return the duration of the same work with the cheapest much faster setup; None where it lifts."""
    option = next((o for o in options if o.role == FASTER), None)
    work = None if option is None else _work(present, option)
    if option is None or work is None or option.judgement is Judgement.LIFTS:
        return None
    return f"{option.title} does the same work in {work}{_for(option)}"


def _work(present: Option, option: Option) -> str | None:
    """Return `5.4 h instead of 12.1 h`; None where it is not known or no less."""
    took, takes = present.effect.work, option.effect.work
    # Only less time is worth a clause; equal limits take equal time.
    if took is None or takes is None or takes.chained_minutes >= took.chained_minutes:
        return None
    return text_of(took, takes)


def _first(options: tuple[Option, ...]) -> str:
    """Return the clause on the restart, which comes before everything that costs money."""
    restart = next((o for o in options if o.role == FREE and o.disruption.is_restart), None)
    # A restart that lifts is an option of its own and stands at the top already.
    if restart is None or restart.judgement is Judgement.LIFTS:
        return ""
    if restart.judgement is Judgement.DOES_NOT:
        return "stop and start it first: free, but not enough; then "
    return f"stop and start it first: free, and enough in {in_cases(restart.probability)} cases; then "


def _price(option: Option) -> str:
    """Return `$0.67 a day more`."""
    return _for(option).removeprefix(", ").removeprefix(" ").removeprefix("for ")


def _for(option: Option) -> str:
    more = option.usd_per_day_more
    if more is None:
        whole = option.cost.usd_per_day
        return f" for ${whole:,.2f} a day in total" if whole else ", at an unknown price"
    # Rounded first: half a cent of difference is the same price to a reader.
    cents = more.quantize(_CENT, rounding=ROUND_HALF_UP)
    if cents == 0:
        return " at the same price"
    return f" for ${cents:,} a day more" if cents > 0 else f" for ${-cents:,} a day less"
