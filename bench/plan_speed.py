"""
Measure the speed of the plan's search: `python bench/plan_speed.py`, one core.

Included: listing every orderable class with every storage of the grid, their distinct limits, their
prices, and the search for the cheapest that is enough, overall and by role. *All* replays every distinct
limit that no comparison decides, as without any prices: the most work of a search. Not included: starting
Python, reading the catalog's tables (once a process) and recovering the demand.

The demand is generated from a seed. CPU time of this process, best of a few runs; memory is the peak of
the process. With `--require` the exit status is 1 if a promise is broken.
"""

import argparse
import os
import resource
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported: one thread
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from law import DAY_STEPS, MINUTE_S, UNIT_BYTES, busy_days, processor
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.roles import preferred, roles_of
from plimsoll.plan.judge.search import FAILS, HOLDS, OPEN, DemandSearch, search, search_all
from plimsoll.plan.judge.vectors import LimitVectors, vectors_of
from plimsoll.plan.market.candidates import Arrangements, arrangements
from plimsoll.plan.market.needs import ResourceNeeds, needs_of
from plimsoll.plan.market.priced import ArrangementPrices, priced

PROMISES_S = {14: 0.5, 365: 3.0}
"""Days of one-minute steps, and CPU seconds for the whole search and for replaying all limits."""
VECTORS_MIN = 5000
MEMORY_BYTES_MAX = 500e6
ALLOWED_RATIO = 0.01

# A small class on storage of one volume, with only storage metrics: no class is ruled out for other
# resources, so the whole list is searched.
INSTANCE = Instance(
    db_class="db.t3.medium",
    engine="postgres",
    engine_version="16.3",
    region="us-east-1",
    multi_az=False,
    storage=Storage(kind="gp2", size_gib=100),
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="14 days only, one run")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    options = parser.parse_args(arguments)
    print(f"machine: {processor()}; CPU time of one process, best of a few runs")
    _limits(_listed()[1])  # the tables are read before the clock starts
    runs = 1 if options.quick else 3
    broken = []
    for days, promise_s in PROMISES_S.items():
        if options.quick and days > 14:
            continue
        broken += bench(days, promise_s, runs)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"\nmost memory: {used / 1e6:,.0f} MB")
    if used > MEMORY_BYTES_MAX:
        broken.append(f"{used / 1e6:,.0f} MB, promised {MEMORY_BYTES_MAX / 1e6:,.0f} MB")
    print("\n" + ("\n".join(f"broken: {line}" for line in broken) or "every promise was kept"))
    return 1 if broken and options.require else 0


def bench(days: int, promise_s: float, runs: int) -> list[str]:
    """Print one length of window; return the promises it breaks."""
    broken = []
    for scale, what in ((1.0, "a middling demand"), (4.0, "a heavy demand"), (0.3, "a light one")):
        asked = demand(days, scale)
        listed_s, (needs, found) = timed(_listed, runs)
        vectors_s, vectors = timed(lambda found=found: _limits(found), runs)
        priced_s, prices = timed(lambda n=needs, f=found: _prices(n, f), runs)
        search_s, best = timed(lambda v=vectors, f=found, p=prices, a=asked: _search(v, f, p, a), runs)
        all_s, states = timed(lambda v=vectors, a=asked: _all(v, a), runs)
        forced_s, _ = timed(lambda v=vectors, a=asked: _forced(v, a), 1)
        before_s = listed_s + vectors_s
        whole_s, most_s = before_s + priced_s + search_s, before_s + all_s
        print(f"\n{days} days, {asked.ops_per_s.size:,} steps, {what}:")
        print(f"  {len(found):,} arrangements, {len(vectors):,} distinct limits")
        print(f"  listing {listed_s:.3f} s, limits {vectors_s:.3f} s, prices {priced_s:.3f} s")
        looked, replayed = best.settled
        print(f"  search {search_s:.3f} s: {looked:,} settled by comparison, {replayed:,} replayed")
        print(f"  all {all_s:.3f} s: {np.sum(states == HOLDS):,} hold, {np.sum(states == FAILS):,} fail")
        print(f"  replaying also what comparisons settle {forced_s:.3f} s")
        print(f"  whole search {whole_s:.3f} s; whole list without prices {most_s:.3f} s")
        for name, chosen in best.roles.items():
            if chosen:
                usd = prices.usd_per_month_more(chosen[0])
                print(f"    {name:17} {found.name(chosen[0])}, {usd:+.2f} USD a month")
        if len(vectors) < VECTORS_MIN:
            broken.append(f"{len(vectors)} distinct limits, promised {VECTORS_MIN}")
        for name, spent_s in (("search", whole_s), ("all", most_s)):
            if spent_s > promise_s:
                broken.append(f"{name} of {days} days, {what}: {spent_s:.3f} s, promised {promise_s} s")
    return broken


def demand(days: int, scale: float) -> StepDemand:
    ops, size = busy_days(days)
    assert ops.size == days * DAY_STEPS
    return StepDemand(
        ops_per_s=ops * scale,
        io_size_bytes=size,
        step_s=MINUTE_S,
        is_carried=True,
        is_measured=np.ones(ops.size, dtype=np.bool_),
    )


def timed(compute: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Return the CPU seconds of the fastest of a few runs, and the result."""
    best, result = float("inf"), None
    for _ in range(runs):
        start = process_time()
        result = compute()
        best = min(best, process_time() - start)
    return best, result


def _listed() -> tuple[ResourceNeeds, Arrangements]:
    snapshot = Snapshot(instance=INSTANCE, series={}, source="made up", is_simulated=True)
    needs = needs_of(snapshot, catalog())
    return needs, arrangements(INSTANCE, catalog(), needs, PlanConstraints())


def _limits(found: Arrangements) -> LimitVectors:
    return vectors_of(found, catalog(), io_size_bytes_max=UNIT_BYTES)


def _prices(needs: ResourceNeeds, found: Arrangements) -> ArrangementPrices:
    facts = catalog()
    return priced(found, CatalogPrices(facts, "us-east-1"), needs=needs, constraints=PlanConstraints(), catalog=facts)


def _search(vectors: LimitVectors, found: Arrangements, prices: ArrangementPrices, asked: StepDemand) -> Any:
    return search(
        vectors, prices.more, roles_of(found, prices), asked, allowed_ratio=ALLOWED_RATIO, tie=preferred(found)
    )


def _all(vectors: LimitVectors, asked: StepDemand) -> Any:
    return search_all(vectors, asked, allowed_ratio=ALLOWED_RATIO)


def _forced(vectors: LimitVectors, asked: StepDemand) -> Any:
    """Replay every distinct limit, as if no comparison decided any."""
    trial = DemandSearch(vectors, asked, allowed_ratio=ALLOWED_RATIO)
    trial.state[:] = OPEN
    trial.settle(np.arange(len(vectors)))
    return trial.state


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
