"""
The throttled steps of a window, their rate, and the load just before and after.

Rule 1: only ceilings of the diagnosis count; this file finds no others.
Rule 2: a rate below every ceiling is a measurement of demand. Everything else is an assumption and
        belongs in overload.py.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plimsoll.diagnosis.frame import Frame, frame_of, runs_of
from plimsoll.diagnosis.recognition.congestion import HOT_LOG, congestion_of, load_of
from plimsoll.errors import DataError
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import Diagnosis, Interval
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.model.snapshot import Snapshot

# Without operations a size is assumed: EBS quotes the instance's IOPS at 16 KiB (EC2 user guide).
ASSUMED_SIZE_BYTES = 16 * 1024.0
# Two plateaus within a quarter of an hour are the same work, separated by a pause or by credits that
# returned for a moment.
JOINED_S = 900.0
# Rates above a ceiling in the last half hour before it binds are the same load without throttling.
BEFORE_S = 1800.0
# A size that drifts by a third within the quarter of an hour is another mix of requests.
SAME_SIZE = 1.33
# The sample in which credits end is half of each; two, where balances lag.
TURN_STEPS = 2
# A rate this far above a ceiling's level is clear of it: levels are known to about a percent.
CLEAR = 1.04
# A waiting step this near below a confirmed level is throttled for most of its length.
NEAR = 0.93
# Storage that is fully loaded but not overloaded answers as fast as ever (a limiter adds nothing
# before its limit), or up to three times as slow (a single queue that is two thirds full).
UNSEEN_RISE = (0.0, float(np.log(3.0)))
# Requests near a ceiling may wait already; a latency higher by more than half is not the storage's own.
SEEN_RISE = (0.0, float(np.log(1.5)))
NAN = float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDemand:
    """The measured rates on a regular grid; shape (n,)."""

    time_s: IntArray
    step_s: float
    is_measured: BoolArray
    ops_per_s: FloatArray
    """Served, gaps filled."""
    io_size_bytes: FloatArray
    base_latency_s: FloatArray
    """Latency without waiting; NaN where unknown."""
    latency_s: FloatArray
    """Measured latency; NaN where unknown."""
    log_excess: FloatArray
    """log(latency ÷ latency without waiting); NaN where unknown."""
    has_size: bool
    """Whether both bytes and operations were measured."""
    is_reference_seen: bool
    """Whether the window shows the storage without waiting."""
    counted_ratio: FloatArray
    """Operations as storage counts them, per operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingRun:
    """One stretch at one ceiling: grid steps [start, end)."""

    start: int
    end: int
    level_ops_per_s: float
    """Median rate of the ceiling, in operations."""
    io_size_bytes: float
    """Median size of an operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One piece of work: plateaus close together, and its unthrottled demand where measured."""

    runs: tuple[CeilingRun, ...]
    floor_ops_per_s: float
    """Its lowest ceiling."""
    bound_ops_per_s: float
    """Its highest ceiling, or the highest rate at which requests waited: a lower bound of its demand."""
    mean_ops_per_s: float
    """Mean served rate, from its first plateau to the end of its last."""
    free_ops_per_s: FloatArray
    """Unthrottled rates above its lowest ceiling, just before that bound."""
    length_s: float
    """How long it lasted."""
    pressed_count: int
    """Steps there in which requests already waited, at a ceiling too brief for an interval."""
    waiting: float
    """Latency over latency without waiting at its highest ceiling, ≥ 1; NaN where unknown."""

    @property
    def span(self) -> slice:
        """Return its steps, from the first plateau's start to the last one's end."""
        return slice(self.runs[0].start, self.runs[-1].end)

    @property
    def length(self) -> int:
        """Return the number of its steps."""
        return self.runs[-1].end - self.runs[0].start


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledSteps:
    """The throttled steps of a window."""

    is_held: BoolArray
    """At a ceiling for most of the step, shape (n,)."""
    full_log_rise: tuple[float, float]
    """Least and most plausible log(latency just below a ceiling ÷ latency without waiting)."""
    is_partly: BoolArray
    """Waiting although the mean rate is below every ceiling: bursts shorter than a step."""
    unexplained_ratio: float
    """Share 0–1 of the measured time in which requests waited and no ceiling was found."""
    ceiling_ops_per_s: FloatArray
    """Rate of the ceiling at the step's I/O size; NaN in steps without throttling."""
    stretches: tuple[Episode, ...]


def seen_of(snapshot: Snapshot) -> MeasuredDemand:
    """
    Return the measured rates on a regular grid, with gaps interpolated.

    Raises:
        DataError: neither bytes nor operations were measured.
    """
    frame = frame_of(snapshot)
    known = None if frame is None else np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s)
    if frame is None or known is None or not known.any():
        raise DataError(
            "storage was not measured: neither bytes nor operations per second",
            "Export ReadThroughput, WriteThroughput, ReadIOPS and WriteIOPS for the window.",
        )
    congestion = congestion_of(frame, load_of(frame))
    step = frame.step_s
    # A replay needs steps of one length, so a gap becomes steps that were not measured.
    time_s = np.arange(int(frame.time_s[0]), int(frame.time_s[-1]) + step, step, dtype=np.int64)
    at = np.clip(np.searchsorted(frame.time_s, time_s, side="right") - 1, 0, None)
    is_covered = time_s < frame.time_s[at] + frame.width_s[at]

    def column(values: FloatArray) -> FloatArray:
        return np.where(is_covered, values[at], np.nan)

    ops, size, counted, has_size = _rates(frame)
    ops = column(ops)
    is_measured = np.isfinite(ops)
    # A replay also needs a rate in every step. Gaps are interpolated, and is_measured keeps them
    # from being counted.
    return MeasuredDemand(
        time_s=time_s,
        step_s=float(step),
        is_measured=is_measured,
        ops_per_s=_filled(ops, is_measured),
        io_size_bytes=_filled(column(size), np.isfinite(column(size)) & is_measured),
        base_latency_s=column(congestion.reference_s),
        latency_s=column(congestion.latency_s),
        log_excess=column(congestion.log_excess_smooth),
        has_size=has_size,
        is_reference_seen=congestion.is_reference_seen,
        counted_ratio=_filled(column(counted), np.isfinite(column(counted)) & is_measured),
    )


def _rates(frame: Frame) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """Return operations per second, bytes per operation, and charged operations per operation."""
    # Operations as the metrics count them; frame.ops_per_s is what storage counts, where a large
    # request is several operations.
    plain = frame.read_ops_per_s + frame.write_ops_per_s
    both = np.isfinite(plain) & np.isfinite(frame.bytes_per_s) & (plain > 0)
    if not both.any():
        size = np.full(frame.size, ASSUMED_SIZE_BYTES)
        # One of the two is missing altogether; a size is assumed, and the plan says so.
        ops = plain if np.isfinite(plain).any() else frame.bytes_per_s / ASSUMED_SIZE_BYTES
        return ops, size, np.ones(frame.size), False
    with np.errstate(all="ignore"):
        size = np.where(both & (frame.bytes_per_s > 0), frame.bytes_per_s / plain, np.nan)
        counted = np.where(both, frame.ops_per_s / plain, np.nan)
    # A step without bytes has no I/O size, so it cannot be compared with a limit in bytes.
    ops = np.where(np.isfinite(frame.bytes_per_s), plain, np.nan)
    return ops, size, counted, True


def _filled(values: FloatArray, known: BoolArray) -> FloatArray:
    if not known.any():
        return np.ones(values.size)
    index = np.arange(values.size)
    return np.interp(index, index[known], values[known])


def throttled_of(seen: MeasuredDemand, diagnosis: Diagnosis) -> ThrottledSteps:
    """Return the throttled steps of a window, by the diagnosis of the same window."""
    ceiling = np.full(seen.time_s.size, np.nan)
    known = [i for i in diagnosis.intervals if _is_rate(i)]
    # Where intervals overlap the one written last stays: the one the diagnosis is surest of.
    for interval in sorted(known, key=lambda i: i.confidence):
        first, last = np.searchsorted(seen.time_s, (interval.start_s, interval.end_s), side="left")
        inside = slice(int(first), int(last))
        ceiling[inside] = _in_ops(seen, interval.level, interval.dimension)[inside]
    # Unknown latency is no evidence of waiting.
    is_waiting = np.nan_to_num(seen.log_excess, nan=0.0) > HOT_LOG
    # Many intervals share a level that floating point may not repeat exactly.
    levels = {(round(i.level, 6), i.dimension) for i in known}
    for level, dimension in sorted(levels):
        limit = _in_ops(seen, level, dimension)
        # Plateaus too short for an interval: the rate stands at a confirmed level, and requests
        # wait.
        near = (seen.ops_per_s > NEAR * limit) & (seen.ops_per_s < CLEAR * limit)
        ceiling = np.where(np.isnan(ceiling) & near & is_waiting & seen.is_measured, limit, ceiling)
    is_held = np.isfinite(ceiling)
    lowest = _lowest(seen, levels)
    partly = is_waiting & ~is_held & seen.is_measured & (seen.ops_per_s < lowest)
    return ThrottledSteps(
        is_held=is_held,
        is_partly=partly & np.isfinite(lowest),
        full_log_rise=_full_log_rise(seen, is_held, lowest),
        unexplained_ratio=float((is_waiting & ~is_held)[seen.is_measured].mean()),
        ceiling_ops_per_s=ceiling,
        stretches=_stretches(seen, ceiling, _at_a_limit(seen, diagnosis)),
    )


def _full_log_rise(seen: MeasuredDemand, is_held: BoolArray, lowest: FloatArray) -> tuple[float, float]:
    """Return the range of log latency rise at full load, measured just below a ceiling or assumed."""
    with np.errstate(all="ignore"):
        load = seen.ops_per_s / lowest
    # Loaded enough to show a rise, and further below the ceiling than a level's error of about a
    # percent.
    near = ~is_held & seen.is_measured & (load > 0.8) & (load < 0.97) & np.isfinite(seen.log_excess)
    # Judgement: a quartile of fewer readings is one or two of them.
    if near.sum() < 10:
        return UNSEEN_RISE
    # The lower quartile, because some of these readings may already be waiting.
    least = float(np.quantile(seen.log_excess[near], 0.25))
    return float(np.clip(least, *SEEN_RISE)), UNSEEN_RISE[1]


def _is_rate(interval: Interval) -> bool:
    return interval.dimension in (Dimension.THROUGHPUT, Dimension.IOPS) and interval.level > 0


def _in_ops(seen: MeasuredDemand, level: float, dimension: Dimension) -> FloatArray:
    """Return a level as operations per second at every step's I/O size."""
    # A limit in bytes lets fewer operations through the larger they are; a limit of IOPS, the more
    # each one counts as.
    per_op = seen.io_size_bytes if dimension == Dimension.THROUGHPUT else seen.counted_ratio
    return level / np.maximum(per_op, 1e-9)


def _at_a_limit(seen: MeasuredDemand, diagnosis: Diagnosis) -> BoolArray:
    """Return the steps whose rate is at a confirmed level or at a documented limit."""
    found = np.zeros(seen.time_s.size, dtype=bool)
    rates = {(i.level, i.dimension) for i in diagnosis.intervals if _is_rate(i)}
    # A legacy limit that this instance has is among the confirmed levels; the others are not its
    # own.
    rates |= {
        (c.value, c.dimension)
        for c in diagnosis.ceilings
        if c.dimension in (Dimension.THROUGHPUT, Dimension.IOPS) and c.phase != Phase.LEGACY
    }
    for level, dimension in rates:
        limit = _in_ops(seen, level, dimension)
        found |= (seen.ops_per_s > limit / CLEAR) & (seen.ops_per_s < limit * CLEAR)
    return found


def _lowest(seen: MeasuredDemand, levels: set[tuple[float, Dimension]]) -> FloatArray:
    found = np.full(seen.time_s.size, np.nan)
    for level, dimension in levels:
        found = np.fmin(found, _in_ops(seen, level, dimension))
    return found


def _stretches(seen: MeasuredDemand, ceiling: FloatArray, at_a_limit: BoolArray) -> tuple[Episode, ...]:
    runs = [
        CeilingRun(
            start=int(a),
            end=int(b),
            level_ops_per_s=float(np.median(ceiling[a:b])),
            io_size_bytes=float(np.median(seen.io_size_bytes[a:b])),
        )
        for a, b in _plateaus(ceiling)
    ]
    groups: list[list[CeilingRun]] = []
    for run in runs:
        if groups and _is_same_work(groups[-1][-1], run, seen.step_s):
            groups[-1].append(run)
        else:
            groups.append([run])
    return tuple(_stretch(seen, ceiling, at_a_limit, group) for group in groups)


def _is_same_work(before: CeilingRun, after: CeilingRun, step_s: float) -> bool:
    """Return whether two runs are the same work: close together, with requests of one size."""
    ratio = after.io_size_bytes / before.io_size_bytes
    return (after.start - before.end) * step_s <= JOINED_S and 1 / SAME_SIZE < ratio < SAME_SIZE


def _plateaus(ceiling: FloatArray) -> IntArray:
    """Return the runs of throttled steps, cut where the level changes by more than a drift of I/O size."""
    held = np.isfinite(ceiling)
    # Ceilings a quarter apart are two, as in overload.py (TWO_LEVELS).
    jump = np.abs(np.diff(np.log(np.where(held, ceiling, 1.0)), prepend=0.0)) > np.log(1.25)
    found = []
    for a, b in runs_of(held):
        cuts = [int(a), *(int(a) + 1 + np.flatnonzero(jump[a + 1 : b])).tolist(), int(b)]
        found += [(x, y) for x, y in pairwise(cuts) if y > x]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _stretch(seen: MeasuredDemand, ceiling: FloatArray, at_a_limit: BoolArray, runs: list[CeilingRun]) -> Episode:
    floor = min(run.level_ops_per_s for run in runs)
    bound = max(run.level_ops_per_s for run in runs)
    before = np.concatenate([_before(seen, ceiling, run, floor) for run in runs])
    is_waiting = np.nan_to_num(seen.log_excess[before], nan=0.0) > HOT_LOG
    # At another limit a rate may be held although few wait: a lower bound as well.
    is_waiting |= at_a_limit[before]
    pressed = seen.ops_per_s[before[is_waiting]]
    # A single reading may be the step in which the load came.
    if pressed.size >= 2:
        # Requests waited at a rate that no interval covers: a ceiling that bound too briefly.
        bound = max(bound, float(np.median(pressed)))
    free = seen.ops_per_s[before[~is_waiting]]
    return Episode(
        runs=tuple(runs),
        floor_ops_per_s=floor,
        bound_ops_per_s=bound,
        mean_ops_per_s=float(seen.ops_per_s[runs[0].start : runs[-1].end].mean()),
        # An idle step shows no demand of the load that came after it.
        free_ops_per_s=free[free > 0],
        length_s=(runs[-1].end - runs[0].start) * seen.step_s,
        pressed_count=int(pressed.size),
        # A plateau a tenth below the highest ceiling stood at another one.
        waiting=_waiting(seen, runs, 0.9 * bound),
    )


def _before(seen: MeasuredDemand, ceiling: FloatArray, run: CeilingRun, floor: float) -> IntArray:
    """Return the unthrottled steps above a run's level that lead up to it without a break."""
    # At least four steps, so that coarse samples can show the load at all.
    longest = max(int(BEFORE_S / seen.step_s), 4)
    start = max(run.start - longest, 0)
    above = seen.is_measured[start : run.start] & np.isnan(ceiling[start : run.start])
    above &= seen.ops_per_s[start : run.start] > CLEAR * floor
    # The last steps mix burst and ceiling, so a low one among them is no break.
    turn = min(TURN_STEPS, above.size)
    breaks = np.flatnonzero(~above[: above.size - turn])
    first = int(breaks[-1]) + 1 if breaks.size else 0
    found = np.flatnonzero(above)
    return (start + found[found >= first]).astype(np.int64)


def _waiting(seen: MeasuredDemand, runs: list[CeilingRun], least: float) -> float:
    # A ceiling that bound too briefly has no run of its own; then all runs are used.
    highest = [run for run in runs if run.level_ops_per_s >= least] or runs
    inside = np.concatenate([seen.log_excess[run.start : run.end] for run in highest])
    return float(np.fmax(np.exp(_known_median(inside)), 1.0)) if np.isfinite(inside).any() else NAN


def _known_median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else NAN
