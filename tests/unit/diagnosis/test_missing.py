"""What could not be judged, what that hides, and what would supply it."""

import msgspec
import numpy as np
import pytest

import builders
from builders import LATENCIES, ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.missing import (
    LIGHT_LOAD,
    SHORT_WINDOW,
    VERDICT,
    baselines_unknown,
    missing_of,
    not_covered,
    pressed_throughout,
    steady_throughout,
    too_short,
)
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Missing
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Gap, Snapshot

KNOWN = Instance(db_class="db.r5.large", storage=Storage(kind="gp3", size_gib=500.0))
PERMISSION = "cloudwatch:GetMetricData"
DOCUMENTED = (ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.FIXED, 500e6),)


def values() -> dict:
    """Two hours with light load, one with heavy."""
    rate = builders.working_day(np.random.default_rng(1), 10e6, 90e6, hours=3, spread=0.3)
    return builders.storage(rate)


def of(snapshot: Snapshot, *, unknown_class: str = "", ceilings=()) -> tuple[Missing, ...]:
    frame = frame_of(snapshot)
    congestion = congestion_of(frame, load_of(frame)) if frame else None
    return missing_of(snapshot, frame, congestion, ceilings, unknown_class=unknown_class)


def test_a_whole_snapshot_misses_nothing():
    """With class, storage, rates and waiting there is no gap to name."""
    assert () == of(builders.snapshot(values(), instance=KNOWN))


def test_without_rates_nothing_can_be_reported():
    """Without any storage rate the verdict is hidden, and the metrics and the permission are named."""
    (gap,) = of(builders.snapshot({Metric.CPU_RATIO: [0.5]}, instance=KNOWN))

    assert VERDICT == gap.hides
    for name in ("ReadIOPS", "WriteIOPS", "ReadThroughput", "WriteThroughput"):
        assert name in gap.name
    assert PERMISSION in gap.remedy


@pytest.mark.parametrize("metric", builders.RATES)
def test_half_a_total_is_named(metric):
    """Reads without writes are no total: the half that is missing is named with the permission for it."""
    have = values()
    del have[metric]
    (gap,) = of(builders.snapshot(have, instance=KNOWN))

    assert (METRICS[metric].cloudwatch, VERDICT) == (gap.name, gap.hides)
    assert PERMISSION in gap.remedy


def test_without_waiting_a_ceiling_and_a_steady_load_look_alike():
    """Without latency and queue depth the verdict is hidden; either of them is enough."""
    have = values()
    for metric in LATENCIES:
        del have[metric]
    with_queue = of(builders.snapshot(have, instance=KNOWN))
    del have[Metric.QUEUE_DEPTH]
    (gap,) = of(builders.snapshot(have, instance=KNOWN))

    assert () == with_queue
    assert VERDICT == gap.hides
    assert "DiskQueueDepth" in gap.name
    assert PERMISSION in gap.remedy


def test_a_window_without_calm_hides_the_verdict_only_without_numbers():
    """Where nothing is documented and no light load was seen, a longer window is asked for."""
    steady = builders.snapshot(builders.storage(np.full(180, 90e6)), instance=KNOWN)
    (gap,) = of(steady)

    assert VERDICT == gap.hides
    assert "light load" in gap.name
    assert () == of(steady, ceilings=DOCUMENTED)


def test_a_load_that_never_stands_still_needs_no_calm():
    """Rates that vary by a tenth are at no ceiling, whether or not a light load was seen."""
    breathing = 90e6 * builders.wander(np.random.default_rng(2), 180, 0.1)

    assert () == of(builders.snapshot(builders.storage(breathing), instance=KNOWN))


NEAREST = "class 'db.r5.3xlarge' is not in the catalog. Nearest: db.r5.2xlarge, db.r5.4xlarge."


@pytest.mark.parametrize(
    ("instance", "unknown_class", "name", "remedy"),
    [
        (Instance(), "", "instance class", "--class"),
        (KNOWN, NEAREST, "instance class", NEAREST),
        (Instance(db_class="db.r5.large"), "", "storage type and size", "--storage"),
    ],
)
def test_what_is_not_known_of_an_instance_hides_its_limits(instance, unknown_class, name, remedy):
    """Not the verdict; the remedy is an option, or what the catalog has for an unknown class."""
    (gap,) = of(builders.snapshot(values(), instance=instance), unknown_class=unknown_class)

    assert name == gap.name
    assert VERDICT != gap.hides
    assert remedy in gap.remedy


@pytest.mark.parametrize(("measured_h", "expected"), [(3.0, "70 % of the window"), (9.6, None)])
def test_what_was_asked_for_and_not_measured_is_reported(measured_h, expected):
    """Three of ten hours asked for leave seven unknown; a late sample leaves nothing to say."""
    asked_s = (builders.START_S, builders.START_S + 36_000)
    snapshot = msgspec.structs.replace(builders.snapshot(values()), asked_s=asked_s)
    names = [gap.name for gap in not_covered(snapshot, measured_h * 3600, asked_s)]

    assert ([expected] if expected else []) == names


def test_what_the_source_could_not_read_is_passed_on():
    """A gap of the source keeps its reason and its remedy, under the name people know."""
    whole = builders.snapshot(values(), instance=KNOWN)
    gaps = (
        Gap(metric="read_latency_s", reason="access denied", remedy="Allow it."),
        Gap(metric="max_connections", reason="no connection", remedy="Give a DSN."),
    )
    found = of(Snapshot(instance=KNOWN, series=whole.series, source="a test", gaps=gaps))

    assert ["ReadLatency", "max_connections"] == [gap.name for gap in found]
    assert "access denied" in found[0].remedy
    assert "Allow it." in found[0].remedy
    assert VERDICT not in {gap.hides for gap in found}


@pytest.mark.parametrize(
    ("count", "step_s", "is_short", "needed"),
    [
        (1, 60, True, "10 min"),
        (9, 60, True, "10 min"),
        (10, 60, False, ""),
        (6, 1, True, "1 min"),
        (59, 1, True, "1 min"),
        (60, 1, False, ""),
        (9, 300, True, "50 min"),
        (10, 300, False, ""),
    ],
)
def test_a_window_must_be_long_enough_to_show_a_ceiling(count, step_s, is_short, needed):
    """Ten samples and a minute of them, or the verdict is hidden and the remedy says how long to measure."""
    gaps = too_short(frame_of(builders.snapshot(builders.storage([5e6] * count), step_s=step_s)))

    assert [(SHORT_WINDOW, VERDICT)] * is_short == [(g.name, g.hides) for g in gaps]
    assert all(f"at least {needed}" in g.remedy for g in gaps)


def test_a_window_without_rates_is_not_called_short():
    """Where nothing was measured that is the gap, not the length."""
    assert () == too_short(None)
    assert () == too_short(frame_of(builders.snapshot(builders.storage([float("nan")] * 3))))


def pressed_gap(rate, latency_s, ceilings=()) -> tuple[Missing, ...]:
    frame = frame_of(builders.snapshot(builders.storage(rate, latency_s=latency_s)))
    return pressed_throughout(frame, congestion_of(frame, load_of(frame)), ceilings)


STEADY = 10_000 * 16_384 * builders.wander(np.random.default_rng(2), 120, 0.1)
QUIET_TENTH = np.where(np.arange(120) < 20, 1e6, 10_000 * 16_384)


@pytest.mark.parametrize(
    ("rate", "latency_s", "ceilings", "is_open"),
    [
        # 10,000 IOPS × latency is the queue: 50, 12, 5 and 200 requests.
        (STEADY, 0.005, (), True),
        (STEADY, 0.0012, (), True),
        (STEADY, 0.0005, (), False),
        (STEADY, 0.02, DOCUMENTED, True),
        (STEADY, 0.005, DOCUMENTED, False),
        # 50,000 IOPS at 0.5 ms keep 25 under way, as fast storage does; a quiet tenth shows it unpressed.
        (50_000 * 4096.0 * np.ones(120), 0.0005, DOCUMENTED, False),
        (QUIET_TENTH, np.where(QUIET_TENTH > 1e6, 0.005, 0.0005), (), False),
    ],
)
def test_a_queue_that_is_deep_all_the_time_leaves_the_verdict_open(rate, latency_s, ceilings, is_open):
    """Storage that was never seen under light load may be at a limit of its own."""
    assert [(LIGHT_LOAD, VERDICT)] * is_open == [(g.name, g.hides) for g in pressed_gap(rate, latency_s, ceilings)]


@pytest.mark.parametrize(
    ("rate", "spread", "latency_s", "is_open"),
    [
        # 4 ms at one rate all day may be an undocumented limit or slow storage.
        (72e6, 0.002, 0.004, True),
        # 1 ms, or a rate that varies by a tenth, is neither.
        (72e6, 0.002, 0.001, False),
        (72e6, 0.1, 0.004, False),
        # 200 kB/s of heartbeats at 4 ms keep storage busy for a twentieth of the time.
        (200e3, 0.002, 0.004, False),
    ],
)
def test_a_window_that_stands_still_and_waits_leaves_the_verdict_open(rate, spread, latency_s, is_open):
    """Where something is in flight."""
    steady = rate * builders.wander(np.random.default_rng(2), 1440, spread)
    frame = frame_of(builders.snapshot(builders.storage(steady, latency_s=latency_s)))
    gaps = steady_throughout(frame, congestion_of(frame, load_of(frame)))

    assert [(LIGHT_LOAD, VERDICT)] * is_open == [(g.name, g.hides) for g in gaps]


@pytest.mark.parametrize("metric", builders.BALANCES)
@pytest.mark.parametrize(("minutes", "is_said"), [(480, True), (10, True), (3, False)])
def test_credits_that_are_used_up_are_said_without_the_class(metric, minutes, is_said):
    """Without class and storage the baseline is not known; that it applied, and for how long, is."""
    balance = np.ones(720)
    balance[100 : 100 + minutes] = 0
    snapshot = builders.snapshot(values(), {metric: balance})
    found = baselines_unknown(snapshot, ())

    assert is_said == bool(found)
    assert all(gap.hides == VERDICT and METRICS[metric].cloudwatch in gap.name for gap in found)


def test_a_known_class_without_credits_has_no_baseline_to_miss():
    """A balance of a former class or storage, or one that an exporter fills with zeros, is no gap."""
    snapshot = builders.snapshot(values(), {Metric.BYTE_BALANCE_RATIO: np.zeros(720)})

    assert () == baselines_unknown(snapshot, DOCUMENTED)
