"""What holds of a diagnosis whatever was measured."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import situations
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.family import CREDITS
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.reports.diagnosis.json import render_json

DAY_S = 86_400
LAWFUL = settings(max_examples=60, deadline=None, derandomize=True)


def of(snapshot: Snapshot) -> Diagnosis:
    return diagnose(snapshot, catalog())


def later(snapshot: Snapshot, days: int) -> Snapshot:
    series = {
        metric: Series(metric=metric, step_s=one.step_s, time_s=one.time_s + days * DAY_S, value=one.value)
        for metric, one in snapshot.series.items()
    }
    return replace(snapshot, series=series)


@LAWFUL
@given(situations.windows())
def test_intervals_lie_in_the_window_and_apart(window):
    """Every interval is non-empty, inside the window, and ends before the next begins."""
    diagnosis = of(window.snapshot)
    start_s, end_s = diagnosis.window_s

    for interval in diagnosis.intervals:
        assert start_s <= interval.start_s < interval.end_s <= end_s
    for one, after in pairwise(diagnosis.intervals):
        assert one.end_s <= after.start_s


@LAWFUL
@given(situations.windows())
def test_levels_lie_within_their_error_bars(window):
    """A level is positive and lies within its error bars; probabilities lie between zero and one."""
    for interval in of(window.snapshot).intervals:
        assert 0 < interval.level_low <= interval.level <= interval.level_high
        assert 0.5 <= interval.confidence <= 1
        assert 0 < interval.attribution <= 1


@LAWFUL
@given(situations.windows())
def test_the_parts_of_a_diagnosis_agree(window):
    """Verdict, binding ceiling, time at each ceiling and intervals tell one story."""
    diagnosis = of(window.snapshot)
    spent_s = sum(i.end_s - i.start_s for i in diagnosis.intervals)

    assert (diagnosis.verdict == Verdict.BINDS) == bool(diagnosis.intervals)
    assert (diagnosis.time_at[0] if diagnosis.time_at else None) == diagnosis.binding
    assert spent_s == sum(t.seconds for t in diagnosis.time_at)
    assert len(diagnosis.intervals) == sum(t.interval_count for t in diagnosis.time_at)
    # A rate without credits is bound by its baseline; CPU credits are no row of the table.
    without = {spent: rate for rate, spent in CREDITS.items()}
    bound = {without.get(t.family, t.family) for t in diagnosis.time_at} - {Family.UNKNOWN, Family.CPU_CREDITS}
    assert bound == {r.family for r in diagnosis.resources if r.verdict == Verdict.BINDS}


@LAWFUL
@given(situations.windows(), st.integers(-2000, 2000))
def test_the_date_does_not_matter(window, days):
    """The same measurements some days later give the same intervals some days later."""
    here, there = of(window.snapshot), of(later(window.snapshot, days))
    moved = tuple(replace(i, start_s=i.start_s + days * DAY_S, end_s=i.end_s + days * DAY_S) for i in here.intervals)

    assert moved == there.intervals
    assert (here.verdict, here.time_at) == (there.verdict, there.time_at)
    assert (here.resources, here.missing) == (there.resources, there.missing)
    assert [f.code for f in here.findings] == [f.code for f in there.findings]
    assert [b.family for b in here.buckets] == [b.family for b in there.buckets]
    np.testing.assert_allclose([b.capacity for b in there.buckets], [b.capacity for b in here.buckets], rtol=1e-5)


@LAWFUL
@given(situations.windows(), st.randoms(use_true_random=False))
def test_the_order_of_series_does_not_matter(window, random):
    """A snapshot whose series come in another order has the same diagnosis."""
    items = list(window.snapshot.series.items())
    random.shuffle(items)

    assert of(window.snapshot) == of(replace(window.snapshot, series=dict(items)))


@LAWFUL
@given(situations.windows())
def test_equal_inputs_give_equal_bytes(window):
    """The JSON report is the same twice, and after the snapshot went through its file form."""
    report = render_json(of(window.snapshot))

    assert report == render_json(of(window.snapshot))
    assert report == render_json(of(decode_snapshot(encode_snapshot(window.snapshot))))


@LAWFUL
@given(situations.windows())
def test_unknown_says_what_is_missing(window):
    """Where the verdict is unknown, what hides it is named with its remedy."""
    diagnosis = of(window.snapshot)
    hiding = [m for m in diagnosis.missing if m.hides == "verdict"]

    if diagnosis.verdict == Verdict.UNKNOWN:
        assert hiding
    for gap in hiding:
        asked = (
            "cloudwatch:GetMetricData",
            "--class",
            "Check the description",
            "in another unit",
            "may have been stopped",
            "Measure",
        )
        assert any(what in gap.remedy for what in asked)


@LAWFUL
@given(situations.windows())
def test_units_follow_the_dimension(window):
    """A throughput level agrees only with ceilings in bytes/s, an IOPS level only with ops/s."""
    for interval in of(window.snapshot).intervals:
        if interval.ceiling is None:
            assert Family.UNKNOWN == interval.family
            continue
        unit = "bytes/s" if interval.dimension == Dimension.THROUGHPUT else "ops/s"
        assert unit == interval.ceiling.unit
        assert interval.ceiling.dimension == interval.dimension
        assert abs(interval.level / interval.ceiling.value - 1) < 0.05
