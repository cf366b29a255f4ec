"""
A report in at most twelve lines: a title, and a few named facts.

Rule 1: it never has more than `LINES_MAX` lines, and no line is wider than asked.
Rule 2: where a text is cut, it ends with an ellipsis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import GLUE, columns_of, glued, rendered

LINES_MAX = 12
"""As many lines as people read at a glance; the smallest common terminal has 24."""
WIDTH_MIN, WIDTH_MAX = 40, 120

_SIMULATED = "SIMULATED DATA"
# Of a title, so that a long name leaves room for the facts; and columns between a name and its value.
_TITLE_LINES = 3
_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The content of a brief report."""

    title: str
    """The verdict with its sign and the name of the instance."""
    style: str
    """Style of the title, which adds nothing to its words."""
    is_simulated: bool
    rows: tuple[Fact, ...]
    """At most eight, the most important first."""


def brief_text(brief: Brief, *, width: int | None, color: bool) -> str:
    """
    Return a brief report as text that ends with a newline.

    Args:
        brief: what it says.
        width: columns, at least 40; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    width = columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    return rendered(brief_lines(brief, width), width=width, color=color)


def brief_lines(brief: Brief, width: int) -> list[Text]:
    """Return the lines of a brief report, each at most `width` columns wide."""
    label_width = max((len(row.name) for row in brief.rows), default=0) + _GAP
    title = _wrapped(brief.title, width)[:_TITLE_LINES]
    lines = [Text(line, style=brief.style) for line in title]
    if brief.is_simulated:
        lines.append(Text(_SIMULATED, style="bold reverse"))
    values = [_wrapped(row.value, width - label_width) for row in brief.rows]
    kept = lines_kept([len(value) for value in values], LINES_MAX - len(lines))
    for row, value, count in zip(brief.rows, values, kept, strict=True):
        for index, line in enumerate(_cut(value, count, width - label_width)):
            name = row.name if index == 0 else ""
            lines.append(Text.assemble((name.ljust(label_width), "dim"), line))
    return lines


def lines_kept(counts: Sequence[int], lines_max: int) -> list[int]:
    """
    Return how many lines of each text are kept, so that all fit in `lines_max`.

    The longest text loses a line first; of equal ones, the last. Each keeps at least one line.
    """
    kept = list(counts)
    while sum(kept) > lines_max and max(kept) > 1:
        longest = max(kept)
        kept[len(kept) - 1 - kept[::-1].index(longest)] -= 1
    return kept


def _wrapped(text: str, width: int) -> list[str]:
    console = Console(width=width, _environ={})
    lines = Text(glued(text)).wrap(console, width)
    return [line.plain.replace(GLUE, " ").rstrip() for line in lines]


def _cut(lines: list[str], count: int, width: int) -> list[str]:
    """Return the first lines; the last one ends with an ellipsis if more followed."""
    if len(lines) <= count:
        return lines
    last = Text(f"{lines[count - 1].rstrip(' .,;:')} …")
    last.truncate(width, overflow="ellipsis")
    return [*lines[: count - 1], last.plain]
