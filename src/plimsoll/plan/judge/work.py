"""
The time that the served work would take under other ceilings.

Demand at a ceiling was not measured, but the work that was done was measured exactly. So the duration of
the same work needs no assumption. It is the full answer for jobs (loads, refreshes, vacuums), which end
when their work is done.

Rule 1: a job is the work served at a ceiling, with the burst just before it and the short pauses
        within. It starts when it started in the window.
Rule 2: work served at a ceiling is done as fast as a chain allows. Work served below a ceiling keeps its
        time, because something else set its pace. A pause is such a time.
Rule 3: a task starts when the one before it is done, so the time saved by a faster class earns no
        credits. Between jobs the clock runs on, as between two nights.
Rule 4: the current setup and other setups use the same function, so that equal limits take equal time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike

from plimsoll.diagnosis.frame import runs_of
from plimsoll.kernel import Replay, Stage, replay
from plimsoll.model.plan import WorkTime
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.demand.throttled import CLEAR, JOINED_S, TURN_STEPS
from plimsoll.plan.judge.effect import started

# Queued work is submitted at twice the maximum rate of the chain: it waits from its first moment to its
# last, so that the time with waiting requests is its duration.
_AT_ONCE = 2.0
# A chain whose burst is more than this many times its baseline is not one that EC2 or EBS has
# (the widest, db.t4g.micro, has 24); the time at such a baseline is not worth replaying.
_RATIO_MAX = 10_000
# Levels are known to a percent, ends to a step, credits to a few percent of a bucket: if a replay is off by
# more than a tenth, something other than a documented limit set the pace.
_EXPLAINED_RATIO = 0.1
# Times within a billionth of a step are the same moment.
_SAME_MOMENT = 1e-9
# Rounding leaves less than a thousandth of an operation of a pile.
_DONE_OPS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A part of a job: steps [start, end) of the window."""

    start: int
    end: int
    is_held: bool
    """Whether a ceiling set its pace; otherwise it takes the time it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Tasks that follow each other without a long pause."""

    tasks: tuple[Task, ...]

    @property
    def start(self) -> int:
        """Return its first step."""
        return self.tasks[0].start

    @property
    def end(self) -> int:
        """Return the step after its last."""
        return self.tasks[-1].end


# Each option of a plan asks for the jobs of the same demand.
@lru_cache(maxsize=2)
def jobs_of(demand: Demand) -> tuple[Job, ...]:
    """Return the jobs of a window, in order of time; none where nothing was throttled."""
    pause = max(int(JOINED_S / demand.step_s), TURN_STEPS)
    groups: list[list[tuple[int, int]]] = []
    for start, end in _joined(runs_of(demand.is_held_back).tolist(), TURN_STEPS):
        begin = _begin(demand, start, end)
        if groups and begin - groups[-1][-1][1] <= pause:
            groups[-1].append((start, end))
        else:
            groups.append([(start, end)])
    return tuple(Job(tasks=tuple(_tasks(demand, group))) for group in groups)


def work_of(demand: Demand, chain: Sequence[Stage], *, growth: float = 1.0) -> WorkTime | None:
    """
    Return the duration of a window's jobs under a chain; None where nothing was throttled.

    Args:
        demand: as recovered.
        chain: ceilings in series.
        growth: times the work.
    """
    jobs = jobs_of(demand)
    if not jobs or not chain:
        return None
    # The least credits on every arrangement: their times are compared with each other.
    stages = started(demand, chain, is_generous=False)
    chained_s = _ChainClock(demand, stages, growth).seconds(jobs)
    if not np.isfinite(chained_s):
        return None
    independent_s = _independent_s(demand, stages, jobs, growth)
    # Tasks that overlap because they take longer than they did count once.
    return WorkTime(chained_minutes=chained_s / 60, independent_minutes=min(independent_s, chained_s) / 60)


def seconds_seen(demand: Demand) -> float:
    """Return the measured duration of a window's jobs, seconds."""
    return sum(job.end - job.start for job in jobs_of(demand)) * demand.step_s


def unexplained_of(demand: Demand, present: WorkTime | None) -> tuple[str, ...]:
    """
    Return a sentence if the current limits do not explain the duration of the jobs.

    Args:
        demand: as recovered.
        present: the same work, replayed with the current setup.
    """
    seen_minutes = seconds_seen(demand) / 60
    if present is None:
        return ()
    if abs(present.chained_minutes - seen_minutes) <= _EXPLAINED_RATIO * seen_minutes:
        return ()
    took = _span(seen_minutes, seen_minutes)
    takes = _span(present.chained_minutes, seen_minutes)
    text = (
        f"The work at a ceiling took {took}; with the documented limits of the current setup it would "
        f"take {takes}. Something else, for example CPU, may slow it too, also on other setups."
    )
    return (text,)


def text_of(before: WorkTime, after: WorkTime) -> str:
    """
    Return `5.4 h instead of 12.1 h`, with the duration if tasks keep their start times.

    Args:
        before: of the current setup.
        after: of the other setup.
    """
    whole = before.chained_minutes
    text = f"{_span(after.chained_minutes, whole)} instead of {_span(whole, whole)}"
    independent = _span(after.independent_minutes, whole)
    if independent == _span(after.chained_minutes, whole):
        return text
    return f"{text} ({independent} if each task keeps its start time)"


def _span(minutes: float, whole: float) -> str:
    """Return a duration in hours if it is at least one and the whole is long, else in minutes."""
    is_long = whole >= 120 and minutes >= 60
    return f"{minutes / 60:,.1f} h" if is_long else f"{minutes:,.0f} min"


class _ChainClock:
    """The clock of a chain: the present moment, and the credits at that moment."""

    def __init__(self, demand: Demand, chain: tuple[Stage, ...], growth: float) -> None:
        self._demand = demand
        self._ops = demand.served_ops_per_s * growth
        self._chain = chain
        self._balances = [stage.balance_at_start for stage in chain]
        self._now_s = 0.0

    def seconds(self, jobs: Sequence[Job]) -> float:
        """Return the total duration of some jobs; infinite where one is never done."""
        total_s, before = 0.0, 0
        for job in jobs:
            self._wait(before, job.start)
            start_s = self._now_s
            for task in job.tasks:
                self._do(task)
            total_s += self._now_s - start_s
            before = job.end
            if self._now_s == inf:
                break
        return total_s

    def _do(self, task: Task) -> None:
        here = slice(task.start, task.end)
        ops, size = self._ops[here], self._demand.io_size_bytes[here]
        if task.is_held:
            self._pile(float(ops.sum()) * self._demand.step_s, _mean_size(ops, size))
        else:
            self._follow(ops, size)

    def _wait(self, start: int, end: int) -> None:
        """Advance to a step, and serve the work in between at its own pace."""
        step_s = self._demand.step_s
        at = start
        while at < end and self._now_s < inf:
            # If a job took longer than in the window, work that arrived in that time waits for its end.
            late = min(max(ceil(self._now_s / step_s - _SAME_MOMENT), at), end)
            if late > at:
                missed = slice(at, late)
                ops, size = self._ops[missed], self._demand.io_size_bytes[missed]
                self._pile(float(ops.sum()) * step_s, _mean_size(ops, size))
                at = late
                continue
            self._idle(at * step_s - self._now_s)
            self._follow(self._ops[at:end], self._demand.io_size_bytes[at:end])
            at = end
        self._idle(end * step_s - self._now_s)

    def _idle(self, seconds: float) -> None:
        if seconds > 0:
            found = self._replayed([0.0], 1.0, seconds)
            self._pass(seconds, found.balance[:, -1])

    def _follow(self, ops: FloatArray, size: FloatArray) -> None:
        """Serve work at its own pace, then the backlog that is left."""
        step_s = self._demand.step_s
        if not ops.size:
            return
        found = self._replayed(ops, size, step_s)
        self._pass(ops.size * step_s, found.balance[:, -1])
        left = float(found.backlog_ops[-1])
        if left > _DONE_OPS:
            self._pile(left, float(found.backlog_bytes[-1]) / left)

    def _pile(self, ops: float, size: float) -> None:
        """Serve queued work as fast as the chain allows."""
        if ops <= _DONE_OPS or self._now_s == inf:
            return
        at_most = min(stage.ceiling_ops_per_s(size, burst=True) for stage in self._chain)
        for_good = min(stage.ceiling_ops_per_s(size) for stage in self._chain)
        if for_good <= 0 or at_most / for_good > _RATIO_MAX:
            self._now_s = inf
            return
        # The steps are short enough for a resolution of half the fastest time, and there are enough of
        # them for the slowest, at the baseline.
        step_s = ops / at_most / _AT_ONCE
        asked = np.zeros(ceil(_AT_ONCE * at_most / for_good) + 2)
        asked[0] = ops / step_s
        found = self._replayed(asked, size, step_s)
        needed_s = float(found.throttled_ratio.sum()) * step_s
        # The same work over the same time leaves the same credits; a step may end when it ends.
        found = self._replayed([ops / needed_s], size, needed_s)
        self._pass(needed_s, found.balance[:, -1])

    def _replayed(self, ops_per_s: ArrayLike, size: ArrayLike, step_s: float) -> Replay:
        """Return a replay that begins with the present credits."""
        return replay(ops_per_s, size, step_s=step_s, chain=self._chain, balances=self._balances)

    def _pass(self, seconds: float, balance: FloatArray) -> None:
        self._now_s += seconds
        self._balances = [min(float(left), stage.capacity) for stage, left in zip(self._chain, balance, strict=True)]


def _independent_s(demand: Demand, chain: tuple[Stage, ...], jobs: Sequence[Job], growth: float) -> float:
    """
    Return the duration of the jobs if every task keeps its start time and its work is there at once.

    Credits are then earned in the time that a faster class leaves idle.
    """
    ops, size = demand.served_ops_per_s.copy(), demand.io_size_bytes
    keeps_time = np.zeros(ops.size, dtype=np.bool_)
    for job in jobs:
        for task in job.tasks:
            here = slice(task.start, task.end)
            if not task.is_held:
                keeps_time[here] = True
                continue
            # In bytes, so that a size that drifts within the task adds no work.
            whole = float((ops[here] * size[here]).sum())
            ops[here] = 0.0
            ops[task.start] = whole / size[task.start]
    found = replay(ops * growth, size, step_s=demand.step_s, chain=chain)
    return float(np.maximum(found.throttled_ratio, keeps_time).sum()) * demand.step_s


def _tasks(demand: Demand, held: Sequence[tuple[int, int]]) -> Iterator[Task]:
    """Yield the throttled tasks, and those before and between them at their own pace."""
    at = min(_begin(demand, start, end) for start, end in held)
    for start, end in held:
        if at < start:
            yield Task(start=at, end=start, is_held=False)
        yield Task(start=start, end=end, is_held=True)
        at = end


def _joined(runs: Sequence[list[int]], gap: int) -> Iterator[tuple[int, int]]:
    """Yield the runs, joined where no more than a few steps lie between them."""
    last: tuple[int, int] | None = None
    for start, end in runs:
        if last is not None and start - last[1] <= gap:
            last = last[0], end
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _begin(demand: Demand, start: int, end: int) -> int:
    """Return the first step of a job that was throttled from `start` on, including its burst on credits."""
    served = demand.served_bytes_per_s
    # Credits show as a rate above the ceiling that followed, so the job began where that rate
    # began.
    level = float(np.median(served[start:end]))
    is_below: BoolArray = served[:start] <= CLEAR * level
    before = np.flatnonzero(is_below)
    return int(before[-1]) + 1 if before.size else 0


def _mean_size(ops: FloatArray, size: FloatArray) -> float:
    return float(np.average(size, weights=ops)) if ops.sum() > 0 else float(size.mean())
