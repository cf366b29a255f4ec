"""A limit's number for this instance, with its origin."""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.family import Dimension, Family
from plimsoll.model.metric import BalanceMetric
from plimsoll.model.written import Inline, Number, OneOf

__all__ = ["Ceiling", "Dimension", "Family", "Origin", "Phase"]


class Phase(StrEnum):
    """The number of the limit."""

    BASELINE = "baseline"
    """The rate that refilled credits sustain."""
    BURST = "burst"
    """The rate while credits last."""
    FIXED = "fixed"
    """A limit without credits."""
    LEGACY = "legacy"
    """A number that AWS published for this class in the past, and that old instances keep."""


FormerPhase = Annotated[Phase, OneOf(("baseline", "burst", "fixed"))]
"""Which number of a limit a legacy one was."""
Unit = Annotated[str, OneOf(("bytes/s", "ops/s", "bytes", "count", "ratio", "credits"))]
"""Unit of a ceiling."""


class Origin(Struct, frozen=True, kw_only=True):
    """Where a number comes from."""

    source: str
    """Document or data set the number was taken from."""
    read_on: str
    """ISO date on which that source was read or published."""
    valid_from: str | None = None
    """ISO date from which the number was documented; null where it is not known to have differed."""
    valid_to: str | None = None
    """ISO date until which it was documented; null for what is documented now."""


class Ceiling(Struct, frozen=True, kw_only=True):
    """One number that bounds this instance."""

    family: Family
    """The rule it comes from."""
    phase: Phase
    """Which number of the limit it is; `legacy` is one that was documented for this class in the past."""
    dimension: Dimension
    """What it bounds: bytes per second, operations per second, or an amount."""
    value: Number
    """The number, in `unit`; null where it is not known."""
    unit: Unit
    """Unit of `value`."""
    origin: Inline[Origin]
    """Where the number comes from."""
    former_phase: FormerPhase | None = None
    """For `legacy`: which number of the limit it was; null otherwise."""
    balance_metric: BalanceMetric | None = None
    """Our name of the metric of the remaining credits; null without credits."""
    capacity_low: float | None = None
    """Smallest capacity of its bucket (bytes or operations) that agrees with the documentation;
    null without a bucket."""
    capacity_high: float | None = None
    """Largest such capacity; equal to `capacity_low` where it is published."""
    note: str = ""
    """A remark about this number; may be empty."""

    @property
    def bucket_phase(self) -> Phase:
        """Return baseline, burst or fixed, also for legacy limits."""
        return self.former_phase or self.phase
