"""A limit's number for this instance, with its origin."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.family import Dimension, Family
from plimsoll.model.metric import Metric

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


class Origin(Struct, frozen=True, kw_only=True):
    """Where a number comes from."""

    source: str
    """Document or data set, short enough for a footnote."""
    read_on: str
    """ISO date on which that source was read or published."""
    valid_from: str | None = None
    """ISO date from which it was documented; None if not known to have differed."""
    valid_to: str | None = None
    """ISO date until which it was documented; None for what is documented now."""


class Ceiling(Struct, frozen=True, kw_only=True):
    """One number that bounds this instance."""

    family: Family
    phase: Phase
    dimension: Dimension
    value: float
    """bytes/s, ops/s, bytes, count or ratio: as `unit` says."""
    unit: str
    """`bytes/s`, `ops/s`, `bytes`, `count`, `ratio`, `credits`"""
    origin: Origin
    former_phase: Phase | None = None
    """For `legacy`: which number it was (baseline, burst or fixed)."""
    balance_metric: Metric | None = None
    """The metric of the remaining credits; None where no bucket exists."""
    capacity_low: float | None = None
    """Smallest capacity (bytes or ops) compatible with what is documented; None without a bucket."""
    capacity_high: float | None = None
    """Largest such capacity; equal to `capacity_low` where AWS publishes it (gp2)."""
    note: str = ""
    """A remark for the reader about this number."""

    @property
    def bucket_phase(self) -> Phase:
        """Return baseline, burst or fixed, also for legacy limits."""
        return self.former_phase or self.phase
