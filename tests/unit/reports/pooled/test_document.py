"""The report of the pooled cluster, in every form."""

import json
import re

import pytest
from msgspec.structs import replace

from plimsoll.app.render import document_of, render
from plimsoll.model.pooled import PooledProgress
from plimsoll.reports.chart.look import LIGHT
from plimsoll.reports.lab.pooled import pooled_line, pooled_lines
from plimsoll.reports.pooled.chart import pooled_spec
from plimsoll.reports.pooled.outcome import target_words, verdict
from pooled_reports import NOTHING, OUTCOME, RIGHT, SAMPLE, phase, report

WRONG = replace(RIGHT, found="none of this", is_right=False)
PROGRESS = PooledProgress(
    title="Arrivals rise",
    number=2,
    count=7,
    scale=10.0,
    elapsed_s=5.0,
    duration_s=20.0,
    sample=SAMPLE,
    waiting=249,
    pooled=74,
    refused=3,
    given_up=51,
    latency_s_p95=None,
    held_s=None,
)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (
            report(is_void=True, phase_count=8),
            "void in phase 1 of 8, because this machine was too slow or",
        ),
        (report(), "right in all 1 phases (scale 1:10)."),
        (report(phases=(phase(checks=(WRONG,)),)), "right in 0 of 1 phases (scale 1:10)."),
        (report(phase_count=7), "interrupted after 1 phases, 1 of them judged right (scale 1:10)."),
    ],
)
def test_the_headline_says_how_it_ended(found, says):
    """With the scale."""
    assert says in document_of(found).headline


def test_published_figures_stand_beside_ours():
    """Those without a measurement have a row of their own."""
    lines = render(report(), width=110).splitlines()

    assert any("389 at most, 380 at the end" in x and "more than 7,000" in x for x in lines)
    assert any(x.split() == ["effect", "none"] for x in lines)


def test_reasons_are_given_the_most_frequent_first():
    """Their sum, and each with its number."""
    text = " ".join(render(report(), width=200).split())

    assert "3,011 given up (2,800 no answer, 211 refused)" in text


def test_what_was_not_measured_is_not_zero():
    """A dash for latency and for how long a connection is held."""
    text = render(report(phases=(phase(figures=NOTHING),)), width=110)

    assert re.search(r"held +–", text)
    assert re.search(r"latency +– \(median\), – \(95 %\)", text)
    assert "none given up" in " ".join(text.split())


def test_what_is_wrong_is_said_with_the_truth():
    """Both sentences, and that they do not agree."""
    text = render(report(phases=(phase(checks=(WRONG,)),)), width=120)

    assert "▲ not right" in text
    assert "none of this" in text
    assert "0 of 1 right" in text


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


def test_the_page_has_the_chart_and_the_scale():
    """One page, with both."""
    page = render(report(), "html")

    assert "scale 1:10" in page
    assert "<svg" in page


def test_json_says_whether_it_is_right_and_whole():
    """Properties of the report are fields of the form."""
    found = json.loads(render(report(phase_count=7), "json"))

    assert (False, True) == (found["is_right"], found["is_interrupted"])
    assert {"no_answer": 2800, "refused": 211} == found["phases"][0]["figures"]["given_up"]


def test_progress_shows_the_scale_with_the_connections():
    """In the display and in the line of a log."""
    lines = pooled_lines(PROGRESS)

    assert "phase 2 of 7: Arrivals rise, 5 of 20 s (connections 1:10)" == lines[0]
    assert "389 connections: 25 active, 27 idle, 335 idle in transaction, 2 aborted" in lines[1]
    assert "74 connections, held longer than this phase; 249 requests wait" in lines[2]
    assert "151/s arrive, 6/s done, 51 given up; 95 % within –" in lines[3]
    assert pooled_line(PROGRESS).startswith("5 s (1:10): 389 connections, 25 active; 3,302")


def test_how_long_connections_are_held_is_shown_once_it_is_known():
    """By Little's law."""
    assert "held 1.5 s" in pooled_lines(replace(PROGRESS, held_s=1.5))[2]


def test_what_was_reached_stands_beside_what_was_wanted():
    """The ratio to the storm, PgBouncer's figure, the target and why it is that, and who spent the processors."""
    text = " ".join(render(report(), width=110).split())

    assert "ratio of the two 5.5 at least 5" in text
    assert "queries per second at the end 1,800 at least 4,500" in text
    assert "useful queries per second through PgBouncer 2,100" in text
    assert "54 business transactions arrive per second, as published. By the processor time" in text
    assert "PostgreSQL 50 %" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "The processors are the limit: 95 % of 2 were busy at the end. Other programs took"),
        ({"processors": {"PostgreSQL": 0.95}}, "of 2 were busy at the end."),
        ({"processors": {"PostgreSQL": 0.4}}, "were 40 % busy at the end, so they are not the"),
        ({"end_queries_per_s": 4_600.0}, "The published figures were reached."),
    ],
)
def test_the_limit_is_named_with_its_measurement(changes, says):
    """The processors only where they were busy; other programs where they took a part."""
    assert says in verdict(replace(OUTCOME, **changes))


def test_what_the_machine_carries_is_said_if_it_is_known():
    """The target is the published one either way."""
    assert "this machine carries 60" in target_words(replace(OUTCOME, carried_per_s=60.0))
    assert target_words(replace(OUTCOME, carried_per_s=None)).endswith("as published.")


def test_an_interrupted_run_has_no_outcome():
    """Neither in the text nor in JSON."""
    found = report(outcome=None)

    assert "What was reached" not in render(found, width=110)
    assert json.loads(render(found, "json"))["outcome"] is None
