"""Which ceiling would bind once the present one is raised."""

from collections.abc import Sequence

import numpy as np
import pytest

from builders import ceiling
from plimsoll.diagnosis.next_ceiling import bytes_per_s_through, next_ceiling_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime
from plimsoll.units import KIB
from unit.reports.fixture_parts import interval

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
    known = {"dimension": dimension, "family": family, "phase": phase, "ceiling": bound}
    intervals = [
        interval(0, 3600, bound or BASELINE, level=value, io_size_bytes=size, **known)
        for size in sizes_bytes or (size_bytes,)
    ]
    return next_ceiling_of((at,), tuple(intervals), ceilings)


def test_nothing_binds_so_nothing_is_next():
    """Without a binding ceiling there is no successor."""
    assert next_ceiling_of((), (), ALL) is None


SLOW = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 100e6)
AT_16 = {"size_bytes": 16 * KIB, "dimension": Dimension.IOPS}
AT_64 = {"size_bytes": 64 * KIB}


@pytest.mark.parametrize(
    ("bound", "how", "expected"),
    [
        # At 32 KiB, 12,000 IOPS let 393 MB/s through, less than the volume's 500 MB/s; at 64 KiB 786.
        (BASELINE, {"size_bytes": 32 * KIB}, OPS),
        (BASELINE, AT_64, VOLUME),
        # One stretch of small requests, and one of large ones, do not decide what three others show.
        (BASELINE, {"sizes_bytes": [k * KIB for k in (8, 32, 32, 32, 1024)]}, OPS),
        (BASELINE, {"sizes_bytes": [k * KIB for k in (32, 32, 64, 64, 64)]}, VOLUME),
        # Raising a baseline raises its family, so the burst of the same family is not next.
        (BASELINE, AT_64 | {"ceilings": (BASELINE, BURST)}, None),
        # Stopping and starting lifts 212.5 to 287.5 MB/s, and then that binds.
        (LEGACY, AT_64, BASELINE),
        # A legacy limit does not come back.
        (OPS, AT_16 | {"ceilings": (OPS, LEGACY, BASELINE)}, BASELINE),
        # 12,000 IOPS of 16 KiB are 197 MB/s: a volume of 100 MB/s lies below, not next.
        (OPS, AT_16 | {"ceilings": (OPS, SLOW, BASELINE)}, BASELINE),
        # Above an unknown limit of 150 MB/s the first documented number comes next.
        (None, AT_64 | {"level": 150e6}, BASELINE),
        # The ceiling that binds, read a little low, is not its own successor.
        (None, AT_64 | {"level": 285e6, "ceilings": (BASELINE, VOLUME)}, VOLUME),
        # Bytes and operations compare only through the I/O size.
        (BASELINE, {"size_bytes": None}, None),
    ],
)
def test_the_next_ceiling_is_the_lowest_above_of_another_family(bound, how, expected):
    """By the I/O size: never the family that binds, never a legacy limit, never what lies below."""
    assert expected == of(bound, **how)


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
