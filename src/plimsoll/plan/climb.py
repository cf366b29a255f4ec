"""
The ladder of a plan: every plausible demand's cheapest arrangement is a candidate for a step.

An option is worth showing only if nothing cheaper is as likely to be enough. Such an option is the
cheapest that passes some plausible demand, so one search for each demand finds them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from plimsoll.model.instance import Instance
from plimsoll.model.plan import FREE, Judgement, Ladder, Option, Rung
from plimsoll.model.series import BoolArray
from plimsoll.plan.asked import Asked, asked_of
from plimsoll.plan.candidates import Arrangements
from plimsoll.plan.demand import Path
from plimsoll.plan.ladder import Candidate, Steps, steps_of
from plimsoll.plan.moves import FreeMove, free_moves
from plimsoll.plan.options import Desk
from plimsoll.plan.priced import Priced
from plimsoll.plan.roles import CHEAPEST, SAME_STORAGE, preferred
from plimsoll.plan.search import Found, search
from plimsoll.plan.vectors import Vectors

_PARTS_PER_USD = 1_000_000
_MONTH_DAYS = 730 / 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An arrangement that is the cheapest to pass some demand, and the search that found it."""

    index: int
    asked: Asked
    result: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the ladder before it has a place among the options."""

    option: Option
    tried: Tried | None
    """None for what is free."""
    chance_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """A ladder before its steps have places among the options."""

    steps: tuple[Step, ...]
    recommended: int
    usd_per_day_more: Decimal | None
    step_count: float


def climb_of(
    desk: Desk,
    found: Arrangements,
    vectors: Vectors,
    prices: Priced,
    roles: Mapping[str, BoolArray],
    *,
    role: str,
    also: Sequence[Tried] = (),
) -> Climb | None:
    """
    The steps to try, cheapest first; None where nothing that is allowed and priced is ever enough.

    Args:
        desk: makes and judges options.
        found: all arrangements.
        vectors: their limits.
        prices: their prices.
        roles: which arrangements may be chosen.
        role: why a step is shown that is not shown for another reason.
        also: further arrangements to consider.
    """
    wanted = {name: roles[name] for name in (CHEAPEST, SAME_STORAGE)}
    every = [*also, *_cheapest_of_each(desk, found, vectors, prices, wanted)]
    tried = list({one.index: one for one in reversed(every)}.values())[::-1]
    usd = _usd_per_day(prices, [one.index for one in tried])
    tried = [one for one in tried if one.index in usd]
    candidates = [_candidate(desk, found, one.index, usd[one.index]) for one in tried]
    move = next(
        (m for m in free_moves(desk.before, desk.catalog, former=desk.former) if m.is_restart), None
    )
    if move is not None:
        candidates.append(_free(desk, move))
    now = desk.before_cost.usd_per_day
    steps = steps_of(
        candidates,
        desk.demand_weights,
        free=None if move is None else len(tried),
        usd_per_day_now=float(now or 0),
    )
    return None if steps is None else _climb(desk, found, tried, move, steps, role)


def ladder_of(climb: Climb | None, options: Sequence[Option]) -> Ladder | None:
    """
    The ladder with its steps as places among the options.

    Args:
        climb: the steps.
        options: as they are shown.
    """
    if climb is None:
        return None
    shown = [key_of(option) for option in options]
    places = [shown.index(key_of(step.option)) for step in climb.steps]
    is_difference = all(options[place].usd_per_day_more is not None for place in places)
    certain = (n for n, o in enumerate(options) if o.judgement is Judgement.LIFTS)
    return Ladder(
        rungs=tuple(
            Rung(option=place, chance=options[place].probability, chance_after=step.chance_after)
            for place, step in zip(places, climb.steps, strict=True)
        ),
        recommended=climb.recommended,
        certain=next(certain, None),
        usd_per_day_more=climb.usd_per_day_more if is_difference else None,
        step_count=climb.step_count,
    )


def key_of(option: Option) -> tuple[Instance, bool]:
    """What sets two options apart: what is bought, and whether it comes with a restart."""
    return option.instance, option.disruption.is_restart


def _cheapest_of_each(
    desk: Desk,
    found: Arrangements,
    vectors: Vectors,
    prices: Priced,
    roles: Mapping[str, BoolArray],
) -> list[Tried]:
    """For every plausible demand the cheapest arrangements that pass it."""
    tie, tried = preferred(found), []
    for path in _distinct(desk.demand.paths):
        asked = asked_of(desk.demand, path)
        result = search(
            vectors,
            prices.order,
            roles,
            asked,
            allowed_ratio=desk.wishes.allowed_ratio,
            keep=1,
            tie=tie,
        )
        tried += [
            Tried(index=index, asked=asked, result=result)
            for chosen in result.roles.values()
            for index in chosen
        ]
    return tried


def _distinct(paths: Sequence[Path]) -> list[Path]:
    return list({(p.is_carried, p.ops_per_s.tobytes()): p for p in paths}.values())


def _usd_per_day(prices: Priced, which: Sequence[int]) -> dict[int, float]:
    """What arrangements cost more in a day; the whole sums where no difference is known."""
    known = [index for index in which if prices.is_known[index]]
    column = prices.more if known else prices.total
    return {index: float(column[index]) / _PARTS_PER_USD / _MONTH_DAYS for index in known or which}


def _candidate(desk: Desk, found: Arrangements, index: int, usd_per_day: float) -> Candidate:
    passed = desk.passed(found.instance(index))
    return Candidate(
        usd_per_day=usd_per_day,
        chance=float(desk.demand_weights[passed].sum()),
        passed=passed,
        trouble=int(not found.is_same_class[index]) + int(not found.is_same_storage[index]),
    )


def _free(desk: Desk, move: FreeMove) -> Candidate:
    passed = desk.passed(move.instance, free=move)
    return Candidate(
        usd_per_day=0.0, chance=float(desk.demand_weights[passed].sum()), passed=passed
    )


def _climb(
    desk: Desk,
    found: Arrangements,
    tried: Sequence[Tried],
    move: FreeMove | None,
    steps: Steps,
    role: str,
) -> Climb:
    made = []
    for place, chance in zip(steps.places, steps.chances_after, strict=True):
        if place == len(tried):
            assert move is not None
            option, one = desk.option(move.instance, FREE, free=move), None
        else:
            one = tried[place]
            option = desk.option(found.instance(one.index), role)
        made.append(Step(option=option, tried=one, chance_after=round(chance, 4)))
    return Climb(
        steps=tuple(made),
        recommended=steps.recommended,
        usd_per_day_more=round(Decimal(steps.usd_per_day), 4),
        step_count=round(steps.count, 2),
    )
