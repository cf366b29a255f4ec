"""
Judge changes of fresh simulated incidents with known demand, and count how often the judgement is right.

    python bench/plan.py --count 330 --seed 20261120 [--jobs 2] [--rival] [--signals] [--counted] [--require]

The truth is the same load run again on limits multiplied by 1.25, 1.5, 2 and 3. Seeds below 1,000,000
are for tuning; seeds from 20,261,120 on are for evaluation.
"""

import argparse
import importlib
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plan_arms.case import SCALES, Case
from plimsoll import kernel
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.plan import Judgement
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.judge.effect import judge, started

ALLOWED = 0.01
PROMISES = {"lifts": 0.95, "does not": 0.98, "decided": 0.60, "band": 0.90}


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the judgement of one incident at one scale."""

    seed: int
    family: str
    loop: str
    scale: float
    true_ratio: float
    judgement: str
    probability: float
    band: tuple[float, float]
    naive_ratio: float
    found_loop: str
    judge_s: float

    @property
    def is_lifted(self) -> bool:
        return self.true_ratio < ALLOWED

    @property
    def is_inside(self) -> bool:
        # Half a minute in a day is the resolution of the truth itself.
        return self.band[0] - 3e-4 <= self.true_ratio <= self.band[1] + 3e-4


def examine(seed: int, *, arm: str, is_signalled: bool, is_counted: bool) -> list[Answer]:
    """Judge all scales of one seed."""
    case: Case = importlib.import_module(f"plan_arms.{arm}").case_of(
        seed, is_signalled=is_signalled or is_counted, is_counted=is_counted
    )
    return answers_of(case, diagnose_snapshot(case.snapshot), Prior())


def answers_of(case: Case, diagnosis: Diagnosis, prior: Prior) -> list[Answer]:
    """Return the judgements of a diagnosed case at all scales."""
    demand = recover(case.snapshot, diagnosis, prior=prior)
    answers = []
    for scale in SCALES:
        chain = case.chain_at(scale)
        begin = time.perf_counter()
        judged = judge(demand, chain, allowed_ratio=ALLOWED)
        spent = time.perf_counter() - begin
        ratio = judged.effect.ratio_at_ceiling
        answers.append(
            Answer(
                case.seed, case.family, case.loop, scale, case.ratio_at[scale], judged.judgement.value,
                judged.probability, (ratio.low, ratio.high), naive(demand, chain),
                demand.summary.loop.value, spent,
            )
        )  # fmt: skip
    return answers


def naive(demand: Demand, chain: tuple[kernel.Stage, ...]) -> float:
    """Return the share of time at a ceiling if demand equalled the served rate."""
    found = kernel.replay(
        demand.served_ops_per_s,
        demand.io_size_bytes,
        step_s=demand.step_s,
        chain=started(demand, chain, is_generous=False),
    )
    return float(found.throttled_ratio[demand.is_measured].mean())


def figures(answers: list[Answer]) -> dict[str, float]:
    """Return the counts and shares of one scale; NaN where nothing was judged."""

    def right(name: str, *, lifted: bool) -> tuple[int, float]:
        judged = [a for a in answers if a.judgement == name]
        good = [a.is_lifted == lifted for a in judged]
        return len(judged), float(np.mean(good)) if judged else float("nan")

    lifts, lifts_right = right(Judgement.LIFTS.value, lifted=True)
    fails, fails_right = right(Judgement.DOES_NOT.value, lifted=False)
    return {
        "n": len(answers),
        "lifts": lifts,
        "lifts right": lifts_right,
        "does not": fails,
        "does not right": fails_right,
        "decided": (lifts + fails) / len(answers),
        "band": float(np.mean([a.is_inside for a in answers])),
        "width": float(np.median([a.band[1] - a.band[0] for a in answers])),
    }


def as_naive(answers: list[Answer]) -> list[Answer]:
    """Return the answers from replaying the served rate: always decided, no band."""
    return [
        replace(
            a,
            judgement=(Judgement.LIFTS if a.naive_ratio < ALLOWED else Judgement.DOES_NOT).value,
            band=(a.naive_ratio, a.naive_ratio),
        )
        for a in answers
    ]


def report(answers: list[Answer], *, is_counted: bool) -> bool:
    """
    Print a table for each scale and for all of them; return whether every promise is kept.

    The share of decided cases is promised at twice the limits, if the application counts arrivals.
    """
    head = "lifts right  does-not right  decided  band holds  (median width)  unsure"
    for scale in (*SCALES, None):
        here = [a for a in answers if scale in (a.scale, None)]
        lifted = sum(a.is_lifted for a in here)
        name = "all limits" if scale is None else f"limits x {scale:g}"
        print(f"\n{name}: {len(here)} judged, {lifted} truly lifted")
        print(f"{'':10s} {head}")
        for name, some in (("recovered", here), ("naive", as_naive(here))):
            f = figures(some)
            unsure = int(f["n"] - f["lifts"] - f["does not"])
            print(
                f"{name:10s} {f['lifts']:5.0f} {f['lifts right']:5.3f}  {f['does not']:8.0f}"
                f" {f['does not right']:5.3f}  {f['decided']:7.3f}  {f['band']:10.3f}"
                f"  {f['width']:14.3f}  {unsure:6d}"
            )
    wrong = [
        f"{a.family} {a.seed} x{a.scale:g}: {a.judgement}, true {100 * a.true_ratio:.1f} %"
        for a in answers
        if (a.judgement == "lifts" and not a.is_lifted) or (a.judgement == "does not" and a.is_lifted)
    ]
    print(f"\nmedian ms a judgement: {1e3 * float(np.median([a.judge_s for a in answers])):.1f}")
    print(f"wrong: {len(wrong)}")
    for line in wrong[:40]:
        print(f"  {line}")
    return _keeps(answers, is_counted=is_counted)


def _keeps(answers: list[Answer], *, is_counted: bool) -> bool:
    f = figures(answers)
    held = {"lifts": f["lifts right"], "does not": f["does not right"], "band": f["band"]}
    if is_counted:
        held["decided"] = figures([a for a in answers if a.scale == 2.0])["decided"]
    broken = {name: value for name, value in held.items() if value < PROMISES[name]}
    for name, value in broken.items():
        print(f"BROKEN: {name} {value:.3f}, promised {PROMISES[name]:g}")
    return not broken


def by_family(answers: list[Answer], scale: float) -> None:
    """Print one line per family at one scale."""
    print(f"\n{'family':30s} {'n':>3s} {'decided':>8s} {'wrong':>6s} {'band':>6s} {'lifted':>7s}")
    for family in sorted({a.family for a in answers}):
        here = [a for a in answers if a.family == family and a.scale == scale]
        f = figures(here)
        wrong = sum((a.judgement == "lifts") != a.is_lifted for a in here if a.judgement != "unsure")
        lifted = sum(a.is_lifted for a in here)
        print(f"{family:30s} {len(here):3d} {f['decided']:8.2f} {wrong:6d} {f['band']:6.2f} {lifted:7d}")


def deciles(answers: list[Answer]) -> list[tuple[int, float, float]]:
    """Return how many were judged, mean chance and share truly lifted, for each tenth of the chance."""
    found = []
    for low, high in pairwise(np.linspace(0, 1, 11)):
        top = high if high < 1 else np.inf
        here = [a for a in answers if low <= a.probability < top]
        belief = float(np.mean([a.probability for a in here])) if here else float("nan")
        lifted = float(np.mean([a.is_lifted for a in here])) if here else float("nan")
        found.append((len(here), belief, lifted))
    return found


def print_calibration(answers: list[Answer]) -> None:
    """Print how often a change lifts, by its chance; with two standard errors for few incidents."""
    print("\nchance        judged  mean chance  truly lifted  off   two s.e.")
    for index, (count, belief, lifted) in enumerate(deciles(answers)):
        if not count:
            continue
        error = 2 * np.sqrt(max(belief * (1 - belief), 0.01) / count)
        print(
            f"{index / 10:.1f} to {(index + 1) / 10:.1f}  {count:8d}  {belief:11.3f}  {lifted:12.3f}"
            f"  {lifted - belief:+.2f}  {error:9.2f}"
        )
    brier = float(np.mean([(a.probability - a.is_lifted) ** 2 for a in answers]))
    gap = float(np.mean([a.is_lifted - a.probability for a in answers]))
    print(f"Brier score {brier:.3f}; lifted more often than predicted by {100 * gap:+.1f} points")


def by_loop(answers: list[Answer], scale: float) -> None:
    """Print the kind of load, the assumed kind, and how often that was enough to decide."""
    print(f"\nat x{scale:g}: true load, assumed load, incidents, decided")
    here = [a for a in answers if a.scale == scale]
    for true, found in sorted({(a.loop, a.found_loop) for a in here}):
        some = [a for a in here if (a.loop, a.found_loop) == (true, found)]
        decided = float(np.mean([a.judgement != Judgement.UNSURE.value for a in some]))
        print(f"{true:8s} {found:8s} {len(some):5d} {decided:6.2f}")


def main() -> int:
    """Return exit status 1 if a promise is broken and --require was given."""
    parser = argparse.ArgumentParser(description="Judge changes whose outcome is known.")
    parser.add_argument("--count", type=int, default=330)
    parser.add_argument("--seed", type=int, default=20_261_120)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rival", action="store_true", help="use the independent generator")
    parser.add_argument("--signals", action="store_true", help="with the database's own counters")
    parser.add_argument("--counted", action="store_true", help="and arrivals, as applications count them")
    parser.add_argument("--families", action="store_true", help="a line per family at x2")
    parser.add_argument("--misses", action="store_true", help="truths outside their band")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    wanted = parser.parse_args()
    seeds = range(wanted.seed, wanted.seed + wanted.count)
    arm = "rival" if wanted.rival else "own"
    work = partial(examine, arm=arm, is_signalled=wanted.signals, is_counted=wanted.counted)
    if wanted.jobs == 1:
        found = [work(seed) for seed in seeds]
    else:
        with get_context("spawn").Pool(wanted.jobs) as pool:
            found = list(pool.imap(work, seeds, chunksize=4))
    answers = [a for one in found for a in one]
    print(f"{wanted.count} simulated incidents of {arm}, seeds {seeds[0]} to {seeds[-1]}")
    counters = "the application's and the database's" if wanted.counted else "the database's"
    print(f"besides storage: {counters if wanted.signals or wanted.counted else 'nothing'}")
    kept = report(answers, is_counted=wanted.counted)
    print_calibration(answers)
    by_loop(answers, 2.0)
    if wanted.families:
        by_family(answers, 2.0)
    if wanted.misses:
        for a in answers:
            if not a.is_inside:
                print(
                    f"{a.family} {a.seed} {a.loop} x{a.scale:g}: true {100 * a.true_ratio:.2f} %,"
                    f" said {100 * a.band[0]:.2f} to {100 * a.band[1]:.2f} %"
                )
    return 1 if wanted.require and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
