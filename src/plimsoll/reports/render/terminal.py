"""Parts shared by all terminal reports: console, headings, lists, and colours of verdicts."""

from collections.abc import Sequence
from io import StringIO
from shutil import get_terminal_size

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.render.words import kept_together

# Rich breaks lines at every kind of space, so what is kept together is joined by this private
# character until the lines are made.
GLUE = "\ue000"

STYLES = {Verdict.BINDS: "bold red", Verdict.NEAR: "yellow", Verdict.SLACK: "green", Verdict.UNKNOWN: "magenta"}


def columns_of(width: int | None, *, least: int, most: int, piped: int = 80) -> int:
    """
    Return the columns of a report.

    Args:
        width: as the user asked; None takes the terminal's.
        least: fewer are taken as this.
        most: a wider terminal keeps a margin; what the user asked for is not narrowed.
        piped: where there is no terminal.
    """
    if width is None:
        width = min(get_terminal_size((piped, 24)).columns, most)
    return max(width, least)


def rendered(parts: Sequence[RenderableType], *, width: int, color: bool) -> str:
    """Return the parts as text that ends with a newline; no line ends with a space."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    for part in parts:
        # Every part keeps to the width by itself; only a text that must stay whole does not.
        console.print(part, crop=False)
    # Tables pad their last column; a line ends where its text ends.
    lines = out.getvalue().replace(GLUE, " ").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def glued(text: str) -> str:
    """Return the text with its numbers joined to their units."""
    return kept_together(text, GLUE)


def styled(text: str, style: str = "") -> Text:
    """Return a paragraph in which no number is separated from its unit."""
    return Text(glued(text), style=style)


def heading(title: str) -> RenderableType:
    """Return the title of a section, after an empty line."""
    return Padding(Text(title.upper(), style="bold"), (1, 0, 0, 0))


def bullets(items: Sequence[str | Text], *, numbered: bool = False) -> RenderableType:
    """Return one paragraph each, with a dash or a number."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for index, item in enumerate(items, start=1):
        text = styled(item) if isinstance(item, str) else item
        grid.add_row(f"{index}." if numbered else "-", text)
    return indented(grid)


def pairs(facts: Sequence[tuple[str, str]]) -> RenderableType:
    """Return names with their values, in two columns."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in facts:
        grid.add_row(Text(name, style="dim"), styled(value))
    return indented(grid)


def indented(what: RenderableType) -> RenderableType:
    """Return the part two columns from the left."""
    return Padding(what, (0, 0, 0, 2))
