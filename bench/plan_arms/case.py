"""Hold one incident of the plan's benchmark: what was observed, and the outcome on other limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plimsoll.kernel import Stage
from plimsoll.model.snapshot import Snapshot

SCALES = (1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold what there is to judge in one incident."""

    seed: int
    family: str
    snapshot: Snapshot
    chain_at: Callable[[float], tuple[Stage, ...]]
    """The documented limits, multiplied: base, burst and capacity."""
    ratio_at: dict[float, float]
    """Share 0–1 of the measured time at a ceiling, by scale, of the same load run again."""
    measured_s: float
    loop: str
    """`open`, `closed` or `mixed`: the kind of load at the ceiling."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Hold one incident that can be run again on the limits of any arrangement."""

    seed: int
    family: str
    snapshot: Snapshot
    loop: str
    ratio_on: Callable[[Sequence[Stage], bool, bool], float]
    """Share 0–1 of the measured time at a ceiling with the documented limits of an arrangement, if it
    keeps the class, and if it keeps the storage: what is kept keeps what was enforced."""
