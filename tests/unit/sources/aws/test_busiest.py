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


def minutes(count, **stretches):
    """A reading a minute, one but for the stretches, which are named by where they begin and end."""
    value = np.ones(count)
    for name, found in stretches.items():
        value[slice(*map(int, name[1:].split("_")))] = found
    return value


@pytest.mark.parametrize(
    ("reads", "writes", "expected"),
    [
        pytest.param(
            *(minutes(1440, _0_60=10, _120_180=4), minutes(1440, _120_180=9), (120, 180)),
            id="the hour of the sum, not of either alone",
        ),
        pytest.param(minutes(1440), None, (1380, 1440), id="of equal ones the last"),
        pytest.param(minutes(1440, _1439_1440=5), None, (1380, 1440), id="its full length"),
        pytest.param(minutes(10), None, (0, 10), id="a shorter window is taken whole"),
        pytest.param(
            *(minutes(180, _0_60=np.nan, _60_80=5, _90_91=np.nan), None, (60, 120)),
            id="what is not measured neither wins nor spoils",
        ),
    ],
)
def test_the_busiest_hour_is_taken(reads, writes, expected):
    """The last of equal ones is what people ask about."""
    found = [series(READS, reads)] + ([] if writes is None else [series(WRITES, writes)])
    window_s = (START_S, START_S + 60 * reads.size)

    assert busiest_stretch(found, window_s, 3600) == tuple(START_S + 60 * m for m in expected)


def test_without_samples_there_is_no_stretch():
    """Neither of no series nor of empty ones; without a length it is our mistake."""
    assert busiest_stretch([], WINDOW_S, 3600) is None
    assert busiest_stretch([timed(READS, [], [])], WINDOW_S, 3600) is None
    with pytest.raises(AssertionError):
        busiest_stretch([], WINDOW_S, 0)


@given(value=st.lists(st.integers(0, 1000), min_size=1, max_size=60), minutes=st.integers(1, 90))
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
