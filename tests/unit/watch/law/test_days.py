"""Summaries of days."""

import numpy as np

from plimsoll.model.ceiling import Family
from plimsoll.watch.law.days import DAY_S, DaySummary, merged, of_family, summarise

FAMILY = Family.CPU
MIDNIGHT = 18_700 * DAY_S


def day(number: int, *, high_s: float, measured_s: float, peak: float) -> DaySummary:
    """A summary of one day."""
    return DaySummary(day=number, family=FAMILY, high_s=high_s, measured_s=measured_s, peak_ratio=peak)


def test_samples_belong_to_the_day_in_which_they_start():
    """A stretch over midnight adds to two days; only samples of the window that have a value count."""
    times = MIDNIGHT + 60 * np.arange(-3, 3)
    ratios = np.array([0.9, 0.81, 0.8, 0.1, np.nan, 0.99])

    assert summarise(FAMILY, times, ratios, step_s=60, window_s=(MIDNIGHT - 120, MIDNIGHT + 180)) == [
        day(18_699, high_s=60.0, measured_s=120.0, peak=0.81),
        day(18_700, high_s=60.0, measured_s=120.0, peak=0.99),
    ]


def test_stretches_of_a_day_add_up():
    """Times are added, and the higher peak stays."""
    one = day(1, high_s=60.0, measured_s=600.0, peak=0.9)
    other = day(1, high_s=0.0, measured_s=300.0, peak=0.4)

    assert merged(one, other) == day(1, high_s=60.0, measured_s=900.0, peak=0.9)
    assert merged(other, one) == merged(one, other)


def test_days_of_a_family_come_in_order():
    """Whatever order they are stored in."""
    second, first = (day(n, high_s=0.0, measured_s=0.0, peak=0.0) for n in (2, 1))

    assert of_family([second, first], FAMILY) == [first, second]
    assert of_family([second], Family.MEMORY) == []
