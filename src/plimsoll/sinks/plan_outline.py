"""
A plan before it has a form: what is said, in which order, in which words.

The order is that of somebody who has to decide: the way past, what was asked for behind the ceiling,
the ways beside each other, then each with its command, what it disturbs and why nothing cheaper does.
Claims come from the plan; this file adds none, it counts and arranges.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from plimsoll.model.plan import (
    Cost,
    CurvePoint,
    DemandSummary,
    Disruption,
    Effect,
    Judgement,
    Loop,
    MoveKind,
    Option,
    Plan,
)
from plimsoll.sinks import plan_words as said_as
from plimsoll.sinks import words
from plimsoll.sinks.outline import Fact
from plimsoll.units import format_bytes, format_duration, format_ratio, number

# A curve of more points than this is read as a picture; the JSON form has all of them.
_POINTS_SHOWN = 10

_STORAGE_MOVES = frozenset(
    {MoveKind.STORAGE_TYPE, MoveKind.STORAGE_SIZE, MoveKind.IOPS, MoveKind.THROUGHPUT}
)

NEVER_RUN = "Plimsoll never runs a command; read it, then run it yourself."
BAND_NOTE = "Three numbers are the lowest, the middle and the highest over all plausible demands."

_LOOPS = {
    Loop.OPEN: "Open loop: requests come whether or not earlier ones are done, so what is held back "
    "is done later.",
    Loop.CLOSED: "Closed loop: a fixed number of clients asks again when answered, so more supply "
    "means more throughput.",
    Loop.UNKNOWN: "Open or closed loop: not known.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """One arrangement beside the others."""

    number: str
    """`1`, or `now` for what is there."""
    title: str
    role: str
    judgement: Judgement
    verdict: str
    """`lifts`; of what is there `suffices`."""
    sure: str
    """For `unsure`: the share of plausible demands under which it lifts; empty otherwise."""
    minutes: str
    served: str
    without_waiting: str
    latency_mean: str
    latency_p95: str
    usd_per_day: str
    usd_per_month: str
    usd_per_day_more: str
    """Empty for what is there."""
    disruption: str
    """`restart`, in a few words."""
    next_ceiling: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionCard:
    """One arrangement in detail."""

    row: OptionRow
    reason: str
    facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    settled_by: str
    rejected: tuple[Fact, ...]
    """What costs less, with its price, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandOutline:
    """What was asked for behind the ceiling."""

    lead: str
    facts: tuple[Fact, ...]
    statements: tuple[str, ...]
    """How the load answers to more supply, and whether only a lower bound is known."""
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRow:
    """The most that can be had for a price."""

    name: str
    usd_per_month: str
    usd_per_day: str
    served: str
    is_present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutline:
    """Everything a plan says."""

    headline: str
    judgement: Judgement
    """Of what is there already."""
    is_simulated: bool
    identity: str
    conditions: str
    present: str
    """Why what is there is judged so, and what would settle it; may be empty."""
    demand: DemandOutline
    rows: tuple[OptionRow, ...]
    """What is there, then the options as they are ranked."""
    no_option: str
    """A sentence where there is no option; empty otherwise."""
    cards: tuple[OptionCard, ...]
    unpriced: tuple[OptionCard, ...]
    curve: tuple[CurveRow, ...]
    notes: tuple[str, ...]


def plan_outline(plan: Plan) -> PlanOutline:
    """Arrange a plan for people."""
    present = _row(plan, plan.present, "now")
    cards = tuple(_card(plan, option, str(n)) for n, option in enumerate(plan.options, start=1))
    count = len(cards)
    unpriced = tuple(
        _brief(_card(plan, option, str(n)))
        for n, option in enumerate(plan.unpriced, start=count + 1)
    )
    return PlanOutline(
        headline=words.sentence(plan.headline),
        judgement=plan.present.judgement,
        is_simulated=plan.is_simulated,
        identity=_identity(plan),
        conditions=_conditions(plan),
        present=_present(plan.present),
        demand=_demand(plan),
        rows=(present, *(card.row for card in cards)),
        no_option=_no_option(plan),
        cards=cards,
        unpriced=unpriced,
        curve=tuple(_curve_row(plan, point) for point in _thinned(plan.curve)),
        notes=_notes(plan),
    )


def _identity(plan: Plan) -> str:
    start_s, end_s = plan.window_s
    length, stored = format_duration(end_s - start_s), words.storage(plan.instance)
    parts = (
        words.subject(plan.instance),
        plan.instance.engine,
        "storage unknown" if stored == "unknown" else stored,
        plan.instance.region,
        {True: "Multi-AZ", False: "single-AZ", None: None}[plan.instance.multi_az],
        f"{words.span(start_s, end_s)} UTC, {length}",
    )
    return " · ".join(words.plain(part) for part in parts if part)


def _conditions(plan: Plan) -> str:
    measured_s = plan.demand.measured_s
    share = f"{number(plan.allowed_ratio * 100, 3)} %"
    text = f"Asked for: at most {share} of the minutes at a ceiling"
    if measured_s > 0:
        text += f", {_allowed_minutes(plan)} min of the {format_duration(measured_s)} measured"
    if plan.growth != 1:
        text += f"; the demand is multiplied by {number(plan.growth)}"
    return f"{text}."


def _allowed_minutes(plan: Plan) -> str:
    return number(plan.allowed_ratio * plan.demand.measured_s / 60, 3)


def _present(option: Option) -> str:
    parts = [f"As it is: {words.sentence(option.reason)}"] if option.reason else []
    if option.settled_by:
        parts.append(f"What would settle it: {words.sentence(option.settled_by)}")
    return " ".join(parts)


def _demand(plan: Plan) -> DemandOutline:
    demand = plan.demand
    facts = []
    for name, value in (
        (
            "Peak throughput",
            demand.peak_bytes_per_s and said_as.bytes_per_s(demand.peak_bytes_per_s),
        ),
        ("Peak IOPS", demand.peak_ops_per_s and said_as.ops_per_s(demand.peak_ops_per_s)),
        ("Held back", _held_back(demand)),
    ):
        if value:
            facts.append(Fact(name, value))
    statements = []
    if demand.measured_s > 0:
        statements.append(f"{_LOOPS[demand.loop]} {words.sentence(demand.loop_reason)}".strip())
    if demand.is_lower_bound:
        statements.append(
            "Only a lower bound of the demand is known: too little of the window was free of "
            "ceilings. It may be higher than the band says."
        )
    return DemandOutline(
        lead=_lead(demand),
        facts=tuple(facts),
        statements=tuple(statements),
        assumptions=tuple(words.sentence(text) for text in demand.assumptions),
    )


def _lead(demand: DemandSummary) -> str:
    measured = format_duration(demand.measured_s)
    if demand.measured_s <= 0:
        return "Storage was not measured, so nothing is known of the demand."
    if demand.held_back_s == 0:
        return (
            f"No ceiling bound in the {measured} measured: what was served is what was asked for."
        )
    share = format_ratio(demand.held_back_s / demand.measured_s)
    return (
        f"A ceiling bound for {format_duration(demand.held_back_s)} of the {measured} measured "
        f"({share}). What was asked for in that time was not seen; it is recovered as a band. "
        f"{BAND_NOTE}"
    )


def _held_back(demand: DemandSummary) -> str:
    """Bytes that were asked for and not served; nothing where nothing was held back."""
    amount = demand.held_back_bytes
    if amount is None or demand.held_back_s == 0:
        return ""
    return f"{said_as.sizes(amount)} that were asked for and not served in the window"


def _row(plan: Plan, option: Option, number_: str) -> OptionRow:
    effect = option.effect
    is_observed = said_as.is_observed(plan)
    is_present = number_ == "now"
    is_unsure = option.judgement is Judgement.UNSURE
    judged = said_as.PRESENT_WORDS[option.judgement] if is_present else option.judgement.value
    return OptionRow(
        number=number_,
        title=words.plain(option.title),
        role="" if is_present else words.plain(option.role),
        judgement=option.judgement,
        verdict=judged,
        sure=said_as.probability(option.probability) if is_unsure else "",
        minutes=said_as.minutes(effect.minutes_at_ceiling, is_observed=is_observed),
        served=said_as.bytes_per_s(effect.served_bytes_per_s),
        without_waiting=said_as.share_served(effect.served_ratio, is_observed=is_observed),
        latency_mean=said_as.latency(effect.latency_s_mean),
        latency_p95=said_as.latency(effect.latency_s_p95),
        usd_per_day=_cell(option.cost.usd_per_day, said_as.usd),
        usd_per_month=_cell(option.cost.usd_per_month, said_as.usd),
        usd_per_day_more="" if is_present else _cell(option.usd_per_day_more, said_as.usd_more),
        disruption="" if is_present else _short_disruption(option),
        next_ceiling=said_as.next_ceiling(effect.next_ceiling, is_short=True),
    )


def _card(plan: Plan, option: Option, number_: str) -> OptionCard:
    facts = [
        Fact("Change", "; ".join(words.plain(move.text) for move in option.moves)),
        *_cost_facts(plan.present.cost, option),
        *_effect_facts(plan, option.effect),
        Fact("Disruption", _disruption(option.disruption)),
        Fact("Undone by", words.sentence(option.disruption.reversal)),
    ]
    return OptionCard(
        row=_row(plan, option, number_),
        reason=words.sentence(option.reason),
        facts=tuple(fact for fact in facts if fact.value),
        notes=tuple(words.sentence(note) for note in option.disruption.notes),
        commands=tuple(words.plain(line) for line in option.commands),
        settled_by=words.sentence(option.settled_by),
        rejected=tuple(
            Fact(
                f"{words.plain(other.name)} ({said_as.usd_per_month(other.usd_per_month)})",
                words.sentence(other.reason),
            )
            for other in option.rejected
        ),
    )


def _brief(card: OptionCard) -> OptionCard:
    """A card for an option that cannot be ranked: what it is, what it lacks, what it would do."""
    facts = tuple(fact for fact in card.facts if fact.name in ("Change", "Cost", "At a ceiling"))
    return replace(card, facts=facts)


def _cost_facts(before: Cost, option: Option) -> list[Fact]:
    """The whole price before and after; where only what changes is priced, the difference alone."""
    after, more = option.cost, said_as.usd_per_day_more(option.usd_per_day_more)
    if after.usd_per_month is None:
        whole = said_as.PRICE_UNKNOWN
        if option.usd_per_day_more is not None:
            whole = f"{more}; what all of it costs is not known"
        return [Fact("Cost", " ".join(map(words.sentence, (whole, *after.unknown))))]
    if before.usd_per_month is None:
        text = f"{said_as.usd_per_day(after.usd_per_day)}, "
        text += said_as.usd_per_month(after.usd_per_month)
        text += "; what it costs now is not known"
        if option.usd_per_day_more is not None:
            text += f", the difference is: {more}"
    else:
        text = (
            f"{_change(before.usd_per_day, after.usd_per_day)} a day, "
            f"{_change(before.usd_per_month, after.usd_per_month)} a month: {more}"
        )
    return [Fact("Cost", text), Fact("Made up of", _parts_of(after))]


def _parts_of(cost: Cost) -> str:
    parts = []
    if cost.instance_usd_per_hour is not None:
        # Prices of an hour are published to a tenth of a cent and beyond.
        parts.append(f"instance ${cost.instance_usd_per_hour.normalize():f} an hour")
    for name, amount in (
        ("storage", cost.storage_usd_per_month),
        ("IOPS", cost.iops_usd_per_month),
        ("throughput", cost.throughput_usd_per_month),
        ("CPU credits", cost.credits_usd_per_month),
    ):
        if amount:
            parts.append(f"{name} {said_as.usd_per_month(amount)}")
    text = ", ".join(parts)
    if text and cost.as_of:
        text += f" (on demand, as of {cost.as_of})"
    if text and cost.is_weak:
        text += "; a part of it rests on a weak source"
    return text


def _effect_facts(plan: Plan, after: Effect) -> list[Fact]:
    before, is_observed = plan.present.effect, said_as.is_observed(plan)
    time = _arrow(
        said_as.minutes(before.minutes_at_ceiling, is_observed=is_observed),
        said_as.minutes(after.minutes_at_ceiling, is_observed=is_observed),
    )
    return [
        Fact("At a ceiling", f"{time}; {_allowed_minutes(plan)} min are allowed"),
        Fact(
            "Served",
            _arrow(*(said_as.bytes_per_s(e.served_bytes_per_s) for e in (before, after)))
            + f" on average {_when_served(plan.demand)}",
        ),
        Fact(
            "Without waiting",
            _arrow(
                *(
                    said_as.share_served(e.served_ratio, is_observed=is_observed)
                    for e in (before, after)
                )
            )
            + " of the bytes asked for",
        ),
        Fact(
            "Latency, mean", _arrow(*(said_as.latency(e.latency_s_mean) for e in (before, after)))
        ),
        Fact("Latency, p95", _arrow(*(said_as.latency(e.latency_s_p95) for e in (before, after)))),
        Fact("Lowest balance", _lowest(after)),
        Fact("Next ceiling", _following(after)),
    ]


def _when_served(demand: DemandSummary) -> str:
    if demand.held_back_s == 0:
        return "over the window"
    return f"in the {format_duration(demand.held_back_s)} in which a ceiling bound"


def _lowest(effect: Effect) -> str:
    """`40 % of the instance EBS throughput credits on 2023-02-14 02:10 UTC, at the high demand`."""
    if effect.balance_min_ratio is None:
        return ""
    family = effect.balance_min_family
    of = f" of the {words.FAMILY_NAMES[family]} credits" if family else ""
    at = effect.balance_min_s
    when = f", on {words.moment(at)} UTC" if at is not None else ""
    return f"{format_ratio(effect.balance_min_ratio)}{of}{when}, at the high demand"


def _following(effect: Effect) -> str:
    if effect.next_ceiling is None:
        return ""
    return f"{said_as.next_ceiling(effect.next_ceiling)}, at the window's I/O size"


def _disruption(disruption: Disruption) -> str:
    text = words.sentence(disruption.text)
    if disruption.optimising_s is not None:
        text += f" Storage is slower for {said_as.duration(disruption.optimising_s)}."
    if disruption.moved_bytes is not None:
        text += f" {format_bytes(disruption.moved_bytes)} are copied."
    return text.strip()


def _short_disruption(option: Option) -> str:
    """`restart, copy, optimising`; storage is optimised after every change of it."""
    disruption = option.disruption
    is_changed = any(move.kind in _STORAGE_MOVES for move in option.moves)
    parts = ["restart"] if disruption.is_restart else []
    if disruption.moved_bytes is not None:
        parts.append("copy")
    if disruption.optimising_s is not None or is_changed:
        parts.append("optimising")
    return ", ".join(parts) or "none"


def _no_option(plan: Plan) -> str:
    if plan.options:
        return ""
    if plan.unpriced:
        return "No arrangement whose price is known is proposed; those without one stand below."
    return "No other arrangement is proposed."


def _notes(plan: Plan) -> tuple[str, ...]:
    """What the plan says, how it was searched, and where the samples came from."""
    said = [words.sentence(note) for note in (*plan.notes, *plan.present.cost.unknown)]
    if plan.candidate_count:
        said.append(_searched(plan))
    if plan.source:
        said.append(f"The samples came from {words.plain(plan.source)}.")
    return tuple(said)


def _searched(plan: Plan) -> str:
    return (
        f"{plan.candidate_count:,} arrangements can be bought and fit CPU, memory, connections, "
        f"network and space; they have {plan.vector_count:,} distinct limits, each replayed over "
        "the window."
    )


def _thinned(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """At most ten points, evenly along the curve: both ends and what is there are among them."""
    if len(curve) <= _POINTS_SHOWN:
        return list(curve)
    last = len(curve) - 1
    kept = {round(n * last / (_POINTS_SHOWN - 2)) for n in range(_POINTS_SHOWN - 1)}
    return [point for n, point in enumerate(curve) if n in kept or point.is_present]


def _curve_row(plan: Plan, point: CurvePoint) -> CurveRow:
    return CurveRow(
        name=words.plain(point.name),
        usd_per_month=said_as.usd(point.usd_per_month),
        usd_per_day=said_as.usd(point.usd_per_month * 24 / 730),
        served=said_as.share_served(point.served_ratio, is_observed=said_as.is_observed(plan)),
        is_present=point.is_present,
    )


def _cell(amount: Decimal | None, said: Callable[[Decimal], str]) -> str:
    """For a table, whose title says that it is a price."""
    return said_as.UNKNOWN if amount is None else said(amount)


def _change(before: Decimal | None, after: Decimal | None) -> str:
    return _arrow(said_as.usd(before), said_as.usd(after))


def _arrow(before: str, after: str) -> str:
    """`18 ms → 3.4 ms`; once where both read the same."""
    return after if before == after else f"{before} → {after}"
