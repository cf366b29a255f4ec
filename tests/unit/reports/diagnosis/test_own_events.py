"""The section of one's own events: what coincides with a ceiling is said, and no more than that."""

from msgspec.structs import replace

from pages import document_with
from plimsoll.app.render import Report, render
from plimsoll.model.own_event import OwnEvent
from plimsoll.reports.diagnosis.chart import timeline_spec
from plimsoll.reports.diagnosis.own_events import own_events_section, own_spans
from plimsoll.reports.document.text import document_text
from unit.diagnosis.test_own_events import START_S, diagnosis, event, judged, snapshot

HOSTILE = "<script>alert(1)</script> \x1b[31m\u202e| [x](javascript:y)"


def text_of(*events: OwnEvent, bound=((8, 20),)) -> str:
    own = judged(*events, bound=bound)
    section = own_events_section(own, diagnosis(*bound))
    text = document_text(document_with(section), width=160, color=False)
    return " ".join(text.replace("\u00a0", " ").split())


def report_of(*events: OwnEvent, bound=((8, 20),)) -> Report:
    found = replace(diagnosis(*bound), own_events=judged(*events, bound=bound))
    return Report(diagnosis=found, snapshot=snapshot())


def test_a_name_says_what_coincides_and_what_remains_without_it():
    """Time at a ceiling while it ran, its share, and the time at a ceiling without it."""
    text = text_of(event("load", 5, 14))

    assert "6 min of the 12 min at a ceiling lie within your events, 6 min outside of them." in text
    assert "A ceiling was reached for 6 min of that, 50 % of all time at a ceiling" in text
    assert "without it for another 6 min." in text


def test_a_name_that_covers_the_ceiling_is_said_to_and_not_blamed():
    """Coincidence is no cause, and the report says so."""
    text = text_of(event("load", 5, 30))

    assert "All of the 12 min at a ceiling lie within your events." in text
    assert "and never without it" in text
    assert "does not show that one causes the other" in text


def test_events_away_from_the_ceiling_are_cleared():
    """Where nothing coincides, or no ceiling was reached, that is the first sentence."""
    assert "None of the 12 min at a ceiling lies within your events." in text_of(event("x", 30, 40))
    assert "No ceiling was reached in this window" in text_of(event("x", 30, 40), bound=())
    outside = text_of(event("x", 70, 80))
    assert "None of the events in events.csv lies in the window. 1 event lies outside" in outside


def test_an_overlap_names_the_others():
    """The row of each event has the names that ran in the same time."""
    text = text_of(event("a", 0, 20), event("b", 10, 30))

    assert "it is not divided between them" in text
    table = text[text.index("# Event") :]
    assert " b " in table[table.index(" a ") :]


def test_long_lists_are_cut_and_counted():
    """Twelve rows and six names; the rest is in the JSON report."""
    text = text_of(*(event(f"task{n:02}", n, n + 1) for n in range(40)))

    assert "28 events with less I/O are in the JSON report." in text
    assert "#6 " in text
    assert "#7 " not in text


def test_the_chart_has_a_bar_for_each_run_within_the_window():
    """A run that began before is cut; a moment has a bar without length."""
    found = report_of(event("a", -10, 10), event("a", 20, 30), event("d", 40, None))
    names = {n.name: n for n in found.diagnosis.own_events.names}

    assert [(START_S, START_S + 600), (START_S + 1200, START_S + 1800)] == own_spans(found.diagnosis, names["a"])
    assert [(START_S + 2400, START_S + 2400)] == own_spans(found.diagnosis, names["d"])
    titles = str(timeline_spec(found.diagnosis, found.snapshot))
    assert "Your events" in titles
    assert "#1 a" in titles


def test_hostile_names_stay_text_in_every_form():
    """A name from a file is no tag, no link and no escape sequence."""
    report = report_of(event(HOSTILE, 0, 10, kind=HOSTILE))
    page, markdown = render(report, "html"), render(report, "markdown")

    assert "<script>alert(1)" not in page
    assert "\x1b" not in page + markdown + render(report, "text", width=80)
    assert "[x](javascript" not in markdown
