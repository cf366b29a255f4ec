"""The terms of a pace: reserve, time left, age of metrics, steps."""

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.units import format_ratio

# EC2 documents that a full instance bucket pays for 30 minutes at the maximum (EBS optimized instances).
# Spread over that time, a full bucket allows the burst rate, and a half-empty one half of the way to it.
HORIZON_S = 1800.0
# A fifth of the credits pays for six minutes at the maximum: an autovacuum or a failover still finds some.
RESERVE_RATIO = 0.2
# Without metrics nothing is known of the others. Half of what refilled credits sustain is a judgement.
BASELINE_SHARE_RATIO = 0.5
# CloudWatch's points are 1 to 3 minutes late (AWS: metrics are available within minutes); after five minutes
# without a new complete point something is wrong.
LAG_S = 180.0
STALE_S = 300.0
# Others are known as a mean. Their rate varies within it, and requests wait when the sum reaches the ceiling,
# so a tenth of the ceiling stays free. A judgement: at 90 % a queue with random arrivals is still short.
HEADROOM_RATIO = 0.1
# Feedback is minutes late, so a wrong estimate must not double the load at once: at 10 % a second the rate
# doubles in seven seconds and no faster. Down it goes at once.
STEP_RATIO = 0.1


class PaceTerms(Struct, frozen=True, kw_only=True):
    """What the user grants to a batch."""

    reserve_ratio: float = RESERVE_RATIO
    """Credits that stay in every bucket, 0–1."""
    horizon_s: float = HORIZON_S
    """Time over which credits above the reserve are spent if there is no deadline and no known end, > 0."""
    deadline_s: float | None = None
    """Epoch seconds by which the batch should end; credits are spent evenly until then."""
    baseline_share_ratio: float = BASELINE_SHARE_RATIO
    """Share of each baseline that is granted if metrics are missing or stale, 0–1."""
    lag_s: float = LAG_S
    """How late metrics may be, > 0. Credits are never spent in less time than this."""
    stale_s: float = STALE_S
    """Age of the newest complete sample from which it no longer counts, > 0."""
    headroom_ratio: float = HEADROOM_RATIO
    """Share of each ceiling's highest rate that stays free, 0–1."""
    step_ratio: float = STEP_RATIO
    """Largest rise of the allowance in a second, > 0; a fall has no limit."""


def check_terms(terms: PaceTerms) -> PaceTerms:
    """
    Return the terms if they are possible.

    Raises:
        UsageError: a ratio outside 0–1, or a time that is not above zero.
    """
    if not 0 <= terms.reserve_ratio < 1:
        raise UsageError(
            f"a reserve of {format_ratio(terms.reserve_ratio)} is not possible",
            "Give 0 or more, and less than 100 percent.",
        )
    if not 0 < terms.baseline_share_ratio <= 1:
        raise UsageError(
            f"a baseline share of {format_ratio(terms.baseline_share_ratio)} is not possible",
            "Give more than 0, and at most 100 percent.",
        )
    if not 0 <= terms.headroom_ratio < 1:
        raise UsageError(
            f"a headroom of {format_ratio(terms.headroom_ratio)} is not possible",
            "Give 0 or more, and less than 100 percent.",
        )
    if min(terms.horizon_s, terms.lag_s, terms.stale_s, terms.step_ratio) <= 0:
        raise UsageError("a time or a step of zero is not possible", "Give times and steps above zero.")
    return terms
