"""An experiment's report, in every form."""

import json
import re

import jsonschema
import pytest
from msgspec.structs import replace

from experiments import FIGURES, NOTHING, RIGHT, experiment, phase
from plimsoll.app.render import document_of, render
from plimsoll.model.experiment import ExperimentProgress
from plimsoll.reports.chart.look import LIGHT
from plimsoll.reports.experiment.chart import experiment_spec
from plimsoll.reports.lab.experiment import experiment_line, experiment_lines
from unit.reports.lab.test_text import progress

WRONG = replace(RIGHT, found="unknown", is_right=False)


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (experiment(phase(), phase(1)), "right in all 2 phases (scale 1:40)."),
        (experiment(phase(), phase(1, checks=(WRONG,))), "right in 1 of 2 phases (scale 1:40)."),
        (experiment(is_void=True), "void, because this machine was too slow (scale 1:40)."),
        (experiment(is_interrupted=True), "interrupted after 1 phases, 1 of them judged right"),
    ],
)
def test_the_headline_says_how_it_ended(report, says):
    """With the scale."""
    assert says in document_of(report).headline


def test_published_figures_stand_beside_ours():
    """Those without a measurement have a row of their own."""
    lines = render(experiment(), width=100).splitlines()

    assert any(
        "212 MB/s (120 MB/s read, 92.5 MB/s written)" in x and "213 MB/s" in x for x in lines
    )
    assert any(x.split() == ["effect", "none"] for x in lines)


def test_what_is_wrong_is_said_with_the_truth():
    """Both sentences, and that they do not agree."""
    text = render(experiment(phase(checks=(WRONG,))), width=120)

    assert "▲ not right" in text
    assert "legacy baseline, 212.5" in text
    assert "0 of 1 right" in text


def test_what_was_not_measured_is_not_zero():
    """A dash, in the table and in the list."""
    text = render(experiment(phase(figures=NOTHING)), width=100)

    assert "0 MB/s" not in text
    assert re.search(r"throughput +–", text)


def test_an_experiment_shows_what_it_measures():
    """A load has no events and no dead tuples, in the table and in the lists; a service loads no files."""
    loaded = replace(
        NOTHING, loading_minutes=9.0, refresh_minutes=41.0, jobs_minutes=50.0, byte_balance_min=0.0
    )
    load, service = (render(experiment(phase(figures=one)), width=140) for one in (loaded, FIGURES))

    assert "Refresh" in load
    assert re.search(r"lowest byte balance +0 %", load)
    assert "41 min" in load
    assert "freshness" not in load
    assert "dead tuples" not in load
    assert "freshness" in service
    assert "byte balance" not in service


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_every_form_ends_with_a_newline_and_bears_the_scale(form):
    """Nobody sees a rate without it."""
    text = render(experiment(), form, width=100 if form == "text" else None)

    assert text.endswith("\n")
    assert "1:40" in text or '"scale": 40' in text


def test_json_has_every_phase():
    """With what Plimsoll said, and whether all of it is right."""
    found = json.loads(render(experiment(phase(), phase(1, checks=(WRONG,))), "json"))

    assert [True, False] == [one["is_right"] for one in found["phases"]]
    assert found["is_right"] is False


@pytest.mark.parametrize("width", [980, 270])
def test_the_chart_is_a_valid_specification(width):
    """Of Vega-Lite, as Altair brings its schema along; each phase has a title."""
    import altair as alt

    spec = experiment_spec(experiment(phase(), phase(1)), look=LIGHT, width=width)
    jsonschema.Draft7Validator(alt.load_schema()).validate(spec)
    titles = spec["layer"][-1]["data"]["values"]

    assert 2 == len(titles)
    assert titles[0]["title"].startswith("1")
    assert 40 == len(spec["data"]["values"])


@pytest.mark.parametrize(
    ("width", "titles"), [(980, ["1 Load grows", "2 Load grows"]), (120, ["1", "2"])]
)
def test_a_phase_that_is_too_short_for_its_title_has_its_number(width, titles):
    """Otherwise titles stand on each other."""
    spec = experiment_spec(experiment(phase(), phase(1)), look=LIGHT, width=width)

    assert titles == [value["title"] for value in spec["layer"][-1]["data"]["values"]]


def test_the_live_display_says_phase_scale_lag_and_response():
    """Also in one line for a log."""
    shown = ExperimentProgress(
        title="Load grows",
        number=2,
        count=7,
        scale=20.0,
        storage=progress(),
        lag=1234.0,
        response_s=0.0312,
    )

    assert "phase 2 of 7: Load grows (scale 1:20)" == experiment_lines(shown)[0]
    assert "lag 1,234 events; the database answers in 31 ms" in experiment_lines(shown)[-1]
    assert experiment_line(replace(shown, lag=None, response_s=None)).endswith(
        "lag unknown; no response yet"
    )
    assert "2 of 3 files loaded; the database" in experiment_line(
        replace(shown, lag=None, work="2 of 3 files loaded")
    )
