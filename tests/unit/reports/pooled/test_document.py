"""The report of the pooled cluster, in every form."""

import json

from plimsoll.app.render import render
from plimsoll.reports.chart.look import LIGHT
from plimsoll_lab.reports.drawn import drawn
from plimsoll_lab.reports.pooled.chart import pooled_spec
from pooled_reports import phase, report


def test_the_chart_stacks_states_and_marks_phases():
    """Active below, then idle in transaction and aborted, then idle; each phase begins at its first sample."""
    spec = pooled_spec(report(), look=LIGHT, width=600)
    row = spec["data"]["values"][0]
    rules = spec["layer"][0]["layer"][3]["data"]["values"]

    assert (25, 362, 389) == (row["active"], row["busy"], row["open"])
    assert [(1.0, "1")] == [(rule["second"], rule["title"]) for rule in rules]


def test_nothing_is_drawn_between_two_phases():
    """A sample belongs to the phase that began last before it."""
    later = phase(began_s=2.0)

    spec = pooled_spec(report(phases=(phase(), later)), look=LIGHT, width=600)

    assert [1, 2] == [row["phase"] for row in spec["data"]["values"]]
    line = spec["layer"][1]["encoding"]
    assert "phase" == line["detail"]["field"]


def test_json_says_whether_it_is_right_and_whole():
    """Properties of the report are fields of the form."""
    found = json.loads(render(drawn(report(phase_count=7)), "json"))

    assert (False, True) == (found["is_right"], found["is_interrupted"])
    assert {"no_answer": 2800, "refused": 211} == found["phases"][0]["figures"]["given_up"]
