"""An experiment's report, in every form."""

import json

import jsonschema
import pytest
from msgspec.structs import replace

from experiments import RIGHT, experiment, phase
from plimsoll.app.render import render
from plimsoll.reports.chart.look import LIGHT
from plimsoll_lab.reports.drawn import drawn
from plimsoll_lab.reports.experiment.chart import experiment_spec

WRONG = replace(RIGHT, found="unknown", is_right=False)


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_every_form_ends_with_a_newline_and_bears_the_scale(form):
    """Nobody sees a rate without it."""
    text = render(drawn(experiment()), form, width=100 if form == "text" else None)

    assert text.endswith("\n")
    assert "1:40" in text or '"scale": 40' in text


def test_json_has_every_phase():
    """With what Plimsoll said, and whether all of it is right."""
    found = json.loads(render(drawn(experiment(phase(), phase(1, checks=(WRONG,)))), "json"))

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


@pytest.mark.parametrize(("width", "titles"), [(980, ["1 Load grows", "2 Load grows"]), (120, ["1", "2"])])
def test_a_phase_that_is_too_short_for_its_title_has_its_number(width, titles):
    """Otherwise titles stand on each other."""
    spec = experiment_spec(experiment(phase(), phase(1)), look=LIGHT, width=width)

    assert titles == [value["title"] for value in spec["layer"][-1]["data"]["values"]]
