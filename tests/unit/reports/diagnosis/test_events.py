"""Which events a report shows, in which order, and what it counts instead."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.chart import timeline_spec
from plimsoll.reports.diagnosis.events import EVENTS_SHOWN, events_of, events_section, in_order
from plimsoll.reports.render import words
from unit.reports.fixture_diagnosis import pressed, quiet, text_of
from unit.reports.fixture_parts import DAY_S, HOUR_S, START_S

WINDOW = (START_S, START_S + DAY_S)


def event(at_s, kind=EventKind.OTHER, text="it happened"):
    """An event `at_s` seconds after the start of the window."""
    return Annotation(time_s=START_S + at_s, text=text, kind=kind)


def shown(*notes, width=80):
    """The text of the quiet report with these events."""
    diagnosis, shot = quiet()
    diagnosis = msgspec.structs.replace(diagnosis, annotations=notes)
    return text_of(diagnosis, shot, width=width)


BACKUP = event(3600, EventKind.BACKUP)
RESTORES = [event(-HOUR_S * n, EventKind.RESTORE, f"{n} h before") for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("notes", "earlier", "marked", "more"),
    [
        # Whatever order the source gave them in, A is the first of the window, whose end is not in it.
        ([event(900, text="second"), event(60, text="first")], [], ["A first", "B second"], ""),
        ([event(DAY_S), event(DAY_S - 1, text="last")], [], ["A last"], ""),
        # Backups come every day: their number and the last of them are reported.
        ([BACKUP], [], [], "Besides: 1 backup event, at 2021-03-08 01:00."),
        ([event(4200, EventKind.BACKUP), BACKUP], [], [], "Besides: 2 backup events, the last 2021-03-08 01:10."),
        # A restore or change before the window may explain it, a restart does not; the last two are reported.
        ([*RESTORES, event(-60, EventKind.RESTART)], ["2 h before", "1 h before"], [], ""),
    ],
    ids=["order", "end", "one backup", "backups", "before"],
)
def test_events_are_marked_counted_or_reported_as_earlier(notes, earlier, marked, more):
    """In order of time, with letters."""
    events = events_of(notes, WINDOW)

    assert earlier == [note.text for note in events.earlier]
    assert (marked, more) == ([f"{letter} {note.text}" for letter, note in events.marked], events.more)


def test_what_changes_the_limits_is_kept_before_what_does_not():
    """Of too many events the changes stay, still in order of time, and the rest is counted."""
    many = [event(60 * i, EventKind.RESTART) for i in range(20)]
    change = event(86_000, EventKind.CLASS_CHANGE, "became db.r5.4xlarge")
    events = events_of((*many, change), WINDOW)

    assert EVENTS_SHOWN == len(events.marked)
    assert "became db.r5.4xlarge" == events.marked[-1][1].text
    assert "Besides: 12 other events." == events.more


def test_seconds_are_reported_where_the_window_is_short():
    """In a window of an hour or less the second of an event matters."""
    found = msgspec.structs.replace(quiet()[0], annotations=(event(61),), window_s=(START_S, START_S + HOUR_S))

    assert "2021-03-08 00:01:01" == events_section(found).parts[0].rows[0][1].text


@given(st.lists(st.builds(event, st.integers(-DAY_S, 2 * DAY_S), st.sampled_from(EventKind)), max_size=40))
def test_no_event_of_the_window_is_lost(notes):
    """What is shown and what is counted are together all events of the window."""
    events = events_of(notes, WINDOW)
    inside = [n for n in notes if WINDOW[0] <= n.time_s < WINDOW[1]]
    counted = [int(n) for n in re.findall(r"(\d+) (?:other|backup) event", events.more)]

    assert len(inside) == len(events.marked) + sum(counted)
    times = [note.time_s for note in (*events.earlier, *(note for _, note in events.marked))]
    assert sorted(times) == times


@settings(deadline=None)
@given(st.lists(st.integers(0, DAY_S - 1), max_size=12), st.integers(40, 120))
def test_every_letter_stands_once_on_the_timeline(places, width):
    """However close the events are, each has a column, in their order, and no line is too long."""
    diagnosis, shot = quiet()
    diagnosis = msgspec.structs.replace(diagnosis, annotations=tuple(map(event, places)))
    lines = timeline_blocks(diagnosis, shot, width=width)
    row = next((line for line in lines if line.startswith("  events")), "")

    assert "ABCDEFGHI"[: min(len(places), EVENTS_SHOWN)] == row[8:].replace(" ", "")
    assert max(map(len, lines)) <= width


def test_a_letter_stands_below_its_moment():
    """An event in the middle of the window stands in the middle of the axis."""
    diagnosis, shot = quiet()
    diagnosis = msgspec.structs.replace(diagnosis, annotations=(event(DAY_S // 2),))
    lines = timeline_blocks(diagnosis, shot, width=80)

    assert 10 + 35 == next(line for line in lines if line.startswith("  events")).index("A")


def test_the_text_tells_kind_and_source():
    """A row has the letter, the time, the effect of the event, and the text of the source."""
    text = shown(
        event(3600, EventKind.FAILOVER, "Multi-AZ instance failover completed"),
        event(-60, EventKind.CONVERSION, "Applied change to Multi-AZ"),
    )

    assert "A 03-08 01:00 failover: Multi-AZ instance failover completed" in text
    assert "- 03-07 23:59 before the window: conversion to Multi-AZ: Applied change" in text


def test_the_text_of_an_event_cannot_reach_the_terminal():
    """Control characters of a source's text are shown as what they are not."""
    assert "\x1b" not in shown(event(60, text="\x1b[31mred\nmore"))
    assert "\ufffd[31mred more" in shown(event(60, text="\x1b[31mred\nmore"))


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_has_words(kind):
    """A kind of event that the model knows is reported in words."""
    assert words.EVENT_WORDS[kind] == words.plain(words.EVENT_WORDS[kind])
    assert "_" not in words.EVENT_WORDS[kind]


def test_backups_are_faint_and_silent_in_the_chart():
    """In the drawing a backup has a line and no text; what is rare has both."""
    diagnosis, shot = pressed()
    first = timeline_spec(diagnosis, shot)["vconcat"][0]["layer"]
    texts = [
        (layer["mark"]["type"], layer["data"]["values"][0]["label"], layer["mark"].get("opacity"))
        for layer in first
        if "label" in str(layer.get("data", {})) and "x" in layer["encoding"]
    ]
    backup = "Backing up DB instance"

    assert [("rule", backup, 0.35)] == [t for t in texts if t[1] == backup]
    assert {"rule", "text"} == {t[0] for t in texts if t[1] == "DB instance restarted"}


def test_order_is_total():
    """Events of one moment are reported in the same order however they come."""
    notes = [event(0, text=t) for t in "bca"]

    assert in_order(notes) == in_order(reversed(notes))
