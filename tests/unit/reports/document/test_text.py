"""Documents in a terminal, and the same documents as Markdown and as a page."""

import re

import pytest

from plimsoll.reports.document import parts as d
from plimsoll.reports.document.markdown import document_markdown
from plimsoll.reports.document.page import document_page
from plimsoll.reports.document.text import document_text
from plimsoll.reports.render.facts import Fact

HOSTILE = "a\x1b[31mb <script>x</script> [c](d) `e` \u202e"

TABLE = d.Table(
    columns=(d.Column(title="Class"), d.Column(title="MB/s", is_number=True), d.Column(title="Note", from_width=80)),
    rows=(("db.t3.xlarge", d.Cell("86.9", tone=d.Tone.BAD), "burst"), ("db.r5.2xlarge", "593.75", "ok")),
)

ALL = (
    d.Paragraph(text="One paragraph with 212.5 MB/s in it.", weight="strong"),
    d.Remark(name="Expected", text="Less to write."),
    d.Facts(facts=(Fact("Engine", "postgres"), Fact("Storage", "gp2"))),
    d.Facts(facts=(Fact("Cause", "A sentence."),), are_sentences=True),
    d.Bullets(items=("first", "second"), is_numbered=True),
    TABLE,
    d.Code(lines=("select 1", "  from x;"), language="sql"),
    d.Command(line="plimsoll plan rds:orders --max-usd 10"),
    d.Diff(rows=(d.DiffRow(sign="-", text="Seq Scan"), d.DiffRow(sign="+", text="Index Scan"))),
    d.Picture(characters=lambda width: ["▁▂▃"], spec=None),
    d.Card(title="A cause", number="1", verdict="▲ critical", tone=d.Tone.BAD),
)


def document(*parts: d.Part, headline: str = "It binds.") -> d.Document:
    """A document with these parts."""
    return d.Document(kind="test", headline=headline, parts=parts)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_longer_than_the_terminal(width):
    """Whatever the parts are, and without colour there is no escape sequence."""
    report = document(*ALL, d.Section(title="All", parts=ALL))

    text = document_text(report, width=width, color=False)

    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text


def test_colour_only_repeats_what_is_reported():
    """Without the escape sequences the coloured text is the plain one."""
    report = document(*ALL)
    colored = document_text(report, width=80, color=True)

    assert "\x1b[" in colored
    bare = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).splitlines()]
    assert document_text(report, width=80, color=False).splitlines() == bare


def test_a_column_that_needs_room_leaves_a_narrow_terminal():
    """Markdown and the page have it always."""
    report = document(TABLE)

    assert "Note" not in document_text(report, width=60, color=False)
    assert "Note" in document_text(report, width=80, color=False)
    assert "| Class | MB/s | Note |" in document_markdown(report)
    assert "burst" in document_page(report)


def test_every_part_says_the_same_in_each_form():
    """Markdown and the page contain everything that the text contains."""
    report = document(d.Section(title="All", parts=ALL))
    found = ("paragraph", "postgres", "A sentence.", "second", "593.75", "from x;", "--max-usd 10")

    for form in (document_text(report, width=100, color=False), document_markdown(report), document_page(report)):
        text = form.replace("\u00a0", " ").replace("\\", "")
        assert [] == [word for word in (*found, "Index Scan", "A cause") if word not in text]


@pytest.mark.parametrize(
    "part",
    [
        d.Paragraph(text=HOSTILE),
        d.Remark(name=HOSTILE, text=HOSTILE),
        d.Facts(facts=(Fact(HOSTILE, HOSTILE),)),
        d.Bullets(items=(HOSTILE,)),
        d.Table(columns=(d.Column(title=HOSTILE),), rows=((HOSTILE,), (d.Cell(HOSTILE),))),
        d.Code(lines=(HOSTILE,)),
        d.Command(line=HOSTILE),
        d.Diff(rows=(d.DiffRow(sign="+", text=HOSTILE),), more=HOSTILE),
        d.Section(title=HOSTILE, parts=(d.Paragraph(text="x"),)),
        d.Card(title=HOSTILE, verdict=HOSTILE),
    ],
    ids=lambda part: part.form,
)
def test_text_from_outside_is_only_text(part):
    """No escape sequence reaches a terminal, no tag a page, no link a ticket."""
    report = document(part, headline=HOSTILE)

    assert "\x1b" not in document_text(report, width=100, color=False)
    assert "<script>x" not in document_page(report)
    outside_code = re.sub(r"```.*?```", "", document_markdown(report), flags=re.DOTALL)
    assert "[c](d)" not in outside_code
    assert "\x1b" not in document_markdown(report)


def test_a_fence_is_longer_than_those_inside():
    """Code that holds a fence stays code."""
    report = document(d.Code(lines=("```", "# not a title", "```")))

    assert "\n````\n```\n# not a title\n```\n````\n" in document_markdown(report)


def test_sections_without_parts_are_not_shown():
    """No title stands over nothing."""
    report = document(d.Section(title="Nothing here", parts=()))

    for form in (document_text(report, width=80, color=False), document_markdown(report)):
        assert "nothing here" not in form.lower()
    assert "Nothing here" not in document_page(report)
