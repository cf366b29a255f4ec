"""The report of a rehearsal: the answer first, then what to do, then the classes."""

import math

import pytest
from msgspec.structs import replace

from plimsoll.app.render import render
from plimsoll.model.rehearsal import Span
from rehearsals import rehearsal


def text(**fields) -> str:
    return " ".join(render(rehearsal(**fields), "text", width=100).split())


def test_the_first_sentence_is_the_answer():
    found = text()

    assert found.startswith("10.2 GB will take about ")
    assert "on db.t3.xlarge: burst credits end after " in found
    assert "then 50 MB/s of the instance EBS throughput decides." in found


def test_what_does_not_finish_names_the_cheapest_that_does():
    late = rehearsal()
    within = (late.present.seconds.low + late.classes[0].seconds.high) / 2
    found = text(
        finish_within_s=within, cheapest=late.classes[0], present=replace(late.present, fits=False)
    )

    assert "It does not finish within " in found
    assert "The cheapest class that does is db.m5.xlarge: about " in found
    assert "+$1.25 a day" in found
    assert "if you keep it for the load alone" in found


@pytest.mark.parametrize(
    ("fits", "words"),
    [(True, "It finishes within 1 h here."), (None, "the bounds are on both sides")],
)
def test_other_answers_are_said(fits, words):
    assert words in text(
        finish_within_s=3600.0, present=replace(rehearsal().present, fits=fits), cheapest=None
    )


def test_bounds_alone_are_no_number():
    bounds = Span(low=60.0, likely=None, high=120.0)
    found = text(present=replace(rehearsal().present, seconds=bounds))

    assert "10.2 GB will take between 1 min and 2 min" in found
    assert "unknown" in found


def test_bounds_that_read_alike_are_the_time_everywhere():
    bounds = Span(low=4.01, likely=None, high=4.02)
    found = text(present=replace(rehearsal().present, seconds=bounds), classes=())

    assert "10.2 GB will take about 4 s" in found
    assert "unknown" not in found


def test_a_sample_that_is_too_small_gives_no_time():
    nothing = Span(low=0.0, likely=None, high=math.inf)
    found = text(present=replace(rehearsal().present, seconds=nothing), input_bytes=17.0)

    assert found.startswith("How long 17 bytes will take on db.t3.xlarge is not known")
    assert " 0 s" not in found


def test_a_load_that_never_ends_says_so():
    endless = Span(low=math.inf, likely=math.inf, high=math.inf)

    assert "will take for ever" in text(
        present=replace(rehearsal().present, seconds=endless, end_per_s=0.0)
    )


def test_the_load_itself_can_decide():
    found = text(present=replace(rehearsal().present, binding=None, end_per_s=5e6))

    assert "the load itself decides (5 MB/s of input), not the storage" in found
