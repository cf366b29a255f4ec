"""
How much of its allowance a batch may use while commits of others take longer than before it.

Rule 1: no rate is computed here, only a share of one that is known. So the batch never gets more than its allowance.
Rule 2: the share is found by what commits do, and not by a model of the disk: it also holds where the log, a lock or the
        processors are what others wait for.
"""

from collections.abc import Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.model.pace import PaceAllowance
from plimsoll.units import format_ratio, number

# A judgement: fewer than the one in twenty that may be slower if the 95th percentile is to hold, because others also read
# and compute beside the load. One run each of bench/pace.py: with 5 % their 95th percentile was 1.35 times that alone and
# the load took 136 s, with 3 % 1.01 and 513 s, with 2.5 % 1.08 and 449 s.
SLOW_MOST_RATIO = 0.03
_BEFORE_RATIO = 0.95
# After a slow commit the share falls by so much. A judgement: a fifth halves the rate after three slow commits in a row,
# which at `PROBES_PER_S` takes less than a second.
_FALL_RATIO = 0.2
# Where commits are slow whatever the batch does, it would end never. A twentieth goes on.
SHARE_LEAST = 0.05

PROBES_PER_S = 20
"""Commits that are made for measuring: each is about 100 bytes of WAL (104 in PostgreSQL 18) and a flush."""

PROBES_BEFORE = 100
"""Commits before the batch begins: five of them are above the 95th percentile."""

RATIO_LEAST = 1.05
"""A smaller ratio is within the error of `PROBES_BEFORE` commits."""

# Whoever accepts more watches nothing.
_RATIO_MOST = 100.0


class CommitsSeen(Struct, frozen=True, kw_only=True):
    """How long commits took while a batch ran."""

    slower_ratio: float
    """How many times as long the 95th percentile was allowed to take."""
    before_s: float
    """95th percentile before the batch, seconds."""
    count: int
    """Commits while it ran; one that lasts counts once for each that others would begin meanwhile."""
    slow_count: int
    """Of these, longer than `slower_ratio` times `before_s`."""

    def sentence(self) -> str:
        """Return whether commits were as fast as wanted, in words."""
        wanted = f"{number(self.slower_ratio, 3)} times the 95th percentile before the load"
        if not self.count:
            return f"no commit was measured: whether any took longer than {wanted} is unknown"
        slow_ratio, most_ratio = self.slow_count / self.count, 1 - _BEFORE_RATIO
        limit_ms = number(self.slower_ratio * self.before_s * 1000, 2)
        return (
            f"{format_ratio(slow_ratio)} of commits took longer than {limit_ms} ms, {wanted}: the limit of"
            f" {format_ratio(most_ratio)} was {'kept' if slow_ratio <= most_ratio else 'not kept'}"
        )


class CommitShare:
    """The share of a batch, commit by commit."""

    def __init__(self, slower_ratio: float, before_s: Sequence[float]) -> None:
        """
        Begin with all of the allowance.

        Args:
            slower_ratio: how many times as long the 95th percentile may take, ≥ `RATIO_LEAST`.
            before_s: seconds of commits before the batch, at least one.
        """
        ordered = sorted(before_s)
        self.before_s = ordered[ceil(_BEFORE_RATIO * len(ordered)) - 1]
        """95th percentile before the batch, seconds."""
        self._slower_ratio = slower_ratio
        self._limit_s = slower_ratio * self.before_s
        self._count = self._slow_count = 0
        self.share = 1.0

    def is_slow(self, commit_s: float) -> bool:
        """Return whether a commit takes longer than the 95th percentile may."""
        return commit_s > self._limit_s

    @property
    def seen(self) -> CommitsSeen:
        """Return what was observed so far."""
        return CommitsSeen(
            slower_ratio=self._slower_ratio, before_s=self.before_s, count=self._count, slow_count=self._slow_count
        )

    def observe(self, commit_s: float) -> float:
        """
        Take the seconds of a commit, and return the share from now on, `SHARE_LEAST` to 1.

        A slow commit lowers the share, and others raise it by as much less as they are more numerous. Steps add
        up to nothing exactly if `SLOW_MOST_RATIO` of the commits are slow (stochastic approximation of a quantile:
        H. Robbins and S. Monro, 1951).
        """
        self._count += 1
        if self.is_slow(commit_s):
            self._slow_count += 1
            self.share *= 1 - _FALL_RATIO
        else:
            self.share *= (1 - _FALL_RATIO) ** (-SLOW_MOST_RATIO / (1 - SLOW_MOST_RATIO))
        self.share = min(max(self.share, SHARE_LEAST), 1.0)
        return self.share


def check_slower_ratio(ratio: float) -> float:
    """
    Return the ratio if it is possible.

    Raises:
        UsageError: it is less than `RATIO_LEAST`, or above `_RATIO_MOST`.
    """
    if not RATIO_LEAST <= ratio <= _RATIO_MOST:
        raise UsageError(
            f"a commit latency of {ratio:g} times the usual one is not possible",
            f"Give {RATIO_LEAST:g} to {_RATIO_MOST:g}, for example 1.2.",
        )
    return ratio


def shared(allowance: PaceAllowance, share: float) -> PaceAllowance:
    """Return an allowance of which a batch gets only this share, > 0 and ≤ 1, and which says so."""
    if share == 1:
        return allowance
    note = f"commits take longer than they may; the batch gets {format_ratio(share)} of its allowance"
    return replace(allowance, bytes_per_s=share * allowance.bytes_per_s, notes=(*allowance.notes, note))
