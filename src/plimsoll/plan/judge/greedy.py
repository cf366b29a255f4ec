"""
The ladder of a load that uses any throughput it gets: its steps are judged by hours of the same work.

Such a load is always at its ceiling, so no step is ever enough for it, but a higher ceiling finishes its
work earlier. The first step saves the most hours per additional dollar, and the next one the most hours
per dollar above the first.
"""

from collections.abc import Sequence
from decimal import Decimal

from plimsoll.model.ceiling import Dimension
from plimsoll.model.plan import FASTER, FASTER_STILL, FREE, Option, RungKind
from plimsoll.plan.demand.recovery import FREE_RATIO
from plimsoll.plan.judge.by_price import FasterArrangement, most_for_the_money
from plimsoll.plan.judge.climb import LadderDraft, LadderStep, restart_of
from plimsoll.plan.judge.options import PlanContext
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.priced import ArrangementPrices
from plimsoll.units import format_bytes_per_s, format_ratio

# A step is worth a restart where it saves a fifth of the time: as for what is shown by price.
_SOONER = 0.8


def greedy_climb(
    context: PlanContext, found: Arrangements, prices: ArrangementPrices, sooner: Sequence[FasterArrangement]
) -> LadderDraft | None:
    """
    Return the steps for a greedy load; None where no setup does its work sooner.

    Args:
        context: makes and judges options.
        found: all arrangements.
        prices: their prices.
        sooner: what does the same work sooner than all that cost less, by price.
    """
    work = context.present().effect.work
    ratio = context.demand.summary.greedy_ratio
    steps = []
    move = restart_of(context)
    if move is not None:
        option = context.option(move.instance, FREE, free=move)
        steps.append(_step(option, option.probability, RungKind.FREE))
        # The restart is free and comes first, so later steps are compared with the time after it.
        work = option.effect.work or work
    if work is None:
        return None
    usd = {one.index: float(prices.usd_per_month_more(one.index) or 0) for one in sooner}
    left = [one for one in sooner if one.work.chained_minutes <= _SOONER * work.chained_minutes]
    paid, first = 0.0, len(steps)
    for role in (FASTER, FASTER_STILL):
        place = most_for_the_money(left, work, [usd[one.index] - paid for one in left])
        if place is None:
            break
        chosen = left[place]
        option = context.option(found.instance(chosen.index), role)
        steps.append(_step(option, ratio, RungKind.SOONER))
        paid, work, left = usd[chosen.index], chosen.work, left[place + 1 :]
    if len(steps) == first:
        return None
    recommended = steps[first].option
    more = recommended.usd_per_day_more
    return LadderDraft(
        steps=tuple(steps),
        recommended=first,
        usd_per_day_more=None if more is None else round(Decimal(more), 4),
        step_count=1.0,
        note=_note(context, recommended),
    )


def _step(option: Option, chance: float, kind: RungKind) -> LadderStep:
    return LadderStep(option=option, tried=None, chance=chance, chance_after=chance, kind=kind)


def _note(context: PlanContext, recommended: Option) -> str:
    """Return the note of the ladder, with the rate of all other work where it was measured."""
    note = "this load uses any throughput it gets, so no size keeps it below its ceiling"
    demand, ceiling = context.demand, recommended.effect.next_ceiling
    free = demand.is_measured & ~demand.is_held_back
    is_seen = free.sum() >= FREE_RATIO * demand.is_measured.sum()
    # The rate of other work is known only if enough of the window was free of the greedy work.
    if not is_seen or ceiling is None or ceiling.dimension is not Dimension.THROUGHPUT:
        return note
    rate = float(demand.served_bytes_per_s[free].mean())
    return (
        f"{note}; all other work shares that ceiling while it runs. Other work uses "
        f"{format_bytes_per_s(rate)} on average, {format_ratio(rate / ceiling.value)} "
        f"of the {format_bytes_per_s(ceiling.value)} of the recommended step"
    )
