"""Find the usual step of a series from its times."""

import numpy as np

from plimsoll.model.series import IntArray

LONGEST_STEP_S = 86_400
"""No export is coarser than a day; a longer difference is a gap."""

# One part in ten: a change of the period leaves thousands of differences of both kinds, so a tenth
# keeps the finer one even when it covers a day of a fortnight; stray late samples stay far below.
SHARE_OF_A_PERIOD = 0.1


def usual_step_s(time_s: IntArray) -> int | None:
    """
    Return the finest period that makes at least a tenth of the differences.

    With one period that is the most common difference. With mixed periods (CloudWatch keeps 60 s
    for 15 days, then 300 s) it is the finer one. Where no difference repeats that often, the most
    common one is taken, of equally common ones the shortest.

    Args:
        time_s: epoch seconds, in any order and with repetitions, shape (n,).

    Returns:
        Seconds, 1 to LONGEST_STEP_S; None for fewer than two times, or gaps only.
    """
    differences = np.diff(time_s)
    if differences.size and differences.min() < 0:
        differences = np.diff(np.sort(time_s))
    differences = differences[(differences > 0) & (differences <= LONGEST_STEP_S)]
    if not differences.size:
        return None
    counts = np.bincount(differences)  # counts[d]: how often d seconds lie between two samples
    frequent = np.flatnonzero(counts >= max(SHARE_OF_A_PERIOD * differences.size, 1))
    return int(frequent[0]) if frequent.size else int(np.argmax(counts))
