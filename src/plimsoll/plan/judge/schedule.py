"""
The schedule option: the same work spread over the day, without any purchase.

Credits arrive all day and are spent in an hour. Work with a mean rate below the baseline can be done
without waiting if it gets enough time. The moved work is the work served at a ceiling, minus the usual
rate of the rest of the load. Its amount was measured exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from plimsoll.diagnosis.frame import runs_of
from plimsoll.kernel import Stage, replay
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.judge.effect import started
from plimsoll.plan.judge.work import jobs_of
from plimsoll.units import format_bytes

DAY_S = 86_400
# Work is spread over whole hours of a day.
HOURS = 24
# A load half as large again as usual is more than the day's own waves from one minute to the next.
BUSIER = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpread:
    """A window of the day in which the throttled work would pass."""

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
) -> LoadSpread | None:
    """
    Return the shortest window of the day over which the work could be spread evenly to pass a chain.

    Args:
        demand: as recovered.
        chain: the ceilings as they are; their documented capacities.
        allowed_ratio: share 0–1 of these hours that may be spent at a ceiling.
        growth: times the work.

    Returns:
        None where nothing was throttled or can be moved, where the mean is not below every baseline, or
        where even a whole day is too short. Never fewer hours than the work took.
    """
    if not chain or not demand.is_held_back.any():
        return None
    rest, moved = _parts(demand, growth)
    # Credits shift work in time but add no rate: however it is spread, work needs its mean rate.
    if not moved.ops.any() or not _is_below_baselines(demand, growth, chain):
        return None
    stages = started(demand, chain, is_generous=False)
    days = _days_of(demand, moved)
    # The fewest hours first: a shorter window is less of a restriction for the owner of the work.
    for hours in range(_hours_taken(demand, moved, days), HOURS + 1):
        evenly = _evenly(demand, moved, days, hours)
        ops, size = _together(rest, evenly, demand)
        found = replay(ops, size, step_s=demand.step_s, chain=stages, carry=True)
        # Only these hours count: over a long window, one whole night at the ceiling would be a small share.
        in_hours = demand.is_measured & (evenly.ops > 0)
        if in_hours.any() and float(found.throttled_ratio[in_hours].mean()) < allowed_ratio:
            ratio = float(found.throttled_ratio[demand.is_measured].mean())
            return LoadSpread(
                hours=hours, start_s=days.start_s, ratio_at_ceiling=ratio, text=_text(demand, moved, days, hours)
            )
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Operations and bytes per second, shape (n,); of requests that differ in size."""

    ops: FloatArray
    bytes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Days:
    """Days with their boundary at the hour with the least moved work, so that a night stays in one day."""

    of: IntArray
    """Day of each step, shape (n,)."""
    busy: IntArray
    """Days with work to move."""
    cut_s: int
    """Seconds since midnight UTC at which days are cut."""
    start_s: int
    """The same at which the work usually begins, at a full hour."""


def _parts(demand: Demand, growth: float) -> tuple[_Work, _Work]:
    """
    Return the work that stays and the work that can be moved; their sum is the served work.

    Throttled work began before its ceiling bound, while credits lasted, and may go on after. So the
    whole stretch with more than the usual rate is moved with it. The usual rate is measured outside of
    jobs, in bytes, because other work has requests of another size.
    """
    ops, served = demand.served_ops_per_s * growth, demand.served_bytes_per_s * growth
    is_free = demand.is_measured & ~demand.is_held_back
    for job in jobs_of(demand):
        is_free[job.start : job.end] = False
    # If the load was never measured without the job, the rest is unknown, and all counts as the job's.
    usual = float(np.median(served[is_free])) if is_free.any() else 0.0
    stays = np.ones(ops.size)
    busy = served > BUSIER * usual
    for start, end in runs_of(busy | demand.is_held_back):
        if demand.is_held_back[start:end].any():
            part = served[start:end]
            stays[start:end] = np.minimum(usual / np.maximum(part, 1e-9), 1.0)
    return _Work(ops * stays, served * stays), _Work(ops * (1 - stays), served * (1 - stays))


def _is_below_baselines(demand: Demand, growth: float, chain: Sequence[Stage]) -> bool:
    means = {
        "bytes": float(demand.served_bytes_per_s.mean()) * growth,
        "ops": float(demand.served_ops_per_s.mean()) * growth,
    }
    return all(means[stage.counts] < stage.baseline * stage.stripes for stage in chain)


def _days_of(demand: Demand, moved: _Work) -> _Days:
    """Return the days of a window, and the usual start of their work."""
    since = demand.time_s % DAY_S
    by_hour = np.bincount(since // 3600, weights=moved.bytes, minlength=HOURS)
    # Cut where the least is moved, so that work across midnight stays one night's work.
    cut = 3600 * int(np.argmin(by_hour))
    day = (demand.time_s - cut) // DAY_S
    busy = np.unique(day[moved.ops > 0])
    begun = [int(demand.time_s[(day == one) & (moved.ops > 0)][0] - cut) % DAY_S for one in busy]
    # The median night, so that one late start moves no window; whole hours are what schedulers
    # take.
    start_s = (cut + int(np.median(begun)) // 3600 * 3600) % DAY_S
    return _Days(of=day, busy=busy, cut_s=cut, start_s=start_s)


def _hours_taken(demand: Demand, moved: _Work, days: _Days) -> int:
    """Return the hours that the longest day's work took, which is the least window."""
    steps = [np.count_nonzero((days.of == one) & (moved.ops > 0)) for one in days.busy]
    return max(ceil(max(steps) * demand.step_s / 3600), 1)


def _evenly(demand: Demand, moved: _Work, days: _Days, hours: int) -> _Work:
    """
    Return each day's moved work over the same hours of that day.

    The rate is that of a whole window, also where the measured time ends in it.
    """
    steps = hours * 3600 / demand.step_s
    out = _Work(np.zeros(moved.ops.size), np.zeros(moved.ops.size))
    for one in days.busy:
        first = int(one) * DAY_S + days.cut_s + (days.start_s - days.cut_s) % DAY_S
        room = (demand.time_s >= first) & (demand.time_s < first + hours * 3600)
        out.ops[room] += float(moved.ops[days.of == one].sum()) / steps
        out.bytes[room] += float(moved.bytes[days.of == one].sum()) / steps
    return out


def _together(rest: _Work, evenly: _Work, demand: Demand) -> tuple[FloatArray, FloatArray]:
    """Return the operations of both, and their mean size."""
    ops, served = rest.ops + evenly.ops, rest.bytes + evenly.bytes
    with np.errstate(all="ignore"):
        return ops, np.where(ops > 0, served / ops, demand.io_size_bytes)


def _text(demand: Demand, moved: _Work, days: _Days, hours: int) -> str:
    total = float(moved.bytes.sum()) * demand.step_s
    count = days.busy.size
    what = f"{format_bytes(total / count)} a day" if count > 1 else format_bytes(total)
    clock = f"{days.start_s // 3600:02d}:00"
    return (
        f"the {what} of work at the ceiling fits under the limits if you spread it evenly over "
        f"{hours} h from {clock} UTC"
    )
