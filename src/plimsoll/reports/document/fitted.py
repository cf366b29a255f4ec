"""
Tables that do not fit a terminal: free text is narrowed first, then columns are left out.

Rule 1: no line is longer than the width, unless even the columns that never leave do not fit.
Rule 2: what has left is named below the table.
"""

from collections.abc import Callable, Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from plimsoll.reports.document.parts import Cell, Column, Table
from plimsoll.reports.render.terminal import styled

# Blanks between columns: one is read as a blank between words.
_GAP = 2

Row = tuple[str | Cell, ...]


def is_fitted(part: Table) -> bool:
    """Return whether the table defines how it becomes narrower."""
    return bool(part.remarks) or any(column.leaves for column in part.columns)


def fitted_table(part: Table, width: int, format_cell: Callable[[str | Cell], Text]) -> RenderableType:
    """
    Return the table in a number of columns, with remarks below their rows and the legend at the end.

    Args:
        part: titles, rows and what may give way.
        width: columns of the terminal.
        told: how a cell is written.
    """
    cells = [[format_cell(cell) for cell in row] for row in part.rows]
    natural = [
        max([cell_len(column.title), *(_widest(row[n]) for row in cells)]) for n, column in enumerate(part.columns)
    ]
    shown, widths = _fitted(part.columns, natural, width)
    columns = [part.columns[n] for n in shown]
    titles = [Text(column.title) for column in columns]
    lines: list[RenderableType] = [_line(columns, widths, titles, "dim")]
    for row, remark in zip(cells, part.remarks or [""] * len(cells), strict=True):
        narrowed = [_broken(row[n], widths[at]) for at, n in enumerate(shown)]
        lines.append(_line(columns, widths, narrowed))
        if remark:
            # Below the first column of words: a rank belongs to its row.
            first = next((at for at, c in enumerate(columns) if not c.is_number), 0)
            lines.append(_below(remark, sum(widths[:first]) + first or _GAP))
    legend = [column.legend for column in columns if column.legend]
    left = sorted({*range(len(part.columns))} - {*shown}, key=lambda n: part.columns[n].leaves)
    if left:
        titles_left = ", ".join(part.columns[n].title for n in left)
        legend.append(f"Not shown, the terminal is too narrow: {titles_left}.")
    if legend:
        lines += [Text(), styled(" ".join(legend), "dim")]
    return Group(*lines)


def _widest(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _fitted(columns: Sequence[Column], natural: Sequence[int], width: int) -> tuple[list[int], list[int]]:
    """Return the columns that fit, with their widths."""
    leaving = sorted((n for n, c in enumerate(columns) if c.leaves), key=lambda n: columns[n].leaves)
    for gone in range(len(leaving) + 1):
        shown = [n for n in range(len(columns)) if n not in leaving[:gone]]
        widths = [natural[n] for n in shown]
        room = width - sum(_gap(columns[n]) for n in shown[:-1])
        while sum(widths) > room:
            wide = [at for at, n in enumerate(shown) if 0 < columns[n].least < widths[at]]
            if not wide:
                break
            widths[max(wide, key=lambda at: widths[at])] -= 1
        if sum(widths) <= room:
            break
    return shown, widths


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Text], style: str = "") -> Grid:
    grid = Grid.grid(padding=0, pad_edge=False)
    for at, column in enumerate(columns):
        side: JustifyMethod = "right" if column.is_number else "left"
        grid.add_column(width=widths[at], justify=side, overflow="fold", style=style)
        grid.add_column(width=_gap(column) if at < len(columns) - 1 else 0)
    grid.add_row(*(part for cell in cells for part in (cell, "")))
    return grid


def _gap(column: Column) -> int:
    """Return the spaces after a column; a rank is close to the next column."""
    return 1 if column.title == "#" else _GAP


def _broken(text: Text, width: int) -> Text:
    """Return the text with long words broken after hyphens; a terminal breaks at spaces only."""
    if " " in text.plain or cell_len(text.plain) <= width:
        return text
    return Text("\n".join(wrap(text.plain, width)), style=text.style)


def _below(text: str, indent: int) -> Grid:
    grid = Grid.grid(padding=0)
    grid.add_column(width=indent)
    grid.add_column()
    grid.add_row("", styled(text, "dim"))
    return grid
