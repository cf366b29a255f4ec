import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import START_S, series, timed
from plimsoll.model.metric import Metric
from plimsoll.sources.aws.busiest import busiest_stretch

READS, WRITES = Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S
DAY_S = 86_400
WINDOW_S = (START_S, START_S + DAY_S)


def test_reads_and_writes_count_together():
    """The hour of the sum, not of either alone."""
    reads = np.ones(1440)
    writes = np.ones(1440)
    reads[0:60], writes[120:180] = 10, 9
    reads[120:180] = 4

    assert busiest_stretch([series(READS, reads), series(WRITES, writes)], WINDOW_S, 3600) == (
        START_S + 120 * 60,
        START_S + 180 * 60,
    )


def test_of_equal_stretches_the_last_is_taken():
    """It is the one people ask about."""
    flat = series(READS, np.ones(1440))

    assert busiest_stretch([flat], WINDOW_S, 3600) == (WINDOW_S[1] - 3600, WINDOW_S[1])


def test_a_burst_at_the_very_end_is_seen_with_the_time_before_it():
    """A stretch has its full length where the window has room for it."""
    value = np.zeros(1440)
    value[-1] = 5

    assert busiest_stretch([series(READS, value)], WINDOW_S, 3600) == (
        WINDOW_S[1] - 3600,
        WINDOW_S[1],
    )


def test_a_window_shorter_than_the_stretch_is_taken_whole():
    """There is nothing to choose."""
    flat = series(READS, np.ones(10))

    assert busiest_stretch([flat], (START_S, START_S + 600), 3600) == (START_S, START_S + 600)


def test_without_samples_there_is_no_stretch():
    """Neither of no series nor of empty ones."""
    assert busiest_stretch([], WINDOW_S, 3600) is None
    assert busiest_stretch([timed(READS, [], [])], WINDOW_S, 3600) is None


def test_what_is_not_measured_counts_for_nothing():
    """NaN neither wins nor spoils."""
    value = np.ones(180)
    value[0:60] = np.nan
    value[90] = np.nan
    value[60:80] = 5
    found = busiest_stretch([series(READS, value)], (START_S, START_S + 180 * 60), 3600)

    assert found == (START_S + 60 * 60, START_S + 120 * 60)


@given(
    value=st.lists(st.integers(0, 1000), min_size=1, max_size=60),
    minutes=st.integers(1, 90),
)
def test_no_other_stretch_holds_more(value, minutes):
    """Compared with every stretch that begins with a sample and ends within the window."""
    one = series(READS, np.array(value, dtype=float))
    window = (START_S, START_S + 60 * len(value))
    start, end = busiest_stretch([one], window, 60 * minutes)
    first, last = (start - START_S) // 60, (end - START_S) // 60
    held = sum(value[first:last])

    assert window[0] <= start < end <= window[1]
    assert end - start <= 60 * minutes
    assert held == max(sum(value[at : at + minutes]) for at in range(len(value)))


def test_a_stretch_has_a_length():
    """Anything else is our mistake."""
    with pytest.raises(AssertionError):
        busiest_stretch([], WINDOW_S, 0)
