"""
Diagnose and plan for random windows, and count internal errors.

    python bench/fuzz_windows.py --count 10000 [--seed 1] [--jobs 2] [--require]
    python bench/fuzz_windows.py --show SEED

A window has 1 to 90 days with gaps, drifts, constant runs and lost samples at odd places, of any class, storage
and engine (random_windows.py); it is a function of its seed. Each goes through the diagnosis, its row of an
overview and its reports; some through alarms, a comparison of its halves, a plan and a page. A sentence that
refuses is an answer; an exception of another kind, a warning of numpy and an assertion are internal errors.

For each kind of error the first window is made smaller as long as it fails in the same place. --show runs the
window of one seed alone, with the traceback. With --require the exit status is 1 if there was any error.
"""

import argparse
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plimsoll.alarms.choose import choose_alarms
from plimsoll.alarms.replay import history_of
from plimsoll.app.compare import compare_snapshots
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import options_snapshot, plan_snapshot
from plimsoll.app.render import Report, render
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.errors import PlimsollError
from plimsoll.model.contained import Containment
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.snapshot import Snapshot, cut
from random_windows import random_window, smaller

# Every so many windows: these take longer than a diagnosis.
COMPARED, PLANNED, OPTIONS, PAGES = 7, 6, 3, 40
TRIES_MAX = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """An internal error of one window."""

    seed: int
    stage: str
    kind: str
    """Name of the exception's type."""
    place: str
    """File and line of our code in which it was raised."""

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells its kind from others."""
        return self.kind, self.place


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one window."""

    seed: int
    answers: tuple[str, ...]
    """`diagnosed`, `refused: plan` and so on."""
    failures: tuple[Failure, ...]


def stages(window: Snapshot, seed: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name and the work of each stage; later ones use what earlier ones found."""
    found = {}
    constraints = PlanConstraints(usd_per_day_max=Decimal(100) if seed % 3 == 0 else None)

    def diagnosed() -> None:
        found["diagnosis"] = diagnose_snapshot(window)

    def rendered(form: str) -> None:
        render(Report(diagnosis=found["diagnosis"], snapshot=window), form)

    yield "diagnosis", diagnosed
    if "diagnosis" not in found:
        return
    diagnosis = found["diagnosis"]
    row = overview_row
    yield "overview", lambda: render(overview_of([row(diagnosis)], [], window_s=None, source=""))
    for form in ("text", "json", "markdown", *(["html"] if seed % PAGES == 0 else [])):
        yield form, lambda form=form: rendered(form)
    yield "alarms", lambda: _alarms(window, diagnosis)
    if seed % COMPARED == 0:
        yield "comparison", lambda: _compared(window)
    if seed % OPTIONS == 0:
        yield "options", lambda: options_snapshot(diagnosis, window, constraints)
    if seed % PLANNED == 0:
        yield "plan", lambda: render(plan_snapshot(diagnosis, window, constraints))


def _alarms(window: Snapshot, diagnosis: object) -> None:
    alarms, _ = choose_alarms(window.instance, catalog())
    for alarm in alarms:
        history_of(alarm, window.series, diagnosis.intervals)


def _compared(window: Snapshot) -> None:
    if window.window_s is None:
        return
    start, end = window.window_s
    middle = (start + end) // 2
    render(compare_snapshots(cut(window, (start, middle)), cut(window, (middle, end))))


def outcome_of(seed: int, window: Snapshot | None = None, *, raises: bool = False) -> Outcome:
    """Run every stage on the window of a seed, or on another window with the stages of that seed."""
    Containment.is_on = False
    answers, failures = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for stage, work in stages(random_window(seed) if window is None else window, seed):
            try:
                work()
                answers.append(stage)
            except PlimsollError:
                answers.append(f"{stage} refused")
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:
                if raises:
                    traceback.print_exc()
                failures.append(Failure(seed, stage, type(error).__name__, _place(error)))
    return Outcome(seed, tuple(answers), tuple(failures))


def _place(error: BaseException) -> str:
    """Return the innermost file and line of our code."""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        _, ours, file = frame.filename.rpartition("plimsoll/")
        if ours:
            place = f"{file}, line {frame.lineno}"
    return place


def minimised(failure: Failure) -> Snapshot:
    """Return a small window that fails in the same place."""
    window = random_window(failure.seed)
    tries = 0
    while tries < TRIES_MAX:
        for candidate in smaller(window):
            tries += 1
            if any(f.key == failure.key for f in outcome_of(failure.seed, candidate).failures):
                window = candidate
                break
        else:
            return window
    return window


def main() -> int:
    """Run the windows, and print what was found."""
    parser = argparse.ArgumentParser(description="Count internal errors in random windows.")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, help="run the window of this seed alone")
    parser.add_argument("--require", action="store_true", help="exit with 1 after any error")
    wanted = parser.parse_args()
    if wanted.show is not None:
        found = outcome_of(wanted.show, raises=True)
        print(random_window(wanted.show).instance, *found.answers, *found.failures, sep="\n")
        return 1 if found.failures else 0
    seeds = range(wanted.seed, wanted.seed + wanted.count)
    answers: Counter[str] = Counter()
    failed: dict[tuple[str, str], list[Failure]] = {}
    with get_context("spawn").Pool(wanted.jobs) as pool:
        for outcome in pool.imap_unordered(outcome_of, seeds, chunksize=8):
            answers.update(outcome.answers)
            for failure in outcome.failures:
                failed.setdefault(failure.key, []).append(failure)
    for name, count in answers.most_common():
        print(f"{count:>8,} {name}")
    for (kind, place), every in sorted(failed.items(), key=lambda item: -len(item[1])):
        first = min(every, key=lambda one: one.seed)
        print(f"{kind} in {place}: {len(every)} times, first in {first.stage} of seed {first.seed}")
        print(f"    smallest: {_described(minimised(first))}")
    errors = sum(map(len, failed.values()))
    print(f"{len(seeds):,} windows from seed {wanted.seed}, {errors} internal errors")
    return 1 if wanted.require and errors else 0


def _described(window: Snapshot) -> str:
    sizes = {metric.value: series.time_s.size for metric, series in window.series.items()}
    return f"{window.instance.db_class}, {window.instance.engine}, {window.instance.storage}, {sizes}"


if __name__ == "__main__":
    sys.exit(main())
