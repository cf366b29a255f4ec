"""
Pages: one document with everything inside, nothing loaded, readable without scripts.

A content security policy in the page forbids it every network access.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from plimsoll.model.visible import visible
from plimsoll.reports.chart.look import DARK, LIGHT, css_variables
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import EXPLANATIONS, Topic
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.reports.render.page_policy import POLICY, closed

if TYPE_CHECKING:  # a report in a terminal needs no templates
    from jinja2 import Environment


_HEADING = re.compile(r"<h([23]) id=\"([^\"]+)\"[^>]*>(.*?)</h\1>", re.DOTALL)
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Heading:
    """One line of the contents of a page."""

    id: str
    title: str
    """As markup."""
    inside: "tuple[Heading, ...]" = ()
    """The headings of the next level below it."""


def rendered_page(template: str, *, origin: PageOrigin | None = None, **values: Any) -> str:
    """
    Return a template of the package filled with values, in the frame that all pages have.

    Args:
        template: its name.
        origin: who made the page, when and how; None leaves it out.
        values: what the template needs.
    """
    from markupsafe import Markup

    page = (
        page_environment()
        .get_template(template)
        .render(
            policy=POLICY,
            style=Markup(page_style()),  # noqa: S704  package data
            copy_script=Markup(template_text("copy.js")),  # noqa: S704  package data
            origin=origin,
            **values,
        )
    )
    return closed(page)


def page_environment(*packages: str) -> "Environment":
    """
    Return the environment of templates, with the words of verdicts.

    Args:
        packages: names of packages with templates of their own, beside those of reports.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "plimsoll.reports")]),
        autoescape=True,
        # Templates belong to the package; looking for changes costs more than a row of a table.
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "signs": words.VERDICT_SIGNS,
        "verdict_words": words.VERDICT_WORDS,
        "headings_of": headings_of,
        "explanation": _explanation,
    }
    return environment


def headings_of(markup: str) -> Sequence[Heading]:
    """Return the headings of a page's content that have an address, those of the third level inside the second."""
    from markupsafe import Markup

    found: list[Heading] = []
    for level, place, title in _HEADING.findall(markup):
        heading = Heading(place, Markup(title))  # noqa: S704  a part of markup
        if level == "3" and found:
            above = found.pop()
            heading = Heading(above.id, above.title, (*above.inside, heading))
        found.append(heading)
    return found


def anchors() -> Callable[[str], str]:
    """Return what gives each title of a page its address: `how-it-was-measured`, and `how-it-was-measured-2`."""
    given: Counter[str] = Counter()

    def anchor(title: str) -> str:
        place = _NO_LETTERS.sub("-", title.lower()).strip("-") or "part"
        given[place] += 1
        return place if given[place] == 1 else f"{place}-{given[place]}"

    return anchor


def _explanation(topic: Topic) -> Any:
    return EXPLANATIONS[topic]


def _finalized(value: Any) -> Any:
    """Return a text of the template without hidden characters, its numbers joined to their units."""
    return words.kept_together(visible(value)) if type(value) is str else value


@cache
def template_text(name: str) -> str:
    """Return a file next to the templates: a script or a style."""
    return (files("plimsoll.reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """Return the style sheet of every page."""
    variables = (
        f":root {{ color-scheme: light dark; {css_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}\n"
        f"@media print {{ :root {{ {css_variables(LIGHT)} }} }}\n"
    )
    return variables + template_text("report.css")
