"""
Pages: one document with everything inside, nothing loaded, readable without scripts.

A content security policy in the page forbids it every network access.
"""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from plimsoll.reports.chart.look import DARK, LIGHT, css_variables
from plimsoll.reports.render import words
from plimsoll.reports.render.page_policy import POLICY, closed

if TYPE_CHECKING:  # a report in a terminal needs no templates
    from jinja2 import Environment


def rendered_page(template: str, **values: Any) -> str:
    """Return a template of the package filled with values; the style and the words of verdicts are included."""
    from markupsafe import Markup

    page = (
        page_environment()
        .get_template(template)
        .render(
            policy=POLICY,
            style=Markup(page_style()),  # noqa: S704  package data
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
    }
    return environment


def _finalized(value: Any) -> Any:
    """Return a value of the template with its numbers joined to their units."""
    return words.kept_together(value) if type(value) is str else value


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
