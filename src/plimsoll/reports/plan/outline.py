"""
The content of a plan before it has a form: its sentences, their order and words.

The order is that of somebody who has to decide: the way past, what was asked for behind the ceiling,
the ways beside each other, then each with its command, what it disturbs and why nothing cheaper does.
Claims come from the plan; this file adds none, it counts and arranges.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.model.instance import Deployment, Instance
from plimsoll.model.plan import AFTER, CurvePoint, DemandSummary, Judgement, LoadResponse, Option, Plan, WorkloadKind
from plimsoll.model.price import LICENSES
from plimsoll.model.shell import shell_word
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.plan.cards import OptionCard, OptionRow, allowed_minutes, brief_card, option_card, option_row
from plimsoll.reports.plan.steps import steps_of
from plimsoll.reports.render import words
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_duration, format_ratio, number

# A curve of more points than this is read as a picture; the JSON form has all of them.
_POINTS_SHOWN = 10

ENOUGH_IN, SAME_WORK = "Enough in", "Same work"
WORK_TITLE = "The same work for a price"
WORK_COLUMNS = ("Setup", "$ a day more", "Same work")
NEVER_RUN = "Plimsoll never runs these commands. Read them, then run them yourself."
BAND_NOTE = "Three numbers are the lowest, middle and highest of all demands we consider possible."

_LOOPS = {
    LoadResponse.OPEN: "Open loop: new requests do not wait for earlier ones, so delayed work is done later.",
    LoadResponse.CLOSED: "Closed loop: a fixed number of clients waits for answers, so faster storage "
    "brings more requests.",
    LoadResponse.UNKNOWN: "Open or closed loop: unknown.",
}
_NATURES = {
    WorkloadKind.OPEN: "The load has a fixed demand (likely).",
    WorkloadKind.GREEDY: "The load uses any throughput it gets (likely).",
    WorkloadKind.UNKNOWN: "We do not know whether the load uses any throughput it gets.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandOutline:
    """The texts about the demand at the ceiling."""

    lead: str
    facts: tuple[Fact, ...]
    statements: tuple[str, ...]
    """How the load answers to more supply, and whether only a lower bound is known."""
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRow:
    """The largest share that can be served for a price."""

    name: str
    usd_per_month: str
    usd_per_day: str
    served: str
    is_present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    """The duration of the same work for a price."""

    name: str
    usd_per_day_more: str
    work: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutline:
    """All texts of a plan."""

    headline: str
    judgement: Judgement
    """Of what is there already."""
    is_simulated: bool
    identity: str
    conditions: str
    present: str
    """Why what is there is judged so, and what would settle it; may be empty."""
    demand: DemandOutline
    steps: tuple[str, ...]
    """What to try first and what after it, with prices and chances; may be empty."""
    check_lead: str
    check: str
    """A shell line that says after the step whether it was enough; may be empty."""
    enough: str
    """Title of the column that says what an option is good for."""
    rows: tuple[OptionRow, ...]
    """What is there, then the options as they are ranked."""
    no_option: str
    """A sentence where there is no option; empty otherwise."""
    cards: tuple[OptionCard, ...]
    unpriced: tuple[OptionCard, ...]
    work: tuple[WorkRow, ...]
    """Only for a load that takes whatever it is given."""
    curve: tuple[CurveRow, ...]
    notes: tuple[str, ...]


def plan_outline(plan: Plan) -> PlanOutline:
    """Return the texts of a plan for people."""
    present = option_row(plan, plan.present, "now")
    cards = tuple(option_card(plan, option, str(n)) for n, option in enumerate(plan.options, start=1))
    count = len(cards)
    unpriced = tuple(
        brief_card(option_card(plan, option, str(n))) for n, option in enumerate(plan.unpriced, start=count + 1)
    )
    return PlanOutline(
        headline=words.sentence(plan.headline),
        judgement=plan.present.judgement,
        is_simulated=plan.is_simulated,
        identity=_identity(plan),
        conditions=_conditions(plan),
        present=_present(plan.present),
        demand=_demand(plan),
        steps=steps_of(plan),
        check_lead=_check_lead(plan),
        check="" if plan.ladder is None else words.plain(plan.ladder.check),
        enough=SAME_WORK if plan_words.is_by_hours(plan) else ENOUGH_IN,
        rows=(present, *(card.row for card in (*cards, *unpriced))),
        no_option=_no_option(plan),
        cards=cards,
        unpriced=unpriced,
        work=_work_rows(plan) if plan_words.is_by_hours(plan) else (),
        curve=tuple(_curve_row(plan, point) for point in _thinned(plan.curve)),
        notes=_notes(plan),
    )


def _check_lead(plan: Plan) -> str:
    """Return the text above the command that checks a step, with the placeholders to replace."""
    lead = "One day after the step, compare it with"
    if plan.ladder is not None and AFTER in plan.ladder.check.split():
        return f"{lead} these samples. AFTER is the export or recording of that day:"
    return f"{lead} the day before. MOMENT is the time of the step, for example 2026-11-20T10:00Z:"


def _identity(plan: Plan) -> str:
    start_s, end_s = plan.window_s
    length, stored = format_duration(end_s - start_s), words.storage(plan.instance)
    parts = (
        words.subject(plan.instance),
        plan.instance.engine,
        _license(plan.instance.license_model),
        "storage unknown" if stored == "unknown" else stored,
        plan.instance.region,
        _deployment(plan.instance),
        f"{words.span(start_s, end_s)} UTC, {length}",
    )
    return " · ".join(words.plain(part) for part in parts if part)


def _deployment(instance: Instance) -> str | None:
    """Return the deployment; empty where it is unknown."""
    if instance.deployment is Deployment.MULTI_AZ_CLUSTER:
        return "Multi-AZ DB cluster of 3"
    return {True: "Multi-AZ", False: "single-AZ", None: None}[instance.multi_az]


def _license(license_model: str | None) -> str | None:
    """Return a licence that prices depend on; empty for one at no cost."""
    is_free = license_model is None or LICENSES.get(license_model) == "none"
    return None if is_free else license_model


def _conditions(plan: Plan) -> str:
    measured_s = plan.demand.measured_s
    share = f"{number(plan.allowed_ratio * 100, 3)} %"
    text = f"Target: at most {share} of the minutes at a ceiling"
    if measured_s > 0:
        text += f", {allowed_minutes(plan)} min of the {format_duration(measured_s)} measured"
    if plan.growth != 1:
        text += f", with {number(plan.growth)} times the demand"
    return f"{text}.{_age_of_prices(plan)}"


def _age_of_prices(plan: Plan) -> str:
    """Return a note on prices that are older than a year, and how to read newer ones."""
    if not plan.are_prices_old:
        return ""
    region = f" --region {shell_word(words.plain(plan.instance.region))}" if plan.instance.region else ""
    return (
        f" Prices are from {plan.prices_as_of} or later, more than a year old. For today's prices, run"
        f" 'plimsoll prices refresh{region} -o prices.json', then add --prices prices.json."
    )


def _present(option: Option) -> str:
    parts = [f"Now: {words.sentence(option.reason)}"] if option.reason else []
    if option.settled_by:
        parts.append(f"To find out: {words.sentence(option.settled_by)}")
    return " ".join(parts)


def _demand(plan: Plan) -> DemandOutline:
    demand = plan.demand
    facts = []
    for name, value in (
        ("Peak throughput", demand.peak_bytes_per_s and plan_words.bytes_per_s(demand.peak_bytes_per_s)),
        ("Peak IOPS", demand.peak_ops_per_s and plan_words.ops_per_s(demand.peak_ops_per_s)),
        ("Not served", _held_back(demand)),
    ):
        if value:
            facts.append(Fact(name, value))
    statements = []
    if demand.measured_s > 0:
        statements.append(f"{_LOOPS[demand.loop]} {words.sentence(demand.loop_reason)}".strip())
    if demand.nature_reason:
        statements.append(f"{_NATURES[demand.nature]} {words.sentence(demand.nature_reason)}")
    if demand.is_lower_bound:
        statements.append("Demand may be higher than these numbers: too little of the window was below a ceiling.")
    return DemandOutline(
        lead=_lead(demand),
        facts=tuple(facts),
        statements=tuple(statements),
        assumptions=tuple(words.sentence(text) for text in demand.assumptions),
    )


def _lead(demand: DemandSummary) -> str:
    measured = format_duration(demand.measured_s)
    if demand.measured_s <= 0:
        return "Storage was not measured, so demand is unknown."
    if demand.held_back_s == 0:
        return f"No ceiling bound in the {measured} measured: all demand was served."
    share = format_ratio(demand.held_back_s / demand.measured_s)
    return (
        f"A ceiling bound for {format_duration(demand.held_back_s)} of the {measured} measured "
        f"({share}). Demand in that time was not visible, so we estimate it. "
        f"{BAND_NOTE}"
    )


def _held_back(demand: DemandSummary) -> str:
    """Return bytes that were asked for and not served; nothing if nothing was throttled."""
    amount = demand.held_back_bytes
    if amount is None or demand.held_back_s == 0:
        return ""
    return f"{plan_words.sizes(amount)} of demand in the window"


def _no_option(plan: Plan) -> str:
    if plan.options:
        return ""
    if plan.unpriced:
        return "No option with a known price is proposed; options without one are below."
    return "No option is proposed."


def _notes(plan: Plan) -> tuple[str, ...]:
    """Return the notes of the plan, with the extent of the search and the source of the samples."""
    sentences = [words.sentence(note) for note in (*plan.notes, *plan.present.cost.unknown)]
    if plan.candidate_count:
        sentences.append(_searched(plan))
    if plan.source:
        sentences.append(f"The samples came from {words.plain(plan.source)}.")
    return tuple(sentences)


def _searched(plan: Plan) -> str:
    return (
        f"{plan.candidate_count:,} setups fit CPU, memory, connections, network and space. Their "
        f"{plan.vector_count:,} distinct sets of limits were each replayed over the window."
    )


def _work_rows(plan: Plan) -> tuple[WorkRow, ...]:
    """Return the current setup first, then every setup that is sooner than all cheaper ones."""
    now = WorkRow(name="now", usd_per_day_more="", work=plan_words.work(plan.present.effect.work))
    rows = tuple(
        WorkRow(
            name=words.plain(point.name),
            usd_per_day_more=plan_words.usd_more(point.usd_per_day_more),
            work=plan_words.work(point.work),
        )
        for point in plan.work_by_price
    )
    return (now, *rows) if rows else ()


def _thinned(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return at most ten points, evenly along the curve, with both ends and the current setup."""
    if len(curve) <= _POINTS_SHOWN:
        return list(curve)
    last = len(curve) - 1
    kept = {round(n * last / (_POINTS_SHOWN - 2)) for n in range(_POINTS_SHOWN - 1)}
    return [point for n, point in enumerate(curve) if n in kept or point.is_present]


def _curve_row(plan: Plan, point: CurvePoint) -> CurveRow:
    return CurveRow(
        name=words.plain(point.name),
        usd_per_month=plan_words.usd(point.usd_per_month),
        usd_per_day=plan_words.usd(point.usd_per_month * 24 / 730),
        served=plan_words.share_served(point.served_ratio, is_observed=plan_words.is_observed(plan)),
        is_present=point.is_present,
    )
