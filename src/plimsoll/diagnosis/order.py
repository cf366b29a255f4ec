"""Medians and quantiles of known values, with the results of numpy's functions and without their checks."""

import numpy as np

from plimsoll.model.series import FloatArray


def median(values: FloatArray) -> float:
    """
    Return the median; it is `np.median` to the last bit.

    Args:
        values: not NaN, shape (n,), n ≥ 1.
    """
    upper = values.size // 2
    # numpy finds two neighbours several times as fast as one value.
    ordered = np.partition(values, (max(upper - 1, 0), upper))
    if values.size % 2:
        return float(ordered[upper])
    return (float(ordered[upper - 1]) + float(ordered[upper])) / 2


def quantile(values: FloatArray, share: float) -> float:
    """
    Return the value below which a share of the values lies, between two of them by linear interpolation.

    It is `np.quantile` to the last bit, which also looks for the least, the largest and NaN: that takes
    three times as long.

    Args:
        values: not NaN, shape (n,), n ≥ 1.
        share: 0–1.

    Source:
        Hyndman and Fan (1996), definition 7.
    """
    place = (values.size - 1) * share
    below = int(place)
    if below + 1 >= values.size:
        return float(values.max())
    ordered = np.partition(values, (below, below + 1))
    low, high, part = float(ordered[below]), float(ordered[below + 1]), place - below
    # From the nearer one, as numpy does, so that rounding is the same.
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part
