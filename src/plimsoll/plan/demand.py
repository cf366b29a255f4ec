"""
What a load asked for, recovered from what it was served.

While nothing bound, demand is what was served. While a ceiling bound it was more, and how much more
is a question with several answers: every one that is plausible is a *path* with a weight (overload.py
says which, and why). Equal inputs give equal bytes: paths are quantiles, nothing is thrown.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Band, DemandSummary, Loop
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.held import Held, Run, Seen, Stretch, held_of, seen_of
from plimsoll.plan.overload import Habit, is_seen, middles, overloads_of

# Which habit a load has is not told by storage metrics: a third each.
HABIT_WEIGHT: Mapping[Habit, float] = {Habit.LOST: 1 / 3, Habit.JOB: 1 / 3, Habit.CLIENTS: 1 / 3}
QUANTILES: Mapping[Habit, int] = {Habit.LOST: 12, Habit.JOB: 6, Habit.CLIENTS: 12}
# The printed band holds the demand of nine in ten plausible paths.
BAND = (0.05, 0.5, 0.95)
# With less than a twentieth of the window free of ceilings, what the load does at liberty is not known.
FREE_RATIO = 0.05
BALANCES: Mapping[Family, Metric] = {
    Family.INSTANCE_EBS_THROUGHPUT: Metric.BYTE_BALANCE_RATIO,
    Family.INSTANCE_EBS_IOPS: Metric.IO_BALANCE_RATIO,
    Family.VOLUME_IOPS: Metric.VOLUME_BALANCE_RATIO,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """One plausible demand."""

    ops_per_s: FloatArray
    """Shape (n,), finite, ≥ 0; gaps are filled and never counted."""
    is_carried: bool
    """Whether what is not served waits (True) or is not asked again (False)."""
    weight: float
    """Share 0–1 of belief."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Demand of one window; arrays of shape (n,)."""

    step_s: float
    time_s: IntArray
    is_measured: BoolArray
    is_held_back: BoolArray
    served_ops_per_s: FloatArray
    served_bytes_per_s: FloatArray
    io_size_bytes: FloatArray
    base_latency_s: FloatArray
    """What a request takes when nothing waits; NaN where unknown."""
    latency_s: FloatArray
    """What it took; NaN where unknown."""
    balance_at_start: Mapping[str, float]
    """Share 0–1 of each bucket that was full when the window began, by stage name, where measured."""
    paths: tuple[Path, ...]
    low: Path
    """At least this was asked for."""
    middle: Path
    high: Path
    """More than this is not plausible."""
    is_free_seen: bool
    """Whether everything that was held back was also seen, or can be bounded, at liberty."""
    summary: DemandSummary


def recover(snapshot: Snapshot, diagnosis: Diagnosis, *, growth: float = 1.0) -> Demand:
    """
    The demand behind what was served.

    Args:
        snapshot: the measured window.
        diagnosis: of that same window.
        growth: what demand is multiplied with, > 0; the paths and the summary's peaks are grown,
            what was served is not.

    Raises:
        DataError: storage was not measured.
        UsageError: a growth that is not a positive number.
    """
    if not 0 < growth < np.inf:
        raise UsageError(
            f"demand cannot grow to {growth:g} times what it is",
            "Give a positive factor, such as --growth 2x.",
        )
    seen = seen_of(snapshot)
    held = held_of(seen, diagnosis)
    paths = _paths(seen, held, growth)
    low, middle, high = _chosen(paths)
    is_free_seen = all(is_seen(stretch) for stretch in held.stretches)
    return Demand(
        step_s=seen.step_s,
        time_s=seen.time_s,
        is_measured=seen.is_measured,
        is_held_back=held.is_held,
        served_ops_per_s=seen.ops_per_s,
        served_bytes_per_s=seen.ops_per_s * seen.io_size_bytes,
        io_size_bytes=seen.io_size_bytes,
        base_latency_s=seen.base_latency_s,
        latency_s=seen.latency_s,
        balance_at_start=_balances(snapshot, seen),
        paths=paths,
        low=low,
        middle=middle,
        high=high,
        is_free_seen=is_free_seen,
        summary=_summary(seen, held, (low, middle, high), is_free_seen=is_free_seen),
    )


def _balances(snapshot: Snapshot, seen: Seen) -> dict[str, float]:
    """The first reading of each balance, if it is of the window's first hour."""
    found = {}
    for family, metric in BALANCES.items():
        series = snapshot.series.get(metric)
        if series is None or not series.time_s.size:
            continue
        if series.time_s[0] - seen.time_s[0] <= 3600 and np.isfinite(series.value[0]):
            found[family.value] = float(np.clip(series.value[0], 0.0, 1.0))
    return found


def _paths(seen: Seen, held: Held, growth: float) -> tuple[Path, ...]:
    if not held.stretches:
        return (Path(ops_per_s=seen.ops_per_s * growth, is_carried=False, weight=1.0),)
    found = []
    for habit, count in QUANTILES.items():
        demands = overloads_of(held, habit, middles(count))
        for index, demand in enumerate(demands):
            ops = seen.ops_per_s.copy()
            for stretch, rate in zip(held.stretches, demand, strict=True):
                _lift(ops, seen, held, stretch, float(rate))
                if habit is Habit.JOB:
                    _finish_sooner(ops, seen, stretch)
                elif 2 * index >= count:
                    _lift_edges(ops, seen, held, stretch, float(rate))
            found.append(
                Path(
                    ops_per_s=ops * growth,
                    is_carried=habit is Habit.JOB,
                    weight=HABIT_WEIGHT[habit] / count,
                )
            )
    return tuple(found)


def _lift(ops: FloatArray, seen: Seen, held: Held, stretch: Stretch, rate: float) -> None:
    """Put a demand of `rate` in the place of what a stretch was served."""
    for run in stretch.runs:
        inside = slice(run.start, run.end)
        asked = held.ceiling_ops_per_s[inside] * rate / run.level_ops_per_s
        ops[inside] = np.fmax(asked, seen.ops_per_s[inside])


def _lift_edges(ops: FloatArray, seen: Seen, held: Held, stretch: Stretch, rate: float) -> None:
    """Let the samples in which the load came and went be full of it, and the waiting ones beside."""
    edge = np.zeros(ops.size, dtype=bool)
    for run in stretch.runs:
        edge[max(run.start - 1, 0) : run.start] = True
        edge[run.end : run.end + 1] = True
    span = slice(stretch.runs[0].start, stretch.runs[-1].end)
    edge[span] |= held.is_partly[span]
    edge &= ~held.is_held
    ops[edge] = np.fmax(ops[edge], rate)


def _finish_sooner(ops: FloatArray, seen: Seen, stretch: Stretch) -> None:
    """Stop asking once all that was served in the stretch has been asked for."""
    for run in stretch.runs:
        _finish_run(ops, seen, run)


def _finish_run(ops: FloatArray, seen: Seen, run: Run) -> None:
    inside = slice(run.start, run.end)
    whole = float(seen.ops_per_s[inside].sum())
    before = np.concatenate(([0.0], np.cumsum(ops[inside])[:-1]))
    ops[inside] = np.clip(whole - before, 0.0, ops[inside])


def _chosen(paths: tuple[Path, ...]) -> tuple[Path, Path, Path]:
    """Paths at the band's quantiles of how much is asked for at once and in all."""
    order = sorted(paths, key=lambda p: (float(p.ops_per_s.max()), float(p.ops_per_s.sum())))
    reached = np.cumsum([p.weight for p in order])
    at = [min(int(np.searchsorted(reached, q)), len(order) - 1) for q in BAND]
    return order[at[0]], order[at[1]], order[at[2]]


def _summary(
    seen: Seen, held: Held, chosen: tuple[Path, Path, Path], *, is_free_seen: bool
) -> DemandSummary:
    step = seen.step_s
    measured_s = float(np.count_nonzero(seen.is_measured)) * step
    held_s = float(np.count_nonzero(held.is_held & seen.is_measured)) * step
    is_lower_bound = held_s > (1 - FREE_RATIO) * measured_s and not is_free_seen
    size = seen.io_size_bytes
    served = seen.ops_per_s
    missing = [float((np.fmax(p.ops_per_s - served, 0) * size).sum()) * step for p in chosen]
    return DemandSummary(
        measured_s=measured_s,
        held_back_s=held_s,
        loop=Loop.UNKNOWN,
        loop_reason="storage metrics alone do not tell whether clients wait for their answers",
        is_lower_bound=is_lower_bound,
        peak_bytes_per_s=_band([float((p.ops_per_s * size).max()) for p in chosen]),
        peak_ops_per_s=_band([float(p.ops_per_s.max()) for p in chosen]),
        held_back_bytes=_band(missing),
        assumptions=(),
    )


def _band(three: list[float]) -> Band:
    low, middle, high = sorted(three)
    return Band(low=low, middle=middle, high=high)
