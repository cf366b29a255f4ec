"""The I/O-size experiment: limits, unit, merging, and what a sweep cannot tell. All data simulated."""

import msgspec
import numpy as np
import pytest

from plimsoll.model.ceiling import Phase
from plimsoll.units import kib
from plimsoll_lab.fit.fit import fit_sweep
from plimsoll_lab.model.sweep import Direction, Pattern, Sweep, SweepPoint, UnitEvidence
from simulated_sweeps import SIZES_KIB, UNIT_BYTES, point, stage, sweep

POWERS_KIB = (8, 16, 32, 64, 128, 256, 512, 1024)
BOTH = (Phase.BASELINE, Phase.BURST)
# 100 GiB of gp2 under db.m4.4xlarge, and 1,000 IOPS of io1.
GP2 = [
    stage("instance_ebs_throughput", "bytes", 250e6),
    stage("instance_ebs_iops", "ops", 16_000),
    stage("volume_throughput", "bytes", 134.22e6),
    stage("volume_iops", "ops", 300, 3_000, unit_bytes=UNIT_BYTES),
]
IO1 = [
    stage("instance_ebs_throughput", "bytes", 250e6),
    stage("instance_ebs_iops", "ops", 16_000),
    stage("volume_throughput", "bytes", 524e6),
    stage("volume_iops", "ops", 1_000, unit_bytes=UNIT_BYTES),
]


def near(value: float, rel: float = 1e-3):
    return pytest.approx(value, rel=rel)


def of(*points: SweepPoint, alone: tuple[SweepPoint, ...] = ()) -> Sweep:
    return Sweep(subject="s", method="m", points=points, alone=alone)


AT_UNIT = [stage("b", "bytes", 1000 * UNIT_BYTES), stage("o", "ops", 1000)]
FAST = [stage("b", "bytes", 134e6), stage("o", "ops", 20_000)]
MIXED = msgspec.structs.replace(
    point(GP2, kib(1024)), ops_per_s=300 * UNIT_BYTES / kib(700), bytes_per_s=300.0 * UNIT_BYTES
)
SLOW, QUICK = point(GP2, kib(8), depth=1, factor=1 / 3), point(GP2, kib(8), phase=Phase.BURST, depth=1)
BURSTS = [point(GP2, kib(size), phase=Phase.BURST, depth=28) for size in SIZES_KIB]


@pytest.mark.parametrize(
    ("measured", "ops", "most", "left_out_kib", "said"),
    [
        # 1,000 IOPS and 250 MB/s meet at 244 KiB.
        (sweep(IO1), 1000, 250e6, (), ""),
        # A plateau of 1,000 × 256 KiB that 384 KiB reach as well is a throughput limit.
        (sweep(AT_UNIT), 1000, 1000 * UNIT_BYTES, (), "as much as others"),
        # With 8 in flight and 0.7 ms small requests stop at 11,429 per second.
        (sweep(FAST, depth=8), None, 134e6, (4, 8), "No size from 16 KiB on reached an IOPS limit"),
        # What was not reached is reported with the most that was seen.
        (sweep(IO1, sizes_kib=(8, 16, 32)), 1000, None, (), "No size up to 32 KiB"),
        # Sequential points alone are taken with a warning: a volume may have merged them.
        (sweep(IO1, patterns=(Pattern.SEQUENTIAL,)), 16_000, 250e6, (), "may merge them"),
        # Requests that came in other sizes than asked for are not all rounded up together.
        (of(*(point(GP2, kib(size)) for size in SIZES_KIB[:-1]), MIXED), 300, 300 * UNIT_BYTES, (), ""),
        # Without credits even one request alone takes 10 ms of a volume of 100 IOPS; the quickest counts.
        (of(*BURSTS, alone=(SLOW, QUICK)), 3000, 134.22e6, (), ""),
    ],
    ids=["knee", "at the unit", "latency", "below the knee", "sequential", "mixed", "alone"],
)
def test_limits_are_those_that_were_reached(measured, ops, most, left_out_kib, said):
    """And what was not reached, or could not be told, is said."""
    (fit,) = fit_sweep(measured).phases

    assert (None if ops is None else near(ops)) == (fit.ops_limit and fit.ops_limit.value)
    assert (None if most is None else near(most)) == (fit.bytes_limit and fit.bytes_limit.value)
    assert [kib(size) for size in left_out_kib] == [out.point.io_size_bytes for out in fit.left_out]
    assert not said or any(said in text for text in fit.unknown)
    assert fit.is_explained


def test_the_knee_is_where_both_limits_meet():
    """It is not known where only one of them was reached."""
    (whole,), (below,) = (fit_sweep(sweep(IO1, sizes_kib=sizes)).phases for sizes in (SIZES_KIB, (8, 16, 32)))

    assert near(250_000) == whole.knee.value
    assert below.knee is None
    assert any("32.77 MB/s" in text for text in below.unknown)


def test_a_busy_measuring_side_is_not_taken_for_a_limit():
    """What a processor could not ask for says nothing of the disk."""
    chain = [stage("b", "bytes", 134e6), stage("o", "ops", 3_000)]
    busy = [point(chain, kib(size), busy_ratio=0.97, factor=0.5) for size in SIZES_KIB if size < 16]
    rest = [point(chain, kib(size), busy_ratio=0.2) for size in SIZES_KIB if size >= 16]
    (fit,) = fit_sweep(of(*busy, *rest)).phases

    assert 2 == len(fit.left_out)
    assert "busy for 97 %" in fit.left_out[0].reason
    assert near(3_000) == fit.ops_limit.value


def test_a_disturbed_point_is_left_out_and_named():
    """One size at which something else used the disk does not move the limits."""
    noise = np.ones(len(SIZES_KIB))
    noise[3] = 0.8
    (fit,) = fit_sweep(sweep(IO1, noise=noise)).phases
    (out,) = fit.left_out

    assert kib(SIZES_KIB[3]) == out.point.io_size_bytes
    assert "20 % below" in out.reason
    assert near(1000) == fit.ops_limit.value


def test_storage_that_follows_no_two_limits_is_reported():
    """Rates that rise by the square root of the size are no limits."""
    roots = [
        msgspec.structs.replace(point(IO1, kib(s)), ops_per_s=1e4 / s**0.5, bytes_per_s=1e4 * 1024 * s**0.5)
        for s in SIZES_KIB
    ]
    (fit,) = fit_sweep(of(*roots)).phases

    assert not fit.is_explained
    assert fit.scatter_ratio > 0.05


def test_each_direction_and_pattern_has_a_fit_of_its_own():
    """Reads and writes are fitted apart; of sequential points alone nothing is known to be merged."""
    reads = sweep(IO1)
    writes = [msgspec.structs.replace(p, direction=Direction.WRITE) for p in reads.points]
    (alone,) = fit_sweep(sweep(IO1, patterns=(Pattern.SEQUENTIAL,))).phases

    assert [Direction.READ, Direction.WRITE] == [fit.direction for fit in fit_sweep(of(*reads.points, *writes)).phases]
    assert (Pattern.SEQUENTIAL, ()) == (alone.pattern, alone.merges)


def test_two_sizes_explain_two_limits_whatever_was_measured():
    """
    A line through two points leaves nothing over: without errors of their own they have no range, and
    how well it explains them is not known.
    """
    (two,) = fit_sweep(sweep(IO1, sizes_kib=(8, 1024))).phases
    (three,) = fit_sweep(sweep(IO1, sizes_kib=(8, 16, 1024))).phases
    known = [point(IO1, kib(s), error_ratio=0.01) for s in (8, 1024)]
    (found,) = fit_sweep(Sweep(subject="s", method="m", points=tuple(known))).phases

    assert two.scatter_ratio is None
    assert three.scatter_ratio is not None
    assert two.ops_limit.low is None
    assert two.ops_limit.error_ratio is None
    assert 0.0196 == pytest.approx(found.ops_limit.error_ratio, rel=0.01)


def test_a_size_between_two_multiples_shows_the_unit():
    """384 KiB are charged as two operations, so the plateau of gp2 without credits is the unit's own."""
    (fit,) = fit_sweep(sweep(GP2)).phases

    assert near(300) == fit.ops_limit.value
    assert near(300 * UNIT_BYTES) == fit.bytes_limit.value
    assert UnitEvidence.SPLITTING == fit.unit.evidence
    assert near(UNIT_BYTES) == fit.unit.size.value
    assert any("No throughput limit was reached" in text for text in fit.unknown)


def test_without_such_a_size_the_burst_shows_the_unit():
    """While credits last the plateau is higher, so the lower one was not a throughput limit."""
    baseline, burst = fit_sweep(sweep(GP2, phases=BOTH, sizes_kib=POWERS_KIB)).phases

    assert UnitEvidence.PLATEAU == baseline.unit.evidence
    assert near(UNIT_BYTES) == baseline.unit.size.value
    assert near(134.22e6) == burst.bytes_limit.value
    assert burst.unit is None
    assert not any("is not excluded" in text for text in baseline.unknown)


def test_without_either_the_unit_is_a_surmise_and_reported_as_one():
    """A throughput limit of just the same height is not excluded."""
    (fit,) = fit_sweep(sweep(GP2, sizes_kib=POWERS_KIB)).phases

    assert UnitEvidence.DOCUMENTED == fit.unit.evidence
    assert any("measure 384 KiB to decide" in text for text in fit.unknown)


@pytest.mark.parametrize("unit_kib", [16, 32, 64, 128, 512])
def test_other_units_are_found_as_well(unit_kib):
    """Any power of two is, where sizes between its multiples were measured."""
    chain = [stage("b", "bytes", 1e12), stage("o", "ops", 500, unit_bytes=kib(unit_kib))]
    sizes = sorted({*POWERS_KIB, unit_kib * 1.5, unit_kib * 2.5})

    (fit,) = fit_sweep(sweep(chain, sizes_kib=sizes)).phases

    assert near(500) == fit.ops_limit.value
    assert near(kib(unit_kib), rel=0.01) == fit.unit.size.value


def test_merging_is_read_from_sequential_requests():
    """Sequential requests of any size move what 256 KiB per operation allow."""
    whole = sweep(GP2, patterns=tuple(Pattern), sizes_kib=SIZES_KIB[1:])
    (fit,) = fit_sweep(whole).phases
    (seen,) = (p for p in whole.points if (p.pattern, p.io_size_bytes) == (Pattern.SEQUENTIAL, kib(8)))

    merged = {m.io_size_bytes: m for m in fit.merges}
    assert near(UNIT_BYTES, rel=0.01) == merged[kib(8)].merged_bytes.value
    assert not merged[kib(8)].is_at_least
    size = merged[kib(8)].merged_bytes
    assert near(seen.bytes_per_s / fit.ops_limit.high) == size.low
    assert near(seen.bytes_per_s / fit.ops_limit.low) == size.high
    assert Pattern.SCATTERED == fit.pattern


def test_what_throughput_cuts_off_was_merged_at_least_so_far():
    """250 MB/s over 1,000 operations are 244 KiB, though 256 may have been merged."""
    (fit,) = fit_sweep(sweep(IO1, patterns=tuple(Pattern))).phases

    merged = {m.io_size_bytes: m for m in fit.merges}
    assert near(250e3) == merged[kib(64)].merged_bytes.value
    assert merged[kib(64)].is_at_least
    assert near(16_000) == fit.request_limit.value
    assert merged[kib(4)].is_at_least


def test_what_is_not_merged_keeps_its_size():
    """Where sequential requests deliver no more than scattered ones, none was merged."""
    chain = [stage("b", "bytes", 100e6), stage("o", "ops", 500)]

    (fit,) = fit_sweep(sweep(chain, patterns=tuple(Pattern))).phases

    assert {kib(8): kib(8), kib(64): kib(64)}.items() <= {
        m.io_size_bytes: round(m.merged_bytes.value) for m in fit.merges
    }.items()
    assert fit.request_limit is None


def test_latency_is_not_taken_for_a_limit():
    """One request at a time gives the same rate at every size; nothing waited, so nothing is reported."""
    fast = [stage("b", "bytes", 1e12), stage("o", "ops", 1e7)]

    (fit,) = fit_sweep(sweep(fast, depth=4)).phases

    assert fit.ops_limit is None
    assert fit.bytes_limit is None
    assert len(SIZES_KIB) == len(fit.left_out)
    assert "nothing waited" in fit.left_out[0].reason
    assert "0.7 ms for one request alone" in fit.left_out[0].reason
    assert not fit.is_explained
