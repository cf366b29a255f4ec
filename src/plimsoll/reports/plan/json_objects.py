"""The objects of the JSON plan: the form `plimsoll.plan/1`, described in docs/reference/plan-json.md."""

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
    """The demand of the load. At a ceiling it could not be measured, and is recovered as a band."""

    measured_s: float
    """Seconds of the window that were measured."""
    held_back_s: float
    """Seconds of them in which a ceiling bound: demand was higher than the served rate."""
    loop: LoadResponse
    """How the load answers to faster storage: `open` requests come whether or not earlier ones are
    done, `closed` a fixed number of clients asks again when answered."""
    loop_reason: str
    """The evidence for it, or what would show it; may be empty."""
    nature: WorkloadKind
    """Whether the demand of the load is bounded (`open`), or it uses any throughput it gets
    (`greedy`), for example a vacuum or a load job; named from a chance of 0.7 on."""
    nature_reason: str
    """The evidence for the nature, and its consequence; empty where nothing was throttled."""
    greedy_ratio: Ratio
    """Chance that the throttled load uses any throughput it gets."""
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
    """The assumptions about what could not be measured."""


class MoveObject(Struct, frozen=True, kw_only=True):
    """One change."""

    kind: MoveKind
    """The kind of change; `restart` and `schedule` buy nothing."""
    before: str
    """The present value."""
    after: str
    """The new value."""
    text: str
    """The change for people, such as `class db.t3.xlarge to db.m6g.xlarge`."""


class DisruptionObject(Struct, frozen=True, kw_only=True):
    """The effect on users while the change is made."""

    text: str
    """The disruption: restart, failover, hours of optimising."""
    is_restart: bool
    """Whether the database is away for a while."""
    optimising_s: BandObject | None
    """How long volumes that are changed in place are optimised, in seconds, by the figures that EBS
    publishes; null where none are, where data is copied instead, or where the size is not known."""
    moved_bytes: float | None
    """Bytes that are copied where volumes are made anew; null where nothing is."""
    reversal: str
    """How the change is reverted, and when that is possible."""
    notes: tuple[str, ...]
    """Remarks: other architecture, fewer cores, when storage can be changed again."""


class NextCeilingObject(Struct, frozen=True, kw_only=True):
    """The ceiling that would bind next."""

    family: Family
    """The rule."""
    phase: Phase
    """Which number of it."""
    dimension: Dimension
    """The rate that would be at the ceiling."""
    value: float
    """The number, in bytes/s or operations per second."""


class EffectObject(Struct, frozen=True, kw_only=True):
    """The window replayed with the change, over the band of demand."""

    minutes_at_ceiling: BandObject
    """Minutes of the measured window in which requests would wait for a ceiling; a zero is a
    promise only where `is_observed`."""
    ratio_at_ceiling: BandObject
    """The same as a share 0–1 of the measured window."""
    served_bytes_per_s: BandObject
    """Mean rate served, in bytes/s, over the throttled time; over the whole window if none was
    throttled."""
    served_ratio: BandObject
    """Share 0–1 of the demanded bytes that are served without waiting."""
    latency_s_mean: BandObject | None
    """Predicted mean latency of storage requests, in seconds; null where no latency was measured."""
    latency_s_p95: BandObject | None
    """The same as the 95th percentile over time."""
    work_minutes: float | None
    """Minutes in which exactly the work of the window's jobs would be done, each task starting when
    the one before it is done; a job is what was served at a ceiling, with its burst before and
    its short pauses. Null where nothing was throttled or the limit is in no document."""
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
    """The ceiling that would bind next at the window's I/O size; null where it is not known."""


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
    """The prices that are not known, and what would supply them."""
    notes: tuple[str, ...]
    """Assumptions, and costs that are not counted."""


class RejectedObject(Struct, frozen=True, kw_only=True):
    """A setup that costs less than an option and is not proposed."""

    name: str
    """The setup, for people."""
    usd_per_month: float | None
    """Its cost for a month of 730 hours; null where it is not known."""
    reason: str
    """Why it is not enough, with numbers."""


class BreakEvenObject(Struct, frozen=True, kw_only=True):
    """The price below which a class of unknown price would be the cheaper one."""

    usd_per_hour: float
    """US dollars an hour on demand, below which it costs less than the other."""
    than: str
    """Title of the cheapest option that suffices at least as probably."""


class OptionObject(Struct, frozen=True, kw_only=True):
    """One option: its changes, their effect and their cost."""

    title: str
    """The setup for people, for example `db.m6g.xlarge, storage as it is`."""
    role: str
    """Why it is shown, such as `free`, `cheapest`, `same class`, `same storage`, `same
    architecture`, `smaller`, `cheaper but unsure`, `likely`, `a size up`, `faster for the
    money`, `faster still`; empty for what is there."""
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
    moves: tuple[MoveObject, ...]
    """The changes; empty for the current setup."""
    instance: InstanceObject
    """The instance after the change."""
    commands: tuple[str, ...]
    """Shell lines that would order it. Plimsoll never runs them."""
    disruption: DisruptionObject
    """The effect on users while the change is made."""
    effect: EffectObject
    """The window replayed with the change."""
    cost: CostObject
    """Its on-demand cost."""
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
    that the load uses any throughput it gets."""
    chance_after: float
    """The same given that no earlier step was enough."""


class LadderObject(Struct, frozen=True, kw_only=True):
    """The steps to try in order: the next one if the load is at a ceiling again."""

    rungs: tuple[RungObject, ...]
    """The steps in order: free steps, a size up, a cheaper try, the recommended step, those after it."""
    recommended: int
    """Place in `rungs`, from 0, of the recommended step: the cheapest that is probably enough, or
    for a load that uses any throughput it gets the one that saves the most hours of work per
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
    """Shell line that checks after the step whether it was enough; empty where the target is not known."""
    note: str
    """What no step changes for a load that uses any throughput it gets; empty for other loads."""


class PointObject(Struct, frozen=True, kw_only=True):
    """The largest share that can be served for a price."""

    name: str
    """The setup, for people."""
    usd_per_month: float
    """Its cost for a month of 730 hours."""
    served_ratio: BandObject
    """Share 0–1 of the demanded bytes that it serves without waiting."""
    is_present: bool
    """Whether it is the current setup."""


class WorkPointObject(Struct, frozen=True, kw_only=True):
    """A setup that does the same work sooner than every cheaper one."""

    name: str
    """The setup, for people."""
    usd_per_day_more: float
    """Its additional cost per day."""
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
    """The current instance."""
    window: WindowObject
    """The time that was replayed."""
    is_simulated: bool
    """True where the numbers come from a simulator."""
    source: str
    """Where the samples came from, for people."""
    allowed_ratio: float
    """Share 0–1 of the minutes that may be spent at a ceiling."""
    growth: float
    """Factor of the demand."""
    is_observed: bool
    """True where the demand was seen: nothing throttled it, and it is not multiplied by more than
    1. Where it is false, a zero in `minutes_at_ceiling` means that none was found, not that
    there would be none."""
    demand: DemandObject
    """The demand, as far as it follows from the served rates."""
    present: OptionObject
    """The same judgement of the current setup."""
    options: tuple[OptionObject, ...]
    """Ways past, as they are ranked: free ones first, then by cost."""
    unpriced: tuple[OptionObject, ...]
    """Ways past whose cost is not known; ordered by size, never ranked by cost."""
    ladder: LadderObject | None
    """The steps in order; null where no change is needed, or no step has a price or a chance."""
    curve: tuple[PointObject, ...]
    """The most that can be had for a price, cheapest first."""
    work_by_price: tuple[WorkPointObject, ...]
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
    notes: tuple[str, ...]
    """Remarks: what was not checked, and why."""
