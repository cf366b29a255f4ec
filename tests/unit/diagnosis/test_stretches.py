"""The stretches that are compared: the longest at a ceiling, and the longest that is free of trouble."""

import pytest
from msgspec.structs import replace

from plimsoll.diagnosis.stretches import merged, stretches_of
from plimsoll.model.session_load import StretchKind
from unit.reports.fixture_diagnosis import CASES


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ((), ()),
        (((5, 9), (0, 3)), ((0, 3), (5, 9))),
        (((0, 5), (5, 9)), ((0, 9),)),
        (((0, 9), (2, 4), (8, 12)), ((0, 12),)),
    ],
)
def test_spans_that_meet_are_joined(spans, expected):
    """Spans come in order of time, and no moment is in two of them."""
    assert expected == merged(spans)


def test_the_longest_stretch_at_a_ceiling_is_compared_with_the_longest_without():
    """Of the time without a ceiling the longest part counts, also at an end of the window."""
    made = CASES["pressed"]()[0]
    one = made.intervals[0]
    spans = ((100, 200), (150, 400), (500, 550))
    diagnosis = replace(
        made, window_s=(0, 1000), intervals=tuple(replace(one, start_s=a, end_s=b) for a, b in spans), waiting=()
    )
    found = stretches_of(diagnosis)

    assert (StretchKind.CEILING, (100, 400), (550, 1000)) == (found.why, found.during, found.outside)
    whole = replace(diagnosis, intervals=(replace(one, start_s=0, end_s=1000),))
    found = stretches_of(whole)
    assert found.outside is None


def test_without_a_ceiling_and_without_waiting_nothing_is_asked():
    """A quiet window costs no request."""
    quiet = replace(CASES["quiet"]()[0], intervals=(), waiting=())

    assert stretches_of(quiet) is None
