"""An inspection as Markdown, for a ticket or a pull request: the same content, the same order."""

from collections.abc import Iterable

from plimsoll.model.cause import Inspection
from plimsoll.reports.document.severity import SEVERITY_SIGNS
from plimsoll.reports.inspect.outline import (
    NEVER_RUN,
    CauseCard,
    InspectionOutline,
    RemedyRow,
    inspection_outline,
)
from plimsoll.reports.render.markdown import bullets, escaped, facts, section

# A fence must be longer than any run of backticks inside it.
_FENCE = "```"


def render_inspection_markdown(inspection: Inspection) -> str:
    """Render the inspection as GitHub-flavoured Markdown that ends with a newline."""
    said = inspection_outline(inspection)
    parts = [
        f"# {escaped(said.headline)}",
        escaped(said.identity),
        escaped(said.watched),
        section("What it reads and writes", facts(said.load)),
        section("Causes", *_causes(said, "###")),
        section("Notes", bullets(said.notes)),
        section("Not known", facts(said.missing)),
        section("How it was measured", facts(said.measured)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def causes_markdown(inspection: Inspection) -> str:
    """The same as a section of a diagnosis: who spends it."""
    said = inspection_outline(inspection)
    return section(
        "Causes",
        f"**{escaped(said.headline)}**",
        escaped(said.identity),
        escaped(said.watched),
        facts(said.load),
        *_causes(said, "###"),
        bullets((*said.notes, said.cost)),
        facts(said.missing),
    )


def _causes(said: InspectionOutline, level: str) -> Iterable[str]:
    yield said.counted
    for card in said.causes:
        yield from _card(card, level)
    if said.has_commands:
        yield f"**{NEVER_RUN}**"


def _card(card: CauseCard, level: str) -> Iterable[str]:
    sign = SEVERITY_SIGNS[card.severity]
    yield f"{level} {card.number}. {sign} {card.severity}: {escaped(card.title)}"
    if card.size:
        yield f"**Size:** {escaped(card.size)}"
    yield escaped(card.text)
    yield bullets(card.evidence)
    for remedy in card.remedies:
        yield from _remedy(remedy)
    if card.refuted_by:
        yield f"**Refuted by:** {escaped(card.refuted_by)}"


def _remedy(remedy: RemedyRow) -> Iterable[str]:
    yield f"**→** {escaped(remedy.text)}"
    if remedy.commands:
        fence = _FENCE
        while any(fence in line for line in remedy.commands):
            fence += "`"
        yield "\n".join([fence, *remedy.commands, fence])
    if remedy.expected:
        yield f"**Expected:** {escaped(remedy.expected)}"
