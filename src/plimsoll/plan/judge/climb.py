"""
The ladder of a plan: every plausible demand's cheapest arrangement is a candidate for a step.

An option is worth showing only if nothing cheaper is as likely to be enough. Such an option is the
cheapest that passes some plausible demand, so one search for each demand finds all of them. Options shown
for another reason are judged as well.

The next size of the same family with the current storage is added if it is worth a try. It is the most
common change, so the reader needs its chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from plimsoll.catalog.names import class_name, size_order
from plimsoll.model.instance import Instance
from plimsoll.model.plan import A_SIZE_UP, FREE, Judgement, Ladder, Option, Rung, RungKind
from plimsoll.model.price import HOURS_PER_MONTH
from plimsoll.model.series import BoolArray, IntArray
from plimsoll.plan.demand.recovery import DemandPath
from plimsoll.plan.judge.asked import StepDemand, asked_of
from plimsoll.plan.judge.ladder import WORTH_A_TRY, Candidate, Steps, chance_of, steps_of
from plimsoll.plan.judge.options import PlanContext
from plimsoll.plan.judge.roles import CHEAPEST, SAME_STORAGE
from plimsoll.plan.judge.search import SearchResult, search_queues
from plimsoll.plan.judge.vectors import LimitVectors
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.moves import FreeMove, free_moves
from plimsoll.plan.market.priced import ArrangementPrices

# Prices are whole millionths of a dollar here: AWS quotes no finer ones, and integers add up exactly.
_PARTS_PER_USD = 1_000_000
_MONTH_DAYS = HOURS_PER_MONTH / 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CheapestArrangement:
    """The cheapest setup that passes some demand, and the search that found it."""

    index: int
    asked: StepDemand
    result: SearchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStep:
    """A step of the ladder before it has a place among the options."""

    option: Option
    tried: CheapestArrangement | None
    """None for a step that no search found: a free one, or a size up."""
    chance: float
    chance_after: float
    kind: RungKind


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderDraft:
    """A ladder before its steps have places among the options."""

    steps: tuple[LadderStep, ...]
    recommended: int
    usd_per_day_more: Decimal | None
    step_count: float
    note: str = ""


def climb_of(
    context: PlanContext,
    found: Arrangements,
    vectors: LimitVectors,
    prices: ArrangementPrices,
    queues: Mapping[str, IntArray],
    *,
    role: str,
    is_same_storage: BoolArray,
    also: Sequence[CheapestArrangement] = (),
) -> LadderDraft | None:
    """
    Return the steps to try, cheapest first; None where no allowed and priced setup is ever enough.

    Args:
        context: makes and judges options.
        found: all arrangements.
        vectors: their limits.
        prices: their prices.
        queues: by role, the arrangements that may be chosen, in order of price.
        role: the role of steps that have no other.
        is_same_storage: which arrangements may be chosen and keep the storage.
        also: further arrangements to consider.
    """
    wanted = {name: queues[name] for name in (CHEAPEST, SAME_STORAGE)}
    # Of doubles the one from `also` stays: it was found for the demand it is shown for.
    every = [*also, *_cheapest_of_each(context, vectors, wanted)]
    tried = list({one.index: one for one in reversed(every)}.values())[::-1]
    usd = _usd_per_day(prices, [one.index for one in tried])
    # Where some differences are known, an arrangement without one cannot be put in order among
    # them.
    tried = [one for one in tried if one.index in usd]
    candidates = [_candidate(context, found, one.index, usd[one.index]) for one in tried]
    move = restart_of(context)
    if move is not None:
        candidates.append(_free(context, move))
    now = context.before_cost.usd_per_day
    steps = steps_of(
        candidates,
        context.chosen_by,
        stated=context.demand_weights,
        # The restart was appended last, so its place follows all that were searched.
        free=None if move is None else len(tried),
        usd_per_day_now=float(now or 0),
    )
    if steps is None:
        return None
    climb = _climb(context, found, tried, move, steps, role)
    up = _size_up(context, found, is_same_storage)
    known = _usd_per_day(prices, [] if up is None else [up])
    return climb if up is None or up not in known else _with_size_up(climb, context, found, up, move)


def restart_of(context: PlanContext) -> FreeMove | None:
    """Return the stop and start that applies the present limits; None where the instance has them."""
    every = free_moves(context.before, context.catalog, legacy=context.legacy)
    return next((move for move in every if move.is_restart), None)


def ladder_of(climb: LadderDraft | None, options: Sequence[Option]) -> Ladder | None:
    """
    Return the ladder with its steps as places among the options.

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
            Rung(option=place, chance=step.chance, chance_after=step.chance_after, kind=step.kind)
            for place, step in zip(places, climb.steps, strict=True)
        ),
        recommended=climb.recommended,
        certain=next(certain, None),
        usd_per_day_more=climb.usd_per_day_more if is_difference else None,
        step_count=climb.step_count,
        note=climb.note,
    )


def key_of(option: Option) -> tuple[Instance, bool]:
    """Return the key of an option: its setup, and whether it includes a restart."""
    return option.instance, option.disruption.is_restart


def _cheapest_of_each(
    context: PlanContext, vectors: LimitVectors, queues: Mapping[str, IntArray]
) -> list[CheapestArrangement]:
    """Return the cheapest setups that pass each plausible demand."""
    tried: list[CheapestArrangement] = []
    ratio = context.constraints.allowed_ratio
    for path in _distinct(context.demand.paths):
        asked = asked_of(context.demand, path)
        result = search_queues(vectors, queues, asked, allowed_ratio=ratio, keep=1)
        tried += [
            CheapestArrangement(index=index, asked=asked, result=result)
            for chosen in result.roles.values()
            for index in chosen
        ]
    return tried


def _distinct(paths: Sequence[DemandPath]) -> list[DemandPath]:
    # Equal demands have the same cheapest arrangement; one search serves them all.
    return list({(p.is_carried, p.ops_per_s.tobytes()): p for p in paths}.values())


def _usd_per_day(prices: ArrangementPrices, which: Sequence[int]) -> dict[int, float]:
    """Return the additional cost of setups per day, or their total cost where no difference is known."""
    known = [index for index in which if prices.is_known[index]]
    column = prices.more if known else prices.total
    return {index: float(column[index]) / _PARTS_PER_USD / _MONTH_DAYS for index in known or which}


def _candidate(context: PlanContext, found: Arrangements, index: int, usd_per_day: float) -> Candidate:
    passed = context.passed(found.instance(index))
    return Candidate(
        usd_per_day=usd_per_day,
        chance=float(context.chosen_by[passed].sum()),
        passed=passed,
        trouble=int(not found.is_same_class[index]) + int(not found.is_same_storage[index]),
    )


def _free(context: PlanContext, move: FreeMove) -> Candidate:
    passed = context.passed(move.instance, free=move)
    return Candidate(usd_per_day=0.0, chance=float(context.chosen_by[passed].sum()), passed=passed)


def _climb(
    context: PlanContext,
    found: Arrangements,
    tried: Sequence[CheapestArrangement],
    move: FreeMove | None,
    steps: Steps,
    role: str,
) -> LadderDraft:
    made = []
    for place, chance in zip(steps.places, steps.chances_after, strict=True):
        if place == len(tried):
            assert move is not None
            option, one = context.option(move.instance, FREE, free=move), None
        else:
            one = tried[place]
            option = context.option(found.instance(one.index), role)
        made.append(
            LadderStep(
                option=option,
                tried=one,
                chance=option.probability,
                chance_after=round(chance, 4),
                kind=RungKind.FREE if one is None else RungKind.ENOUGH,
            )
        )
    return LadderDraft(
        steps=tuple(made),
        recommended=steps.recommended,
        usd_per_day_more=round(Decimal(steps.usd_per_day), 4),
        step_count=round(steps.count, 2),
    )


def _size_up(context: PlanContext, found: Arrangements, is_allowed: BoolArray) -> int | None:
    """Return the next larger size of the class that is worth a try, with the current storage."""
    own = context.before.db_class
    if own is None:
        return None
    family, size = class_name(own).rpartition(".")[0], size_order(own)
    places = np.flatnonzero(is_allowed).tolist()
    names = {place: one.db_class for place in places if (one := found.limits(place))}
    larger = [i for i, name in names.items() if name.rpartition(".")[0] == family]
    for index in sorted(larger, key=lambda i: size_order(names[i])):
        if size_order(names[index]) > size:
            passed = context.passed(found.instance(index))
            # A size that is hardly ever enough is not worth the restart that it costs.
            if float(context.chosen_by[passed].sum()) >= WORTH_A_TRY:
                return index
    return None


def _with_size_up(
    climb: LadderDraft, context: PlanContext, found: Arrangements, index: int, move: FreeMove | None
) -> LadderDraft:
    """Return the ladder with a size up before the steps that are bought, unless it is one of them."""
    option = context.option(found.instance(index), A_SIZE_UP)
    if any(key_of(step.option) == key_of(option) for step in climb.steps):
        return climb
    is_left = np.ones(context.demand_weights.size, dtype=np.bool_)
    if move is not None:
        is_left = ~context.passed(move.instance, free=move)
    step = LadderStep(
        option=option,
        tried=None,
        chance=option.probability,
        chance_after=round(chance_of(context.passed(option.instance), is_left, context.demand_weights), 4),
        kind=RungKind.SIZE_UP,
    )
    # What is free goes before everything that is bought.
    at = 0 if move is None else 1
    return replace(
        climb,
        steps=(*climb.steps[:at], step, *climb.steps[at:]),
        recommended=climb.recommended + int(climb.recommended >= at),
    )
