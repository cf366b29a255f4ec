"""
The plan for a diagnosis and its snapshot, stage by stage: options that lift the ceiling, with price.

Rule 1: every option that is shown is judged by its own replay (effect.py), whatever the search found.
Rule 2: an undocumented limit is in no chain, so no replay can show that a change lifts it.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.model.contained import collecting, gaps_of, guarded, lost_notes
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance
from plimsoll.model.plan import (
    FASTER,
    FREE,
    PROBABLY,
    CurvePoint,
    FirstOptions,
    Option,
    Plan,
    PlanConstraints,
    RungKind,
    WorkloadKind,
    WorkPoint,
)
from plimsoll.model.price import HOURS_PER_MONTH, PriceBook, is_old
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.headline import headline_of
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.by_price import FasterArrangement, most_for_the_money, sooner_by_price
from plimsoll.plan.judge.climb import CheapestArrangement, LadderDraft, climb_of, key_of, ladder_of
from plimsoll.plan.judge.curve import curve_of, served_at_once, with_options
from plimsoll.plan.judge.greedy import greedy_climb
from plimsoll.plan.judge.options import PlanContext, better_first, is_sure
from plimsoll.plan.judge.roles import (
    CHEAPEST,
    SAME_STORAGE,
    SMALLER,
    cheaper_failing,
    preferred,
    queues_of,
    rejected,
    roles_of,
)
from plimsoll.plan.judge.search import SearchResult, queue_of, search_queues
from plimsoll.plan.judge.unpriced import smallest_unpriced, with_break_even
from plimsoll.plan.judge.vectors import LimitVectors, vectors_of
from plimsoll.plan.market.candidates import Arrangements, arrangements
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.plan.market.moves import free_moves, legacy_of
from plimsoll.plan.market.needs import needs_of
from plimsoll.plan.market.priced import ArrangementPrices, priced
from plimsoll.units import format_time

UNSURE = "cheaper but unsure"
SUSPECTED = "likely"
MOST = "largest available"
NO_PRICE = "price not known"

# How many options of each role are judged before the first one is shown although it does not lift.
_TRIED = 4
# Shares of the demand that are equal for any practical purpose.
_AS_MUCH = 0.005


def plan(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    catalog: Catalog,
    book: PriceBook,
    constraints: PlanConstraints,
    *,
    today: str | None = None,
) -> Plan:
    """
    Return the plan for a window: its options, cheapest first, each replayed, judged and priced.

    Args:
        diagnosis: of the snapshot.
        snapshot: the window.
        catalog: classes, limits and rules.
        book: prices of the instance's region.
        constraints: the constraints of every option.
        today: ISO date with which prices are compared; with None the end of the window.

    Raises:
        DataError: storage was not measured.
        UsageError: constraints that contradict each other or the instance.
        CatalogError: the instance's class is not in the catalog.
    """
    with collecting() as failed:
        found = _planned(diagnosis, snapshot, catalog, book, constraints, today=today)
    return replace(found, notes=(*found.notes, *lost_notes(gaps_of(failed))))


def _planned(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    catalog: Catalog,
    book: PriceBook,
    constraints: PlanConstraints,
    *,
    today: str | None,
) -> Plan:
    """Return the plan without the options and parts that are lost to internal errors."""
    made = _made(diagnosis, snapshot, catalog, book, constraints)
    context, found, market, first = made.context, made.found, made.market, made.first
    demand, present, options, ladder = context.demand, first.present, first.options, first.ladder
    unsolved = context.unsolved
    unpriced = () if unsolved else guarded("options without a price", lambda: market.unpriced(options), ())
    as_of = _oldest(present, options)
    return Plan(
        instance=snapshot.instance,
        window_s=diagnosis.window_s,
        is_simulated=snapshot.is_simulated,
        source=snapshot.source,
        allowed_ratio=constraints.allowed_ratio,
        growth=constraints.growth,
        demand=demand.summary,
        present=present,
        options=options,
        unpriced=unpriced,
        curve=with_options(
            [
                replace(point, served_ratio=present.effect.served_ratio) if point.is_present else point
                for point in (() if unsolved else guarded("the curve of prices", market.curve, ()))
            ],
            options,
        ),
        work_by_price=() if unsolved else guarded("the time of work by price", market.work_by_price, ()),
        candidate_count=len(found),
        vector_count=len(market.vectors),
        prices_as_of=as_of,
        are_prices_old=as_of is not None and is_old(as_of, today or format_time(diagnosis.window_s[1])[:10]),
        headline=unsolved.headline
        if unsolved
        else guarded(
            "the headline",
            lambda: headline_of(
                present,
                options,
                unpriced,
                context.unexplained,
                ladder=ladder,
                is_open=demand.summary.nature is WorkloadKind.OPEN,
                greedy_ratio=_endless_ratio(demand),
            ),
            "The options are below.",
        ),
        notes=(*found.notes, *context.notes, *_refused(found)),
        ladder=ladder,
    )


def first_options(
    diagnosis: Diagnosis, snapshot: Snapshot, catalog: Catalog, book: PriceBook, constraints: PlanConstraints
) -> FirstOptions:
    """
    Return the current setup, the options and the ladder of the plan, without what only a report needs.

    Arguments and errors are those of `plan`.
    """
    with collecting() as failed:
        first = _made(diagnosis, snapshot, catalog, book, constraints, is_brief=True).first
    return replace(first, lost=lost_notes(gaps_of(failed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanDraft:
    """The options of a plan, with what they were made from."""

    context: PlanContext
    found: Arrangements
    market: "_Market"
    first: FirstOptions


def _made(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    catalog: Catalog,
    book: PriceBook,
    constraints: PlanConstraints,
    *,
    is_brief: bool = False,
) -> _PlanDraft:
    demand = recover(snapshot, diagnosis, growth=constraints.growth, prior=constraints.prior)
    needs = needs_of(snapshot, catalog, growth=constraints.growth)
    found = arrangements(snapshot.instance, catalog, needs, constraints)
    held = [time.ceiling for time in diagnosis.time_at if time.ceiling is not None]
    context = PlanContext(
        diagnosis=diagnosis,
        snapshot=snapshot,
        demand=demand,
        needs=needs,
        catalog=catalog,
        book=book,
        constraints=constraints,
        legacy=legacy_of(snapshot.instance, catalog, held),
        before=found.before,
        is_brief=is_brief,
    )
    present = context.present()
    market = _Market(context, found)
    if context.unsolved is not None:
        first = FirstOptions(present=present, options=(), ladder=None)
        return _PlanDraft(context=context, found=found, market=market, first=first)
    free = guarded("free changes", lambda: _free(context), ())
    bought, climb = market.priced(present)
    options = _without_doubles((*free, *bought))
    # Its steps point to options, of which one may be lost.
    ladder = guarded("the steps to try", lambda: ladder_of(climb, options), None)
    first = FirstOptions(present=present, options=options, ladder=ladder)
    return _PlanDraft(context=context, found=found, market=market, first=first)


def _endless_ratio(demand: Demand) -> float:
    """Return the chance 0–1 that the load uses any throughput it gets, with more requests than sizes serve."""
    return sum(path.weight for path in demand.paths if path.is_endless)


def _asked_by(climb: LadderDraft | None) -> tuple[StepDemand, ...]:
    """Return the demands for which the steps of a ladder were found."""
    steps = climb.steps if climb is not None else ()
    return tuple(step.tried.asked for step in steps if step.tried is not None)


class _Market:
    """The setups that can be bought, with their limits and prices; searched once for each demand."""

    def __init__(self, context: PlanContext, found: Arrangements) -> None:
        self._context, self._found = context, found
        self.vectors: LimitVectors = vectors_of(
            found, context.catalog, io_size_bytes_max=float(context.demand.io_size_bytes.max())
        )
        self._prices: ArrangementPrices = priced(
            found, context.book, needs=context.needs, constraints=context.constraints, catalog=context.catalog
        )
        self._high, self._middle = context.demands.high, context.demands.middle
        self._asked: tuple[StepDemand, ...] = ()
        most = context.constraints.usd_per_day_max
        self._roles = roles_of(found, self._prices, usd_per_day_max=most)
        self._queues = queues_of(found, self._prices, self.vectors, usd_per_day_max=most)

    def priced(self, present: Option) -> tuple[tuple[Option, ...], LadderDraft | None]:
        """Return the cheapest option of every role that passes the high demand, and the ladder's steps."""
        # The high demand first: a setup that passes it passes nearly every plausible demand.
        sure = self._search(self._high)
        options = []
        for role, chosen in sure.roles.items():
            option = guarded(f"the option '{role}'", partial(self._best, chosen, role, sure), None)
            if option is not None:
                options.append(option)
        climb = None
        if is_sure(present):
            # The current setup suffices, so only a saving that is as sure is worth a change.
            options = [option for option in options if is_sure(option) and _costs_less(option)]
        else:
            # A smaller class is a saving, which is no answer while a limit binds.
            options = [option for option in options if option.role != SMALLER]
            role = UNSURE if options else SUSPECTED
            climb = guarded("the steps to try", partial(self._climb, sure, role), None)
            self._asked = _asked_by(climb)
            # No size is enough for a greedy load, so its steps are compared by the hours its work
            # takes.
            by_hours = guarded("the steps by hours", self._by_hours, None)
            if not (climb and self._context.is_brief):
                options += guarded("the option that saves most time", self._faster, ())
            options += self._steps(by_hours) + self._steps(climb)
            climb = by_hours or climb
            # A row shows the recommended step of the ladder and no other one.
            if climb and self._context.is_brief:
                return tuple(sorted(options, key=better_first)), climb
            # If nothing is likely to be enough, show the most that the constraints allow.
            if not any(option.probability >= PROBABLY for option in options):
                options += guarded("the largest option", self._most, ())
        return tuple(sorted(options, key=better_first)), climb

    def unpriced(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Return the options without a price, the smallest first, each with its break-even price."""
        context = self._context
        # A limit of cost cannot be checked without a price.
        if context.present_is_sure or context.constraints.usd_per_day_max is not None:
            return ()
        places = smallest_unpriced(
            self._found,
            self.vectors,
            self._prices,
            # The same demands as for priced options, so that a break-even compares like with like.
            (self._high, *(self._asked or (self._middle,))),
            allowed_ratio=context.constraints.allowed_ratio,
        )
        made = [context.option(self._found.instance(index), NO_PRICE) for index in places]
        discount = context.constraints.discount
        return tuple(
            replace(option, break_even=break_even)
            for option, break_even in with_break_even(made, options, context.present(), discount=discount)
        )

    def curve(self) -> tuple[CurvePoint, ...]:
        """Return the curve of price and the share served without waiting."""
        return curve_of(self._found, self.vectors, self._prices, self._context.demands)

    def _search(self, asked: StepDemand) -> SearchResult:
        ratio = self._context.constraints.allowed_ratio
        return search_queues(self.vectors, self._queues, asked, allowed_ratio=ratio, keep=_TRIED)

    def _climb(self, sure: SearchResult, role: str) -> LadderDraft | None:
        """Return the steps to try, among them setups for the high demand and those that work sooner."""
        places = [index for chosen in sure.roles.values() for index in chosen]
        faster = self._fastest_for_the_money
        places += [] if faster is None else [faster]
        also = [CheapestArrangement(index=index, asked=self._high, result=sure) for index in places]
        return climb_of(
            self._context,
            self._found,
            self.vectors,
            self._prices,
            self._queues,
            role=role,
            is_same_storage=self._roles[SAME_STORAGE],
            also=also,
        )

    def _by_hours(self) -> LadderDraft | None:
        """Return the steps for a load that uses any throughput it gets; None for others."""
        if self._context.demand.summary.nature is not WorkloadKind.GREEDY:
            return None
        return greedy_climb(self._context, self._found, self._prices, self._sooner)

    def _steps(self, climb: LadderDraft | None) -> list[Option]:
        """Return the steps that cost money, each with the cheaper setups that fail its demand."""
        return [
            step.option
            if step.tried is None
            else self._with_rejected(step.option, step.tried.index, step.tried.result, step.tried.asked)
            for step in (() if climb is None else climb.steps)
            if step.kind is not RungKind.FREE
        ]

    @cached_property
    def _sooner(self) -> tuple[FasterArrangement, ...]:
        """Return the setups that do the same work sooner, by price; none with an unknown difference."""
        context = self._context
        present = context.present().effect.work
        if present is None:
            return ()
        queue = queue_of(self._prices.more, self._roles[CHEAPEST], self.vectors.of, tie=preferred(self._found))
        return sooner_by_price(context.demand, self.vectors, queue, present, growth=context.constraints.growth)

    def work_by_price(self) -> tuple[WorkPoint, ...]:
        """Return the duration of the same work by additional cost."""
        return tuple(
            WorkPoint(name=self._found.name(one.index), usd_per_day_more=usd * 24 / HOURS_PER_MONTH, work=one.work)
            for one in self._sooner
            if (usd := self._prices.usd_per_month_more(one.index)) is not None
        )

    @cached_property
    def _fastest_for_the_money(self) -> int | None:
        """Return the setup that saves the most time of the same work per additional dollar, or None."""
        present = self._context.present().effect.work
        if present is None:
            return None
        usd = [float(self._prices.usd_per_month_more(one.index) or 0) for one in self._sooner]
        place = most_for_the_money(self._sooner, present, usd)
        return None if place is None else self._sooner[place].index

    def _faster(self) -> list[Option]:
        index = self._fastest_for_the_money
        return [] if index is None else [self._context.option(self._found.instance(index), FASTER)]

    def _most(self) -> list[Option]:
        """Return the cheapest of the setups that serve the most at once, for a plan without a solution."""
        places = np.flatnonzero(self._roles[CHEAPEST])
        if not places.size:
            return []
        served = served_at_once(self.vectors, np.arange(len(self.vectors)), self._middle)
        ratio = served[self.vectors.of[places]]
        # Many serve as much once the volumes, not the class, are the limit: the cheapest of these.
        best = places[ratio >= ratio.max() - _AS_MUCH]
        index = best[np.argmin(self._prices.order[best])]
        return [self._context.option(self._found.instance(int(index)), MOST)]

    def _best(self, chosen: tuple[int, ...], role: str, result: SearchResult) -> Option | None:
        """Return the first option that is judged to lift, or else the first."""
        options = []
        for index in chosen:
            option = self._context.option(self._found.instance(index), role)
            if is_sure(option):
                return self._with_rejected(option, index, result, self._high)
            options.append((option, index))
        return self._with_rejected(*options[0], result, self._high) if options else None

    def _with_rejected(self, option: Option, index: int, result: SearchResult, asked: StepDemand) -> Option:
        context, found = self._context, self._found
        if context.is_brief:
            return option
        cheaper = cheaper_failing(index, found, self._prices, self.vectors, result.state)
        ratio = context.constraints.allowed_ratio
        reasons = tuple(
            rejected(one, found, self._prices, asked, context.catalog, allowed_ratio=ratio) for one in cheaper
        )
        return replace(option, rejected=reasons)


def _free(context: PlanContext) -> tuple[Option, ...]:
    """Return the free options; a restart is always shown, others if they help."""

    def usd_more(before: Instance, after: Instance) -> Decimal | None:
        was, will = (cost_of(one, context.book, catalog=context.catalog) for one in (before, after))
        return usd_per_day_more(before, was, after, will)

    moves = free_moves(context.before, context.catalog, legacy=context.legacy, usd_more=usd_more)
    constraints = context.constraints
    options = []
    for move in moves:
        if constraints.keep_storage and not move.is_restart:
            continue
        option = guarded("a free change", partial(context.option, move.instance, FREE, free=move), None)
        if option is None:
            continue
        if move.is_restart or context.helps(option):
            options.append(option)
    spread = context.spread()
    if spread is not None:
        options.append(replace(spread, role=FREE))
    return tuple(options)


def _oldest(present: Option, options: tuple[Option, ...]) -> str | None:
    dates = (option.cost.as_of for option in (present, *options))
    return min((date for date in dates if date is not None), default=None)


def _costs_less(option: Option) -> bool:
    return option.usd_per_day_more is not None and option.usd_per_day_more < 0


def _without_doubles(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return each setup once, under its first role."""
    first: dict[tuple[Instance, bool], Option] = {}
    for option in options:
        # The same setup with and without a restart are two options.
        first.setdefault(key_of(option), option)
    return tuple(first.values())


def _refused(found: Arrangements) -> tuple[str, ...]:
    """Return a note on the classes that were left out, with the reason of the first."""
    if not found.refused:
        return ()
    first = found.refused[0]
    count = len(found.refused)
    more = f", and {count - 1:,} others for similar reasons" if count > 1 else ""
    return (f"Left out: {first.db_class}: {first.reason}{more}.",)
