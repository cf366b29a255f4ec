"""
Whether the same work would fit if it were spread over the day: nothing is bought, only moved.

Credits arrive all day and are spent in an hour; work that keeps below the baseline on average can be
done without waiting if it is given time enough. What is moved is what was served at a ceiling, less
what the rest of the load does at such a time; how much there is of it was seen to the byte.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import runs_of
from plimsoll.kernel import Stage, replay
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand import Demand
from plimsoll.plan.effect import started
from plimsoll.units import format_bytes

DAY_S = 86_400
HOURS = 24
# A load half as large again as usual is more than the day's own waves from one minute to the next.
BUSIER = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A window of the day in which the held-back work would pass."""

    hours: int
    """Length of the window, 1–24; the shortest that suffices."""
    start_s: int
    """Seconds since midnight UTC at which it begins."""
    ratio_at_ceiling: float
    """Share 0–1 of the measured time that would still be spent at a ceiling."""
    text: str
    """A sentence for people."""


def spread_of(
    demand: Demand, chain: Sequence[Stage], *, allowed_ratio: float = 0.01, growth: float = 1.0
) -> Spread | None:
    """
    The shortest window of the day over which the work could be spread evenly to pass a chain.

    Args:
        demand: as recovered.
        chain: the ceilings as they are; their documented capacities.
        allowed_ratio: share 0–1 of the measured time that may be spent at a ceiling.
        growth: times the work.

    Returns:
        None where nothing was held back, where the mean is not below every baseline, or where even
        a whole day is too short.
    """
    if not chain or not demand.is_held_back.any():
        return None
    rest, moved = _parts(demand, growth)
    if not _is_below_baselines(rest + moved, demand, chain):
        return None
    stages = started(demand, chain, is_generous=False)
    for hours in range(1, HOURS + 1):
        evenly, start_s = _evenly(demand, moved, hours)
        found = replay(
            rest + evenly, demand.io_size_bytes, step_s=demand.step_s, chain=stages, carry=True
        )
        ratio = float(found.throttled_ratio[demand.is_measured].mean())
        if ratio < allowed_ratio:
            return Spread(
                hours=hours,
                start_s=start_s,
                ratio_at_ceiling=ratio,
                text=_text(demand, moved, hours, start_s),
            )
    return None


def _parts(demand: Demand, growth: float) -> tuple[FloatArray, FloatArray]:
    """
    What stays where it is, and what can be moved, ops/s; together they are what was served.

    The work that was held back began before its ceiling bound, while credits lasted, and may go on
    after: all of the stretch in which more was served than usual is moved with it.
    """
    served = demand.served_ops_per_s * growth
    free = served[demand.is_measured & ~demand.is_held_back]
    usual = float(np.median(free)) if free.size else 0.0
    busy = served > BUSIER * usual
    rest = served.copy()
    for start, end in runs_of(busy | demand.is_held_back):
        if demand.is_held_back[start:end].any():
            rest[start:end] = np.minimum(served[start:end], usual)
    return rest, served - rest


def _is_below_baselines(ops: FloatArray, demand: Demand, chain: Sequence[Stage]) -> bool:
    size = demand.io_size_bytes
    means = {"bytes": float((ops * size).mean()), "ops": float(ops.mean())}
    return all(means[stage.counts] < stage.baseline * stage.stripes for stage in chain)


def _evenly(demand: Demand, moved: FloatArray, hours: int) -> tuple[FloatArray, int]:
    """
    Each day's moved work over the same hours of that day, and when they begin.

    Days are cut at the hour that has the least of it, so that a night's work stays one day's. The rate
    is that of a whole window, also where the measured time ends in it.
    """
    since = demand.time_s % DAY_S
    by_hour = np.bincount(since // 3600, weights=moved, minlength=HOURS)
    cut = 3600 * int(np.argmin(by_hour))
    day = (demand.time_s - cut) // DAY_S
    days = np.unique(day[moved > 0])
    begun = [int(demand.time_s[(day == one) & (moved > 0)][0] - cut) % DAY_S for one in days]
    start_s = (cut + int(np.median(begun)) // 3600 * 3600) % DAY_S
    steps = hours * 3600 / demand.step_s
    out = np.zeros(moved.size)
    for one in days:
        first = int(one) * DAY_S + cut + (start_s - cut) % DAY_S
        room = (demand.time_s >= first) & (demand.time_s < first + hours * 3600)
        out[room] += float(moved[day == one].sum()) / steps
    return out, start_s


def _text(demand: Demand, moved: FloatArray, hours: int, start_s: int) -> str:
    total = float((moved * demand.io_size_bytes).sum()) * demand.step_s
    days = max(demand.time_s.size * demand.step_s / DAY_S, 1.0)
    clock = f"{start_s // 3600:02d}:00"
    return (
        f"the {format_bytes(total / days)} a day that ran into the ceiling would pass if they were "
        f"spread evenly over {hours} h from {clock} UTC"
    )
