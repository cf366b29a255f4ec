"""The document of an inspection: the reads and writes of a database, their causes, and remedies."""

from collections.abc import Iterator

from plimsoll.model.cause import Inspection
from plimsoll.reports.document.parts import (
    Bullets,
    Card,
    Code,
    Document,
    Facts,
    Paragraph,
    Part,
    Remark,
    Section,
    Tone,
    bullets_of,
)
from plimsoll.reports.document.severity import SEVERITY_SIGNS, SEVERITY_TONES
from plimsoll.reports.inspect.outline import NEVER_RUN, CauseCard, InspectionOutline, RemedyRow, inspection_outline


def inspect_document(inspection: Inspection) -> Document:
    """Return the document of an inspection, the largest cause first."""
    outline = inspection_outline(inspection)
    return Document(
        kind="inspection",
        headline=outline.headline,
        tone=SEVERITY_TONES[outline.severity] if outline.severity else Tone.PLAIN,
        parts=(
            Paragraph(text=outline.identity, weight="quiet"),
            Paragraph(text=outline.watched),
            Section(title="What it reads and writes", parts=(Facts(facts=outline.load),)),
            Section(title="Causes", parts=tuple(causes_parts(outline))),
            Section(title="Notes", parts=(bullets_of(outline.notes),) if outline.notes else ()),
            Section(
                title="Not known", parts=(Facts(facts=outline.missing, are_sentences=True),) if outline.missing else ()
            ),
            Section(title="How it was measured", parts=(Facts(facts=outline.measured),)),
        ),
    )


def causes_section(inspection: Inspection) -> Section:
    """Return the same as a section of a diagnosis."""
    outline = inspection_outline(inspection)
    notes = (bullets_of(outline.notes),) if outline.notes else ()
    missing = (Facts(facts=outline.missing, are_sentences=True),) if outline.missing else ()
    return Section(
        title="Causes",
        parts=(
            Paragraph(
                text=outline.headline,
                tone=SEVERITY_TONES[outline.severity] if outline.severity else Tone.PLAIN,
                weight="strong",
            ),
            Paragraph(text=outline.identity, weight="quiet"),
            Paragraph(text=outline.watched),
            Facts(facts=outline.load),
            *causes_parts(outline),
            *notes,
            *missing,
            Paragraph(text=outline.cost),
        ),
    )


def causes_parts(outline: InspectionOutline) -> Iterator[Part]:
    """Yield each cause with its evidence and its remedies."""
    if outline.counted:
        yield Paragraph(text=outline.counted)
    for card in outline.causes:
        yield Card(
            title=card.title,
            number=card.number,
            verdict=f"{SEVERITY_SIGNS[card.severity]} {card.severity}",
            tone=SEVERITY_TONES[card.severity],
            parts=tuple(_cause(card)),
            topic=card.topic,
        )
    if outline.has_commands:
        yield Paragraph(text=NEVER_RUN, weight="strong")


def _cause(card: CauseCard) -> Iterator[Part]:
    if card.size:
        yield Remark(name="Size", text=card.size)
    if card.text:
        yield Paragraph(text=card.text)
    if card.evidence:
        yield bullets_of(card.evidence)
    for remedy in card.remedies:
        yield from _remedy(remedy)
    if card.refuted_by:
        yield Remark(name="Wrong if", text=card.refuted_by)


def _remedy(remedy: RemedyRow) -> Iterator[Part]:
    yield Bullets(items=(remedy.text,), are_moves=True)
    if remedy.commands:
        yield Code(lines=remedy.commands)
    if remedy.expected:
        yield Remark(name="Expected", text=remedy.expected)
