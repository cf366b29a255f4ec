"""
The document of findings on a pooler's settings.

Rule: every finding has its number, its reason, its sources, the exact setting and what would refute it.
"""

from collections.abc import Iterator

from plimsoll.model.cause import Cause
from plimsoll.model.lint import PoolerFindings
from plimsoll.reports.document.parts import (
    Bullets,
    Card,
    Code,
    Document,
    Paragraph,
    Part,
    Remark,
    Section,
    Tone,
    bullets_of,
)
from plimsoll.reports.document.severity import SEVERITY_SIGNS, SEVERITY_TONES
from plimsoll.reports.render.explanations import topic_of_cause
from plimsoll.reports.render.words import sentence

_PRODUCTS = {"pgpool": "Pgpool-II", "pgbouncer": "PgBouncer"}


def lint_document(found: PoolerFindings) -> Document:
    """Return the document of the findings, the most severe first."""
    config = found.config
    return Document(
        kind="lint",
        headline=_headline(found),
        tone=SEVERITY_TONES[found.causes[0].severity] if found.causes else Tone.GOOD,
        parts=(
            Paragraph(
                text=f"{_PRODUCTS[config.kind]} · {config.version or 'version not known'} · {config.place}",
                weight="quiet",
            ),
            *(_card(cause, n) for n, cause in enumerate(found.causes, start=1)),
            Section(
                title="Not checked",
                parts=(bullets_of([sentence(note) for note in found.notes]),) if found.notes else (),
            ),
        ),
    )


def _headline(found: PoolerFindings) -> str:
    counts = {level: sum(c.severity == level for c in found.causes) for level in SEVERITY_SIGNS}
    listed = ", ".join(f"{count} {_plural(level, count)}" for level, count in counts.items() if count)
    return f"{listed or 'Nothing found'}."


def _plural(level: str, count: int) -> str:
    return level if level == "critical" or count == 1 else f"{level}s"


def _card(cause: Cause, number: int) -> Card:
    return Card(
        title=cause.title,
        number=str(number),
        verdict=f"{SEVERITY_SIGNS[cause.severity]} {cause.severity}",
        tone=SEVERITY_TONES[cause.severity],
        parts=tuple(_parts_of(cause)),
        topic=topic_of_cause(cause.kind),
    )


def _parts_of(cause: Cause) -> Iterator[Part]:
    yield Paragraph(text=cause.text)
    if cause.evidence:
        yield Bullets(items=tuple(piece.text for piece in cause.evidence))
    for remedy in cause.remedies:
        yield Bullets(items=(remedy.text,), are_moves=True)
        if remedy.commands:
            yield Code(lines=remedy.commands)
        if remedy.expected:
            yield Remark(name="Expected", text=remedy.expected)
    if cause.refuted_by:
        yield Remark(name="Wrong if", text=cause.refuted_by)
