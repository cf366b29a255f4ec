"""
The ladder: the step to try first, and the steps after it.

A change of class is reversible, so the cost of a try decides, not certainty. For every plausible demand
it is known which options pass. Demands have weights, so the chance of an option follows, also after a
cheaper one was not enough. Among the options that are worth a try, the ladder is the sequence with the
least expected cost, computed from its end.

Rule 1: an option is a rung only if no cheaper paid option has the same chance.
Rule 2: a free step is tried first, and paid options are judged by the demands for which it was not
        enough. It removes no rung.
Rule 3: chances are those of the options; nothing is fitted here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plimsoll.model.plan import PROBABLY
from plimsoll.model.series import BoolArray, FloatArray

# The ladder ends with a step that is almost certain: the least chance of *lifts*.
CERTAIN = 0.95
# A cheaper step that is enough less often than in two of five cases is not worth a restart.
WORTH_A_TRY = 0.4
# A step after one that was not enough must halve the doubt: more steps, each with its restart, are too
# many in practice.
HALVES = 0.5
# Chances closer than this are equal: they are counted in some thirty plausible demands.
STEP = 0.03
# A likelier step that costs less than a hundredth of the total more, or less than ten cents a day, replaces
# the cheaper one: so small a saving does not justify a second restart.
NEARLY = 0.01
NEARLY_USD = 0.1
# What a step that was not enough costs besides its own price: days at the ceiling until that is seen
# and agreed on, a second restart, somebody's day. Taken as $1,500, spread over the month after which a
# plan is made anew. So ten points more of a chance are worth $5 a day, on a large instance and on a
# small one: people cost the same. In 135 incidents of seeds from 25000000 and 26000000 on, twice as
# much made the regret of a recommended step $1.80 a day more in the median and $15 more in nine of ten,
# and it was enough no more often.
FAILED_STEP_USD = 1_500 / 30
# A cheaper try stands before the recommended step where it saves money though people's hours are left
# out: whoever has them may begin there. Then a failed step costs three days' price of the instance as it
# is, spread over the month: a tenth of the daily price.
FAILED_STEP = 3 / 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """An option as the ladder sees it."""

    usd_per_day: float
    """More than now; less than zero where it costs less."""
    chance: float
    """Chance 0–1 that it is enough for a bounded demand."""
    passed: BoolArray
    """Whether it is enough for each plausible demand, shape (demands,)."""
    trouble: int = 0
    """Number of changed parts; of equal prices and chances the least comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A sequence of candidates to try, each if those before it were not enough."""

    places: tuple[int, ...]
    """Of the candidates, in order."""
    chances_after: tuple[float, ...]
    """Chance that each is enough, given that none before it was."""
    recommended: int
    """Place in `places` of the cheapest that probably suffices."""
    usd_per_day: float
    """Expected price of the step that is kept, climbing from the free or the recommended one."""
    count: float
    """Expected number of steps of that climb."""


def frontier(candidates: Sequence[Candidate], *, usd_per_day_now: float = 0.0) -> list[int]:
    """
    Return the places of the candidates for which no cheaper one has the same chance, by price.

    Of nearly equal prices the likelier one stays; of nearly equal chances too, the one with fewer
    changes. The first that is almost certain is the last.
    """

    def key(place: int) -> tuple[int, float, int, int]:
        one = candidates[place]
        return (round(one.usd_per_day / NEARLY_USD), -round(one.chance, 2), one.trouble, place)

    best = 0.0
    kept: list[int] = []
    for place in sorted(range(len(candidates)), key=key):
        chance = candidates[place].chance
        if chance < best + STEP and not chance >= CERTAIN > best:
            continue
        while kept and _is_nearly(candidates[kept[-1]], candidates[place], usd_per_day_now):
            kept.pop()
        kept.append(place)
        best = chance
        if best >= CERTAIN:
            break
    return kept


def steps_of(
    candidates: Sequence[Candidate],
    weight: FloatArray,
    *,
    stated: FloatArray | None = None,
    free: int | None = None,
    usd_per_day_now: float = 0.0,
) -> Steps | None:
    """
    Return the steps to try, and the recommended one.

    Args:
        candidates: options, in any order.
        weight: of the plausible demands by which steps are chosen, shape (demands,), sum 1.
        stated: of those of which the chances of the steps are stated; the same if None.
        free: a candidate that is tried first because it costs nothing.
        usd_per_day_now: price of the current setup; nearly equal prices, and the cost of days at the
            ceiling, are relative to it.

    Returns:
        The steps; None where no candidate is ever enough.
    """
    shown = weight if stated is None else stated
    if free is None:
        cheaper, climb = _bought(candidates, weight, usd_per_day_now)
        return _steps(candidates, shown, cheaper, climb, climb[0]) if climb else None
    chance, is_left = candidates[free].chance, ~candidates[free].passed
    left = float(weight[is_left].sum())
    if chance >= CERTAIN or not left:
        return _steps(candidates, shown, [], [free], free)
    after = [replace(one, chance=chance_of(one.passed, is_left, weight)) for one in candidates]
    cheaper, climb = _bought(after, np.where(is_left, weight / left, 0.0), usd_per_day_now)
    # A paid step that is hardly ever enough after the free one is not recommended.
    is_likely = bool(climb) and after[climb[0]].chance >= min(WORTH_A_TRY, chance)
    if chance >= PROBABLY or not is_likely:
        return _steps(candidates, shown, [], [free, *climb], free)
    return _steps(candidates, shown, cheaper, [free, *climb], climb[0])


def _bought(candidates: Sequence[Candidate], weight: FloatArray, usd_per_day_now: float) -> tuple[list[int], list[int]]:
    """Return a cheaper try, and the recommended step with those after it; both may be empty."""
    rungs = frontier(candidates, usd_per_day_now=usd_per_day_now)
    if not rungs:
        return [], []
    climb = _LadderCosts(candidates, weight, rungs, FAILED_STEP_USD)
    by_price = _LadderCosts(candidates, weight, rungs, FAILED_STEP * usd_per_day_now)
    marks = (PROBABLY, WORTH_A_TRY)
    likely = ([n for n in rungs if candidates[n].chance >= mark] for mark in marks)
    begin = min(next((some for some in likely if some), rungs[-1:]), key=climb.cost)
    # A higher chance is worth no more than the failure it may avoid: beyond that the cheaper step is first.
    near = candidates[begin].usd_per_day - FAILED_STEP_USD
    far = [place for place in rungs if candidates[place].chance >= WORTH_A_TRY and candidates[place].usd_per_day < near]
    begin = min([begin, *far], key=climb.cost)
    tries = [
        n
        for n in rungs[: rungs.index(begin)]
        if candidates[n].chance >= WORTH_A_TRY and by_price.cost(n) < by_price.cost(begin)
    ]
    return [min(tries, key=by_price.cost)] if tries else [], [begin, *climb.after(begin)]


def _is_nearly(cheaper: Candidate, likelier: Candidate, usd_per_day_now: float) -> bool:
    """Return whether the likelier one costs hardly more."""
    whole = max(usd_per_day_now + likelier.usd_per_day, 0.0)
    return likelier.usd_per_day - cheaper.usd_per_day <= max(NEARLY_USD, NEARLY * whole)


class _LadderCosts:
    """Expected costs of trying one rung after another, from the last rung backwards."""

    def __init__(
        self, candidates: Sequence[Candidate], weight: FloatArray, rungs: Sequence[int], failed_usd: float
    ) -> None:
        """Find the best next rung of every rung."""
        self._candidates, self._weight, self._failed_usd = candidates, weight, failed_usd
        self._rungs = list(rungs)
        self._next: dict[int, int | None] = {}
        for place in reversed(self._rungs):
            self._next[place] = self._best_after(place)

    def after(self, place: int) -> list[int]:
        """Return the rungs to climb if one was not enough."""
        found = []
        following = self._next[place]
        while following is not None:
            found.append(following)
            following = self._next[following]
        return found

    def cost(self, place: int, failed: int | None = None) -> float:
        """Return the expected dollars a day of a rung after another failed, with the steps after it."""
        # chance × price + (1 − chance) × (cost of a failure + expected cost of the next rung)
        price = self._candidates[place].usd_per_day
        following = self._next[place]
        chance = self.chance_after(failed, place)
        # Behind the last rung nothing is known to be better: it is kept.
        rest = self._failed_usd + (price if following is None else self.cost(following, place))
        return chance * price + (1 - chance) * rest

    def chance_after(self, failed: int | None, place: int) -> float:
        """Return the chance that a rung is enough, given that another was not."""
        if failed is None:
            return self._candidates[place].chance
        passed = [self._candidates[n].passed for n in (failed, place)]
        return chance_of(passed[1], ~passed[0], self._weight)

    def _best_after(self, place: int) -> int | None:
        chance = self._candidates[place].chance
        later = [n for n in self._rungs if self._candidates[n].chance > chance and n in self._next]
        if not later:
            return None
        worth = [n for n in later if self.chance_after(place, n) >= HALVES] or later[-1:]
        return min(worth, key=lambda n: (self.cost(n, place), self._rungs.index(n)))


def chance_of(passed: BoolArray, among: BoolArray, weight: FloatArray) -> float:
    """Return the weighted share of some demands that pass; zero without any."""
    whole = float(weight[among].sum())
    return float(weight[among & passed].sum()) / whole if whole > 0 else 0.0


def _steps(
    candidates: Sequence[Candidate], weight: FloatArray, cheaper: Sequence[int], climb: Sequence[int], recommended: int
) -> Steps:
    """Return the steps with their chances; a cheaper try comes before the recommended step."""
    at = climb.index(recommended)
    places = [*climb[:at], *cheaper, *climb[at:]]
    chances, is_left = [], np.ones(weight.size, dtype=np.bool_)
    for place in places:
        chances.append(chance_of(candidates[place].passed, is_left, weight))
        is_left &= ~candidates[place].passed
    left, price, count = 1.0, 0.0, 0.0
    is_open = np.ones(weight.size, dtype=np.bool_)
    for place in climb:
        count += left
        one = candidates[place]
        enough = left * chance_of(one.passed, is_open, weight)
        # Behind the last rung nothing is known to be better: it is kept.
        price += (left if place == climb[-1] else enough) * one.usd_per_day
        left -= enough
        is_open &= ~one.passed
    return Steps(
        places=tuple(places),
        chances_after=tuple(chances),
        recommended=places.index(recommended),
        usd_per_day=price,
        count=count,
    )
