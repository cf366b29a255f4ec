"""Waiting that no ceiling explains, in every form of report and in the table of many instances."""

import json

import numpy as np
from msgspec.structs import replace

import builders
from plimsoll.app.render import Report, render
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.chart import timeline_spec
from plimsoll.reports.diagnosis.json import render_json
from unit.diagnosis.waiting.test_waiting import M5, slow_for_three_hours

SHOT = builders.snapshot(slow_for_three_hours(np.random.default_rng(1)), instance=M5)
FOUND = diagnose(SHOT, catalog())
CALM = replace(FOUND, verdict=Verdict.SLACK, waiting=(), waiting_causes=(), findings=())


def test_the_timeline_marks_waiting_otherwise_than_a_ceiling():
    """A row of its own in text; in the chart a grey shade in every panel, and none without waiting."""
    rows = [line for line in timeline_blocks(FOUND, SHOT, width=80) if line.startswith("  waited")]
    spec = timeline_spec(FOUND, SHOT)
    shaded = [sum(layer.get("data") == {"name": "waited"} for layer in panel["layer"]) for panel in spec["vconcat"]]

    assert 1 == len(rows)
    assert "░" in rows[0]
    assert {1} == set(shaded)
    assert [{"a": 1000 * FOUND.waiting[0].start_s, "b": 1000 * FOUND.waiting[0].end_s}] == (spec["datasets"]["waited"])
    assert "Shaded grey: requests waited" in " ".join(spec["title"]["subtitle"])
    assert "waited" not in timeline_spec(CALM, SHOT)["datasets"]


def test_the_page_says_the_same():
    """Sections for causes and stretches, and the legend of the shade."""
    page = render(Report(diagnosis=FOUND, snapshot=SHOT), "html")

    assert "Shaded grey: requests waited, and no documented limit explains it." in page
    assert ">Waiting without a known ceiling</h2>" in page
    assert ">Possible causes</h2>" in page


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
