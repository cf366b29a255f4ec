"""A document as one HTML page: everything inside, nothing loaded, readable without scripts."""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.reports.chart.drawing import svg, without_drawing
from plimsoll.reports.chart.engine import has_vega
from plimsoll.reports.document import parts as d
from plimsoll.reports.render.commands import command_lines
from plimsoll.reports.render.explanations import Topic, explanations_of
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.reports.render.page import rendered_page

# Widths of a drawing without the numbers at its left, in pixels: the page is 68 rem wide, and a drawing that
# is made smaller has letters that cannot be read, so a phone has one of its own.
_WIDTH, _NARROW_WIDTH = 980, 270

# Letters of a command's line; longer ones would be broken by the browser, within words too.
_COMMAND_WIDTH = 110

_ACCENTS = {
    d.Tone.PLAIN: "is-plain",
    d.Tone.GOOD: "is-slack",
    d.Tone.NEAR: "is-near",
    d.Tone.BAD: "is-binds",
    d.Tone.UNKNOWN: "is-unknown",
}
"""Which of the page's colours a tone has."""


def document_page(document: d.Document, origin: PageOrigin | None = None) -> str:
    """
    Return the document as one HTML document; equal arguments give equal text.

    Args:
        document: the report.
        origin: who made the page, when and how; None leaves it out.
    """
    return rendered_page(
        "document.html.j2",
        origin=origin,
        document=document,
        explanations=explanations_of([document.topic, *topics_of(document.parts)]),
        **part_values(),
    )


def topics_of(parts: Iterable[d.Part]) -> Iterator[Topic]:
    """Yield what the links of these parts need explained, in the order of the page."""
    for part in parts:
        if isinstance(part, d.Section | d.Card) and part.parts:
            yield from topics_of(part.parts)
            if part.topic:
                yield part.topic


def part_values() -> dict[str, Any]:
    """Return what the macros of `parts.html.j2` need, in whichever template."""
    return {
        "accents": _ACCENTS,
        "command": lambda line: "\n".join(command_lines(line, _COMMAND_WIDTH)),
        "drawing": _drawing,
        "has_drawings": has_vega(),
        "without_drawing": without_drawing(),
        "characters": lambda picture: "\n".join(picture.characters(_COMMAND_WIDTH)),
    }


def _drawing(picture: d.Picture, *, is_narrow: bool) -> str:
    from markupsafe import Markup

    if picture.spec is None:
        return ""
    spec = picture.spec(_NARROW_WIDTH if is_narrow else _WIDTH)
    return Markup(svg(spec))  # noqa: S704  written by Vega, which escapes
