"""
The comparison for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every verdict is a word and a sign, never a colour alone; every difference has its sign.
Rule 2: numbers of one kind stand below each other, with their units.
"""

from collections.abc import Iterable, Sequence

from rich.console import JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.comparison import Comparison, Outcome
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.compare.outline import (
    BADGES,
    NOTHING_CHANGED,
    CompareOutline,
    HeadroomRow,
    Row,
    compare_outline,
)
from plimsoll.reports.render import terminal
from plimsoll.reports.render.commands import command_lines
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS

# Narrower, tables of two sides would part numbers from their units; wider lines are hard to read
# back.
WIDTH_MIN, WIDTH_MAX = 60, 120
# Below this the tables leave differences out, which the reader can see from the sides.
_NARROW = 76
# From here on names of limits are written in full, and time has its difference beside it.
_WIDE = 100

_STYLES = {
    Outcome.BETTER: "bold green",
    Outcome.SAME: "bold",
    Outcome.WORSE: "bold red",
    Outcome.UNKNOWN: "bold magenta",
}
_SIDES = ("Before", "After")


def render_compare(comparison: Comparison, *, width: int | None, color: bool) -> str:
    """
    Render the comparison as text that ends with a newline.

    Args:
        comparison: two windows.
        width: columns, at least 60; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    said = compare_outline(comparison)
    return terminal.rendered(list(_parts(said, columns)), width=columns, color=color)


def _parts(said: CompareOutline, width: int) -> Iterable[RenderableType]:
    yield terminal.styled(said.headline, style=_STYLES[said.outcome])
    for note in said.simulated:
        yield Text.assemble(("SIMULATED DATA", "bold reverse"), terminal.styled(f" · {note}"))
    yield from _step(said, width)
    yield _sides(said)
    yield terminal.heading("What changed")
    if said.bought:
        rows = [(row.name, row.before, row.after) for row in said.bought]
        yield _table(("", *_SIDES), rows, left=3)
    else:
        yield terminal.bullets([NOTHING_CHANGED])
    yield terminal.heading(f"Time at ceilings: {BADGES[said.outcome]}")
    yield _times(said, width)
    yield _facts(said.bounds)
    for section in said.sections:
        yield terminal.heading(section.title)
        yield _numbers(section.rows, width, has_statistic=True)
    if said.ceilings:
        yield terminal.heading("Ceilings")
        yield _numbers(said.ceilings, width, has_statistic=False)
    if said.headroom:
        yield terminal.heading("Headroom")
        yield _headroom(said.headroom)
    if said.unknown:
        yield terminal.heading("Not compared")
        yield _facts(said.unknown)
    if said.caveats:
        yield terminal.heading("Caveats")
        yield terminal.bullets(said.caveats)


def _step(said: CompareOutline, width: int) -> Iterable[RenderableType]:
    if said.step:
        yield terminal.styled(said.step)
    if said.next_command:
        broken = [f"  {part}" for part in command_lines(said.next_command, width - 2)]
        yield Text("\n".join(broken), no_wrap=True, overflow="ignore")


def _times(said: CompareOutline, width: int) -> RenderableType:
    """The verdict and the time at each ceiling."""
    is_wide = width >= _WIDE
    titles = ("", *_SIDES, "Difference") if is_wide else ("", *_SIDES)
    rows: list[Sequence[str | Text]] = [
        ("verdict", *map(_verdict, said.verdicts), "")
        if is_wide
        else ("verdict", *map(_verdict, said.verdicts))
    ]
    for row in said.time_at:
        name = row.name if is_wide else row.short_name or row.name
        cells = (name, row.before, row.after)
        rows.append((*cells, row.difference) if is_wide else cells)
    return _table(titles, rows)


def _numbers(rows: Iterable[Row], width: int, *, has_statistic: bool) -> RenderableType:
    """Numbers of both sides with their difference, absolute and in percent."""
    titles = ["", *([""] if has_statistic else []), *_SIDES]
    if width >= _NARROW:
        titles += ["Difference", ""]
    cells = []
    for row in rows:
        name = row.name if width >= _WIDE else row.short_name or row.name
        line = [name, *([row.statistic] if has_statistic else []), row.before, row.after]
        if width >= _NARROW:
            line += [row.difference, row.percent]
        cells.append(line)
    return _table(titles, cells, left=2 if has_statistic else 1)


def _headroom(rows: Iterable[HeadroomRow]) -> RenderableType:
    return _table(
        ("", "Before", "Headroom", "After", "Headroom"),
        [
            (
                row.name,
                _verdict(row.verdict_before),
                row.before,
                _verdict(row.verdict_after),
                row.after,
            )
            for row in rows
        ],
        left=2,
    )


def _verdict(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("–")
    word = VERDICT_WORDS[verdict]
    shown = word.upper() if verdict is Verdict.BINDS else word
    return Text(f"{VERDICT_SIGNS[verdict]} {shown}", style=terminal.STYLES[verdict])


def _sides(said: CompareOutline) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for side in said.sides:
        grid.add_row(Text(side.name, style="dim"), terminal.styled(side.value, style="dim"))
    return grid


def _facts(facts: Iterable[Fact]) -> RenderableType:
    """Name and sentence in one paragraph each."""
    return terminal.bullets(
        [
            Text.assemble((terminal.glued(fact.name), "bold"), ": ", terminal.glued(fact.value))
            for fact in facts
        ]
    )


def _table(
    titles: Sequence[str], rows: Iterable[Sequence[str | Text]], *, left: int = 1
) -> RenderableType:
    """
    A table without a frame; its first column may break lines, the others never do.

    Args:
        titles: of the columns.
        rows: cells, as many as titles.
        left: how many columns, from the first, are aligned to the left; numbers stand right.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, title in enumerate(titles):
        justify: JustifyMethod = "left" if index < left else "right"
        made.add_column(title, justify=justify, overflow="fold", no_wrap=index > 0)
    for row in rows:
        made.add_row(*(terminal.styled(c) if isinstance(c, str) else c for c in row))
    return terminal.indented(made)
