"""Which ceiling would bind once the present one is raised."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from builders import ceiling
from plimsoll.diagnosis.next_ceiling import bytes_per_s_through, next_ceiling_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Interval
from plimsoll.units import KIB

EBS, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS
BASELINE = ceiling(EBS, Phase.BASELINE, 287.5e6)
BURST = ceiling(EBS, Phase.BURST, 593.75e6)
LEGACY = ceiling(EBS, Phase.LEGACY, 212.5e6, legacy=Phase.BASELINE)
OPS = ceiling(IOPS, Phase.BASELINE, 12_000)
VOLUME = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 500e6)
CPU = ceiling(Family.CPU, Phase.FIXED, 1.0)
ALL = (BASELINE, BURST, LEGACY, OPS, VOLUME, CPU)


def of(
    bound: Ceiling | None,
    *,
    size_bytes: float | None = None,
    sizes_bytes: Sequence[float] = (),
    level: float | None = None,
    dimension: Dimension = Dimension.THROUGHPUT,
    ceilings=ALL,
) -> Ceiling | None:
    family = bound.family if bound else Family.UNKNOWN
    phase = bound.phase if bound else Phase.FIXED
    value = level if level is not None else bound.value
    at = CeilingTime(
        family=family, phase=phase, dimension=dimension, level=value, seconds=3600,
        interval_count=1, ceiling=bound,
    )  # fmt: skip
    first = Interval(
        start_s=0, end_s=3600, dimension=dimension, level=value, level_low=value,
        level_high=value, family=family, phase=phase, former_phase=None, ceiling=bound,
        confidence=0.99, attribution=0.99, io_size_bytes=size_bytes, latency_s=None,
        latency_reference_s=None, queue_depth=None, evidence=(), ruled_out=(), refuted_by="",
    )  # fmt: skip
    intervals = [replace(first, io_size_bytes=size) for size in sizes_bytes or (size_bytes,)]
    return next_ceiling_of((at,), tuple(intervals), ceilings)


def test_nothing_binds_so_nothing_is_next():
    """Without a binding ceiling there is no successor."""
    assert next_ceiling_of((), (), ALL) is None


def test_at_small_requests_iops_are_next():
    """At 32 KiB, 12,000 IOPS let 393 MB/s through, less than the volume's 500 MB/s."""
    assert OPS == of(BASELINE, size_bytes=32 * KIB)


def test_at_large_requests_throughput_is_next():
    """At 64 KiB, 12,000 IOPS let 786 MB/s through, more than the volume's 500 MB/s."""
    assert VOLUME == of(BASELINE, size_bytes=64 * KIB)


def test_of_many_intervals_the_middle_size_counts():
    """One stretch of small requests, and one of large ones, do not decide what three others show."""
    sizes = [8, 32, 32, 32, 1024], [32, 32, 64, 64, 64]

    assert [OPS, VOLUME] == [of(BASELINE, sizes_bytes=[k * KIB for k in one]) for one in sizes]


def test_the_successor_is_of_another_family():
    """Raising a baseline raises its family, so the burst of the same family is not next."""
    assert of(BASELINE, size_bytes=64 * KIB, ceilings=(BASELINE, BURST)) is None


def test_after_a_legacy_limit_its_successor_may_be_next():
    """Stopping and starting lifts 212.5 to 287.5 MB/s, and then that binds."""
    assert BASELINE == of(LEGACY, size_bytes=64 * KIB)


def test_legacy_limits_are_never_next():
    """A legacy limit does not come back."""
    found = of(OPS, size_bytes=16 * KIB, dimension=Dimension.IOPS, ceilings=(OPS, LEGACY, BASELINE))

    assert BASELINE == found


def test_an_iops_level_is_compared_in_bytes():
    """12,000 IOPS of 16 KiB are 197 MB/s: a volume of 100 MB/s lies below, not next."""
    slow = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 100e6)
    found = of(OPS, size_bytes=16 * KIB, dimension=Dimension.IOPS, ceilings=(OPS, slow, BASELINE))

    assert BASELINE == found


def test_an_unknown_level_has_a_documented_successor():
    """Above an unknown limit of 150 MB/s the first documented number comes next."""
    assert BASELINE == of(None, level=150e6, size_bytes=64 * KIB)


def test_a_number_just_at_the_level_is_not_next():
    """The ceiling that binds, read a little low, is not its own successor."""
    assert VOLUME == of(None, level=285e6, size_bytes=64 * KIB, ceilings=(BASELINE, VOLUME))


def test_without_an_io_size_it_is_not_known():
    """Bytes and operations compare only through the I/O size."""
    assert of(BASELINE, size_bytes=None) is None


@pytest.mark.parametrize(
    ("row", "size_bytes", "bytes_per_s"),
    [
        (BASELINE, 8 * KIB, 287.5e6),
        (OPS, 8 * KIB, 12_000 * 8192),
        (OPS, 256 * KIB, 12_000 * 262_144),
        (OPS, 512 * KIB, 12_000 * 262_144),
    ],
)
def test_what_a_ceiling_lets_through(row, size_bytes, bytes_per_s):
    """An IOPS ceiling lets more through the larger the requests, up to the unit of 256 KiB."""
    np.testing.assert_allclose(bytes_per_s_through(row, size_bytes), bytes_per_s)
