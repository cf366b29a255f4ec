"""Many instances as text: the sentence, the table, the groups, what is folded."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from plimsoll.app.render import render
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import UnreadInstance
from plimsoll.reports.overview.document import headline
from unit.reports.fixture_fleet import LEGACY, NO_CLASS, PRESSED, ROWS, UNKNOWN, UNREAD, fleet, instance, row


def shown(overview=None, *, width=100, color=False, lists_all=False):
    """The fleet of fifty as text."""
    return render(overview or fleet(), "text", width=width, color=color, lists_all=lists_all)


def binding(name, *, now=False):
    """A row of an instance at a ceiling."""
    return row(name, Verdict.BINDS, binding=LEGACY, now=LEGACY if now else None)


@pytest.mark.parametrize("width", [100, 80, 60])
def test_golden(width, golden):
    """The table reads as it was last reviewed, at each width."""
    golden(f"overview/fleet-{width}.txt", shown(width=width))


def test_golden_of_every_row(golden):
    """With every instance in a row, as it was last reviewed."""
    golden("overview/fleet-all.txt", shown(width=120, lists_all=True))


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=100), st.text(max_size=200))
def test_no_text_from_outside_breaks_the_width_or_escapes(name, reason):
    """Whatever an instance is called and an API answers, lines fit and nothing but text is printed."""
    rows = (binding(name), row(name))
    unread = (UnreadInstance(identifier=name, reason=reason, remedy=reason),)
    text = shown(fleet(rows, unread), width=60)

    assert 60 >= max(cell_len(line) for line in text.split("\n"))
    assert all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.parametrize(
    ("rows", "unread", "expected"),
    [
        ((), (), "No instance was found."),
        (ROWS, UNREAD,
         ("4 of 50 instances are up against a limit, 2 of them now; 39 are not, but 2 came near one; 1 "
         "with some limits unknown; 7 could not be judged.")),
        ((binding("a", now=True),), (), "1 of 1 instance is up against a limit, now."),
        ((binding("a"), row("b")), (),
         "1 of 2 instances was up against a limit, none of them now; 1 is not."),
        ((binding("a", now=True), binding("b", now=True)), (),
         "2 of 2 instances are up against a limit, all of them now."),
        ((row("a"), row("b")), (), "None of 2 instances was up against a limit."),
        ((row("a"), row("b", gaps=(NO_CLASS,)), row("c", Verdict.NEAR, gaps=(NO_CLASS,))), (),
         ("None of 3 instances was up against a limit, but 1 came near one; 2 with some limits "
         "unknown.")),
        ((row("a"), row("b", Verdict.NEAR)), (),
         "None of 2 instances was up against a limit, but 1 came near one."),
        ((row("a"), UNKNOWN[0]), UNREAD[:1],
         "The one instance that could be judged was not up against a limit; 2 could not be judged."),
        ((row("a"), row("b"), UNKNOWN[0]), (),
         "None of the 2 instances that could be judged was up against a limit; 1 could not be judged."),
        (UNKNOWN, UNREAD, "None of 7 instances could be judged."),
        ((binding("a", now=True), *UNKNOWN), (),
         "1 of 5 instances is up against a limit, now; 4 could not be judged."),
    ],
)  # fmt: skip
def test_the_sentence_counts_everybody_once(rows, unread, expected):
    """Bound, free and not judged are counted apart; what is unknown is never reported as free."""
    assert expected == headline(fleet(rows, unread))


verdicts = st.lists(st.sampled_from(Verdict), max_size=30)


@settings(deadline=None)
@given(verdicts, st.integers(0, 5))
def test_the_numbers_of_the_sentence_add_up(found, unread):
    """Those bound, those not and those that could not be judged are all there are."""
    rows = [row(str(n), v, binding=LEGACY if v is Verdict.BINDS else None) for n, v in enumerate(found)]
    lost = [UnreadInstance(identifier=f"u{n}", reason="x", remedy="") for n in range(unread)]
    sentence = headline(fleet(rows, lost))
    total = len(found) + unread
    unjudged = found.count(Verdict.UNKNOWN) + unread
    bound_first = re.match(r"(\d+) of (\d+) instance", sentence)
    free = re.search(r"; (\d+) (?:is|are) not", sentence)

    if bound_first:
        counted = int(bound_first[1]) + (int(free[1]) if free else 0)
        assert (total, total - unjudged) == (int(bound_first[2]), counted)
    if 0 < unjudged < total:
        assert f"{unjudged} could not be judged" in sentence
    assert ("could not be judged" in sentence or "could be judged" in sentence) == (unjudged > 0)


def test_the_default_width_is_a_hundred(monkeypatch):
    """A pipe gets a hundred columns, a narrower terminal what it has, a wider one no more."""
    for columns, expected in ((None, 100), (72, 72), (240, 100)):
        monkeypatch.setenv("COLUMNS", str(columns or 0))
        text = render(fleet(), "text", width=None, color=False)

        assert shown(width=expected) == text


def test_a_thousand_pressed_instances_have_a_row_each():
    """A long table stays a table: numbered rows, all of one width."""
    rows = [
        row(f"db-{n:04}", Verdict.BINDS, instance=instance(f"db-{n:04}"), binding=PRESSED[1].binding)
        for n in range(1000)
    ]
    lines = shown(fleet(rows, ())).splitlines()

    assert 1000 == sum(bool(re.match(r" *\d+ db-\d{4} ", line)) for line in lines)
    assert "1,000 of 1,000 instances were up against a limit, none of them now." == lines[0]
