"""One plausible demand as a search replays it, with the quantities that need no replay."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, isfinite
from typing import Protocol

import numpy as np

from plimsoll.kernel import Stage, ceiling_curve
from plimsoll.model.series import BoolArray, FloatArray


class PathProtocol(Protocol):
    """A plausible demand; `demand.Path` is one."""

    @property
    def ops_per_s(self) -> FloatArray:
        """Return the requested operations per second, shape (n,)."""
        ...

    @property
    def is_carried(self) -> bool:
        """Return whether unserved requests wait."""
        ...


class WindowProtocol(Protocol):
    """The facts that all plausible demands of a window share; `demand.Demand` is one."""

    @property
    def step_s(self) -> float:
        """Return the length of a step."""
        ...

    @property
    def io_size_bytes(self) -> FloatArray:
        """Return the mean size of an operation, shape (n,)."""
        ...

    @property
    def is_measured(self) -> BoolArray:
        """Return which steps count, shape (n,)."""
        ...

    @property
    def balance_at_start(self) -> Mapping[str, float]:
        """Return the share 0–1 of a bucket's credits at the first step, by the stage's name."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class StepDemand:
    """A demand, by the step."""

    ops_per_s: FloatArray
    """Finite, ≥ 0, shape (n,)."""
    io_size_bytes: FloatArray
    """> 0 wherever something is asked for, shape (n,)."""
    step_s: float
    is_carried: bool
    """Whether unserved requests wait (True) or are dropped (False)."""
    is_measured: BoolArray
    """Which steps count, shape (n,); throttling in the others is ignored."""
    balance_at_start: Mapping[str, float] = field(default_factory=dict)
    """Share 0–1 of a bucket's credits at the first step, by the stage's name; full where missing."""

    def __post_init__(self) -> None:
        """Check that the arrays have one shape."""
        assert self.ops_per_s.shape == self.io_size_bytes.shape == self.is_measured.shape

    @cached_property
    def gap_count(self) -> int:
        """Return the number of steps that do not count."""
        return int(self.is_measured.size - np.count_nonzero(self.is_measured))

    def allowed_steps(self, allowed_ratio: float) -> int:
        """Return the most steps that may be spent at a ceiling, of those that count."""
        counted = self.is_measured.size - self.gap_count
        # The float of a decimal share may be slightly too small: 1 % of 20,100 steps must be 201.
        return floor(allowed_ratio * counted + 1e-9)

    def started(self, chain: Iterable[Stage]) -> tuple[Stage, ...]:
        """Return a chain with the balances at the window's start, without stages of infinite rate."""
        return tuple(self._started(stage) for stage in chain if isfinite(stage.burst))

    def all_started(self, chains: Iterable[tuple[Stage, ...]]) -> list[tuple[Stage, ...]]:
        """Return chains of one shape with those balances; a stage that several share is made once."""
        if not self.balance_at_start:
            return list(chains)
        made: dict[int, Stage] = {}
        found = []
        for chain in chains:
            for stage in chain:
                if id(stage) not in made:
                    made[id(stage)] = self._started(stage)
            found.append(tuple(made[id(stage)] for stage in chain))
        return found

    def _started(self, stage: Stage) -> Stage:
        ratio = self.balance_at_start.get(stage.name)
        if ratio is None or not stage.capacity or stage.start_balance is not None:
            return stage
        return replace(stage, start_balance=stage.capacity * ratio)

    def rates(self, like: Stage) -> FloatArray:
        """Return the demand of every step on a stage, credits per second as the stage counts, shape (n,)."""
        one = replace(like, baseline=1.0, burst=1.0, capacity=0.0, start_balance=None, stripes=1)
        found = np.zeros(self.ops_per_s.shape)
        is_asked = self.ops_per_s > 0
        # The kernel computes the operations that one credit per second pays for.
        per_credit = ceiling_curve([one], self.io_size_bytes[is_asked]).ops_per_s
        found[is_asked] = self.ops_per_s[is_asked] / per_credit
        return found


def asked_of(window: WindowProtocol, path: PathProtocol) -> StepDemand:
    """Return a plausible demand of a window."""
    return StepDemand(
        ops_per_s=path.ops_per_s,
        io_size_bytes=window.io_size_bytes,
        step_s=window.step_s,
        is_carried=path.is_carried,
        is_measured=window.is_measured,
        balance_at_start=window.balance_at_start,
    )
