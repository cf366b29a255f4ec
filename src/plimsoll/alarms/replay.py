"""
Replay an alarm over samples, as CloudWatch evaluates it.

Source: CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data": with three evaluation periods
CloudWatch looks at five, uses the newest three that have a value, and counts how many are at the threshold.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from plimsoll.model.alarm import Alarm, AlarmHistory, AlarmKind
from plimsoll.model.ceiling import Phase
from plimsoll.model.diagnosis import Interval
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.watch.law.rules.balance_empty import EMPTY_RATIO

# The guide's example has two periods more than it evaluates; other numbers are not published.
_EXTRA_PERIODS = 2
# A judgement: three alarms without a cause, and people stop reading them.
NOISY_COUNT = 3


class AlarmState(StrEnum):
    """States of a CloudWatch alarm."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


def state_of(points: Sequence[bool | None], *, needed: int, of: int) -> AlarmState:
    """
    Return the state of an alarm that treats missing data as missing.

    Args:
        points: the evaluation range, oldest first: at the threshold, not, or None for missing.
        needed: datapoints to alarm (M).
        of: evaluation periods (K), ≥ M.
    """
    known = [point for point in points if point is not None][-of:]
    if not known:
        return AlarmState.INSUFFICIENT_DATA
    # With fewer points than K, CloudWatch goes by those there are, if all of them are at the threshold.
    is_alarm = sum(known) >= needed or (len(known) < of and all(known))
    return AlarmState.ALARM if is_alarm else AlarmState.OK


def history_of(alarm: Alarm, series: Mapping[Metric, Series], intervals: Sequence[Interval]) -> AlarmHistory:
    """
    Return what an alarm would have done over samples.

    Args:
        alarm: any.
        series: samples in our units; the period of the alarm must hold at least one sample.
        intervals: diagnosed intervals at a ceiling.
    """
    found = [series.get(metric) for metric in alarm.all_metrics]
    tracks = [s for s in found if s is not None and s.time_s.size and s.step_s <= alarm.period_s]
    if len(tracks) < len(found):
        return AlarmHistory(is_measured=False)
    first = min(int(s.time_s[0]) for s in tracks) // alarm.period_s
    last = max(int(s.time_s[-1]) for s in tracks) // alarm.period_s
    means = [_means(s, first, last, alarm.period_s) for s in tracks]
    points = _points(alarm, means)
    fired, before = [], AlarmState.OK
    span = alarm.evaluation_periods + _EXTRA_PERIODS
    for at in range(len(points)):
        # Before the first period nothing is known of the past: an alarm waits until it has M points.
        if at + 1 < alarm.datapoints_to_alarm:
            continue
        now = state_of(
            points[max(0, at + 1 - span) : at + 1], needed=alarm.datapoints_to_alarm, of=alarm.evaluation_periods
        )
        if now is AlarmState.ALARM and before is not AlarmState.ALARM:
            fired.append((first + at + 1) * alarm.period_s)
        before = now
    reached_s = _reached_s(alarm, tracks[0], intervals)
    return AlarmHistory(
        is_measured=True,
        fired_s=tuple(fired),
        reached_s=reached_s,
        is_noisy=reached_s is None and len(fired) > NOISY_COUNT,
    )


def _points(alarm: Alarm, means: Sequence[FloatArray]) -> list[bool | None]:
    total = np.sum(means[: len(alarm.metrics)], axis=0)
    is_at = total <= alarm.threshold if alarm.is_below else total >= alarm.threshold
    is_known = np.isfinite(total)
    if alarm.balance is not None:
        is_at &= means[-1] <= alarm.balance_at_most
        is_known &= np.isfinite(means[-1])
    return [bool(at) if known else None for at, known in zip(is_at, is_known, strict=True)]


def _means(series: Series, first: int, last: int, period_s: int) -> FloatArray:
    """Return the mean of each period from `first` to `last`; NaN where no sample has a value."""
    is_known = np.isfinite(series.value)
    at = series.time_s[is_known] // period_s - first
    size = last - first + 1
    count = np.bincount(at, minlength=size)
    total = np.bincount(at, weights=series.value[is_known], minlength=size)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _reached_s(alarm: Alarm, track: Series, intervals: Sequence[Interval]) -> int | None:
    if alarm.kind is AlarmKind.BALANCE:
        is_empty = track.value <= EMPTY_RATIO
        return int(track.time_s[np.argmax(is_empty)]) if is_empty.any() else None
    mine = [i for i in intervals if i.family is alarm.family]
    if alarm.kind is AlarmKind.BASELINE:
        mine = [i for i in mine if (i.former_phase or i.phase) is not Phase.BURST]
    return min((i.start_s for i in mine if i.level >= alarm.threshold), default=None)
