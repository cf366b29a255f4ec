"""
The report for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every verdict is a word and a sign, never a colour alone.
Rule 2: no line is longer than `width`; without colour there is no escape sequence in the text.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.cause import Inspection
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
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    *,
    width: int | None,
    color: bool,
    inspection: Inspection | None = None,
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
    said = outline(diagnosis)
    blocks = timeline_blocks(diagnosis, snapshot, width=width)
    sections = _sections(said, blocks, width, inspection)
    return rendered([*sections], width=width, color=color)


def _sections(
    said: Outline, blocks: list[str], width: int, inspection: Inspection | None
) -> Iterable[RenderableType]:
    yield styled(said.headline, style=STYLES[said.verdict])
    if said.is_simulated:
        note = f" · {said.note}" if said.note else ""
        yield Text.assemble(("SIMULATED DATA", "bold reverse"), glued(note))
    known = [_identified(fact) for fact in said.identity if not _is_told(fact, said.headline)]
    yield styled(" · ".join(known), style="dim")
    if said.is_missing_first:
        yield from _missing(said)
    if said.moves:
        yield heading("What to do first")
        yield bullets(said.moves, numbered=True)
    yield from _why(said)
    if said.causes:
        yield heading("Possible causes")
        yield _facts(said.causes)
    if blocks:
        yield heading("Timeline")
        yield Text("\n".join(blocks), no_wrap=True, overflow="crop")
    yield from _events(said)
    if said.ruled_out:
        yield heading("Ruled out")
        yield _facts(said.ruled_out)
    if said.resources:
        yield heading("Resources")
        yield _resources(said, width)
    if said.intervals:
        yield from _intervals(said, width)
    if said.waiting:
        yield from _waiting(said, width)
    if said.buckets or said.forecasts:
        yield heading("Credits and forecasts")
        yield bullets((*said.forecasts, *said.buckets))
    yield from _also_found(said)
    if inspection is not None:
        yield from part_in_text(causes_section(inspection), width)
    if not said.is_missing_first:
        yield from _missing(said)
    yield heading("How it was measured")
    yield pairs([(f.name, f.value) for f in said.measured])


def _is_told(fact: Fact, headline: str) -> bool:
    """Name and class stand in the headline; another fact may only look like a part of them."""
    return fact.name in ("Instance", "Class") and fact.value in headline


def _identified(fact: Fact) -> str:
    """Return the value alone where it explains itself, otherwise with its name."""
    if fact.name == "Pending":
        return f"pending: {fact.value}"
    if fact.value == "unknown" or fact.name in ("Launched", "Capacity"):
        return f"{fact.name.lower()} {fact.value}"
    return fact.value


def _events(said: Outline) -> Iterable[RenderableType]:
    """Yield each event beside the letter that marks it on the timeline."""
    if not (said.events.rows or said.events.more):
        return
    yield heading("What happened")
    grid = Table.grid(padding=(0, 1, 0, 0))
    for row in said.events.rows:
        told = Text.assemble(
            ("" if row.mark else "before the window: ", "dim"),
            (f"{row.kind}: " if row.kind else "", "bold"),
            glued(row.text),
        )
        grid.add_row(row.mark or "-", Text(row.short_when, no_wrap=True), told)
    if said.events.rows:
        yield indented(grid)
    if said.events.more:
        yield indented(styled(said.events.more))


def _missing(said: Outline) -> Iterable[RenderableType]:
    if said.missing:
        yield heading("Not known")
        yield _facts(said.missing)


def _facts(facts: Sequence[Fact]) -> RenderableType:
    """Name and sentence in one paragraph each."""
    return bullets([_fact(fact) for fact in facts])


def _fact(fact: Fact) -> Text:
    return Text.assemble((glued(fact.name), "bold"), ": ", glued(fact.value))


def _why(said: Outline) -> Iterable[RenderableType]:
    first = said.findings[0] if said.findings else None
    if not (first or said.shown):
        return
    yield heading("Why")
    if first:
        yield indented(styled(f"{first.title} {first.text}"))
    items = list(said.strongest)
    if said.documented:
        row = said.documented
        valid = f", valid {row.valid}" if row.valid else ""
        items.append(f"Documented: {row.name}, {row.value} ({row.source}{valid}).")
    if said.next_ceiling:
        items.append(f"Next ceiling at the same I/O size: {said.next_ceiling}.")
    if said.shown:
        wrong = f". We would be wrong if {said.refuted_by}" if said.refuted_by else ""
        items.append(sentence(f"{sure(said.shown.confidence)}{wrong}"))
    if items:
        yield bullets(items)


def _also_found(said: Outline) -> Iterable[RenderableType]:
    rest = said.findings[1:]
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


def _resources(said: Outline, width: int) -> RenderableType:
    columns = [("Verdict", "left"), ("Resource", "left"), ("Peak", "right"), ("Ceiling", "right")]
    if width >= _NARROW:
        columns.append(("Above 80 %", "right"))
    table = _table(columns)
    for row in said.resources:
        sign, word = VERDICT_SIGNS[row.verdict], VERDICT_WORDS[row.verdict]
        shown = word.upper() if row.verdict is Verdict.BINDS else word
        cells = [
            Text(f"{sign} {shown}", style=STYLES[row.verdict]),
            *map(styled, (row.name, row.peak, row.ceiling)),
        ]
        if width >= _NARROW:
            cells.append(styled(row.above))
        table.add_row(*cells)
    notes = [Fact(row.name, row.note) for row in said.resources if row.note]
    parts: list[RenderableType] = [indented(table)]
    if notes:
        parts.append(_facts(notes))
    return Group(*parts)


def _intervals(said: Outline, width: int) -> Iterable[RenderableType]:
    count, shown = said.interval_count, len(said.intervals)
    which = f"the {shown} longest of {count}" if count > shown else f"{count}"
    noun = "interval" if count == 1 else "intervals"
    yield heading(f"Time at a ceiling: {which} {noun}")
    yield _facts(said.time_at)
    columns = [("When (UTC)", "left"), ("Long", "right"), ("Served", "right"), ("Limit", "left")]
    if width >= _NARROW:
        columns.append(("Sure", "right"))
    table = _table(columns, gap=1)
    remarks = list(dict.fromkeys(row.remark for row in said.intervals if row.remark))
    for row in said.intervals:
        sign = _sign(remarks.index(row.remark)) if row.remark else ""
        cells = [row.short_when, row.duration, row.level, row.short_limit + sign]
        if width >= _NARROW:
            cells.append(row.confidence)
        table.add_row(*map(styled, cells))
    yield indented(table)
    for index, remark in enumerate(remarks):
        yield indented(styled(f"{_sign(index)} {sentence(remark)}"))
    if said.intervals_more:
        yield indented(styled(said.intervals_more))


def _waiting(said: Outline, width: int) -> Iterable[RenderableType]:
    yield heading("Waiting without a known ceiling")
    columns = [(title, "left" if title == "When (UTC)" else "right") for title in COLUMNS]
    # The rate is the one that may be left out of a narrow terminal.
    shown = len(columns) if width >= _NARROW else len(columns) - 1
    table = _table(columns[:shown], gap=1)
    for row in said.waiting:
        cells = (row.short_when, row.waited, row.times, row.latency, row.queue, row.rate)
        table.add_row(*map(styled, cells[:shown]))
    yield indented(table)
    if said.waiting_more:
        yield indented(styled(said.waiting_more))


def _sign(index: int) -> str:
    """Return the raised number of a remark that rows share: `¹`."""
    return str(index + 1).translate(_RAISED)
