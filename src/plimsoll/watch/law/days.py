"""Summaries of days: what the rules about several days need, and no more."""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.series import FloatArray, IntArray

DAY_S = 86_400
# The share of a ceiling from which a use counts as high; the same fifth below it that `near` means in a
# diagnosis (model/diagnosis.py, Verdict.NEAR).
HIGH_RATIO = 0.8


class DaySummary(Struct, frozen=True, kw_only=True):
    """One UTC day of one family of one instance."""

    day: int
    """Days since 1970-01-01."""
    family: Family
    high_s: float
    """Seconds with a use above `HIGH_RATIO` of the sustained ceiling."""
    measured_s: float
    peak_ratio: float
    """Largest use as a ratio of that ceiling."""


def summarise(
    family: Family, time_s: IntArray, ratio: FloatArray, *, step_s: int, window_s: tuple[int, int]
) -> list[DaySummary]:
    """
    Return what a stretch of samples adds to the days that it covers.

    Args:
        family: of the ceiling.
        time_s: start of each sample, epoch seconds, shape (n,).
        ratio: use as a ratio of the ceiling, shape (n,); NaN where not measured.
        step_s: length of a sample.
        window_s: samples that start in [start, end) count.
    """
    chosen = (time_s >= window_s[0]) & (time_s < window_s[1]) & np.isfinite(ratio)
    days, kept = time_s[chosen] // DAY_S, ratio[chosen]
    return [
        DaySummary(
            day=int(day),
            family=family,
            high_s=float(np.count_nonzero(kept[days == day] > HIGH_RATIO) * step_s),
            measured_s=float(np.count_nonzero(days == day) * step_s),
            peak_ratio=float(kept[days == day].max()),
        )
        for day in np.unique(days)
    ]


def merged(earlier: DaySummary, more: DaySummary) -> DaySummary:
    """Return one summary of two disjoint stretches of the same day."""
    assert (earlier.day, earlier.family) == (more.day, more.family)
    return DaySummary(
        day=earlier.day,
        family=earlier.family,
        high_s=earlier.high_s + more.high_s,
        measured_s=earlier.measured_s + more.measured_s,
        peak_ratio=max(earlier.peak_ratio, more.peak_ratio),
    )


def of_family(days: Iterable[DaySummary], family: Family) -> list[DaySummary]:
    """Return the summaries of one family, in order of days."""
    return sorted((d for d in days if d.family is family), key=lambda d: d.day)
