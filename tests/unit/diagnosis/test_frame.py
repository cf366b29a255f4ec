"""One grid for everything that was measured."""

import numpy as np
import pytest

import builders
from builders import START_S
from plimsoll.diagnosis.frame import frame_of, on_grid, runs_of, sample_widths
from plimsoll.model.metric import Metric
from plimsoll.units import KIB

MINUTES = START_S + 60 * np.arange(10)
WIDTHS = np.full(10, 60.0)


def of(*every, **more):
    frame = frame_of(builders.snapshot(*every, **more))
    assert frame is not None
    return frame


def test_totals_are_reads_and_writes_together():
    """Reads and writes share every limit, so rates are their sums."""
    frame = of(builders.storage([30e6, 40e6], size_bytes=16 * KIB, read_share=0.25))

    np.testing.assert_allclose(frame.bytes_per_s, [30e6, 40e6])
    np.testing.assert_allclose(frame.ops_per_s, [30e6 / 16384, 40e6 / 16384])
    np.testing.assert_allclose(frame.write_bytes_per_s, [22.5e6, 30e6])


@pytest.mark.parametrize("half", [Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S])
def test_a_total_with_one_half_missing_is_unknown(half):
    """Without reads or without writes there is no total, also for one minute; neighbours keep theirs."""
    values = builders.storage([30e6] * 3)
    values[half][1] = np.nan
    gap = of(values)
    del values[half]
    frame = of(values)

    assert [True, False, True] == np.isfinite(gap.bytes_per_s).tolist()
    assert np.isnan(frame.bytes_per_s).all()
    assert np.isfinite(frame.ops_per_s).all()


@pytest.mark.parametrize(("size_kib", "counted"), [(8, 1000), (256, 1000), (257, 1000 * 257 / 256), (1024, 4000)])
def test_large_requests_count_in_units_of_256_kib(size_kib, counted):
    """An I/O up to 256 KiB is one operation; a larger one is as many as 256 KiB go into it."""
    frame = of(builders.storage([1000 * size_kib * 1024.0], size_bytes=size_kib * 1024))

    np.testing.assert_allclose(frame.ops_per_s, [counted])


def test_reads_and_writes_are_counted_apart():
    """Large reads are counted in units although small writes pull the mean size below 256 KiB."""
    frame = of(
        {
            Metric.READ_BYTES_PER_S: [100 * 1024 * 1024.0],
            Metric.READ_OPS_PER_S: [100.0],
            Metric.WRITE_BYTES_PER_S: [900 * 8192.0],
            Metric.WRITE_OPS_PER_S: [900.0],
        }
    )

    np.testing.assert_allclose(frame.ops_per_s, [400 + 900])


def test_without_bytes_operations_are_counted_as_they_are():
    """Where the size of the I/O is not known the operations are taken whole."""
    frame = of({Metric.READ_OPS_PER_S: [5.0], Metric.WRITE_OPS_PER_S: [7.0]})

    assert [12.0] == frame.ops_per_s.tolist()
    assert np.isnan(frame.bytes_per_s).all()


def test_without_storage_rates_there_is_no_frame():
    """Latency and CPU alone make no frame, and neither do empty series."""
    cpu = builders.snapshot({Metric.CPU_RATIO: [0.5], Metric.READ_LATENCY_S: [0.001]})
    empty = builders.snapshot({metric: [] for metric in builders.RATES})

    assert frame_of(cpu) is None
    assert frame_of(empty) is None


def test_the_densest_storage_series_is_the_grid():
    """A rate by the minute sets the grid; one by five minutes is held on it."""
    frame = of(
        builders.series(Metric.WRITE_BYTES_PER_S, [3e6, 4e6], step_s=300),
        builders.series(Metric.READ_BYTES_PER_S, np.full(10, 1e6)),
    )

    assert (60, 10) == (frame.step_s, frame.size)
    np.testing.assert_allclose(frame.bytes_per_s, [4e6] * 5 + [5e6] * 5)


def test_a_series_on_the_same_grid_is_taken_exactly():
    """Equal times need no placing: the very values are used."""
    one = builders.series(Metric.CPU_RATIO, np.linspace(0, 1, 10))

    assert on_grid(one, MINUTES, WIDTHS) is one.value


UNKNOWN = [np.nan] * 5
FINE = [*range(6), np.nan, 4, np.nan, 8, np.nan, np.nan, *[np.nan] * 6]


@pytest.mark.parametrize(
    ("series", "placed"),
    [
        # A five-minute reading covers five minutes, not those after it; nothing comes before the first one.
        (builders.timed(Metric.BYTE_BALANCE_RATIO, [START_S], [0.7], step_s=300), [0.7] * 5 + UNKNOWN),
        (builders.series(Metric.QUEUE_DEPTH, [4.0, 5.0], step_s=300, start_s=START_S + 300), UNKNOWN + [4.0] * 5),
        # Readings of ten seconds are averaged over each minute; readings that say nothing are left out.
        (builders.series(Metric.QUEUE_DEPTH, FINE, step_s=10), [2.5, 6.0, *[np.nan] * 8]),
        # What was not measured is NaN at every sample.
        (None, UNKNOWN * 2),
        (builders.series(Metric.CPU_RATIO, []), UNKNOWN * 2),
    ],
    ids=["coarse", "late", "fine", "none", "empty"],
)
def test_a_series_of_another_step_is_placed_on_the_grid(series, placed):
    """Each reading holds for its own step."""
    np.testing.assert_array_equal(on_grid(series, MINUTES, WIDTHS), placed)


@pytest.mark.parametrize(
    ("after_s", "step_s", "expected"),
    [
        # Minutes around a hole of an hour are still a minute long.
        ((0, 60, 120, 3720, 3780), 60, [60.0] * 5),
        # Old samples of an hour and of five minutes are next to new ones of a minute.
        ((0, 3600, 7200, 10_800, 11_100, 11_400, 11_700, 11_760, 11_820), 60, [3600.0] * 3 + [300.0] * 3 + [60.0] * 3),
        # One sample has no neighbour to measure by.
        ((0,), 300, [300.0]),
    ],
    ids=["gap", "mixed", "single"],
)
def test_a_sample_is_as_wide_as_its_period(after_s, step_s, expected):
    """A gap is not a long sample, and periods may be mixed."""
    assert expected == sample_widths(START_S + np.array(after_s), step_s).tolist()


def test_measured_balances_are_in_the_frame_and_others_not():
    """A balance that was not measured, or is empty, is absent: it is not a balance of zero."""
    frame = of(builders.storage([1e6, 1e6]), {Metric.BYTE_BALANCE_RATIO: [0.9, 0.8], Metric.IO_BALANCE_RATIO: []})

    assert {Metric.BYTE_BALANCE_RATIO} == set(frame.balances)


def test_runs_are_half_open():
    """A run is its first index and the one past its last; runs at both ends count."""
    mask = np.array([True, True, False, True, False, True])

    assert [[0, 2], [3, 4], [5, 6]] == runs_of(mask).tolist()
    assert [] == runs_of(np.zeros(3, dtype=bool)).tolist()
