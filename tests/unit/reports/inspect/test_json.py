"""An inspection as Markdown and as JSON: the same content, the same order."""

import inspections
from plimsoll.app.render import render
from plimsoll.model.cause import Remedy
from plimsoll.reports.diagnosis import html
from plimsoll.reports.document.markdown import part_in_markdown
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.inspect.outline import NEVER_RUN
from unit.reports.fixture_diagnosis import CASES


def test_a_command_with_backticks_stays_in_its_fence():
    """The fence is longer than any run of backticks inside it."""
    remedy = Remedy(text="run it", commands=("mysql ```x```",))
    found = inspections.inspection(causes=(inspections.cause(remedies=(remedy,)),))
    shown = render(found, "markdown")

    assert "````\nmysql ```x```\n````" in shown


def test_nothing_from_outside_is_markup():
    """A name of a table is text, whatever it holds."""
    found = inspections.inspection(causes=(inspections.cause(title="<b>|*x*"),))
    shown = render(found, "markdown")

    assert "\\<b\\>\\|\\*x\\*" in shown
    assert "<b>" not in shown


def test_the_section_of_a_diagnosis_begins_with_the_headline():
    """Below a diagnosis it has a heading of its own and the same causes."""
    shown = part_in_markdown(causes_section(inspections.inspection()))

    assert shown.startswith("## Causes\n\n**Updates of public.documents.body")
    assert "### 2. ◆ warning" in shown


def test_the_page_has_every_cause_with_its_commands():
    """In the report's page: headline, shares, evidence, commands as text, and what would refute it."""
    page = html.render_html(*CASES["pressed"](), None, inspections.inspection())
    evil = inspections.cause(title="<script>x", remedies=(Remedy(text="r", commands=("a < 'b'",)),))
    shown = html.render_html(*CASES["pressed"](), None, inspections.inspection(causes=(evil,)))

    assert '<h2 id="causes">Causes</h2>' in page
    assert "▲ critical" in page
    assert "45\u00a0% of the load and 34\u00a0% of the ceiling" in page
    assert "  body = CASE WHEN body IS DISTINCT FROM $2 THEN $2 ELSE body END\n" in page
    assert "Wrong if" in page
    assert NEVER_RUN in page
    assert "a &lt; &#39;b&#39;" in shown
    assert "<script>x" not in shown


def test_the_page_of_a_diagnosis_alone_has_no_causes():
    """Without an inspection there is no section."""
    assert 'id="causes"' not in html.render_html(*CASES["pressed"]())
