"""
The intervals at a ceiling, with their evidence, made from plateaus.

A window in which class or storage changed is judged epoch by epoch (epochs.py), each with its own
ceilings. A part that a finer source covers is also judged at the step of that source.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from plimsoll.diagnosis.frame import Frame, frame_of, on_grid, pieces_of
from plimsoll.diagnosis.recognition.congestion import Congestion, congestion_of, load_of
from plimsoll.diagnosis.recognition.evidence import (
    context_evidence_of,
    evidence_of,
    refuted_by,
    ruled_out_of,
    sessions_evidence_of,
    shared_evidence_of,
    size_evidence_of,
)
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.search import RATES, plateaus_of
from plimsoll.diagnosis.recognition.signs import Stretch
from plimsoll.limits.layout import other_meaning
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.contained import guarded_each
from plimsoll.model.diagnosis import VERDICT, Evidence, Interval, RuledOut
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot, cut

# A level's error bars are 95 %: 1.96 standard errors, times what an autocorrelated median needs.
BARS = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The result for one stretch of a snapshot."""

    frame: Frame | None
    congestion: Congestion | None
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """The facts that all intervals of one plateau share."""

    plateau: Plateau
    signs: tuple[Evidence, ...]
    context: tuple[Evidence, ...]
    """Evidence without weight: other limits, their balances, and waiting sessions."""
    ruled_out: tuple[RuledOut, ...]
    refuted_by: str


def judge(snapshot: Snapshot, ceilings: tuple[Ceiling, ...], frame: Frame | None = None) -> Judged:
    """
    Return the intervals of a snapshot at its ceilings, in order of time.

    Args:
        snapshot: one reading, or a part of it in which nothing was changed.
        ceilings: what is documented for that time.
        frame: of the snapshot, if it was made before.
    """
    frame = frame_of(snapshot) if frame is None else frame
    if frame is None:
        return Judged(frame=None, congestion=None, intervals=())
    congestion = congestion_of(frame, load_of(frame), ceilings)
    # Aurora's WriteIOPS counts log records, so a level of IOPS has no meaning there
    # (docs/concepts/other-engines.md).
    is_counted = Metric.WRITE_OPS_PER_S not in other_meaning(snapshot.instance)
    dimensions = RATES if is_counted else frozenset({Dimension.THROUGHPUT})
    plateaus = plateaus_of(frame, congestion, ceilings, dimensions=dimensions)
    sessions = _sessions(snapshot, frame)
    intervals = _intervals(plateaus, frame, congestion, ceilings, sessions, is_counted=is_counted)
    return Judged(frame=frame, congestion=congestion, intervals=intervals)


def judge_fine(snapshot: Snapshot, ceilings: tuple[Ceiling, ...], known: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """
    Return the intervals that only the finer series show; means of a minute hide a burst of seconds.

    Args:
        snapshot: with finer series for a part of its window, or with none.
        ceilings: what is documented for that time.
        known: intervals found already; an interval that overlaps one of them is left out.
    """
    filled = [s for s in snapshot.fine.values() if s.time_s.size]
    if not filled:
        return ()
    start = min(int(s.time_s[0]) for s in filled)
    end = max(int(s.time_s[-1]) + s.step_s for s in filled)
    # Only the part that the finer series cover: elsewhere nothing new is seen.
    coarse = cut(snapshot, (start, end))
    found = judge(_overlaid(coarse), ceilings).intervals
    return tuple(i for i in found if not any(i.start_s < b.end_s and b.start_s < i.end_s for b in known))


def _overlaid(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with its finer series in place of the coarse ones; the rest is unchanged."""
    fields = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}
    fields |= {"series": {**snapshot.series, **snapshot.fine}, "fine": {}}
    return Snapshot(**fields)


def _sessions(snapshot: Snapshot, frame: Frame) -> tuple[FloatArray, FloatArray] | None:
    """Return active sessions and those waiting for I/O, per sample; None where they are not known."""
    both = [
        on_grid(snapshot.series.get(metric), frame.time_s, frame.width_s)
        for metric in (Metric.ACTIVE_SESSION_COUNT, Metric.IO_WAITING_SESSION_COUNT)
    ]
    return (both[0], both[1]) if all(np.isfinite(b).any() for b in both) else None


def _intervals(
    plateaus: list[Plateau],
    frame: Frame,
    congestion: Congestion,
    ceilings: tuple[Ceiling, ...],
    sessions: tuple[FloatArray, FloatArray] | None,
    *,
    is_counted: bool,
) -> tuple[Interval, ...]:
    found = guarded_each(
        lambda plateau: f"the intervals of a level of {plateau.dimension.value}",
        plateaus,
        lambda plateau: _intervals_of(plateau, frame, congestion, ceilings, sessions, is_counted=is_counted),
        hides=VERDICT,
    )
    return tuple(sorted(chain(*found), key=lambda i: (i.start_s, i.end_s)))


def _intervals_of(
    plateau: Plateau,
    frame: Frame,
    congestion: Congestion,
    ceilings: tuple[Ceiling, ...],
    sessions: tuple[FloatArray, FloatArray] | None,
    *,
    is_counted: bool,
) -> list[Interval]:
    is_bytes = plateau.dimension == Dimension.THROUGHPUT
    other = frame.ops_per_s if is_bytes else frame.bytes_per_s
    other_rate = np.concatenate([other[a:b] for a, b in plateau.runs])
    if not is_counted:
        other_rate = np.full(other_rate.size, np.nan)
    held = np.zeros(frame.size, dtype=bool)
    for a, b in plateau.runs:
        held[a:b] = True
    level = _Level(
        plateau=plateau,
        signs=shared_evidence_of(plateau),
        context=context_evidence_of(plateau, other_rate) + sessions_evidence_of(sessions, held),
        ruled_out=ruled_out_of(plateau, ceilings, other_rate=_known(_median(other_rate))),
        refuted_by=refuted_by(plateau),
    )
    known = np.isfinite(frame.bytes_per_s if is_bytes else frame.ops_per_s)
    pieces = chain.from_iterable(pieces_of(frame, known, int(a), int(b)) for a, b in plateau.runs)
    return [_interval(level, a, b, frame, congestion, is_counted=is_counted) for a, b in pieces]


def _interval(
    shared: _Level, start: int, end: int, frame: Frame, congestion: Congestion, *, is_counted: bool
) -> Interval:
    plateau = shared.plateau
    stretch = slice(start, end)
    ops = _median(frame.ops_per_s[stretch])
    has_size = is_counted and ops > 0
    size = _median(frame.bytes_per_s[stretch]) / ops if has_size else float("nan")
    seen = Stretch(
        latency_s=_known(_median(congestion.latency_s[stretch])),
        reference_s=_known(_median(congestion.reference_s[stretch])),
        queue_depth=_known(_median(frame.queue_depth[stretch])),
        io_size_bytes=_known(size),
    )
    best = plateau.best.ceiling
    # Levels and their errors are logarithms, so the bars are a factor.
    bars = float(np.exp(BARS * plateau.level_log_se))
    return Interval(
        start_s=int(frame.time_s[start]),
        end_s=int(frame.time_s[end - 1] + frame.width_s[end - 1]),
        dimension=plateau.dimension,
        level=plateau.level,
        level_low=plateau.level / bars,
        level_high=plateau.level * bars,
        family=best.family if best else Family.UNKNOWN,
        phase=best.phase if best else Phase.FIXED,
        former_phase=best.former_phase if best else None,
        ceiling=best,
        confidence=round(plateau.probability, 4),
        attribution=round(plateau.family_probability, 4),
        io_size_bytes=seen.io_size_bytes,
        latency_s=seen.latency_s,
        latency_reference_s=seen.reference_s,
        queue_depth=seen.queue_depth,
        evidence=evidence_of(plateau, seen, shared.signs) + size_evidence_of(seen) + shared.context,
        ruled_out=shared.ruled_out,
        refuted_by=shared.refuted_by,
        step_s=frame.step_s,
    )


def _median(values: FloatArray) -> float:
    """Return the median of the known values; for short stretches sorting is faster than numpy's median."""
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return float("nan")
    return float(known[known.size // 2] + known[(known.size - 1) // 2]) / 2


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
