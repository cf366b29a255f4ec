"""A document as GitHub-flavoured Markdown, for a ticket or a pull request: the same content and order."""

import re
from collections.abc import Iterable, Sequence

from plimsoll.reports.document import parts as d
from plimsoll.reports.render import words

_SPECIAL = re.compile(r"([\\`*<>|\[\]~])|(?<!\w)(_)|(_)(?!\w)")
# A code block of a ticket is about this wide before it scrolls.
_BLOCK_WIDTH = 100


def document_markdown(document: d.Document) -> str:
    """Return the document as Markdown that ends with a newline."""
    head = [f"# {_plain(document.headline)}"]
    head += [f"> **Simulated data.** {_plain(note)}".rstrip() for note in document.simulated]
    return _joined([*head, *_parts(document.parts, 2)]) + "\n"


def _parts(parts: Iterable[d.Part], level: int) -> Iterable[str]:
    for part in parts:
        yield _part(part, level)


def _part(part: d.Part, level: int) -> str:
    if isinstance(part, d.Section):
        inside = _joined(_parts(part.parts, level + 1))
        return f"{'#' * level} {_plain(part.title)}\n\n{inside}" if inside else ""
    if isinstance(part, d.Card):
        number = f"{part.number}. " if part.number else ""
        verdict = f"{_plain(part.verdict)}: " if part.verdict else ""
        title = f"{'#' * level} {number}{verdict}{_plain(part.title)}"
        return _joined([title, *_parts(part.parts, level + 1)])
    if isinstance(part, d.Paragraph):
        text = _plain(f"{part.lead} {part.text}")
        return f"**{text}**" if part.weight == "strong" and text else text
    if isinstance(part, d.Remark):
        return f"**{_plain(part.name)}:** {_plain(part.text)}"
    if isinstance(part, d.Facts):
        return "\n".join(f"- **{_plain(f.name)}:** {_plain(f.value)}" for f in part.facts)
    if isinstance(part, d.Bullets):
        return _bullets(part)
    if isinstance(part, d.Table):
        return _table(part)
    return _fenced(part)


def _bullets(part: d.Bullets) -> str:
    if part.are_moves:
        return "\n\n".join(f"**→** {_plain(item.text)}" for item in part.advice)
    lines = []
    for n, item in enumerate(part.advice, start=1):
        lines.append(f"{f'{n}.' if part.is_numbered else '-'} {_plain(f'{item.lead} {item.text}')}")
        lines += [f"  - {_plain(move)}" for move in item.moves]
    return "\n".join(lines)


def _table(part: d.Table) -> str:
    titles = [_plain(c.title.replace("\n", ", ").strip(", ")) for c in part.columns]
    rows = [[_cell(cell) for cell in row] for row in part.rows]
    if any(part.remarks):
        titles.append("Remarks")
        rows = [[*row, _plain(remark)] for row, remark in zip(rows, part.remarks, strict=True)]
    lines = [titles, ["---"] * len(titles), *rows] if rows else []
    legend = " ".join(_plain(column.legend) for column in part.columns if column.legend)
    return _joined(["\n".join(f"| {' | '.join(line)} |" for line in lines), legend])


def _fenced(part: d.Code | d.Command | d.Diff | d.Picture) -> str:
    if isinstance(part, d.Command):
        return _fence([part.line], "sh")
    if isinstance(part, d.Diff):
        more = [part.more] if part.more else []
        return _fence([*(f"{row.sign} {row.text}" for row in part.rows), *more], "diff")
    if isinstance(part, d.Code):
        return _fence(part.lines, part.language)
    lines = part.characters(_BLOCK_WIDTH) if part.characters else ()
    return _fence(lines, "text")


def _fence(lines: Sequence[str], language: str) -> str:
    """Return lines between fences that are longer than any run of backticks in them."""
    if not lines:
        return ""
    lines, mark = [words.plain_code(line) for line in lines], "```"
    while any(mark in line for line in lines):
        mark += "`"
    return "\n".join([f"{mark}{language}", *lines, mark])


def _cell(cell: str | d.Cell) -> str:
    """Return the text of a cell with its lines joined, because a Markdown cell has one line."""
    text = cell if isinstance(cell, str) else "; ".join(filter(None, (cell.text, cell.note)))
    return _plain(text.replace("\n", ", "))


def _plain(text: str) -> str:
    """Return text on one line in which nothing that came from outside is Markdown or HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", words.plain(text))


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)
