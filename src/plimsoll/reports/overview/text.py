"""
Many instances for a terminal, a pipe or a log: the most urgent first, one row each.

Rule 1: no line is longer than `width`; where columns do not fit, they leave in a fixed order and
        the text says which.
Rule 2: instances that are not near a limit are folded into a list of their names.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Group as Together
from rich.console import JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import Overview
from plimsoll.reports.overview.outline import (
    NOTHING,
    Group,
    OverviewSaid,
    RowSaid,
    folded_name,
    overview_outline,
)
from plimsoll.reports.render.terminal import (
    STYLES,
    bullets,
    columns_of,
    glued,
    heading,
    indented,
    pairs,
    rendered,
    styled,
)
from plimsoll.reports.render.words import VERDICT_SIGNS

WIDTH_MIN, WIDTH_DEFAULT = 60, 100
# Widths to which text is wrapped before any column leaves: a limit's name stands on one line, its
# number on the next.
_NAME_LEAST, _LIMIT_LEAST, _CREDITS_LEAST = 16, 24, 10


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the table: where it stands, what is in it, and whether its text may wrap."""

    title: str
    cell: Callable[[RowSaid], str]
    is_number: bool = False
    least: int = 0
    """Columns to which it may be narrowed by wrapping; 0 for not at all."""


def _verdict(row: RowSaid) -> str:
    word = row.word.upper() if row.verdict is Verdict.BINDS else row.word
    return f"{VERDICT_SIGNS[row.verdict]} {word}"


_COLUMNS = (
    _Column("#", lambda row: str(row.rank), is_number=True),
    _Column("Instance", lambda row: row.name, least=_NAME_LEAST),
    _Column("Class", lambda row: row.db_class),
    _Column("Verdict", _verdict),
    _Column("Limit, or nearest", lambda row: row.limit, least=_LIMIT_LEAST),
    _Column("At it", lambda row: row.time_at, is_number=True),
    _Column("Share", lambda row: row.share, is_number=True),
    _Column("Credits", lambda row: row.credits, least=_CREDITS_LEAST),
)
# What leaves first where the width does not hold all: what others imply, then what can be looked up.
_LEAVING = ("Share", "Class", "#", "Credits", "At it")


def render_overview(
    overview: Overview, *, width: int | None, color: bool, lists_all: bool = False
) -> str:
    """
    Render the table as text that ends with a newline.

    Args:
        overview: many instances, ranked.
        width: columns, at least 60; None takes 100, or the terminal's if it has fewer.
        color: whether escape sequences for colour may be used.
        lists_all: whether every instance gets a row, those that are not near a limit too.
    """
    width = columns_of(width, least=WIDTH_MIN, most=WIDTH_DEFAULT, piped=WIDTH_DEFAULT)
    said = overview_outline(overview)
    return rendered([*_sections(said, width, lists_all=lists_all)], width=width, color=color)


def _sections(said: OverviewSaid, width: int, *, lists_all: bool) -> Iterable[RenderableType]:
    yield styled(said.headline, STYLES[said.worst])
    if said.simulated:
        yield Text.assemble(("SIMULATED DATA", "bold reverse"), glued(f" · {said.simulated}"))
    if said.stopped:
        yield styled(said.stopped, STYLES[Verdict.UNKNOWN])
    shown = [r for r in said.rows if lists_all or r.verdict in (Verdict.BINDS, Verdict.NEAR)]
    if shown:
        yield Text()
        yield _table(shown, width)
    yield from _groups("Could not be judged", said.unknown)
    yield from _groups("Could not be read", said.unread)
    if said.failed:
        yield heading("Read only in part")
        yield _bullets(said.failed)
    folded = [r for r in said.rows if r.verdict is Verdict.SLACK and r not in shown]
    if folded:
        yield heading(f"Not near a limit: {len(folded)}")
        yield indented(styled(", ".join(sorted(map(folded_name, folded)))))
    yield heading("How it was measured")
    yield pairs(said.measured)


def _groups(title: str, groups: Sequence[Group]) -> Iterable[RenderableType]:
    if not groups:
        return
    yield heading(f"{title}: {sum(len(group.names) for group in groups)}")
    yield _bullets(groups)


def _bullets(groups: Sequence[Group]) -> RenderableType:
    return bullets(
        [
            Text.assemble(
                (glued(f"{group.reason}: "), "bold"),
                glued(f"{', '.join(group.names)}. {group.remedy}".strip()),
            )
            for group in groups
        ]
    )


def _table(rows: Sequence[RowSaid], width: int) -> RenderableType:
    """Rows with their notes below them; one grid each, all of the same columns."""
    natural = {
        c.title: max(cell_len(c.title), *(cell_len(c.cell(row)) for row in rows)) for c in _COLUMNS
    }
    columns, widths = _fitted(natural, width)
    parts: list[RenderableType] = [_line(columns, widths, [Text(c.title) for c in columns], "dim")]
    for row in rows:
        cells = [_cell(column, row, widths[column.title]) for column in columns]
        parts.append(_line(columns, widths, cells))
        if row.notes:
            indent = widths["#"] + 1 if "#" in widths else 2
            parts.append(_below("; ".join(row.notes), indent))
    parts.append(Text())
    parts.append(styled(_legend(columns, rows), "dim"))
    return Together(*parts)


def _fitted(natural: dict[str, int], width: int) -> tuple[tuple[_Column, ...], dict[str, int]]:
    """The columns that fit, and how wide each is; free text is narrowed before a column leaves."""
    for leaving in range(len(_LEAVING) + 1):
        columns = tuple(c for c in _COLUMNS if c.title not in _LEAVING[:leaving])
        widths = {c.title: natural[c.title] for c in columns}
        room = width - sum(_gap(c) for c in columns[:-1])
        while sum(widths.values()) > room:
            wide = [c for c in columns if c.least and widths[c.title] > c.least]
            if not wide:
                break
            widths[max(wide, key=lambda c: widths[c.title]).title] -= 1
        if sum(widths.values()) <= room:
            break
    return columns, widths


def _line(
    columns: Sequence[_Column], widths: dict[str, int], cells: Sequence[Text], style: str = ""
) -> Table:
    grid = Table.grid(padding=0, pad_edge=False)
    for column in columns:
        side: JustifyMethod = "right" if column.is_number else "left"
        grid.add_column(width=widths[column.title], justify=side, overflow="fold", style=style)
        grid.add_column(width=_gap(column) if column is not columns[-1] else 0)
    grid.add_row(*(part for cell in cells for part in (cell, "")))
    return grid


def _gap(column: _Column) -> int:
    """Spaces after a column; a rank belongs to its instance."""
    return 1 if column.title == "#" else 2


def _cell(column: _Column, row: RowSaid, width: int) -> Text:
    text = column.cell(row)
    if column.title == "Verdict":
        return Text(text, style=STYLES[row.verdict])
    if column.title == "Instance":
        # Names are broken after a hyphen where there is one; a terminal breaks at spaces only.
        return Text("\n".join(wrap(text, width)), style="bold")
    return styled(text)


def _below(text: str, indent: int) -> Table:
    grid = Table.grid(padding=0)
    grid.add_column(width=indent)
    grid.add_column()
    grid.add_row("", styled(text, "dim"))
    return grid


def _legend(columns: Sequence[_Column], rows: Sequence[RowSaid]) -> str:
    titles = [c.title for c in columns]
    said = []
    if any(row.verdict is not Verdict.BINDS for row in rows):
        said.append("Beside the nearest resource stands its peak as a share of its ceiling.")
    if "Share" in titles:
        said.append("Share: of the time measured.")
    if "Credits" in titles:
        said.append(
            f"Credits: the lowest balance and when it is empty at the present rate; {NOTHING} where "
            "none below full was read."
        )
    left = [title for title in _LEAVING if title not in titles]
    if left:
        said.append(f"Left out for want of width: {', '.join(left)}.")
    return " ".join(said)
