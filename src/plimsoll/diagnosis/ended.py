"""
Limits that are over: after their last interval clearly more was served than they let through.

Advice is for the present. A class, a storage type or a legacy limit that was changed in the window shows in what is
served since, also where no event tells of the change.
"""

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.frame import Frame
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import CeilingTime, Interval
from plimsoll.model.now import STOPPING, limit_key
from plimsoll.model.series import Series
from plimsoll.units import format_bytes_per_s, format_clock, format_duration, format_ops_per_s

# A tenth above, for minutes: more than an enforced rate varies.
ABOVE_RATIO = 1.1
ABOVE_MIN_S = 300.0
# A burst between two jobs is no change; so long the limit must not have come back.
QUIET_S = 3600.0


def with_ends(
    time_at: tuple[CeilingTime, ...], intervals: tuple[Interval, ...], frame: Frame | None, space: Series | None
) -> tuple[CeilingTime, ...]:
    """
    Return the times at ceilings; those that are over get the moment of their end.

    A baseline is left out: with new credits more is served, and it binds again. A disk has space again because somebody
    made it; the other maxima of a machine come and go with the load.

    Args:
        time_at: by ceiling.
        intervals: of all ceilings.
        frame: of the whole window; None where storage was not measured.
        space: free space of the whole window; None where it was not measured.
    """
    if frame is None:
        return time_at
    return tuple(replace(at, over_s=_end_of(at, intervals, frame, space)) for at in time_at)


def _end_of(at: CeilingTime, intervals: tuple[Interval, ...], frame: Frame, space: Series | None) -> int | None:
    mine = [i for i in intervals if limit_key(i) == limit_key(at)]
    end_s = max(i.end_s for i in mine)
    if at.family is STOPPING:
        # Space that is not measured any more is no space.
        if space is None:
            return None
        is_measured = np.isfinite(space.value) & (space.time_s >= end_s)
        return end_s if np.count_nonzero(is_measured) * space.step_s >= QUIET_S else None
    bucket = at.ceiling.bucket_phase if at.ceiling else Phase.FIXED
    if at.dimension is Dimension.AMOUNT or (bucket is not Phase.FIXED and at.phase is not Phase.LEGACY):
        return None
    later = frame.time_s >= end_s
    rate = frame.bytes_per_s if at.dimension is Dimension.THROUGHPUT else frame.ops_per_s
    known = later & np.isfinite(rate)
    above = known & (np.nan_to_num(rate, nan=0.0) > ABOVE_RATIO * at.level)
    is_over = float(frame.width_s[known].sum()) >= QUIET_S and float(frame.width_s[above].sum()) >= ABOVE_MIN_S
    return end_s if is_over else None


def over_move(at: CeilingTime, window_end_s: int) -> str:
    """Return the first step for a limit that is over; empty for one that is not."""
    if at.over_s is None:
        return ""
    ago = format_duration(window_end_s - at.over_s)
    if at.dimension is Dimension.AMOUNT:
        return (
            f"The disk has had space again since {format_clock(at.over_s)}, {ago} before the end of the window. Find out "
            "what filled it, and set an alarm on FreeStorageSpace."
        )
    level = (format_bytes_per_s if at.dimension is Dimension.THROUGHPUT else format_ops_per_s)(at.level)
    return (
        f"Buy nothing for it: this limit ended {ago} before the end of the window, at {format_clock(at.over_s)}, and "
        f"more than {level} was served since."
    )
