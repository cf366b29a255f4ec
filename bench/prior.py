"""
Measure the influence of each assumption about unseen demand: other values, and their judgements.

    python bench/prior.py --count 66 --seed 700000 [--rival]

The same simulated incidents are judged with each value of `--prior` in turn. Printed are the mean chance
and the share truly lifted at every scale, the error of the chances (Brier score, and the largest miss of
a tenth with thirty judgements or more), and how often *lifts* was right.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np
from msgspec import structs

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plan import ALLOWED, Answer, answers_of, deciles, figures
from plan_arms.case import SCALES
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.prior import Prior

LEAST = 30
OTHERS = (
    {},
    {"overload_median": 1.3},
    {"overload_median": 2.0},
    {"overload_log_sd": 0.5},
    {"overload_log_sd": 1.2},
    {"lost": 0.56},
    {"job": 0.0},
    {"job": 0.56},
    {"clients": 0.56},
    {"greedy": 0.0},
    {"greedy": 0.48},
)


def line(name: str, answers: list[Answer]) -> str:
    """Format one row of the table."""
    cells = []
    for scale in SCALES:
        here = [a for a in answers if a.scale == scale]
        belief = np.mean([a.probability for a in here])
        lifted = np.mean([a.is_lifted for a in here])
        cells.append(f"{belief:.2f} ({lifted:.2f})")
    misses = [abs(came - stated) for count, stated, came in deciles(answers) if count >= LEAST]
    brier = np.mean([(a.probability - a.is_lifted) ** 2 for a in answers])
    right = figures(answers)["lifts right"]
    return f"| {name} | {' | '.join(cells)} | {brier:.3f} | {max(misses, default=np.nan):.2f} | {right:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the assumptions about unseen demand.")
    parser.add_argument("--count", type=int, default=66)
    parser.add_argument("--seed", type=int, default=700_000)
    parser.add_argument("--rival", action="store_true", help="use the independent generator")
    wanted = parser.parse_args()
    arm = importlib.import_module(f"plan_arms.{'rival' if wanted.rival else 'own'}")
    cases = [arm.case_of(seed) for seed in range(wanted.seed, wanted.seed + wanted.count)]
    found = [(case, diagnose_snapshot(case.snapshot)) for case in cases]
    heads = " | ".join(f"\N{MULTIPLICATION SIGN} {scale:g}" for scale in SCALES)
    print(f"chance (truly lifted), {wanted.count} incidents, {100 * ALLOWED:g} % of the time allowed")
    print(f"| --prior | {heads} | Brier score | largest miss | lifts right |")
    print(f"|---|{'---|' * (len(SCALES) + 3)}")
    for other in OTHERS:
        prior = structs.replace(Prior(), **other)
        name = ", ".join(f"{key} {value:g}" for key, value in other.items()) or "default"
        answers = [a for case, diagnosis in found for a in answers_of(case, diagnosis, prior)]
        print(line(name, answers), flush=True)


if __name__ == "__main__":
    main()
