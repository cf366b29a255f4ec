"""
The plan to remove a ceiling: the demand, the changes that can be bought, and the effect and cost of each.

Nothing here is executed: every command is text for people. What is not known is None, never zero.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.price import HOURS_PER_MONTH
from plimsoll.model.prior import Prior
from plimsoll.model.written import After, Inline, Moment, Named, Ratio, Window


class Judgement(StrEnum):
    """Whether a change lets the window's demand pass."""

    LIFTS = "lifts"
    """At a ceiling for no more than the allowed share of minutes, for every plausible demand."""
    DOES_NOT = "does not"
    """At a ceiling for more than that, for every plausible demand."""
    UNSURE = "unsure"
    """It depends on demand that was not observed; `settled_by` names what would decide it."""


class LoadResponse(StrEnum):
    """The response of the load to faster storage."""

    OPEN = "open"
    """Requests arrive whether or not earlier ones are done: throttled work is done later."""
    CLOSED = "closed"
    """A fixed number of clients send the next request after an answer: faster storage means more requests."""
    UNKNOWN = "unknown"
    """Storage metrics alone do not show it."""


class WorkloadKind(StrEnum):
    """Whether the demand of the load is bounded, or it uses any throughput it gets."""

    OPEN = "open"
    """Users and schedules set the demand; enough throughput serves all of it."""
    GREEDY = "greedy"
    """A vacuum, a load job or clients without pauses: more throughput is used up as well."""
    UNKNOWN = "unknown"
    """Neither is likely enough."""


class RungKind(StrEnum):
    """The reason for a step of the ladder."""

    FREE = "free"
    """It costs nothing, so it is tried first."""
    SIZE_UP = "size up"
    """The next size of the same family with the current storage: the most common change. The steps
    after it do not assume it."""
    ENOUGH = "enough"
    """It is enough for a share of plausible demands."""
    SOONER = "sooner"
    """It does the same work sooner: for a load that uses any throughput it gets."""


MOMENT, AFTER = "MOMENT", "AFTER"
"""Placeholders in the command that checks a step: its time, or a file of samples after it."""
ALLOWED_RATIO = 0.01
"""Default share 0–1 of the measured time that may be spent at a ceiling."""
PROBABLY = 0.9
"""
A recommended step is enough with this chance; a step that is less likely is called the most likely one. Were
calibrated chances spread evenly above the mark, (1 + 0.9) / 2 = 95 of 100 such steps would be enough. A few
of those hundred loads use any throughput they get, which storage metrics do not always show.
"""
FREE = "free"
"""Role of what costs nothing."""
A_SIZE_UP = "a size up"
"""Role of the next size of the same family, with the current storage."""
FASTER = "faster for the money"
"""Role of what saves the most time of the same work for each dollar that it costs more."""
FASTER_STILL = "faster still"
"""Role of the same beyond what is faster for the money."""


class MoveKind(StrEnum):
    """The kind of a change."""

    RESTART = "restart"
    """Stop and start: an old instance gets the present limits of its class."""
    CLASS = "class"
    STORAGE_TYPE = "storage_type"
    STORAGE_SIZE = "storage_size"
    IOPS = "iops"
    THROUGHPUT = "throughput"
    SCHEDULE = "schedule"
    """Nothing is bought: work is moved to hours in which credits suffice."""


class PlanConstraints(Struct, frozen=True, kw_only=True):
    """The constraints of a plan; the command line refuses impossible ones."""

    allowed_ratio: float = ALLOWED_RATIO
    """Share 0–1 of minutes that may be spent at a ceiling."""
    usd_per_day_max: Decimal | None = None
    """Maximum cost of a setup per day of 24 hours; None without a maximum."""
    keep_class: bool = False
    keep_storage: bool = False
    """Type, size, IOPS and throughput of the storage stay."""
    engine: str | None = None
    """The engine, as RDS names it, in place of the instance's; None keeps the current one."""
    multi_az: bool | None = None
    """Whether the new setup has a standby; None keeps the current setup."""
    growth: float = 1.0
    """Factor of the demand, > 0."""
    allow: tuple[str, ...] = ()
    """Patterns of classes and storage types that may be proposed, and what may get smaller."""
    deny: tuple[str, ...] = ()
    """Patterns that are not proposed; they go before `allow`."""
    prior: Prior = Prior()
    """Assumptions about demand that was not observed."""
    discount: Decimal = Decimal(1)
    """Factor of on-demand prices, 0 < x ≤ 1: 0.8 for a discount of 20 %."""


class Band(Struct, frozen=True, kw_only=True):
    """A number that is known within bounds; low ≤ middle ≤ high."""

    low: float
    """Lowest; not above `middle`."""
    middle: float
    """In the middle."""
    high: float
    """Highest; not below `middle`."""


class DemandSummary(Struct, frozen=True, kw_only=True):
    """The demand of the load, as far as it follows from the served rates."""

    measured_s: float
    """Seconds of the window that were measured."""
    held_back_s: float
    """Seconds of them in which a ceiling bound: demand was higher than the served rate."""
    loop: LoadResponse
    """How the load answers to faster storage: `open` requests come whether or not earlier ones are
    done, `closed` a fixed number of clients asks again when answered."""
    loop_reason: str
    """The evidence for it, or what would show it; may be empty."""
    is_lower_bound: bool
    """True where only a lower bound is known: too little of the window was free of ceilings."""
    peak_bytes_per_s: Band | None
    """Highest demand of any step, reads and writes together, in bytes/s; null where it is not known."""
    peak_ops_per_s: Band | None
    """The same in operations per second."""
    held_back_bytes: Band | None
    """Demand minus served over the window, in bytes; null where it is not known."""
    assumptions: tuple[str, ...]
    """The assumptions about what could not be measured."""
    nature: WorkloadKind = WorkloadKind.UNKNOWN
    """Whether the demand of the load is bounded (`open`), or it uses any throughput it gets
    (`greedy`), for example a vacuum or a load job; named from a chance of 0.7 on."""
    greedy_ratio: Ratio = 0.0
    """Chance that the throttled load uses any throughput it gets."""
    nature_reason: str = ""
    """The evidence for the nature, and its consequence; empty where nothing was throttled."""


class Move(Struct, frozen=True, kw_only=True):
    """One change."""

    kind: MoveKind
    """The kind of change; `restart` and `schedule` buy nothing."""
    before: str
    """The present value."""
    after: str
    """The new value."""
    text: str
    """The change for people, such as `class db.t3.xlarge to db.m6g.xlarge`."""


class Disruption(Struct, frozen=True, kw_only=True):
    """The effect on users while the change is made."""

    text: str
    """The disruption: restart, failover, hours of optimising."""
    is_restart: bool
    """Whether the database is away for a while."""
    optimising_s: Band | None
    """How long volumes that are changed in place are optimised, in seconds, by the figures that EBS
    publishes; null where none are, where data is copied instead, or where the size is not known."""
    moved_bytes: float | None
    """Bytes that are copied where volumes are made anew; null where nothing is."""
    reversal: str
    """How the change is reverted, and when that is possible."""
    notes: tuple[str, ...] = ()
    """Remarks: other architecture, fewer cores, when storage can be changed again."""


class NextCeiling(Struct, frozen=True, kw_only=True):
    """The ceiling that would bind after the change, at the window's I/O size."""

    family: Family
    """The rule."""
    phase: Phase
    """Which number of it."""
    dimension: Dimension
    """The rate that would be at the ceiling."""
    value: float
    """The number, in bytes/s or operations per second."""


class WorkTime(Struct, frozen=True, kw_only=True):
    """
    The time that the same work of the window's jobs would take, replayed from start to end of each.

    A job is the work served at a ceiling, with the burst before it and its short pauses.
    """

    chained_minutes: Annotated[float, Named("work_minutes")]
    """Minutes in which exactly the work of the window's jobs would be done, each task starting when
    the one before it is done; null where none was throttled, or no limit of the setup is documented."""
    independent_minutes: Annotated[float, Named("work_minutes_independent")]
    """The same with each task at its own time, so that credits return in the idle time; never more than
    `work_minutes`."""


class Effect(Struct, frozen=True, kw_only=True):
    """The window replayed with the change, over the band of demand."""

    minutes_at_ceiling: Band
    """Minutes of the measured window in which requests would wait for a ceiling; a zero is a
    promise only where `is_observed`."""
    ratio_at_ceiling: Band
    """The same as a share 0–1 of the measured window."""
    served_bytes_per_s: Band
    """Mean rate served, in bytes/s, over the throttled time; over the whole window if none was throttled."""
    served_ratio: Band
    """Share 0–1 of the demanded bytes that are served without waiting."""
    latency_s_mean: Band | None
    """Predicted mean latency of storage requests, in seconds; null where no latency was measured."""
    latency_s_p95: Band | None
    """The same as the 95th percentile over time."""
    balance_min_ratio: float | None
    """Lowest balance of any credit bucket, 0–1, at the high demand; null without a bucket."""
    balance_min_family: Family | None
    """Whose bucket that is; null without a bucket."""
    balance_min_s: Annotated[Moment | None, Named("balance_min_time")]
    """When that is reached; UTC, ISO 8601 to the second with `Z`; null without a bucket."""
    next_ceiling: NextCeiling | None
    """The ceiling that would bind next at the window's I/O size; null where it is not known."""
    work: Inline[WorkTime] | None = None
    """Duration of the jobs of the window; None where nothing was throttled, or where no limit of the
    setup is documented."""


class Cost(Struct, frozen=True, kw_only=True):
    """The on-demand cost of a setup; an unknown part makes the sum unknown."""

    usd_per_month: Decimal | None
    """Of 730 hours; null where any part is not known."""
    instance_usd_per_hour: Decimal | None
    """The instance, for an hour."""
    storage_usd_per_month: Decimal | None
    """Allocated storage, for a month."""
    iops_usd_per_month: Decimal | None
    """Provisioned IOPS, for a month."""
    throughput_usd_per_month: Decimal | None
    """Provisioned throughput, for a month."""
    credits_usd_per_month: Decimal | None = None
    """CPU credits beyond what a T class earns, at the window's rate; null where it is not known or does not apply."""
    are_credits_counted: bool = True
    """False where the number of spent credits is unknown: the sum is then without them."""
    as_of: str | None = None
    """Oldest ISO date among its prices; null where none is dated."""
    is_weak: bool = False
    """Whether a part rests on a weak source."""
    sources: tuple[str, ...] = ()
    """Where the prices are from."""
    unknown: tuple[str, ...] = ()
    """The prices that are not known, and what would supply them."""
    notes: tuple[str, ...] = ()
    """Assumptions, and costs that are not counted."""

    @property
    def usd_per_day(self) -> Annotated[Decimal | None, After("usd_per_month")]:
        """Of 24 hours; null where any part is not known."""
        return None if self.usd_per_month is None else self.usd_per_month * 24 / HOURS_PER_MONTH


class RejectedOption(Struct, frozen=True, kw_only=True):
    """A setup that costs less than an option and is not proposed."""

    name: str
    """The setup, for people."""
    usd_per_month: Decimal | None
    """Its cost for a month of 730 hours; null where it is not known."""
    reason: str
    """Why it is not enough, with numbers."""


class BreakEven(Struct, frozen=True, kw_only=True):
    """The price below which a class of unknown price would be the cheaper one."""

    usd_per_hour: Decimal
    """US dollars an hour on demand, below which it costs less than the other."""
    than: str
    """Title of the cheapest option that suffices at least as probably."""


class Option(Struct, frozen=True, kw_only=True):
    """One option: its changes, their effect and their cost."""

    title: str
    """The setup for people, for example `db.m6g.xlarge, storage as it is`."""
    role: str
    """Why it is shown, such as `free`, `cheapest`, `same class`, `same storage`, `same
    architecture`, `smaller`, `cheaper but unsure`, `likely`, `a size up`, `faster for the
    money`, `faster still`; empty for what is there."""
    moves: tuple[Move, ...]
    """The changes; empty for the current setup."""
    instance: Instance
    """The instance after the change."""
    commands: tuple[str, ...]
    """Shell lines that would order it. Plimsoll never runs them."""
    disruption: Disruption
    """The effect on users while the change is made."""
    effect: Effect
    """The window replayed with the change."""
    cost: Cost
    """Its on-demand cost."""
    usd_per_day_more: Decimal | None
    """Cost after minus before, in US dollars per day; null where either is not known."""
    judgement: Judgement
    """`lifts`: at a ceiling for no more than the allowed share of minutes, for every plausible
    demand; `does not`: for more, for every plausible demand; `unsure`: it depends on demand
    that was not measured."""
    probability: float
    """Share 0–1 of plausible demands under which it lifts."""
    reason: str
    """Why it is judged so, with numbers."""
    settled_by: str
    """The observation that would decide `unsure`; empty otherwise."""
    rejected: tuple[RejectedOption, ...] = ()
    """The nearest few that cost less and are not proposed."""
    break_even: BreakEven | None = None
    """How cheap a class without a price would have to be; null where it has one, or where nothing
    with a price suffices as probably."""


class Rung(Struct, frozen=True, kw_only=True):
    """One step of a ladder."""

    option: int
    """Place in `options`, from 0."""
    chance: float
    """Chance 0–1 that it is enough: the `probability` of the option. Of kind `sooner` the chance
    that the load uses any throughput it gets."""
    chance_after: float
    """The same given that no earlier step was enough."""
    kind: RungKind = RungKind.ENOUGH
    """Why it stands here: it costs nothing; it is the next size of the same family with the storage
    as it is, on which later steps do not count; it is enough with a chance; it does the same
    work sooner, for a load that takes whatever it is given."""


class Ladder(Struct, frozen=True, kw_only=True):
    """The steps to try in order: the next one if the load is at a ceiling again."""

    rungs: tuple[Rung, ...]
    """The steps in order: free steps, a size up, a cheaper try, the recommended step, those after it."""
    recommended: int
    """Place in `rungs`, from 0, of the recommended step: the cheapest that is probably enough, or
    for a load that uses any throughput it gets the one that saves the most hours of work per
    dollar."""
    certain: int | None
    """Place in `options`, from 0, of the cheapest that is almost certain to suffice; null where none is."""
    usd_per_day_more: Decimal | None
    """Expected difference of price of the step that is kept, in US dollars per day, without the
    cheaper try; null where it is not known."""
    step_count: float
    """Expected number of steps until one suffices, without the cheaper try."""
    check: str = ""
    """Shell line that checks after the step whether it was enough; empty where the target is not known."""
    note: str = ""
    """What no step changes for a load that uses any throughput it gets; empty for other loads."""


class CurvePoint(Struct, frozen=True, kw_only=True):
    """The largest share that can be served for a price."""

    name: str
    """The setup, for people."""
    usd_per_month: Decimal
    """Its cost for a month of 730 hours."""
    served_ratio: Band
    """Share 0–1 of the demanded bytes that it serves without waiting."""
    is_present: bool = False
    """Whether it is the current setup."""


class WorkPoint(Struct, frozen=True, kw_only=True):
    """A setup that does the same work at least a fifth sooner than every cheaper one."""

    name: str
    """The setup, for people."""
    usd_per_day_more: Decimal
    """Its additional cost per day."""
    work: Inline[WorkTime]


class FirstOptions(Struct, frozen=True, kw_only=True):
    """The part of a plan that a row of a fleet is made of; the fields are those of `Plan`."""

    present: Option
    options: tuple[Option, ...]
    ladder: Ladder | None
    lost: tuple[str, ...] = ()
    """A note for each part that is lost to an internal error."""


class Plan(Struct, frozen=True, kw_only=True):
    """The whole answer for one window."""

    instance: Instance
    """The current instance."""
    window_s: Window
    """The time that was replayed."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    source: str
    """Where the samples came from, for people."""
    allowed_ratio: float
    """Share 0–1 of the minutes that may be spent at a ceiling."""
    growth: float
    """Factor of the demand."""
    demand: DemandSummary
    """The demand, as far as it follows from the served rates."""
    present: Option
    """The same judgement of the current setup."""
    options: tuple[Option, ...]
    """Ways past, as they are ranked: free ones first, then by cost."""
    unpriced: tuple[Option, ...]
    """Ways past whose cost is not known; ordered by size, never ranked by cost."""
    curve: tuple[CurvePoint, ...]
    """The most that can be had for a price, cheapest first."""
    work_by_price: tuple[WorkPoint, ...]
    """Duration of the same work by additional cost, cheapest first; each setup takes at least a
    fifth less than the one before."""
    candidate_count: int
    """Arrangements that can be bought and fit CPU, memory, connections, network and space."""
    vector_count: int
    """Distinct limits among them, each replayed once."""
    prices_as_of: str | None
    """The oldest ISO date among the prices of what is shown; null where none has a price."""
    are_prices_old: bool
    """Whether that is more than a year ago."""
    headline: str
    """The way past in a few sentences for people, or that there is none, or that nothing needs one."""
    notes: tuple[str, ...]
    """Remarks: what was not checked, and why."""
    ladder: Ladder | None = None
    """The steps in order; null where no change is needed, or no step has a price or a chance."""
