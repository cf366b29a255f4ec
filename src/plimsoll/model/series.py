"""A measured series. An average over a step is not its peak, and a gap is not a zero."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll.model.metric import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One metric over time."""

    metric: Metric
    """What was measured; its unit is `METRICS[metric].unit`."""
    step_s: int
    """Length of the usual step in seconds, > 0; each sample covers [time_s, time_s + its step)."""
    time_s: IntArray
    """Start of each sample's step, epoch seconds UTC, strictly increasing, shape (n,)."""
    value: FloatArray
    """Mean over the step, shape (n,); NaN where the sample has no value."""

    def __post_init__(self) -> None:
        """Check that the series is in order; sources sort and deduplicate, so a failure is our mistake."""
        assert self.step_s > 0
        assert self.time_s.shape == self.value.shape
        assert self.time_s.ndim == 1
        assert self.time_s.size < 2 or bool((self.time_s[1:] > self.time_s[:-1]).all())

    def __eq__(self, other: object) -> bool:
        """Return whether metric, steps and values are equal, with NaN equal to NaN."""
        if not isinstance(other, Series):
            return NotImplemented
        return (
            self.metric == other.metric
            and self.step_s == other.step_s
            and np.array_equal(self.time_s, other.time_s)
            and np.array_equal(self.value, other.value, equal_nan=True)
        )

    def __hash__(self) -> int:
        """Return a hash of metric, step and size, which takes no time for long series."""
        return hash((self.metric, self.step_s, self.time_s.size))
