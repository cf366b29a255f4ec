"""
An inspection for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every severity is a word and a sign, never a colour alone.
Rule 2: no line is longer than `width`, but for those of a command: SQL, settings and code are printed as
        they are to be run, and a line break may mean something in any of them.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plimsoll.model.cause import Inspection
from plimsoll.reports.document.severity import SEVERITY_SIGNS
from plimsoll.reports.inspect.outline import (
    NEVER_RUN,
    CauseCard,
    InspectionOutline,
    RemedyRow,
    inspection_outline,
)
from plimsoll.reports.render import terminal
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import glued, styled

WIDTH_MIN, WIDTH_MAX = 40, 120
# Below this names and values have no room beside each other: each is a paragraph.
_NARROW = 60

_STYLES = {"critical": "bold red", "warning": "yellow", "note": ""}


def render_inspection(inspection: Inspection, *, width: int | None, color: bool) -> str:
    """
    Render the inspection as text that ends with a newline.

    Args:
        inspection: what was found.
        width: columns, at least 40; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    said = inspection_outline(inspection)
    return terminal.rendered([*_parts(said, columns)], width=columns, color=color)


def causes_section(inspection: Inspection, width: int) -> Iterable[RenderableType]:
    """The same to stand in a diagnosis: who spends it."""
    said = inspection_outline(inspection)
    yield terminal.heading("Causes")
    yield terminal.indented(styled(said.headline, style=_STYLES.get(said.severity or "", "")))
    yield terminal.indented(styled(said.identity, style="dim"))
    yield terminal.indented(styled(said.watched))
    yield _pairs(said.load, width)
    yield from _causes(said)
    rest = [styled(note) for note in said.notes] + [_fact(fact) for fact in said.missing]
    yield Padding(terminal.bullets([*rest, styled(said.cost)]), (1, 0, 0, 0))


def _parts(said: InspectionOutline, width: int) -> Iterable[RenderableType]:
    yield styled(said.headline, style=_STYLES.get(said.severity or "", ""))
    yield styled(said.identity, style="dim")
    yield styled(said.watched)
    yield terminal.heading("What it reads and writes")
    yield _pairs(said.load, width)
    if said.causes:
        yield terminal.heading("Causes")
        yield from _causes(said, is_first_spaced=False)
    if said.notes:
        yield terminal.heading("Notes")
        yield terminal.bullets([styled(note) for note in said.notes])
    if said.missing:
        yield terminal.heading("Not known")
        yield terminal.bullets([_fact(fact) for fact in said.missing])
    yield terminal.heading("How it was measured")
    yield _pairs(said.measured, width)


def _causes(said: InspectionOutline, *, is_first_spaced: bool = True) -> Iterable[RenderableType]:
    if said.counted:
        yield terminal.indented(styled(said.counted))
    for card in said.causes:
        yield from _card(
            card, is_spaced=is_first_spaced or card.number != "1" or bool(said.counted)
        )
    if said.has_commands:
        yield Padding(styled(NEVER_RUN, style="bold"), (1, 0, 0, 2))


def _card(card: CauseCard, *, is_spaced: bool) -> Iterable[RenderableType]:
    """One cause in detail."""
    sign = SEVERITY_SIGNS[card.severity]
    told = Text.assemble(
        (glued(f"{sign} {card.severity}: "), _STYLES.get(card.severity, "")),
        (glued(card.title), "bold"),
    )
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(f"{card.number}.", style="bold"), told)
    yield Padding(grid, (1 if is_spaced else 0, 0, 0, 2))
    if card.size:
        yield _inner(styled(card.size))
    if card.text:
        yield _inner(styled(card.text))
    if card.evidence:
        yield _inner(_marked(card.evidence, "-"))
    for remedy in card.remedies:
        yield from _remedy(remedy)
    if card.refuted_by:
        yield _inner(_fact(Fact("Refuted by", card.refuted_by)))


def _remedy(remedy: RemedyRow) -> Iterable[RenderableType]:
    yield _inner(_marked([remedy.text], "→"))
    if remedy.commands:
        # A frame around it would cut what is too long; a console that is handed a bare text forgets
        # that it must not be folded.
        lines = "\n".join(f"         {line}".rstrip() for line in remedy.commands)
        yield Group(Text(lines, no_wrap=True, overflow="ignore"))
    if remedy.expected:
        yield Padding(_fact(Fact("Expected", remedy.expected)), (0, 0, 0, 7))


def _marked(items: Sequence[str], mark: str) -> RenderableType:
    """One paragraph each, behind a mark."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for item in items:
        grid.add_row(mark, styled(item))
    return grid


def _inner(what: RenderableType) -> RenderableType:
    """The part below the title of a cause."""
    return Padding(what, (0, 0, 0, 5))


def _fact(fact: Fact) -> Text:
    return Text.assemble((glued(fact.name), "bold"), ": ", glued(fact.value))


def _pairs(facts: Sequence[Fact], width: int) -> RenderableType:
    """Names with their values in two columns; one paragraph each where it is narrow."""
    if width < _NARROW:
        return terminal.bullets([_fact(fact) for fact in facts])
    return terminal.pairs([(fact.name, fact.value) for fact in facts])
