"""
What came, done or not, as those counted it who were asked for it.

While a ceiling binds, what is served is the ceiling; what *came* is known to the application (its
load balancer's requests, its queue's messages), and partly to the database: a request that gave up
ends as a rollback. Compared with what was *done*, it is demand over supply, whatever a transaction
costs in storage: only the ratio is used, and a ratio that is not one at liberty is taken out.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import on_grid
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.held import Held, Seen

# Counted by the minute here and there, edges differ by a twentieth.
EXCESS = 0.05
LEAST_STEPS = 20
# At liberty what comes is done, so many of the one for one of the other; a ratio that wanders there
# by more than this compares different work.
WANDERS_LOG = 0.15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """What came while the load was held back."""

    ops_per_s: FloatArray
    """In operations, shape (n,); NaN where it was not counted."""
    excess_ratio: float
    """What came beyond what was done, over what was done: mean of the held-back time, ≥ 0."""
    is_whole: bool
    """Whether all that came was counted; rollbacks tell only of what reached the database."""

    @property
    def is_lost(self) -> bool:
        """Whether more came than was done."""
        return self.excess_ratio > EXCESS


def arrivals_of(snapshot: Snapshot, seen: Seen, held: Held) -> Arrivals | None:
    """What came, by the application's count or else by rollbacks; None where neither is known."""
    ended, rolled, came = (
        on_grid(snapshot.series.get(metric), seen.time_s, np.full(seen.time_s.size, seen.step_s))
        for metric in (Metric.TRANSACTIONS_PER_S, Metric.ROLLBACKS_PER_S, Metric.ARRIVALS_PER_S)
    )
    done = np.where(np.isfinite(rolled), np.maximum(ended - rolled, 0.0), ended)
    is_whole = bool(np.isfinite(came).any())
    with np.errstate(all="ignore"):
        ratio = np.where(done > 0, (came if is_whole else ended) / done, np.nan)
    known = seen.is_measured & np.isfinite(ratio)
    pressed, free = known & held.is_held, known & ~held.is_held & ~held.is_partly
    usual = _usual(ratio, pressed, free)
    if usual is None:
        return None
    over = np.where(known, ratio / usual, np.nan)
    weight = seen.ops_per_s[pressed]
    excess = float(np.average(over[pressed], weights=weight)) - 1 if weight.any() else 0.0
    found = Arrivals(
        ops_per_s=seen.ops_per_s * over, excess_ratio=max(excess, 0.0), is_whole=is_whole
    )
    # No rollbacks more than usual say nothing: what is refused outside the database leaves none.
    return found if is_whole or found.is_lost else None


def _usual(ratio: FloatArray, pressed: BoolArray, free: BoolArray) -> float | None:
    """How many come for each that is done when nothing is held back; None where that is not seen."""
    if pressed.sum() < LEAST_STEPS:
        return None
    if free.sum() < LEAST_STEPS:
        # Never at liberty, yet as many done as came: no other ratio would be one by chance.
        return 1.0 if abs(float(np.median(ratio[pressed])) - 1) < EXCESS else None
    usual = float(np.median(ratio[free]))
    return usual if usual > 0 and _wandering(ratio[free] / usual) <= WANDERS_LOG else None


def _wandering(ratio: FloatArray) -> float:
    """How far half of the readings lie from their median, which is 1, as a logarithm."""
    with np.errstate(divide="ignore"):
        return float(np.median(np.abs(np.log(ratio))))
