"""A document as one HTML page: everything inside, nothing loaded, readable without scripts."""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.reports.chart.drawing import svg, vega_script, without_drawing
from plimsoll.reports.chart.engine import has_vega
from plimsoll.reports.document import parts as d
from plimsoll.reports.render.commands import command_lines
from plimsoll.reports.render.explanations import Topic, explanations_of
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.reports.render.page import anchors, rendered_page, template_text

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
    from markupsafe import Markup

    values = page_values(document)
    scripts = (template_text("report.js"), vega_script()) if values["live"] else ("", "")
    return rendered_page(
        "document.html.j2",
        origin=origin,
        script=Markup(scripts[0]),  # noqa: S704  package data
        vega=Markup(scripts[1]),  # noqa: S704  bundled library
        **values,
    )


def page_values(document: d.Document) -> dict[str, Any]:
    """Return what templates need to show a document, on a page of its own or as a part of another."""
    live = _live(document.parts) if has_vega() else None
    return {
        "document": document,
        "explanations": explanations_of([document.topic, *topics_of(document.parts)]),
        **part_values(live),
    }


def _live(parts: Iterable[d.Part]) -> d.LiveChart | None:
    """Return the chart to zoom, of which a page has one."""
    pictures = (one for part in parts if isinstance(part, d.Section) for one in part.parts)
    made = (one.live() for one in pictures if isinstance(one, d.Picture) and one.live is not None)
    return next(made, None)


def topics_of(parts: Iterable[d.Part]) -> Iterator[Topic]:
    """Yield what the links of these parts need explained, in the order of the page."""
    for part in parts:
        if isinstance(part, d.Bullets):
            yield from (item.topic for item in part.advice if item.topic)
        if isinstance(part, d.Card) or (isinstance(part, d.Section) and part.parts):
            yield from topics_of(part.parts)
            if part.topic:
                yield part.topic


def part_values(live: d.LiveChart | None = None) -> dict[str, Any]:
    """
    Return what the macros of `parts.html.j2` need, in whichever template.

    Args:
        live: the chart to zoom, if the page has one.
    """
    from markupsafe import Markup

    return {
        "live": live and {"svg": Markup(live.svg), "data": Markup(live.data)},  # noqa: S704  escaped where it is made
        "anchor": anchors(),
        "accents": _ACCENTS,
        "never": d.NEVER,
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
