import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.model.metric import Metric
from plimsoll.sources.reading.merge import MOST_OF_ANYTHING, longest_window_steps, merge
from plimsoll.sources.reading.reading import Channel, Statistic
from plimsoll.sources.reading.resolve import ResolvedSamples
from plimsoll.sources.values.steps import usual_step_s

M = Metric.READ_OPS_PER_S


def part(times, values, *, metric=M, statistic=Statistic.AVERAGE, period_s=None) -> ResolvedSamples:
    return ResolvedSamples(
        metric=metric,
        instance=None,
        is_labelled=False,
        statistic=statistic,
        time_s=np.array(times, dtype=np.int64),
        value=np.array(values, dtype=np.float64),
        period_s=period_s,
        origin=Channel.CLOUDWATCH,
    )


def test_samples_are_put_in_order():
    series, gaps = merge(M, [part([300, 60, 180], [3, 1, 2])])

    assert series is not None
    assert series.time_s.tolist() == [60, 180, 300]
    assert series.value.tolist() == [1, 2, 3]
    assert gaps == []


def test_equal_duplicates_are_one_sample_and_nothing_to_say():
    series, gaps = merge(M, [part([60, 120], [1, 2]), part([120, 180], [2 + 1e-12, 3])])

    assert series is not None
    assert series.time_s.tolist() == [60, 120, 180]
    assert gaps == []


def test_of_conflicting_duplicates_the_last_read_stays():
    series, gaps = merge(M, [part([60, 120], [1, 2]), part([120, 60], [7, 1])])

    assert series is not None
    assert series.value.tolist() == [1, 7]
    assert gaps[0].reason == "conflicting duplicates at 1 time; the last one read was kept"


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), 2 * MOST_OF_ANYTHING])
def test_what_cannot_be_is_dropped_and_counted(bad):
    series, gaps = merge(M, [part([60, 120, 180], [1, bad, 3])])

    assert series is not None
    assert series.time_s.tolist() == [60, 180]
    assert gaps[0].reason == "1 sample dropped: not a number, negative or impossible"


def test_a_percentage_a_rounding_above_one_is_one():
    """100.4 % is 100 %; 180 % is no percentage."""
    series, gaps = merge(Metric.CPU_RATIO, [part([60, 120, 180], [0.5, 1.004, 1.8])])

    assert series is not None
    assert series.value.tolist() == [0.5, 1.0]
    assert len(gaps) == 1


def test_nothing_usable_is_no_series():
    series, gaps = merge(M, [part([60], [-1])])

    assert series is None
    assert len(gaps) == 1


def test_a_coarser_export_of_the_same_time_is_left_out():
    """Of a day at one minute and the same day at five, the minutes stay and nothing conflicts."""
    fine = part(60 * np.arange(100), np.arange(100.0))
    coarse = part(300 * np.arange(-5, 25), np.full(30, 9.0))
    series, gaps = merge(M, [coarse, fine])

    assert series is not None
    assert gaps == []
    assert series.time_s[:7].tolist() == [-1500, -1200, -900, -600, -300, 0, 60]
    assert series.value[5:105].tolist() == list(range(100))
    assert series.time_s[105:].tolist() == [6000, 6300, 6600, 6900, 7200]
    assert series.step_s == 60


def test_a_hole_in_the_finer_export_is_not_filled_with_coarse_means():
    fine = part(60 * np.concatenate([np.arange(50), np.arange(60, 100)]), np.ones(90))
    coarse = part(300 * np.arange(20), np.full(20, 9.0))
    series, _ = merge(M, [fine, coarse])

    assert series is not None
    assert series.value.tolist() == [1.0] * 90


def test_mixed_periods_keep_all_samples():
    """CloudWatch keeps minutes for a fortnight and five minutes before: both stay, the step is 60 s."""
    old = 300 * np.arange(100)
    new = 30_000 + 60 * np.arange(100)
    series, gaps = merge(M, [part(np.concatenate([old, new]), np.ones(200))])

    assert series is not None
    assert series.time_s.size == 200
    assert series.step_s == 60
    assert gaps == []


@pytest.mark.parametrize(
    ("times", "declared", "step"),
    [
        ([60], None, 60),
        ([60], 300, 300),
        ([0, 600], 300, 300),
        ([0, 600], None, 600),
        ([0, 400_000_000], None, 60),
        (range(0, 1200, 60), 300, 60),
    ],
)
def test_the_step_is_seen_or_declared(times, declared, step):
    series, _ = merge(M, [part([*times], np.ones(len([*times])), period_s=declared)])

    assert series is not None
    assert series.step_s == step


def test_few_late_samples_do_not_change_the_step():
    """The step is the finest period of at least a tenth of the differences."""
    times = np.concatenate([60 * np.arange(100), 6000 + np.array([0, 7, 60])])

    assert usual_step_s(times) == 60


@settings(deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 5000), st.floats(allow_nan=True, allow_infinity=True)),
            max_size=30,
        ),
        max_size=4,
    )
)
def test_whatever_comes_in_a_series_comes_out(parts):
    """Strictly increasing times, values that can be, a positive step: or no series at all."""
    series, _ = merge(
        M, [part([t for t, _ in p], [v for _, v in p]) for p in parts if p] or [part([], [])]
    )
    if series is None:
        return

    assert series.step_s > 0
    assert (np.diff(series.time_s) > 0).all()
    assert ((series.value >= 0) & (series.value <= MOST_OF_ANYTHING)).all()
    given_times = {t for p in parts for t, v in p if 0 <= v <= MOST_OF_ANYTHING}
    assert set(series.time_s.tolist()) <= given_times
    assert longest_window_steps([series]) >= series.time_s.size or series.step_s > 1
