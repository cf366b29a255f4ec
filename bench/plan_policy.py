"""
Follow the plan's recommendation in simulated incidents with known demand, and measure the outcome.

    python bench/plan_policy.py --count 44 --seed 22000000 [--rival] [--jobs 2] [--lines] [--require]

Each incident is run again, with the same demand and noise, on the documented limits of the recommended
option, of every option shown, and of as many cheaper ones as necessary to find the cheapest that
suffices. Printed are the share of recommended options that were enough, their cost a day above the
cheapest that was, and how often options came true, by their stated chance.

What bound in a stale, unknown or undescribed setup is in no document; such incidents are counted
separately.
"""

import argparse
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from plan_arms.case import Subject
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import plan_snapshot
from plimsoll.app.prices import book_of
from plimsoll.catalog.load import catalog
from plimsoll.errors import PlimsollError
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance
from plimsoll.model.plan import PROBABLY, Option, Plan, PlanConstraints, RungKind
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.judge.roles import CHEAPEST, roles_of
from plimsoll.plan.judge.search import queue_of
from plimsoll.plan.judge.vectors import BASELINE, BURST, CAPACITY, vectors_of
from plimsoll.plan.market.candidates import arrangements
from plimsoll.plan.market.needs import needs_of
from plimsoll.plan.market.priced import priced

ALLOWED = 0.01
# This many arrangements are compared with each other to choose the one to run next.
COMPARED = 100
# Prices that differ by less than a cent are the same price.
CENT = 0.005
NOT_DESCRIBED = ("unknown_limit", "unknown_class", "stale_catalog")
PROMISES = {"enough": 0.92, "regret median": 5.0, "regret p90": 50.0, "tenth": 0.10}
FREE, RECOMMENDED, MOST_LIKELY, BY_HOURS, UNDOCUMENTED = (
    "free", "recommended", "most likely", "by hours", "in no document",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """Hold the advice for one incident, and its outcome."""

    seed: int
    family: str
    loop: str
    nature: str
    kind: str
    title: str
    chance: float
    ratio: float
    """Share 0–1 of the time at a ceiling after it."""
    usd_per_day: float
    cheapest_usd_per_day: float
    """Price of the cheapest option that is enough; NaN if none is."""
    cheapest_chance: float
    """Stated chance of that option; NaN if none is enough."""
    cheapest: str
    shown: tuple[tuple[float, bool], ...]
    """Chance of every option that is shown, and whether it was enough."""

    @property
    def is_enough(self) -> bool:
        return self.ratio < ALLOWED

    @property
    def regret(self) -> float:
        return self.usd_per_day - self.cheapest_usd_per_day


class Outcomes:
    """Compute the outcome of an incident on the limits of an arrangement; each is run once."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._now = subject.snapshot.instance
        self.known: dict[tuple[object, ...], float] = {}

    def ratio(self, after: Instance, *, is_restart: bool = False) -> float:
        """Return the share 0–1 of the time at a ceiling."""
        chain = chain_of(after, catalog())
        keeps_class = after.db_class == self._now.db_class and not is_restart
        key = (chain, keeps_class, after.storage == self._now.storage)
        if key not in self.known:
            self.known[key] = self._subject.ratio_on(*key)
        return self.known[key]


class Market:
    """List everything that is sold for an incident, one arrangement for each set of limits, by price."""

    def __init__(self, snapshot: Snapshot) -> None:
        constraints = PlanConstraints()
        needs = needs_of(snapshot, catalog())
        found = arrangements(snapshot.instance, catalog(), needs, constraints)
        book = book_of(snapshot.instance.region or "us-east-1", None)
        prices = priced(found, book, needs=needs, constraints=constraints, catalog=catalog())
        self._vectors = vectors_of(found, catalog())
        roles = roles_of(found, prices)
        queue = queue_of(prices.more, roles[CHEAPEST], self._vectors.of)
        self.usd = np.array([float(prices.usd_per_month_more(int(i)) or 0) * 24 / 730 for i in queue])
        self._queue, self._found = queue, found

    def cheapest(self, is_enough: Callable[[Instance], bool], most_usd: float) -> int | None:
        """
        Return the index of the cheapest that is enough below a price; None if none is.

        An arrangement with lower limits in every respect than one that was not enough is skipped.
        """
        limits = self._vectors.limits[self._vectors.of[self._queue]]
        is_open = self.usd < most_usd
        best: int | None = None
        while is_open.any():
            place = _most_telling(np.flatnonzero(is_open), limits)
            if is_enough(self.instance(place)):
                best = place
                is_open[place:] = False
            else:
                is_open &= ~_has_no_more(limits, limits[place])
        return best

    def instance(self, place: int) -> Instance:
        return self._found.instance(int(self._queue[place]))

    def name(self, place: int) -> str:
        return self._found.name(int(self._queue[place]))


def _most_telling(left: np.ndarray, limits: np.ndarray) -> int:
    """Return the index whose outcome, either way, decides most of the others."""
    some = left[:: max(left.size // COMPARED, 1)]
    settled = [
        min(int(_has_no_more(limits[some], limits[place]).sum()), int(np.count_nonzero(some >= place)))
        for place in some
    ]
    return int(some[int(np.argmax(settled))])


def _has_no_more(limits: np.ndarray, than: np.ndarray) -> np.ndarray:
    """Return which limits are no higher than one in every respect, shape (n,)."""
    is_less = (limits[..., BASELINE] <= than[:, BASELINE]) & (limits[..., BURST] <= than[:, BURST])
    no_credits = limits[..., BURST] <= than[:, BASELINE]
    is_less &= no_credits | (limits[..., CAPACITY] <= than[:, CAPACITY])
    found: np.ndarray = is_less.all(axis=1)
    return found


def advised(subject: Subject, outcomes: Outcomes, plan: Plan) -> Step | None:
    """Return what a plan advises and its outcome; None if it advises nothing."""
    if plan.ladder is None:
        return None
    rung = plan.ladder.rungs[plan.ladder.recommended]
    option = plan.options[rung.option]
    if option.usd_per_day_more is None:
        return None
    ratio = _ratio(outcomes, option)
    usd = float(option.usd_per_day_more)
    market = Market(subject.snapshot)
    enough = [
        float(one.usd_per_day_more)
        for one in plan.options
        if one.usd_per_day_more is not None and _ratio(outcomes, one) < ALLOWED
    ]
    most = min(enough, default=np.inf)
    place = market.cheapest(lambda one: outcomes.ratio(one) < ALLOWED, most - CENT)
    best = most if place is None else float(market.usd[place])
    shown = tuple(
        (one.probability, _ratio(outcomes, one) < ALLOWED)
        for one in plan.options
        if one.moves and "spread" not in one.title
    )
    return Step(
        seed=subject.seed,
        family=subject.family,
        loop=subject.loop,
        nature=plan.demand.nature.value,
        kind=_kind(subject, rung.kind, option.probability),
        title=option.title,
        chance=option.probability,
        ratio=ratio,
        usd_per_day=usd,
        cheapest_usd_per_day=best if np.isfinite(best) else np.nan,
        cheapest_chance=np.nan,
        cheapest="" if place is None else market.name(place),
        shown=shown,
    )


def _ratio(outcomes: Outcomes, option: Option) -> float:
    return outcomes.ratio(option.instance, is_restart=option.disruption.is_restart)


def _kind(subject: Subject, kind: RungKind, chance: float) -> str:
    if subject.family in NOT_DESCRIBED:
        return UNDOCUMENTED
    if kind is RungKind.SOONER:
        return BY_HOURS
    if kind is RungKind.FREE:
        return FREE
    return RECOMMENDED if chance >= PROBABLY else MOST_LIKELY


def examine(seed: int, *, arm: str) -> Step | str:
    """Return the advised step of one seed, or why there is none."""
    subject: Subject = importlib.import_module(f"plan_arms.{arm}").subject_of(seed)
    try:
        plan = plan_snapshot(diagnose_snapshot(subject.snapshot), subject.snapshot, PlanConstraints())
    except PlimsollError as error:
        return type(error).__name__
    found = advised(subject, Outcomes(subject), plan)
    return "no step is advised" if found is None else found


def report(steps: list[Step]) -> bool:
    """Print the figures; return whether every promise is kept."""
    print(f"\n{'':16s} steps  enough   regret $/day: median     p90     most")
    for kind in (RECOMMENDED, FREE, MOST_LIKELY, BY_HOURS, UNDOCUMENTED):
        here = [one for one in steps if one.kind == kind]
        if here:
            print(f"{kind:16s} {_line(here)}")
    counted = [one for one in steps if one.kind in (RECOMMENDED, FREE)]
    print(f"{'first two':16s} {_line(counted)}")
    everything = [one for one in steps if one.kind != UNDOCUMENTED]
    print(f"{'all documented':16s} {_line(everything)}")
    shown = [pair for one in everything for pair in one.shown]
    print("\nchance       options  mean chance  enough  off")
    worst = 0.0
    for low, high in pairwise(np.linspace(0, 1, 11)):
        top = high if high < 1 else np.inf
        tenth = [pair for pair in shown if low <= pair[0] < top]
        if not tenth:
            continue
        chance, came = (float(np.mean([pair[n] for pair in tenth])) for n in (0, 1))
        print(f"{low:.1f} to {high:.1f}  {len(tenth):7d}  {chance:11.3f}  {came:6.3f}  {came - chance:+.2f}")
        worst = max(worst, abs(came - chance) if len(tenth) >= 20 else 0.0)
    regrets = [one.regret for one in counted if one.is_enough]
    came = {
        "enough": float(np.mean([one.is_enough for one in counted])),
        "regret median": float(np.median(regrets)),
        "regret p90": float(np.quantile(regrets, 0.9)),
        "tenth": worst,
    }
    broken = [n for n, v in came.items() if (v < PROMISES[n] if n == "enough" else v > PROMISES[n])]
    for name in broken:
        print(f"BROKEN: {name} {came[name]:.3g}, promised {PROMISES[name]:g}")
    return not broken


def _line(steps: list[Step]) -> str:
    enough = [one for one in steps if one.is_enough]
    regrets = [one.regret for one in enough] or [np.nan]
    share = len(enough) / len(steps) if steps else np.nan
    return (
        f"{len(steps):5d}  {share:6.3f}   {np.median(regrets):20.2f} {np.quantile(regrets, 0.9):7.2f}"
        f" {max(regrets):8.2f}"
    )


def line_of(one: Step) -> str:
    """Format one incident on one line."""
    return (
        f"{one.seed} {one.family} {one.loop}, assumed {one.nature}: {one.kind}, {one.title}"
        f" (${one.usd_per_day:.2f}, chance {one.chance:.2f}): {100 * one.ratio:.1f} %;"
        f" cheapest ${one.cheapest_usd_per_day:.2f} {one.cheapest}"
    )


def main() -> int:
    """Return exit status 1 if a promise is broken and --require was given."""
    parser = argparse.ArgumentParser(description="Follow the plan's recommendation.")
    parser.add_argument("--count", type=int, default=44)
    parser.add_argument("--seed", type=int, default=22_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rival", action="store_true", help="use the independent generator")
    parser.add_argument("--lines", action="store_true", help="print a line for each incident")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    wanted = parser.parse_args()
    seeds = range(wanted.seed, wanted.seed + wanted.count)
    arm = "rival" if wanted.rival else "own"
    work = partial(examine, arm=arm)
    if wanted.jobs == 1:
        found = [work(seed) for seed in seeds]
    else:
        with get_context("spawn").Pool(wanted.jobs) as pool:
            found = list(pool.imap(work, seeds, chunksize=4))
    steps = [one for one in found if isinstance(one, Step)]
    print(f"{wanted.count} simulated incidents of {arm}, seeds {seeds[0]} to {seeds[-1]}")
    others = [one for one in found if isinstance(one, str)]
    for why in sorted(set(others)):
        print(f"left out: {others.count(why)}, {why}")
    if wanted.lines:
        for one in steps:
            print(line_of(one))
    kept = report(steps)
    return 1 if wanted.require and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
