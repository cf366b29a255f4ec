"""Waiting that no ceiling explains: what is reported, and what is not waiting."""

import numpy as np
import pytest

import builders
from builders import HOUR, START_S, wander
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.congestion import Congestion
from plimsoll.diagnosis.waiting.findings import CODE
from plimsoll.diagnosis.waiting.waiting import waits_of
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import KIB

TWO_DAYS = 48 * HOUR
M5 = Instance(
    identifier="orders", db_class="db.m5.2xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=500.0)
)
LARGE = Instance(db_class="db.m5.large", storage=Storage(kind="gp3", size_gib=500.0))
SMALL_GP3 = Instance(
    identifier="orders", db_class="db.m5.2xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=200.0)
)


def of(*values, instance: Instance = M5, **given) -> Diagnosis:
    return diagnose(builders.snapshot(*values, instance=instance, **given), catalog())


def slow_for_three_hours(rng: np.random.Generator, times: float = 20.0):
    """Two days at a third of every ceiling; storage answers `times` as slowly from 16:40 to 19:40."""
    latency = 0.0008 * wander(rng, TWO_DAYS, 0.1)
    latency[1000:1180] *= times
    return builders.storage(40e6 * wander(rng, TWO_DAYS, 0.15), latency_s=latency)


def bursts(rng: np.random.Generator):
    """30-second bursts in two fifths of the day: the minute's mean is 70 % of 3,000 IOPS."""
    busy = np.arange(TWO_DAYS) % (24 * HOUR) < 576
    ops = np.where(busy, 2100.0, 300.0) * wander(rng, TWO_DAYS, 0.05)
    latency = np.where(busy, 0.011, 0.0007) * wander(rng, TWO_DAYS, 0.1)
    values = builders.storage(ops * 16 * KIB, latency_s=latency)
    values[Metric.QUEUE_DEPTH] = np.where(busy, 37.0, 0.2) * wander(rng, TWO_DAYS, 0.1)
    return values


def flat_and_slow(rng: np.random.Generator):
    """571 minutes at 194 MB/s ± 1 % with seven times the latency, below every documented number."""
    rate = 40e6 * wander(rng, TWO_DAYS, 0.3)
    rate[600:1171] = 194e6 * wander(rng, 571, 0.01)
    latency = 0.0014 * wander(rng, TWO_DAYS, 0.1)
    latency[600:1171] *= 7
    return builders.storage(rate, size_bytes=64 * KIB, latency_s=latency)


def test_slow_storage_below_every_ceiling_is_reported():
    """Latency and queue 20 times as high for three hours: the verdict is open, and the stretch has all numbers."""
    diagnosis = of(slow_for_three_hours(np.random.default_rng(1)))
    (stretch,) = diagnosis.waiting

    assert Verdict.UNKNOWN == diagnosis.verdict
    assert (START_S + 60_000, START_S + 70_800) == (stretch.start_s, stretch.end_s)
    assert 10_800 == stretch.waiting_s
    np.testing.assert_allclose(stretch.times, 20, rtol=0.15)
    np.testing.assert_allclose(stretch.latency_s, 0.016, rtol=0.1)
    np.testing.assert_allclose(stretch.queue_depth, 39, rtol=0.1)
    assert stretch.io_size_bytes == pytest.approx(16 * KIB)
    # Each present ceiling with the share that was served then, the largest first; none of legacy ones.
    ratios = [s.ratio for s in stretch.shares]
    assert sorted(ratios, reverse=True) == ratios
    np.testing.assert_allclose(ratios[0] * stretch.shares[0].value, stretch.ops_per_s)
    (finding,) = diagnosis.findings
    assert (CODE, "warning") == (finding.code, finding.severity)
    assert "normal for 3 h; no documented limit explains it" in finding.title


def test_bursts_that_fill_a_part_of_each_minute_are_reported():
    """The mean is 70 % of the volume's IOPS; the likeliest cause is that ceiling within the minute."""
    diagnosis = of(bursts(np.random.default_rng(2)), instance=SMALL_GP3)

    assert Verdict.UNKNOWN == diagnosis.verdict
    assert 2 * 576 * 60 == sum(w.waiting_s for w in diagnosis.waiting)
    first = diagnosis.waiting_causes[0]
    assert "within_sample" == first.code
    assert "70 % of the volume IOPS of 3,000 IOPS" in first.text
    assert "Enhanced Monitoring at 1 s" in first.check


def test_hours_of_slow_flat_throughput_are_never_passed_over():
    """571 minutes at one rate with seven times the latency: found as a level, or else as waiting."""
    diagnosis = of(flat_and_slow(np.random.default_rng(3)))
    seconds = sum(i.end_s - i.start_s for i in (*diagnosis.intervals, *diagnosis.waiting))

    assert diagnosis.verdict in (Verdict.BINDS, Verdict.UNKNOWN)
    np.testing.assert_allclose(seconds, 571 * 60, rtol=0.02)


def test_waiting_away_from_a_ceiling_is_next_to_the_verdict():
    """A ceiling that binds elsewhere in the window stays the verdict; the waiting is one more finding."""
    rng = np.random.default_rng(4)
    demand = np.concatenate((builders.working_day(rng, 20e6, 150e6), 20e6 * wander(rng, 720, 0.1)))
    values = builders.held_at(demand, 81.25e6, rng=rng)
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][1200:1320] *= 25
    diagnosis = of(values, instance=LARGE)

    assert Verdict.BINDS == diagnosis.verdict
    (stretch,) = diagnosis.waiting
    assert START_S + 1200 * 60 == stretch.start_s
    assert CODE in [f.code for f in diagnosis.findings]
    assert "critical" == diagnosis.findings[0].severity


def test_waiting_at_a_ceiling_is_explained():
    """What was found at a ceiling, its edges and its hovering are not reported a second time."""
    rng = np.random.default_rng(5)
    demand = builders.working_day(rng, 20e6, 150e6)
    diagnosis = of(builders.held_at(demand, 81.25e6, rng=rng, waiting=30), instance=LARGE)

    assert Verdict.BINDS == diagnosis.verdict
    assert () == diagnosis.waiting


def idle_nights(values, rng):
    """A few slow I/Os a minute: 0.5 operations/s at 40 ms."""
    night = np.arange(TWO_DAYS) % (24 * HOUR) < 6 * HOUR
    for metric in builders.RATES:
        values[metric][night] *= 0.0002
    for metric in builders.LATENCIES:
        values[metric][night] = 0.04
    values[Metric.QUEUE_DEPTH][night] = 0.02


def single_spikes(values, rng):
    """Four very slow minutes, four times in two days."""
    at = (np.arange(30, TWO_DAYS, 720)[:, None] + np.arange(4)).ravel()
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][at] *= 50


def jitter(values, rng):
    """Latency of slow storage that doubles for hours: 6.4 ms becomes 14 ms."""
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric] *= 8
        values[metric][900:1300] *= 2.2


def large_requests(values, rng):
    """A nightly scan in 1 MiB requests, each of which takes its time to transfer."""
    scan = slice(600, 800)
    for ops, size in (
        (Metric.READ_OPS_PER_S, Metric.READ_BYTES_PER_S),
        (Metric.WRITE_OPS_PER_S, Metric.WRITE_BYTES_PER_S),
    ):
        values[ops][scan] = values[size][scan] / 2**20
    for metric in builders.LATENCIES:
        values[metric][scan] = 0.0008 + 2**20 / 300e6
    values[Metric.QUEUE_DEPTH][scan] = 40 * 0.0043


def fast_to_slow_but_quick(values, rng):
    """From 0.2 ms to 1 ms: five times as long, and still what is documented for SSD volumes."""
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric] /= 4
        values[metric][900:1300] *= 5


@pytest.mark.parametrize(("minutes", "every", "times"), [(1, 3, 15), (1, 5, 15), (1, 30, 15), (4, 150, 50)])
def test_spikes_that_recur_are_waiting(minutes, every, times):
    """A few slow minutes of every so many, two days long, are one stretch, however short the time between them."""
    rng = np.random.default_rng(6)
    values = builders.storage(40e6 * wander(rng, TWO_DAYS, 0.15), latency_s=0.0008 * wander(rng, TWO_DAYS, 0.1))
    slow = np.arange(TWO_DAYS) % every < minutes
    for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
        values[metric][slow] *= times
    diagnosis = of(values)
    (waiting,) = diagnosis.waiting

    assert Verdict.UNKNOWN == diagnosis.verdict
    assert 60 * np.count_nonzero(slow) == waiting.waiting_s
    assert times / 2 < waiting.times < 1.15 * times


@pytest.mark.parametrize("happens", [idle_nights, single_spikes, jitter, large_requests, fast_to_slow_but_quick])
def test_what_is_not_waiting_is_not_reported(happens):
    """Idle hours, spikes, jitter, large requests and quick answers leave the verdict alone."""
    rng = np.random.default_rng(6)
    latency = 0.0008 * wander(rng, TWO_DAYS, 0.1)
    values = builders.storage(40e6 * wander(rng, TWO_DAYS, 0.15), latency_s=latency)
    happens(values, rng)
    diagnosis = of(values)

    assert () == diagnosis.waiting
    assert Verdict.SLACK == diagnosis.verdict


def test_queue_depth_alone_shows_waiting():
    """Without any latency metric the queue tells how long requests wait, by Little's law."""
    values = slow_for_three_hours(np.random.default_rng(7))
    for metric in builders.LATENCIES:
        del values[metric]
    (stretch,) = of(values).waiting

    np.testing.assert_allclose(stretch.latency_s, 0.016, rtol=0.1)


def test_a_queue_that_contradicts_the_latency_is_not_waiting():
    """Latency 4 times as high with the usual queue at the usual rate cannot both be true."""
    values = slow_for_three_hours(np.random.default_rng(8), times=4.0)
    calm = builders.storage(40e6 * np.ones(TWO_DAYS), latency_s=0.0008)
    values[Metric.QUEUE_DEPTH] = calm[Metric.QUEUE_DEPTH]

    assert () == of(values).waiting


def judged(times: float, *, queue_times: float) -> bool:
    """Whether a sample counts as waiting, of storage that takes 6 ms unpressed at 2,000 IOPS."""
    unpressed_s = 0.006
    values = builders.storage(np.full(10, 2000.0 * 16 * KIB), latency_s=times * unpressed_s)
    frame = frame_of(builders.snapshot(values))
    assert frame is not None
    reference_s = np.full(10, unpressed_s)
    excess = np.full(10, np.log(np.sqrt(times * queue_times)))
    congestion = Congestion(
        log_excess=excess, log_excess_smooth=excess, latency_s=times * reference_s,
        reference_s=reference_s, quickest_s=reference_s, is_measured=True, is_reference_seen=True,
        has_latency=True, has_queue=True,
    )  # fmt: skip
    (waits,) = set(waits_of(frame, congestion).tolist())
    return bool(waits)


@pytest.mark.parametrize(
    ("times", "queue_times", "waits"),
    [
        # Latency within three times the reference is what mix, size and load do to it.
        *((2.1, 2.1, False), (2.9, 2.9, False), (3.1, 3.1, True), (8.0, 8.0, True)),
        # Four times the latency with an unchanged or doubled queue is a fault of one of the metrics.
        *((4.0, 1.0, False), (4.0, 2.0, False), (4.0, 3.0, True)),
    ],
)
def test_waiting_begins_at_three_times_the_unpressed_latency(times, queue_times, waits):
    """In latency and queue, which must agree."""
    assert waits == judged(times, queue_times=queue_times)


@pytest.mark.parametrize("minutes", [180, 1700])
@pytest.mark.parametrize("usual_s", [0.0019, 0.0024, 0.006])
def test_steady_load_is_measured_by_its_own_quickest_hours(usual_s, minutes):
    """
    Storage that always takes 2.4 ms, and four times that for hours, is four times as slow, not nine.

    The load never falls, so nothing shows this storage unpressed; its own quickest tenth is the bound.
    """
    rng = np.random.default_rng(10)
    latency = usual_s * wander(rng, TWO_DAYS, 0.05)
    latency[1000 : 1000 + minutes] *= 4
    diagnosis = of(builders.storage(40e6 * wander(rng, TWO_DAYS, 0.1), latency_s=latency))

    assert Verdict.UNKNOWN == diagnosis.verdict
    (stretch,) = diagnosis.waiting
    np.testing.assert_allclose(stretch.times, 4, rtol=0.1)
    np.testing.assert_allclose(stretch.latency_reference_s, usual_s, rtol=0.1)


def test_steady_load_that_never_waits_is_left_alone():
    """Storage that always takes 6 ms under a steady load is slow, and nothing in it waits."""
    rng = np.random.default_rng(11)
    latency = 0.006 * wander(rng, TWO_DAYS, 0.1)
    diagnosis = of(builders.storage(40e6 * wander(rng, TWO_DAYS, 0.1), latency_s=latency))

    assert () == diagnosis.waiting
