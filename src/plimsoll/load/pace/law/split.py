"""
Split a measured rate into what others take and what the batch causes.

Theory. In an interval, total = others + ratio × batch, with the batch's bytes known and the total measured. One
equation has two unknowns, so both are tracked with their uncertainty (a Kalman filter with two states that walk
at random): while the batch pauses or changes its rate, they separate; while it is steady, a change goes to the
one that is less certain. Before the batch begins the total *is* the others, and that anchors them.

Rule: the ratio stays within its bounds, whatever was measured.

Source:
    R. E. Kalman, A New Approach to Linear Filtering and Prediction Problems (1960); the write-amplification
    model of CockroachDB's disk bandwidth limiter has the same form.
"""

from dataclasses import dataclass, replace

# The rate of others changes by about a tenth of itself within ten seconds; the ratio, which depends on the table
# and its indexes, changes by a tenth within some minutes (checkpoints, full-page images). Judgements.
_OTHERS_WALK_RATIO = 0.03
_RATIO_WALK_RATIO = 0.006
# A walk needs a start: a rate below this (bytes or operations a second) does not fluctuate in proportion.
_RATE_FLOOR_RATIO = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioBounds:
    """The range of a ratio, and the value assumed before it was measured."""

    low: float
    start: float
    high: float


# Loads cost 3 to 5 bytes at the device for each byte of input: heap, WAL, full-page images, indexes, checkpoints.
# The start is the upper end, so that the first seconds are rather too slow. A byte is written at least once to
# some file, and more than 20 times only with many indexes on random keys.
BYTES_BOUNDS = RatioBounds(low=0.5, start=5.0, high=20.0)
# The same in operations, each between 8 KiB (a page of PostgreSQL) and 256 KiB (what EBS counts as one).
OPS_BOUNDS = RatioBounds(low=0.5 / 262_144, start=5.0 / 32_768, high=20.0 / 8_192)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSplit:
    """What is known of others and of the ratio: means and covariance."""

    bounds: RatioBounds
    others_per_s: float | None = None
    """Mean rate of everybody else, ≥ 0; None before the first measurement."""
    ratio: float
    """Bytes or operations at the device for each byte of the batch."""
    others_var: float = 0.0
    covariance: float = 0.0
    ratio_var: float
    is_learned: bool = False
    """Whether the batch ran in any measured interval."""

    @property
    def ratio_sd(self) -> float:
        """Return the standard deviation of the ratio."""
        return float(max(self.ratio_var, 0.0) ** 0.5)


def split_at_start(bounds: RatioBounds) -> RateSplit:
    """Return what is known before any measurement: the ratio is anywhere within its bounds."""
    # Half of the start as standard deviation: the documented range of 3 to 5 is likely, 1 or 10 possible.
    return RateSplit(bounds=bounds, ratio=bounds.start, ratio_var=(bounds.start / 2) ** 2)


def split_after(
    split: RateSplit, *, total_per_s: float, batch_bytes_per_s: float, length_s: float, noise_ratio: float
) -> RateSplit:
    """
    Return what is known after one more interval.

    Args:
        split: before.
        total_per_s: bytes/s or ops/s at the device, all users together, ≥ 0.
        batch_bytes_per_s: what the batch sent in the same interval, ≥ 0.
        length_s: since the interval before, > 0.
        noise_ratio: standard deviation of the measurement, as a ratio of the total that is expected, > 0.

    Returns:
        The split with `others_per_s` ≥ 0 and the ratio within its bounds.
    """
    if split.others_per_s is None:
        split = _first(split, total_per_s, batch_bytes_per_s)
    assert split.others_per_s is not None
    floor = _RATE_FLOOR_RATIO * total_per_s + 1e-9
    others_var = split.others_var + (_OTHERS_WALK_RATIO * max(split.others_per_s, floor)) ** 2 * length_s
    # A ratio that is not exercised is not forgotten.
    walk = _RATIO_WALK_RATIO * split.ratio if batch_bytes_per_s > 0 else 0.0
    ratio_var = split.ratio_var + walk**2 * length_s
    covariance = split.covariance
    expected = split.others_per_s + split.ratio * batch_bytes_per_s
    # In proportion to what is expected, not to what was measured: otherwise low measurements would count more than
    # high ones, and the ratio would be too small.
    noise = (noise_ratio * max(expected, floor)) ** 2
    miss = total_per_s - expected
    others_gain = others_var + covariance * batch_bytes_per_s
    ratio_gain = covariance + ratio_var * batch_bytes_per_s
    power = others_gain + ratio_gain * batch_bytes_per_s + noise
    if power <= 0:
        return split
    low, high = split.bounds.low, split.bounds.high
    return replace(
        split,
        others_per_s=max(split.others_per_s + others_gain / power * miss, 0.0),
        ratio=min(max(split.ratio + ratio_gain / power * miss, low), high),
        others_var=max(others_var - others_gain**2 / power, 0.0),
        covariance=covariance - others_gain * ratio_gain / power,
        ratio_var=max(ratio_var - ratio_gain**2 / power, 0.0),
        is_learned=split.is_learned or batch_bytes_per_s > 0,
    )


def _first(split: RateSplit, total_per_s: float, batch_bytes_per_s: float) -> RateSplit:
    """Take the first total as that of others, less what the batch is assumed to cause."""
    others = max(total_per_s - split.ratio * batch_bytes_per_s, 0.0)
    # Uncertain by as much as the assumption about the batch, and by a fifth of itself.
    var = split.ratio_var * batch_bytes_per_s**2 + (0.2 * total_per_s) ** 2
    return replace(split, others_per_s=others, others_var=var)
