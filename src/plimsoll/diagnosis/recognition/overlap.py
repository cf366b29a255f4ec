"""
Levels at the same time: each sample is assigned to one of them.

With a steady I/O size both rates are constant when one is limited. Samples that were at a ceiling in part
concentrate just below it. Two limits may also bind in turn. This file decides which level is the limit.
"""

from dataclasses import replace

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.recognition.binding import likeness
from plimsoll.diagnosis.recognition.level import BAND_LOG_MIN, BRIDGE_SAMPLES, level_min_s
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.model.ceiling import Dimension
from plimsoll.model.series import BoolArray, FloatArray

# Samples that were at a level in part are up to a few percent below it.
SHADOW_LOG = 0.04
# For two levels at the same time: the flatter one varies by less than 0.7 of the other, and a number that is
# three times as likely overrides the preference for throughput.
FLATTER = 0.7
LIKELIER = 3.0


def without_overlap(plateaus: list[Plateau], frame: Frame) -> list[Plateau]:
    """
    Return the plateaus with each sample assigned to the most probable one; the rest of others must be long enough.

    Args:
        plateaus: the most probable first.
        frame: what was measured.
    """
    taken = np.zeros(frame.size, dtype=bool)
    least_s = level_min_s(frame.width_s)
    kept: list[Plateau] = []
    order = likeliest_first(plateaus)
    for plateau in order:
        if is_shadow(plateau, kept, taken):
            continue
        yields = _yielded(plateau, order, frame)
        runs = []
        for start, end in plateau.runs:
            for a, b in _stretches(~taken[start:end]):
                first, last = int(start) + a, int(start) + b
                span_s = float(frame.time_s[last - 1] + frame.width_s[last - 1] - frame.time_s[first])
                if span_s >= least_s or (a == 0 and b == end - start):
                    pieces = _stretches(~yields[first:last])
                    runs += [(first + x, first + y) for x, y in pieces]
        for a, b in runs:
            taken[a:b] = True
        if runs:
            kept.append(replace(plateau, runs=np.array(runs, dtype=np.int64)))
    return kept


def _yielded(plateau: Plateau, order: list[Plateau], frame: Frame) -> BoolArray:
    """
    Return samples of a documented level that are at a documented level of the other dimension instead.

    Two limits bind in turn where the I/O size varies around the ratio of their numbers: the rate is at the
    one that binds, and below the number of the other.
    """
    yields = np.zeros(frame.size, dtype=bool)
    if plateau.documented <= 0.5:
        return yields
    below = _distance(plateau, frame) < -_narrow(plateau)
    nothing = np.zeros(frame.size, dtype=bool)
    for i, other in enumerate(order):
        if other.dimension == plateau.dimension or other.documented <= 0.5 or is_shadow(other, order[:i], nothing):
            continue
        at_other = below & (np.abs(_distance(other, frame)) < _narrow(other))
        for start, end in other.runs:
            yields[start:end] |= _lasting(at_other[start:end], frame.width_s[start:end])
    return yields


def _distance(plateau: Plateau, frame: Frame) -> FloatArray:
    """Return the log of the rate over the level, shape (n,)."""
    is_bytes = plateau.dimension == Dimension.THROUGHPUT
    rate = frame.bytes_per_s if is_bytes else frame.ops_per_s
    with np.errstate(all="ignore"):
        distance: FloatArray = np.log(rate / plateau.level)
    return distance


def _narrow(plateau: Plateau) -> float:
    """Return the half-width of the level's own spread, log."""
    return max(3.5 * plateau.signs.log_sd, BAND_LOG_MIN)


def _lasting(hits: BoolArray, width_s: FloatArray) -> BoolArray:
    """Return the long stretches of hits, with short holes filled; a limit does not bind for a moment only."""
    filled = hits.copy()
    for a, b in _stretches(~hits):
        if a > 0 and b < hits.size and b - a <= BRIDGE_SAMPLES // 2:
            filled[a:b] = True
    for a, b in _stretches(filled):
        if width_s[a:b].sum() < level_min_s(width_s):
            filled[a:b] = False
    return filled


def likeliest_first(plateaus: list[Plateau]) -> list[Plateau]:
    """Return the levels by score; of two equal ones in both dimensions at once, the likelier comes first."""
    order = list(plateaus)
    for i, one in enumerate(order):
        for j in range(i + 1, len(order)):
            other = order[j]
            if (
                (one.documented > 0.5) == (other.documented > 0.5)
                and one.dimension != other.dimension
                and one.score - other.score < (3 if one.documented > 0.5 else 1)
                and _is_likelier(other, one)
                and _overlap_ratio(one, other) > 0.5
            ):
                order[i], order[j] = other, one
                break
    return order


def _is_likelier(one: Plateau, other: Plateau) -> bool:
    """Return whether a level is flatter than another at the same time, or equally flat and nearer its number."""
    if one.signs.log_sd < FLATTER * other.signs.log_sd:
        return True
    if other.signs.log_sd < FLATTER * one.signs.log_sd:
        return False
    return likeness(one.best) > LIKELIER * likeness(other.best)


def _overlap_ratio(one: Plateau, other: Plateau) -> float:
    """Return the number of shared samples relative to the smaller of the two levels."""
    last = int(max(one.runs[-1, 1], other.runs[-1, 1]))
    masks = np.zeros((2, last), dtype=bool)
    for mask, plateau in zip(masks, (one, other), strict=True):
        for start, end in plateau.runs:
            mask[start:end] = True
    return float((masks[0] & masks[1]).sum()) / max(int(masks.sum(axis=1).min()), 1)


def is_shadow(plateau: Plateau, kept: list[Plateau], taken: BoolArray) -> bool:
    """
    Return whether a weaker plateau is a side effect of another one.

    With a steady I/O size both rates are constant when one is limited. Samples at a level in part also
    concentrate a little below it.
    """
    for other in kept:
        near = abs(np.log(plateau.level / other.level)) < SHADOW_LOG
        is_weaker = other.dimension == plateau.dimension and other.score > plateau.score + 1
        if near and is_weaker and not _is_apart(plateau, other, taken.size):
            return True
    # A documented number is never a shadow, whatever time it shares with another level.
    if plateau.documented > 0.5:
        return False
    lengths = plateau.runs[:, 1] - plateau.runs[:, 0]
    count = np.concatenate(([0], np.cumsum(taken)))
    held = int((count[plateau.runs[:, 1]] - count[plateau.runs[:, 0]]).sum())
    # With a third of its time in another level's stretches, it consists of that level's edges.
    return held > 0.3 * int(lengths.sum())


def _is_apart(plateau: Plateau, other: Plateau, size: int) -> bool:
    """Return whether two levels are separate: other times, and other numbers beyond their spreads."""
    if abs(np.log(plateau.level / other.level)) < _narrow(plateau) + _narrow(other):
        return False
    near = np.zeros(size, dtype=bool)
    for start, end in other.runs:
        near[max(start - BRIDGE_SAMPLES, 0) : end + BRIDGE_SAMPLES] = True
    lengths = plateau.runs[:, 1] - plateau.runs[:, 0]
    shared = sum(int(near[a:b].sum()) for a, b in plateau.runs)
    # One sample in ten may be at the edge of the other level.
    return shared <= 0.1 * int(lengths.sum())


def _stretches(free: BoolArray) -> list[tuple[int, int]]:
    # Most stretches are free as a whole, or not at all.
    if not free.any():
        return []
    if free.all():
        return [(0, free.size)]
    edges = np.diff(np.concatenate(([False], free, [False])).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
