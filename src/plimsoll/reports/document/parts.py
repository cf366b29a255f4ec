"""
A report as one value: its content and order, before it is text, Markdown or a page.

A report is written once, as a `Document`; `text`, `markdown` and `page`
give it a form. Nothing in a document knows columns, escapes or tags.

Rule 1: a verdict is a word and a sign, never a colour alone; a `Tone` only repeats what the text says.
Rule 2: text from outside stands in it as it came; each form takes care of what it must not mean there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.facts import Fact

NEVER = 1_000_000
"""Of `Column.from_width`: a column for pages and tickets, where rows may be long."""


class Tone(StrEnum):
    """The state of a text: a colour in a terminal and on a page, nothing in Markdown."""

    PLAIN = "plain"
    GOOD = "good"
    NEAR = "near"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table with more than plain text."""

    text: str
    tone: Tone = Tone.PLAIN
    note: str = ""
    """A remark below it."""
    brief: str | None = None
    """What terminals show instead: an indent or nothing, where the rows above tell the rest."""
    brief_below: int = 10_000
    """Columns from which a terminal has room for the whole text."""
    share: float | None = None
    """What a page draws as a bar instead of the text, 0–1; a longer one is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = False
    """Numbers stand right, one below the other."""
    may_break: bool = True
    """Whether its cells may go over several lines in a terminal."""
    from_width: int = 0
    """Terminals with fewer columns leave it out, because the others imply it; `NEVER` is in no terminal."""
    is_cut: bool = False
    """A terminal shows as much of each cell as fits in one line; JSON and pages have the whole."""
    leaves: int = 0
    """Rank in which it is left out where not all columns fit a terminal; 0 for never."""
    least: int = 0
    """Columns of a terminal to which its words may be narrowed; 0 for not at all."""
    legend: str = ""
    """A sentence below the table that explains it."""
    names_row: bool = False
    """Whether it names the rows; by default the first does, or the one after a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One paragraph, or one line of a list without a mark."""

    form: ClassVar[str] = "paragraph"
    text: str
    lead: str = ""
    """A sentence before the text, in bold on a page."""
    tone: Tone = Tone.PLAIN
    weight: Literal["plain", "quiet", "strong"] = "plain"
    is_cut: bool = False
    """A terminal shows as much of it as fits in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names with their values: side by side where values are short, a paragraph each where not."""

    form: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]
    are_sentences: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A paragraph after a name: `Wrong if: …`."""

    form: ClassVar[str] = "remark"
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """An item of a list with what to do about it."""

    text: str
    lead: str = ""
    """A sentence before the text, in bold on a page."""
    moves: tuple[str, ...] = ()
    topic: Topic | None = None
    """What explains it at the end of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list with dashes, with numbers, or with arrows for actions."""

    form: ClassVar[str] = "bullets"
    items: tuple[str | Advice, ...]
    is_numbered: bool = False
    are_moves: bool = False
    on_page: tuple[str, ...] = ()
    """All items, where `items` are the most important of many."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Return the items, each with what to do about it."""
        return tuple(Advice(text=item) if isinstance(item, str) else item for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells below the titles of their columns; each row has a cell for each column."""

    form: ClassVar[str] = "table"
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    stacks: bool = False
    """Whether a phone shows each row as a list of names with values; for wide tables."""
    remarks: tuple[str, ...] = ()
    """A text for each row, shown below it; empty if no row has one."""
    spans: tuple[tuple[int, int], ...] = ()
    """The time of each row, epoch seconds, which a page can show in its chart; empty if rows have none."""
    gap: int = 2
    """Blanks between the columns of a terminal."""
    is_untitled: bool = False
    """Whether a terminal leaves out the titles of its columns."""

    @property
    def head(self) -> int:
        """Return the column that names the row."""
        named = [n for n, column in enumerate(self.columns) if column.names_row]
        return named[0] if named else int(self.columns[0].title == "#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines to copy unchanged: SQL, settings, a program."""

    form: ClassVar[str] = "code"
    lines: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One shell line; a terminal breaks it where a shell allows."""

    form: ClassVar[str] = "command"
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    """A line that is new (`+`), gone (`-`) or unchanged (a space)."""

    sign: Literal["+", "-", " "]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What changed between two texts, line by line; a terminal cuts lines that are too long."""

    form: ClassVar[str] = "diff"
    rows: tuple[DiffRow, ...]
    more: str = ""
    """What is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChart:
    """A chart that the script of a page draws again, to point at and to zoom."""

    svg: str
    """The drawing without scripts."""
    data: str
    """What the script reads, as JSON that cannot end its element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart: characters in a terminal and in Markdown, a drawing on a page."""

    form: ClassVar[str] = "picture"
    characters: Callable[[int], Sequence[str]] | None
    """Its lines in so many columns."""
    spec: Callable[[int], Spec] | None
    """Its Vega-Lite specification, so many pixels wide."""
    caption: str = ""
    live: Callable[[], LiveChart | None] | None = None
    """The same as a chart to zoom, of which a page has one, below the title `Timeline`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Parts below a title; a section without parts is not shown."""

    form: ClassVar[str] = "section"
    title: str
    parts: tuple["Part", ...]
    topic: Topic | None = None
    """What explains it at the end of a page."""
    is_dense: bool = False
    """Whether a terminal has no blank lines around its tables."""
    is_lead: bool = False
    """Whether it stands out on a page, because it is what to do."""
    in_text: bool = True
    """Whether a terminal has it; not what is looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One of several things of a kind: a cause, an option, a finding, a statement."""

    form: ClassVar[str] = "card"
    title: str
    number: str = ""
    verdict: str = ""
    """Its sign and word: `▲ critical`."""
    tone: Tone = Tone.PLAIN
    parts: tuple["Part", ...] = ()
    is_cut: bool = False
    """A terminal shows as much of its title as fits in one line."""
    topic: Topic | None = None
    """What explains it at the end of a page."""


Part = Paragraph | Remark | Facts | Bullets | Table | Code | Command | Diff | Picture | Section | Card


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report, independent of its form."""

    kind: str
    """What stands beside the name of the program at the head of a page: `comparison`."""
    headline: str
    """One sentence that answers the question of the command."""
    badge: str = ""
    """The verdict in two or three words, above the headline of a page."""
    figures: tuple[Fact, ...] = ()
    """The few numbers that carry the verdict, below the headline of a page; the first matters most."""
    tone: Tone = Tone.PLAIN
    simulated: tuple[str, ...] = ()
    """A note for each simulated source of data; an empty note if there is no description of it."""
    parts: tuple[Part, ...] = ()
    topic: Topic | None = None
    """What explains the whole at the end of a page."""
    is_wide: bool = False
    """Whether its table needs more columns than others: at least 60, by default 100."""


def facts_of(named: Sequence[tuple[str, str]], *, are_sentences: bool = False) -> Facts:
    """Return names and values as a part."""
    return Facts(facts=tuple(Fact(*pair) for pair in named), are_sentences=are_sentences)


def bullets_of(items: Sequence[str], *, is_numbered: bool = False) -> Bullets:
    """Return sentences as a list."""
    return Bullets(items=tuple(items), is_numbered=is_numbered)
