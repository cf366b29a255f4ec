"""
The part of the window in which a level may have been the limit.

Theory. The description of class and storage is of the window's end; an earlier change may not be recorded.
A limit that was raised shows as a level that demand reaches repeatedly and never exceeds up to one moment;
after it the same work gets a higher rate. (The reverse holds for a lowered limit.) Higher rates on the
other side of that moment are no evidence against the level. If credits ran out first, rates were higher
before the level as well; then the rate stayed at the level all the time in between.
"""

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.recognition.congestion import INELASTIC
from plimsoll.diagnosis.recognition.level import Level
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.series import BoolArray, FloatArray, IntArray

# I/O of another size by a quarter is other work.
SAME_SIZE_LOG = float(np.log(1.25))
# One visit to a level that is never exceeded before shows nothing: every climb has such levels. One where
# requests take longer than a little below it is a limit all the same.
VISITS = 2
# Nearly all the time: the rest are pauses and samples that were at the level in part.
FILLED_SHARE = 0.9
# Samples after the moment that must stand at a documented number where there was one visit only, and how
# near: what is enforced lies within 1.5 % of what is published.
NEXT_SAMPLES = 8
NEXT_LOG = 0.015
# Between two moments with higher rates, only an enforced rate is this constant: waiting varies a hundred
# times as much as the rate, and is half as long before and after.
RIGID = 0.01
TWICE_LOG = float(np.log(2))


def era_of(
    level: Level,
    rate: FloatArray,
    inside: BoolArray,
    frame: Frame,
    ceilings: tuple[Ceiling, ...],
    dimension: Dimension,
    *,
    has_step: bool = False,
    elasticity: float = np.inf,
    excess: FloatArray | None = None,
) -> BoolArray:
    """
    Return the samples before or after the moment at which the limit changed, or between two of them.

    Args:
        level: a level at no number that is documented for the described class and storage.
        rate: served bytes/s or ops/s, shape (n,).
        inside: samples of its stretches, shape (n,).
        frame: everything measured.
        ceilings: documented numbers as described.
        dimension: what the level is a rate of.
        has_step: whether requests take longer at the level than a little below it.
        elasticity: by how much the rate varied at the level for each part by which waiting did.
        excess: log of waiting over what is usual, shape (n,).

    Returns:
        Shape (n,); all samples where nothing shows that the limit was changed.
    """
    era = np.ones(rate.size, dtype=bool)
    with np.errstate(all="ignore"):
        distance = np.log(rate / level.value)
    # Clear of the level's own jitter.
    above = np.flatnonzero(distance > max(0.03, 2 * level.band_log))
    start, end = int(level.runs[0, 0]), int(level.runs[-1, 1])
    before, after = above[above < start], above[above >= end]
    # A storage fault under a fixed number of clients changes both waiting and rate.
    fills = elasticity < INELASTIC and _fills_its_side(level, rate, above)
    same = of_same_size(frame, inside)
    # If the higher rates have another I/O size, the work changed and not the limit.
    if fills and before.size and after.size:
        is_rigid = elasticity < RIGID and _waits_only_there(level, excess)
        if is_rigid and min(same[before].mean(), same[after].mean()) >= 0.5:
            era[: before[-1] + 1] = False
            era[after[0] :] = False
        return era
    if not (has_step or fills or _is_one_sided(level, rate, above, ceilings, dimension)):
        return era
    # While credits last, rates are higher on its own side of the moment too.
    other = after if after.size >= before.size else before
    # If most samples above it have another I/O size, they are other work.
    if not other.size or same[other].mean() < 0.5:
        return era
    if other[0] >= end:
        era[other[0] :] = False
    else:
        era[: other[-1] + 1] = False
    return era


def _fills_its_side(level: Level, rate: FloatArray, above: IntArray) -> bool:
    """Return whether the rate was at the level all the time between the moments with higher rates."""
    start, end = int(level.runs[0, 0]), int(level.runs[-1, 1])
    before, after = above[above < start], above[above >= end]
    if not above.size or before.size + after.size < above.size:
        return False
    side = slice(int(before[-1]) + 1 if before.size else 0, int(after[0]) if after.size else rate.size)
    known = np.isfinite(rate)
    held = np.zeros(rate.size, dtype=bool)
    for a, b in level.runs:
        held[a:b] = True
    return int((held & known)[side].sum()) >= FILLED_SHARE * int(known[side].sum())


def _waits_only_there(level: Level, excess: FloatArray | None) -> bool:
    """Return whether requests waited only at the level; a storage fault does not depend on the rate."""
    if excess is None:
        return False
    start, end = int(level.runs[0, 0]), int(level.runs[-1, 1])
    inside = excess[start:end]
    sides = (excess[max(start - NEXT_SAMPLES, 0) : start], excess[end : end + NEXT_SAMPLES])
    if not all(np.isfinite(part).any() for part in (inside, *sides)):
        return False
    usual = float(np.nanmedian(inside))
    return all(float(np.nanmedian(part)) < usual - TWICE_LOG for part in sides)


def _is_one_sided(
    level: Level, rate: FloatArray, above: IntArray, ceilings: tuple[Ceiling, ...], dimension: Dimension
) -> bool:
    """Return whether rates were higher on one side of the level's stretches only, and they show a limit."""
    start, end = int(level.runs[0, 0]), int(level.runs[-1, 1])
    if not above.size or (above[0] < end and above[-1] >= start):
        return False
    is_next = _next_is_documented(rate, start, end, above, ceilings, dimension)
    return _visits(level) >= VISITS or is_next


def of_same_size(frame: Frame, inside: BoolArray) -> BoolArray:
    """Return the samples with the I/O size of those inside, which are the same work; all if sizes are unknown."""
    with np.errstate(all="ignore"):
        log_size = np.log(frame.bytes_per_s / frame.ops_per_s)
    known = inside & np.isfinite(log_size)
    if not known.any():
        return np.ones(inside.size, dtype=bool)
    same: BoolArray = np.abs(log_size - np.median(log_size[known])) < SAME_SIZE_LOG
    return same


def _visits(level: Level) -> int:
    """Return the number of visits to the level; a stretch after a short dip is the same visit."""
    starts, ends = level.runs[:, 0], level.runs[:, 1]
    apart = starts[1:] - ends[:-1] >= (ends - starts)[:-1] / 2
    return 1 + int(apart.sum())


def _next_is_documented(
    rate: FloatArray, start: int, end: int, above: IntArray, ceilings: tuple[Ceiling, ...], dimension: Dimension
) -> bool:
    """Return whether the rate was at a documented number just before or after: one limit replaced another."""
    adjacent = above[:NEXT_SAMPLES] if above[0] >= end else above[-NEXT_SAMPLES:]
    # At the moment of the change, samples are at the level in part: hence the gap.
    gap = adjacent[0] - end if above[0] >= end else start - 1 - adjacent[-1]
    if adjacent.size < NEXT_SAMPLES or gap > NEXT_SAMPLES:
        return False
    usual = float(np.median(rate[adjacent]))
    return any(
        row.family in RATE_FAMILIES
        and row.dimension == dimension
        and row.value > 0
        and abs(np.log(usual / row.value)) < NEXT_LOG
        for row in ceilings
    )
