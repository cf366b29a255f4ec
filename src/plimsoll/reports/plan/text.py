"""
The plan for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every judgement is a word and a sign, never a colour alone.
Rule 2: no line is longer than `width`, but for a single word of a command: a command that was copied
        must still be the command.
"""

import re
from collections.abc import Iterable, Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plimsoll.model.plan import Judgement, Plan
from plimsoll.reports.plan.cards import OptionCard, OptionRow
from plimsoll.reports.plan.outline import (
    NEVER_RUN,
    WORK_COLUMNS,
    WORK_TITLE,
    DemandOutline,
    PlanOutline,
    plan_outline,
)
from plimsoll.reports.plan.words import PRICE_UNKNOWN, SIGNS, UNKNOWN
from plimsoll.reports.render import terminal
from plimsoll.reports.render.commands import command_lines
from plimsoll.reports.render.facts import Fact

WIDTH_MIN, WIDTH_MAX = 40, 120
# Below this there is no room for tables: each option is a paragraph.
_NARROW = 76
# From here on a table has room for the price beside its difference.
_ROOMY = 92
# From here on tables say what an option disturbs, and what binds next.
_WIDE = 110

_STYLES = {Judgement.LIFTS: "green", Judgement.DOES_NOT: "bold red", Judgement.UNSURE: "magenta"}

# Columns of words; numbers stand right.
_WORDS = ("", "Verdict", "Disruption", "Next ceiling", "Arrangement")

# Spaces within a band: `< 1 – 3 – 9 min`.
_BAND = re.compile(r"(?<=[0-9]) (?=– [<>0-9])|(?<=–) (?=[<>0-9])|(?<=[<>]) (?=[0-9])")


def render_plan(plan: Plan, *, width: int | None, color: bool) -> str:
    """
    Render the plan as text that ends with a newline.

    Args:
        plan: the way past.
        width: columns, at least 40; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    said = plan_outline(plan)
    return terminal.rendered(list(_parts(said, columns)), width=columns, color=color)


def render_plan_section(plan: Plan, *, width: int | None, color: bool) -> str:
    """The same as `render_plan` to stand below a diagnosis, which has named the instance."""
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    said = plan_outline(plan)
    head = [
        terminal.heading("The way past"),
        terminal.indented(styled(said.headline, style=_STYLES[said.judgement])),
        terminal.indented(styled(said.conditions)),
    ]
    return terminal.rendered([*head, *_body(said, columns)], width=columns, color=color)


def _parts(said: PlanOutline, width: int) -> Iterable[RenderableType]:
    yield styled(said.headline, style=_STYLES[said.judgement])
    if said.is_simulated:
        yield Text("SIMULATED DATA", style="bold reverse")
    yield styled(said.identity, style="dim")
    yield styled(said.conditions)
    yield from _body(said, width)


def _body(said: PlanOutline, width: int) -> Iterable[RenderableType]:
    yield terminal.heading("What was asked for")
    yield from _demand(said.demand, width)
    if said.steps:
        yield terminal.heading("What to try")
        yield terminal.bullets([styled(step) for step in said.steps])
        if said.check:
            yield terminal.indented(styled(said.check_lead))
            broken = [f"    {part}" for part in command_lines(said.check, width - 4)]
            yield Group(Text("\n".join(broken), no_wrap=True, overflow="ignore"))
    yield terminal.heading("Options")
    if said.present:
        yield terminal.indented(styled(said.present))
    yield from _tables(said.rows, said.enough, width)
    if said.no_option:
        yield terminal.indented(styled(said.no_option))
    for card in said.cards:
        yield from _card(card, width)
    if said.unpriced:
        yield terminal.heading("Price not known")
        for card in said.unpriced:
            yield from _card(card, width)
    if any(card.commands for card in (*said.cards, *said.unpriced)):
        yield Padding(styled(NEVER_RUN, style="bold"), (1, 0, 0, 0))
    if said.work:
        yield terminal.heading(WORK_TITLE)
        cells = [(row.name, row.usd_per_day_more, row.work) for row in said.work]
        yield _table(WORK_COLUMNS, cells, wraps=WORK_COLUMNS[:1])
    if said.curve:
        yield terminal.heading("What a price buys")
        yield _curve(said, width)
    if said.notes:
        yield terminal.heading("Notes")
        yield terminal.bullets([styled(note) for note in said.notes])


def _demand(said: DemandOutline, width: int) -> Iterable[RenderableType]:
    yield terminal.indented(styled(said.lead))
    if said.facts:
        yield _pairs(said.facts, width)
    if said.statements:
        yield terminal.bullets([styled(text) for text in said.statements])
    if said.assumptions:
        yield terminal.indented(Text("Assumed:"))
        yield terminal.bullets([styled(text) for text in said.assumptions])


def _tables(rows: Sequence[OptionRow], enough: str, width: int) -> Iterable[RenderableType]:
    """
    What each is; what it is judged, costs and disturbs; what it does.

    Names stand in a list of their own: beside bands and prices there is no room for them. Where it is
    narrow, each option is a paragraph.
    """
    if width < _NARROW:
        yield terminal.bullets([_paragraph(row) for row in rows])
        return
    names = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        names.add_row(row.number, _named(row))
    yield terminal.indented(names)
    yield Text()
    # In 80 columns the whole price stands with each option alone.
    titles = ["", "Verdict", enough, "At a ceiling"]
    titles += ["$ a day", "Difference"] if width >= _ROOMY else ["Difference"]
    titles += ["$ a month", "Disruption"] if width >= _WIDE else ["Disruption"]
    yield _table(titles, [_priced(row, titles) for row in rows], wraps=("Disruption",))
    yield Text()
    titles = ["", "Served", "Mean latency", "Latency p95"]
    titles += ["Next ceiling"] if width >= _WIDE else []
    yield _table(titles, [_done(row)[: len(titles)] for row in rows], wraps=())


def _named(row: OptionRow) -> Text:
    return Text.assemble(glued(row.title), (f" ({row.role})" if row.role else "", "dim"))


def _priced(row: OptionRow, titles: Sequence[str]) -> list[str | Text]:
    per_day = [row.usd_per_day] if "$ a day" in titles else []
    per_month = [row.usd_per_month] if "$ a month" in titles else []
    money = [*per_day, row.usd_per_day_more, *per_month]
    return [row.number, _verdict(row), row.chance, row.minutes, *money, row.disruption]


def _done(row: OptionRow) -> list[str | Text]:
    return [row.number, row.served, row.latency_mean, row.latency_p95, row.next_ceiling]


def _paragraph(row: OptionRow) -> Text:
    is_priced = row.usd_per_day.startswith("$")
    price = f"{row.usd_per_day} a day" if is_priced else PRICE_UNKNOWN
    if row.usd_per_day_more not in ("", UNKNOWN):
        price += f", {row.usd_per_day_more}"
    chance = f"; {row.chance_said}" if row.chance_said else ""
    tail = f"{chance}; at a ceiling {row.minutes}; {price}"
    return Text.assemble(f"{row.number}: ", glued(row.title), " ", _verdict(row), glued(tail))


def _verdict(row: OptionRow) -> Text:
    """`✕ does not`."""
    return Text(glued(f"{SIGNS[row.judgement]} {row.verdict}"), style=_STYLES[row.judgement])


def _card(card: OptionCard, width: int) -> Iterable[RenderableType]:
    """One option in detail."""
    row = card.row
    title = Text.assemble((f"{row.number}. {glued(row.title)}", "bold"), "  ", _verdict(row))
    yield Padding(title, (1, 0, 0, 0))
    if card.reason:
        yield terminal.indented(styled(card.reason))
    yield _pairs(card.facts, width)
    if card.notes:
        yield terminal.bullets([styled(note) for note in card.notes])
    if card.settled_by:
        yield terminal.indented(_fact(Fact("What would settle it", card.settled_by)))
    if card.rejected:
        yield terminal.indented(Text("Cheaper, and why not:"))
        yield terminal.bullets([_fact(fact) for fact in card.rejected])
    if card.commands:
        yield terminal.indented(Text("To order it (Plimsoll does not):"))
        for line in card.commands:
            broken = [f"    {part}" for part in command_lines(line, width - 4)]
            # A frame around it would cut a word that is too long; a console that is handed a bare
            # text forgets that it must not be folded.
            yield Group(Text("\n".join(broken), no_wrap=True, overflow="ignore"))


def _curve(said: PlanOutline, width: int) -> RenderableType:
    titles = ("Arrangement", "$ a month", "Served without waiting")
    cells = [
        (f"{row.name}{' (as it is)' if row.is_present else ''}", row.usd_per_month, row.served)
        for row in said.curve
    ]
    wraps = titles if width < _NARROW else titles[:1]
    return _table(titles, cells, wraps=wraps)


def _fact(fact: Fact) -> Text:
    return Text.assemble((glued(fact.name), "bold"), ": ", glued(fact.value))


def _pairs(facts: Sequence[Fact], width: int) -> RenderableType:
    """Names with their values in two columns; one paragraph each where it is narrow."""
    if width < _NARROW:
        return terminal.bullets([_fact(fact) for fact in facts])
    grid = Table.grid(padding=(0, 2, 0, 0))
    for fact in facts:
        grid.add_row(Text(fact.name, style="dim", no_wrap=True), styled(fact.value))
    return terminal.indented(grid)


def _table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    wraps: Sequence[str],
) -> RenderableType:
    """
    A table without a frame.

    Args:
        titles: of the columns.
        rows: cells, as many as titles.
        wraps: titles of the columns that may break lines.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        side: JustifyMethod = "left" if title in _WORDS else "right"
        made.add_column(title, justify=side, overflow="fold", no_wrap=title not in wraps)
    for row in rows:
        made.add_row(*(styled(c) if isinstance(c, str) else c for c in row))
    return terminal.indented(made)


def glued(text: str) -> str:
    """The text with its bands whole and its numbers beside their units."""
    return _BAND.sub(terminal.GLUE, terminal.glued(text))


def styled(text: str, style: str = "") -> Text:
    """A paragraph in which no band is broken and no number is parted from its unit."""
    return Text(glued(text), style=style)
