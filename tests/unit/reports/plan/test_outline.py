"""The plan in its other forms: Markdown, JSON, and a section of the report's page."""

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

import plans
from plimsoll.app.render import plan_below, render
from plimsoll.reports.diagnosis import html
from plimsoll.reports.plan.outline import NEVER_RUN
from unit.reports.fixture_diagnosis import pressed


def page_of(plan):
    """The report's page with the plan in it, without the bundled library."""
    return html.render_html(*pressed(), plan).replace(html.vega_script(), "")


class Reader(HTMLParser):
    """The text of a page, and what stands open at its end."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


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
    shown = plan_below(plans.claims(), "markdown")
    levels = [len(mark) for mark in re.findall(r"^(#+) ", shown, flags=re.MULTILINE)]

    assert levels[0] == 2
    assert min(levels[1:]) == 3
    assert shown.startswith("\n## Plan\n\n**db.m6g.xlarge with")


def test_markdown_from_outside_is_text():
    """A table's bar and a tag in a title are shown as they are."""
    shown = render(plans.claims(options=(plans.option(title="a|b <i>"),)), "markdown")

    assert "a\\|b \\<i\\>" in shown


@pytest.mark.parametrize("name", plans.PLANS)
def test_tables_have_as_many_cells_as_titles(name):
    """No row is short or long by a cell."""
    lines = render(plans.PLANS[name](), "markdown").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    counts = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]

    assert {4, 5, 8} >= set(counts)


@pytest.mark.parametrize("name", plans.PLANS)
def test_the_page_is_whole(name):
    """Every tag is closed, and no two elements have the same name."""
    found = Reader(page_of(plans.PLANS[name]()))

    assert [] == found.open
    assert len(found.ids) == len(set(found.ids))


def test_the_page_has_the_section_with_its_chart():
    """Headline, chart, options and commands; the chart has the names of what is there and proposed."""
    page = page_of(plans.claims())
    section = page[page.index(">Plan<") :]
    text = "".join(Reader(page).text).replace("\u00a0", " ")

    assert "<svg" in section[: section.index("</figure>")]
    assert "now: db.t3.xlarge, $349.70" in text
    assert "2: db.m6g.xlarge, $370.14" in text
    assert plans.order("db.m6g.xlarge") in text.replace(" \\\n  ", " ")
    assert NEVER_RUN in text


def test_a_page_without_a_plan_has_no_section():
    """A diagnosis alone reads as before."""
    assert ">Plan<" not in page_of(None)


def test_a_plan_without_prices_has_no_chart():
    """Nothing is drawn where nothing has a price."""
    page = page_of(plans.nothing())
    section = page[page.index(">Plan</h2>") : page.index('id="resources"')]

    assert "<svg" not in section


def test_what_comes_from_outside_is_text_on_the_page():
    """A tag in a title, a reason or a command is shown, not obeyed."""
    bad = "<script>alert(1)</script>"
    option = plans.option(title=bad, reason=bad, commands=(f"aws '{bad}'",))
    there = replace(plans.INSTANCE, identifier=bad)
    page = page_of(plans.claims(options=(option,), headline=bad, instance=there))

    assert bad not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_page_says_no_zero_minutes_behind_a_ceiling():
    """What nobody saw is never reported as nothing."""
    nowhere = plans.option(effect=plans.effect(plans.band(0)))
    text = "".join(Reader(page_of(plans.claims(options=(nowhere,)))).text).replace("\u00a0", " ")
    section = text[text.index("Target:") : text.rindex("Throughput by price")]

    assert "under 1 min" in section
    assert not re.search(r"(?<![0-9.])0 min", section)
