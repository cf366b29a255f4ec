"""Many instances as Markdown, as a page and as JSON."""

import json
import re

import pytest

from plimsoll.app.render import render
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import UnreadInstance
from plimsoll.reports.overview.json import render_overview_json
from unit.reports.diagnosis.test_html import Reader, leaving
from unit.reports.fixture_fleet import LEGACY, ROWS, UNREAD, fleet, instance, row

EVERY_NAME = [r.instance.identifier for r in ROWS] + [u.identifier for u in UNREAD]
EVIL = "</style><script>alert(1)</script><img src=x onerror=alert(2)>|`*_\"'"


def as_markdown(overview):
    """The Markdown form."""
    return render(overview, "markdown")


def as_page(overview):
    """The page."""
    return render(overview, "html")


def document(overview=None):
    """The JSON form, read back."""
    return json.loads(render_overview_json(overview or fleet()))


def test_golden_markdown(golden):
    """What goes into a ticket is as it was last reviewed."""
    golden("overview/fleet.md", as_markdown(fleet()))


def test_golden_json(golden):
    """What machines read is as it was last reviewed."""
    golden("overview/fleet.json", render_overview_json(fleet()).decode())


@pytest.mark.parametrize(
    "render",
    [as_markdown, lambda o: render(o, "markdown", lists_all=True), as_page, lambda o: render_overview_json(o).decode()],
)
def test_every_instance_is_named_in_every_form(render):
    """Nobody is left out; simulated data is called so; equal fleets give equal text."""
    text = render(fleet())

    assert [] == [name for name in EVERY_NAME if name not in text]
    assert "simulat" in text.lower()
    assert render(fleet()) == text


def test_markdown_rows_have_as_many_cells_as_titles():
    """No text from outside can add a cell, a heading or markup."""
    rows = (row(EVIL, Verdict.BINDS, instance=instance(EVIL, EVIL), binding=LEGACY),)
    text = as_markdown(fleet(rows, (UnreadInstance(identifier=EVIL, reason=EVIL, remedy=EVIL),)))
    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line[:1] == "|"}

    assert {11} == cells
    assert "<script>" not in text.replace("\\<", "")


def test_a_page_is_well_formed_and_loads_nothing():
    """Every tag is closed, ids are unique, and no reference leaves the page."""
    text = as_page(fleet())
    found = Reader(text)

    assert ([], []) == (found.open, found.wrong)
    assert len(set(found.ids)) == len(found.ids)
    assert ["data:,"] == leaving(found)
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) == set()


def test_a_hostile_name_stays_text():
    """Markup in any text is shown, never run."""
    rows = (row(EVIL, Verdict.BINDS, instance=instance(EVIL, EVIL), binding=LEGACY),)
    lost = (UnreadInstance(identifier=EVIL, reason=EVIL, remedy=EVIL),)
    text = as_page(fleet(rows, lost, source=EVIL, stopped=EVIL))
    found = Reader(text)

    assert 1 == text.count("<script")
    assert "<img" not in text
    assert not [a for a in found.attributes if a[1].startswith("on")]
    assert EVIL in "".join(found.text)


def test_every_colour_of_the_page_is_defined():
    """Each CSS variable that is used has a value."""
    text = as_page(fleet())
    style = text[text.index("<style>") : text.index("</style>")]

    assert [] == [n for n in set(re.findall(r"var\((--[a-z-]+)\)", text)) if f"{n}:" not in style]


def test_an_empty_fleet_has_every_form():
    """No instance is an answer too, and not a failure."""
    nothing = fleet((), (), usage=None, usd=None, window_s=None)

    assert "No instance was found." in as_page(nothing)
    assert as_markdown(nothing).startswith("# No instance was found.")
    assert {"instances": 0, "binds_now": 0} == {
        key: document(nothing)["counts"][key] for key in ("instances", "binds_now")
    }


def test_an_unknown_price_is_null():
    """What is not known is null, never zero."""
    assert document(fleet(usd=None))["cost_usd"] is None
    assert 0.1235 == document()["cost_usd"]
    assert document(fleet(usage=None))["usage"] is None


def test_a_stopped_reading_is_in_every_form():
    """Why it stopped is reported to people and machines."""
    stopped = fleet(stopped="the token expired")

    assert "the token expired" == document(stopped)["stopped"]
    assert "Reading stopped early: the token expired." in as_page(stopped)
    assert "Reading stopped early: the token expired." in as_markdown(stopped)
    assert document()["stopped"] is None
