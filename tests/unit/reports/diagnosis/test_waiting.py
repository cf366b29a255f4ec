"""Waiting that no ceiling explains, in every form of report and in the table of many instances."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.chart import timeline_spec
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.diagnosis.html import render_html
from plimsoll.reports.diagnosis.json import render_json
from plimsoll.reports.diagnosis.markdown import render_markdown
from plimsoll.reports.diagnosis.text import render_text
from plimsoll.reports.overview.json import render_overview_json
from plimsoll.reports.overview.outline import overview_outline
from unit.diagnosis.waiting.test_waiting import M5, slow_for_three_hours

SHOT = builders.snapshot(slow_for_three_hours(np.random.default_rng(1)), instance=M5)
FOUND = diagnose(SHOT, catalog())
CALM = replace(FOUND, verdict=Verdict.SLACK, waiting=(), waiting_causes=(), findings=())


def test_the_headline_says_how_long_how_much_and_until_when():
    """Times, hours, window, and that no documented ceiling explains it."""
    assert headline(FOUND) == (
        "Storage latency of orders (db.m5.2xlarge) was 21 times normal for 3 h of 2 d, until "
        "2021-03-08 19:40; no documented limit explains it."
    )


def test_waiting_to_the_end_of_the_window_is_reported():
    """What lasts to the last sample is dated by the end of the window."""
    still = replace(FOUND.waiting[0], end_s=FOUND.window_s[1])

    assert "and still at the end (2021-03-10 00:00)" in headline(replace(FOUND, waiting=(still,)))


@pytest.mark.parametrize("width", [60, 100])
def test_the_text_lists_stretches_and_causes(width):
    """Each stretch with its numbers, each cause with what would tell, and a mark under the timeline."""
    text = " ".join(render_text(FOUND, SHOT, width=width, color=False).split())

    assert "WAITING WITHOUT A KNOWN CEILING" in text
    assert "POSSIBLE CAUSES - Likely: Slow storage: a noisy neighbour" in text
    assert "To check: Check the AWS Health Dashboard" in text
    assert "NOT KNOWN" in text.split("TIMELINE")[1]


def test_the_timeline_marks_waiting_otherwise_than_a_ceiling():
    """A row of its own in text; in the chart a grey shade in every panel, and none without waiting."""
    rows = [line for line in timeline_blocks(FOUND, SHOT, width=80) if line.startswith("  waited")]
    spec = timeline_spec(FOUND, SHOT)
    shaded = [
        sum(layer.get("data") == {"name": "waited"} for layer in panel["layer"])
        for panel in spec["vconcat"]
    ]

    assert 1 == len(rows)
    assert "░" in rows[0]
    assert {1} == set(shaded)
    assert [{"a": 1000 * FOUND.waiting[0].start_s, "b": 1000 * FOUND.waiting[0].end_s}] == (
        spec["datasets"]["waited"]
    )
    assert "Shaded grey: requests waited" in " ".join(spec["title"]["subtitle"])
    assert "waited" not in timeline_spec(CALM, SHOT)["datasets"]


def test_markdown_and_page_say_the_same():
    """Sections for causes and stretches, and the legend of the shade in the page."""
    markdown = render_markdown(FOUND, SHOT)
    page = render_html(FOUND, SHOT)

    assert "## Waiting without a known ceiling" in markdown
    assert "| 2021-03-08 16:40 – 19:40 | 3 h | 21 |" in markdown
    assert "## Possible causes" in markdown
    assert "Shaded grey: requests waited, and no documented limit explains it." in page
    assert '<h2 id="waiting">Waiting without a known ceiling</h2>' in page
    assert '<h2 id="possible">Possible causes</h2>' in page


def test_json_has_the_stretch_the_causes_and_now():
    """Machines get the numbers, and whether it lasts to the end of the window."""
    document = json.loads(render_json(FOUND))

    assert "2021-03-08T16:40:00Z" == document["waiting"][0]["start"]
    assert document["waiting"][0]["shares"][0]["family"] == "instance_ebs_iops"
    assert "storage_fault" == document["waiting_causes"][0]["code"]
    assert document["now"] == {
        "is_bound": False,
        "is_waiting": False,
        "bound": None,
        "last_end": "2021-03-08T19:40:00Z",
    }


def test_an_instance_whose_requests_waited_is_not_slack_in_the_table():
    """It stands before those that are near a limit, with times and hours; the sentence counts it."""
    near = replace(CALM, verdict=Verdict.NEAR, instance=replace(M5, identifier="a-near"))
    rows = [overview_row(d) for d in (near, FOUND)]
    overview = overview_of(rows, (), window_s=FOUND.window_s, source="rds:*")
    outline = overview_outline(overview)

    assert ["orders", "a-near"] == [row.name for row in outline.rows]
    assert ("waited", "no known ceiling", "3 h") == (
        outline.rows[0].word,
        outline.rows[0].limit,
        outline.rows[0].time_at,
    )
    assert "latency was 21 times normal for 3 h" in outline.rows[0].notes[0]
    assert "1 waits for storage, and no documented limit explains it" in outline.headline
    document = json.loads(render_overview_json(overview))
    assert (10_800.0, False) == (
        document["rows"][0]["waiting"]["seconds"],
        document["rows"][0]["waiting"]["is_now"],
    )


def test_one_instance_alone_that_waits_is_reported():
    """Where none could be judged, the sentence is about the waiting."""
    overview = overview_of([overview_row(FOUND)], (), window_s=FOUND.window_s, source="rds:*")

    assert overview_outline(overview).headline == (
        "1 of 1 instance waits for storage, and no documented limit explains it."
    )
