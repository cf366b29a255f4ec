"""
The document of a plan.

The order is that of somebody who has to decide: the way past, what was asked for behind the ceiling, the options next to
each other, then each with its command, what it disturbs and why nothing cheaper does. Claims come from the plan; this file
adds none, it counts and arranges.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from plimsoll.model.instance import Deployment, Instance
from plimsoll.model.plan import AFTER, CurvePoint, DemandSummary, Judgement, LoadResponse, Option, Plan, WorkloadKind
from plimsoll.model.price import LICENSES
from plimsoll.model.shell import shell_word
from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.document.parts import (
    Card,
    Cell,
    Column,
    Command,
    Document,
    Facts,
    Paragraph,
    Part,
    Picture,
    Remark,
    Section,
    Table,
    Tone,
    bullets_of,
)
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.plan.cards import allowed_minutes, answer_of, is_spread, option_facts, role_of, short_disruption
from plimsoll.reports.plan.chart import CAPTION, has_chart, plan_spec
from plimsoll.reports.plan.steps import steps_of
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_duration, format_ratio, number

# Terminal widths from which the table also has: what an option disturbs; the price of a day; the price of a
# month and the next ceiling.
_USUAL, _ROOMY, _WIDE = 76, 92, 110

# A curve of more points than this is read as a picture; the JSON form has all of them.
_POINTS_SHOWN = 10

NEVER_RUN = "Plimsoll never runs these commands. Read them, then run them yourself."
_BAND_NOTE = "Three numbers are the lowest, middle and highest of all demands we consider possible."

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
_TONES = {Judgement.LIFTS: Tone.GOOD, Judgement.DOES_NOT: Tone.BAD, Judgement.UNSURE: Tone.UNKNOWN}

# The number of an option, `now` for what is there, and the option.
Numbered = tuple[str, Option]


def plan_document(plan: Plan) -> Document:
    """Return the document of a plan."""
    return Document(
        kind="plan",
        headline=words.sentence(plan.headline),
        tone=_TONES[plan.present.judgement],
        simulated=("",) if plan.is_simulated else (),
        parts=(Paragraph(text=_identity(plan), weight="quiet"), Paragraph(text=_conditions(plan)), *_parts(plan)),
    )


def plan_section(plan: Plan) -> Section:
    """Return the same as a section below a diagnosis, which names the instance already."""
    lead = Paragraph(text=words.sentence(plan.headline), weight="strong")
    return Section(title="Plan", parts=(lead, Paragraph(text=_conditions(plan)), *_parts(plan)))


def _parts(plan: Plan) -> Iterator[Part]:
    options = [(str(n), option) for n, option in enumerate((*plan.options, *plan.unpriced), start=1)]
    priced, unpriced = options[: len(plan.options)], options[len(plan.options) :]
    if has_chart(plan):
        yield Picture(characters=None, spec=_drawn(plan), caption=CAPTION)
    yield Section(title="Demand", parts=tuple(_demand(plan)), topic=Topic.DEMAND)
    steps = steps_of(plan)
    if steps:
        yield Section(title="What to try", parts=(bullets_of(steps), *_check(plan)))
    yield Section(title="Options", parts=tuple(_options(plan, priced, unpriced)), topic=Topic.OPTIONS)
    if unpriced:
        cards = (_card(plan, *one, is_brief=True) for one in unpriced)
        yield Section(title="Price not known", parts=(*cards, *_closing(plan.unpriced)))
    if plan_words.is_by_hours(plan) and plan.work_by_price:
        yield Section(title="The same work for a price", parts=(_work(plan),))
    if plan.curve:
        yield Section(title="Throughput by price", parts=(_curve(plan),))
    notes = _notes(plan)
    yield Section(title="Notes", parts=(bullets_of(notes),) if notes else ())


def _drawn(plan: Plan) -> Callable[[int], Spec]:
    return lambda width: plan_spec(plan, look=page_look(), width=width, is_titled=False)


def _check(plan: Plan) -> Iterator[Part]:
    """Yield the command that checks a step, with the placeholders to replace."""
    if plan.ladder is None or not plan.ladder.check:
        return
    lead = "One day after the step, compare it with"
    if AFTER in plan.ladder.check.split():
        yield Paragraph(text=f"{lead} these samples. AFTER is the export or recording of that day:")
    else:
        yield Paragraph(text=f"{lead} the day before. MOMENT is the time of the step, for example 2026-11-20T10:00Z:")
    yield Command(line=words.plain(plan.ladder.check))


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


def _demand(plan: Plan) -> Iterator[Part]:
    demand = plan.demand
    yield Paragraph(text=_lead(demand))
    facts = tuple(
        Fact(name, value)
        for name, value in (
            ("Peak throughput", demand.peak_bytes_per_s and plan_words.bytes_per_s(demand.peak_bytes_per_s)),
            ("Peak IOPS", demand.peak_ops_per_s and plan_words.ops_per_s(demand.peak_ops_per_s)),
            ("Not served", _held_back(demand)),
        )
        if value
    )
    if facts:
        yield Facts(facts=facts)
    statements = []
    if demand.measured_s > 0:
        statements.append(f"{_LOOPS[demand.loop]} {words.sentence(demand.loop_reason)}".strip())
    if demand.nature_reason:
        statements.append(f"{_NATURES[demand.nature]} {words.sentence(demand.nature_reason)}")
    if demand.is_lower_bound:
        statements.append("Demand may be higher than these numbers: too little of the window was below a ceiling.")
    if statements:
        yield bullets_of(statements)
    if demand.assumptions:
        yield Paragraph(text="Assumed:")
        yield bullets_of([words.sentence(text) for text in demand.assumptions])


def _lead(demand: DemandSummary) -> str:
    measured = format_duration(demand.measured_s)
    if demand.measured_s <= 0:
        return "Storage was not measured, so demand is unknown."
    if demand.held_back_s == 0:
        return f"No limit of storage was reached in the {measured} measured: storage served all that was asked for."
    share = format_ratio(demand.held_back_s / demand.measured_s)
    return (
        f"A ceiling bound for {format_duration(demand.held_back_s)} of the {measured} measured "
        f"({share}). Demand in that time was not visible, so we estimate it. "
        f"{_BAND_NOTE}"
    )


def _held_back(demand: DemandSummary) -> str:
    """Return bytes that were asked for and not served; nothing if nothing was throttled."""
    amount = demand.held_back_bytes
    if amount is None or demand.held_back_s == 0:
        return ""
    return f"{plan_words.sizes(amount)} of demand in the window"


def _options(plan: Plan, priced: Sequence[Numbered], unpriced: Sequence[Numbered]) -> Iterator[Part]:
    present, rows = plan.present, [("now", plan.present), *priced, *unpriced]
    reasons = [f"Now: {words.sentence(present.reason)}"] if present.reason else []
    reasons += [f"To find out: {words.sentence(present.settled_by)}"] if present.settled_by else []
    if reasons:
        yield Paragraph(text=" ".join(reasons))
    yield _named(plan, rows)
    yield _priced(plan, rows)
    yield _effects(rows)
    if not priced and unpriced:
        yield Paragraph(text="No option with a known price is proposed; options without one are below.")
    elif not priced:
        yield Paragraph(text="No option is proposed.")
    yield from (_card(plan, *one) for one in priced)
    if not unpriced:
        yield from _closing(plan.options)


def _closing(options: Sequence[Option]) -> Iterator[Part]:
    """Yield the remarks on the commands, after the last of them."""
    if any(option.commands for option in options):
        yield Paragraph(text=NEVER_RUN, weight="strong")


def _named(plan: Plan, rows: Sequence[Numbered]) -> Table:
    """Return the table of options with names and disruption, without bands and prices."""
    columns = (
        Column(title="Change"),
        Column(title="Disruption", from_width=_USUAL),
        Column(title="Next ceiling", from_width=_WIDE),
    )
    return _table(rows, columns, lambda option: tuple(_name_cells(plan, option)))


def _name_cells(plan: Plan, option: Option) -> Iterator[str]:
    is_present, title = option is plan.present, words.plain(option.title)
    role = "" if is_present else role_of(plan, option)
    yield f"{title} ({role})" if role else title
    yield "" if is_present else short_disruption(option)
    yield plan_words.next_ceiling(option.effect.next_ceiling, is_short=True)


def _priced(plan: Plan, rows: Sequence[Numbered]) -> Table:
    """Return the table of options with judgement and price; the total price is in each option's card."""
    columns = (
        Column(title="Verdict", may_break=False),
        _number("Same work" if plan_words.is_by_hours(plan) else "Enough in"),
        _number("At a ceiling"),
        _number("$ a day", from_width=_ROOMY),
        _number("Difference"),
        _number("$ a month", from_width=_WIDE),
    )
    return _table(rows, columns, lambda option: tuple(_price_cells(plan, option)))


def _price_cells(plan: Plan, option: Option) -> Iterator[str | Cell]:
    yield Cell(_verdict(plan, option), _TONES[option.judgement])
    yield answer_of(plan, option)
    yield plan_words.minutes(option.effect.minutes_at_ceiling, is_observed=plan_words.is_observed(plan))
    yield _usd(option.cost.usd_per_day, plan_words.usd)
    yield "" if option is plan.present else _usd(option.usd_per_day_more, plan_words.usd_more)
    yield _usd(option.cost.usd_per_month, plan_words.usd)


def _verdict(plan: Plan, option: Option) -> str:
    """Return the judgement with its sign: `✓ lifts`; of what is there `✓ is enough`."""
    is_present = option is plan.present
    judged = plan_words.PRESENT_WORDS[option.judgement] if is_present else option.judgement.value
    return f"{plan_words.SIGNS[option.judgement]} {judged}"


def _usd(amount: Decimal | None, format_amount: Callable[[Decimal], str]) -> str:
    """Return the text of a price for a table with a price column."""
    return plan_words.UNKNOWN if amount is None else format_amount(amount)


def _effects(rows: Sequence[Numbered]) -> Table:
    def cells(option: Option) -> tuple[str, ...]:
        effect = option.effect
        served = plan_words.UNKNOWN if is_spread(option) else plan_words.bytes_per_s(effect.served_bytes_per_s)
        return served, *map(plan_words.latency, (effect.latency_s_mean, effect.latency_s_p95))

    return _table(rows, tuple(map(_number, ("Served", "Mean latency", "Latency p95"))), cells)


def _table(
    rows: Sequence[Numbered], columns: tuple[Column, ...], cells: Callable[[Option], tuple[str | Cell, ...]]
) -> Table:
    """Return a table of options, each after its number."""
    return Table(
        columns=(Column(title="Option", may_break=False), *columns),
        rows=tuple((place, *cells(option)) for place, option in rows),
        stacks=True,
    )


def _number(title: str, from_width: int = 0) -> Column:
    return Column(title=title, is_number=True, may_break=False, from_width=from_width)


def _card(plan: Plan, place: str, option: Option, *, is_brief: bool = False) -> Card:
    return Card(
        title=words.plain(option.title),
        number=place,
        verdict=_verdict(plan, option),
        tone=_TONES[option.judgement],
        parts=tuple(_card_parts(plan, option, is_brief=is_brief)),
    )


def _card_parts(plan: Plan, option: Option, *, is_brief: bool) -> Iterator[Part]:
    if option.reason:
        yield Paragraph(text=words.sentence(option.reason))
    yield Facts(facts=option_facts(plan, option, is_brief=is_brief))
    notes = list(dict.fromkeys(map(words.sentence, (*option.disruption.notes, *option.cost.notes))))
    if notes:
        yield bullets_of(notes)
    if option.settled_by:
        yield Remark(name="To find out", text=words.sentence(option.settled_by))
    if option.rejected:
        yield Paragraph(text="Cheaper, but not enough:")
        rejected = (
            Fact(f"{one.name} ({plan_words.usd_per_month(one.usd_per_month)})", words.sentence(one.reason))
            for one in option.rejected
        )
        yield Facts(facts=tuple(rejected), are_sentences=True)
    if option.commands:
        yield Paragraph(text="Commands to run (Plimsoll does not run them):")
        yield from (Command(line=words.plain(line)) for line in option.commands)


def _work(plan: Plan) -> Table:
    """Return the current setup first, then every setup that is sooner than all cheaper ones."""
    now = ("now", "", plan_words.work(plan.present.effect.work))
    rows = (
        (words.plain(point.name), plan_words.usd_more(point.usd_per_day_more), plan_words.work(point.work))
        for point in plan.work_by_price
    )
    columns = (Column(title="Setup"), *map(_number, ("$ a day more", "Same work")))
    return Table(columns=columns, rows=(now, *rows), stacks=True)


def _curve(plan: Plan) -> Table:
    """Return the largest share that can be served for a price."""
    is_observed = plan_words.is_observed(plan)
    rows = (
        (
            f"{words.plain(point.name)}{' (now)' if point.is_present else ''}",
            plan_words.usd(point.usd_per_month),
            plan_words.share_served(point.served_ratio, is_observed=is_observed),
        )
        for point in _thinned(plan.curve)
    )
    columns = (Column(title="Setup"), _number("$ a month"), _number("Served without waiting"))
    return Table(columns=columns, rows=tuple(rows), stacks=True)


def _thinned(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return at most ten points, evenly along the curve, with both ends and the current setup."""
    if len(curve) <= _POINTS_SHOWN:
        return list(curve)
    last = len(curve) - 1
    kept = {round(n * last / (_POINTS_SHOWN - 2)) for n in range(_POINTS_SHOWN - 1)}
    return [point for n, point in enumerate(curve) if n in kept or point.is_present]


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
