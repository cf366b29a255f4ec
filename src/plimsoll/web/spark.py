"""A small drawing of what was served under its ceiling, as numbers of an SVG."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.reading import FREE_FAMILIES, CeilingNumbers
from plimsoll.watch.law.situation import WATCHED_FAMILIES, Readings, used_of

WIDTH, HEIGHT = 132.0, 32.0
# A judgement: one point for every three pixels is a line, more is a smear.
_POINTS = 48
_MARGIN = 2.0


class Spark(Struct, frozen=True, kw_only=True):
    """What was served in the window, under a ceiling."""

    line: str
    """Path of what was served; empty where nothing was measured."""
    area: str
    """The same, down to zero."""
    ceiling_y: float | None
    """Height of the line of the ceiling; None where it is not known."""


def spark_of(snapshot: Snapshot | None, one: CeilingNumbers) -> Spark:
    """Return the drawing of one ceiling over the window of a snapshot."""
    used = _used(snapshot, one) if snapshot is not None else None
    window = (snapshot.asked_s or snapshot.window_s) if snapshot is not None else None
    if used is None or window is None:
        return Spark(line="", area="", ceiling_y=None)
    highest = _highest(used, window)
    known = highest[np.isfinite(highest)]
    ceilings = [one.sustained, *(value for _, value in one.limits)]
    top = max([float(known.max()) if known.size else 0.0, one.sustained or 0.0]) * 1.08 or 1.0
    ceiling = min((c for c in ceilings if c is not None), default=None)
    runs = _runs(highest, top)
    return Spark(
        line=" ".join(_path(run) for run in runs),
        area=" ".join(_area(run) for run in runs),
        ceiling_y=None if ceiling is None else round(_y(ceiling, top), 1),
    )


def _used(snapshot: Snapshot, one: CeilingNumbers) -> Readings | None:
    """Return what was used, minute by minute; None for what has no such numbers, for example two directions."""
    try:
        family = Family(one.ceiling)
    except ValueError:
        return None
    if family in WATCHED_FAMILIES:
        return used_of(snapshot, FAMILIES[family].metrics)
    if family in FREE_FAMILIES and one.sustained is not None:
        free = used_of(snapshot, FAMILIES[family].metrics)
        return None if free is None else replace(free, value=one.sustained - free.value)
    return None


def _highest(used: Readings, window_s: tuple[int, int]) -> FloatArray:
    """Return the highest value of each of equal parts of the window, NaN where there is none."""
    found = np.full(_POINTS, np.nan)
    length_s = max(window_s[1] - window_s[0], 1)
    middle_s = used.time_s + used.step_s / 2
    index = ((middle_s - window_s[0]) * _POINTS / length_s).astype(np.int64)
    is_shown = (index >= 0) & (index < _POINTS) & np.isfinite(used.value)
    np.fmax.at(found, index[is_shown], used.value[is_shown])
    return found


def _runs(values: FloatArray, top: float) -> list[list[tuple[float, float]]]:
    step = WIDTH / (_POINTS - 1)
    runs: list[list[tuple[float, float]]] = [[]]
    holes = 0
    for index, value in enumerate(values):
        if np.isfinite(value):
            runs[-1].append((index * step, _y(float(value), top)))
            holes = 0
        elif runs[-1] and (holes := holes + 1) > 2:
            # Samples further apart than points leave single holes; more of them are a gap.
            runs.append([])
    return [run for run in runs if run]


def _y(value: float, top: float) -> float:
    return HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * min(value / top, 1.0)


def _path(run: Sequence[tuple[float, float]]) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in (run if len(run) > 1 else [run[0], (run[0][0] + 2, run[0][1])])]
    return "M" + "L".join(points)


def _area(run: Sequence[tuple[float, float]]) -> str:
    return f"{_path(run)}L{run[-1][0]:.1f} {HEIGHT}L{run[0][0]:.1f} {HEIGHT}Z"
