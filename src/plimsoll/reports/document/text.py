"""
A document for a terminal, a pipe or a log: readable without colour.

Rule 1: no line is longer than the width, but for code, which is printed as it is to be run.
Rule 2: without colour there is no escape sequence in the text.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from plimsoll.reports.document import parts as d
from plimsoll.reports.document.fitted import fitted_table, is_fitted
from plimsoll.reports.render import terminal, words
from plimsoll.reports.render.commands import command_lines
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import glued, styled

WIDTH_MIN, WIDTH_MAX = 40, 120
# Widths of a document with columns.
WIDE_MIN, WIDE = 60, 100
# Below this width names and values do not fit on one line: each becomes a paragraph.
_NARROW = 60

_TONES = {
    d.Tone.PLAIN: "",
    d.Tone.GOOD: "green",
    d.Tone.NEAR: "yellow",
    d.Tone.BAD: "bold red",
    d.Tone.UNKNOWN: "magenta",
}
_WEIGHTS = {"plain": "", "quiet": "dim", "strong": "bold"}
_SIGNS = {"-": "red", "+": "green", " ": "dim"}


def document_text(document: d.Document, *, width: int | None, color: bool, least: int = WIDTH_MIN) -> str:
    """
    Return the document as text that ends with a newline.

    Args:
        document: the report.
        width: columns; None takes the terminal's, and 80 in a pipe, or 100 where rows are long.
        color: whether escape sequences for colour may be used.
        least: fewer columns are taken as this; for tables that do not fit in fewer.
    """
    if document.is_wide:
        columns = terminal.columns_of(width, least=WIDE_MIN, most=WIDE, piped=WIDE)
    else:
        columns = terminal.columns_of(width, least=least, most=WIDTH_MAX)
    return terminal.rendered([*_whole(document, columns)], width=columns, color=color)


def _whole(document: d.Document, width: int) -> Iterable[RenderableType]:
    yield styled(words.plain(document.headline), style=_TONES[document.tone] or "bold")
    for note in document.simulated:
        suffix = f" · {words.plain(note)}" if note else ""
        yield Text.assemble(("SIMULATED DATA", "bold reverse"), glued(suffix))
    for part in document.parts:
        # Parts before the first section belong to the headline.
        yield from _part(part, width, 2 if isinstance(part, _INDENTED) else 0)


_INDENTED = (d.Facts, d.Bullets, d.Table, d.Code, d.Command, d.Diff)


def _part(part: d.Part, width: int, indent: int) -> Iterable[RenderableType]:
    if isinstance(part, d.Section):
        yield from _section(part, width)
    elif isinstance(part, d.Card):
        yield from _card(part, width, indent)
    elif isinstance(part, d.Command):
        yield _verbatim(command_lines(part.line, width - indent - 2), indent + 2)
    elif isinstance(part, d.Code):
        yield _verbatim(part.lines, indent + 4)
    elif isinstance(part, d.Picture):
        if part.characters is not None:
            yield Text("\n".join(part.characters(width)), no_wrap=True, overflow="crop")
    else:
        yield Padding(_flowing(part, width, indent), (0, 0, 0, indent))


def _flowing(
    part: d.Paragraph | d.Remark | d.Facts | d.Bullets | d.Table | d.Diff, width: int, indent: int
) -> RenderableType:
    """Return a part that adapts to any width."""
    room = width - indent
    if isinstance(part, d.Paragraph):
        style = _TONES[part.tone] or _WEIGHTS[part.weight]
        text = words.plain(f"{part.lead} {part.text}")
        return Text(_cut(text, room), style=style) if part.is_cut else styled(text, style)
    if isinstance(part, d.Remark):
        return _named(Fact(words.plain(part.name), words.plain(part.text)))
    if isinstance(part, d.Facts):
        return _facts(part, width)
    if isinstance(part, d.Bullets):
        mark = "→" if part.are_moves else "-"
        return _marked(
            (shown, styled(words.plain(text)))
            for n, item in enumerate(part.advice, start=1)
            for shown, text in ((f"{n}." if part.is_numbered else mark, f"{item.lead} {item.text}"), *_moves(item))
        )
    return _diff(part, room) if isinstance(part, d.Diff) else _table(part, width, room)


def _moves(item: d.Advice) -> Iterable[tuple[str, str]]:
    return (("", f"→ {move}") for move in item.moves)


def _section(part: d.Section, width: int) -> Iterable[RenderableType]:
    if not part.in_text or all(isinstance(one, d.Picture) and one.characters is None for one in part.parts):
        return
    yield terminal.heading(words.plain(part.title))
    before: d.Part | None = None
    for inner in part.parts:
        # Tables have blank lines around them; the marks of a list below a table show that it belongs to it.
        is_apart = isinstance(before, d.Table | d.Card) and isinstance(inner, d.Paragraph | d.Facts)
        if before is not None and not part.is_dense and (isinstance(inner, d.Table) or is_apart):
            yield Text()
        before = inner
        if isinstance(inner, d.Section):
            yield from _section(inner, width)
        else:
            yield from _part(inner, width, 0 if _needs_all(inner) else 2)


def _needs_all(part: d.Part) -> bool:
    """Return whether a part starts at the margin because it needs the whole width."""
    return isinstance(part, d.Picture) or (isinstance(part, d.Table) and is_fitted(part))


def _card(card: d.Card, width: int, indent: int) -> Iterable[RenderableType]:
    verdict = f"{words.plain(card.verdict)}: " if card.verdict else ""
    named = words.plain(card.title)
    if card.is_cut:
        named = _cut(named, width - indent - len(verdict))
    title = Text.assemble((glued(verdict), _TONES[card.tone]), (glued(named), "bold"))
    if card.number:
        grid = Grid.grid(padding=(0, 1, 0, 0))
        grid.add_row(Text(f"{card.number}.", style="bold"), title)
        yield Padding(grid, (1, 0, 0, indent))
    else:
        yield Padding(title, (1, 0, 0, indent))
    inside = indent + (3 if card.number else 2)
    for part in card.parts:
        yield from _part(part, width, inside)


def _named(fact: Fact) -> Text:
    return Text.assemble((glued(fact.name), "bold"), ": ", glued(fact.value))


def _facts(part: d.Facts, width: int) -> RenderableType:
    named = [Fact(words.plain(f.name), words.plain(f.value)) for f in part.facts]
    if part.are_sentences or width < _NARROW:
        return _marked(("-", _named(fact)) for fact in named)
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for fact in named:
        grid.add_row(Text(fact.name, style="dim"), styled(fact.value))
    return grid


def _marked(rows: Iterable[tuple[str, Text]]) -> RenderableType:
    """Return one paragraph for each text, after a mark."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for mark, text in rows:
        grid.add_row(mark, text)
    return grid


def _table(part: d.Table, width: int, room: int) -> RenderableType:
    """Return a table without a frame, with the columns that are shown at this width."""
    if is_fitted(part):
        return fitted_table(part, room, lambda cell: _cell(cell, width))
    shown = [n for n, column in enumerate(part.columns) if width >= column.from_width]
    is_titled, gap = not part.is_untitled, (0, part.gap, 0, 0)
    made = Grid(box=None, pad_edge=False, padding=gap, header_style="dim", show_header=is_titled)
    for n in shown:
        column = part.columns[n]
        side: JustifyMethod = "right" if column.is_number else "left"
        made.add_column(
            glued(_plain_lines(column.title)),
            justify=side,
            overflow="ellipsis" if column.is_cut else "fold",
            no_wrap=column.is_cut or not column.may_break,
        )
    for row in part.rows:
        made.add_row(*(_cell(row[n], width) for n in shown))
    if part.stacks and not part.is_untitled and _least_width(part, shown, width) > room:
        return _stacked(part, shown, width)
    return made


def _least_width(part: d.Table, shown: Sequence[int], width: int) -> int:
    """Return the columns that a table needs: whole numbers, and words broken where possible."""
    least = 2 * (len(shown) - 1)
    for n in shown:
        texts = [glued(part.columns[n].title), *(_cell(row[n], width).plain for row in part.rows)]
        pieces = (
            piece
            for text in texts
            for line in text.split("\n")
            for piece in (line.split(" ") if part.columns[n].may_break else [line])
        )
        least += max(map(cell_len, pieces))
    return least


def _stacked(part: d.Table, shown: Sequence[int], width: int) -> RenderableType:
    """Return each row as a paragraph if its numbers do not fit in one line."""
    return _marked(("-", _paragraph(part, shown, row, width)) for row in part.rows)


def _paragraph(part: d.Table, shown: Sequence[int], row: Sequence[str | d.Cell], width: int) -> Text:
    first, *others = shown
    line = Text.assemble((_cell(row[first], width).plain, "bold"))
    mark = ": "
    for n in others:
        cell = _cell(row[n], width)
        if cell.plain:
            title = part.columns[n].title
            name = f"{title} " if part.columns[n].is_number and title[:1] != "$" else ""
            unit = f" {title.removeprefix('$ ')}" if title[:1] == "$" else ""
            line.append(f"{mark}{name}").append_text(cell).append(unit)
            mark = "; "
    return line


def _cell(cell: str | d.Cell, width: int) -> Text:
    if isinstance(cell, str):
        return styled(_plain_lines(cell))
    is_brief = cell.brief is not None and width < cell.brief_below
    shown = cell.brief if is_brief and cell.brief is not None else cell.text
    value = Text(glued(_plain_lines(shown)), style=_TONES[cell.tone])
    return Text.assemble(value, ("\n" + glued(words.plain(cell.note)), "dim")) if cell.note else value


def _plain_lines(text: str) -> str:
    """Return the text without control characters; a cell may have several lines."""
    return "\n".join(map(words.plain_code, text.split("\n")))


def _diff(part: d.Diff, width: int) -> RenderableType:
    text = Text(no_wrap=True, overflow="ellipsis")
    for row in part.rows:
        line = f"{row.sign} {row.text.expandtabs(4)}"
        text.append(f"{_cut(words.plain_code(line), width)}\n", style=_SIGNS[row.sign])
    if part.more:
        text.append(f"{words.plain(part.more)}\n")
    return Padding(text, (1, 0, 0, 0))


def _verbatim(lines: Sequence[str], indent: int) -> RenderableType:
    # A frame around it would cut what is too long; a console that is handed a bare text forgets that it
    # must not be folded.
    shown = "\n".join(f"{' ' * indent}{words.plain_code(line)}".rstrip() for line in lines)
    return Group(Text(shown, no_wrap=True, overflow="ignore"))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"
