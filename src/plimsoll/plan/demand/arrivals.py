"""
What came, done or not, as those counted it who were asked for it.

While a ceiling binds, what is served is the ceiling; what *came* is known to the application (its
load balancer's requests, its queue's messages), and partly to the database: a request that gave up
ends as a rollback. Compared with what was *done*, it is demand over supply, whatever a transaction
costs in storage: only the ratio is used, and a ratio that is not one at liberty is taken out. Where
the application also counts what it completed, that is compared, and other work in the same database
shows: operations for each that is completed change when other work squeezes it, or is squeezed.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from plimsoll.diagnosis.frame import on_grid
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.throttled import MeasuredDemand, ThrottledSteps

# Counted by the minute here and there, edges differ by a twentieth.
EXCESS = 0.05
# Judgement: a median of fewer steps moves with each of them.
LEAST_STEPS = 20
# At liberty what comes is done, so many of the one for one of the other; a ratio that wanders there
# by more than this compares different work.
WANDERS_LOG = 0.15


class Mix(StrEnum):
    """Whether other work shares the database with that which was counted."""

    UNKNOWN = "unknown"
    ALONE = "alone"
    """As many operations are done for each that is completed, whether or not the ceiling binds."""
    SHARED = "shared"
    """That number changes: other work is squeezed, or squeezes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """What came while the load was held back."""

    ops_per_s: FloatArray
    """In operations, shape (n,); NaN where it was not counted."""
    excess_ratio: float
    """What came beyond what was done, over what was done: mean of the held-back time, ≥ 0."""
    is_whole: bool
    """Whether all that came was counted; rollbacks tell only of what reached the database."""
    mix: Mix = Mix.UNKNOWN
    share: FloatArray | None = None
    """Its share 0–1 of all operations, shape (n,); None where other work is not known of."""
    is_even: bool = True
    """Whether a transaction costs as many operations while the ceiling binds as at liberty."""

    @property
    def is_lost(self) -> bool:
        """Whether more came than was done."""
        return self.excess_ratio > EXCESS


def arrivals_of(snapshot: Snapshot, seen: MeasuredDemand, held: ThrottledSteps) -> Arrivals | None:
    """Return what came, by the application's count or else by rollbacks; None where neither is known."""
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
    # Steps that were held back for a part belong to neither side.
    pressed, free = known & held.is_held, known & ~held.is_held & ~held.is_partly
    # An application counts what came and what of it was done alike; others may count another thing.
    usual = 1.0 if is_own and pressed.sum() >= LEAST_STEPS else _usual(ratio, pressed, free)
    if usual is None:
        return None
    over = np.where(known, ratio / usual, np.nan)
    # Weighed by operations: a ratio counts for as much work as it stands for.
    weight = seen.ops_per_s[pressed]
    excess = float(np.average(over[pressed], weights=weight)) - 1 if weight.any() else 0.0
    mix, share = _mix(completed if is_own else done, done, seen.ops_per_s, pressed, free)
    is_even = mix is Mix.ALONE
    if not is_own:
        # Other work whose transactions cost as much is among those that were done.
        mix, share = Mix.UNKNOWN, None
    found = Arrivals(
        ops_per_s=seen.ops_per_s * over,
        excess_ratio=max(excess, 0.0),
        is_whole=is_whole,
        mix=mix,
        share=share,
        is_even=is_even,
    )
    # No rollbacks more than usual say nothing: what is refused outside the database leaves none.
    return found if is_whole or found.is_lost else None


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        found: FloatArray = np.where(below > 0, above / below, np.nan)
    return found


def _mix(
    completed: FloatArray, done: FloatArray, ops: FloatArray, pressed: BoolArray, free: BoolArray
) -> tuple[Mix, FloatArray | None]:
    """Return whether what was counted is all the load, pressed and at liberty, and its share of operations."""
    each = _over(ops, completed)
    pressed, free = pressed & np.isfinite(each), free & np.isfinite(each)
    if min(pressed.sum(), free.sum()) < LEAST_STEPS:
        return Mix.UNKNOWN, None
    # What wanders while nothing holds it back cannot show a change while something does.
    usual = float(np.median(each[free]))
    if usual <= 0 or _wandering(each[free] / usual) > WANDERS_LOG:
        return Mix.UNKNOWN, None
    if abs(float(np.median(each[pressed])) / usual - 1) < EXCESS:
        return Mix.ALONE, None
    # Others' transactions cost as much at liberty; what is more while pressed is other work.
    cost = _over(ops, done)[free]
    if not np.isfinite(cost).any():
        return Mix.SHARED, None
    share = float(np.nanmedian(cost)) / each
    if float(np.median(share[pressed])) > 1 + EXCESS:
        # Cheaper while pressed than at liberty: costs changed, and shares do not follow from them.
        return Mix.SHARED, None
    return Mix.SHARED, np.clip(share, 0.0, 1.0)


def _usual(ratio: FloatArray, pressed: BoolArray, free: BoolArray) -> float | None:
    """Return how many come for each that is done when nothing is held back; None where that is not seen."""
    if pressed.sum() < LEAST_STEPS:
        return None
    if free.sum() < LEAST_STEPS:
        # Never at liberty, yet as many done as came: no other ratio would be one by chance.
        return 1.0 if abs(float(np.median(ratio[pressed])) - 1) < EXCESS else None
    usual = float(np.median(ratio[free]))
    return usual if usual > 0 and _wandering(ratio[free] / usual) <= WANDERS_LOG else None


def _wandering(ratio: FloatArray) -> float:
    """Return how far half of the readings lie from their median, which is 1, as a logarithm."""
    with np.errstate(divide="ignore"):
        return float(np.median(np.abs(np.log(ratio))))
