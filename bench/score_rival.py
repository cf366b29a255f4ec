"""
Diagnose incidents of the second, independent generator and print how often the diagnosis is right.

    python bench/score_rival.py --count 300 --seed 20261120

`bench/rival` models storage and clients in its own way (bench/rival/README.md), and a minute counts as at
the ceiling however little it delayed requests. The figures are defined as in bench/score.py, but only
samples that were throttled for 10 to 80 % of their time are left out as ambiguous.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.diagnosis import Diagnosis, Interval
from rival.generate import Incident, incident


@dataclass(slots=True)
class Tally:
    """Counts over all incidents; minutes, series, true intervals."""

    minutes: Counter[str] = field(default_factory=Counter)
    series: Counter[str] = field(default_factory=Counter)
    intervals: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)


def tally(one: Incident, found: Diagnosis, seed: int, into: Tally) -> None:
    called = np.zeros(one.time_s.size, dtype=bool)
    for interval in found.intervals:
        called |= (one.time_s >= interval.start_s) & (one.time_s < interval.end_s)
    seen = np.isfinite(one.throttled)
    pressed, free = seen & (one.throttled >= 0.8), seen & (one.throttled <= 0.1)
    width = one.step_s / 60
    counts = {
        "right": width * int((pressed & called).sum()),
        "too many": width * int((free & called).sum()),
        "missed": width * int((pressed & ~called).sum()),
    }
    into.minutes.update(counts)
    if not (one.throttled[seen] > 0).any():
        into.series["clear"] += 1
        into.series["accused"] += bool(found.intervals)
    if counts["too many"] + counts["missed"] > 60 or (found.intervals and not pressed.any()):
        into.failing.append(f"{one.name} {seed}")
    for true in one.intervals:
        match(true, found.intervals, into)


def match(true: object, found: tuple[Interval, ...], into: Tally) -> None:
    def shared(one: Interval) -> float:
        return min(one.end_s, true.end_s) - max(one.start_s, true.start_s)

    into.intervals["true"] += 1
    best = max(found, key=shared, default=None)
    if best is None or shared(best) < 0.5 * (true.end_s - true.start_s):
        return
    family = getattr(true.family, "value", true.family)
    into.intervals["found"] += 1
    into.intervals["right family"] += best.family.value == family
    if family == "unknown":
        into.intervals["unknown"] += 1
        into.intervals["unknown flagged"] += best.family.value == "unknown"
    if best.dimension.value == getattr(true.dimension, "value", true.dimension):
        into.errors.append(abs(best.level / true.level - 1))


def show(sums: Tally, count: int, seed: int) -> None:
    m, i = sums.minutes, sums.intervals
    precision = m["right"] / max(m["right"] + m["too many"], 1)
    recall = m["right"] / max(m["right"] + m["missed"], 1)
    print(f"{count} simulated incidents of the second generator, seeds {seed} to {seed + count - 1}")
    print(f"minute precision   {precision:.4f}")
    print(f"minute recall      {recall:.4f}")
    print(f"minute F1          {2 * precision * recall / max(precision + recall, 1e-9):.4f}")
    print(f"falsely accused    {sums.series['accused']} of {sums.series['clear']} series")
    print(f"found              {i['found']} of {i['true']} true intervals")
    print(f"right family       {i['right family'] / max(i['found'], 1):.4f}")
    print(f"unknown flagged    {i['unknown flagged']} of {i['unknown']}")
    print(f"level error median {np.median(sums.errors):.5f}, p95 {np.quantile(sums.errors, 0.95):.5f}")
    print("over an hour wrong, or falsely accused: " + (", ".join(sums.failing) or "none"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Score the diagnosis on the second generator.")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20_261_120)
    wanted = parser.parse_args()
    sums = Tally()
    for seed in range(wanted.seed, wanted.seed + wanted.count):
        one = incident(seed)
        tally(one, diagnose_snapshot(one.snapshot), seed, sums)
    show(sums, wanted.count, wanted.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
