"""How near every resource came to its ceiling."""

import numpy as np
import pytest

import builders
from builders import ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.headroom import resources_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Resource, Verdict
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.units import gib

EBS = Family.INSTANCE_EBS_THROUGHPUT
BASELINE = ceiling(EBS, Phase.BASELINE, 100e6)
BURST = ceiling(EBS, Phase.BURST, 300e6)
LEGACY = ceiling(EBS, Phase.LEGACY, 60e6, legacy=Phase.BASELINE)
CPU = ceiling(Family.CPU, Phase.FIXED, 1.0)
MEMORY = ceiling(Family.MEMORY, Phase.FIXED, gib(16))
SPACE = ceiling(Family.STORAGE_SPACE, Phase.FIXED, gib(100))
CONNECTIONS = ceiling(Family.CONNECTIONS, Phase.FIXED, 500)
NETWORK = ceiling(Family.NETWORK, Phase.BASELINE, 125e6)
CEILINGS = (BASELINE, BURST, LEGACY, CPU, MEMORY, SPACE, CONNECTIONS, NETWORK)


def of(family: Family, *values, ceilings=CEILINGS, time_at=()) -> Resource:
    snapshot = builders.snapshot(*values)
    found = resources_of(snapshot, frame_of(snapshot), ceilings, time_at)
    return next(r for r in found if r.family == family)


def at(row: Ceiling, seconds: float) -> CeilingTime:
    return CeilingTime(
        family=row.family, phase=row.phase, dimension=row.dimension, level=row.value, seconds=seconds,
        interval_count=1, ceiling=row,
    )  # fmt: skip


def minutes(calm: float, busy: float, count: int, total: int = 240) -> np.ndarray:
    value = np.full(total, float(calm))
    value[:count] = busy
    return value


def test_every_resource_is_listed_in_one_order():
    """Storage comes first, then the rest of the machine, whether measured or not."""
    found = resources_of(builders.snapshot(), None, (), ())
    families = [resource.family for resource in found]

    assert list(RATE_FAMILIES) == families[:4]
    assert [family for family in Family if family in families] == families
    assert {Verdict.UNKNOWN} == {resource.verdict for resource in found}


@pytest.mark.parametrize(
    ("rate", "step_s", "minutes", "verdict"),
    [
        # A stray minute above 80 % of the ceiling is not near; five minutes are.
        (minutes(20e6, 85e6, 0), 60, 0, Verdict.SLACK),
        (minutes(20e6, 85e6, 4), 60, 4, Verdict.SLACK),
        (minutes(20e6, 85e6, 5), 60, 5, Verdict.NEAR),
        # Half a minute of ten is as near as five minutes of hours.
        (minutes(20e6, 85e6, 30, total=600), 1, 0.5, Verdict.NEAR),
        # Five minutes in one sample are five minutes.
        ([90e6, 20e6], 300, 5, Verdict.NEAR),
    ],
)
def test_near_is_above_four_fifths_for_five_minutes(rate, step_s, minutes, verdict):
    """Or for a twentieth of a short window."""
    snapshot = builders.snapshot(builders.storage(rate), step_s=step_s)
    found = resources_of(snapshot, frame_of(snapshot), CEILINGS, ())[0]

    assert (minutes, verdict) == (found.minutes_above_80, found.verdict)


@pytest.mark.parametrize(
    ("busy", "count", "p99", "headroom"),
    # One busy minute of 240 is the peak and not the 99th percentile; on credits more is served.
    [(70e6, 10, 70e6, 30e6), (70e6, 1, 20e6, 30e6), (310e6, 30, 310e6, 0.0)],
)
def test_headroom_is_measured_from_what_can_be_sustained_forever(busy, count, p99, headroom):
    """From the present baseline, not from the burst and not from a legacy number; it is never negative."""
    resource = of(EBS, builders.storage(minutes(20e6, busy, count)))
    mean = 20e6 + (busy - 20e6) * count / 240

    assert (BASELINE if busy < BASELINE.value else BURST) == resource.ceiling
    np.testing.assert_allclose(
        (resource.peak, resource.p99, resource.mean, resource.headroom), (busy, p99, mean, headroom)
    )


def test_more_than_the_baseline_is_judged_by_the_burst_ceiling():
    """What credits paid for is compared with the most they allow, and the baseline is reported next to it."""
    resource = of(
        EBS,
        builders.storage(minutes(20e6, 200e6, 30)),
        builders.series(Metric.BYTE_BALANCE_RATIO, np.linspace(1.0, 0.5, 240)),
    )

    assert (BURST, Verdict.SLACK, 0.0) == (resource.ceiling, resource.verdict, resource.minutes_above_80)
    assert "above its baseline of 100 MB/s for 30 min, on credits" in resource.note
    assert "50 % of the credits were left" in resource.note


def test_a_network_above_its_baseline_has_samples_of_its_own():
    """It is judged by its own samples: storage may have been read at fewer moments, or never."""
    burst = ceiling(Family.NETWORK, Phase.BURST, 250e6)
    received = builders.series(Metric.NETWORK_RECEIVE_BYTES_PER_S, minutes(20e6, 200e6, 30))
    wanted = "above its baseline of 125 MB/s for 30 min, on credits"
    for others in ((), (builders.storage(minutes(20e6, 20e6, 0, total=200)),)):
        resource = of(Family.NETWORK, received, *others, ceilings=(*CEILINGS, burst))
        assert wanted in resource.note


@pytest.mark.parametrize(
    ("peak", "balance", "verdict"),
    [(200e6, 0.1, Verdict.NEAR), (200e6, None, Verdict.NEAR), (290e6, 0.9, Verdict.NEAR), (200e6, 0.9, Verdict.SLACK)],
)
def test_above_the_baseline_credits_decide(peak, balance, verdict):
    """Few credits or an unknown number of them are near the baseline; four fifths of the burst near that."""
    given = [builders.storage(minutes(20e6, peak, 30))]
    if balance is not None:
        given.append(builders.series(Metric.BYTE_BALANCE_RATIO, np.full(240, balance)))

    assert verdict == of(EBS, *given).verdict


def test_the_ceiling_that_binds_is_the_one_shown():
    """Where a legacy limit binds, its number stands in the row, and the time above 80 % is of it."""
    resource = of(EBS, builders.storage(minutes(20e6, 60e6, 40)), time_at=(at(LEGACY, 2400),))

    assert (LEGACY, 40.0) == (resource.ceiling, resource.minutes_above_80)
    assert "present limit is 100 MB/s" in resource.note


@pytest.mark.parametrize(
    ("family", "values", "ceilings", "peak", "note"),
    [
        # What was not measured is not slack: the missing metric is named.
        (Family.CPU, builders.storage([1e6]), CEILINGS, None, "CPUUtilization"),
        # FreeableMemory alone does not say how much is used; what is missing is the size.
        (
            Family.MEMORY,
            {Metric.FREEABLE_MEMORY_BYTES: np.full(60, gib(2))},
            (),
            None,
            "FreeableMemory was measured, but the total size is unknown",
        ),
        # Measured but not documented: how near it came cannot be reported, but the peak is shown.
        (EBS, builders.storage(minutes(20e6, 70e6, 10)), (), 70e6, "no documented limit"),
    ],
    ids=["unmeasured", "size unknown", "no ceiling"],
)
def test_what_cannot_be_compared_is_unknown(family, values, ceilings, peak, note):
    """And what is missing is named."""
    resource = of(family, values, ceilings=ceilings)

    assert (Verdict.UNKNOWN, None) == (resource.verdict, resource.headroom)
    assert peak == (resource.peak and pytest.approx(resource.peak))
    assert note in resource.note
    assert peak is None or "bytes/s" == resource.unit


@pytest.mark.parametrize(("row", "expected"), [(BASELINE, False), (LEGACY, True)])
def test_what_bound_binds(row, expected):
    """Time at a ceiling makes the verdict, with its length; a legacy limit is called so."""
    resource = of(EBS, builders.storage(minutes(20e6, 30e6, 5)), time_at=(at(row, 5400),))

    assert Verdict.BINDS == resource.verdict
    assert "1 h 30 min" in resource.note
    assert expected == ("legacy" in resource.note)


IN, OUT = Metric.NETWORK_RECEIVE_BYTES_PER_S, Metric.NETWORK_TRANSMIT_BYTES_PER_S


@pytest.mark.parametrize(
    ("family", "measured", "peak", "verdict", "words"),
    [
        # A database fills memory on purpose: an eighth freeable is usual, a sixteenth is tight.
        (Family.MEMORY, {Metric.FREEABLE_MEMORY_BYTES: gib(4)}, gib(12), Verdict.SLACK, []),
        (Family.MEMORY, {Metric.FREEABLE_MEMORY_BYTES: gib(2)}, gib(14), Verdict.SLACK, ["freeable"]),
        (Family.MEMORY, {Metric.FREEABLE_MEMORY_BYTES: gib(1)}, gib(15), Verdict.NEAR, ["freeable", "for 60 min"]),
        # 90 MB/s in and 40 MB/s out are 90 of 125 MB/s, not 130: bandwidth is full duplex.
        (Family.NETWORK, {IN: 90e6, OUT: 40e6}, 90e6, Verdict.SLACK, []),
        (Family.NETWORK, {IN: 90e6}, 90e6, Verdict.SLACK, []),
        (Family.NETWORK, {OUT: 90e6}, 90e6, Verdict.SLACK, []),
        # 15 GiB free of 100 are 85 GiB in use.
        (Family.STORAGE_SPACE, {Metric.FREE_STORAGE_BYTES: gib(15)}, gib(85), Verdict.NEAR, []),
        (Family.CONNECTIONS, {Metric.CONNECTION_COUNT: 450}, 450, Verdict.NEAR, []),
        (Family.CPU, {Metric.CPU_RATIO: 0.3}, 0.3, Verdict.SLACK, []),
    ],
)
def test_each_resource_is_judged_by_what_is_used_of_it(family, measured, peak, verdict, words):
    """What is free is not in use, each direction has the whole network, and the rest is taken as it is."""
    resource = of(family, {metric: np.full(60, value) for metric, value in measured.items()})

    np.testing.assert_allclose(resource.peak, peak)
    assert verdict == resource.verdict
    assert words == [word for word in ("freeable", "for 60 min") if word in resource.note]


def test_directions_at_different_times_are_compared_by_their_peaks():
    """Series on different grids are not added up; the busier one is shown."""
    resource = of(
        Family.NETWORK,
        builders.series(Metric.NETWORK_RECEIVE_BYTES_PER_S, np.full(60, 30e6)),
        builders.series(Metric.NETWORK_TRANSMIT_BYTES_PER_S, np.full(12, 110e6), step_s=300),
    )

    assert (110e6, 60.0) == (resource.peak, resource.minutes_above_80)


def test_gaps_are_left_out():
    """A minute without a reading is neither used nor free."""
    resource = of(Family.CPU, {Metric.CPU_RATIO: [0.9, np.nan, 0.1]})

    np.testing.assert_allclose(resource.mean, 0.5)
    assert 1.0 == resource.minutes_above_80
