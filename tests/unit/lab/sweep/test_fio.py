"""fio: its arguments, and how its output is read."""

import json
import os
from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll.units import KIB, MIB
from plimsoll_lab.model.sweep import Direction, Pattern
from plimsoll_lab.sweep import fio
from plimsoll_lab.sweep.fio import parts_of, point_of, sweep_path
from plimsoll_lab.sweep.plan import ByteBudget, Step, SweepPlan, check_plan
from programs import script

STEP = Step(size_bytes=64 * KIB, pattern=Pattern.SCATTERED, direction=Direction.READ, depth=32, length_s=4.0)


def printed(**side) -> str:
    read = {
        "io_bytes": 5250 * 64 * KIB, "runtime": 5250, "lat_ns": {"mean": 32e6}, **side
    }  # fmt: skip
    job = {"read": read, "write": {}, "usr_cpu": 2.5, "sys_cpu": 7.5}
    return "fio: a remark\n" + json.dumps({"jobs": [job]})


def test_a_point_is_the_mean_of_the_parts_that_count():
    """Depth follows from the latency by Little's law, the error from the parts."""
    log = "".join(f"{400 * n}, {rate}, 0, 0, 0\n" for n, rate in enumerate([9e9] * 3, start=1))
    log += "1800, 60000, 0, 0, 0\n2400, 64000, 0\n3000, 64000, 0\n3600, 68000, 0\n"

    point = point_of(printed(), STEP, log)

    assert 64_000 * KIB == point.bytes_per_s
    assert 1000 == point.ops_per_s
    assert pytest.approx(32) == point.depth
    assert 0.1 == point.busy_ratio
    assert 0.0255 == pytest.approx(point.error_ratio, rel=0.01)


def test_a_run_too_short_to_part_counts_whole():
    """Then its error is not known."""
    point = point_of(printed(io_bytes=2625 * 64 * KIB), STEP, "400, 9, 0\n")

    assert 500 == point.ops_per_s
    assert point.error_ratio is None


def test_ramp_and_drain_do_not_count():
    """Neither credits from idle time, nor requests that finish after the time is up."""
    log = "900, 7, 0, 0, 0\n1400, 6, 0, 0, 0\n1900, 5, 0, 0, 0\n5001, 3, 0, 0, 0\n5400, 1, 0, 0, 0\n"

    assert [(0.5, 5 * KIB), (3.101, 3 * KIB)] == parts_of(log, STEP)
    assert [] == parts_of("", STEP)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        # An old or broken fio is one sentence.
        *((text, "fio's output is not") for text in ("", "fio: failed", "{}", '{"jobs": [{}]}')),
        # A disk that completed nothing in time has no rate, and none of zero.
        (printed(io_bytes=0), "completed no request"),
    ],
)
def test_what_is_no_measurement_is_refused(text: str, says: str):
    with pytest.raises(SourceError, match=says):
        point_of(text, STEP, "")


def test_without_fio_the_package_is_named(monkeypatch, tmp_path: Path):
    """One sentence with the remedy."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError) as raised:
        sweep_path(tmp_path, SweepPlan(), allow_writes=False, show_progress=print)

    assert "fio is not installed" in raised.value.message
    assert "apt-get install fio" in raised.value.hint


def test_a_fio_that_fails_says_why(monkeypatch, tmp_path: Path):
    """Its last line is the message; no file of ours stays."""
    program = script(tmp_path / "bin/fio", "echo 'fio: pid=1, err=22/file:x, error=Invalid argument'; exit 1")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    file = tmp_path / "data"
    file.write_bytes(b"x" * MIB)
    monkeypatch.setattr("plimsoll_lab.sweep.file.FILE_MIN_BYTES", KIB)

    with pytest.raises(SourceError, match="refuses direct I/O"):
        sweep_path(file, SweepPlan(sizes_bytes=(4096,)), allow_writes=False, show_progress=print)


def test_writes_need_permission(tmp_path: Path):
    """A plan with writes is not carried out without --allow-writes."""
    plan = SweepPlan(directions=(Direction.READ, Direction.WRITE))

    with pytest.raises(UsageError, match="the plan writes"):
        sweep_path(tmp_path, plan, allow_writes=False, show_progress=print)


def test_fio_reads_with_readonly():
    """For reads fio itself refuses to write."""
    file = fio.SweepFile(path="/data:1", size_bytes=MIB, is_own=False, description="")

    arguments = fio._arguments("fio", file, STEP, 10 * MIB)

    assert "--readonly" in arguments
    assert "--filename=/data\\:1" in arguments
    assert f"--io_size={10 * MIB}" in arguments
    assert "--runtime=5000ms" in arguments


def test_bytes_are_shared_among_the_steps_that_are_left():
    """Other steps may use what one step leaves over; a step moves at least one request."""
    plan = SweepPlan(sizes_bytes=(4096,), max_bytes=900, for_each_s=1)
    steps = plan.steps()
    budget = ByteBudget(plan, steps)

    assert 4 == len(steps)
    assert 200 == budget.share(100)
    budget.spend(0)
    assert 300 == budget.share(100)
    assert 4096 == budget.share(4096)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (SweepPlan(sizes_bytes=()), "no I/O size"),
        (SweepPlan(sizes_bytes=(1000,)), "1,000 bytes"),
        (SweepPlan(sizes_bytes=(32 * MIB,)), "is not possible"),
        (SweepPlan(depth=1), "in flight"),
        (SweepPlan(for_each_s=0), "for each size"),
        (SweepPlan(max_bytes=MIB), "too little"),
    ],
)
def test_what_cannot_be_measured_is_refused(plan, words):
    """Before anything is read."""
    with pytest.raises(UsageError, match=words):
        check_plan(plan)
