"""
The document of findings on declared databases.

Rule: every finding has its number, its price if there is one, the documented fact with its source, and whether
the change introduces it.
"""

from collections.abc import Iterator

from plimsoll.model.infrastructure import ChangeEffect, DeclaredFinding, InfrastructureFindings
from plimsoll.reports.document.parts import Bullets, Card, Document, Paragraph, Part, Section, Tone, bullets_of
from plimsoll.reports.document.severity import SEVERITY_SIGNS, SEVERITY_TONES

_TOOLS = {"terraform": "Terraform", "cloudformation": "CloudFormation"}
EFFECT_TEXTS = {
    ChangeEffect.INTRODUCES: "This change introduces it.",
    ChangeEffect.WORSENS: "It is there already, and this change makes it worse.",
    ChangeEffect.KEEPS: "It is there already; this change keeps it.",
    ChangeEffect.UNKNOWN: "",
}
"""A sentence for each effect of a change."""


def infrastructure_document(found: InfrastructureFindings) -> Document:
    """Return the document of the findings, the most severe first."""
    return Document(
        kind="lint",
        headline=_headline(found),
        tone=SEVERITY_TONES[found.findings[0].severity] if found.findings else Tone.GOOD,
        parts=(
            Paragraph(
                text=f"{_TOOLS[found.tool]} · {_count(len(found.databases), 'database')} · {', '.join(found.files)}",
                weight="quiet",
            ),
            *(_card(one, place) for place, one in enumerate(found.findings, start=1)),
            Section(
                title="Not checked or assumed",
                parts=(bullets_of([_noted(note) for note in found.notes]),) if found.notes else (),
            ),
        ),
    )


def _headline(found: InfrastructureFindings) -> str:
    counts = {level: sum(f.severity == level for f in found.findings) for level in SEVERITY_SIGNS}
    listed = ", ".join(
        f"{count} critical" if level == "critical" else _count(count, level) for level, count in counts.items() if count
    )
    if not found.databases:
        return "No database found."
    return f"{listed or 'Nothing found'}."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _noted(note: str) -> str:
    # Names of properties and files stay as they are written.
    return f"{note}."


def _card(found: DeclaredFinding, number: int) -> Card:
    return Card(
        title=found.title,
        number=str(number),
        verdict=f"{SEVERITY_SIGNS[found.severity]} {found.severity}",
        tone=SEVERITY_TONES[found.severity],
        parts=tuple(_parts_of(found)),
    )


def _parts_of(found: DeclaredFinding) -> Iterator[Part]:
    place = f"{found.file}:{found.line}" if found.line > 1 else found.file
    yield Paragraph(text=f"{found.address} · {place} · {found.code}", weight="quiet")
    said = (found.text, EFFECT_TEXTS[found.effect])
    yield Paragraph(text=" ".join(part for part in said if part))
    if found.price_text:
        yield Paragraph(text=found.price_text)
    if found.facts:
        yield Bullets(
            items=tuple(
                f"{fact.text}; source: {fact.source}" + (f", read {fact.read_on}" if fact.read_on else "")
                for fact in found.facts
            )
        )
    for remedy in found.remedies:
        yield Bullets(items=(remedy.text,), are_moves=True)
