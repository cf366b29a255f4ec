"""
Diagnose fresh simulated incidents and print how often the diagnosis is right.

    python bench/score.py --count 800 --seed 20261120 [--jobs 2] [--shift noise3]
    python bench/score.py --only gp3_iops --count 40 --seed 1
    python bench/score.py --show 1234 [--only gp3_iops]

Seeds below 1,000,000 are for tuning. Seeds from 20,261,120 on are for evaluation; nobody looks at them
while the rules are being written. Every figure is defined in `scoring.Totals.figures`
and in docs/concepts/how-accuracy-is-measured.md.
"""

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from incidents import build, observe, picture
from incidents.build import Incident
from incidents.scoring import SeriesScore, Totals, score, storage_intervals

TUNING_BELOW = 1_000_000
EVALUATION_FROM = 20_261_120
# What the project promises on fresh incidents.
PROMISES = {
    "minute F1": (">=", 0.99),
    "falsely accused": ("<=", 0.02),
    "silent": ("<=", 0.0),
    "level error median": ("<=", 0.001),
    "level error p95": ("<=", 0.007),
    "right family": (">=", 0.97),
    "unknown flagged": (">=", 0.97),
}
Diagnose = Callable[[Any], Any]


def diagnose_of(name: str) -> Diagnose:
    """Return the function `module:function` that turns a Snapshot into a Diagnosis."""
    module, _, function = name.partition(":")
    found: Diagnose = getattr(importlib.import_module(module), function)
    return found


def seed_kind(seed: int) -> str:
    """Return the purpose that a seed is reserved for."""
    if seed < TUNING_BELOW:
        return "tuning"
    return "evaluation" if seed >= EVALUATION_FROM else "neither tuning nor evaluation"


def examine(
    seed: int, *, family: str | None, shift: str | None, diagnose: Diagnose
) -> tuple[Incident, Any, SeriesScore]:
    """Generate, diagnose and score one incident; a crash of the diagnosis counts as its error."""
    incident = build.generate(seed, family=family, shift=shift)
    begin = time.perf_counter()
    try:
        diagnosis = diagnose(incident.snapshot)
        error = ""
    except Exception:
        diagnosis, error = _Nothing(), traceback.format_exc(limit=-2).strip().splitlines()[-1]
    elapsed = (time.perf_counter() - begin) * 1e3
    result = score(incident, diagnosis, elapsed)
    result.error = error
    return incident, diagnosis, result


class _Nothing:
    intervals: tuple[Any, ...] = ()


def _worker(seed: int, *, family: str | None, shift: str | None, name: str, dump: Path | None) -> SeriesScore:
    incident, diagnosis, result = examine(seed, family=family, shift=shift, diagnose=diagnose_of(name))
    if dump is not None and result.faults:
        picture.save(dump, incident, storage_intervals(diagnosis), result.faults)
    return result


def run(arguments: argparse.Namespace) -> Totals:
    """Score a range of seeds, in one process or several."""
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    work = partial(
        _worker, family=arguments.only, shift=arguments.shift, name=arguments.diagnose, dump=arguments.dump_failures
    )
    work(seeds[0])  # warm up: exclude compiling and filling caches from the times
    if arguments.jobs == 1:
        return Totals(list(_watched(map(work, seeds), len(seeds))))
    with get_context("spawn").Pool(arguments.jobs) as pool:
        return Totals(list(_watched(pool.imap(work, seeds, chunksize=4), len(seeds))))


def _watched(results: Iterable[SeriesScore], count: int) -> Iterable[SeriesScore]:
    for done, result in enumerate(results, 1):
        if sys.stderr.isatty() and (done % 20 == 0 or done == count):
            print(f"\r{done}/{count}", end="\n" if done == count else "", file=sys.stderr)
        yield result


def print_figures(totals: Totals) -> bool:
    """Print the figures with the promises; return whether all are kept."""
    kept = True
    for name, value in totals.figures().items():
        text = f"{value:.1f}" if name.startswith("ms") else f"{value:.4f}"
        line = f"{name:24s} {text:>9s}"
        if name in PROMISES:
            sign, bound = PROMISES[name]
            holds = value >= bound if sign == ">=" else value <= bound
            kept &= holds
            line += f"   promised {sign} {bound:g}: {'kept' if holds else 'BROKEN'}"
        print(line)
    ignored = sum(s.ignored_minutes for s in totals.series)
    counted = sum(sum(s.minutes) for s in totals.series)
    print(f"{'minutes left out':24s} {ignored:9.0f}   (pressed or called so: {counted:.0f})")
    return kept


def print_families(totals: Totals) -> None:
    """Print one line per family: what went wrong, and seeds to repeat it."""
    head = f"{'family':27s} {'n':>4s} {'F1':>6s} {'accused':>8s} {'iv found':>9s} {'family':>7s}"
    print(f"\n{head}  failing seeds")
    for family in build.FAMILIES:
        part = Totals([s for s in totals.series if s.family == family])
        if not part.series:
            continue
        figures = part.figures()
        accused = f"{sum(s.is_falsely_accused for s in part.series)}"
        failing = [s for s in part.series if s.faults]
        seeds = " ".join(f"{s.seed}({', '.join(s.faults)})" for s in failing[:4])
        more = f" +{len(failing) - 4}" if len(failing) > 4 else ""
        print(
            f"{family:27s} {len(part.series):4d} {figures['minute F1']:6.3f} {accused:>8s}"
            f" {figures['found']:9.3f} {figures['right family']:7.3f}  {seeds}{more}"
        )


def _parsed(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--count", type=int, default=800, help="incidents to diagnose")
    parser.add_argument("--seed", type=int, default=EVALUATION_FROM, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shift", choices=observe.SHIFTS, help="other conditions, same incidents")
    parser.add_argument("--only", choices=build.FAMILIES, help="every seed as this family")
    parser.add_argument("--show", type=int, metavar="SEED", help="print truth and diagnosis of one")
    parser.add_argument("--dump-failures", type=Path, metavar="DIR", help="draw failing series")
    parser.add_argument(
        "--diagnose",
        default="plimsoll.app.diagnose:diagnose_snapshot",
        metavar="MODULE:FUNCTION",
        help="what turns a Snapshot into a Diagnosis",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Return exit status 0 if every promise is kept, 1 if one is broken."""
    arguments = _parsed(argv)
    if arguments.show is not None:
        incident, diagnosis, result = examine(
            arguments.show, family=arguments.only, shift=arguments.shift, diagnose=diagnose_of(arguments.diagnose)
        )
        print(picture.text(incident, storage_intervals(diagnosis), result.faults))
        return int(bool(result.faults))
    last = arguments.seed + arguments.count - 1
    print(f"{arguments.count} simulated incidents, seeds {arguments.seed} to {last}")
    print(f"these seeds are for {seed_kind(arguments.seed)}; shift: {arguments.shift or 'none'}\n")
    totals = run(arguments)
    kept = print_figures(totals)
    print_families(totals)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
