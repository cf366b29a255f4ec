"""
When to read which instance again, and what that costs.

Rule 1: a metric is billed each time it is asked for, whatever the number of points in the answer. So the
        length of the window costs nothing, and the interval is the only thing that does.
Rule 2: an instance that is in trouble is read more often, one that is far from every ceiling less often.
Rule 3: a budget holds. Intervals grow until it does; those of instances in trouble grow last.

Source:
    Amazon CloudWatch pricing, "APIs": GetMetricData by the number of metrics requested (read 2026-11).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.law.days import DAY_S
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.situation import Situation

Interval = Annotated[int, Meta(ge=60, le=3600)]
MONTH_S = 30 * DAY_S
"""Costs are compared by months of 30 days."""

# A judgement: half of a ceiling leaves room for a load that doubles, and a day shows every hour once.
_FAR_RATIO = 0.5
_FAR_FOR_S = DAY_S
# Balances are rounded to whole percents.
_FULL_RATIO = 0.985
# Alerts that last for days need no sample each minute.
_URGENT_RULES = ("bound", "balance-empty", "time-to-empty", "connections")


class Urgency(StrEnum):
    """How often an instance is read."""

    URGENT = "urgent"
    """Something nears or binds."""
    NORMAL = "normal"
    FAR = "far"
    """Far from every ceiling for a day."""


class PollSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[poll]` of the configuration."""

    interval_s: Interval = 300
    urgent_interval_s: Interval = 60
    far_interval_s: Interval = 900
    longest_interval_s: Interval = 1800
    """Up to which a budget lengthens intervals. Beyond, an incident of half an hour could pass unseen."""
    window_hours: Annotated[int, Meta(ge=1, le=24)] = 3
    """Long enough for a diagnosis, which needs hours to tell a ceiling from a steady load."""

    def interval_of(self, urgency: Urgency) -> int:
        """Return the interval in seconds, before any budget."""
        return {
            Urgency.URGENT: self.urgent_interval_s,
            Urgency.NORMAL: self.interval_s,
            Urgency.FAR: self.far_interval_s,
        }[urgency]


class PollDemand(Struct, frozen=True, kw_only=True):
    """One instance to read."""

    name: str
    """Of any form; unique."""
    urgency: Urgency
    metric_count: int
    """Metrics that one poll asks for; 0 where asking is free."""


class PollPlan(Struct, frozen=True, kw_only=True):
    """The intervals that a budget allows."""

    intervals_s: Mapping[str, float]
    usd_per_month: float | None
    """Of 30 days at these intervals; None where the price is not known."""
    is_stretched: bool
    """Whether the budget made any interval longer."""
    is_blind: bool
    """Whether it made any longer than the longest one of the settings."""


def urgency_of(standings: Iterable[Standing], *, at_s: int, far_since_s: int) -> Urgency:
    """
    Return how often an instance is to be read.

    Args:
        standings: of the instance.
        at_s: end of its data, epoch seconds.
        far_since_s: from when it has been far from every ceiling without a break; 0 if it is not.
    """
    for standing in standings:
        is_raised = standing.state is not WatchState.OK or standing.nearing.since_s
        if standing.subject.rule in _URGENT_RULES and is_raised:
            return Urgency.URGENT
    if far_since_s and at_s - far_since_s >= _FAR_FOR_S:
        return Urgency.FAR
    return Urgency.NORMAL


def far_since(situation: Situation, earlier_s: int) -> int:
    """
    Return from when an instance has been far from every ceiling; 0 where it is not, or where that is unknown.

    Args:
        situation: the window that was read.
        earlier_s: what the last call returned.
    """
    if situation.diagnosis.verdict is not Verdict.SLACK:
        return 0
    for use in situation.uses.values():
        if use.used is None or use.sustained is None or use.ratio_now(situation.at_s) is None:
            return 0
        if float(np.nanmax(use.used.value)) > _FAR_RATIO * use.sustained.value:
            return 0
        if use.has_bucket and use.balance is not None:
            left = use.balance.newest(situation.at_s)
            if left is None or left < _FULL_RATIO:
                return 0
    return earlier_s or situation.diagnosis.window_s[0]


def usd_per_month(metric_count: int, interval_s: float, usd_per_metric: float) -> float:
    """Return the cost of asking for metrics at an interval for 30 days."""
    return metric_count * MONTH_S / interval_s * usd_per_metric


def planned(
    demands: Sequence[PollDemand],
    settings: PollSettings,
    *,
    usd_per_metric: float | None,
    usd_left: float | None,
    left_s: float,
) -> PollPlan:
    """
    Return the intervals at which instances are read.

    Args:
        demands: the instances.
        settings: intervals without a budget.
        usd_per_metric: None where the price is not known; then there is no budget either.
        usd_left: what may still be spent; None without a budget.
        left_s: time for which it must last, > 0.
    """
    wanted = {d.name: float(settings.interval_of(d.urgency)) for d in demands}
    if usd_per_metric is None:
        return PollPlan(intervals_s=wanted, usd_per_month=None, is_stretched=False, is_blind=False)
    price = usd_per_metric

    def rate(intervals: Mapping[str, float]) -> float:
        return sum(d.metric_count * price / intervals[d.name] for d in demands)

    found, is_blind = wanted, False
    if usd_left is not None:
        allowed = max(usd_left, 0.0) / left_s
        found, is_blind = _within(demands, wanted, settings, allowed, rate)
    return PollPlan(
        intervals_s=found, usd_per_month=rate(found) * MONTH_S, is_stretched=found != wanted, is_blind=is_blind
    )


def _within(
    demands: Sequence[PollDemand],
    wanted: Mapping[str, float],
    settings: PollSettings,
    allowed: float,
    rate: Callable[[Mapping[str, float]], float],
) -> tuple[dict[str, float], bool]:
    """Return the shortest intervals that cost no more than `allowed` dollars a second, calm instances first."""
    found = dict(wanted)
    calm = [d.name for d in demands if d.urgency is not Urgency.URGENT]
    for names in (calm, [d.name for d in demands]):
        if rate(found) <= allowed:
            return found, False
        longest = float(settings.longest_interval_s)
        found = _stretched(found, names, longest, lambda f: rate(f) <= allowed)
    if rate(found) <= allowed:
        return found, False
    # Nothing is left to spend: each instance is read once more at the end of the time at the earliest.
    factor = rate(found) / allowed if allowed > 0 else MONTH_S / longest
    return {name: interval * factor for name, interval in found.items()}, True


def _stretched(
    intervals: dict[str, float], names: Sequence[str], longest: float, is_enough: Callable[[dict[str, float]], bool]
) -> dict[str, float]:
    """Return the intervals of some names times the smallest factor that is enough, none longer than `longest`."""

    def by(factor: float) -> dict[str, float]:
        longer = {n: max(min(intervals[n] * factor, longest), intervals[n]) for n in names}
        return {**intervals, **longer}

    low, high = 1.0, max([longest / intervals[n] for n in names], default=1.0)
    if not is_enough(by(high)):
        return by(high)
    # Halving thirty times leaves an error far below a second.
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(by(middle)) else (middle, high)
    return by(high)
