"""
Check whether the values of tables are possible in the unit that they were taken for, as of a single instance.

Tables seldom write units. The rule is `reading/plausible.py`; here the instances that it may concern are
found first, many at once.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.points import PointColumns
from plimsoll.model.series import FloatArray, IntArray, Series
from plimsoll.sources.reading.plausible import CALM_MAX_S, DIRECTIONS, SIZE_MAX_BYTES, SIZE_MIN_BYTES, in_their_units
from plimsoll.sources.values.shown import shown

_CONCERNED = {m.value for one in DIRECTIONS for m in one} | {Metric.QUEUE_DEPTH.value}


def points_in_their_units(
    points: PointColumns, engine_of: Callable[[str], str | None]
) -> tuple[PointColumns, list[str]]:
    """
    Return the points that are possible in their unit, and sentences about the others.

    Args:
        points: of a table without units.
        engine_of: the engine of an instance; Aurora counts log records, so its rates stay.
    """
    names = [(*key[:3], key[3] if key[3] in _CONCERNED else "") for key in points.series]
    instances = {key: place for place, key in enumerate(dict.fromkeys(n[:3] for n in names))}
    number = np.array([instances[name[:3]] for name in names], dtype=np.int64)[points.index]
    mean = points.sum / points.count
    kept = np.ones(len(points), dtype=np.bool_)
    factor = np.ones(len(points))
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    concerned = _possibly_odd(points, number, mean, names)
    metric = np.array([name[3] for name in names])[points.index] if concerned else np.empty(0)
    for key, place in instances.items():
        if place not in concerned:
            continue
        mine = np.flatnonzero((number == place) & (metric != ""))
        instance = Instance(identifier=key[2], engine=engine_of(key[2]))
        before = _series(points.time_s[mine], mean[mine], metric[mine])
        after, gaps = in_their_units(before, instance)
        for one in before:
            rows = mine[metric[mine] == one.value]
            if one not in after:
                kept[rows] = False
            elif after[one] is not before[one]:
                factor[rows] = _ratio(after[one].value, before[one].value)
        for gap in gaps:
            reasons[gap.metric] += 1
            examples.setdefault(gap.metric, f"{shown(key[2], 63)}: {gap.metric}: {gap.reason}")
    said = [
        examples[name] + (f" (and of {count - 1:,} more instances)" if count > 1 else "")
        for name, count in reasons.items()
    ]
    if not said:
        return points, []
    scaled = replace(points, sum=points.sum * factor, min=points.min * factor, max=points.max * factor)
    return scaled.where(kept), said


def _possibly_odd(
    points: PointColumns, number: IntArray, mean: FloatArray, names: list[tuple[str, str, str, str]]
) -> set[int]:
    """Return the instances of which the rule may find a metric in another unit, and perhaps some more."""
    found: set[int] = set()
    kinds = np.array([name[3] for name in names])

    def of_metric(metric: Metric, column: str) -> pl.DataFrame:
        rows = np.flatnonzero((kinds == metric.value)[points.index])
        return pl.DataFrame({"instance": number[rows], "time_s": points.time_s[rows], column: mean[rows]})

    for of_bytes, of_ops, of_latency in DIRECTIONS:
        both = of_metric(of_bytes, "bytes").join(of_metric(of_ops, "ops"), on=["instance", "time_s"])
        sizes = both.filter(pl.col("ops") >= 1).group_by("instance")
        median = sizes.agg((pl.col("bytes") / pl.col("ops")).median().alias("size"))
        is_odd = (pl.col("size") < SIZE_MIN_BYTES) | (pl.col("size") > SIZE_MAX_BYTES)
        found |= set(median.filter(is_odd)["instance"].to_list())
        slow = of_metric(of_latency, "latency").filter(pl.col("latency") >= CALM_MAX_S)
        found |= set(slow["instance"].to_list())
    return found


def _series(time_s: IntArray, mean: FloatArray, metric: np.ndarray) -> dict[Metric, Series]:
    found = {}
    for name in sorted(set(metric.tolist())):
        rows = np.flatnonzero(metric == name)
        times, first = np.unique(time_s[rows], return_index=True)
        one = Metric(name)
        found[one] = Series(metric=one, step_s=60, time_s=times, value=mean[rows][first])
    return found


def _ratio(after: FloatArray, before: FloatArray) -> float:
    """Return the factor between two series of which one is the other in another unit."""
    used = before > 0
    return float(after[used][0] / before[used][0]) if used.any() else 1.0
