"""Waiting, measured against what the same storage does when it is not pressed."""

import numpy as np
import pytest

import builders
from builders import HOUR, LATENCIES
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.congestion import HOT_LOG, REFERENCE_FALLBACK_S, Congestion, congestion_of, load_of
from plimsoll.model.metric import Metric
from plimsoll.units import KIB

CALM, BUSY = slice(0, 2 * HOUR), slice(2 * HOUR, 3 * HOUR)
ROUGH = builders.wander(np.random.default_rng(7), 3 * HOUR, 0.3)


def loaded(calm: float, busy: float) -> np.ndarray:
    """Two hours around one value, then an hour at another."""
    level = np.full(3 * HOUR, busy)
    level[CALM] = calm * ROUGH[CALM]
    return level


def stepped(calm: float, busy: float) -> np.ndarray:
    """Two hours at one value, an hour at another."""
    level = np.full(3 * HOUR, busy)
    level[CALM] = calm
    return level


def of(values, *, without=()) -> Congestion:
    frame = frame_of(builders.snapshot({m: v for m, v in values.items() if m not in without}))
    return congestion_of(frame, load_of(frame))


def median(values: np.ndarray, where: slice) -> float:
    return float(np.nanmedian(values[where]))


def test_the_reference_comes_from_calm_hours():
    """What the storage does under light load is the measure of what it does under heavy load."""
    congestion = of(builders.storage(loaded(10e6, 100e6), latency_s=stepped(0.0007, 0.007)))

    assert congestion.is_reference_seen
    np.testing.assert_allclose(np.exp(median(congestion.log_excess, BUSY)), 10, rtol=0.1)
    assert abs(median(congestion.log_excess, CALM)) < 0.1


SIZE = stepped(8 * KIB, 256 * KIB)
DOUBLED = builders.storage(loaded(50e6, 500e6), latency_s=0.001)
DOUBLED[Metric.QUEUE_DEPTH] = DOUBLED[Metric.QUEUE_DEPTH] * 2


@pytest.mark.parametrize(
    ("values", "slower"),
    [
        # Storage that takes 6 ms at all times is slow, not pressed; nor is one whose queue always reads double.
        (builders.storage(loaded(10e6, 100e6), latency_s=0.006), 0.99),
        (DOUBLED, 0.99),
        # A batch of writes raises the mean latency without any waiting, for writes are slower by nature.
        (
            builders.storage(
                loaded(10e6, 100e6), read_share=stepped(0.95, 0.05), latency_s=0.0005, write_latency_s=0.004
            ),
            4,
        ),
        # A scan with large requests is served a little later each, by what moving the bytes takes.
        (builders.storage(loaded(8e6, 80e6), size_bytes=SIZE, latency_s=0.0006 + SIZE / 300e6), 2),
    ],
    ids=["slow", "doubled queue", "writes", "large"],
)
def test_what_takes_long_by_nature_does_not_wait(values, slower):
    """However much slower the busy hour is than the calm ones."""
    congestion = of(values)

    assert median(congestion.latency_s, BUSY) > slower * median(congestion.latency_s, CALM)
    assert abs(median(congestion.log_excess, BUSY)) < HOT_LOG / 2
    assert slower > 1 or np.nanmax(np.abs(congestion.log_excess)) < HOT_LOG / 2


@pytest.mark.parametrize(
    ("without", "has_latency", "rtol"), [(LATENCIES, False, 0.15), ((Metric.QUEUE_DEPTH,), True, 0.1)]
)
def test_queue_depth_or_latency_alone_tells_waiting(without, has_latency, rtol):
    """Without latencies, queue ÷ IOPS is the latency (Little's law); without a queue they are enough."""
    values = builders.storage(loaded(10e6, 100e6), latency_s=stepped(0.001, 0.01))
    congestion = of(values, without=without)

    assert (has_latency, not has_latency) == (congestion.has_latency, congestion.has_queue)
    np.testing.assert_allclose(median(congestion.latency_s, BUSY), 0.01, rtol=1e-6)
    np.testing.assert_allclose(np.exp(median(congestion.log_excess, BUSY)), 10, rtol=rtol)


def test_with_neither_nothing_is_measured():
    """Without latency and queue depth waiting is unknown, not zero."""
    values = builders.storage(loaded(10e6, 100e6))
    congestion = of(values, without=(*LATENCIES, Metric.QUEUE_DEPTH))

    assert not congestion.is_measured
    assert np.isnan(congestion.log_excess).all()
    assert not congestion.is_reference_seen


def test_a_window_without_calm_has_a_general_reference():
    """Where the storage is pressed all the time, what an unpressed SSD volume takes is the measure."""
    rng = np.random.default_rng(1)
    steady = 100e6 * builders.wander(rng, 3 * HOUR, 0.002)
    congestion = of(builders.storage(steady, latency_s=0.02), without=(Metric.QUEUE_DEPTH,))

    assert not congestion.is_reference_seen
    np.testing.assert_allclose(congestion.reference_s, REFERENCE_FALLBACK_S, rtol=0.1)
    np.testing.assert_allclose(np.exp(median(congestion.log_excess, BUSY)), 20, rtol=0.1)


def test_a_pegged_baseline_is_no_calm_hour():
    """Hours at a baseline a quarter of the burst are lightly loaded and yet not the measure of calm."""
    rng = np.random.default_rng(2)
    rate = np.concatenate(
        (
            20e6 * builders.wander(rng, 2 * HOUR, 0.4),
            np.full(HOUR, 400e6),
            100e6 * builders.wander(rng, 6 * HOUR, 0.001),
        )
    )
    latency = np.concatenate((np.full(2 * HOUR, 0.001), np.full(7 * HOUR, 0.012)))
    congestion = of(builders.storage(rate, latency_s=latency))
    pegged = slice(3 * HOUR, 9 * HOUR)

    assert congestion.is_reference_seen
    np.testing.assert_allclose(np.exp(median(congestion.log_excess, pegged)), 12, rtol=0.25)


def test_a_few_calm_minutes_are_no_reference():
    """Five light minutes of three hours do not show what the storage does when it is not pressed; nor do 40 ms."""
    rate = np.full(3 * HOUR, 100e6) * builders.wander(np.random.default_rng(4), 3 * HOUR, 0.1)
    rate[:5] = 5e6
    latency = np.where(np.arange(rate.size) < 5, 0.0005, 0.004)
    few = of(builders.storage(rate, latency_s=latency), without=(Metric.QUEUE_DEPTH,))
    slow = of(builders.storage(loaded(10e6, 100e6), latency_s=0.040), without=(Metric.QUEUE_DEPTH,))

    assert (False, False) == (few.is_reference_seen, slow.is_reference_seen)
    np.testing.assert_allclose(np.exp(median(slow.log_excess, BUSY)), 40, rtol=0.1)


def test_a_tiny_queue_carries_no_ratio():
    """A queue of hundredths that doubles is rounding, not waiting."""
    values = builders.storage(loaded(0.2e6, 0.4e6), latency_s=stepped(0.0005, 0.0012))
    congestion = of(values, without=LATENCIES)

    assert median(congestion.log_excess, BUSY) < HOT_LOG


def test_minutes_without_requests_add_no_waiting():
    """CloudWatch reports a latency of zero where nothing was asked for; that is no fast request."""
    values = builders.storage(loaded(10e6, 100e6), latency_s=stepped(0.001, 0.01))
    for metric in (Metric.READ_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.READ_LATENCY_S):
        values[metric][CALM] = 0
    congestion = of(values)

    assert np.isfinite(congestion.log_excess[CALM]).all()
    assert abs(median(congestion.log_excess, CALM)) < 0.1


def test_the_smooth_excess_bridges_a_lost_sample_only():
    """One minute without a reading takes its neighbours' mean; ten minutes stay unknown."""
    values = builders.storage(loaded(10e6, 100e6), latency_s=stepped(0.001, 0.01))
    for value in values.values():
        value[30] = np.nan
        value[60:70] = np.nan
    congestion = of(values)

    assert np.isnan(congestion.log_excess[30])
    assert np.isfinite(congestion.log_excess_smooth[30])
    assert np.isnan(congestion.log_excess_smooth[63:67]).all()


def test_the_smooth_excess_reaches_as_far_back_as_ahead():
    """One slow minute stands in the mean of the two before it and the two after it."""
    values = builders.storage(loaded(10e6, 100e6), latency_s=stepped(0.001, 0.001))
    for metric in LATENCIES:
        values[metric][40] = 0.1
    congestion = of(values, without=(Metric.QUEUE_DEPTH,))
    raised = np.flatnonzero(congestion.log_excess_smooth[30:50] > 0.3) + 30

    assert [38, 39, 40, 41, 42] == raised.tolist()


def test_load_is_relative_to_the_windows_own_high():
    """Load is 1 at the 99th percentile of the busier dimension, so that one spike calms nothing."""
    rate = np.concatenate((np.full(199, 50e6), [500e6]))
    frame = frame_of(builders.snapshot(builders.storage(rate)))
    assert frame is not None

    assert 1.0 == float(np.median(load_of(frame)))


def test_load_is_unknown_without_rates():
    """Rates of zero, or half of a total, say nothing about how busy the storage was."""
    half = builders.storage([1e6, 2e6])
    del half[Metric.READ_BYTES_PER_S], half[Metric.READ_OPS_PER_S]
    for values in (half, builders.storage([0.0, 0.0])):
        frame = frame_of(builders.snapshot(values))
        assert frame is not None

        assert np.isnan(load_of(frame)).all()


def test_the_queue_holds_requests_whose_latency_is_not_known():
    """
    Reads by day, writes by night, all at 1 ms; only the latency of reads is exported. The queue of the
    night is that of the writes, and nobody waits.
    """
    share = np.repeat([0.8, 0.2], [2 * HOUR, HOUR])
    values = builders.storage(loaded(5e6, 60e6), read_share=share, latency_s=0.001)
    found = of(values, without=(Metric.WRITE_LATENCY_S,))

    assert np.abs(found.log_excess[BUSY]).max() < HOT_LOG
