"""
The rule that turns replays into *lifts*, *does not* or *unsure*.

*Lifts* needs nearly all plausible demands to pass, *does not* nearly all to fail: the first is an
advice to spend money, the second to leave something out, and the second is asked to be right more
often because nobody will look at it again.
"""

from dataclasses import dataclass

from plimsoll.model.plan import Judgement

# Lifts is asked to be right in 95 of 100 cases and does not in 98 of 100, so each is said from that
# belief on. Beliefs are calibrated (bench/plan.py prints how often each tenth came true).
LIFTS_FROM = 0.95
DOES_NOT_FROM = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class PassShare:
    """Belief 0–1 in demands that pass."""

    strict: float
    """With buckets at their least."""
    nearly: float
    """Belief 0–1 in demands that do not fail clearly: with the most credits and an error of replay."""


def verdict_of(share: PassShare, *, is_lower_bound: bool) -> Judgement:
    """
    Return what is said of a change.

    Args:
        share: belief in demands under which it is held back for less than what is allowed.
        is_lower_bound: only a lower bound of demand is known; then it never *lifts*.
    """
    # Asked first: a lower bound of demand that fails already is proof enough that more would fail.
    if share.nearly <= 1 - DOES_NOT_FROM:
        return Judgement.DOES_NOT
    if share.strict >= LIFTS_FROM and not is_lower_bound:
        return Judgement.LIFTS
    return Judgement.UNSURE
