"""
The arithmetic of credits: whether a bucket allows a level, by the rates that were served.

Theory. A baseline binds only at an empty bucket, a burst only while credits last. The served rates are
known, so the balance follows: credits arrive at the baseline, leave as they are served, and stop
arriving at the capacity. Start and capacity are unknown but bounded: a start between empty and full, a
capacity within the documented bounds. A baseline is excluded if the smallest bucket, empty at the start,
had credits at that time. A burst is excluded if the largest bucket, full, was too small for it. All
errors are counted in favour of the claim.
"""

from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.kernel import Stage, replay
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.units import format_bytes, format_duration, number

# An enforced rate is within 1.5 % of the published one; the root volume's I/O, which no database metric
# shows, and the averaging of the metrics add half a percent. Both bounds of the balance apply this error
# to what arrives and to what leaves.
RATE_ERROR = 0.02
# EC2 promises "at least" 30 minutes at the maximum: only twice the larger reading excludes a burst.
LEEWAY = 2.0
DAY_S = 86_400.0


class Credits(Enum):
    """The result of the arithmetic for one level at one documented number."""

    REFUTED = "refuted"
    """No documented bucket allows it."""
    FROM_START = "from the start"
    """A baseline that needs a bucket which was not full when the window began."""
    SHOWN = "shown"
    """Even a bucket that was full when the window began ran empty before."""
    SILENT = "silent"
    """Nothing to calculate: no bucket, or a burst that the credits allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditAccount:
    """The result for one row, with its reason."""

    credits: Credits
    text: str = ""
    """A sentence with numbers; empty where there is no result."""


SILENT = CreditAccount(credits=Credits.SILENT)


@dataclass(frozen=True, slots=True)
class CreditBook:
    """The balances that follow from one frame, each calculated once."""

    frame: Frame
    ceilings: tuple[Ceiling, ...]
    _emptiest: dict[Ceiling, FloatArray] = field(default_factory=dict)
    _fullest: dict[Ceiling, FloatArray] = field(default_factory=dict)

    def account_of(self, row: Ceiling, runs: IntArray) -> CreditAccount:
        """
        Return whether the credits allow that a row bound during some stretches.

        Args:
            row: a documented number with a bucket; others give SILENT.
            runs: first and one-past-last sample of each stretch, shape (k, 2).
        """
        rates = self.rates_of(row)
        if rates is None:
            return SILENT
        held = np.zeros(self.frame.size, dtype=bool)
        for start, end in runs:
            held[start:end] = True
        held &= np.isfinite(self._rate(row))
        if not held.any():
            return SILENT
        if row.bucket_phase == Phase.BURST:
            return self._burst_account(row, rates, runs)
        return self._baseline_account(row, rates, held)

    def could_bind(self, row: Ceiling | None) -> BoolArray | bool:
        """Return the samples in which a baseline's bucket may have been empty; True for others."""
        rates = None if row is None else self.rates_of(row)
        if row is None or rates is None or row.bucket_phase != Phase.BASELINE:
            return True
        return self._may_be_empty(row, rates)

    def rates_of(self, row: Ceiling) -> tuple[float, float] | None:
        """Return baseline and burst of the row's bucket; None without a bucket."""
        low, high = row.capacity_low, row.capacity_high
        if row.balance_metric is None or not low or not high:
            return None
        is_base = row.bucket_phase == Phase.BASELINE
        if low < high:
            # The bounds are (M - B) x 30 min and M x 30 min (limits/bucket.py), so B ÷ M is one minus
            # their ratio.
            rest = 1 - low / high
            both = (row.value, row.value / rest) if is_base else (row.value * rest, row.value)
        else:
            others = [
                c.value
                for c in self.ceilings
                if c.family == row.family and c.capacity_low == low and c.value != row.value
            ]
            if not others:
                return None
            both = (row.value, max(others)) if is_base else (min(others), row.value)
        return both if both[0] < both[1] else None

    def _baseline_account(self, row: Ceiling, rates: tuple[float, float], held: BoolArray) -> CreditAccount:
        width_s = self.frame.width_s
        possible = self._may_be_empty(row, rates)
        # More than half of the time is needed, so that one misread hour does not refute a limit.
        if width_s[held & possible].sum() < 0.5 * width_s[held].sum():
            least = self._emptiest[row][held & ~possible].min()
            return CreditAccount(credits=Credits.REFUTED, text=_refuted_text(row, least))
        fullest = self._balance(row, rates, self._fullest, is_fullest=True)
        spare = (rates[1] - rates[0]) * width_s
        if width_s[held & (fullest <= spare)].sum() >= 0.5 * width_s[held].sum():
            capacity = _amount(row, row.capacity_low or 0.0)
            text = f"earlier load was enough to empty a full bucket of {capacity}, the smallest documented"
            return CreditAccount(credits=Credits.SHOWN, text=text)
        text = (
            "credits can only have run out if the bucket was not full when the window began;"
            " the balance metric would show it"
        )
        return CreditAccount(credits=Credits.FROM_START, text=text)

    def _burst_account(self, row: Ceiling, rates: tuple[float, float], runs: IntArray) -> CreditAccount:
        """Return the account of a burst: a full bucket, and for instances one more for each whole day."""
        rate, width_s = self._rate(row), self.frame.width_s
        capacity = row.capacity_high or 0.0
        is_published = row.capacity_low == row.capacity_high
        refuted_s = total_s = 0.0
        worst = 0.0
        for start, end in runs:
            known = np.isfinite(rate[start:end])
            part, width = rate[start:end][known], width_s[start:end][known]
            seconds = float(width.sum())
            # In favour of the claim: as little spent and as much earned as the errors allow.
            spent = part * (1 - RATE_ERROR) - rates[0] * (1 + RATE_ERROR)
            need = float((spent * width).sum())
            # gp2's bucket has no grants and a published size. An instance bursts for 30 minutes at
            # least once in 24 hours (EC2 user guide), so every whole day may refill its bucket.
            grants = 0.0 if is_published else np.floor(seconds / DAY_S)
            have = capacity * (1.0 if is_published else LEEWAY * (1 + grants))
            total_s += seconds
            if need > have:
                refuted_s += seconds
                worst = max(worst, seconds)
        if refuted_s < 0.5 * total_s or refuted_s == 0:
            return SILENT
        lasts = capacity / (rates[1] - rates[0])
        text = (
            f"the level lasted {format_duration(worst)}, but a full bucket of {_amount(row, capacity)}"
            f" lasts {format_duration(lasts)} at this rate"
        )
        return CreditAccount(credits=Credits.REFUTED, text=text)

    def _may_be_empty(self, row: Ceiling, rates: tuple[float, float]) -> BoolArray:
        emptiest = self._balance(row, rates, self._emptiest, is_fullest=False)
        # Within one sample a full bucket may be drawn on first and filled up afterwards, or the
        # reverse: by no more than a sample of burst.
        possible: BoolArray = emptiest <= (rates[1] - rates[0]) * self.frame.width_s
        return possible

    def _rate(self, row: Ceiling) -> FloatArray:
        frame = self.frame
        return frame.bytes_per_s if row.dimension == Dimension.THROUGHPUT else frame.ops_per_s

    def _balance(
        self, row: Ceiling, rates: tuple[float, float], known: dict[Ceiling, FloatArray], *, is_fullest: bool
    ) -> FloatArray:
        """Return the highest or lowest possible balance of the smallest bucket at the end of each sample."""
        if row not in known:
            known[row] = self._replayed(row, rates, is_fullest=is_fullest)
        return known[row]

    def _replayed(self, row: Ceiling, rates: tuple[float, float], *, is_fullest: bool) -> FloatArray:
        frame, rate = self.frame, self._rate(row)
        capacity = row.capacity_low or 0.0
        # For the highest balance the served rates are taken as they were read, and the start is full.
        error = 0.0 if is_fullest else RATE_ERROR
        balance = capacity if is_fullest else 0.0
        found = np.zeros(frame.size)
        finite = rate[np.isfinite(rate)]
        # High enough that the replay never cuts what was served.
        most = 2 * max(float(finite.max(initial=0.0)), rates[1])
        for start, end in _uniform_stretches(frame, rate):
            if start > 0:
                ended = frame.time_s[start - 1] + frame.width_s[start - 1]
                hole_s = max(float(frame.time_s[start] - ended), 0.0)
                balance = self._after_hole(balance, rates, capacity, hole_s, is_fullest=is_fullest)
            width_s = float(frame.width_s[start])
            if not np.isfinite(rate[start]):
                span_s = width_s * (end - start)
                balance = self._after_hole(balance, rates, capacity, span_s, is_fullest=is_fullest)
                found[start:end] = balance
                continue
            stage = Stage(
                name=row.family.value,
                baseline=rates[0] * (1 - error),
                burst=most,
                capacity=capacity,
                start_balance=min(balance, capacity),
                counts="ops",
            )
            served = rate[start:end] * (1 + error)
            found[start:end] = replay(served, 1.0, step_s=width_s, chain=[stage], carry=False).balance[0]
            balance = float(found[end - 1])
        return found

    def _after_hole(
        self, balance: float, rates: tuple[float, float], capacity: float, seconds: float, *, is_fullest: bool
    ) -> float:
        """Return the balance after a hole: idle for the highest possible, at burst for the lowest."""
        if is_fullest:
            return min(balance + rates[0] * seconds, capacity)
        return max(balance - (rates[1] - rates[0]) * seconds, 0.0)


def _uniform_stretches(frame: Frame, rate: FloatArray) -> list[tuple[int, int]]:
    """Return stretches without a hole, of equally long samples that are all measured or all not."""
    if not frame.size:
        return []
    finite = np.isfinite(rate)
    follows = frame.time_s[1:] - frame.time_s[:-1] == frame.width_s[:-1]
    same = follows & (frame.width_s[1:] == frame.width_s[:-1]) & (finite[1:] == finite[:-1])
    edges = [0, *(np.flatnonzero(~same) + 1).tolist(), frame.size]
    return list(pairwise(edges))


def _refuted_text(row: Ceiling, least: float) -> str:
    capacity = row.capacity_low or 0.0
    return (
        f"it binds only at 0 % credits, but at least {_amount(row, least)} were left: the baseline"
        f" had earned that much, even if the bucket of {_amount(row, capacity)} began empty"
    )


def _amount(row: Ceiling, credits_: float) -> str:
    if row.dimension == Dimension.THROUGHPUT:
        return format_bytes(credits_)
    return f"{number(credits_, 2)} I/O credits"
