"""
Roll a measured balance forward to now: metrics are minutes old, and the batch has gone on since.

Rule: balances move in the kernel only; this file gives it the demand of the time since the metric.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from plimsoll.kernel import Stage, replay
from plimsoll.load.pace.law.allowance import has_bucket

# Steps in which the time since the metric is replayed. A batch changes its rate each second, and a bucket that
# neither fills nor empties in between depends on the sum alone.
_STEPS = 30
# Steps of a look ahead: a minute each for a day.
_STEPS_AHEAD = 1440


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRate:
    """What was taken at the device in one interval, all users together."""

    start_s: float
    """Epoch seconds."""
    end_s: float
    bytes_per_s: float
    ops_per_s: float
    read_bytes_per_s: float = nan
    """The part of `bytes_per_s` that was read; NaN if that is not known."""


def balance_now(
    stage: Stage, balance_ratio: float, *, measured_s: float, now_s: float, rates: Sequence[DeviceRate]
) -> float:
    """
    Return the credits of a stage now, 0–1.

    Args:
        stage: any; a stage without a bucket keeps what it has.
        balance_ratio: credits at `measured_s`, 0–1.
        measured_s: epoch seconds.
        now_s: epoch seconds.
        rates: intervals in order of time; where there is none, the nearest one counts.
    """
    since_s = now_s - measured_s
    if not has_bucket(stage) or since_s <= 0 or not rates:
        return balance_ratio
    step_s = since_s / _STEPS
    middles = measured_s + step_s * (np.arange(_STEPS) + 0.5)
    starts = [rate.start_s for rate in rates]
    at = [max(bisect_right(starts, float(moment)) - 1, 0) for moment in middles]
    ops = np.array([rates[i].ops_per_s for i in at])
    taken = np.array([rates[i].bytes_per_s for i in at])
    # What was not measured follows from the other, in operations of 16 KiB, at which IOPS limits are quoted.
    taken = np.nan_to_num(np.where(np.isfinite(taken), taken, 16_384 * ops))
    ops = np.where(ops > 0, ops, taken / 16_384)
    size = np.where(ops > 0, np.maximum(taken, 1.0) / np.maximum(ops, 1e-9), 1.0)
    # A batch does not queue its past: what was measured was served.
    started = replace(stage, start_balance=min(max(balance_ratio, 0.0), 1.0) * stage.capacity)
    found = replay(ops, size, step_s=step_s, chain=[started], carry=False)
    return float(found.balance[0, -1]) / stage.capacity


def time_to_hold_s(
    stage: Stage, balance_ratio: float, wanted_ratio: float, *, rate: DeviceRate, longest_s: float
) -> float | None:
    """
    Return the seconds until a stage holds so many credits, if the rate stays as it is.

    Args:
        stage: with a bucket.
        balance_ratio: credits now, 0–1.
        wanted_ratio: credits to wait for, 0–1.
        rate: what is taken meanwhile; only its rates count.
        longest_s: where to stop looking, > 0.

    Returns:
        0 if it holds them now; None if it takes longer than `longest_s`.
    """
    if balance_ratio >= wanted_ratio:
        return 0.0
    step_s = longest_s / _STEPS_AHEAD
    size = rate.bytes_per_s / rate.ops_per_s if rate.ops_per_s > 0 else 16_384.0
    ops = rate.ops_per_s if rate.ops_per_s > 0 else rate.bytes_per_s / size
    started = replace(stage, start_balance=min(max(balance_ratio, 0.0), 1.0) * stage.capacity)
    demand = np.full(_STEPS_AHEAD, ops)
    found = replay(demand, max(size, 1.0), step_s=step_s, chain=[started], carry=False)
    held = np.concatenate(([started.balance_at_start], found.balance[0])) / stage.capacity
    # A bucket that fills to its top gets there within rounding.
    enough = np.flatnonzero(held >= wanted_ratio - 1e-9)
    if not len(enough):
        return None
    end = int(enough[0])
    rise = held[end] - held[end - 1]
    return float(step_s * (end - 1 + (wanted_ratio - held[end - 1]) / rise))
