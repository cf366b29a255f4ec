"""
The way past a ceiling: demand behind it, changes that can be bought, what each does and costs.

Nothing here is ordered: every command is text for people. What is not known is None, never zero.
"""

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.prior import Prior


class Judgement(StrEnum):
    """Whether a change lets the window's demand pass."""

    LIFTS = "lifts"
    """Held back for less than the allowed share of minutes, whatever demand is plausible."""
    DOES_NOT = "does not"
    """Held back for more than that, whatever demand is plausible."""
    UNSURE = "unsure"
    """It depends on demand that nobody saw; `settled_by` says what would tell."""


class LoadResponse(StrEnum):
    """How the load answers to a faster storage."""

    OPEN = "open"
    """Requests come whether or not earlier ones are done: what is held back is done later."""
    CLOSED = "closed"
    """A fixed number of clients ask again when answered: more supply means more throughput."""
    UNKNOWN = "unknown"
    """Storage metrics alone do not tell."""


class WorkloadKind(StrEnum):
    """Whether the load has an end of its own, or takes whatever it is given."""

    OPEN = "open"
    """Users and schedules set how much is asked for; enough throughput serves it all."""
    GREEDY = "greedy"
    """A vacuum, a load job or clients without pauses: more throughput is used up as well."""
    UNKNOWN = "unknown"
    """Neither is likely enough to be said."""


class RungKind(StrEnum):
    """Why a step stands on the ladder."""

    FREE = "free"
    """It costs nothing, so it is tried first."""
    SIZE_UP = "size up"
    """The next size of the same family with the storage as it is: what is done most often. The steps
    after it do not count on it."""
    ENOUGH = "enough"
    """It is enough for a share of plausible demands."""
    SOONER = "sooner"
    """It does the same work sooner: for a load that takes whatever it is given."""


MOMENT, AFTER = "MOMENT", "AFTER"
"""What a reader replaces in the command that checks a step: its time, or a file of samples after it."""
ALLOWED_RATIO = 0.01
"""Share 0–1 of the measured time that may be spent at a ceiling, where nobody says otherwise."""
PROBABLY = 0.9
"""
A recommended step is enough with this chance; a step that is less likely is called the most likely one. Were
calibrated chances spread evenly above the mark, (1 + 0.9) / 2 = 95 of 100 such steps would be enough. A few
of those hundred loads take whatever they are given, which storage metrics do not always show.
"""
FREE = "free"
"""Role of what costs nothing."""
A_SIZE_UP = "a size up"
"""Role of the next size of the same family, with the storage as it is."""
FASTER = "faster for the money"
"""Role of what saves the most time of the same work for each dollar that it costs more."""
FASTER_STILL = "faster still"
"""Role of the same beyond what is faster for the money."""


class MoveKind(StrEnum):
    """What is changed."""

    RESTART = "restart"
    """Stop and start: an old instance takes the present limits of its class."""
    CLASS = "class"
    STORAGE_TYPE = "storage_type"
    STORAGE_SIZE = "storage_size"
    IOPS = "iops"
    THROUGHPUT = "throughput"
    SCHEDULE = "schedule"
    """Nothing is bought: work is moved to hours in which credits suffice."""


class PlanConstraints(Struct, frozen=True, kw_only=True):
    """What the way past must keep to; the command line refuses what cannot be."""

    allowed_ratio: float = ALLOWED_RATIO
    """Share 0–1 of minutes that may be spent at a ceiling."""
    usd_per_day_max: Decimal | None = None
    """Most that an arrangement may cost in a day of 24 hours; None where money is no object."""
    keep_class: bool = False
    keep_storage: bool = False
    """Type, size, IOPS and throughput of the storage stay."""
    engine: str | None = None
    """Another engine name than the instance says, as RDS names it; None keeps it."""
    multi_az: bool | None = None
    """Whether it is to have a standby; None keeps it as it is."""
    growth: float = 1.0
    """What demand is multiplied with, > 0."""
    allow: tuple[str, ...] = ()
    """Patterns of classes and storage types that may be proposed, and what may get smaller."""
    deny: tuple[str, ...] = ()
    """Patterns that are not proposed; they go before `allow`."""
    prior: Prior = Prior()
    """What is assumed of demand that nobody saw."""
    discount: Decimal = Decimal(1)
    """What a price on demand is multiplied with, 0 < x ≤ 1: 0.8 for one fifth off."""


class Band(Struct, frozen=True, kw_only=True):
    """A number that is known within bounds; low ≤ middle ≤ high."""

    low: float
    middle: float
    high: float


class DemandSummary(Struct, frozen=True, kw_only=True):
    """What the load asked for, as far as it can be told from what was served."""

    measured_s: float
    """Seconds of the window that were measured."""
    held_back_s: float
    """Seconds of them in which a ceiling bound: demand was higher than what was served."""
    loop: LoadResponse
    loop_reason: str
    """A sentence: what tells it, or what would."""
    is_lower_bound: bool
    """Whether only a lower bound is known: too little of the window was free of ceilings."""
    peak_bytes_per_s: Band | None
    """Highest demand of any step, reads and writes together."""
    peak_ops_per_s: Band | None
    held_back_bytes: Band | None
    """Demand minus served over the window, bytes."""
    assumptions: tuple[str, ...]
    """Sentences: what was assumed to fill in what was not seen."""
    nature: WorkloadKind = WorkloadKind.UNKNOWN
    greedy_ratio: float = 0.0
    """Chance 0–1 that what was held back takes whatever it is given, weighted by held-back time."""
    nature_reason: str = ""
    """A sentence: what tells the nature and what follows from it; empty where nothing was held back."""


class Move(Struct, frozen=True, kw_only=True):
    """One change."""

    kind: MoveKind
    before: str
    after: str
    text: str
    """`class db.t3.xlarge to db.m6g.xlarge`"""


class Disruption(Struct, frozen=True, kw_only=True):
    """What making the change does to the users."""

    text: str
    """A sentence: restart, failover, hours of optimising."""
    is_restart: bool
    optimising_s: Band | None
    """
    How long volumes that are changed in place are optimised, by the figures that EBS publishes; None
    where none are, where data is copied instead, or where the size is not known.
    """
    moved_bytes: float | None
    """Bytes that are copied where volumes are made anew; None where nothing is."""
    reversal: str
    """A sentence: what undoes it, and from when on."""
    notes: tuple[str, ...] = ()
    """Sentences: other architecture, fewer cores, when storage can be changed again."""


class NextCeiling(Struct, frozen=True, kw_only=True):
    """What would bind next after the change, at the window's I/O size."""

    family: Family
    phase: Phase
    dimension: Dimension
    value: float
    """bytes/s or ops/s"""


class WorkTime(Struct, frozen=True, kw_only=True):
    """
    How long exactly the work of the window's jobs would take, replayed from start to end of each.

    A job is what was served at a ceiling, with its burst before and its short pauses.
    """

    chained_minutes: float
    """Every task starts when the one before it is done; pauses keep their length."""
    independent_minutes: float
    """Every task keeps its start time, so credits return in the time that is left free."""


class Effect(Struct, frozen=True, kw_only=True):
    """What the window would have been with the change, over the band of demand."""

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
    """How long the jobs of the window would take; None where nothing was held back, or where no limit
    of the arrangement is documented."""


class Cost(Struct, frozen=True, kw_only=True):
    """What an arrangement costs on demand; a part that is not known makes the sum unknown."""

    usd_per_month: Decimal | None
    """Of 730 hours; None where any part is not known."""
    instance_usd_per_hour: Decimal | None
    storage_usd_per_month: Decimal | None
    iops_usd_per_month: Decimal | None
    throughput_usd_per_month: Decimal | None
    credits_usd_per_month: Decimal | None = None
    """CPU credits beyond what a T class earns, at the window's rate; zero where it earns enough."""
    are_credits_counted: bool = True
    """False where nobody said how many credits are spent: the sum is then without them."""
    as_of: str | None = None
    """The oldest ISO date among its prices."""
    is_weak: bool = False
    """Whether a part rests on a weak source."""
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Sentences: which price is not known, and what would supply it."""
    notes: tuple[str, ...] = ()
    """Sentences: what was taken for granted, and what is not counted."""

    @property
    def usd_per_day(self) -> Decimal | None:
        """Of 24 hours, a month being 730."""
        return None if self.usd_per_month is None else self.usd_per_month * 24 / 730


class RejectedOption(Struct, frozen=True, kw_only=True):
    """An arrangement that costs less than an option and is not proposed."""

    name: str
    """`db.m5.large, gp3 400 GiB`"""
    usd_per_month: Decimal | None
    reason: str
    """A sentence with numbers."""


class BreakEven(Struct, frozen=True, kw_only=True):
    """How cheap a class without a price would have to be."""

    usd_per_hour: Decimal
    """On demand, below which it would cost less than the other."""
    than: str
    """Title of the cheapest option that suffices at least as probably."""


class Option(Struct, frozen=True, kw_only=True):
    """One way: moves, what they do, and what they cost."""

    title: str
    """`db.m6g.xlarge, storage as it is`"""
    role: str
    """Why it is shown: `free`, `cheapest`, `same class`, `same storage`, `same architecture`,
    `smaller`, `cheaper but unsure`"""
    moves: tuple[Move, ...]
    instance: Instance
    """As it would be."""
    commands: tuple[str, ...]
    """Shell lines that would order it; they are never run."""
    disruption: Disruption
    effect: Effect
    cost: Cost
    usd_per_day_more: Decimal | None
    """Cost after minus before, per day; None where either is not known."""
    judgement: Judgement
    probability: float
    """Share 0–1 of plausible demands under which it lifts."""
    reason: str
    """A sentence: why it is judged so, with numbers."""
    settled_by: str
    """What observation would settle `unsure`; empty otherwise."""
    rejected: tuple[RejectedOption, ...] = ()
    """Cheaper ones and what is wrong with each: the nearest few."""
    break_even: BreakEven | None = None
    """Of an option without a price; None where it has one, or where nothing priced does as much."""


class Rung(Struct, frozen=True, kw_only=True):
    """One step of a ladder."""

    option: int
    """Its place in the plan's options, from 0."""
    chance: float
    """Share 0–1 of plausible demands for which it is enough; of a step that does the same work sooner,
    the chance that the load takes whatever it is given."""
    chance_after: float
    """The same among those for which no earlier step was."""
    kind: RungKind = RungKind.ENOUGH


class Ladder(Struct, frozen=True, kw_only=True):
    """The steps to try one after the other, each if it is at its ceiling again."""

    rungs: tuple[Rung, ...]
    """In the order in which they would be tried: what is free, a size up, a cheaper try, the recommended,
    the next."""
    recommended: int
    """Place in `rungs` of the cheapest step that probably suffices."""
    certain: int | None
    """Place in the plan's options of the cheapest that is almost certain; None where nothing is."""
    usd_per_day_more: Decimal | None
    """Expected difference of price of the step that is kept, without the cheaper try; None where unknown."""
    step_count: float
    """Expected number of steps until one is enough, without the cheaper try."""
    check: str = ""
    """The command that says after the step whether it was enough."""
    note: str = ""
    """A sentence: what no step changes for a load that takes whatever it is given; empty for others."""


class CurvePoint(Struct, frozen=True, kw_only=True):
    """The most that can be had for a price."""

    name: str
    usd_per_month: Decimal
    served_ratio: Band
    """Share 0–1 of the demanded bytes that are served without waiting."""
    is_present: bool = False


class WorkPoint(Struct, frozen=True, kw_only=True):
    """An arrangement that does the same work at least a fifth sooner than all that cost less."""

    name: str
    usd_per_day_more: Decimal
    work: WorkTime


class Plan(Struct, frozen=True, kw_only=True):
    """The whole answer for one window."""

    instance: Instance
    window_s: tuple[int, int]
    is_simulated: bool
    source: str
    allowed_ratio: float
    """Share 0–1 of minutes that may be spent at a ceiling."""
    growth: float
    """What demand was multiplied with."""
    demand: DemandSummary
    present: Option
    """Nothing changed."""
    options: tuple[Option, ...]
    """Free ones first, then by cost; what is judged `does not` is here only when it is free."""
    unpriced: tuple[Option, ...]
    """They would suffice, surely or probably, but what they cost is not known; ordered by size."""
    curve: tuple[CurvePoint, ...]
    work_by_price: tuple[WorkPoint, ...]
    """How long the same work takes, by what is paid more, cheapest first; empty where nothing was held
    back."""
    candidate_count: int
    """Arrangements that can be bought and fit CPU, memory, connections, network and space."""
    vector_count: int
    """Distinct limits among them, each replayed once."""
    prices_as_of: str | None
    """The oldest ISO date among the prices of what is shown; None where none has a price."""
    are_prices_old: bool
    """Whether that is more than a year ago."""
    headline: str
    """The way past in a sentence or a few, or that there is none, or that nothing needs one."""
    notes: tuple[str, ...]
    """What a reader must know: what was not checked, and why."""
    ladder: Ladder | None = None
    """What to try first and what after it; None where nothing needs a way past or nothing helps."""
