"""Find the busiest part of a window, which is worth reading by the second."""

import numpy as np

from plimsoll.model.series import Series


def busiest_stretch(parts: list[Series], window_s: tuple[int, int], length_s: int) -> tuple[int, int] | None:
    """
    Return the interval of a window in which the sum of the series was largest.

    Args:
        parts: rates to add, for example bytes read and bytes written per second.
        window_s: epoch seconds, [start, end).
        length_s: length of the interval, > 0.

    Returns:
        Epoch seconds, [start, end), within the window and at most `length_s` long, beginning with a
        sample; the last of equal ones. None if there is no sample.
    """
    assert length_s > 0
    filled = [s for s in parts if s.time_s.size]
    if not filled:
        return None
    time_s = np.unique(np.concatenate([s.time_s for s in filled]))
    # Weight each rate with the length of its step, so that series with different steps can be added.
    served = np.zeros(time_s.size)
    for series in filled:
        amount = np.where(np.isfinite(series.value), series.value, 0.0) * series.step_s
        served[np.searchsorted(time_s, series.time_s)] += amount
    total = np.concatenate(([0.0], np.cumsum(served)))
    ends = np.searchsorted(time_s, time_s + length_s, side="left")
    within = total[ends] - total[:-1]
    # An interval that begins late would reach beyond the window, and contains no more than an earlier one.
    fits = time_s + length_s <= max(window_s[1], int(time_s[0]) + length_s)
    within = np.where(fits, within, -1.0)
    at = time_s.size - 1 - int(np.argmax(within[::-1]))
    start_s = int(time_s[at])
    return start_s, min(start_s + length_s, max(window_s[1], start_s + 1))
