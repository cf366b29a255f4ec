"""Resolve blocks as written to samples: metric, instance, statistic, and our unit."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.model.snapshot import Gap
from plimsoll.sources.reading.names import CLASH, EC2, NamedMetric, recognise, recognise_id
from plimsoll.sources.reading.quantities import factor_of
from plimsoll.sources.reading.reading import Block, Channel, Reading, SeriesQuery, Statistic
from plimsoll.sources.values.shown import shown

_MOST_GAPS = 20
"""Unknown names are listed one by one up to here; a table of text would list thousands."""

_REMEDIES = {CLASH: "Put each request beside its own answer, in a folder of its own."}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResolvedSamples:
    """A block whose metric is known; times are as in the block, values are in our unit."""

    metric: Metric
    instance: str | None
    is_labelled: bool
    """The instance is a word of a label: people may have written it, so it is no proof."""
    statistic: Statistic
    time_s: IntArray
    value: FloatArray
    period_s: int | None
    origin: Channel


@dataclass(slots=True)
class Resolved:
    """All blocks of known metrics, and gaps for the others."""

    samples: list[ResolvedSamples]
    gaps: list[Gap]
    unknown: list[str]
    """Names that are not metrics, in the order read."""


def resolve(reading: Reading) -> Resolved:
    """Give every block its metric; name each block that has none once."""
    resolved = Resolved([], [], [])
    unknown: dict[str, None] = {}
    ignored: dict[str, dict[str, None]] = {}
    for block in reading.blocks:
        query = _query(block.query_id, block.folder, reading)
        named = _named(block, query, reading)
        if named.metric is None:
            if named.ignored is None:
                unknown[shown(block.name)] = None
            else:
                ignored.setdefault(named.ignored, {})[shown(block.name)] = None
            continue
        samples = _samples(block, query, named)
        if samples is None:
            resolved.gaps.append(_unit_gap(named.metric, block.unit or named.unit))
        else:
            resolved.samples.append(samples)
    resolved.unknown = list(unknown)
    resolved.gaps = [*dict.fromkeys(resolved.gaps), *_name_gaps(list(unknown), ignored)]
    return resolved


def metric_asked(folder: Path, query_id: str | None, label: str | None, reading: Reading) -> Metric | None:
    """Return the metric that a result of `get-metric-data` is about, also when it has no sample."""
    query = _query(query_id, folder, reading)
    if query is not None:
        return recognise(query.metric_name).metric
    return recognise(label or "").metric or recognise_id(query_id or "").metric


def _query(query_id: str | None, folder: Path, reading: Reading) -> SeriesQuery | None:
    """Return the nearest request: in the folder of the answer, or in one above it."""
    if query_id is None:
        return None
    while True:
        known = reading.queries.get(folder, {})
        if query_id in known:
            return known[query_id]
        if folder == folder.parent:
            return None
        folder = folder.parent


def _named(block: Block, query: SeriesQuery | None, reading: Reading) -> NamedMetric:
    if block.metric is not None:
        return NamedMetric(metric=block.metric, is_ours=True)
    namespace = (query.namespace if query else None) or block.namespace
    if namespace in ("AWS/EC2", "AWS/EBS"):
        return NamedMetric(ignored=EC2)
    if query is not None:
        return recognise(query.metric_name)
    named = recognise(block.name)
    if named.metric is None and _has_clash(block.query_id, reading):
        return NamedMetric(ignored=CLASH)
    if named.metric is None and named.ignored is None and block.query_id is not None:
        by_id = recognise_id(block.query_id)
        return by_id if by_id.metric is not None else named
    return named


def _has_clash(query_id: str | None, reading: Reading) -> bool:
    return any(query_id in known and known[query_id] is None for known in reading.queries.values())


def _samples(block: Block, query: SeriesQuery | None, named: NamedMetric) -> ResolvedSamples | None:
    assert named.metric is not None
    unit = block.unit or (query.unit if query else None) or named.unit
    factor = factor_of(unit, named.metric, is_ours=named.is_ours)
    if factor is None:
        return None
    asked = query.statistic if query else None
    statistic = asked or block.statistic or named.statistic or Statistic.AVERAGE
    # A count of samples is a number, whatever the metric is measured in.
    scale = 1.0 if statistic is Statistic.COUNT else factor
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is dropped as impossible
        value = block.value if scale == 1 else block.value * scale
    stated = (query.instance if query else None) or block.instance
    return ResolvedSamples(
        metric=named.metric,
        instance=stated or named.instance,
        is_labelled=stated is None,
        statistic=statistic,
        time_s=block.time_s,
        value=value,
        period_s=(query.period_s if query else None) or block.period_s,
        origin=block.origin,
    )


def _unit_gap(metric: Metric, unit: str | None) -> Gap:
    return Gap(
        metric=metric.value,
        reason=f"unit '{shown(unit or '')}' does not fit this metric, ignored",
        remedy="Export the metric in CloudWatch's own unit.",
    )


def _name_gaps(unknown: list[str], ignored: dict[str, dict[str, None]]) -> list[Gap]:
    gaps = [
        Gap(
            metric=name,
            reason="unknown metric, ignored",
            remedy="Name metrics as CloudWatch does, such as ReadThroughput.",
        )
        for name in unknown[:_MOST_GAPS]
    ]
    if len(unknown) > _MOST_GAPS:
        gaps.append(
            Gap(
                metric=f"{len(unknown) - _MOST_GAPS} further names",
                reason="unknown metrics, ignored",
                remedy="Name metrics as CloudWatch does, such as ReadThroughput.",
            )
        )
    for reason, names in ignored.items():
        listed = [*names][:_MOST_GAPS]
        more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
        remedy = _REMEDIES.get(reason, "Nothing needs to be done.")
        gaps.append(Gap(metric=", ".join(listed) + more, reason=reason, remedy=remedy))
    return gaps
