"""The document of a comparison: the result for the limit, the differences, and the caveats."""

from collections.abc import Iterable, Iterator

from plimsoll.model.comparison import Comparison, LimitsOutcome
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.compare.outline import (
    BADGES,
    NOTHING_CHANGED,
    ComparedRow,
    CompareOutline,
    HeadroomRow,
    compare_outline,
)
from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Command,
    Document,
    Facts,
    Paragraph,
    Part,
    Section,
    Table,
    Tone,
    bullets_of,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS

# Below this a terminal leaves differences out, which the reader can see from the sides.
_NARROW = 76
# From this width on, names of limits are written in full, and times have a column of differences.
_WIDE = 100

_OUTCOMES = {
    LimitsOutcome.BETTER: Tone.GOOD,
    LimitsOutcome.SAME: Tone.PLAIN,
    LimitsOutcome.WORSE: Tone.BAD,
    LimitsOutcome.UNKNOWN: Tone.UNKNOWN,
}
_VERDICTS = {Verdict.BINDS: Tone.BAD, Verdict.NEAR: Tone.NEAR, Verdict.SLACK: Tone.GOOD, Verdict.UNKNOWN: Tone.UNKNOWN}
_NAME = Column(title="")


def compare_document(comparison: Comparison) -> Document:
    """Return the document of a comparison."""
    outline = compare_outline(comparison)
    return Document(
        kind="comparison",
        headline=outline.headline,
        tone=_OUTCOMES[outline.outcome],
        simulated=outline.simulated,
        parts=(*_step(outline), *_parts(outline)),
        topic=Topic.COMPARISON,
    )


def _step(outline: CompareOutline) -> Iterator[Part]:
    """Yield whether the step was enough, and the next command."""
    if outline.step:
        yield Paragraph(text=outline.step)
    if outline.next_command:
        yield Command(line=outline.next_command)
    yield Facts(facts=outline.sides)


def _parts(outline: CompareOutline) -> Iterator[Part]:
    bought = tuple((row.name, row.before, row.after) for row in outline.bought)
    changed: Part = bullets_of([NOTHING_CHANGED])
    if bought:
        sides = (Column(title="Before", may_break=False), Column(title="After", may_break=False))
        changed = Table(columns=(_NAME, *sides), rows=bought)
    yield Section(title="What changed", parts=(changed,))
    yield Section(
        title=f"Time at ceilings: {BADGES[outline.outcome]}",
        parts=(_times(outline), Facts(facts=outline.bounds, are_sentences=True)),
    )
    for section in outline.sections:
        yield Section(title=section.title, parts=(_numbers(section.rows),))
    if outline.ceilings:
        yield Section(title="Ceilings", parts=(_ceilings(outline.ceilings),))
    if outline.headroom:
        yield Section(title="Headroom", parts=(_headroom(outline.headroom),))
    if outline.unknown:
        unknown = Facts(facts=outline.unknown, are_sentences=True)
        yield Section(title="Not compared", parts=(unknown,))
    if outline.caveats:
        yield Section(title="Caveats", parts=(bullets_of(outline.caveats),))


def _times(outline: CompareOutline) -> Table:
    """Return the verdict and the time at each ceiling."""
    verdicts = ("verdict", *map(_verdict, outline.verdicts), "")
    rows = ((_limit(row), row.before, row.after, row.difference) for row in outline.time_at)
    columns = (_NAME, *_numeric("Before", "After"), _number("Difference", _WIDE))
    return Table(columns=columns, rows=(verdicts, *rows))


def _numbers(rows: Iterable[ComparedRow]) -> Table:
    """
    Return the numbers of both sides with their difference, absolute and in percent.

    A ticket may quote one row, so each has the whole name of what it counts; a terminal says it once.
    """
    cells: list[tuple[str | Cell, ...]] = []
    name = parent = ""
    for row in rows:
        if row.name.startswith(" "):
            name = f"{parent}, {row.name.strip()}"
        elif row.name:
            name = parent = row.name
        first = Cell(name, brief=row.name)
        cells.append((first, row.statistic, row.before, row.after, row.difference, row.percent))
    columns = (_NAME, Column(title="", may_break=False), *_numeric("Before", "After"))
    last = (_number("Difference", _NARROW), _number("", _NARROW))
    return Table(columns=(*columns, *last), rows=tuple(cells))


def _ceilings(rows: Iterable[ComparedRow]) -> Table:
    cells = ((_limit(row), row.before, row.after, row.difference, row.percent) for row in rows)
    last = (_number("Difference", _NARROW), _number("", _NARROW))
    return Table(columns=(_NAME, *_numeric("Before", "After"), *last), rows=tuple(cells))


def _headroom(rows: Iterable[HeadroomRow]) -> Table:
    cells = (
        (row.name, _verdict(row.verdict_before), row.before, _verdict(row.verdict_after), row.after) for row in rows
    )
    verdict = Column(title="Before", may_break=False)
    columns = (_NAME, verdict, *_numeric("Headroom", "After", "Headroom"))
    return Table(columns=columns, rows=tuple(cells))


def _numeric(*titles: str) -> tuple[Column, ...]:
    return tuple(_number(title) for title in titles)


def _number(title: str, from_width: int = 0) -> Column:
    return Column(title=title, is_number=True, may_break=False, from_width=from_width)


def _limit(row: ComparedRow) -> Cell:
    return Cell(row.name, brief=row.short_name or None, brief_below=_WIDE)


def _verdict(verdict: Verdict | None) -> str | Cell:
    if verdict is None:
        return "–"
    sign, word = VERDICT_SIGNS[verdict], VERDICT_WORDS[verdict]
    loud = f"{sign} {word.upper()}" if verdict is Verdict.BINDS else None
    return Cell(f"{sign} {word}", tone=_VERDICTS[verdict], brief=loud)
