"""
The rule that turns replays into *lifts*, *does not* or *unsure*.

*Lifts* needs nearly all plausible demands to pass, *does not* nearly all to fail. The first is advice to
spend money, the second to drop an option. The second must be right more often, because a dropped option
is not looked at again.
"""

from dataclasses import dataclass

from plimsoll.model.plan import Judgement

# *Lifts* must be right in 95 of 100 cases and *does not* in 98 of 100, so these are the least chances.
# Chances are calibrated (bench/plan.py prints how often each tenth came true).
LIFTS_FROM = 0.95
DOES_NOT_FROM = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class PassShare:
    """Chances 0–1 that a demand passes."""

    strict: float
    """With the smallest buckets."""
    nearly: float
    """Chance 0–1 that a demand does not fail clearly, with the most credits and the error of a replay."""


def verdict_of(share: PassShare, *, is_lower_bound: bool) -> Judgement:
    """
    Return the judgement of a change.

    Args:
        share: chance of demands that are at a ceiling for less than the allowed time.
        is_lower_bound: only a lower bound of demand is known; then it never *lifts*.
    """
    # First: if a lower bound of demand fails, a higher demand fails too.
    if share.nearly <= 1 - DOES_NOT_FROM:
        return Judgement.DOES_NOT
    if share.strict >= LIFTS_FROM and not is_lower_bound:
        return Judgement.LIFTS
    return Judgement.UNSURE
