"""
Diagnose incidents of the third generator, and cases in which requests wait below every limit.

    python bench/score_third.py --count 150 --seed 1

Figures are defined as in bench/score_rival.py; bench/third/README.md describes the physics.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.diagnosis import Verdict
from third.cases import FAMILIES, incident
from third.waits import CASES, QUIET


def score(count: int, first: int) -> None:
    minutes: Counter[str] = Counter()
    series: Counter[str] = Counter()
    errors: list[float] = []
    worst: list[str] = []
    for seed in range(first, first + count):
        one = incident(seed)
        found = diagnose_snapshot(one.snapshot)
        called = np.zeros(one.time_s.size, dtype=bool)
        pressed, free = one.throttled >= 0.8, one.throttled <= 0.1
        for i in found.intervals:
            inside = (one.time_s >= i.start_s) & (one.time_s < i.end_s)
            called |= inside
            true = inside & pressed
            if true.any():
                family = FAMILIES[np.bincount(one.families[true]).argmax()]
                level = float(np.median(one.levels[true]))
                minutes["attributed"] += int(true.sum())
                if i.ceiling is None:
                    minutes["unknown"] += int(true.sum())
                else:
                    minutes["right family"] += int(true.sum()) * (i.family.value == family)
                    errors.append(abs(i.level / level - 1))
        width = one.step_s // 60
        counts = {
            "right": width * int((pressed & called).sum()),
            "too many": width * int((free & called).sum()),
            "missed": width * int((pressed & ~called).sum()),
        }
        minutes.update(counts)
        if not (np.nan_to_num(one.throttled) > 0).any():
            series["clear"] += 1
            series["accused"] += bool(found.intervals)
        if counts["too many"] + counts["missed"] > 60:
            worst.append(f"{one.name} {seed} (+{counts['too many']} -{counts['missed']})")
    show(minutes, series, errors, worst, count, first)


def show(
    minutes: Counter[str], series: Counter[str], errors: list[float], worst: list[str], count: int, first: int
) -> None:
    precision = minutes["right"] / max(minutes["right"] + minutes["too many"], 1)
    recall = minutes["right"] / max(minutes["right"] + minutes["missed"], 1)
    named = minutes["attributed"] - minutes["unknown"]
    print(f"{count} simulated incidents of the third generator, seeds {first} to {first + count - 1}")
    print(f"minute precision   {precision:.4f}")
    print(f"minute recall      {recall:.4f}")
    print(f"minute F1          {2 * precision * recall / max(precision + recall, 1e-9):.4f}")
    print(f"falsely accused    {series['accused']} of {series['clear']} series")
    print(f"right family       {minutes['right family'] / max(named, 1):.4f} of named minutes")
    print(f"level error median {np.median(errors):.5f}, p95 {np.quantile(errors, 0.95):.5f}")
    print("over an hour wrong: " + (", ".join(worst) or "none"))


def print_scores() -> None:
    """Print the verdict on every case of waiting and of quiet."""
    silent = [n for n, make in CASES.items() if _is_clear(make())]
    accused = [n for n, make in QUIET.items() if diagnose_snapshot(make()).intervals]
    print(f"waiting passed over {len(silent)} of {len(CASES)}: " + (", ".join(silent) or "none"))
    print(f"quiet accused      {len(accused)} of {len(QUIET)}: " + (", ".join(accused) or "none"))


def _is_clear(snapshot: object) -> bool:
    found = diagnose_snapshot(snapshot)  # type: ignore[arg-type]
    return found.verdict in {Verdict.SLACK, Verdict.NEAR}


def main() -> int:
    parser = argparse.ArgumentParser(description="Score the diagnosis on the third generator.")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    score(wanted.count, wanted.seed)
    print_scores()
    return 0


if __name__ == "__main__":
    sys.exit(main())
