from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.sources.values.times import EARLIEST_S, LATEST_S, epoch_seconds, parse_time

T = 1_615_198_440  # 2021-03-08T10:14:00Z

moments = st.datetimes(datetime(2000, 1, 2), datetime(2099, 12, 30))  # noqa: DTZ001
offsets = st.integers(-14 * 60, 14 * 60)


@pytest.mark.parametrize(
    "text",
    [
        "2021-03-08T10:14:00Z",
        "2021-03-08T10:14:00+00:00",
        "2021-03-08T10:14:00",
        "2021-03-08 10:14:00",
        "2021/03/08 10:14:00",
        "2021-03-08 10:14:00 UTC",
        "2021-03-08T10:14:00.999Z",
        "2021-03-08T12:14:00+02:00",
        "2021-03-08T04:44:00-0530",
        "2021-03-08T10:14Z",
        "20210308T101400Z",
        "1615198440",
        "1615198440.75",
        "1615198440000",
        T,
        T + 0.5,
        T * 1000,
        T * 10**6,
        T * 10**9,
    ],
)
def test_one_moment_has_many_spellings(text):
    """
    ISO with any offset, slashes and epoch numbers of four sizes are the same second; without an offset
    CloudWatch means UTC, wherever the reader sits.
    """
    seconds, readable = epoch_seconds([text])

    assert readable.all()
    assert seconds.tolist() == [T]
    assert parse_time(text) == T


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2021-02-29T00:00:00Z",
        "2021-13-01T00:00:00Z",
        "2021-03-08T25:00:00Z",
        "2021-03-08T10:61:00Z",
        "2021-03-08T10:14:00X",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "1999-12-31T23:59:59Z",
        "2021-03-08T10:14:00" + "0" * 10_000,
        "２０２１-03-08T10:14:00Z",
        None,
        True,
        [],
        {"a": 1},
        -1,
        0,
        10**400,
        float("nan"),
        float("inf"),
    ],
)
def test_what_is_no_time_of_this_century_is_marked(value):
    for values in ([value], [value, "2021-03-08T10:14:00Z"], [value, T]):
        _, readable = epoch_seconds(values)

        assert not readable[0]
        assert readable[1:].all()


def test_29_february_of_a_leap_year_is_a_day():
    assert parse_time("2024-02-29T00:00:00Z") is not None
    assert epoch_seconds(["2024-02-29T00:00:00Z"])[1].all()


@settings(deadline=None)
@given(st.lists(st.tuples(moments, offsets), min_size=1, max_size=30))
def test_the_fast_road_agrees_with_the_standard_library(drawn):
    """Reading all texts at once gives what datetime gives for each, whatever their offsets."""
    aware = [m.replace(tzinfo=timezone(timedelta(minutes=o))) for m, o in drawn]
    expected = [int(a.timestamp() // 1) for a in aware]
    seconds, readable = epoch_seconds([a.isoformat() for a in aware])

    assert readable.all()
    assert seconds.tolist() == expected


@settings(deadline=None)
@given(st.lists(st.integers(EARLIEST_S, LATEST_S - 1), min_size=1, max_size=30))
def test_numbers_of_all_sizes_may_be_mixed(seconds):
    sizes = (1, 1_000, 10**6, 10**9)
    mixed = [s * sizes[i % 4] for i, s in enumerate(seconds)]
    read, readable = epoch_seconds(mixed)

    assert readable.all()
    assert np.array_equal(read, seconds)


@settings(deadline=None)
@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50), max_size=20))
def test_nothing_is_a_traceback(values):
    seconds, readable = epoch_seconds(values)

    assert seconds.shape == readable.shape == (len(values),)
    assert ((seconds[readable] >= EARLIEST_S) & (seconds[readable] < LATEST_S)).all()
