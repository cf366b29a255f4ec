"""
Choose one exporter's samples for each CloudWatch metric. No network, no clock.

Two exporters of one instance fetch the same minutes at different times, so their samples are never mixed
within a metric. The better one provides all its metrics: first by longer history, then by timestamps of
its own, then by finer step, then by more metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from plimsoll.model.metric import Metric
from plimsoll.sources.prometheus.exporters import Exporter, KnownSeries
from plimsoll.sources.prometheus.grid import Gridded, gridded, joined, without_repetitions
from plimsoll.sources.prometheus.node import Counted
from plimsoll.sources.prometheus.remarks import PERCONA_LAG_S, Used
from plimsoll.sources.reading.reading import Block, Statistic

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
    found: dict[str, Gridded] = {}
    keys: dict[str, Key] = {}
    for key, members in parts.items():
        time_ms, value = joined([(s.time_ms - shift_ms, s.value) for s in members])
        cut = _inside(gridded(time_ms, value), window_s) if time_ms.size else None
        if cut is not None:
            found[f"{key}"] = cut
            keys[f"{key}"] = key
    steps = [s.step_s for s in found.values() if s.step_s is not None]
    kept, fetched_every_s = without_repetitions(found)
    return Gauges(
        exporter=exporter,
        series={keys[text]: s for text, s in kept.items()},
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
