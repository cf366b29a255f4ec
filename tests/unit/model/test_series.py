"""A measured series: an average over a step is not its peak, and a gap is not a zero."""

import numpy as np
import pytest

import builders
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series

CPU = Metric.CPU_RATIO


def test_equal_series_are_equal_with_their_gaps():
    """NaN equals NaN in a series: the same gap twice is the same measurement."""
    assert builders.series(CPU, [0.1, np.nan]) == builders.series(CPU, [0.1, np.nan])
    assert hash(builders.series(CPU, [0.1])) == hash(builders.series(CPU, [0.1]))


@pytest.mark.parametrize(
    "other",
    [
        builders.series(CPU, [0.1, 0.3]),
        builders.series(Metric.QUEUE_DEPTH, [0.1, 0.2]),
        builders.series(CPU, [0.1, 0.2], step_s=300),
        builders.series(CPU, [0.1, 0.2], start_s=0),
        builders.series(CPU, [0.1, np.nan]),
        "cpu",
    ],
)
def test_any_difference_makes_another_series(other):
    """Metric, step, times and values all count."""
    assert builders.series(CPU, [0.1, 0.2]) != other


@pytest.mark.parametrize(
    ("time_s", "value", "step_s"),
    [
        ([0, 60], [1.0], 60),  # one value too few
        ([60, 0], [1.0, 2.0], 60),  # going back
        ([0, 0], [1.0, 2.0], 60),  # twice the same time
        ([0], [1.0], 0),  # no step
        ([[0, 60]], [[1.0, 2.0]], 60),  # a table
    ],
)
def test_a_series_out_of_order_is_our_mistake(time_s, value, step_s):
    """Sources sort and deduplicate; what is out of order here is a bug, not bad input."""
    with pytest.raises(AssertionError):
        Series(metric=CPU, step_s=step_s, time_s=np.array(time_s), value=np.array(value))


def test_an_empty_series_is_a_series():
    """Nothing measured has no times, and equals itself."""
    assert builders.series(CPU, []) == builders.series(CPU, [])
