"""
What a batch needs, and whether a reading of the database grants it.

Rule 1: what is not measured is never a yes; the answer says what is missing.
Rule 2: nothing here waits or asks; plimsoll has the law.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plimsoll.model.pace import PaceAllowance

GIB = 2.0**30


@dataclass(frozen=True, kw_only=True)
class BudgetNeed:
    """Conditions; all that are given must hold."""

    rate_bytes_per_s: float | None = None
    """Bytes of input per second that a batch may load."""
    balance_ratio: float | None = None
    """Credits in every bucket, 0–1."""
    batch_gib: float | None = None
    """Size of the input."""
    within_s: float | None = None
    """Time in which the whole batch should be loaded."""
    reserve_ratio: float = 0.2
    """Credits that a batch leaves in every bucket, 0–1."""

    def __post_init__(self) -> None:
        """Refuse what cannot be judged."""
        if (self.batch_gib is None) != (self.within_s is None):
            raise ValueError("batch_gib and within belong together: give both, or neither")
        if self.rate_bytes_per_s is None and self.balance_ratio is None and self.batch_gib is None:
            raise ValueError("nothing to wait for: give rate_bytes_per_s, balance_ratio, or batch_gib with within")
        if self.balance_ratio is not None and not 0 < self.balance_ratio <= 1:
            raise ValueError("balance_ratio must be above 0 and at most 1")
        if not 0 <= self.reserve_ratio < 1:
            raise ValueError("reserve_ratio must be 0 or more and less than 1")
        for name in ("rate_bytes_per_s", "batch_gib", "within_s"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be above 0")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def needed_bytes_per_s(self) -> float | None:
        """Return the rate that a batch needs; None if only credits count."""
        rates = [self.rate_bytes_per_s] if self.rate_bytes_per_s is not None else []
        if self.batch_gib is not None and self.within_s is not None:
            rates.append(self.batch_gib * GIB / self.within_s)
        return max(rates) if rates else None


@dataclass(frozen=True, kw_only=True)
class BudgetAnswer:
    """Whether a batch may go."""

    may_go: bool
    text: str
    """A clause with numbers: why, or why not."""
    bytes_per_s: float | None = None
    """What a batch may load now; None if not measured."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for XCom and for events."""
        return asdict(self)


def judge(snapshot: Any, need: BudgetNeed, now_s: float | None) -> BudgetAnswer:
    """
    Return whether a batch may go.

    Args:
        snapshot: of the last half hour.
        need: conditions.
        now_s: epoch seconds; None for a file, whose end is now.

    Raises:
        plimsoll.PlimsollError: no storage limit of the instance is known.
    """
    import plimsoll

    allowance = plimsoll.allowance(snapshot, plimsoll.PaceTerms(reserve_ratio=need.reserve_ratio), now_s=now_s)
    missing = _missing(allowance)
    if missing:
        return BudgetAnswer(may_go=False, text=missing)
    reasons = []
    may_go = True
    if need.balance_ratio is not None:
        enough, text = _of_credits(allowance, need.balance_ratio)
        may_go, reasons = may_go and enough, [text]
    needed = need.needed_bytes_per_s
    rate = allowance.unstepped_bytes_per_s
    if needed is not None:
        if need.within_s is not None:
            spread = plimsoll.PaceTerms(reserve_ratio=need.reserve_ratio, deadline_s=allowance.time_s + need.within_s)
            rate = plimsoll.allowance(snapshot, spread, now_s=now_s).unstepped_bytes_per_s
        may_go = may_go and rate >= needed
        reasons.append(f"a batch may load {rate / 1e6:,.1f} MB/s of input, {needed / 1e6:,.1f} MB/s are needed")
    return BudgetAnswer(may_go=may_go, text="; ".join(reasons), bytes_per_s=rate)


def _missing(allowance: "PaceAllowance") -> str:
    """Return what was not measured and is needed for a yes; empty if nothing is missing."""
    if allowance.basis.value != "measured":
        return _first(allowance.notes, "metrics are missing or old")
    for one in allowance.ceilings:
        has_bucket = one.burst_per_s > one.baseline_per_s
        if one.others_per_s is None or (has_bucket and one.balance_ratio is None):
            fallback = f"not all metrics of {one.family.value} were measured"
            return _first([note for note in allowance.notes if "not measured" in note], fallback)
    return ""


def _first(notes: Any, fallback: str) -> str:
    # The part after the semicolon is for a batch that runs in spite of it.
    return str(next(iter(notes), fallback)).split(";", 1)[0]


def _of_credits(allowance: "PaceAllowance", wanted_ratio: float) -> tuple[bool, str]:
    known = [one for one in allowance.ceilings if one.balance_ratio is not None]
    if not known:
        return True, "no limit of this storage has credits"
    lowest = min(known, key=lambda one: one.balance_ratio or 0.0)
    ratio = lowest.balance_ratio or 0.0
    name = lowest.family.value.replace("_", " ")
    text = f"{name} has {ratio:.0%} of its credits, {wanted_ratio:.0%} are needed"
    return ratio >= wanted_ratio, text
