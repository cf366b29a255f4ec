"""Convert lists of JSON values to arrays."""

from collections.abc import Sequence

import numpy as np

from plimsoll.model.series import FloatArray


def floats(values: Sequence[object]) -> FloatArray:
    """
    Return the values as numbers, shape (n,); NaN where there is none, or an infinity.

    A text that is a number counts, since some tools quote them; a truth value does not.
    """
    if set(map(type, values)) <= {int, float}:
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            pass  # an integer beyond every float
    return np.array([_one(v) for v in values], dtype=np.float64)


def mean_of(total: FloatArray, count: FloatArray) -> FloatArray:
    """Sum ÷ count, shape (n,); NaN where there was no sample or the numbers are not finite."""
    mean = np.full(total.shape, np.nan)
    usable = (count > 0) & np.isfinite(count) & np.isfinite(total)
    with np.errstate(over="ignore"):
        np.divide(total, count, out=mean, where=usable)
    return mean


def _one(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
