"""
Turn values of many series into points: names become metrics, and numbers get our units.

Rule 1: a mean without a count is one sample: its count is 1, and its minimum and maximum are the mean.
Rule 2: a maximum, a minimum or a percentile alone does not show the mean, so it gives no point.
Rule 3: nothing is guessed: what cannot be used is counted in `ReadTally`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from plimsoll.model.metric import METRICS
from plimsoll.model.points import PointColumns, SeriesKey
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.reading.merge import MOST_OF_ANYTHING, MOST_RATIO
from plimsoll.sources.reading.names import recognise
from plimsoll.sources.reading.quantities import factor_of
from plimsoll.sources.reading.reading import Statistic

_IGNORED = ("AWS/EC2", "AWS/EBS")
_KINDS = tuple(Statistic)


class SeriesName(NamedTuple):
    """A series as a file names it."""

    account: str
    region: str
    instance: str
    name: str
    """Of the metric, as written."""
    unit: str | None = None
    namespace: str | None = None
    statistic: Statistic | None = None
    """None where the file does not say: an average."""


@dataclass(slots=True)
class ReadTally:
    """What of a file could not be used."""

    bad_points: int = 0
    """Points without a readable time, or whose value is no number, negative or impossible."""
    without_mean: int = 0
    """Points that have a maximum, a minimum or a percentile, but no mean."""
    unnamed: int = 0
    """Values or series that name no instance."""
    bad_lines: int = 0
    """Lines that are cut off or of another shape."""
    counters: int = 0
    """Series that count up, of which several make a metric."""
    unknown: dict[str, None] = field(default_factory=dict)
    """Names of metrics that Plimsoll does not use, in the order read."""


class _KnownSeriesName(NamedTuple):
    key: SeriesKey
    factor: float
    most: float
    statistic: Statistic


def points_of_values(
    names: list[SeriesName], index: IntArray, time_s: IntArray, value: FloatArray, tally: ReadTally
) -> PointColumns:
    """
    Return the usable values as points, in the order read.

    Args:
        names: the series; two may be one metric of one instance, with other statistics.
        index: of the series of each value, shape (n,).
        time_s: epoch seconds, shape (n,); 0 for a time that cannot be read.
        value: as written, shape (n,); NaN where something was written that is no number.
        tally: what cannot be used is counted in it.
    """
    series: dict[SeriesKey, int] = {}
    number = np.full(len(names), -1, dtype=np.int64)
    kind = np.zeros(len(names), dtype=np.int64)
    factor, most = np.ones(len(names)), np.ones(len(names))
    for place, name in enumerate(names):
        found = _known(name, tally)
        if found is not None:
            number[place] = series.setdefault(found.key, len(series))
            kind[place] = _KINDS.index(found.statistic)
            factor[place], most[place] = found.factor, found.most
    if not series:
        return PointColumns.empty()
    with np.errstate(over="ignore", invalid="ignore"):
        value = value * factor[index]
        used = number[index] >= 0
        good = used & (time_s > 0) & (value >= 0) & (value <= most[index])  # NaN compares false
    tally.bad_points += int(used.sum() - good.sum())
    index, time_s, value = index[good], time_s[good], value[good]
    # Rounding may put a percentage slightly above 100.
    value = np.where(most[index] == MOST_RATIO, np.minimum(value, 1.0), value)
    if kind[index].any():  # the first kind is the average
        return _of_statistics(list(series), number[index], time_s, value, kind[index], tally)
    return PointColumns(
        series=list(series),
        index=number[index],
        time_s=time_s,
        sum=value,
        count=np.ones(value.size),
        min=value,
        max=value,
    )


def _known(name: SeriesName, tally: ReadTally) -> _KnownSeriesName | None:
    named = recognise(name.name)
    if named.metric is None or name.namespace in _IGNORED:
        tally.unknown[name.name] = None
        return None
    factor = factor_of(name.unit or named.unit, named.metric, is_ours=named.is_ours)
    if factor is None:
        tally.unknown[f"{name.name} in '{name.unit or named.unit}'"] = None
        return None
    statistic = name.statistic or named.statistic or Statistic.AVERAGE
    most = MOST_RATIO if METRICS[named.metric].unit == "ratio" else MOST_OF_ANYTHING
    if statistic in (Statistic.SUM, Statistic.COUNT):
        most = MOST_OF_ANYTHING
    return _KnownSeriesName(
        (name.account, name.region, name.instance, named.metric.value),
        # A count of samples is a number, whatever the metric is measured in.
        1.0 if statistic is Statistic.COUNT else factor,
        most,
        statistic,
    )


def _of_statistics(
    series: list[SeriesKey], number: IntArray, time_s: IntArray, value: FloatArray, kind: IntArray, tally: ReadTally
) -> PointColumns:
    """Return one point for each series and time from its statistics, each a row; the last one counts."""
    rows = pl.DataFrame({"series": number, "time_s": time_s, "kind": kind, "value": value})
    wide = rows.group_by("series", "time_s", maintain_order=True).agg(
        pl.col("value").filter(pl.col("kind") == place).last().alias(one.value) for place, one in enumerate(_KINDS)
    )
    total, count, mean, least, most = (
        wide[one.value].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for one in (Statistic.SUM, Statistic.COUNT, Statistic.AVERAGE, Statistic.MINIMUM, Statistic.MAXIMUM)
    )
    has_count = count > 0
    count = np.where(has_count, count, 1.0)
    total = np.where(has_count & np.isfinite(total), total, mean * count)
    good: BoolArray = np.isfinite(total)
    tally.without_mean += int(good.size - good.sum())
    mean = total / count
    least, most = (np.where(np.isfinite(one), one, mean) for one in (least, most))
    return PointColumns(
        series=series,
        index=wide["series"].to_numpy()[good],
        time_s=wide["time_s"].to_numpy()[good],
        sum=total[good],
        count=count[good],
        min=least[good],
        max=most[good],
    )
