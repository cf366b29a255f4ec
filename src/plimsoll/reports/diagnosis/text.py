"""
The report for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every verdict is a word and a sign, never a colour alone.
Rule 2: no line is longer than `width`; without colour there is no escape sequence in the text.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.cause import Inspection
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.outline import Outline, outline
from plimsoll.reports.diagnosis.waiting import COLUMNS
from plimsoll.reports.document.text import part_in_text
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.render.facts import Fact
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
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS, sentence, sure

# Below this the words of a table would break.
WIDTH_MIN = 40
# Lines longer than this are hard to read back; wider terminals keep a margin.
WIDTH_MAX = 120
# Below this a table keeps only the columns that carry the verdict.
_NARROW = 76

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_text(
    diagnosis: Diagnosis, snapshot: Snapshot, *, width: int | None, color: bool, inspection: Inspection | None = None
) -> str:
    """
    Render the report as text that ends with a newline.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in, for the timeline.
        width: columns, at least 40; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
        inspection: what inside the database spends it, for a section of its own; None leaves it out.
    """
    width = columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    content = outline(diagnosis)
    draw = partial(timeline_blocks, diagnosis, snapshot, width=width)
    blocks = guarded("the timeline", draw, [])
    sections = _sections(content, blocks, width, inspection)
    return rendered([*sections], width=width, color=color)


def _sections(
    content: Outline, blocks: list[str], width: int, inspection: Inspection | None
) -> Iterable[RenderableType]:
    yield styled(content.headline, style=STYLES[content.verdict])
    if content.is_simulated:
        note = f" · {content.note}" if content.note else ""
        yield Text.assemble(("SIMULATED DATA", "bold reverse"), glued(note))
    known = [_identified(fact) for fact in content.identity if not _is_in_headline(fact, content.headline)]
    yield styled(" · ".join(known), style="dim")
    if content.is_missing_first:
        yield from _missing(content)
    if content.moves:
        yield heading("What to do first")
        yield bullets(content.moves, numbered=True)
    yield from _why(content)
    if content.causes:
        yield heading("Possible causes")
        yield _facts(content.causes)
    if content.statements:
        yield from part_in_text(content.statements, width)
    if blocks:
        yield heading("Timeline")
        yield Text("\n".join(blocks), no_wrap=True, overflow="crop")
    yield from _events(content)
    if content.own_events:
        yield from part_in_text(content.own_events, width)
    if content.ruled_out:
        yield heading("Ruled out")
        yield _facts(content.ruled_out)
    if content.resources:
        yield heading("Resources")
        yield _resources(content, width)
    if content.intervals:
        yield from _intervals(content, width)
    if content.waiting:
        yield from _waiting(content, width)
    if content.buckets or content.forecasts:
        yield heading("Credits and forecasts")
        yield bullets((*content.forecasts, *content.buckets))
    yield from _also_found(content)
    if inspection is not None:
        yield from guarded("causes", lambda: [*part_in_text(causes_section(inspection), width)], ())
    if not content.is_missing_first:
        yield from _missing(content)
    yield heading("How it was measured")
    yield pairs([(f.name, f.value) for f in content.measured])


def _is_in_headline(fact: Fact, headline: str) -> bool:
    """Name and class stand in the headline; another fact may only look like a part of them."""
    return fact.name in ("Instance", "Class") and fact.value in headline


def _identified(fact: Fact) -> str:
    """Return the value alone if it needs no name, otherwise with its name."""
    if fact.name == "Pending":
        return f"pending: {fact.value}"
    if fact.value == "unknown" or fact.name in ("Launched", "Capacity"):
        return f"{fact.name.lower()} {fact.value}"
    return fact.value


def _events(content: Outline) -> Iterable[RenderableType]:
    """Yield the events with the letters that mark them on the timeline."""
    if not (content.events.rows or content.events.more):
        return
    yield heading("What happened")
    grid = Table.grid(padding=(0, 1, 0, 0))
    for row in content.events.rows:
        line = Text.assemble(
            ("" if row.mark else "before the window: ", "dim"),
            (f"{row.kind}: " if row.kind else "", "bold"),
            glued(row.text),
        )
        grid.add_row(row.mark or "-", Text(row.short_when, no_wrap=True), line)
    if content.events.rows:
        yield indented(grid)
    if content.events.more:
        yield indented(styled(content.events.more))


def _missing(content: Outline) -> Iterable[RenderableType]:
    if content.missing:
        yield heading("Not known")
        yield _facts(content.missing)


def _facts(facts: Sequence[Fact]) -> RenderableType:
    """Return facts as paragraphs of a name and a sentence."""
    return bullets([_fact(fact) for fact in facts])


def _fact(fact: Fact) -> Text:
    return Text.assemble((glued(fact.name), "bold"), ": ", glued(fact.value))


def _why(content: Outline) -> Iterable[RenderableType]:
    first = content.findings[0] if content.findings else None
    if not (first or content.shown):
        return
    yield heading("Why")
    if first:
        yield indented(styled(f"{first.title} {first.text}"))
    items = list(content.strongest)
    if content.documented:
        row = content.documented
        valid = f", valid {row.valid}" if row.valid else ""
        items.append(f"Documented: {row.name}, {row.value} ({row.source}{valid}).")
    if content.next_ceiling:
        items.append(f"Next ceiling at the same I/O size: {content.next_ceiling}.")
    if content.shown:
        wrong = f". We would be wrong if {content.refuted_by}" if content.refuted_by else ""
        items.append(sentence(f"{sure(content.shown.confidence)}{wrong}"))
    if items:
        yield bullets(items)


def _also_found(content: Outline) -> Iterable[RenderableType]:
    rest = content.findings[1:]
    if not rest:
        return
    yield heading("Also found")
    grid = Table.grid(padding=(0, 1, 0, 0))
    for finding in rest:
        grid.add_row("-", styled(f"{finding.title} {finding.text}"))
        for move in finding.moves:
            grid.add_row("", styled(f"→ {move}"))
    yield indented(grid)


def _table(columns: Sequence[tuple[str, str]], *, gap: int = 2) -> Table:
    """Return a table without a frame; each column has a title and `left` or `right`."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for title, justify in columns:
        side: JustifyMethod = "right" if justify == "right" else "left"
        table.add_column(title, justify=side, overflow="fold")
    return table


def _resources(content: Outline, width: int) -> RenderableType:
    columns = [("Verdict", "left"), ("Resource", "left"), ("Peak", "right"), ("Ceiling", "right")]
    if width >= _NARROW:
        columns.append(("Above 80 %", "right"))
    table = _table(columns)
    for row in content.resources:
        sign, word = VERDICT_SIGNS[row.verdict], VERDICT_WORDS[row.verdict]
        shown = word.upper() if row.verdict is Verdict.BINDS else word
        cells = [Text(f"{sign} {shown}", style=STYLES[row.verdict]), *map(styled, (row.name, row.peak, row.ceiling))]
        if width >= _NARROW:
            cells.append(styled(row.above))
        table.add_row(*cells)
    notes = [Fact(row.name, row.note) for row in content.resources if row.note]
    parts: list[RenderableType] = [indented(table)]
    if notes:
        parts.append(_facts(notes))
    return Group(*parts)


def _intervals(content: Outline, width: int) -> Iterable[RenderableType]:
    count, shown = content.interval_count, len(content.intervals)
    which = f"the {shown} longest of {count}" if count > shown else f"{count}"
    noun = "interval" if count == 1 else "intervals"
    yield heading(f"Time at a ceiling: {which} {noun}")
    yield _facts(content.time_at)
    columns = [("When (UTC)", "left"), ("Long", "right"), ("Served", "right"), ("Limit", "left")]
    if width >= _NARROW:
        columns.append(("Sure", "right"))
    table = _table(columns, gap=1)
    remarks = list(dict.fromkeys(row.remark for row in content.intervals if row.remark))
    for row in content.intervals:
        sign = _sign(remarks.index(row.remark)) if row.remark else ""
        cells = [row.short_when, row.duration, row.level, row.short_limit + sign]
        if width >= _NARROW:
            cells.append(row.confidence)
        table.add_row(*map(styled, cells))
    yield indented(table)
    for index, remark in enumerate(remarks):
        yield indented(styled(f"{_sign(index)} {sentence(remark)}"))
    if content.intervals_more:
        yield indented(styled(content.intervals_more))


def _waiting(content: Outline, width: int) -> Iterable[RenderableType]:
    yield heading("Waiting without a known ceiling")
    columns = [(title, "left" if title == "When (UTC)" else "right") for title in COLUMNS]
    # The rate is the one that may be left out of a narrow terminal.
    shown = len(columns) if width >= _NARROW else len(columns) - 1
    table = _table(columns[:shown], gap=1)
    for row in content.waiting:
        cells = (row.short_when, row.waited, row.times, row.latency, row.queue, row.rate)
        table.add_row(*map(styled, cells[:shown]))
    yield indented(table)
    if content.waiting_more:
        yield indented(styled(content.waiting_more))


def _sign(index: int) -> str:
    """Return the raised number of a remark that rows share: `¹`."""
    return str(index + 1).translate(_RAISED)
