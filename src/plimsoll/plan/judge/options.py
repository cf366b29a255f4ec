"""The options of a plan: the changes, commands, effect, cost and judgement of a setup."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_stage
from decimal import Decimal
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage, ceiling_curve
from plimsoll.limits import chain_of
from plimsoll.limits.class_limits import limits_of
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Diagnosis
from plimsoll.model.instance import Instance
from plimsoll.model.limit import LegacyLimits
from plimsoll.model.plan import (
    Band,
    Cost,
    Disruption,
    Judgement,
    Move,
    MoveKind,
    NextCeiling,
    Option,
    PlanConstraints,
    WorkTime,
)
from plimsoll.model.price import PriceBook
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.judge.as_seen import exactly, observed
from plimsoll.plan.judge.asked import asked_of
from plimsoll.plan.judge.curve import Demands, share_of
from plimsoll.plan.judge.effect import JudgedChange, bounded_weights, judge, passing_weights
from plimsoll.plan.judge.enforced import refuted_notes, refuted_of
from plimsoll.plan.judge.schedule import spread_of
from plimsoll.plan.judge.unsolved import Unsolved, unsolved_by
from plimsoll.plan.judge.work import unexplained_of, work_of
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.plan.market.moves import FreeMove, free_moves, moves_of
from plimsoll.plan.market.needs import ResourceNeeds
from plimsoll.plan.market.rules import commands_of, disruption_of
from plimsoll.plan.market.storages import describe_storage
from plimsoll.units import format_bytes_per_s, format_ops_per_s

_NEVER = Decimal("Infinity")
# An undocumented limit may belong to the class or to the volumes, and be replaced with them, or to neither,
# and stay. There is no evidence, so both are equally likely.
GOES_WITH_IT = 0.5
# A limit that is named with this chance is taken as the one that bound.
NAMED_SURELY = 0.9


def is_sure(option: Option) -> bool:
    """Return whether it surely lifts."""
    return option.judgement is Judgement.LIFTS


def better_first(option: Option) -> tuple[Decimal, Decimal, float]:
    """
    Return the sort key of an option: the cheaper first, of equal prices the likelier.

    Options are ordered by the difference of price; those without one follow, by their total.
    """
    more, whole = option.usd_per_day_more, option.cost.usd_per_day
    return (
        _NEVER if more is None else more,
        _NEVER if whole is None or more is not None else whole,
        -option.probability,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanContext:
    """The inputs from which options are made."""

    diagnosis: Diagnosis
    snapshot: Snapshot
    demand: Demand
    needs: ResourceNeeds
    catalog: Catalog
    book: PriceBook
    constraints: PlanConstraints
    legacy: LegacyLimits | None
    """Legacy limits that the instance still has, by the diagnosis."""
    before: Instance
    """The current instance, with the engine and standby of the constraints."""
    is_brief: bool = False
    """Whether options are for a row of a table: without commands, served shares and rejected setups."""

    @cached_property
    def unexplained(self) -> CeilingTime | None:
        """Return an undocumented limit that bound for longer than is allowed; None without one."""
        allowed_s = self.constraints.allowed_ratio * self.demand.summary.measured_s
        unknown = (t for t in self.diagnosis.time_at if t.family is Family.UNKNOWN)
        return next((time for time in unknown if time.seconds > allowed_s), None)

    @cached_property
    def io_size_bytes(self) -> float:
        """Return the median I/O size of the throttled steps, or of all if there are none."""
        demand = self.demand
        # The I/O size at the ceiling decides which limit binds; other hours may have other sizes.
        held = demand.is_held_back & demand.is_measured
        at = held if held.any() else demand.is_measured
        return float(np.median(demand.io_size_bytes[at]))

    @cached_property
    def _mean_bytes_per_s(self) -> float:
        """Return the mean served rate, bytes/s."""
        measured = self.demand.is_measured
        return float(self.demand.served_bytes_per_s[measured].mean()) if measured.any() else 0.0

    @cached_property
    def demands(self) -> Demands:
        """Return the band of demand, as a search replays it."""
        low, middle, high = (
            asked_of(self.demand, path) for path in (self.demand.low, self.demand.middle, self.demand.high)
        )
        return Demands(low=low, middle=middle, high=high)

    @cached_property
    def present_is_sure(self) -> bool:
        """Return whether the current setup is enough."""
        return is_sure(self.present())

    @cached_property
    def actual(self) -> Instance:
        """Return the instance with its real standby; `before` has the requested one."""
        return replace(self.before, multi_az=self.snapshot.instance.multi_az)

    @cached_property
    def refuted(self) -> Mapping[Stage, Stage | None]:
        """Return the documented limits of the current setup that are not enforced, with their remainders."""
        chain = chain_of(self.before, self.catalog, use_legacy=self.legacy)
        return refuted_of(self.demand, chain, allowed_ratio=self.constraints.allowed_ratio)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return the notes on the whole plan."""
        found = []
        if self.unexplained is not None:
            found.append(
                f"The limit of {_rate(self.unexplained)} is undocumented: another class or storage may have it too."
            )
        found += refuted_notes(self.refuted)
        if self.constraints.growth == 1:
            found += unexplained_of(self.demand, self.present().effect.work)
        found += self._price_notes()
        if self.constraints.growth == 1 and self.demand.summary.held_back_s == 0:
            found.append("Only this window was replayed; a busier day may need more.")
        return tuple(found)

    def _price_notes(self) -> Iterator[str]:
        """Yield notes on cost and standby, if the constraints differ from the current setup."""
        if bool(self.before.multi_az) != bool(self.actual.multi_az):
            what = "with a standby" if self.before.multi_az else "without a standby"
            cost = self._cost(self.actual).usd_per_day
            now = f" The current setup costs ${cost:,.2f} a day." if cost is not None else ""
            yield f"All prices are {what}, also that of the current setup.{now}"
        most, cost = self.constraints.usd_per_day_max, self.before_cost.usd_per_day
        if most is not None and cost is not None and cost > most:
            yield f"The current setup costs ${cost:,.2f} a day, more than the ${most:,.2f} you allow."

    @cached_property
    def before_cost(self) -> Cost:
        """Return the current cost."""
        return self._cost(self.before)

    def present(self) -> Option:
        """Return the option of no change, as measured, or replayed with the requested growth."""
        return self._present

    @cached_property
    def unsolved(self) -> Unsolved | None:
        """Return why no size is the answer; None where the options are."""
        return unsolved_by(self.diagnosis, self._by_storage.judgement)

    @cached_property
    def _is_seen(self) -> bool:
        """Return whether the current setup is judged by its measurements; demand of the future needs a replay."""
        return self.constraints.growth == 1 or not self._chain(self.before, self.legacy)

    @cached_property
    def _by_storage(self) -> JudgedChange:
        """Return the judgement of the current setup by storage alone."""
        if not self._is_seen:
            return self._judged(self._chain(self.before, self.legacy))
        return observed(self.demand, self.diagnosis, self.snapshot, allowed_ratio=self.constraints.allowed_ratio)

    @cached_property
    def _present(self) -> Option:
        judged, unsolved = self._by_storage, self.unsolved
        return Option(
            title=_title(self.before, self.before),
            role="",
            moves=(),
            instance=self.before,
            commands=(),
            disruption=Disruption(text="no change", is_restart=False, optimising_s=None, moved_bytes=None, reversal=""),
            effect=replace(
                judged.effect, work=self._work(self._chain(self.before, self.legacy)) if self._is_seen else None
            ),
            cost=self.before_cost,
            usd_per_day_more=Decimal(0),
            judgement=unsolved.judgement if unsolved else judged.judgement,
            probability=0.0 if unsolved else judged.probability,
            reason=unsolved.reason if unsolved else judged.reason,
            settled_by=judged.settled_by,
        )

    def option(self, after: Instance, role: str, *, free: FreeMove | None = None) -> Option:
        """Return the option of a setup, judged and priced."""
        is_restart = self._needs_restart(after) if free is None else free.is_restart
        chain = self._chain_after(after, free)
        judged = self._judged(chain)
        cost = self._cost(after)
        moves = (*self._restart_moves(is_restart, free), *moves_of(self.before, after))
        return Option(
            title=_title(self.before, after, is_restart=is_restart),
            role=role,
            moves=tuple(dict.fromkeys(moves)),
            instance=after,
            commands=() if self.is_brief else self._commands(after, is_restart=is_restart),
            disruption=disruption_of(
                self.actual,
                after,
                self.catalog,
                is_restart=is_restart,
                used_gib=self.needs.used_gib,
                served_bytes_per_s=self._mean_bytes_per_s,
            ),
            effect=replace(
                judged.effect,
                served_ratio=judged.effect.served_ratio if self.is_brief else self._share(chain),
                next_ceiling=self._next_ceiling(chain),
                work=self._work(chain),
            ),
            cost=cost,
            usd_per_day_more=usd_per_day_more(self.before, self.before_cost, after, cost),
            judgement=judged.judgement,
            probability=judged.probability,
            reason=judged.reason if free is None else f"{free.text} {_capital(judged.reason)}",
            settled_by=judged.settled_by,
        )

    def spread(self) -> Option | None:
        """Return the option of the same work over more hours; None where it would not fit in a day."""
        chain = self._chain(self.before, self.legacy)
        ratio = self.constraints.allowed_ratio
        found = spread_of(self.demand, chain, allowed_ratio=ratio, growth=self.constraints.growth)
        if found is None or self.unexplained is not None:
            return None
        present = self.present()
        minutes = found.ratio_at_ceiling * self.demand.summary.measured_s / 60
        jobs = sum(path.weight for path in self.demand.paths if path.is_carried)
        window = f"{found.hours} h from {found.start_s // 3600:02d}:00 UTC"
        return replace(
            present,
            title=f"{_title(self.before, self.before)}, the work spread over {window}",
            moves=(
                Move(
                    kind=MoveKind.SCHEDULE,
                    before="as it comes",
                    after=window,
                    text=f"delayed work spread over {window}",
                ),
            ),
            disruption=replace(
                present.disruption,
                text="no change in the database; jobs begin and end at other times",
                reversal="Move the jobs back at any time.",
            ),
            # The rest of the present effect is of throttled work; for spread work it is unknown.
            effect=replace(
                present.effect,
                minutes_at_ceiling=exactly(minutes),
                ratio_at_ceiling=exactly(found.ratio_at_ceiling),
                latency_s_mean=None,
                latency_s_p95=None,
                balance_min_ratio=None,
                balance_min_family=None,
                balance_min_s=None,
                work=None,
            ),
            # The owner decides whether work may be moved, so this option never *lifts* by itself.
            judgement=Judgement.UNSURE,
            probability=jobs,
            reason=f"{found.text}. This is enough if no more work was wanted than was served.",
            settled_by="ask the owner of the delayed job whether it can wait",
        )

    def _work(self, chain: tuple[Stage, ...]) -> WorkTime | None:
        """Return the duration of the same work; None where an undocumented limit set its pace."""
        if self.unexplained is not None:
            return None
        # A limit that is not enforced here is removed from every class with the same one, so that equal
        # limits take equal time.
        left = {_key(stage): most for stage, most in self.refuted.items()}
        return work_of(
            self.demand, _known(left.get(_key(stage), stage) for stage in chain), growth=self.constraints.growth
        )

    def helps(self, option: Option) -> bool:
        """Return whether an option costs less, or leaves clearly less time at a ceiling than was measured."""
        seen_min = self.demand.summary.held_back_s / 60
        more = option.usd_per_day_more
        # At least a tenth less, because the edges of plateaus alone change a replay by some minutes.
        is_shorter = option.effect.minutes_at_ceiling.middle < 0.9 * seen_min
        return (more is not None and more < 0) or (seen_min > 0 and is_shorter)

    def _chain(self, instance: Instance, legacy: LegacyLimits | None) -> tuple[Stage, ...]:
        """Return the limits of a setup, without those that are not enforced for its class."""
        chain = chain_of(instance, self.catalog, use_legacy=legacy)
        if instance.db_class != self.before.db_class:
            return chain
        # A restart applies other limits; those with the same number are the same limit.
        left = {_place(stage): most for stage, most in self.refuted.items()}
        return _known(left.get(_place(stage), stage) for stage in chain)

    def _needs_restart(self, after: Instance) -> bool:
        """Return whether a change of storage needs a restart for the present limits of the class."""
        return self.legacy is not None and after.db_class == self.before.db_class

    def _restart_moves(self, is_restart: bool, free: FreeMove | None) -> tuple[Move, ...]:
        if free is not None:
            return free.moves if is_restart else ()
        if not is_restart:
            return ()
        every = free_moves(self.before, self.catalog, legacy=self.legacy)
        return next((move.moves for move in every if move.is_restart), ())

    def _commands(self, after: Instance, *, is_restart: bool) -> tuple[str, ...]:
        first = commands_of(self.before, self.before, self.catalog, is_restart=True) if is_restart else ()
        return (*first, *commands_of(self.actual, after, self.catalog))

    def _cost(self, instance: Instance) -> Cost:
        limits = limits_of(instance, self.catalog)
        surplus = None if limits is None else self.needs.surplus_credits_per_hour(limits, self.catalog)
        return cost_of(
            instance, self.book, discount=self.constraints.discount, cpu_credits_per_hour=surplus, catalog=self.catalog
        )

    @cached_property
    def _known(self) -> dict[tuple[Stage, ...], JudgedChange]:
        """Return the cache of judgements: options that differ only in price are replayed once."""
        return {}

    @cached_property
    def _shares(self) -> dict[tuple[Stage, ...], Band]:
        """Return the cache of served shares, as that of judgements."""
        return {}

    def _share(self, chain: tuple[Stage, ...]) -> Band:
        if chain not in self._shares:
            self._shares[chain] = share_of(chain, self.demands)
        return self._shares[chain]

    def _judged(self, chain: tuple[Stage, ...]) -> JudgedChange:
        if chain not in self._known:
            found = judge(self.demand, chain, allowed_ratio=self.constraints.allowed_ratio)
            self._known[chain] = self._with_unknown_limit(found)
        return self._known[chain]

    def _with_unknown_limit(self, judged: JudgedChange) -> JudgedChange:
        """Return a judgement, less sure if the limit that bound may be undocumented."""
        chance = round(judged.probability * self.explained_ratio, 4)
        is_less_sure = self.explained_ratio < 1 and judged.judgement is not Judgement.DOES_NOT
        if not is_less_sure:
            return replace_stage(judged, probability=chance)
        which = "an undocumented limit"
        if self.unexplained is not None:
            which = f"the undocumented limit of {_rate(self.unexplained)}"
        return replace_stage(
            judged,
            judgement=Judgement.UNSURE,
            probability=chance,
            reason=f"{judged.reason}, unless {which} binds there too",
            settled_by="run one hour with the change, on a copy or in a quiet night",
        )

    @cached_property
    def explained_ratio(self) -> float:
        """Return the chance 0–1 that a change that passes the documented limits passes the one that bound."""
        # P(named limit) + P(another limit) × P(that one is replaced with the setup)
        if self.unexplained is not None:
            return GOES_WITH_IT
        sure = _named_ratio(self.diagnosis)
        return 1.0 if sure >= NAMED_SURELY else sure + (1 - sure) * GOES_WITH_IT

    @cached_property
    def demand_weights(self) -> FloatArray:
        """Return the chance of each plausible demand, the last for a limit that no change lifts, sum 1."""
        ratio = self.explained_ratio
        return np.append(ratio * passing_weights(self.demand), 1 - ratio)

    @cached_property
    def chosen_by(self) -> FloatArray:
        """Return the same chances without endless demands: those by which steps are chosen, sum 1."""
        ratio = self.explained_ratio
        return np.append(ratio * bounded_weights(self.demand), 1 - ratio)

    def passed(self, after: Instance, *, free: FreeMove | None = None) -> BoolArray:
        """Return for which of the plausible demands a setup is enough, shape of `demand_weights`."""
        return np.append(self._judged(self._chain_after(after, free)).passed, False)

    def _chain_after(self, after: Instance, free: FreeMove | None) -> tuple[Stage, ...]:
        """Return the limits of a setup that is bought or free."""
        is_restart = self._needs_restart(after) if free is None else free.is_restart
        # A change of storage on an old instance leaves the legacy limits of the class in force.
        keeps_old = not is_restart and after.db_class == self.before.db_class
        return self._chain(after, self.legacy if keeps_old else None)

    def _next_ceiling(self, chain: tuple[Stage, ...]) -> NextCeiling | None:
        """Return the lowest sustained ceiling of a chain at the window's I/O size."""
        if not chain:
            return None
        stage = chain[int(ceiling_curve(chain, [self.io_size_bytes]).stage[0])]
        has_credits = stage.burst > stage.baseline and stage.capacity > 0
        return NextCeiling(
            family=Family(stage.name),
            # A burst ends, so the sustained rate is the baseline.
            phase=Phase.BASELINE if has_credits else Phase.FIXED,
            dimension=Dimension.THROUGHPUT if stage.counts == "bytes" else Dimension.IOPS,
            value=stage.baseline * stage.stripes,
        )


def _key(stage: Stage) -> tuple[str, float, float, int]:
    return stage.name, stage.baseline, stage.burst, stage.stripes


def _place(stage: Stage) -> tuple[str, float]:
    return stage.name, stage.baseline


def _known(chain: Iterable[Stage | None]) -> tuple[Stage, ...]:
    return tuple(stage for stage in chain if stage is not None)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _named_ratio(diagnosis: Diagnosis) -> float:
    """Return the time-weighted chance 0–1 that the limits that bound are the named ones; 1 without any."""
    named = [one for one in diagnosis.intervals if one.family is not Family.UNKNOWN]
    seconds = np.array([one.end_s - one.start_s for one in named], dtype=np.float64)
    sure = np.array([one.attribution for one in named])
    return float((seconds * sure).sum() / seconds.sum()) if seconds.sum() > 0 else 1.0


def _title(before: Instance, after: Instance, *, is_restart: bool = False) -> str:
    parts = []
    if after.db_class:
        parts.append(after.db_class)
    if is_restart:
        parts.append("stopped and started")
    if after.storage == before.storage:
        parts.append("storage as it is")
    else:
        parts.append(describe_storage(after.storage))
    return ", ".join(parts)


def _rate(time: CeilingTime) -> str:
    is_bytes = time.dimension is Dimension.THROUGHPUT
    return (format_bytes_per_s if is_bytes else format_ops_per_s)(time.level)
