"""
The exact search for the cheapest setups that let a demand pass.

Distinct limits are examined in order of price, until enough cheaper ones pass. Two comparisons settle
most of them: a demand whose peak stays below every baseline always passes, and a demand with more steps
above a maximum than are allowed always fails. The rest is replayed in parallel, each until it fails. One
setup is no evidence about another: buckets from which requests are lost are not monotone, so more
credits can mean more waiting later.

A step counts as throttled if requests wait, or were lost, at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll import kernel
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.vectors import BASELINE, BURST, LimitVectors
from plimsoll.plan.market.priced import UNKNOWN

HOLDS, FAILS, OPEN = 1, 0, -1
"""The state of a vector: the demand passes, it fails, or it was not tested."""

# Rounding in a replay is of the order of 1e-16 a step; within a billionth of a limit it decides.
_ROUNDING = 1e-9
# Vectors that are replayed together at first; it doubles, as those that matter are mostly early.
_CHUNK_FIRST, _CHUNK_MAX = 128, 2048


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchResult:
    """The result of a search."""

    roles: Mapping[str, tuple[int, ...]]
    """By role, the cheapest arrangements that hold, one for each vector, in order of price."""
    state: IntArray
    """HOLDS, FAILS or OPEN for each vector, shape (vectors,)."""
    settled: IntArray
    """How many vectors a comparison settled and how many were replayed, shape (2,)."""


class DemandSearch:
    """One demand against distinct limits: the state of each, from a comparison or one replay."""

    def __init__(self, vectors: LimitVectors, asked: StepDemand, *, allowed_ratio: float) -> None:
        """Compare peaks with limits; nothing is replayed yet."""
        self._vectors = vectors
        self._asked = asked
        self._allowed = asked.allowed_steps(allowed_ratio)
        self.state: IntArray = np.full(len(vectors), OPEN, dtype=np.int64)
        self.replayed_count = 0
        self._ease: FloatArray = np.full(len(vectors), np.inf)
        self._compare()

    def settle(self, which: Sequence[int] | IntArray) -> None:
        """Determine for some vectors whether the demand passes them."""
        wanted = np.unique(np.asarray(which, dtype=np.int64))
        left = wanted[self.state[wanted] == OPEN]
        if not left.size:
            return
        # Vectors that are replayed together should fail together, so that a replay can stop early.
        left = left[np.argsort(self._ease[left], kind="stable")]
        asked = self._asked
        chains = asked.all_started(self._vectors.chains(left))
        found = kernel.replay_candidates(
            asked.ops_per_s,
            asked.io_size_bytes,
            step_s=asked.step_s,
            chains=chains,
            carry=asked.is_carried,
            allowed_steps=self._allowed + asked.gap_count,
        )
        self.replayed_count += int(left.size)
        steps = found.throttled_steps.astype(np.int64)
        self.state[left] = np.where(steps <= self._allowed, HOLDS, FAILS)
        if asked.gap_count:
            # The kernel also counts steps that were not measured. If the excess is within their number,
            # only the exact replay shows which steps were counted.
            for place in np.flatnonzero((steps > self._allowed) & (steps <= self._allowed + asked.gap_count)):
                counted = throttled_steps(asked, chains[place]) & asked.is_measured
                self.state[left[place]] = HOLDS if counted.sum() <= self._allowed else FAILS

    def _compare(self) -> None:
        """Settle the vectors that peaks alone settle, and record how near the others are to failing."""
        asked, limits = self._asked, self._vectors.limits
        counted = asked.is_measured
        is_calm = np.ones(len(self._vectors), dtype=np.bool_)
        for place, slot in enumerate(self._vectors.slots):
            rates = asked.rates(slot.stage(1.0, 1.0))
            peak = float(rates.max()) if rates.size else 0.0
            baseline, burst = limits[:, place, BASELINE], limits[:, place, BURST]
            is_calm &= baseline >= peak * (1 + _ROUNDING)
            measured = rates[counted]
            if self._allowed < measured.size:
                # More steps than are allowed ask for this much or more, and any that asks for more
                # than the maximum ends with requests waiting or lost.
                rank = measured.size - 1 - self._allowed
                least = float(np.partition(measured, rank)[rank])
                self.state[burst * (1 + _ROUNDING) < least] = FAILS
            if peak > 0:
                self._ease = np.minimum(self._ease, baseline / peak)
        self.state[is_calm] = HOLDS


def search(
    vectors: LimitVectors,
    more: IntArray,
    roles: Mapping[str, BoolArray],
    asked: StepDemand,
    *,
    allowed_ratio: float,
    keep: int = 3,
    tie: IntArray | None = None,
) -> SearchResult:
    """
    Return the cheapest setups that pass, for each role separately.

    Args:
        vectors: distinct limits, and which arrangement has which.
        more: price of each arrangement, any scale, shape (n,); UNKNOWN is never chosen.
        roles: by name, which arrangements are in it, shape (n,) each.
        asked: the demand that must pass.
        allowed_ratio: share 0–1 of the measured steps that may be throttled.
        keep: how many arrangements to return for each role, each with another vector.
        tie: rank among equal prices, least first, shape (n,); then the index decides.
    """
    queues = {name: queue_of(more, is_in, vectors.of, tie=tie) for name, is_in in roles.items()}
    return search_queues(vectors, queues, asked, allowed_ratio=allowed_ratio, keep=keep)


def search_queues(
    vectors: LimitVectors, queues: Mapping[str, IntArray], asked: StepDemand, *, allowed_ratio: float, keep: int = 3
) -> SearchResult:
    """
    Return the cheapest setups that pass, for each role separately, from queues that were made before.

    Args:
        vectors: as for `search`.
        queues: by role, the answer of `queue_of`.
        asked: the demand that must pass.
        allowed_ratio: as for `search`.
        keep: as for `search`.
    """
    trial = DemandSearch(vectors, asked, allowed_ratio=allowed_ratio)
    compared = int(np.count_nonzero(trial.state != OPEN))
    chunk = _CHUNK_FIRST
    while True:
        wanted = [
            vector for queue in queues.values() for vector in _next_open(queue, vectors.of, trial.state, keep, chunk)
        ]
        if not wanted:
            break
        trial.settle(wanted)
        chunk = min(2 * chunk, _CHUNK_MAX)
    chosen = {
        name: tuple(int(one) for one in queue[trial.state[vectors.of[queue]] == HOLDS][:keep])
        for name, queue in queues.items()
    }
    return SearchResult(
        roles=chosen, state=trial.state, settled=np.array([compared, trial.replayed_count], dtype=np.int64)
    )


def search_all(vectors: LimitVectors, asked: StepDemand, *, allowed_ratio: float) -> IntArray:
    """Return HOLDS or FAILS for every vector, shape (vectors,), without an order of price."""
    trial = DemandSearch(vectors, asked, allowed_ratio=allowed_ratio)
    trial.settle(np.arange(len(vectors)))
    return trial.state


def throttled_steps(asked: StepDemand, chain: Sequence[kernel.Stage]) -> BoolArray:
    """Return which steps end with requests that wait or were lost, by the exact replay, shape (n,)."""
    found = kernel.replay(
        asked.ops_per_s, asked.io_size_bytes, step_s=asked.step_s, chain=asked.started(chain), carry=asked.is_carried
    )
    waiting: BoolArray = (found.backlog_ops > 0) | (found.shed_ops > 0)
    return waiting


def queue_of(more: IntArray, is_in: BoolArray, of: IntArray, *, tie: IntArray | None = None) -> IntArray:
    """
    Return the cheapest arrangement of each vector in a role, in order of price.

    Args:
        more: as for `search`.
        is_in: which arrangements are in the role, shape (n,).
        of: the vector of each arrangement, shape (n,).
        tie: as for `search`.
    """
    places = np.flatnonzero((more != UNKNOWN) & is_in)
    # Of each vector only the cheapest matter, so few of many are put in order.
    cheapest = np.full(int(of.max(initial=0)) + 1, UNKNOWN)
    np.minimum.at(cheapest, of[places], more[places])
    places = places[more[places] == cheapest[of[places]]]
    prices = more[places]
    order = np.argsort(prices, kind="stable") if tie is None else np.lexsort((tie[places], prices))
    inside = places[order]
    _, first = np.unique(of[inside], return_index=True)
    found: IntArray = inside[np.sort(first)]
    return found


def _next_open(queue: IntArray, of: IntArray, state: IntArray, keep: int, chunk: int) -> Iterator[int]:
    """Yield the next vectors of a queue that must be settled before the choice is known."""
    states = state[of[queue]]
    held = np.cumsum(states == HOLDS)
    # Vectors after the last chosen one do not matter, unless an earlier one is still open.
    end = int(np.searchsorted(held, keep)) + 1
    places = np.flatnonzero(states[:end] == OPEN)[:chunk]
    yield from (int(vector) for vector in of[queue[places]])
