"""
The plan to remove a ceiling: the demand, the changes that can be bought, and the effect and cost of each.

Nothing here is executed: every command is text for people. What is not known is None, never zero.
"""

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.price import HOURS_PER_MONTH
from plimsoll.model.prior import Prior


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
    middle: float
    high: float


class DemandSummary(Struct, frozen=True, kw_only=True):
    """The demand of the load, as far as it follows from the served rates."""

    measured_s: float
    """Seconds of the window that were measured."""
    held_back_s: float
    """Seconds of them in which a ceiling bound: demand was higher than what was served."""
    loop: LoadResponse
    loop_reason: str
    """A sentence: the evidence for it, or what would show it."""
    is_lower_bound: bool
    """Whether only a lower bound is known: too little of the window was free of ceilings."""
    peak_bytes_per_s: Band | None
    """Highest demand of any step, reads and writes together."""
    peak_ops_per_s: Band | None
    held_back_bytes: Band | None
    """Demand minus served over the window, bytes."""
    assumptions: tuple[str, ...]
    """Sentences: the assumptions about what was not observed."""
    nature: WorkloadKind = WorkloadKind.UNKNOWN
    greedy_ratio: float = 0.0
    """Chance 0–1 that the throttled load uses any throughput it gets, weighted by throttled time."""
    nature_reason: str = ""
    """A sentence: the evidence for the nature and its consequence; empty where nothing was throttled."""


class Move(Struct, frozen=True, kw_only=True):
    """One change."""

    kind: MoveKind
    before: str
    after: str
    text: str
    """`class db.t3.xlarge to db.m6g.xlarge`"""


class Disruption(Struct, frozen=True, kw_only=True):
    """The effect on users while the change is made."""

    text: str
    """A sentence: restart, failover, hours of optimising."""
    is_restart: bool
    optimising_s: Band | None
    """
    Duration of the optimisation of volumes that are changed in place, by the figures that EBS publishes.
    None where no volume is, where data is copied instead, or where the size is not known.
    """
    moved_bytes: float | None
    """Bytes that are copied where new volumes are created; None where none are."""
    reversal: str
    """A sentence: how the change is reverted, and when that is possible."""
    notes: tuple[str, ...] = ()
    """Sentences: other architecture, fewer cores, when storage can be changed again."""


class NextCeiling(Struct, frozen=True, kw_only=True):
    """The ceiling that would bind after the change, at the window's I/O size."""

    family: Family
    phase: Phase
    dimension: Dimension
    value: float
    """bytes/s or ops/s"""


class WorkTime(Struct, frozen=True, kw_only=True):
    """
    The time that the same work of the window's jobs would take, replayed from start to end of each.

    A job is the work served at a ceiling, with the burst before it and its short pauses.
    """

    chained_minutes: float
    """Every task starts when the one before it is done; pauses keep their length."""
    independent_minutes: float
    """Every task keeps its start time, so credits return in the idle time."""


class Effect(Struct, frozen=True, kw_only=True):
    """The window replayed with the change, over the band of demand."""

    minutes_at_ceiling: Band
    """Minutes of the measured window in which requests would wait for a ceiling."""
    ratio_at_ceiling: Band
    """The same as a share 0–1 of the measured window."""
    served_bytes_per_s: Band
    """Mean over the time at a ceiling; over the whole window where there was none."""
    served_ratio: Band
    """Share 0–1 of the demanded bytes that are served without waiting."""
    latency_s_mean: Band | None
    latency_s_p95: Band | None
    """Predicted latency of storage requests; None where no latency was measured."""
    balance_min_ratio: float | None
    """Lowest balance of any instance or volume bucket, at the high demand; None without a bucket."""
    balance_min_family: Family | None
    balance_min_s: int | None
    """Epoch seconds at which that lowest balance is reached."""
    next_ceiling: NextCeiling | None
    work: WorkTime | None = None
    """Duration of the jobs of the window; None where nothing was throttled, or where no limit of the
    setup is documented."""


class Cost(Struct, frozen=True, kw_only=True):
    """The on-demand cost of a setup; an unknown part makes the sum unknown."""

    usd_per_month: Decimal | None
    """Of 730 hours; None where any part is not known."""
    instance_usd_per_hour: Decimal | None
    storage_usd_per_month: Decimal | None
    iops_usd_per_month: Decimal | None
    throughput_usd_per_month: Decimal | None
    credits_usd_per_month: Decimal | None = None
    """CPU credits beyond what a T class earns, at the window's rate; zero where it earns enough."""
    are_credits_counted: bool = True
    """False where the number of spent credits is unknown: the sum is then without them."""
    as_of: str | None = None
    """The oldest ISO date among its prices."""
    is_weak: bool = False
    """Whether a part rests on a weak source."""
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Sentences: which price is not known, and what would supply it."""
    notes: tuple[str, ...] = ()
    """Sentences: what was assumed, and what is not counted."""

    @property
    def usd_per_day(self) -> Decimal | None:
        """Return the cost of 24 hours; None where that of the month is unknown."""
        return None if self.usd_per_month is None else self.usd_per_month * 24 / HOURS_PER_MONTH


class RejectedOption(Struct, frozen=True, kw_only=True):
    """A setup that costs less than an option and is not proposed."""

    name: str
    """`db.m5.large, gp3 400 GiB`"""
    usd_per_month: Decimal | None
    reason: str
    """A sentence with numbers."""


class BreakEven(Struct, frozen=True, kw_only=True):
    """The price below which a class of unknown price would be the cheaper one."""

    usd_per_hour: Decimal
    """On demand, below which it would cost less than the other."""
    than: str
    """Title of the cheapest option that suffices at least as probably."""


class Option(Struct, frozen=True, kw_only=True):
    """One option: its changes, their effect and their cost."""

    title: str
    """`db.m6g.xlarge, storage as it is`"""
    role: str
    """Why it is shown: `free`, `cheapest`, `same class`, `same storage`, `same architecture`,
    `smaller`, `cheaper but unsure`"""
    moves: tuple[Move, ...]
    instance: Instance
    """The instance after the change."""
    commands: tuple[str, ...]
    """Shell lines that request the change; they are never run."""
    disruption: Disruption
    effect: Effect
    cost: Cost
    usd_per_day_more: Decimal | None
    """Cost after minus before, per day; None where either is not known."""
    judgement: Judgement
    probability: float
    """Share 0–1 of plausible demands under which it lifts."""
    reason: str
    """A sentence: the reason of the judgement, with numbers."""
    settled_by: str
    """The observation that would decide `unsure`; empty otherwise."""
    rejected: tuple[RejectedOption, ...] = ()
    """The nearest few cheaper setups, each with the reason why it is not enough."""
    break_even: BreakEven | None = None
    """Of an option without a price; None where it has one, or where nothing priced does as much."""


class Rung(Struct, frozen=True, kw_only=True):
    """One step of a ladder."""

    option: int
    """Its place in the plan's options, from 0."""
    chance: float
    """Share 0–1 of plausible demands for which it is enough; of a step that does the same work sooner,
    the chance that the load uses any throughput it gets."""
    chance_after: float
    """The same share, of the demands for which no earlier step is enough."""
    kind: RungKind = RungKind.ENOUGH


class Ladder(Struct, frozen=True, kw_only=True):
    """The steps to try in order: the next one if the load is at a ceiling again."""

    rungs: tuple[Rung, ...]
    """In order: free steps, a size up, a cheaper try, the recommended step, the next one."""
    recommended: int
    """Place in `rungs` of the cheapest step that probably suffices."""
    certain: int | None
    """Place in the plan's options of the cheapest that is almost certain; None where nothing is."""
    usd_per_day_more: Decimal | None
    """Expected additional cost of the step that is enough, without the cheaper try; None where unknown."""
    step_count: float
    """Expected number of steps until one is enough, without the cheaper try."""
    check: str = ""
    """The command that checks after the step whether it was enough."""
    note: str = ""
    """A sentence: what no step changes for a load that uses any throughput it gets; empty for others."""


class CurvePoint(Struct, frozen=True, kw_only=True):
    """The largest share that can be served for a price."""

    name: str
    usd_per_month: Decimal
    served_ratio: Band
    """Share 0–1 of the demanded bytes that are served without waiting."""
    is_present: bool = False


class WorkPoint(Struct, frozen=True, kw_only=True):
    """A setup that does the same work at least a fifth sooner than every cheaper one."""

    name: str
    usd_per_day_more: Decimal
    work: WorkTime


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
    window_s: tuple[int, int]
    is_simulated: bool
    source: str
    allowed_ratio: float
    """Share 0–1 of minutes that may be spent at a ceiling."""
    growth: float
    """Factor of the demand."""
    demand: DemandSummary
    present: Option
    """Nothing changed."""
    options: tuple[Option, ...]
    """Free ones first, then by cost; what is judged `does not` is here only when it is free."""
    unpriced: tuple[Option, ...]
    """Options that are enough, surely or probably, but whose cost is unknown; ordered by size."""
    curve: tuple[CurvePoint, ...]
    work_by_price: tuple[WorkPoint, ...]
    """Duration of the same work by additional cost, cheapest first; empty where nothing was throttled."""
    candidate_count: int
    """Setups that can be bought and fit CPU, memory, connections, network and space."""
    vector_count: int
    """Distinct limits among them, each replayed once."""
    prices_as_of: str | None
    """The oldest ISO date among the prices of what is shown; None where none has a price."""
    are_prices_old: bool
    """Whether that is more than a year ago."""
    headline: str
    """The recommendation in a few sentences, or that no change helps, or that none is needed."""
    notes: tuple[str, ...]
    """Remarks for the reader: what was not checked, and why."""
    ladder: Ladder | None = None
    """The steps in order; None where no change is needed or none helps."""
