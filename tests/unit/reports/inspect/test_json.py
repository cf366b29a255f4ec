"""An inspection as Markdown and as JSON: the same content, the same order."""

import json

import pytest

import inspections
from plimsoll.app.render import render
from plimsoll.model.cause import Remedy
from plimsoll.reports.diagnosis import html
from plimsoll.reports.document.markdown import part_in_markdown
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.inspect.json import render_inspection_json
from plimsoll.reports.inspect.outline import NEVER_RUN, inspection_outline
from unit.reports.fixture_diagnosis import CASES


def document_of(inspection):
    """The JSON form, decoded."""
    return json.loads(render_inspection_json(inspection))


def test_the_markdown_says_all_that_the_outline_has():
    """Headline, how it was watched, every cause with proof and commands, gaps and costs."""
    shown = render(inspections.inspection(), "markdown")
    inspection = inspection_outline(inspections.inspection())

    assert shown.startswith("# Updates of public.documents.body")
    for heading in ("What it reads and writes", "Causes", "Notes", "Not known"):
        assert f"\n## {heading}\n" in shown
    assert "### 1. ▲ critical: Updates of public.documents.body" in shown
    assert "**Size:** 96.4 MB/s written, estimated: 45 % of the load" in shown
    assert "\n".join(["```", *inspection.causes[0].remedies[0].commands, "```"]) in shown
    assert "**Wrong if:** A sample" in shown
    assert f"**{NEVER_RUN}**" in shown
    assert "- **statements:** We do not know which statements are responsible. GRANT" in shown


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


@pytest.mark.parametrize("name", inspections.INSPECTIONS)
def test_equal_inspections_give_equal_bytes(name):
    """Keys are sorted, and it ends with a newline."""
    made = inspections.INSPECTIONS[name]
    keys = list(document_of(made()))

    assert render_inspection_json(made()) == render_inspection_json(made())
    assert sorted(keys) == keys
    assert render_inspection_json(made()).endswith(b"}\n")


def test_numbers_are_si_and_unrounded():
    """Bytes per second, ratios, seconds; moments in UTC."""
    document = document_of(inspections.inspection())

    assert 96.4e6 == document["causes"][0]["written_bytes_per_s"]
    assert 0.452 == document["causes"][0]["share_of_load"]
    assert {
        "read_bytes_per_s": 120e6,
        "written_bytes_per_s": 93e6,
        "is_estimated": False,
        "unexplained_bytes_per_s": None,
    } == document["load"]
    assert {"name": inspections.CEILING, "bytes_per_s": 287.5e6} == document["ceiling"]
    assert "2021-03-08T11:00:00Z" == document["window"]["start"]
    assert 60 == document["window"]["duration_s"]
    assert {"query_count": 164, "received_bytes": 182_000, "asked_s": 0.412} == document["cost"]


def test_commands_are_whole_in_json():
    """A command is a string as it is to be run, line breaks included."""
    assert (
        inspections.UPDATE
        == document_of(inspections.inspection())["causes"][0]["remedies"][0]["commands"][0]
    )


def test_what_is_not_known_is_null():
    """No ceiling, no load, no bytes: null, never zero."""
    document = document_of(inspections.pooled())

    assert document["ceiling"] is None
    assert document["load"]["read_bytes_per_s"] is None
    assert document["causes"][0]["written_bytes_per_s"] is None
    assert document["causes"][0]["share_of_load"] is None


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
