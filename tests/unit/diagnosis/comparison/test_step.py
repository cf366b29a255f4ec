"""Whether the step between two windows was enough for the ceiling that bound before it."""

import pytest
from msgspec.structs import replace

from builders import START_S
from plimsoll.model.comparison import StepResult
from unit.diagnosis.comparison.test_compare import DAY_S, HOUR_S, M6G, T3, calm, compared, pressed

WEEK_S = 7 * DAY_S
BEFORE = pressed()


def test_a_day_below_every_ceiling_under_the_same_load_was_enough():
    """Ten hours of each day were at a ceiling; after it none are, and no less was served."""
    after = calm(start_s=START_S + WEEK_S, instance=M6G, rate=60e6)
    found = compared(BEFORE, after)

    assert StepResult.ENOUGH is found.step
    assert found.lighter_ratio < 0.1


def test_a_ceiling_that_is_still_reached_was_not_enough():
    """One hundredth of the time is allowed; a third of the hours of before is more."""
    after = pressed(start_s=START_S + WEEK_S, busy_share=0.3)

    assert StepResult.NOT_ENOUGH is compared(BEFORE, after).step


def test_a_lighter_load_does_not_show_that_the_step_was_enough():
    """A quarter of what was served before is no trial of the load of before."""
    found = compared(BEFORE, calm(start_s=START_S + WEEK_S, instance=M6G, rate=15e6))

    assert StepResult.ENOUGH_FOR_LESS is found.step
    assert found.lighter_ratio > 0.5


@pytest.mark.parametrize("hours", [(0, 6), (16, 24)])
def test_hours_in_which_it_never_bound_are_no_trial(hours):
    """The ceiling bound from 08:00 to 16:00; the night after the step says nothing of it."""
    first, last = hours
    midnight = START_S - START_S % DAY_S
    before = pressed(start_s=midnight)
    after = calm(last - first, start_s=midnight + WEEK_S + first * HOUR_S, instance=M6G, rate=60e6)

    assert StepResult.NOT_SEEN is compared(before, after).step


def test_nothing_is_reported_where_no_ceiling_bound_before_or_of_another_instance():
    """Then there was nothing to get past, or the step was not one of this instance."""
    later = START_S + WEEK_S
    quiet = compared(calm(), calm(start_s=later))
    other = compared(BEFORE, calm(start_s=later, instance=replace(T3, identifier="orders")))

    assert [None, None] == [quiet.step, other.step]
