"""The section of statements: its sentences, and texts from outside that stay text."""

from msgspec.structs import replace

from pages import document_with
from plimsoll.app.render import Report, render
from plimsoll.catalog.load import catalog
from plimsoll.causes.session_load import statement_load
from plimsoll.model.session_load import SessionLoad, StretchKind
from plimsoll.reports.diagnosis.statements import TEXT_SHOWN, statements_section
from plimsoll.reports.document.text import document_text
from session_loads import COPY, session_load, span
from unit.reports.fixture_diagnosis import CASES

HOSTILE = "<script>alert(1)</script> ``` \x1b[31m\u202e| [x](javascript:y) " + "z" * 10_000


def found_of(load: SessionLoad, engine: str = "postgres"):
    found = statement_load(load, catalog().wait_rules(engine))
    assert found is not None
    return found


def text_of(load: SessionLoad, engine: str = "postgres") -> str:
    text = document_text(document_with(statements_section(found_of(load, engine))), width=200, color=False)
    return " ".join(text.replace("\u00a0", " ").split())


def report_of(load: SessionLoad) -> Report:
    diagnosis, snapshot = CASES["pressed"]()[:2]
    return Report(diagnosis=replace(diagnosis, statements=found_of(load)), snapshot=snapshot)


def test_waiting_without_a_ceiling_is_not_called_one():
    """Where no ceiling explains the waiting, none is claimed; without a comparison none is made."""
    load = replace(session_load((0, 3600), None), why=StretchKind.WAITING)

    assert "While requests waited, 6.1 of 7.5" in text_of(load)
    assert "Below every ceiling" not in text_of(load)


def test_an_unclear_event_is_shown_and_not_counted():
    """MySQL's table handler covers memory and I/O: its sessions are no I/O, and the report says so."""
    made = span(0, 60, {COPY: {"io:io/table/sql/handler": 4.0}})
    text = text_of(SessionLoad(why=StretchKind.CEILING, during=made), "mysql")

    assert "no session waited for I/O, as far as Performance Insights saw" in text
    assert "Not counted as I/O: io/table/sql/handler 4" in text
    assert "4 sessions on average in events that may be I/O" in text


def test_a_bound_is_called_one():
    """A statement outside the top 25 of the other stretch waited at most so much there."""
    many = {f"SELECT {n}": {"IO:DataFileRead": 1.0 + n} for n in range(25)}
    load = SessionLoad(why=StretchKind.CEILING, during=span(0, 60), outside=span(60, 120, many))

    assert "Below every ceiling: at most 1 waited for I/O." in text_of(load)


def test_hostile_texts_stay_text_in_every_form():
    """No tag, no escape sequence, no fence that closes early, no line of ten thousand letters."""
    made = span(0, 60, {HOSTILE: {"IO:DataFileRead\x1b[0m": 2.0}}, users={HOSTILE: {"IO:DataFileRead": 2.0}})
    report = report_of(SessionLoad(why=StretchKind.CEILING, during=made))
    page, markdown = render(report, "html"), render(report, "markdown")
    text = render(report, "text", width=80)

    assert "<script>alert(1)" not in page
    assert "\x1b" not in page + markdown + text
    assert "````sql\n<script>alert(1)</script> ```" in markdown
    assert max(map(len, text.splitlines())) < 100
    assert "z" * (TEXT_SHOWN + 1) not in text
