"""Scrapes become minutes, own times stay, and what is repeated is one sample."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.sources.prometheus.gauges import Gridded, gridded, joined, without_repetitions

START_S = 1_615_161_600
START_MS = 1000 * START_S


def times(seconds) -> np.ndarray:
    return START_MS + np.round(1000 * np.asarray(seconds)).astype(np.int64)


def minutes(count: int, value, step_s: int = 60) -> Gridded:
    return Gridded(time_s=START_S + step_s * np.arange(count), value=np.asarray(value, dtype=float), step_s=step_s)


def test_whole_minutes_are_times_of_the_exporter():
    """They are kept as they are, gaps and all; a missed scrape is a gap, too."""
    found = gridded(times([0, 60, 300]), np.array([1.0, 2.0, 3.0]))
    scraped = gridded(times([7.1, 67.1, 187.1, 247.1]), np.array([1.0, 2, 3, 4]))

    assert found.has_own_times
    assert [0, 60, 300] == (found.time_s - START_S).tolist()
    assert [1, 2, 3] == found.value.tolist()
    assert [0, 60, 180, 240] == (scraped.time_s - START_S).tolist()


@given(interval_s=st.sampled_from([1, 5, 10, 15, 30]), offset_ms=st.integers(1, 14_999), count=st.integers(5, 60))
def test_a_minute_has_the_value_of_its_last_scrape(interval_s, offset_ms, count):
    """Whatever the interval below a minute and wherever in it the scrapes lie."""
    time_ms = START_MS + offset_ms % (1000 * interval_s) + 1000 * interval_s * np.arange(count)
    if not np.any(time_ms % 60_000):
        return
    found = gridded(time_ms, np.arange(count, dtype=float))
    expected = {int(t) // 60_000 * 60: float(n) for n, t in enumerate(time_ms)}

    assert expected == dict(zip(found.time_s.tolist(), found.value.tolist(), strict=True))
    assert 60 == found.step_s


@given(
    interval_s=st.sampled_from([60, 90, 120, 300]),
    offset_ms=st.integers(0, 59_999),
    jitter_ms=st.lists(st.integers(-4, 4), min_size=12, max_size=12),
)
def test_a_longer_interval_gives_its_step_and_no_jitter_makes_a_gap(interval_s, offset_ms, jitter_ms):
    """A scrape that comes a few milliseconds before the full minute stays in its own place."""
    rhythm = START_MS + 60_000 + offset_ms + 1000 * interval_s * np.arange(12)
    found = gridded(rhythm + np.array(jitter_ms), np.arange(12, dtype=float))
    if found.has_own_times:
        return

    assert interval_s == found.step_s
    assert [interval_s] * 11 == np.diff(found.time_s).tolist()
    assert abs(int(found.time_s[0]) * 1000 - int(rhythm[0])) < 60_005


def test_series_that_continue_each_other_become_one_and_nan_is_a_gap():
    """An exporter that moved has a new label; a pair of exporters says the same twice."""
    time_ms, value = joined([(times([1, 2, 3]), np.array([1.0, np.nan, 3.0])), (times([3, 4]), np.array([30.0, 4.0]))])

    assert times([1, 3, 4]).tolist() == time_ms.tolist()
    assert [1, 30, 4] == value.tolist()


@pytest.mark.parametrize("period", [2, 5])
def test_what_is_repeated_between_two_fetches_is_one_sample(period):
    """Five equal minutes are one number said five times, not a load that stood still."""
    rng = np.random.default_rng(3)
    load = np.repeat(rng.uniform(1, 9, 12), period)
    found, fetched_s = without_repetitions(
        {"load": minutes(12 * period, load), "size": minutes(12 * period, [7] * 12 * period)}
    )

    assert 60 * period == fetched_s
    assert load[::period].tolist() == found["load"].value.tolist()
    assert [60 * period] * 11 == np.diff(found["load"].time_s).tolist()
    assert 12 == found["size"].value.size


def test_a_window_that_begins_amid_a_repetition_begins_with_the_next_fetch():
    rng = np.random.default_rng(3)
    load = np.repeat(rng.uniform(1, 9, 12), 5)[3:]
    found, _ = without_repetitions({"load": minutes(57, load)})

    assert 120 == int(found["load"].time_s[0]) - START_S


def test_a_fetch_that_brings_the_same_numbers_is_a_fetch():
    """An idle night keeps its samples."""
    load = np.repeat([1.0, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 1], 5)
    found, fetched_s = without_repetitions({"load": minutes(60, load)})

    assert 300 == fetched_s
    assert found["load"].value.size in (11, 12)


STEPS = np.repeat(np.arange(12.0), 5)


@pytest.mark.parametrize(
    "series",
    [
        pytest.param({"load": minutes(60, np.arange(60.0))}, id="changes every minute"),
        pytest.param({"load": minutes(60, np.full(60, 5.0))}, id="never changes"),
        pytest.param(
            {"load": minutes(60, np.cumsum(np.isin(range(60), [3, 4, 11, 30, 31, 33, 50])))}, id="changes now and then"
        ),
        pytest.param({"load": minutes(60, np.repeat([1.0, 2, 3], 20))}, id="changes too rarely to tell"),
        pytest.param(
            {"load": minutes(60, STEPS), "quick": minutes(60, np.arange(60.0))},
            id="slow metrics beside a quick one are slow, not repeated",
        ),
        pytest.param({"load": replace(minutes(60, STEPS), step_s=None)}, id="own times"),
    ],
)
def test_without_a_rhythm_nothing_is_left_out(series):
    """A metric that stands still is no exporter that repeats itself."""
    found, fetched_s = without_repetitions(series)

    assert fetched_s is None
    assert 60 == found["load"].value.size
