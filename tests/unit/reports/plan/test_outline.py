"""The plan in its other forms: Markdown, JSON, and a section of the report's page."""

import re

import pytest
from msgspec.structs import replace

import plans
from pages import PageReader
from plimsoll.app.render import Report, render
from plimsoll.reports.plan.document import NEVER_RUN
from unit.reports.fixture_diagnosis import page_of, pressed


@pytest.mark.parametrize(
    ("license_model", "is_said"), [("bring-your-own-license", True), ("postgresql-license", False), (None, False)]
)
def test_a_license_that_sets_prices_apart_is_reported(license_model, is_said):
    """The license is next to the engine; one that costs nothing is not shown."""
    instance = replace(plans.INSTANCE, license_model=license_model)
    shown = render(plans.claims(instance=instance), "markdown")

    assert is_said == ("postgres · bring-your-own-license" in shown)
    assert "postgresql-license" not in shown


def test_markdown_below_a_diagnosis_is_a_section():
    """One heading of the second level, those of the body below it."""
    diagnosis, snapshot = pressed()
    text = render(Report(diagnosis=diagnosis, snapshot=snapshot, plan=plans.claims()), "markdown")
    shown = text[text.index("\n## Plan\n") :]
    levels = [len(mark) for mark in re.findall(r"^(#+) ", shown, flags=re.MULTILINE)]

    assert levels[0] == 2
    assert min(levels[1:]) == 3
    assert shown.startswith("\n## Plan\n\n**db.m6g.xlarge with")


def test_the_page_has_the_section_with_its_chart():
    """Headline, chart, options and commands; the chart has the names of what is there and proposed."""
    page = page_of(*pressed(), plans.claims())
    section = page[page.index(">Plan<") :]
    text = "".join(PageReader(page).text).replace("\u00a0", " ")

    assert "<svg" in section[: section.index("</figure>")]
    assert "now: db.t3.xlarge, $349.70" in text
    assert "2: db.m6g.xlarge, $370.14" in text
    assert plans.order("db.m6g.xlarge") in text.replace(" \\\n  ", " ")
    assert NEVER_RUN in text


def test_a_plan_without_prices_has_no_chart():
    """Nothing is drawn where nothing has a price."""
    page = page_of(*pressed(), plans.nothing())
    section = page[page.index(">Plan</h2>") :]

    assert "<svg" not in section
