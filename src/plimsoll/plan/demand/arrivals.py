"""
Counted arrivals: the work that arrived, done or not.

While a ceiling binds, the served rate is the ceiling. The *arrivals* are known to the application (the
requests of its load balancer, the messages of its queue), and in part to the database: a request that
gave up ends as a rollback. Arrivals over *completions* are demand over supply, whatever a transaction
costs in storage. Only the ratio is used, relative to its value without throttling. If the application
also counts completions, other work in the same database becomes visible: the operations per completion
change when other work displaces it, or is displaced.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from plimsoll.diagnosis.frame import on_grid
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.throttled import MeasuredDemand, ThrottledSteps

# Two sources that count by the minute differ by a twentieth at the edges.
EXCESS = 0.05
# Judgement: a median of fewer steps moves with each of them.
LEAST_STEPS = 20
# Without throttling all arrivals are done, at a constant ratio of the two counts; if that ratio varies by
# more than this, the counts are of different work.
WANDERS_LOG = 0.15


class Mix(StrEnum):
    """Whether other work shares the database with the counted work."""

    UNKNOWN = "unknown"
    ALONE = "alone"
    """The number of operations per completion is the same, whether or not the ceiling binds."""
    SHARED = "shared"
    """That number changes: other work is displaced, or displaces the counted work."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """The arrivals while the load was throttled."""

    ops_per_s: FloatArray
    """In operations, shape (n,); NaN where it was not counted."""
    excess_ratio: float
    """(Arrivals − completions) ÷ completions, mean over the throttled time, ≥ 0."""
    is_whole: bool
    """Whether all arrivals were counted; rollbacks count only those that reached the database."""
    mix: Mix = Mix.UNKNOWN
    share: FloatArray | None = None
    """Its share 0–1 of all operations, shape (n,); None where no other work is known."""
    is_even: bool = True
    """Whether a transaction costs as many operations at the ceiling as without throttling."""

    @property
    def is_lost(self) -> bool:
        """Return whether more work arrived than was done."""
        return self.excess_ratio > EXCESS


def arrivals_of(snapshot: Snapshot, seen: MeasuredDemand, held: ThrottledSteps) -> Arrivals | None:
    """Return the arrivals by the application's count or else by rollbacks; None where neither is known."""
    ended, rolled, came, completed = (
        on_grid(snapshot.series.get(metric), seen.time_s, np.full(seen.time_s.size, seen.step_s))
        for metric in (
            Metric.TRANSACTIONS_PER_S,
            Metric.ROLLBACKS_PER_S,
            Metric.ARRIVALS_PER_S,
            Metric.COMPLETIONS_PER_S,
        )
    )
    # The count of transactions includes those that were rolled back, which did nothing.
    done = np.where(np.isfinite(rolled), np.maximum(ended - rolled, 0.0), ended)
    is_whole = bool(np.isfinite(came).any())
    is_own = is_whole and bool(np.isfinite(completed).any())
    ratio = _over(came if is_whole else ended, completed if is_own else done)
    known = seen.is_measured & np.isfinite(ratio)
    # Steps that were throttled in part belong to neither side.
    pressed, free = known & held.is_held, known & ~held.is_held & ~held.is_partly
    # An application counts its own arrivals and completions in one unit; other sources may not.
    usual = 1.0 if is_own and pressed.sum() >= LEAST_STEPS else _usual(ratio, pressed, free)
    if usual is None:
        return None
    over = np.where(known, ratio / usual, np.nan)
    # Weighted by operations, because a ratio stands for the work of its step.
    weight = seen.ops_per_s[pressed]
    excess = float(np.average(over[pressed], weights=weight)) - 1 if weight.any() else 0.0
    mix, share = _mix(completed if is_own else done, done, seen.ops_per_s, pressed, free)
    is_even = mix is Mix.ALONE
    if not is_own:
        # Completions of the database include other work, which cannot be separated.
        mix, share = Mix.UNKNOWN, None
    found = Arrivals(
        ops_per_s=seen.ops_per_s * over,
        excess_ratio=max(excess, 0.0),
        is_whole=is_whole,
        mix=mix,
        share=share,
        is_even=is_even,
    )
    # The usual number of rollbacks is no evidence: work refused outside the database leaves none.
    return found if is_whole or found.is_lost else None


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        found: FloatArray = np.where(below > 0, above / below, np.nan)
    return found


def _mix(
    completed: FloatArray, done: FloatArray, ops: FloatArray, pressed: BoolArray, free: BoolArray
) -> tuple[Mix, FloatArray | None]:
    """Return whether the counted work is the whole load, and its share of operations."""
    each = _over(ops, completed)
    # Work without operations has no cost.
    pressed, free = pressed & (each > 0), free & (each > 0)
    if min(pressed.sum(), free.sum()) < LEAST_STEPS:
        return Mix.UNKNOWN, None
    # A cost that varies without throttling cannot show a change under throttling.
    usual = float(np.median(each[free]))
    if usual <= 0 or _wandering(each[free] / usual) > WANDERS_LOG:
        return Mix.UNKNOWN, None
    if abs(float(np.median(each[pressed])) / usual - 1) < EXCESS:
        return Mix.ALONE, None
    # Without throttling all transactions cost the same; a higher cost at the ceiling is other work.
    cost = _over(ops, done)[free]
    if not np.isfinite(cost).any():
        return Mix.SHARED, None
    alone = np.full(each.size, float(np.nanmedian(cost)))
    share = np.where(each == 0, 1.0, _over(alone, each))
    if float(np.median(share[pressed])) > 1 + EXCESS:
        # Lower costs at the ceiling than without throttling: the costs changed, so no share follows.
        return Mix.SHARED, None
    return Mix.SHARED, np.clip(share, 0.0, 1.0)


def _usual(ratio: FloatArray, pressed: BoolArray, free: BoolArray) -> float | None:
    """Return the ratio of arrivals to completions without throttling; None where it was not measured."""
    if pressed.sum() < LEAST_STEPS:
        return None
    if free.sum() < LEAST_STEPS:
        # Always throttled, and yet as many done as arrived: a ratio of one is hardly chance.
        return 1.0 if abs(float(np.median(ratio[pressed])) - 1) < EXCESS else None
    usual = float(np.median(ratio[free]))
    return usual if usual > 0 and _wandering(ratio[free] / usual) <= WANDERS_LOG else None


def _wandering(ratio: FloatArray) -> float:
    """Return the median absolute log deviation of the readings from their median, which is 1."""
    with np.errstate(divide="ignore"):
        return float(np.median(np.abs(np.log(ratio))))
