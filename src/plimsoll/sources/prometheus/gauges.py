"""
Put an exporter's samples of an instance on one grid, and choose one exporter for each metric. No network, no clock.

Rule 1: times that are whole minutes to the millisecond were set by the exporter, and are kept. A scrape
falls on such a time by chance once in 60,000 times.
Rule 2: other times are those of scrapes. Of several scrapes in a minute the last one counts, at the
start of that minute; with a longer scrape interval, the interval is the step.
Rule 3: an exporter that fetches less often than it is scraped repeats its values. If all its metrics
change only every so many steps, the repetitions count as one sample of that length: five
equal scrapes do not show five minutes of steady load.
Rule 4: two exporters of one instance fetch the same minutes at different times, so their samples are never
mixed within a metric. The better one provides all its metrics: first by longer history, then by timestamps
of its own, then by finer step, then by more metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.documents.enhanced_monitoring import read_documents
from plimsoll.sources.prometheus.exporters import OS_PREFIX, Exporter, KnownSeries
from plimsoll.sources.prometheus.node import Counted
from plimsoll.sources.prometheus.remarks import PERCONA_LAG_S, Used
from plimsoll.sources.reading.reading import Block, Reading, Statistic
from plimsoll.sources.values.steps import usual_step_s

MINUTE_MS = 60_000

K = TypeVar("K")

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


def without_repetitions(series: Mapping[K, Gridded]) -> tuple[dict[K, Gridded], int | None]:
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


def _changed(time_s: IntArray, series: Mapping[K, Gridded]) -> BoolArray:
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


# --- one exporter for each metric ----------------------------------------------------------------

# A judgement: exporters with nearly the same history count as equal; a restart costs some minutes.
SHARE_OF_HISTORY = 0.8

Key = tuple[Metric, Statistic]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gauges:
    """All metrics of one instance from one exporter, on the grid."""

    exporter: Exporter
    series: Mapping[Key, Gridded]
    names: Mapping[Key, tuple[str, str]]
    """Name on the server, and name in the rest of the program."""
    scraped_every_s: int | None
    """None if the exporter sets the timestamps of its samples."""
    fetched_every_s: int | None
    """None if the exporter fetches for every scrape."""

    @property
    def metrics(self) -> set[Metric]:
        """Metrics of the exporter."""
        return {metric for metric, _ in self.series}

    @property
    def covered_s(self) -> int:
        """Seconds that its longest series covers."""
        return max((s.time_s.size * (s.step_s or 60) for s in self.series.values()), default=0)


def gauges_of(exporter: Exporter, pairs: Sequence[tuple[KnownSeries, Counted]], window_s: tuple[int, int]) -> Gauges:
    """
    Return the gauges of one exporter about one instance.

    Args:
        pairs: its series, each with its samples.
        window_s: epoch seconds, [start, end); other samples are dropped.
    """
    parts: dict[Key, list[Counted]] = {}
    names: dict[Key, tuple[str, str]] = {}
    for track, series in pairs:
        assert track.metric is not None
        assert track.written is not None
        parts.setdefault((track.metric, track.statistic), []).append(series)
        names[track.metric, track.statistic] = (track.name, track.written)
    shift_ms = 1000 * PERCONA_LAG_S if exporter is Exporter.PERCONA else 0
    found: dict[Key, Gridded] = {}
    for key, members in parts.items():
        time_ms, value = joined([(s.time_ms - shift_ms, s.value) for s in members])
        cut = _inside(gridded(time_ms, value), window_s) if time_ms.size else None
        if cut is not None:
            found[key] = cut
    steps = [s.step_s for s in found.values() if s.step_s is not None]
    kept, fetched_every_s = without_repetitions(found)
    return Gauges(
        exporter=exporter,
        series=kept,
        names=names,
        scraped_every_s=min(steps) if steps else None,
        fetched_every_s=fetched_every_s,
    )


def _inside(series: Gridded, window_s: tuple[int, int]) -> Gridded | None:
    keep = (series.time_s >= window_s[0]) & (series.time_s < window_s[1])
    if not keep.any():
        return None
    return replace(series, time_s=series.time_s[keep], value=series.value[keep])


def blocks_of(gauges: Sequence[Gauges], identifier: str) -> tuple[list[Block], list[Used]]:
    """
    Return each metric's blocks from its best exporter, and what each exporter provided.

    An exporter with a metric's mean is preferred to one with only its extremes.
    """
    ranked = _ranked(gauges)
    blocks: list[Block] = []
    taken: dict[Exporter, dict[str, None]] = {g.exporter: {} for g in ranked}
    passed: dict[Exporter, dict[Metric, Exporter]] = {g.exporter: {} for g in ranked}
    for metric in Metric:
        able = [g for g in ranked if metric in g.metrics]
        if not able:
            continue
        best = next((g for g in able if (metric, Statistic.AVERAGE) in g.series), able[0])
        for other in able:
            if other is not best:
                passed[other.exporter][metric] = best.exporter
        has_mean = (metric, Statistic.AVERAGE) in best.series
        for key, series in best.series.items():
            if key[0] is metric and (key[1] is Statistic.AVERAGE or not has_mean):
                name, written = best.names[key]
                taken[best.exporter][name] = None
                blocks.append(
                    Block(
                        name=written,
                        instance=identifier,
                        statistic=key[1],
                        time_s=series.time_s,
                        value=series.value,
                        period_s=series.step_s,
                    )
                )
    used = [
        Used(
            exporter=g.exporter,
            names=tuple(taken[g.exporter]),
            scraped_every_s=g.scraped_every_s,
            fetched_every_s=g.fetched_every_s,
            passed_over=tuple(passed[g.exporter]),
            preferred=tuple(dict.fromkeys(passed[g.exporter].values())),
        )
        for g in ranked
    ]
    return blocks, used


def _ranked(gauges: Sequence[Gauges]) -> list[Gauges]:
    longest_s = max((g.covered_s for g in gauges), default=0)

    def rank(one: Gauges) -> tuple[bool, bool, int, int]:
        has_own = all(s.has_own_times for s in one.series.values())
        step_s = min((s.step_s or 60 for s in one.series.values()), default=60)
        is_short = one.covered_s < SHARE_OF_HISTORY * longest_s
        return is_short, not has_own, step_s, -len(one.metrics)

    return sorted((g for g in gauges if g.series), key=rank)


# --- documents of Enhanced Monitoring -------------------------------------------------------------

# Each scrape of Percona's rds_exporter repeats the last document, with the document's own time as a metric. So
# the documents are rebuilt and read by the same rules as those of the log group. The exporter also has counters
# of the same data under names of node_exporter; they are amounts of one interval, not counters, and are not read.
# Source: rds_exporter, enhanced/metrics.go and enhanced/testdata.
_LISTS = {"diskIO": "device", "network": "interface", "fileSys": "mount_point"}
"""Parts of a document that are lists, and the label that identifies their members."""


def read_os_metrics(identifier: str, series: Sequence[Counted], reading: Reading, window_s: tuple[int, int]) -> None:
    """
    Add the scrapes of Enhanced Monitoring of one instance to a reading.

    Args:
        series: series of one instance, named `rdsosmetrics_…`.
        window_s: documents of other times are dropped.
    """
    scrapes: dict[int, dict[str, Any]] = {}
    for one in series:
        group, _, field = one.name.removeprefix(OS_PREFIX).partition("_")
        for time_ms, value in zip(one.time_ms.tolist(), one.value.tolist(), strict=True):
            if value == value:  # noqa: PLR0124  NaN alone differs from itself
                _put(scrapes.setdefault(time_ms, {}), group, field, one.labels, value)
    documents: dict[int, dict[str, Any]] = {}
    for time_ms in sorted(scrapes):
        scrape = scrapes[time_ms]
        at_s = scrape.get("timestamp")
        # A document describes the interval that ends at its time.
        if at_s is not None and window_s[0] < at_s <= window_s[1]:
            whole = {k: [*v.values()] if k in _LISTS else v for k, v in scrape.items()}
            documents[int(at_s)] = {**whole, "instanceID": identifier}
    if documents:
        read_documents(list(documents.values()), reading, where="Enhanced Monitoring")


def _put(scrape: dict[str, Any], group: str, field: str, labels: Mapping[str, str], value: float) -> None:
    if group == "timestamp":
        scrape[group] = value
    elif group == "General":
        scrape[field] = int(value)
    elif group in _LISTS:
        key = labels.get(_LISTS[group], "")
        entry = scrape.setdefault(group, {}).setdefault(key, _named(group, labels))
        entry[field] = value
    else:
        scrape.setdefault(group, {})[field] = value


def _named(group: str, labels: Mapping[str, str]) -> dict[str, Any]:
    if group == "diskIO":
        # Aurora's storage entry has no device; in Prometheus an empty label equals a missing one.
        return {"device": labels["device"]} if labels.get("device") else {}
    if group == "network":
        return {"interface": labels.get("interface")}
    return {"name": labels.get("name"), "mountPoint": labels.get("mount_point")}
