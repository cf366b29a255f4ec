"""A plan as a document: recommendation, demand, the table of options, then each option."""

from collections.abc import Callable, Iterator, Sequence

from plimsoll.model.plan import Judgement, Plan
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
from plimsoll.reports.plan.cards import OptionCard, OptionRow
from plimsoll.reports.plan.chart import CAPTION, has_chart, plan_spec
from plimsoll.reports.plan.outline import NEVER_RUN, WORK_COLUMNS, WORK_TITLE, DemandOutline, PlanOutline, plan_outline
from plimsoll.reports.plan.words import SIGNS
from plimsoll.reports.render.explanations import Topic

# Terminal widths from which the table also has: what an option disturbs; the price of a day; the price of a
# month and the next ceiling.
_USUAL, _ROOMY, _WIDE = 76, 92, 110

_TONES = {Judgement.LIFTS: Tone.GOOD, Judgement.DOES_NOT: Tone.BAD, Judgement.UNSURE: Tone.UNKNOWN}


def plan_document(plan: Plan) -> Document:
    """Return the document of a plan."""
    outline = plan_outline(plan)
    return Document(
        kind="plan",
        headline=outline.headline,
        tone=_TONES[outline.judgement],
        simulated=("",) if outline.is_simulated else (),
        parts=(
            Paragraph(text=outline.identity, weight="quiet"),
            Paragraph(text=outline.conditions),
            *_parts(outline, plan),
        ),
    )


def plan_section(plan: Plan) -> Section:
    """Return the same as a section below a diagnosis, which names the instance already."""
    outline = plan_outline(plan)
    return Section(
        title="Plan",
        parts=(
            Paragraph(text=outline.headline, weight="strong"),
            Paragraph(text=outline.conditions),
            *_parts(outline, plan),
        ),
    )


def _parts(outline: PlanOutline, plan: Plan) -> Iterator[Part]:
    if has_chart(plan):
        yield Picture(characters=None, spec=_drawn(plan), caption=CAPTION)
    yield Section(title="Demand", parts=tuple(_demand(outline.demand)), topic=Topic.DEMAND)
    if outline.steps:
        yield Section(title="What to try", parts=tuple(_steps(outline)))
    yield Section(title="Options", parts=tuple(_options(outline)), topic=Topic.OPTIONS)
    if outline.unpriced:
        yield Section(title="Price not known", parts=tuple(_unpriced(outline.unpriced)))
    if outline.work:
        yield Section(title=WORK_TITLE, parts=(_work(outline),))
    if outline.curve:
        yield Section(title="Throughput by price", parts=(_curve(outline),))
    yield Section(title="Notes", parts=(bullets_of(outline.notes),) if outline.notes else ())


def _drawn(plan: Plan) -> Callable[[int], Spec]:
    return lambda width: plan_spec(plan, look=page_look(), width=width, is_titled=False)


def _demand(outline: DemandOutline) -> Iterator[Part]:
    yield Paragraph(text=outline.lead)
    if outline.facts:
        yield Facts(facts=outline.facts)
    if outline.statements:
        yield bullets_of(outline.statements)
    if outline.assumptions:
        yield Paragraph(text="Assumed:")
        yield bullets_of(outline.assumptions)


def _steps(outline: PlanOutline) -> Iterator[Part]:
    yield bullets_of(outline.steps)
    if outline.check:
        yield Paragraph(text=outline.check_lead)
        yield Command(line=outline.check)


def _options(outline: PlanOutline) -> Iterator[Part]:
    if outline.present:
        yield Paragraph(text=outline.present)
    yield _named(outline.rows)
    yield _priced(outline.rows, outline.enough)
    yield _effects(outline.rows)
    if outline.no_option:
        yield Paragraph(text=outline.no_option)
    yield from map(_card, outline.cards)
    if not outline.unpriced:
        yield from _closing(outline.cards)


def _unpriced(cards: Sequence[OptionCard]) -> Iterator[Part]:
    yield from map(_card, cards)
    yield from _closing(cards)


def _closing(cards: Sequence[OptionCard]) -> Iterator[Part]:
    """Yield the remarks on the commands, after the last of them."""
    if any(card.commands for card in cards):
        yield Paragraph(text=NEVER_RUN, weight="strong")


def _named(rows: Sequence[OptionRow]) -> Table:
    """Return the table of options with names and disruption, without bands and prices."""
    return Table(
        columns=(
            Column(title="Option", may_break=False),
            Column(title="Change"),
            Column(title="Disruption", from_width=_USUAL),
            Column(title="Next ceiling", from_width=_WIDE),
        ),
        rows=tuple(
            (row.number, f"{row.title} ({row.role})" if row.role else row.title, row.disruption, row.next_ceiling)
            for row in rows
        ),
        stacks=True,
    )


def _priced(rows: Sequence[OptionRow], enough: str) -> Table:
    """Return the table of options with judgement and price; the total price is in each option's card."""
    return Table(
        columns=(
            Column(title="Option", may_break=False),
            Column(title="Verdict", may_break=False),
            _number(enough),
            _number("At a ceiling"),
            _number("$ a day", from_width=_ROOMY),
            _number("Difference"),
            _number("$ a month", from_width=_WIDE),
        ),
        rows=tuple(
            (
                row.number,
                Cell(f"{SIGNS[row.judgement]} {row.verdict}", _TONES[row.judgement]),
                *(row.chance, row.minutes),
                *(row.usd_per_day, row.usd_per_day_more, row.usd_per_month),
            )
            for row in rows
        ),
        stacks=True,
    )


def _effects(rows: Sequence[OptionRow]) -> Table:
    titles = ("Served", "Mean latency", "Latency p95")
    return Table(
        columns=(Column(title="Option", may_break=False), *map(_number, titles)),
        rows=tuple((r.number, r.served, r.latency_mean, r.latency_p95) for r in rows),
        stacks=True,
    )


def _number(title: str, from_width: int = 0) -> Column:
    return Column(title=title, is_number=True, may_break=False, from_width=from_width)


def _card(card: OptionCard) -> Card:
    row = card.row
    return Card(
        title=row.title,
        number=row.number,
        verdict=f"{SIGNS[row.judgement]} {row.verdict}",
        tone=_TONES[row.judgement],
        parts=tuple(_card_parts(card)),
    )


def _card_parts(card: OptionCard) -> Iterator[Part]:
    if card.reason:
        yield Paragraph(text=card.reason)
    yield Facts(facts=card.facts)
    if card.notes:
        yield bullets_of(card.notes)
    if card.settled_by:
        yield Remark(name="To find out", text=card.settled_by)
    if card.rejected:
        yield Paragraph(text="Cheaper, but not enough:")
        yield Facts(facts=card.rejected, are_sentences=True)
    if card.commands:
        yield Paragraph(text="Commands to run (Plimsoll does not run them):")
        yield from (Command(line=line) for line in card.commands)


def _work(outline: PlanOutline) -> Table:
    name, *numbers = WORK_COLUMNS
    return Table(
        columns=(Column(title=name), *map(_number, numbers)),
        rows=tuple((row.name, row.usd_per_day_more, row.work) for row in outline.work),
        stacks=True,
    )


def _curve(outline: PlanOutline) -> Table:
    return Table(
        columns=(Column(title="Setup"), _number("$ a month"), _number("Served without waiting")),
        rows=tuple((f"{r.name}{' (now)' if r.is_present else ''}", r.usd_per_month, r.served) for r in outline.curve),
        stacks=True,
    )
