"""
Call the Rust law from Python: credit buckets, chains of ceilings, replay.

Rule 1: this is the only file that imports the compiled core.
Rule 2: this file holds no law; it checks arguments and passes them to the core.

A *stage* is one ceiling; a *chain* is several in series, met by the same requests. Rates and
credits of a stage are those of **one** stripe, in what the stage counts: bytes or operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.errors import DataError

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """
    One ceiling of a chain: a credit bucket and what it counts.

    Raises:
        DataError: a number outside the range its field names.
    """

    name: str
    """What people call it; unique within a chain."""
    baseline: float
    """Rate that can be held forever, bytes/s or ops/s; also the refill. ≥ 0; inf for no limit."""
    burst: float
    """Rate while the balance is above zero. ≥ baseline, > 0."""
    capacity: float = 0.0
    """Most credits (bytes or ops) the bucket holds. ≥ 0; 0 for a ceiling without credits."""
    start_balance: float | None = None
    """Credits at the start, 0 ≤ x ≤ capacity; None for a full bucket."""
    counts: Literal["bytes", "ops"]
    """What a credit pays for."""
    unit_bytes: float | None = None
    """Largest request that is one operation; None where size does not matter. Only for ops."""
    sequential_ratio: float = 0.0
    """Share 0–1 of requests that are small, sequential and merged up to the unit. Only for ops."""
    stripes: int = 1
    """Volumes the requests are spread over evenly, each with such a bucket. ≥ 1."""

    def __post_init__(self) -> None:
        """Refuse numbers for which the law is not defined; texts are made for these alone."""
        if not self.baseline >= 0:
            self._refuse(f"has a baseline of {self.baseline}", "zero or more")
        if not self.burst > 0:
            self._refuse(f"has a burst of {self.burst}", "more than zero")
        if not self.burst >= self.baseline:
            below = f"has a burst of {self.burst} below its baseline of {self.baseline}"
            self._refuse(below, "no less than the baseline")
        if not 0 <= self.capacity < inf:
            self._refuse(f"has a capacity of {self.capacity}", "finite, zero or more")
        self.check_balance(self.balance_at_start)
        if self.counts not in ("bytes", "ops"):
            self._refuse(f"counts '{self.counts}'", "bytes or ops")
        if self.unit_bytes is not None and not 0 < self.unit_bytes < inf:
            self._refuse(f"has an accounting unit of {self.unit_bytes} bytes", "more than zero")
        if not 0 <= self.sequential_ratio <= 1:
            self._refuse(f"has a sequential ratio of {self.sequential_ratio}", "between 0 and 1")
        if self.sequential_ratio != 0 and self.unit_bytes is None:
            merged = "merges sequential requests, but has no unit"
            self._refuse(merged, "given together with unit_bytes")
        if not self.stripes >= 1:
            self._refuse(f"has {self.stripes} stripes", "one or more")

    def check_balance(self, balance: float) -> None:
        """Refuse credits of one stripe that the bucket cannot start with."""
        if not 0 <= balance <= self.capacity:
            start = f"starts with {balance} of {self.capacity} credits"
            self._refuse(start, "between zero and the capacity")

    def _refuse(self, fault: str, must_be: str) -> NoReturn:
        raise DataError(f"stage '{self.name}' {fault}", f"It must be {must_be}.")

    @property
    def balance_at_start(self) -> float:
        """Return the credits of one stripe at the start."""
        return self.capacity if self.start_balance is None else self.start_balance

    def cost_per_op(self, io_size_bytes: float) -> float:
        """Return the credits that one operation of this mean size takes from each stripe."""
        return _core.cost_per_op(_law(self), _positive("an I/O size", io_size_bytes))

    def ceiling_ops_per_s(self, io_size_bytes: float, *, burst: bool = False) -> float:
        """Return the operations of this mean size per second that all stripes let through."""
        return _core.ceiling_ops_per_s(_law(self), _positive("an I/O size", io_size_bytes), burst)

    def time_to_empty_s(self, balance: float, rate_per_s: float) -> float:
        """Return the seconds until one stripe's balance is zero at this rate; inf if it does not fall."""
        return _core.time_to_empty_s(_law(self), balance, rate_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Buckets that are filled at fixed times, such as once a day."""

    stages: tuple[str, ...]
    """Names of the stages whose buckets are filled."""
    first_s: float = 0.0
    """Seconds from the start of the replay to the first grant, ≥ 0."""
    every_s: float = inf
    """Seconds from one grant to the next, > 0; inf for a single grant."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What happened in each step; arrays of shape (n,) unless they say otherwise."""

    served_ops: FloatArray
    """Operations served in the step."""
    served_bytes: FloatArray
    """Bytes served in the step."""
    backlog_ops: FloatArray
    """Operations waiting at the end of the step."""
    backlog_bytes: FloatArray
    """Bytes waiting at the end of the step."""
    shed_ops: FloatArray
    """Operations lost in the step."""
    shed_bytes: FloatArray
    """Bytes lost in the step."""
    throttled_ratio: FloatArray
    """Share 0–1 of the step in which requests waited or were lost because a ceiling was tight."""
    binding: IndexArray
    """Index of the stage that was tight for the longest time; −1 where demand was served at once."""
    at_burst: NDArray[np.bool_]
    """Whether that stage was tight at its burst rate rather than at its baseline."""
    balance: FloatArray
    """Credits of one stripe at the end of the step, shape (stages, n)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trials:
    """Results of the candidates; arrays of shape (candidates,) unless they say otherwise."""

    throttled_steps: NDArray[np.uint32]
    """Steps that ended with requests waiting or lost."""
    served_ops: FloatArray
    """Operations served."""
    served_bytes: FloatArray
    """Bytes served."""
    backlog_ops: FloatArray
    """Operations waiting at the end."""
    backlog_bytes: FloatArray
    """Bytes waiting at the end."""
    balance_min: FloatArray
    """Lowest balance of one stripe at the start or the end of any step, (stages, candidates)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """The rates that a chain lets through at each I/O size, shape (sizes,)."""

    io_size_bytes: FloatArray
    """Mean I/O size."""
    ops_per_s: FloatArray
    """Most operations per second."""
    bytes_per_s: FloatArray
    """The same in bytes per second."""
    stage: IndexArray
    """Index of the stage that binds; the first where several agree."""
    next_ops_per_s: FloatArray
    """Operations per second once that stage is lifted; inf if nothing else binds."""
    next_stage: IndexArray
    """Index of the stage that binds then; −1 if none binds."""


def replay(
    demand_ops_per_s: ArrayLike,
    io_size_bytes: ArrayLike,
    *,
    step_s: float,
    chain: Sequence[Stage],
    carry: bool = True,
    grants: Sequence[Grant] = (),
    balances: Sequence[float] | None = None,
) -> Replay:
    """
    Send a series of demand through a chain of ceilings.

    Args:
        demand_ops_per_s: rate asked for, reads and writes together, shape (n,), finite, ≥ 0. A step
            that was not measured has no demand that could be replayed, and every balance after it
            would be a guess: fill gaps, or replay the intervals between them one by one.
        io_size_bytes: mean size of an operation, shape (n,) or one for all; > 0 wherever something
            is asked for, ignored elsewhere.
        step_s: length of every step, > 0.
        chain: ceilings in series; the balances begin at their `start_balance`.
        carry: whether requests that cannot be served wait (True) or are lost (False).
        grants: moments at which buckets are filled.
        balances: credits of one stripe of each stage at the start, 0 ≤ x ≤ capacity; None for those of the chain.

    Returns:
        What was served, what waited, what bound, and the balances, per step. Exact: a step is cut
        wherever the rate of service changes, and requests are served in order of arrival.

    Raises:
        DataError: a number outside its range, a gap in the demand, or two stages of one name.
    """
    ops, size, step_s = _demand(demand_ops_per_s, io_size_bytes, step_s)
    names = _names(chain)
    _check_finite(chain)
    grant_laws = [_law_of_grant(grant, names) for grant in grants]
    starts = [stage.balance_at_start for stage in chain]
    if balances is not None:
        starts = list(balances)
        _check_balances(chain, starts)
    laws = [_law(stage) for stage in chain]
    return Replay(**_core.replay((ops, size, step_s), (laws, starts), carry, grant_laws))


def replay_candidates(
    demand_ops_per_s: ArrayLike,
    io_size_bytes: ArrayLike,
    *,
    step_s: float,
    chains: Sequence[Sequence[Stage]],
    carry: bool = True,
    allowed_steps: int | None = None,
) -> Trials:
    """
    Send one series of demand through many chains, much faster than one by one.

    It equals `replay` up to rounding whenever the I/O size does not change while requests wait.
    Where it does, requests of different sizes share the chain instead of queueing in order.

    Args:
        demand_ops_per_s: as for `replay`.
        io_size_bytes: as for `replay`.
        step_s: length of every step, > 0.
        chains: the candidates. All have the same number of stages, at most 8, and what a stage
            counts (`counts`, `unit_bytes`, `sequential_ratio`) is the same in all; a limit that a
            candidate does not have is a stage with baseline and burst of inf.
        carry: whether requests that cannot be served wait (True) or are lost (False).
        allowed_steps: a candidate with more throttled steps has failed: its `throttled_steps` is
            `allowed_steps + 1`, its other numbers are NaN. None follows all to the end.

    Raises:
        DataError: as for `replay`, or chains that differ in what they count.
    """
    ops, size, step_s = _demand(demand_ops_per_s, io_size_bytes, step_s)
    first = [_account(stage) for stage in chains[0]] if chains else []
    _check(len(first) <= _core.STAGES_MAX, f"a candidate chain has {len(first)} stages", f"at most {_core.STAGES_MAX}")
    # Candidates share most of their stages, so each is checked and passed on once.
    known: dict[int, _StageLaw] = {}
    laws = []
    for index, chain in enumerate(chains):
        for stage in chain:
            if id(stage) not in known:
                known[id(stage)] = (_account(stage), _law(stage), stage.balance_at_start)
        parts = [known[id(stage)] for stage in chain]
        _check(
            [account for account, _, _ in parts] == first,
            f"candidate chain {index} has other lengths or units than candidate chain 0",
            "of one length, and count the same units stage by stage",
        )
        laws.append(([law for _, law, _ in parts], [start for _, _, start in parts]))
    _check(
        allowed_steps is None or 0 <= allowed_steps < 2**32 - 1,
        f"{allowed_steps} throttled steps are allowed",
        "zero or more",
    )
    return Trials(**_core.replay_candidates((ops, size, step_s), laws, carry, allowed_steps))


def ceiling_curve(chain: Sequence[Stage], io_size_bytes: ArrayLike, *, burst: bool = False) -> Curve:
    """
    Return the rate a chain lets through at each I/O size, the stage that binds and the one that binds next.

    Args:
        chain: ceilings in series; at least one.
        io_size_bytes: mean sizes, shape (n,), > 0.
        burst: while credits last (True) or forever (False).

    Raises:
        DataError: an empty chain, or a size that is not above zero.
    """
    _check(len(chain) > 0, "a chain without any stage", "one stage or longer")
    sizes = np.ascontiguousarray(io_size_bytes, dtype=np.float64).reshape(-1)
    is_size = bool(np.all((sizes > 0) & (sizes < inf)))
    _check(is_size, "an I/O size is not above zero and finite", "above zero bytes")
    columns = _core.ceiling_curve([_law(stage) for stage in chain], sizes, burst)
    return Curve(io_size_bytes=sizes, **columns)


def knee_bytes(bytes_per_s: float, ops_per_s: float) -> float:
    """Return the I/O size in bytes below which the operations bind, and above which the bytes bind."""
    return _core.knee_bytes(_positive("a throughput", bytes_per_s), _positive("a rate", ops_per_s))


def _demand(ops_per_s: ArrayLike, io_size_bytes: ArrayLike, step_s: float) -> tuple[FloatArray, FloatArray, float]:
    ops = np.asarray(ops_per_s, dtype=np.float64, order="C")
    size = np.asarray(io_size_bytes, dtype=np.float64, order="C")
    if size.ndim == 0 and ops.ndim == 1:
        size = np.full(ops.shape, float(size))
    # The least of numbers with NaN is NaN. Nearly all demand is in order, and of a replay of few steps a look
    # for the fault would take most of the time.
    if (
        ops.ndim != 1
        or size.shape != ops.shape
        or (ops.size and not (ops.min() >= 0 and ops.max() < inf))
        or (ops.size and not (size.min() > 0 and size.max() < inf))
    ):
        _check_demand(ops, size)
    return ops, size, _positive("a step", step_s)


def _check_demand(ops: FloatArray, size: FloatArray) -> None:
    _check(ops.ndim == 1, f"demand has {ops.ndim} dimensions", "one series")
    gaps = int(np.count_nonzero(np.isnan(ops)))
    if gaps:
        raise DataError(
            f"demand was not measured in {gaps} of {ops.size} steps",
            "Fill the gaps, or replay the intervals between them one by one.",
        )
    _check(bool(np.all(ops >= 0) and np.all(ops < inf)), "demand is out of range", "finite, ≥ 0")
    _check(
        size.shape == ops.shape,
        f"{size.size} I/O sizes were given for {ops.size} steps",
        "one per step, or one for all",
    )
    asked = size[ops > 0]
    is_size = bool(np.all(asked > 0) and np.all(asked < inf))
    _check(is_size, "an I/O size is not known where operations are asked for", "above zero bytes")


def _check_balances(chain: Sequence[Stage], balances: Sequence[float]) -> None:
    count = len(balances)
    _check(count == len(chain), f"{count} balances for {len(chain)} stages", "one for each")
    for stage, balance in zip(chain, balances, strict=True):
        stage.check_balance(balance)


def _names(chain: Sequence[Stage]) -> list[str]:
    names = [stage.name for stage in chain]
    _check(len(set(names)) == len(names), f"two stages share a name in {names}", "unique")
    return names


def _check_finite(chain: Sequence[Stage]) -> None:
    for stage in chain:
        _check(
            isfinite(stage.burst), f"stage '{stage.name}' has no limit", "finite; leave out a stage that limits nothing"
        )


_Law = tuple[float, float, float, bool, float, float, float]
_StageLaw = tuple[tuple[str, float | None, float], _Law, float]


def _law(stage: Stage) -> _Law:
    unit = inf if stage.unit_bytes is None else stage.unit_bytes
    bucket = (stage.baseline, stage.burst, stage.capacity)
    return (*bucket, stage.counts == "bytes", unit, stage.sequential_ratio, stage.stripes)


def _law_of_grant(grant: Grant, names: list[str]) -> tuple[float, float, list[int]]:
    _check(grant.first_s >= 0, f"a grant comes first after {grant.first_s} s", "at zero or later")
    _check(grant.every_s > 0, f"a grant comes every {grant.every_s} s", "more than zero apart")
    missing = [name for name in grant.stages if name not in names]
    _check(not missing, f"a grant names {missing}, but the chain has {names}", "stages of the chain")
    return grant.first_s, grant.every_s, [names.index(name) for name in grant.stages]


def _account(stage: Stage) -> tuple[str, float | None, float]:
    return stage.counts, stage.unit_bytes, stage.sequential_ratio


def _positive(what: str, number: float) -> float:
    _check(0 < number < inf, f"{what} of {number}", "finite and more than zero")
    return float(number)


def _check(holds: bool, cause: str, must_be: str) -> None:
    if not holds:
        raise DataError(cause, f"It must be {must_be}.")
