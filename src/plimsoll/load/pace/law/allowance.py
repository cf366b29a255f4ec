"""
How much a chain of ceilings allows: baseline + (balance − reserve) ÷ time left, less what others take.

Rule 1: no formula of a bucket is written here; the kernel serves as much demand as the bucket lets through.
Rule 2: what is not known is never taken as free: no balance means no credits, no rate of others means a share
        of the baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from plimsoll.kernel import Stage, replay
from plimsoll.load.pace.law.terms import PaceTerms

# More than any storage serves; the replay cuts it to what the bucket lets through.
_EVERYTHING_PER_S = 1e13


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAllowance:
    """What one stage lets through over the time left; rates of all stripes together."""

    stage: Stage
    balance_ratio: float | None
    """Credits now, 0–1; None without a bucket, or if not known."""
    total_per_s: float
    """Bytes/s or ops/s, as the stage counts, for everybody together."""
    most_per_s: float
    """The highest rate at this moment less the headroom, whatever the credits pay for."""


def has_bucket(stage: Stage) -> bool:
    """Return whether credits change the rate of a stage."""
    return stage.capacity > 0 and stage.burst > stage.baseline


def served_per_s(stage: Stage, *, spendable: float, io_size_bytes: float, length_s: float) -> float:
    """
    Return the mean rate that a stage lets through, in what it counts, all stripes together.

    Args:
        stage: any.
        spendable: credits of one stripe that may be spent, 0 ≤ x ≤ capacity.
        io_size_bytes: mean size of an operation, > 0.
        length_s: time over which they are spent, > 0.
    """
    alone = replace(stage, start_balance=min(max(spendable, 0.0), stage.capacity))
    demand = _EVERYTHING_PER_S / io_size_bytes
    served = replay([demand], io_size_bytes, step_s=length_s, chain=[alone])
    amount = served.served_bytes if stage.counts == "bytes" else served.served_ops
    return float(amount[0]) / length_s


def stage_allowance(
    stage: Stage, balance_ratio: float | None, *, terms: PaceTerms, io_size_bytes: float, time_left_s: float
) -> StageAllowance:
    """
    Return what everybody together may take of one stage.

    Below the reserve, the missing credits are earned back over the time left, so the rate is below the
    baseline.
    """
    baseline = served_per_s(stage, spendable=0.0, io_size_bytes=io_size_bytes, length_s=time_left_s)
    highest = highest_per_s(stage, balance_ratio, io_size_bytes=io_size_bytes)
    most = (1 - terms.headroom_ratio) * highest
    if not has_bucket(stage):
        return StageAllowance(stage=stage, balance_ratio=None, total_per_s=most, most_per_s=most)
    if balance_ratio is None:
        return StageAllowance(stage=stage, balance_ratio=None, total_per_s=min(baseline, most), most_per_s=most)
    above = (balance_ratio - terms.reserve_ratio) * stage.capacity
    if above >= 0:
        total = served_per_s(stage, spendable=above, io_size_bytes=io_size_bytes, length_s=time_left_s)
    else:
        # The bucket must keep so much of what arrives. A credit buys as much as it does at the baseline.
        missing = min(-above / (stage.baseline * time_left_s), 1.0) if stage.baseline > 0 else 1.0
        total = baseline * (1 - missing)
    return StageAllowance(stage=stage, balance_ratio=balance_ratio, total_per_s=min(total, most), most_per_s=most)


def highest_per_s(stage: Stage, balance_ratio: float | None, *, io_size_bytes: float) -> float:
    """Return the highest rate at this moment: burst while credits are known to be left, else the baseline."""
    has_credits = not has_bucket(stage) or (balance_ratio or 0.0) > 0
    ops = stage.ceiling_ops_per_s(io_size_bytes, burst=has_credits)
    return ops * io_size_bytes if stage.counts == "bytes" else ops


def baseline_share_per_s(stage: Stage, *, share_ratio: float, io_size_bytes: float) -> float:
    """Return the share of a stage's baseline that is granted without metrics."""
    ops = stage.ceiling_ops_per_s(io_size_bytes, burst=False)
    return share_ratio * (ops * io_size_bytes if stage.counts == "bytes" else ops)


def time_to_finish_s(
    chain: Sequence[Stage],
    balances: Mapping[str, float],
    *,
    terms: PaceTerms,
    io_size_bytes: float,
    work_bytes: float,
    work_ops: float,
    others_bytes_per_s: float,
    others_ops_per_s: float,
    longest_s: float,
) -> float | None:
    """
    Return the shortest time in which work at the device ends while others go on and the reserve stays.

    Args:
        chain: ceilings in series, at least one.
        balances: credits left, 0–1, by stage; a stage that is absent has none.
        terms: reserve and headroom.
        io_size_bytes: mean size of an operation, > 0.
        work_bytes: left to do at the device.
        work_ops: the same in operations.
        others_bytes_per_s: taken by everybody else.
        others_ops_per_s: the same in operations.
        longest_s: where to stop looking, > lag.

    Returns:
        Seconds, at least `terms.lag_s`; None if it takes longer than `longest_s`.
    """

    def is_enough(length_s: float) -> bool:
        for stage in chain:
            allowed = stage_allowance(
                stage, balances.get(stage.name), terms=terms, io_size_bytes=io_size_bytes, time_left_s=length_s
            )
            is_bytes = stage.counts == "bytes"
            work, others = (work_bytes, others_bytes_per_s) if is_bytes else (work_ops, others_ops_per_s)
            if (allowed.total_per_s - others) * length_s < work:
                return False
        return True

    low = high = terms.lag_s
    while not is_enough(high):
        low, high = high, 2 * high
        if low >= longest_s:
            return None
    # To a percent: the estimate of the work is no better.
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
