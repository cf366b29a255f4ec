"""Buckets, ceiling lines and pegged stretches, before they are drawn."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.model.ceiling import Dimension
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.timeline import at_ceiling, beyond, bucket_length, lines_of, main_dimension, samples_of
from unit.reports.fixture_diagnosis import pressed, quiet
from unit.reports.fixture_parts import (
    DAY,
    DAY_S,
    LEGACY_BASELINE,
    NIGHT,
    START_S,
    VOLUME_IOPS,
    interval,
    series,
    snapshot,
)


def buckets(*pairs, bucket_s, count, start_s=0):
    """The samples of a snapshot of (metric, step, values) from so long after its begin on."""
    shot = Snapshot(
        instance=pressed()[0].instance, series={m: series(m, v, step_s=step) for m, step, v in pairs}, source="test"
    )
    window_s = START_S + start_s, START_S + start_s + bucket_s * count
    return samples_of(shot, window_s, bucket_s=bucket_s, count=count)


def test_a_bucket_is_a_round_number_of_steps():
    """A window that fits keeps its step; a longer one gets the shortest round bucket that fits."""
    assert 60 == bucket_length((0, DAY_S), 60, 1500)
    assert 900 == bucket_length((0, 14 * DAY_S), 60, 1500)
    assert 900 == bucket_length((0, 14 * DAY_S), 300, 1500)
    assert 7 * 124 == bucket_length((0, 15 * DAY_S), 7, 1500)


@given(st.integers(1, 400 * DAY_S), st.sampled_from([1, 5, 7, 60, 300]), st.integers(10, 2000))
def test_buckets_are_never_too_many(length_s, step_s, points_max):
    """Whatever the window, its buckets are whole steps and at most as many as asked for."""
    bucket_s = bucket_length((0, length_s), step_s, points_max)

    assert 0 == bucket_s % step_s
    assert length_s / bucket_s <= points_max or bucket_s == step_s


@pytest.mark.parametrize(
    ("step_s", "values", "window", "mean"),
    [
        (60, [1.0, 3.0, 10.0, math.nan], {"bucket_s": 120, "count": 2}, [2.0, 10.0]),
        # A mean over five minutes holds for each of the five; no hole is left between samples.
        (300, [1.0, 2.0], {"bucket_s": 60, "count": 10}, [1.0] * 5 + [2.0] * 5),
        # A bucket without a sample is no zero.
        (60, [1.0, math.nan, 3.0], {"bucket_s": 60, "count": 3}, [1.0, math.nan, 3.0]),
        # What lies before or after the window is not drawn into its first or last bucket.
        (60, [1.0, 2.0, 3.0, 4.0], {"bucket_s": 60, "count": 2, "start_s": 60}, [2.0, 3.0]),
    ],
    ids=["two in one", "a long sample", "a gap", "outside"],
)
def test_a_bucket_is_the_mean_of_the_samples_that_cover_it(step_s: int, values: list, window: dict, mean: list):
    found = buckets((Metric.QUEUE_DEPTH, step_s, values), **window).metric[Metric.QUEUE_DEPTH]

    np.testing.assert_array_equal(found.mean, mean)


def test_a_bucket_keeps_the_extremes():
    """The smallest and largest value of each."""
    pair = (Metric.QUEUE_DEPTH, 60, [1.0, 3.0, 10.0, math.nan])
    found = buckets(pair, bucket_s=120, count=2).metric[Metric.QUEUE_DEPTH]

    assert ([1.0, 10.0], [3.0, 10.0]) == (found.low.tolist(), found.high.tolist())


def test_the_total_needs_reads_and_writes():
    """Reads without writes are no total; where one of them has a gap, so has the total."""
    window = {"bucket_s": 60, "count": 2}
    reads = (Metric.READ_BYTES_PER_S, 60, [1e6, 2e6])
    alone = buckets(reads, **window)
    both = buckets(reads, (Metric.WRITE_BYTES_PER_S, 60, [3e6, math.nan]), **window)

    assert {} == alone.total
    assert 4e6 == both.total[Dimension.THROUGHPUT].mean[0]
    assert np.isnan(both.total[Dimension.THROUGHPUT].mean[1])


def test_the_total_of_unequal_steps_is_taken_where_both_begin():
    """Reads by the minute and writes by five give a total every five minutes."""
    found = buckets(
        (Metric.READ_BYTES_PER_S, 60, np.full(10, 1e6)),
        (Metric.WRITE_BYTES_PER_S, 300, [2e6, 3e6]),
        bucket_s=300,
        count=2,
    )

    assert [3e6, 4e6] == found.total[Dimension.THROUGHPUT].mean.tolist()


def test_reached_ceilings_are_drawn_with_the_next_one():
    """Legacy limits are drawn where the window was pegged at them; a quiet instance sees the lowest present one."""
    lines = lines_of(pressed()[0], Dimension.THROUGHPUT, 438e6, count_max=5)

    assert [81.3e6, 212.5e6, 287.5e6, 437.5e6, 593.75e6] == [line.value for line in lines]
    assert [True, True, False, True, False] == [line.is_bound for line in lines]
    assert [287.5e6] == [line.value for line in lines_of(quiet()[0], Dimension.THROUGHPUT, 54e6, count_max=5)]


def test_a_ceiling_far_away_is_named_instead_of_drawn():
    """A ceiling that would flatten the picture stays out of it and is named in words."""
    diagnosis = msgspec.structs.replace(quiet()[0], next_ceiling=None, ceilings=(VOLUME_IOPS,))
    lines = lines_of(diagnosis, Dimension.IOPS, 100.0, count_max=5)

    assert () == lines
    assert "volume 30,000 IOPS" == beyond(diagnosis, Dimension.IOPS, lines)
    assert "" == beyond(diagnosis, Dimension.THROUGHPUT, ())


def test_an_unknown_limit_is_drawn_at_its_level():
    """A plateau that fits no documented limit has a line of its own."""
    diagnosis, _ = pressed()
    at = msgspec.structs.replace(diagnosis.time_at[0], level=185e6, ceiling=None)
    diagnosis = msgspec.structs.replace(diagnosis, time_at=(at,), ceilings=(), next_ceiling=None, binding=at)

    assert ["unknown limit 185 MB/s"] == [
        line.label for line in lines_of(diagnosis, Dimension.THROUGHPUT, 186e6, count_max=5)
    ]


def test_pegged_stretches_are_merged():
    """Intervals that touch or overlap, in whatever order, are one stretch."""
    diagnosis, _ = pressed()
    intervals = tuple(interval(a, b, LEGACY_BASELINE, level=2e8) for a, b in ((50, 70), (0, 10), (10, 20), (60, 65)))
    diagnosis = msgspec.structs.replace(diagnosis, intervals=intervals)

    assert ((0, 20), (50, 70)) == at_ceiling(diagnosis)
    assert (*NIGHT, DAY) == at_ceiling(pressed()[0])[:3]


def test_the_dimension_shown_is_the_one_that_bound_if_it_was_measured():
    """IOPS come first when they bound; throughput when nothing did; nothing without samples."""
    diagnosis, shot = pressed()
    samples = samples_of(shot, diagnosis.window_s, bucket_s=600, count=144)
    at = msgspec.structs.replace(diagnosis.binding, dimension=Dimension.IOPS)
    bound_by_iops = msgspec.structs.replace(diagnosis, binding=at)
    empty = samples_of(snapshot({}), diagnosis.window_s, bucket_s=600, count=144)

    assert Dimension.THROUGHPUT == main_dimension(diagnosis, samples)
    assert Dimension.IOPS == main_dimension(bound_by_iops, samples)
    assert main_dimension(diagnosis, empty) is None
