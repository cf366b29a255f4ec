"""
Options without a price, each with its break-even price.

Rule 1: options without a price are searched at the same demands as priced ones, those of the ladder
        included, by size, with the cheapest storage first. An unknown price is no reason to show only
        the largest.
Rule 2: an unknown price stays unknown. The break-even is the price at which the option would cost as
        much as the cheapest shown option with at least the same chance.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

import numpy as np

from plimsoll.model.plan import BreakEven, MoveKind, Option
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.roles import unpriced_order
from plimsoll.plan.judge.search import search
from plimsoll.plan.judge.vectors import LimitVectors
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.cost import break_even_usd_per_hour
from plimsoll.plan.market.priced import UNKNOWN, ArrangementPrices

# Shown for one demand, each of another family; the family tells more than a second size of it.
_SHOWN = 3
# Chances within this difference are equal but for rounding.
_AS_PROBABLE = 1e-9


def smallest_unpriced(
    found: Arrangements,
    vectors: LimitVectors,
    prices: ArrangementPrices,
    demands: Iterable[StepDemand],
    *,
    allowed_ratio: float,
) -> tuple[int, ...]:
    """
    Return the smallest arrangements without a price that pass each of some demands.

    Args:
        found: all arrangements.
        vectors: their limits.
        prices: their prices.
        demands: those at which priced arrangements were searched.
        allowed_ratio: share 0–1 of the measured steps that may be throttled.

    Returns:
        Places of arrangements, by size; of each demand those of the few families that pass it with
        the least, each class once, with the cheapest storage.
    """
    order = unpriced_order(found, prices)
    if (order == UNKNOWN).all():
        return ()
    families = [None if one is None else one.db_class.split(".")[1] for one in found.classes]
    of_class = np.array([families.index(family) for family in families])
    of = of_class[found.class_index]
    # One search role for each family, so that one family does not fill all places.
    roles = {str(n): (of == n) & (order != UNKNOWN) for n in np.unique(of[order != UNKNOWN])}
    chosen: dict[int, int] = {}
    for asked in demands:
        passing = search(vectors, order, roles, asked, allowed_ratio=allowed_ratio, keep=1)
        first = sorted((o for (o,) in filter(None, passing.roles.values())), key=lambda o: order[o])
        for one in first[:_SHOWN]:
            of_this = int(found.class_index[one])
            # The lighter demand is met by less storage: both are kept only where the class differs.
            chosen[of_this] = max(chosen.get(of_this, one), one, key=lambda place: order[place])
    return tuple(sorted(chosen.values(), key=lambda place: order[place]))


def with_break_even(
    unpriced: Sequence[Option], options: Sequence[Option], present: Option, *, discount: Decimal
) -> Iterator[tuple[Option, BreakEven | None]]:
    """
    Yield each option without a price, with its break-even price.

    Args:
        unpriced: options whose class has no price.
        options: those with one.
        present: the current setup.
        discount: factor of an on-demand price.
    """
    for option in unpriced:
        rival = _rival(option, options)
        usd = None
        if rival is not None:
            usd = break_even_usd_per_hour(present, option, rival, discount=discount)
        if rival is not None and usd is not None:
            yield option, BreakEven(usd_per_hour=usd, than=rival.title)
        else:
            yield option, None


def _rival(option: Option, options: Sequence[Option]) -> Option | None:
    """Return the cheapest paid option with at least the same chance; None where there is none."""
    as_probable = [
        other
        for other in options
        if other.usd_per_day_more is not None
        and other.probability >= option.probability - _AS_PROBABLE
        and not any(move.kind is MoveKind.SCHEDULE for move in other.moves)
    ]
    return min(as_probable, key=lambda other: other.usd_per_day_more or Decimal(0), default=None)
