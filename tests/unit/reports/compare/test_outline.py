"""The comparison as people read it: one sentence, then tables in the order of their weight."""

import json
import re

import msgspec
import pytest

from plimsoll.app.render import render
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.reports.compare.json import render_compare_json
from unit.reports.fixture_diagnosis import CASES, pressed


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


def test_each_share_is_of_its_own_window():
    """Time at a ceiling is divided by what was measured on the same side, in every form."""
    diagnosis, shot = pressed()
    half = msgspec.structs.replace(diagnosis, measured_s=diagnosis.measured_s / 2)
    found = compare(diagnosis, shot, half, shot)
    report = json.loads(render_compare_json(found))
    (first, *_) = report["time_at"]

    assert 2 * report["before"]["at_ceiling_ratio"] == report["after"]["at_ceiling_ratio"]
    assert 2 * first["before_ratio"] == first["after_ratio"]
    assert "| any ceiling | 11 h 32 min (48 %) | 11 h 32 min (96 %) |" in render(found, "markdown")
