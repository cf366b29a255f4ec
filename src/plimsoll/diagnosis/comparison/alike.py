"""
The comparability of two windows: their hours of the day, days of the week, lengths and events.

A mean over a night and a mean over a working day differ without any change. If two windows cover
different hours of the day, the hours that both cover are compared once more. Hours are UTC, because
metrics are stored in UTC.
"""

import numpy as np

from plimsoll.diagnosis.comparison.measures import Weigh
from plimsoll.diagnosis.frame import Frame
from plimsoll.model.comparison import Caveat
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.units import format_clock, format_duration, format_ratio

HOUR_S, DAY_S = 3600, 86_400
# A tenth of the measured time at other hours changes a mean by less than a workload varies by itself.
ALIKE_SHARE = 0.1
# An hour that was measured for less than half of it does not stand for that hour.
SHARED_HOUR_MIN_S = 1800
# A window of a day that begins at a quarter past still covers one weekday, not two.
DAY_MIN_SHARE = 0.05
# A window longer by a quarter has noticeably more chances for a peak.
LENGTH_RATIO = 1.25

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LOADING = {
    EventKind.RESTORE: "restored",
    EventKind.CONVERSION: "converted to Multi-AZ",
    EventKind.OPTIMISATION: "rearranging its storage",
}
_CHANGES = {EventKind.CLASS_CHANGE: "class", EventKind.STORAGE_CHANGE: "storage"}


def measured_by_hour(frame: Frame | None) -> FloatArray:
    """Return the seconds measured in each hour of the day, UTC, shape (24,)."""
    if frame is None:
        return np.zeros(24)
    known = _is_measured(frame)
    hour = frame.time_s[known] % DAY_S // HOUR_S
    seconds = np.bincount(hour, weights=frame.width_s[known], minlength=24)
    return seconds.astype(np.float64)


def shared_hours(before: FloatArray, after: FloatArray) -> tuple[int, ...] | None:
    """
    Return the hours of the day that both windows cover; None if both cover the same hours.

    Args:
        before: as from `measured_by_hour`; likewise `after`.
    """
    if not (before.any() and after.any()):
        return None
    # Half the sum of differences is the share of time that is at other hours (total variation distance).
    apart = 0.5 * float(np.abs(before / before.sum() - after / after.sum()).sum())
    if apart < ALIKE_SHARE:
        return None
    both = (before >= SHARED_HOUR_MIN_S) & (after >= SHARED_HOUR_MIN_S)
    return tuple(int(hour) for hour in np.flatnonzero(both))


def by_hour(hours: tuple[int, ...], measured_s: FloatArray) -> Weigh:
    """
    Return weights for the samples of those hours, so that each hour of the day counts the same.

    Args:
        hours: 0–23.
        measured_s: as from `measured_by_hour`.
    """
    share = np.zeros(24)
    # An hour that was measured twice as often must not count twice.
    share[list(hours)] = HOUR_S / measured_s[list(hours)]

    def weigh(time_s: IntArray, width_s: FloatArray) -> FloatArray:
        return width_s * share[time_s % DAY_S // HOUR_S]

    return weigh


def hour_ranges(hours: tuple[int, ...]) -> str:
    """Return `00:00–06:00 and 18:00–24:00 UTC`."""
    ranges: list[list[int]] = []
    for hour in hours:
        if ranges and ranges[-1][1] == hour:
            ranges[-1][1] = hour + 1
        else:
            ranges.append([hour, hour + 1])
    texts = [f"{start:02d}:00–{end:02d}:00" for start, end in ranges]
    return f"{_listed(texts)} UTC"


def window_caveats(before: Diagnosis, after: Diagnosis, frames: tuple[Frame | None, Frame | None]) -> list[Caveat]:
    """Return the differences of the two windows that affect a comparison, except the hours of the day."""
    found = []
    lengths = [d.window_s[1] - d.window_s[0] for d in (before, after)]
    if min(lengths) > 0 and max(lengths) > LENGTH_RATIO * min(lengths):
        found.append(_length(lengths))
    if before.step_s and after.step_s and before.step_s != after.step_s:
        found.append(_step(before.step_s, after.step_s))
    days = [_weekdays(frame) for frame in frames]
    if all(days) and days[0] != days[1]:
        text = f"Before covers {_listed(days[0])}, after {_listed(days[1])}. Work may differ by day."
        found.append(Caveat(kind="weekdays", text=text))
    for name, side in (("Before", before), ("After", after)):
        length = side.window_s[1] - side.window_s[0]
        # Late publication and failed scrapes leave up to a twentieth out in any window.
        if length > 0 and 0 < side.measured_s < 0.95 * length:
            text = (
                f"{name}: storage was measured for {format_duration(side.measured_s)} of "
                f"{format_duration(length)} ({format_ratio(side.measured_s / length)}). "
                "Shares are of the measured time."
            )
            found.append(Caveat(kind="gaps", text=text))
    return found + _order(before, after)


def _length(lengths: list[int]) -> Caveat:
    text = (
        f"Before is {format_duration(lengths[0])} long, after {format_duration(lengths[1])}. "
        "Compare shares and means; the longer window had more time for a peak."
    )
    return Caveat(kind="length", text=text)


def _step(before_s: int, after_s: int) -> Caveat:
    text = (
        f"Before has one sample per {format_duration(before_s)}, after one per "
        f"{format_duration(after_s)}. Longer steps hide peaks and short times at a ceiling."
    )
    return Caveat(kind="step", text=text)


def _order(before: Diagnosis, after: Diagnosis) -> list[Caveat]:
    start = max(before.window_s[0], after.window_s[0])
    end = min(before.window_s[1], after.window_s[1])
    if before.instance.identifier != after.instance.identifier or 0 in (before.measured_s, after.measured_s):
        return []
    if before.window_s == after.window_s:
        return []
    if start < end:
        text = f"The windows overlap by {format_duration(end - start)}."
        return [Caveat(kind="overlap", text=text)]
    if after.window_s[0] < before.window_s[0]:
        text = "The window named after is the earlier one."
        return [Caveat(kind="order", text=text)]
    return []


def event_caveats(before: Diagnosis, after: Diagnosis, annotations: tuple[tuple[Annotation, ...], ...]) -> list[Caveat]:
    """
    Return the events in the windows, or between them, that affect the comparison.

    Args:
        before: one side; likewise `after`.
        annotations: the events of each of the two; each kind is reported once a side.
    """
    found = []
    for name, side, events in zip(("before", "after"), (before, after), annotations, strict=True):
        start, end = side.window_s
        # A restore of the day before may still be loading its data.
        loading = [e for e in events if e.kind in _LOADING and start - DAY_S <= e.time_s < end]
        within = [e for e in events if e.kind in _CHANGES and start < e.time_s < end]
        for event in _first_of_each_kind(loading):
            text = (
                f"The instance of {name} was {_LOADING[event.kind]} at {_when(event)}. "
                "High latency after that is no sign of a ceiling."
            )
            found.append(Caveat(kind="loading", text=text))
        for event in _first_of_each_kind(within):
            what = _CHANGES[event.kind]
            text = (
                f"The {what} was changed at {_when(event)}, within the window of {name}. Its "
                "numbers mix both sides of that change."
            )
            found.append(Caveat(kind="change", text=text))
    return found + _unannounced(before, after, annotations[1])


def _unannounced(before: Diagnosis, after: Diagnosis, annotations: tuple[Annotation, ...]) -> list[Caveat]:
    """Return the changes between the windows whose earlier state is unknown."""
    flags = {EventKind.CLASS_CHANGE: "--class-a", EventKind.STORAGE_CHANGE: "--storage-a"}
    known = {EventKind.CLASS_CHANGE: before.instance.db_class, EventKind.STORAGE_CHANGE: before.instance.storage.kind}
    between = [
        e
        for e in annotations
        if e.kind in flags and before.window_s[1] <= e.time_s < after.window_s[1] and known[e.kind] is None
    ]
    return [
        Caveat(
            kind="change",
            text=(
                f"The {_CHANGES[event.kind]} was changed at {_when(event)}. The event does not say "
                f"from what, so give {flags[event.kind]}; otherwise the earlier limits stay unknown."
            ),
        )
        for event in _first_of_each_kind(between)
    ]


def _first_of_each_kind(events: list[Annotation]) -> list[Annotation]:
    first: dict[EventKind, Annotation] = {}
    for event in sorted(events, key=lambda e: e.time_s):
        first.setdefault(event.kind, event)
    return list(first.values())


def _when(event: Annotation) -> str:
    return f"{format_clock(event.time_s)} UTC"


def demand_caveat(before: Diagnosis, after: Diagnosis, rise: float | None) -> list[Caveat]:
    """
    Return the caveat that a served rate is not the demand, where a side was at a ceiling.

    Args:
        before: one side; likewise `after`.
        rise: change of the mean served throughput, bytes/s; None if unknown.
    """
    was, is_ = (d.verdict is Verdict.BINDS for d in (before, after))
    if not (was or is_):
        return []
    if was and is_:
        text = (
            "Both windows were at a ceiling, so demand was higher than what was served. "
            "A difference in throughput is no difference in demand."
        )
    elif is_:
        text = (
            "After was at a ceiling, so demand was higher than what was served. Demand rose by "
            "more than the difference, or fell by less."
        )
    elif rise is not None and rise > 0:
        text = (
            "Before was at a ceiling, so demand was higher than what was served. The rise shows demand that had waited."
        )
    else:
        text = (
            "Before was at a ceiling, so demand was higher than what was served. Mean throughput "
            "did not rise after it: the same work took less time, or there was less work."
        )
    return [Caveat(kind="demand", text=text)]


def _weekdays(frame: Frame | None) -> list[str]:
    """Return the days of the week that make up a window, from Monday."""
    if frame is None:
        return []
    known = _is_measured(frame)
    # The epoch began on a Thursday.
    day = (frame.time_s[known] // DAY_S + 3) % 7
    seconds = np.bincount(day, weights=frame.width_s[known], minlength=7)
    return [_DAYS[i] for i in np.flatnonzero(seconds > DAY_MIN_SHARE * seconds.sum())]


def _is_measured(frame: Frame) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
