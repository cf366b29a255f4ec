"""Many instances as a document: the most urgent first, one row each, then who could not be judged."""

from collections.abc import Iterator, Sequence

from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import Overview
from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Document,
    Facts,
    Paragraph,
    Part,
    Section,
    Table,
    Tone,
    facts_of,
)
from plimsoll.reports.overview.outline import (
    NOTHING,
    Group,
    OverviewRowText,
    OverviewText,
    folded_name,
    overview_outline,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import VERDICT_SIGNS

TONES = {Verdict.BINDS: Tone.BAD, Verdict.NEAR: Tone.NEAR, Verdict.SLACK: Tone.GOOD, Verdict.UNKNOWN: Tone.UNKNOWN}

# If the terminal is too narrow, columns are dropped: first those that others imply, then facts to look up.
_COLUMNS = (
    Column(title="#", is_number=True, leaves=4),
    Column(title="Instance", least=16),
    Column(title="Class", leaves=3),
    Column(title="Engine and storage", leaves=1),
    Column(title="Verdict"),
    # The name of a limit is on one line, its number on the next.
    Column(title="Limit, or nearest", least=24, legend="Percentages: peak of the nearest resource, of its ceiling."),
    Column(title="At it", is_number=True, leaves=6),
    Column(title="Share", is_number=True, leaves=2, legend="Share: of the time measured."),
    Column(
        title="Credits",
        least=10,
        leaves=5,
        legend=f"Credits: the lowest balance, and when it is empty at the present rate; {NOTHING}: none below 100 %.",
    ),
)


def overview_document(overview: Overview, *, lists_all: bool = False) -> Document:
    """
    Return the document of many instances.

    Args:
        overview: many instances, ranked.
        lists_all: whether every instance gets a row; without it those that are not near a limit are
            listed by name.
    """
    outline = overview_outline(overview)
    return Document(
        kind="overview",
        headline=outline.headline,
        tone=TONES[outline.worst],
        simulated=(outline.simulated,) if outline.simulated else (),
        parts=tuple(_parts(outline, lists_all=lists_all)),
        topic=Topic.OVERVIEW,
        is_wide=True,
    )


def _parts(outline: OverviewText, *, lists_all: bool) -> Iterator[Part]:
    if outline.stopped:
        yield Paragraph(text=outline.stopped, tone=Tone.UNKNOWN)
    shown = [r for r in outline.rows if lists_all or r.verdict in (Verdict.BINDS, Verdict.NEAR)]
    if shown:
        yield Section(title="Instances", parts=(_table(shown),))
    yield _groups("Could not be judged", outline.unknown)
    yield _groups("Could not be read", outline.unread)
    if outline.failed:
        yield Section(title="Read only in part", parts=(_group_facts(outline.failed),))
    folded = [folded_name(r) for r in outline.rows if r.verdict is Verdict.SLACK and r not in shown]
    if folded:
        names = Paragraph(text=", ".join(sorted(folded)))
        yield Section(title=f"Not near a limit: {len(folded)}", parts=(names,))
    yield Section(title="How it was measured", parts=(facts_of(outline.measured),))


def _table(rows: Sequence[OverviewRowText]) -> Table:
    return Table(
        columns=_COLUMNS,
        rows=tuple(_cells(row) for row in rows),
        remarks=tuple("; ".join(row.notes) for row in rows),
        stacks=True,
    )


def _cells(row: OverviewRowText) -> tuple[str | Cell, ...]:
    word = row.word.upper() if row.verdict is Verdict.BINDS else row.word
    return (
        *(str(row.rank), row.name, row.db_class, f"{row.engine}; {row.storage}"),
        Cell(f"{VERDICT_SIGNS[row.verdict]} {word}", TONES[row.verdict]),
        *(row.limit, row.time_at, row.share, row.credits),
    )


def _groups(title: str, groups: Sequence[Group]) -> Section:
    count = sum(len(group.names) for group in groups)
    return Section(title=f"{title}: {count}", parts=(_group_facts(groups),) if groups else ())


def _group_facts(groups: Sequence[Group]) -> Facts:
    facts = [(g.reason, f"{', '.join(g.names)}. {g.remedy}".strip()) for g in groups]
    return facts_of(facts, are_sentences=True)
