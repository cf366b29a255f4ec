"""
The rule for *now*, shared by headline, table and JSON: a ceiling binds now if it binds at the window's end.

Nothing here reads a clock. A report of an old file gives the date of that end, and a live report is as
recent as its last sample.
"""

from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Interval

STOPPING = Family.STORAGE_SPACE
"""The limit at which a database stands; at every other one it works on, more slowly. Now it comes before all others."""
# Balances come every five minutes, so the window may end that much later than the rates do.
NOW_S = 300


def open_at(diagnosis: Diagnosis) -> CeilingTime | None:
    """Return the ceiling that binds at the end of the window; of several, the one that bound longest."""
    still = {limit_key(i) for i in diagnosis.intervals if reaches_end(diagnosis, i.end_s)}
    return next((at for at in diagnosis.time_at if limit_key(at) in still), None)


def reaches_end(diagnosis: Diagnosis, end_s: int) -> bool:
    """Return whether something that ended at `end_s` lasted to the end of the window."""
    # One step, or ten short ones: the last sample of a minute may be late.
    late_s = max(diagnosis.step_s, min(NOW_S, 10 * diagnosis.step_s))
    return end_s >= diagnosis.window_s[1] - late_s


def intervals_at(diagnosis: Diagnosis, at: CeilingTime) -> tuple[Interval, ...]:
    """Return the intervals at one ceiling, in order of time."""
    return tuple(i for i in diagnosis.intervals if limit_key(i) == limit_key(at))


def limit_key(at: Interval | CeilingTime) -> tuple[object, ...]:
    """Return a key that is equal for all intervals at one ceiling; unknown limits differ by their level."""
    bound = at.ceiling
    where = (bound.family, bound.phase, bound.value) if bound else (round(at.level),)
    return (at.dimension, *where)


def second_of(diagnosis: Diagnosis) -> CeilingTime | None:
    """
    Return another limit that bound for at least half as long as the binding one, and still applies; None without.

    The burst before a baseline is the same limit.
    """
    binding = diagnosis.binding
    if binding is None:
        return None
    others = (at for at in diagnosis.time_at if at.family is not binding.family and at.over_s is None)
    return next((at for at in others if 2 * at.seconds >= binding.seconds), None)
