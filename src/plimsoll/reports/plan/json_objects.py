"""What the JSON plan is made of: the form `plimsoll.plan/1`, described in docs/reference/plan-json.md."""

from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.plan import Judgement, LoadResponse, MoveKind, RungKind, WorkloadKind
from plimsoll.reports.render.json_values import InstanceObject, Ratio, WindowObject


class BandObject(Struct, frozen=True, kw_only=True):
    """A number that is known within bounds: the lowest, the middle and the highest over all
    plausible demands. A share served is lowest where the demand is highest.
    """

    low: float
    """Lowest; not above `middle`."""
    middle: float
    """In the middle."""
    high: float
    """Highest; not below `middle`."""


class DemandObject(Struct, frozen=True, kw_only=True):
    """What the load asked for. Behind a ceiling it was not seen, and is recovered as a band."""

    measured_s: float
    """Seconds of the window that were measured."""
    held_back_s: float
    """Seconds of them in which a ceiling bound: more was asked for than was served."""
    loop: LoadResponse
    """How the load answers to faster storage: `open` requests come whether or not earlier ones are
    done, `closed` a fixed number of clients asks again when answered."""
    loop_reason: str
    """What tells it, or what would; may be empty."""
    nature: WorkloadKind
    """Whether the load asks for so much and no more (`open`), or takes whatever it is given
    (`greedy`), such as a vacuum or a load job; said from a chance of 0.7 on."""
    nature_reason: str
    """What tells the nature, and what follows; empty where nothing was held back."""
    greedy_ratio: Ratio
    """Chance that what was held back takes whatever it is given."""
    is_lower_bound: bool
    """True where only a lower bound is known: too little of the window was free of ceilings."""
    peak_bytes_per_s: BandObject | None
    """Highest demand of any step, reads and writes together, in bytes/s; null where it is not
    known."""
    peak_ops_per_s: BandObject | None
    """The same in operations per second."""
    held_back_bytes: BandObject | None
    """Demand minus served over the window, in bytes; null where it is not known."""
    assumptions: tuple[str, ...]
    """What was assumed to fill in what was not seen."""


class MoveObject(Struct, frozen=True, kw_only=True):
    """One change."""

    kind: MoveKind
    """What is changed; `restart` and `schedule` buy nothing."""
    before: str
    """What it was."""
    after: str
    """What it becomes."""
    text: str
    """The change for people, such as `class db.t3.xlarge to db.m6g.xlarge`."""


class DisruptionObject(Struct, frozen=True, kw_only=True):
    """What making a change does to the users."""

    text: str
    """What happens: restart, failover, hours of optimising."""
    is_restart: bool
    """Whether the database is away for a while."""
    optimising_s: BandObject | None
    """How long volumes that are changed in place are optimised, in seconds, by the figures that EBS
    publishes; null where none are, where data is copied instead, or where the size is not known."""
    moved_bytes: float | None
    """Bytes that are copied where volumes are made anew; null where nothing is."""
    reversal: str
    """What undoes it, and from when on."""
    notes: tuple[str, ...]
    """What to mind: other architecture, fewer cores, when storage can be changed again."""


class NextCeilingObject(Struct, frozen=True, kw_only=True):
    """What would bind next."""

    family: Family
    """The rule."""
    phase: Phase
    """Which number of it."""
    dimension: Dimension
    """The rate that would be at the ceiling."""
    value: float
    """The number, in bytes/s or operations per second."""


class EffectObject(Struct, frozen=True, kw_only=True):
    """What the window would have been with the change, over the band of demand."""

    minutes_at_ceiling: BandObject
    """Minutes of the measured window in which requests would wait for a ceiling; a zero is a
    promise only where `is_observed`."""
    ratio_at_ceiling: BandObject
    """The same as a share 0–1 of the measured window."""
    served_bytes_per_s: BandObject
    """Mean rate served, in bytes/s, over the time that was held back; over the whole window where
    none was."""
    served_ratio: BandObject
    """Share 0–1 of the demanded bytes that are served without waiting."""
    latency_s_mean: BandObject | None
    """Predicted mean latency of storage requests, in seconds; null where no latency was measured."""
    latency_s_p95: BandObject | None
    """The same as the 95th percentile over time."""
    work_minutes: float | None
    """Minutes in which exactly the work of the window's jobs would be done, each task starting when
    the one before it is done; a job is what was served at a ceiling, with its burst before and
    its short pauses. Null where nothing was held back or the limit is in no document."""
    work_minutes_independent: float | None
    """The same where each task keeps its start time, so that credits return in the time left free;
    never more than `work_minutes`."""
    balance_min_ratio: float | None
    """Lowest balance of any credit bucket, 0–1, at the high demand; null without a bucket."""
    balance_min_family: Family | None
    """Whose bucket that is; null without a bucket."""
    balance_min_time: str | None
    """When that is reached; UTC, ISO 8601 to the second with `Z`; null without a bucket."""
    next_ceiling: NextCeilingObject | None
    """What would bind next at the window's I/O size; null where it is not known."""


class CostObject(Struct, frozen=True, kw_only=True):
    """What an arrangement costs on demand, in US dollars. A month has 730 hours. A part that is not
    known makes the sum null, never zero.
    """

    usd_per_day: float | None
    """Of 24 hours; null where any part is not known."""
    usd_per_month: float | None
    """Of 730 hours; null where any part is not known."""
    instance_usd_per_hour: float | None
    """The instance, for an hour."""
    storage_usd_per_month: float | None
    """Allocated storage, for a month."""
    iops_usd_per_month: float | None
    """Provisioned IOPS, for a month."""
    throughput_usd_per_month: float | None
    """Provisioned throughput, for a month."""
    credits_usd_per_month: float | None
    """CPU credits beyond what a T class earns, at the window's rate; null where it is not known or
    does not apply."""
    as_of: str | None
    """Oldest ISO date among its prices; null where none is dated."""
    is_weak: bool
    """Whether a part rests on a weak source."""
    sources: tuple[str, ...]
    """Where the prices are from."""
    unknown: tuple[str, ...]
    """Which price is not known, and what would supply it."""
    notes: tuple[str, ...]
    """What was taken for granted, and what is not counted."""


class RejectedObject(Struct, frozen=True, kw_only=True):
    """An arrangement that costs less than an option and is not proposed."""

    name: str
    """The arrangement for people."""
    usd_per_month: float | None
    """What it costs a month of 730 hours; null where it is not known."""
    reason: str
    """What is wrong with it, with numbers."""


class BreakEvenObject(Struct, frozen=True, kw_only=True):
    """How cheap a class without a price would have to be."""

    usd_per_hour: float
    """US dollars an hour on demand, below which it costs less than the other."""
    than: str
    """Title of the cheapest option that suffices at least as probably."""


class OptionObject(Struct, frozen=True, kw_only=True):
    """One arrangement: what changes, what that does, and what it costs."""

    title: str
    """The arrangement for people, such as `db.m6g.xlarge, storage as it is`."""
    role: str
    """Why it is shown, such as `free`, `cheapest`, `same class`, `same storage`, `same
    architecture`, `smaller`, `cheaper but unsure`, `likely`, `a size up`, `faster for the
    money`, `faster still`; empty for what is there."""
    judgement: Judgement
    """`lifts`: held back for less than the allowed share of minutes, whatever demand is plausible;
    `does not`: for more, whatever is plausible; `unsure`: it depends on demand that nobody saw."""
    probability: float
    """Share 0–1 of plausible demands under which it lifts."""
    reason: str
    """Why it is judged so, with numbers."""
    settled_by: str
    """What observation would settle `unsure`; empty otherwise."""
    moves: tuple[MoveObject, ...]
    """What is changed; empty for what is there."""
    instance: InstanceObject
    """The instance as it would be."""
    commands: tuple[str, ...]
    """Shell lines that would order it. Plimsoll never runs them."""
    disruption: DisruptionObject
    """What making the change does to the users."""
    effect: EffectObject
    """What the window would have been."""
    cost: CostObject
    """What it costs on demand."""
    usd_per_day_more: float | None
    """Cost after minus before, in US dollars per day; null where either is not known."""
    rejected: tuple[RejectedObject, ...]
    """The nearest few that cost less and are not proposed."""
    break_even: BreakEvenObject | None
    """How cheap a class without a price would have to be; null where it has one, or where nothing
    with a price suffices as probably."""


class RungObject(Struct, frozen=True, kw_only=True):
    """One step of the ladder."""

    option: int
    """Place in `options`, from 0."""
    kind: RungKind
    """Why it stands here: it costs nothing; it is the next size of the same family with the storage
    as it is, on which later steps do not count; it is enough with a chance; it does the same
    work sooner, for a load that takes whatever it is given."""
    chance: float
    """Chance 0–1 that it is enough: the `probability` of the option. Of kind `sooner` the chance
    that the load takes whatever it is given."""
    chance_after: float
    """The same given that no earlier step was enough."""


class LadderObject(Struct, frozen=True, kw_only=True):
    """Steps to try one after the other, each if the instance is at its ceiling again."""

    rungs: tuple[RungObject, ...]
    """The steps in the order in which they would be tried: what is free, a size up, a cheaper try,
    the recommended step, those after it."""
    recommended: int
    """Place in `rungs`, from 0, of the recommended step: the cheapest that probably suffices, or
    for a load that takes whatever it is given the one that saves the most hours of work for each
    dollar."""
    certain: int | None
    """Place in `options`, from 0, of the cheapest that is almost certain to suffice; null where
    none is."""
    usd_per_day_more: float | None
    """Expected difference of price of the step that is kept, in US dollars per day, without the
    cheaper try; null where it is not known."""
    step_count: float
    """Expected number of steps until one suffices, without the cheaper try."""
    check: str
    """Shell line that says after the step whether it was enough; empty where the target is not
    known."""
    note: str
    """What no step changes for a load that takes whatever it is given; empty for other loads."""


class PointObject(Struct, frozen=True, kw_only=True):
    """The most that can be had for a price."""

    name: str
    """The arrangement for people."""
    usd_per_month: float
    """What it costs a month of 730 hours."""
    served_ratio: BandObject
    """Share 0–1 of the demanded bytes that it serves without waiting."""
    is_present: bool
    """Whether it is what is there already."""


class WorkPointObject(Struct, frozen=True, kw_only=True):
    """An arrangement that does the same work sooner than all that cost less."""

    name: str
    """The arrangement for people."""
    usd_per_day_more: float
    """What it costs more a day than what is there."""
    work_minutes: float
    """Minutes that the work takes, as in [effect](#effect)."""
    work_minutes_independent: float
    """The same where each task keeps its start time."""


class PlanDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll plan.

    What `plimsoll plan --format json` writes. Every field is always present; null means not known.
    SI units throughout: seconds, bytes, operations, ratios 0–1; money is in US dollars.
    """

    schema: Literal["plimsoll.plan/1"] = "plimsoll.plan/1"
    """Name and version of this form."""
    headline: str
    """The way past in a few sentences for people, or that there is none, or that nothing needs one."""
    instance: InstanceObject
    """The instance as it is."""
    window: WindowObject
    """The time that was replayed."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    source: str
    """Where the samples came from, for people."""
    allowed_ratio: float
    """Share 0–1 of the minutes that may be spent at a ceiling."""
    growth: float
    """What the demand was multiplied with."""
    is_observed: bool
    """True where the demand was seen: nothing held it back, and it is not multiplied by more than
    1. Where it is false, a zero in `minutes_at_ceiling` means that none was found, not that
    there would be none."""
    demand: DemandObject
    """What was asked for, as far as it can be told from what was served."""
    present: OptionObject
    """The same judgement on what is there already, nothing changed."""
    options: tuple[OptionObject, ...]
    """Ways past, as they are ranked: free ones first, then by cost."""
    unpriced: tuple[OptionObject, ...]
    """Ways past whose cost is not known; ordered by size, never ranked by cost."""
    ladder: LadderObject | None
    """What to try first and what after it; null where nothing needs a way past, or no step has a
    price or a chance."""
    curve: tuple[PointObject, ...]
    """The most that can be had for a price, cheapest first."""
    work_by_price: tuple[WorkPointObject, ...]
    """How long the same work takes, by what is paid more, cheapest first; each arrangement takes at
    least a fifth less than the one before."""
    candidate_count: int
    """Arrangements that can be bought and fit CPU, memory, connections, network and space."""
    vector_count: int
    """Distinct limits among them, each replayed once."""
    prices_as_of: str | None
    """The oldest ISO date among the prices of what is shown; null where none has a price."""
    are_prices_old: bool
    """Whether that is more than a year ago."""
    notes: tuple[str, ...]
    """What a reader must know: what was not checked, and why."""
