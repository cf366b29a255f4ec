"""
Put samples of gauges that repeat CloudWatch's last value on its grid. No network, no clock.

Rule 1: times that are whole minutes to the millisecond were set by the exporter, and are kept. A scrape
falls on such a time by chance once in 60,000 times.
Rule 2: other times are those of scrapes. Of several scrapes in a minute the last one counts, at the
start of that minute; with a longer scrape interval, the interval is the step.
Rule 3: an exporter that fetches less often than it is scraped repeats its values. If all its metrics
change only every so many steps, the repetitions count as one sample of that length: five
equal scrapes do not show five minutes of steady load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.values.steps import usual_step_s

MINUTE_MS = 60_000

# Judgements: fewer changes may look regular by chance, and some fetches may be one scrape late.
FEWEST_CHANGES = 4
SHARE_IN_RHYTHM = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gridded:
    """One series on the grid."""

    time_s: IntArray
    """Start of each step, epoch seconds, strictly increasing, shape (n,)."""
    value: FloatArray
    """As written, shape (n,), none of them NaN."""
    step_s: int | None
    """Step of the scrapes; None if the exporter sets the times."""

    @property
    def has_own_times(self) -> bool:
        """Whether the exporter set the times, so that no sample is late."""
        return self.step_s is None


def joined(parts: Sequence[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    """
    Join the samples of series that continue each other, in order of time, without NaN.

    Exporters move between machines and run in pairs. Of samples with the same time, the last part counts.

    Args:
        parts: epoch milliseconds and values, shape (n,) each.
    """
    time_ms = np.concatenate([t for t, _ in parts])
    value = np.concatenate([v for _, v in parts])
    known = np.isfinite(value)
    time_ms, value = time_ms[known], value[known]
    order = np.argsort(time_ms, kind="stable")
    time_ms, value = time_ms[order], value[order]
    is_last = np.append(time_ms[1:] != time_ms[:-1], True)[: time_ms.size]
    return time_ms[is_last], value[is_last]


def gridded(time_ms: IntArray, value: FloatArray) -> Gridded:
    """
    Put a series of scrapes on the minute grid; keep a series whose times the exporter set.

    Args:
        time_ms: epoch milliseconds, strictly increasing, shape (n,).
        value: shape (n,), no NaN.
    """
    if not np.any(time_ms % MINUTE_MS):
        return Gridded(time_s=time_ms // 1000, value=value, step_s=None)
    pauses_s = np.round(np.diff(time_ms) / 1000).astype(np.int64)
    interval_s = usual_step_s(np.cumsum(np.append(0, pauses_s))) or 60
    if interval_s < 60:
        slot = time_ms // MINUTE_MS
        start_s, step_s = slot * 60, 60
    else:
        # One scrape for each step: count steps from the first scrape. Otherwise a scrape a millisecond
        # before the full minute would fall into the previous minute.
        step_s = interval_s
        first_ms = int(time_ms[0])
        slot = np.round((time_ms - first_ms) / (1000 * step_s)).astype(np.int64)
        origin_s = first_ms // MINUTE_MS * 60 if step_s % 60 == 0 else first_ms // 1000
        start_s = origin_s + slot * step_s
    is_last = np.append(slot[1:] != slot[:-1], True)
    return Gridded(time_s=start_s[is_last], value=value[is_last], step_s=step_s)


def without_repetitions(series: Mapping[str, Gridded]) -> tuple[dict[str, Gridded], int | None]:
    """
    Merge the repetitions of each fetch of an exporter into one sample, by rule 3.

    Args:
        series: all gauges of one exporter about one subject, by any key.

    Returns:
        The series, and the seconds between two fetches; None if it fetches for every scrape, or if there
        are too few samples.
    """
    scraped = {key: s for key, s in series.items() if not s.has_own_times}
    steps = {s.step_s for s in scraped.values()}
    if len(steps) != 1:
        return dict(series), None
    step_s = steps.pop()
    assert step_s is not None
    time_s = np.unique(np.concatenate([s.time_s for s in scraped.values()]))
    changed = _changed(time_s, scraped)
    starts = np.flatnonzero(changed)
    if starts.size < FEWEST_CHANGES + 1:
        return dict(series), None
    lengths = np.diff(time_s[starts])
    rhythm_s = int(np.median(lengths))
    in_rhythm = np.abs(lengths - rhythm_s) <= step_s
    if rhythm_s < 2 * step_s or in_rhythm.mean() < SHARE_IN_RHYTHM:
        return dict(series), None
    kept_s = _kept(time_s, changed, rhythm_s, step_s)
    thinned = {
        key: Gridded(time_s=s.time_s[(keep := np.isin(s.time_s, kept_s))], value=s.value[keep], step_s=rhythm_s)
        for key, s in scraped.items()
    }
    return {**series, **thinned}, rhythm_s


def _changed(time_s: IntArray, series: Mapping[str, Gridded]) -> BoolArray:
    """Return where any series changes, shape of `time_s`; the first time counts as a change."""
    changed = np.zeros(time_s.size, dtype=np.bool_)
    changed[:1] = True
    for one in series.values():
        at = np.searchsorted(time_s, one.time_s)
        changed[at[1:][one.value[1:] != one.value[:-1]]] = True
    return changed


def _kept(time_s: IntArray, changed: BoolArray, rhythm_s: int, step_s: int) -> IntArray:
    """Return the first time of every fetch, including fetches with the same values as before."""
    kept: list[int] = []
    for moment, is_new in zip(time_s.tolist(), changed.tolist(), strict=True):
        if is_new or moment - kept[-1] >= rhythm_s + step_s:
            kept.append(moment)
    # The window may begin in the middle of a repetition, so drop a first one that is too short.
    is_cut = kept[1] - kept[0] < rhythm_s - step_s
    return np.array(kept[1:] if is_cut else kept, dtype=np.int64)
