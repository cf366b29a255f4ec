"""
Emulate instances, one for each kind of ceiling, and compare the diagnosis with the truth.

    python bench/lab_conformance.py [--require] [--minutes 30] [--clock 60] [--rounds 1]

A real PostgreSQL 18 runs behind the gate: scans of wide tables to reach throughput limits, random selects
to reach IOPS limits. For each case this prints the enforced limit, the delivered rate of the limit that
really bound, the diagnosis of the emulated CloudWatch metrics, and the error of its level. Three cases
that need longer emulated minutes follow at a fifth of the clock. A case is void if the host could not
keep up. With --require the exit status is 1 unless every case is right. `make test` runs the same cases
for seconds each.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from live.lab_cases import CASES, SLOW_CASES, Answer, Case, Rig
from plimsoll_lab.gate.place import disk_folder


def main() -> int:
    """Run the cases, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--minutes", type=float, default=30.0, help="emulated minutes of each case")
    parser.add_argument("--clock", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    print(
        f"{platform.platform()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
        f"{given.minutes:g} emulated minutes a case at credit clock {given.clock:g}"
    )
    print(f"{'case':<60} {'limit':>12} {'delivered':>12} {'error':>8} {'found':>12} {'error':>8}")
    answers = [
        answer
        for cases, clock in ((CASES, given.clock), (SLOW_CASES, max(given.clock / 5, 1.0)))
        for answer in _answers(cases * given.rounds, clock, given.minutes * 60 / clock)
    ]
    right = sum(answer.is_right for answer in answers)
    void = sum(answer.ground.is_void for answer in answers)
    asked = len(answers)
    print(f"right in {right} of {asked}, void {void}")
    return 1 if given.require and right < asked else 0


def _answers(cases: tuple[Case, ...], clock: float, seconds: float) -> Iterator[Answer]:
    with tempfile.TemporaryDirectory(dir=disk_folder()) as name:
        Path(name).chmod(0o711)
        with Rig(Path(name), clock=clock) as rig:
            for case in cases:
                answer = rig.answer(case, seconds=seconds)
                print(_row(answer))
                if not answer.is_right:
                    print(f"    {answer}")
                yield answer


def _row(answer: Answer) -> str:
    case = answer.case
    mark = "void" if answer.ground.is_void else "right" if answer.is_right else "WRONG"
    if case.binds is None:
        return f"{case.name[:59]:<60} {'none':>12} {'':>12} {'':>8} {'':>12} {'':>8} {mark}"
    family, phase, limit = case.binds
    held = next((h for h in answer.ground.held if (h.name, h.phase) == (family.value, phase)), None)
    delivered = held.delivered if held else None
    found = held.found_level if held else None
    return (
        f"{case.name[:59]:<60} {limit:>12,.0f} {_number(delivered)} {_error(delivered, limit)} "
        f"{_number(found)} {_error(found, limit)} {mark}"
    )


def _number(value: float | None) -> str:
    return f"{value:>12,.0f}" if value is not None else f"{'-':>12}"


def _error(value: float | None, limit: float) -> str:
    return f"{(value / limit - 1) * 100:>+7.2f}%" if value is not None else f"{'-':>8}"


if __name__ == "__main__":
    sys.exit(main())
