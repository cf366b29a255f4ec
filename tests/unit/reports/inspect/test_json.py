"""An inspection as Markdown and as JSON: the same content, the same order."""

import inspections
from pages import document_with
from plimsoll.reports.document.markdown import document_markdown
from plimsoll.reports.inspect.document import NEVER_RUN, causes_section
from unit.reports.fixture_diagnosis import page_of, pressed


def test_the_section_of_a_diagnosis_begins_with_the_headline():
    """Below a diagnosis it has a heading of its own and the same causes."""
    shown = document_markdown(document_with(causes_section(inspections.inspection())))

    assert shown.startswith("# A test\n\n## Causes\n\n**Updates of public.documents.body")
    assert "### 2. ◆ warning" in shown


def test_the_page_has_every_cause_with_its_commands():
    """In the report's page: headline, shares, evidence, commands as text, and what would refute it."""
    page = page_of(*pressed(), None, inspections.inspection())

    assert '<h2 id="causes">Causes</h2>' in page
    assert "▲ critical" in page
    assert "45\u00a0% of the load and 34\u00a0% of the ceiling" in page
    assert "  body = CASE WHEN body IS DISTINCT FROM $2 THEN $2 ELSE body END\n" in page
    assert "Wrong if" in page
    assert NEVER_RUN in page
