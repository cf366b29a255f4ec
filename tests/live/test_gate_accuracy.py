"""A mounted gate delivers what the law says: the same cases as the law's own, by fio."""

import time
from collections.abc import Callable, Iterator

import pytest

from conformance.courses import course_of, shares_of, writing
from conformance.flows import DEPTH, Case, Served, check, loads, paired
from conformance.gate_arm import BOUND_RATIO_MIN, Measured, Rig
from live.gate_machine import HELD_MIN, ROUNDS, TOLERANCE
from plimsoll_lab.gate.config import SLACK_S

pytestmark = pytest.mark.realtime

# TOLERANCE is wider than what the gate keeps by itself; the long runs of bench/gate_accuracy.py are held
# to 1 %.
SECONDS = 2.5
# Of the requests that each was to have in the gate; with fewer turns come while none is there.
ASKED_MIN = 0.98
# Longer than it takes a machine with nothing else to do to answer, and too short to be seen in a rate.
STALL_S_MAX = 0.01
# What the gate makes up for after idle time, or while the host stood still, as a share of the time.
SLACK_RATIO = SLACK_S / SECONDS

LOADS = {load.name: load for load in loads()}
CASES = tuple(
    paired(LOADS[name], *limits)
    for name, limits in (
        ("8 kB random read, direct", (86.875e6, 4_000)),
        ("8 kB random mixed, direct", (86.875e6, 4_000)),
        ("128 kB sequential write, direct", (86.875e6, 4_000)),
        ("1 MB sequential read, direct", (213e6, 7_500)),
        ("128 kB sequential read, buffered", (86.875e6, 4_000)),
        ("1 MB sequential write, buffered", (86.875e6, 4_000)),
    )
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """One mount, on data in memory."""
    with Rig() as mounted:
        yield mounted


def again_if_spoiled(measure: Callable[[], Measured], case: Case) -> Measured:
    """Measure, and once or twice more where the host was late or stood still and so spoiled it."""
    for _ in range(ROUNDS):
        measured = measure()
        is_right = abs(measured.served.error_of(case)) <= TOLERANCE
        if is_right or not is_spoiled(measured):
            break
    return measured


def is_spoiled(measured: Measured) -> bool:
    """Whether the host was late, stood still, or kept answers back."""
    is_stalled = measured.stall_ratio > TOLERANCE / 4
    return measured.is_late or not measured.is_held or is_stalled


def check_held(case: Case, measured: Measured, served: Served) -> None:
    """
    What the limits say; where the host spoiled every round, in the share of the time in which they held.

    Nothing is asked for while a host stands still, so that no more than this can be served; and answers
    that it kept back are counted when they leave.
    """
    ratio = 1 + served.error_of(case)
    if not is_spoiled(measured) or abs(ratio - 1) <= TOLERANCE:
        check(case, served, tolerance=TOLERANCE)
        return
    assert measured.bound_ratio >= HELD_MIN, f"held for {measured.bound_ratio:.0%} of the time"
    least = (measured.bound_ratio - measured.stall_ratio) * (1 - TOLERANCE)
    assert least <= ratio <= 1 + TOLERANCE + SLACK_RATIO + measured.stall_ratio, f"{ratio:.3%}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gate_serves_what_the_limits_say(rig: Rig, case: Case):
    """
    What arrives at the program, or at the disk behind a page cache, is the rate of the limit that binds;
    and as many requests are on their way as rate times latency says.
    """
    measured = again_if_spoiled(lambda: rig.measure(case, seconds=SECONDS), case)

    check_held(case, measured, measured.served)
    check_held(case, measured, measured.recorded)
    if measured.depth is not None:
        assert DEPTH == pytest.approx(measured.depth, rel=0.05)


def is_busy_calm(rig: Rig, since_s: float, until_s: float) -> bool:
    """Whether requests were held all the time, and answers left when they were due."""
    lines = [x for x in rig.gate.lines() if since_s <= x.t - x.dt and x.t <= until_s]
    held_s = sum(bound.seconds for line in lines for bound in line.binding.values())
    is_held = held_s >= BOUND_RATIO_MIN * sum(line.dt for line in lines)
    return is_held and all(line.stall_s_max <= STALL_S_MAX for line in lines)


def test_a_burst_ends_when_the_law_says(rig: Rig):
    """
    Two seconds of credits last two seconds at the burst rate, the baseline follows, and idle time refills.
    Where the host stood still each time, nothing was faster than the law, and idle time refilled.
    """
    for _ in range(ROUNDS):
        began_s = time.time()
        course, law = course_of(rig, burst_s=2.0, after_s=1.0, idle_s=0.5)
        errors = course.error_of(law)
        is_calm = is_busy_calm(rig, began_s + 0.5, began_s + 3.5)
        if is_calm or max(map(abs, errors.values())) <= TOLERANCE:
            break
    else:
        assert errors["burst"] <= TOLERANCE + SLACK_RATIO
        assert errors["end of the burst"] >= -TOLERANCE
        errors = {"refill while idle": errors["refill while idle"]}

    assert dict.fromkeys(errors, 0.0) == pytest.approx(errors, abs=TOLERANCE)


def test_a_reader_beside_a_writer_gets_half(rig: Rig):
    """
    Reads and writes share one limit, and neither starves, though the writer's requests are larger. Whom
    the host does not let ask at all times misses the turns for which he was not there, and no others.
    """
    for _ in range(ROUNDS):
        shares = shares_of(rig, seconds=SECONDS)
        if shares.asked_ratio >= ASKED_MIN:
            break

    assert shares.asked_ratio >= 0.5
    assert shares.unfairness <= TOLERANCE
    missed = 1 - shares.asked_ratio
    assert -TOLERANCE - missed <= shares.error <= TOLERANCE + SLACK_RATIO * (missed > 0.05)


def test_buffered_writes_are_charged_once_when_they_reach_the_disk(rig: Rig):
    """
    64 MiB cost 64 MiB by the time fsync returns, and what is written over in the page cache costs less
    than it would on a disk.
    """
    once = writing(rig, size_mib=64, rounds=1, bytes_per_s=213e6)
    over = writing(rig, size_mib=1, rounds=32, bytes_per_s=213e6)

    assert once.written_bytes == once.charged_bytes
    assert over.distinct_bytes <= over.charged_bytes < over.written_bytes / 2
