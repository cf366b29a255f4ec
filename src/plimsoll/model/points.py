"""Points of many series as columns: what a lake is given, many millions at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray, IntArray

SeriesKey = tuple[str, str, str, str]
"""Account, region, instance, and metric as a value of `Metric`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointColumns:
    """Points in the order in which they were read; arrays of shape (n,)."""

    series: Sequence[SeriesKey]
    """The series; two of them may be the same."""
    index: IntArray
    """Of the series of each point."""
    time_s: IntArray
    """Start of the step, epoch seconds."""
    sum: FloatArray
    """Of the samples of the step, in the unit of the metric."""
    count: FloatArray
    """Number of samples, > 0."""
    min: FloatArray
    max: FloatArray

    def __len__(self) -> int:
        """Return the number of points."""
        return int(self.index.size)

    def where(self, kept: BoolArray) -> "PointColumns":
        """Return the points for which `kept`, shape (n,), is true."""
        return PointColumns(
            series=self.series,
            index=self.index[kept],
            time_s=self.time_s[kept],
            sum=self.sum[kept],
            count=self.count[kept],
            min=self.min[kept],
            max=self.max[kept],
        )

    @classmethod
    def of(cls, parts: Iterable["PointColumns"]) -> "PointColumns":
        """Return the points of all parts, in order."""
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        series: list[SeriesKey] = []
        indexes: list[IntArray] = [np.empty(0, dtype=np.int64)]
        kept = [cls.empty()]
        for part in parts:
            indexes.append(part.index + len(series))
            series += part.series
            kept.append(part)
        return cls(
            series=series,
            index=np.concatenate(indexes),
            time_s=np.concatenate([part.time_s for part in kept]),
            sum=np.concatenate([part.sum for part in kept]),
            count=np.concatenate([part.count for part in kept]),
            min=np.concatenate([part.min for part in kept]),
            max=np.concatenate([part.max for part in kept]),
        )

    @classmethod
    def empty(cls) -> "PointColumns":
        """Return no points."""
        whole, real = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
        return cls(series=(), index=whole, time_s=whole, sum=real, count=real, min=real, max=real)
