"""What is asked for, and how much of its time may be spent at a ceiling."""

from dataclasses import replace

import numpy as np
import pytest

from plan_cases import asked


@pytest.mark.parametrize(
    ("ratio", "minutes", "steps"), [(0.01, 20_160, 201), (0.29, 100, 29), (0.07, 100, 7), (0.0, 100, 0)]
)
def test_a_share_that_is_allowed_is_meant_as_it_was_written(ratio: float, minutes: int, steps: int):
    """1 % of two weeks of minutes are 201; 29 % of a hundred are 29, though 0.29 × 100 is below it."""
    assert steps == asked(np.ones(minutes)).allowed_steps(ratio)


def test_what_was_not_measured_is_no_time_of_which_a_share_is_allowed():
    """Of ten hours of which half was measured, a tenth are thirty minutes."""
    measured = np.arange(600) < 300
    half = replace(asked(np.ones(600)), is_measured=measured)

    assert 300 == half.gap_count
    assert 30 == half.allowed_steps(0.1)
