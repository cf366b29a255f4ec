"""Many instances as Markdown, as a page and as JSON."""

import json

import pytest

from plimsoll.app.render import render
from plimsoll.reports.overview.json import render_overview_json
from unit.reports.fixture_fleet import ROWS, UNREAD, fleet

EVERY_NAME = [r.instance.identifier for r in ROWS] + [u.identifier for u in UNREAD]


def test_golden_markdown(golden):
    """What goes into a ticket is as it was last reviewed."""
    golden("overview/fleet.md", render(fleet(), "markdown"))


@pytest.mark.parametrize(
    ("form", "how"), [("markdown", {}), ("markdown", {"lists_all": True}), ("html", {}), ("json", {})]
)
def test_every_instance_is_named_in_every_form(form, how):
    """Nobody is left out; simulated data is called so."""
    text = render(fleet(), form, **how)

    assert [] == [name for name in EVERY_NAME if name not in text]
    assert "simulat" in text.lower()


def test_an_empty_fleet_has_every_form():
    """No instance is an answer too, and not a failure."""
    nothing = fleet((), (), usage=None, usd=None, window_s=None)
    counts = document(nothing)["counts"]

    assert "No instance was found." in render(nothing, "html")
    assert render(nothing, "markdown").startswith("# No instance was found.")
    assert (0, 0) == (counts["instances"], counts["binds_now"])


def test_a_stopped_reading_is_in_every_form():
    """Why it stopped is reported to people and machines."""
    stopped = fleet(stopped="the token expired")

    assert "the token expired" == document(stopped)["stopped"]
    assert all("Reading stopped early: the token expired." in render(stopped, form) for form in ("html", "markdown"))
    assert document()["stopped"] is None


def document(overview=None):
    """The JSON form, read back."""
    return json.loads(render_overview_json(overview or fleet()))


def test_golden_json(golden):
    """What machines read is as it was last reviewed."""
    golden("overview/fleet.json", render_overview_json(fleet()).decode())


def test_an_unknown_price_is_null():
    """What is not known is null, never zero."""
    assert document(fleet(usd=None))["cost_usd"] is None
    assert 0.1235 == document()["cost_usd"]
    assert document(fleet(usage=None))["usage"] is None
