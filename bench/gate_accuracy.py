"""
Compare a mounted gate with the law: rates, latencies, credits, shares, and writes in a page cache.

    python bench/gate_accuracy.py [--require] [--seconds 10] [--only TEXT] [--attempts 3] [--peers]

fio sends requests without pause. Each row has the limit that binds, the law's figure (the replay of a
saturating demand through the same chain), the delivered rate, and the deviation by fio's and by the
gate's count. The data is in memory. A row is measured again if the host stood still or was late, and is
marked void if that happened each time. With --require the exit status is 1 unless every row is within
1 % and none is void. --peers adds how cgroups and QEMU limit mixed reads and writes.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from conformance import law_arm
from conformance.courses import course_of, shares_of, writing
from conformance.flows import DEPTH, Case, Served, cases, limit_name
from conformance.gate_arm import Measured, Rig
from peers.throttles import rows_of_peers

TOLERANCE = 0.01
LITTLE_TOLERANCE = 0.05
COURSE_TOLERANCE = 0.01


def main() -> int:
    """Return exit status 0, or 1 with --require and a row that is void or not within the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    print(
        f"{platform.platform()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {given.seconds:g} s a case"
    )
    wanted = [case for case in cases() if given.only in case.name]
    print(
        f"{'load':<36} {'binds':>14} {'law':>12} {'delivered':>12} {'error':>8} {'recorded':>8} "
        f"{'depth':>6} {'late':>6} {'held':>6}"
    )
    with Rig() as rig:
        marks = [_row(rig, case, given.seconds, given.attempts) for case in wanted]
        if not given.only:
            marks += [_credits(rig, given.attempts), _shares(rig, given), _written(rig)]
    print(f"right {marks.count('right')} of {len(marks)}, void {marks.count('void')}")
    if given.peers:
        for row in rows_of_peers(given.seconds):
            print(row)
    return 1 if given.require and set(marks) - {"right"} else 0


def _row(rig: Rig, case: Case, seconds: float, attempts: int) -> str:
    law = law_arm.serve(case)
    for _ in range(attempts):
        measured = rig.measure(case, seconds=seconds)
        mark = _mark(case, law, measured)
        if mark != "void":
            break
    scale = 1e6 if case.is_bytes else 1
    found, expected = _rate(case, measured.served) / scale, _rate(case, law) / scale
    recorded = _rate(case, measured.recorded) / scale / expected - 1
    depth = "-" if measured.depth is None else f"{measured.depth:.2f}"
    print(
        f"{case.load.name:<36} {limit_name(case):>14} {expected:>12,.3f} {found:>12,.3f} "
        f"{found / expected - 1:>+8.2%} {recorded:>+8.2%} {depth:>6} {measured.late_ratio:>6.2%} "
        f"{measured.bound_ratio:>6.1%} {mark}",
        flush=True,
    )
    return mark


def _rate(case: Case, served: Served) -> float:
    return served.bytes_per_s if case.is_bytes else served.ops_per_s


def _mark(case: Case, law: Served, measured: Measured) -> str:
    """Return `right`, `WRONG`, or `void` if this machine, not the gate, served too little."""
    error = _rate(case, measured.served) / _rate(case, law) - 1
    is_little = measured.depth is None or (abs(measured.depth / case.load.depth - 1) <= LITTLE_TOLERANCE)
    if abs(error) <= TOLERANCE and is_little and measured.served.binds == law.binds:
        return "right"
    is_spoiled = measured.is_late or (error < 0 and not measured.is_held)
    return "void" if is_spoiled else "WRONG"


def _credits(rig: Rig, attempts: int) -> str:
    for _ in range(attempts):
        course, law = course_of(rig, burst_s=6.0, after_s=4.0, idle_s=3.0)
        errors = course.error_of(law)
        mark = "right" if max(map(abs, errors.values())) <= COURSE_TOLERANCE else "WRONG"
        if mark == "right":
            break
    print(
        f"credits of db.t3.xlarge at clock 60: burst {course.burst_bytes_per_s / 1e6:.1f} MB/s for "
        f"{course.empty_s:.3f} s (law {law.burst_bytes_per_s / 1e6:.1f} for {law.empty_s:.3f}), then "
        f"{course.after_bytes_per_s / 1e6:.2f} ({law.after_bytes_per_s / 1e6:.2f}); idle for 3 s gave "
        f"{course.refill_ratio:.3%} of the bucket back ({law.refill_ratio:.3%}) {mark}"
    )
    return mark


def _shares(rig: Rig, given: argparse.Namespace) -> str:
    for _ in range(given.attempts):
        shares = shares_of(rig, seconds=given.seconds)
        is_fair = abs(shares.read_ratio - 0.5) <= TOLERANCE
        mark = "right" if is_fair and abs(shares.error) <= TOLERANCE else "WRONG"
        if mark == "right":
            break
    print(
        f"{DEPTH // 2} reads of 16 kB beside {DEPTH // 2} writes of 128 kB: together {shares.error:+.2%} "
        f"of {shares.limit_bytes_per_s / 1e6:g} MB/s, of which reads {shares.read_ratio:.1%} {mark}"
    )
    return mark


def _written(rig: Rig) -> str:
    once = writing(rig, size_mib=256, rounds=1, bytes_per_s=213e6)
    over = writing(rig, size_mib=1, rounds=64, bytes_per_s=213e6)
    is_right = once.charged_bytes == once.written_bytes
    mark = "right" if is_right and over.charged_bytes >= over.distinct_bytes else "WRONG"
    print(
        f"buffered writes: {once.written_bytes:,} bytes and fsync were charged {once.charged_bytes:,.0f} "
        f"in {once.passed_s:.2f} s at 213 MB/s ({once.written_bytes / 213e6:.2f}); 1 MiB written "
        f"{over.written_bytes // over.distinct_bytes} times over was charged "
        f"{over.charged_bytes / over.distinct_bytes:.2f} times {mark}"
    )
    return mark


if __name__ == "__main__":
    sys.exit(main())
