import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.model.metric import Metric
from plimsoll.sources.reading.merge import MOST_OF_ANYTHING, longest_window_steps, merge
from plimsoll.sources.reading.reading import Channel, Statistic
from plimsoll.sources.reading.resolve import ResolvedSamples
from plimsoll.sources.values.steps import usual_step_s

M, CPU = Metric.READ_OPS_PER_S, Metric.CPU_RATIO


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


DROPPED = "1 sample dropped: not a number, negative or impossible"
CONFLICT = "conflicting duplicates at 1 time; the last one read was kept"
# CloudWatch keeps minutes for a fortnight and five minutes before: both stay, the step is 60 s.
MIXED = [*range(0, 30_000, 300), *range(30_000, 36_000, 60)]


@pytest.mark.parametrize(
    ("parts", "times", "values", "reasons"),
    [
        ([part([300, 60, 180], [3, 1, 2])], [60, 180, 300], [1, 2, 3], []),
        ([part([60, 120], [1, 2]), part([120, 180], [2 + 1e-12, 3])], [60, 120, 180], [1, 2, 3], []),
        ([part([60, 120], [1, 2]), part([120, 60], [7, 1])], [60, 120], [1, 7], [CONFLICT]),
        *(
            ([part([60, 120, 180], [1, bad, 3])], [60, 180], [1, 3], [DROPPED])
            for bad in (-1.0, float("nan"), float("inf"), 2 * MOST_OF_ANYTHING)
        ),
        # 100.4 % is 100 %; 180 % is no percentage.
        ([part([0, 60, 120], [0.5, 1.004, 1.8], metric=CPU)], [0, 60], [0.5, 1.0], [DROPPED]),
        ([part(MIXED, np.ones(200))], MIXED, [1.0] * 200, []),
    ],
)
def test_samples_are_put_in_order_and_what_cannot_be_is_counted(parts, times, values, reasons):
    """Equal duplicates are one sample and nothing to say; of conflicting ones the last read stays."""
    series, gaps = merge(parts[0].metric, parts)

    assert series is not None
    assert series.time_s.tolist() == times
    assert series.value.tolist() == pytest.approx(values, rel=1e-11)
    assert series.step_s in (60, 120)
    assert [gap.reason for gap in gaps] == reasons


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
        st.lists(st.tuples(st.integers(0, 5000), st.floats(allow_nan=True, allow_infinity=True)), max_size=30),
        max_size=4,
    )
)
def test_whatever_comes_in_a_series_comes_out(parts):
    """Strictly increasing times, values that can be, a positive step: or no series at all."""
    series, _ = merge(M, [part([t for t, _ in p], [v for _, v in p]) for p in parts if p] or [part([], [])])
    if series is None:
        return

    assert series.step_s > 0
    assert (np.diff(series.time_s) > 0).all()
    assert ((series.value >= 0) & (series.value <= MOST_OF_ANYTHING)).all()
    given_times = {t for p in parts for t, v in p if 0 <= v <= MOST_OF_ANYTHING}
    assert set(series.time_s.tolist()) <= given_times
    assert longest_window_steps([series]) >= series.time_s.size or series.step_s > 1
