"""
The replays of every plausible demand of a window through a chain of ceilings.

Plausible demands differ only where requests were throttled. In between they are equal. From a moment at
which every bucket is full and nothing waits, equal demands have equal results. So a stretch between two
such moments is replayed once and shared. The result is the same as that of separate replays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.kernel import Replay, Stage, replay
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.plan.demand.recovery import Demand, DemandPath

# A replay of parts costs more for each of its steps than it saves if little is left out.
_KEPT_MOST = 0.7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialOutcome:
    """The result of a demand on a chain, by the step."""

    throttled: FloatArray
    """Share 0–1 of each step in which requests waited or were lost, shape (n,)."""
    served_ops: FloatArray
    """Operations served in each step, shape (n,)."""
    balance: FloatArray | None
    """Credits of one stripe at the end of each step, shape (stages, n); None where not needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """One demand on one chain."""

    path: DemandPath
    is_generous: bool
    chain: tuple[Stage, ...]
    outcome: TrialOutcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shared:
    """A replayed demand, and the steps in which the others need a replay of their own."""

    outcome: TrialOutcome
    kept: IntArray
    """Indices of the steps, rising."""
    cuts: IntArray
    """Places in `kept` after which steps are left out."""


def trials_of(demand: Demand, strict: tuple[Stage, ...], generous: tuple[Stage, ...]) -> list[Trial]:
    """
    Return every path on both readings of a chain: path by path, strict before generous.

    Balances are those of the highest demand alone.

    Args:
        demand: as recovered.
        strict: the chain with its buckets at their least, and the balances the window began with.
        generous: the same with its buckets at their most.
    """
    least = _outcomes(demand, demand.paths, strict)
    if generous == strict:
        most = least
    else:
        # A demand that never waits with the least credits is below every rate that credits could change.
        pressed = [n for n, found in enumerate(least) if found.throttled.any()]
        again = _outcomes(demand, [demand.paths[n] for n in pressed], generous)
        most = list(least)
        for n, found in zip(pressed, again, strict=True):
            most[n] = found
    return [
        Trial(
            path=path,
            is_generous=is_generous,
            chain=generous if is_generous and found is not least[n] else strict,
            outcome=found,
        )
        for n, path in enumerate(demand.paths)
        for is_generous, found in ((False, least[n]), (True, most[n]))
    ]


def _outcomes(demand: Demand, paths: Sequence[DemandPath], chain: tuple[Stage, ...]) -> list[TrialOutcome]:
    """Return one for each path, in their order."""
    found: dict[int, TrialOutcome] = {}
    known: dict[tuple[bool, bytes], TrialOutcome] = {}
    is_same = _is_same(paths)
    shared: _Shared | None = None
    # The heaviest first: where its buckets are full, those of the lighter ones are too.
    for n in sorted(range(len(paths)), key=lambda n: -float(paths[n].ops_per_s.sum())):
        path = paths[n]
        key = _key(path)
        outcome = known.get(key)
        if outcome is None and shared is not None:
            outcome = _in_parts(demand, path, chain, shared)
        if outcome is None:
            whole = _replayed(demand, path, chain)
            outcome = _outcome(whole)
            shared = _shared(whole, is_same, chain)
        found[n] = known[key] = outcome
    return [found[n] for n in range(len(paths))]


def _key(path: DemandPath) -> tuple[bool, bytes]:
    """Return a key that is equal for paths of the same demand."""
    return path.is_carried, path.ops_per_s.tobytes()


def _is_same(paths: Sequence[DemandPath]) -> BoolArray:
    """Return the steps in which all paths have the same demand, shape (n,)."""
    if not paths:
        return np.empty(0, dtype=np.bool_)
    first = paths[0].ops_per_s
    is_same = np.ones(first.size, dtype=np.bool_)
    for path in paths[1:]:
        is_same &= path.ops_per_s == first
    return is_same


def _replayed(demand: Demand, path: DemandPath, chain: tuple[Stage, ...], kept: IntArray | None = None) -> Replay:
    """Return a replay of all steps, or of some."""
    ops, size = path.ops_per_s, demand.io_size_bytes
    return replay(
        ops if kept is None else ops[kept],
        size if kept is None else size[kept],
        step_s=demand.step_s,
        chain=chain,
        carry=path.is_carried,
    )


def _outcome(found: Replay) -> TrialOutcome:
    return TrialOutcome(throttled=found.throttled_ratio, served_ops=found.served_ops, balance=found.balance)


def _shared(whole: Replay, is_same: BoolArray, chain: tuple[Stage, ...]) -> _Shared | None:
    """Return the part of a replay that other paths share; None where it is too small."""
    # Exactly full and exactly empty: from such a moment on, equal demands have equal futures.
    is_rest = (whole.backlog_ops == 0) & (whole.balance == _capacities(chain)).all(axis=0)
    # A step is left out if it is the same for all and lies between two moments of rest.
    count = is_same.size
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_same, [False])).astype(np.int8)))
    is_kept = np.ones(count, dtype=np.bool_)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        rest = start + np.flatnonzero(is_rest[start:end])
        if rest.size > 1:
            is_kept[rest[0] + 1 : rest[-1] + 1] = False
    kept = np.flatnonzero(is_kept)
    if kept.size > _KEPT_MOST * count:
        return None
    cuts = np.flatnonzero(np.diff(kept, append=count) > 1)
    return _Shared(outcome=_outcome(whole), kept=kept, cuts=cuts)


def _in_parts(demand: Demand, path: DemandPath, chain: tuple[Stage, ...], shared: _Shared) -> TrialOutcome | None:
    """Return a replay of the steps that are not shared; None if a shared part does not begin at rest."""
    found = _replayed(demand, path, chain, shared.kept)
    is_rest = (found.backlog_ops[shared.cuts] == 0).all()
    is_rest &= (found.balance[:, shared.cuts] == _capacities(chain)).all()
    if not is_rest:
        return None
    throttled, served = shared.outcome.throttled.copy(), shared.outcome.served_ops.copy()
    throttled[shared.kept], served[shared.kept] = found.throttled_ratio, found.served_ops
    balance = None
    if _key(path) == _key(demand.high):
        assert shared.outcome.balance is not None
        balance = shared.outcome.balance.copy()
        balance[:, shared.kept] = found.balance
    return TrialOutcome(throttled=throttled, served_ops=served, balance=balance)


def _capacities(chain: Sequence[Stage]) -> FloatArray:
    """Return the balance of every stage's bucket, shape (stages, 1)."""
    return np.array([[stage.capacity] for stage in chain])
