"""The comparison as people read it: one sentence, then tables in the order of their weight."""

import re

import pytest

from plimsoll.app.render import render
from plimsoll.diagnosis.comparison.compare import compare
from unit.reports.fixture_diagnosis import CASES


def of(before, after):
    """The comparison of two fixtures."""
    return compare(*CASES[before](), *CASES[after]())


def text_of(before, after, *, width=80, color=False):
    """A comparison of two fixtures rendered."""
    return render(of(before, after), width=width, color=color)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_parted_from_its_unit_or_cut(width):
    """Numbers stand whole in their cells at every width, with no ellipsis in their place."""
    shown = text_of("pressed", "quiet", width=width)

    assert "…" not in shown
    assert not re.search(r"[0-9]\n\s*(?:MB/s|IOPS|ms|GiB|%)", shown)


def test_a_ticket_has_the_same_content():
    """Every section of the text is a heading of the Markdown, and every row says what it is about."""
    text, ticket = (text_of("pressed", "quiet", width=200), render(of("pressed", "quiet"), "markdown"))
    titles = {line.lower() for line in text.splitlines() if line.isupper() and line[0] != " "}

    assert titles == {line[3:].lower() for line in ticket.splitlines() if line.startswith("## ")}
    assert "| throughput, reads | mean |" in ticket
    assert "\x1b" not in ticket
