"""
A timeline in block characters, for terminals and tickets. Nothing in it rests on colour.

Filled columns are what was served, dashes are ceilings, the bar under the axis marks the time at
a ceiling, the grey one below it time in which requests waited without a known ceiling, dots on the axis are gaps, letters below are events, listed with the same letters, and bars with numbers are the caller's own events.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from textwrap import wrap

import numpy as np

from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.events import events_of
from plimsoll.reports.diagnosis.own_events import own_spans, shown_names
from plimsoll.reports.diagnosis.timeline import (
    Line,
    TimelineSamples,
    at_ceiling,
    beyond,
    lines_of,
    main_dimension,
    samples_of,
)
from plimsoll.units import format_duration, number

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_DASH, _HEAVY_DASH = "┄", "┅"  # a ceiling, and one that was reached
# High enough for eighths to show a tenth, low enough for a report on one screen.
_ROWS = 10
_LABEL = 8  # columns for the numbers on the left, enough for 1,234.5 and 256,000
_DAY_S = 86400
_TICKS_S = (5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2419200)


def timeline_blocks(diagnosis: Diagnosis, snapshot: Snapshot, *, width: int) -> list[str]:
    """Return the timeline as lines of at most `width` columns; empty when storage was not measured."""
    start_s, end_s = diagnosis.window_s
    columns = width - _LABEL - 2
    if columns < 10 or end_s <= start_s:
        return []
    bucket_s = (end_s - start_s) / columns
    samples = samples_of(snapshot, diagnosis.window_s, bucket_s=bucket_s, count=columns)
    dimension = main_dimension(diagnosis, samples)
    if dimension is None or not np.isfinite(samples.total[dimension].mean).any():
        return []
    value = samples.total[dimension].mean
    peak = float(np.nanmax(value))
    lines = lines_of(diagnosis, dimension, peak, count_max=4)
    title, scale = ("IOPS", 1.0) if dimension is Dimension.IOPS else ("MB/s", 1e6)
    # A little air above the highest thing drawn, so that a line on top is seen as a line.
    top = max([peak, *(line.value for line in lines), scale]) * 1.05
    drawn = _canvas(value, lines, top)
    labels = _labels(lines, top, scale)
    body = [f"{labels[row]:>{_LABEL}} ┤{drawn[row]}" for row in range(_ROWS)]
    axis, clock = _time_axis(start_s, end_s, ["·" if np.isnan(v) else "─" for v in value])
    fine = bucket_s < diagnosis.step_s
    length = format_duration(diagnosis.step_s if fine else bucket_s)
    what = f"each sample is the mean of {length}" if fine else f"each column is the mean of {length}"
    text = wrap(f"{title}, reads + writes; {what} (UTC)", width)
    text += [*body, f"{'0':>{_LABEL}} └{axis}", f"{'':>{_LABEL}}  {clock}"]
    for name, row in (
        ("ceiling", _marked_row(at_ceiling(diagnosis), samples, "▀")),
        ("waited", _marked_row([(w.start_s, w.end_s) for w in diagnosis.waiting], samples, "░")),
        ("events", _events_row(diagnosis, columns)),
        *_own_rows(diagnosis, samples),
    ):
        if row.strip():
            text.append(f"{name:>{_LABEL}}  {row}")
    text += [f"{_dash(line):>{_LABEL}}  {_line_text(line)}" for line in reversed(lines)]
    above = beyond(diagnosis, dimension, lines)
    if above:
        text += wrap(f"far above this chart: {above}", width)
    if np.isnan(value).any():
        text.append(f"{'·':>{_LABEL}}  not measured")
    return [line.rstrip() for line in text]


def _canvas(value: FloatArray, lines: Sequence[Line], top: float) -> list[str]:
    dashed = {_row_of(line.value, top): _dash(line) for line in lines}
    rows = []
    for row in range(_ROWS):
        empty = dashed.get(row, " ")
        cells = []
        for v in value:
            filled = 0.0 if np.isnan(v) else v / top * _ROWS - (_ROWS - 1 - row)
            eighth = round(min(max(filled, 0.0), 1.0) * 8)
            cells.append(_EIGHTHS[eighth] if eighth else empty)
        rows.append("".join(cells))
    return rows


def _row_of(value: float, top: float) -> int:
    return min(max(_ROWS - 1 - int(value / top * _ROWS), 0), _ROWS - 1)


def _labels(lines: Sequence[Line], top: float, scale: float) -> list[str]:
    labels = [""] * _ROWS
    for line in lines:
        labels[_row_of(line.value, top)] = number(line.value / scale)
    if not labels[0]:
        labels[0] = number(top / scale, 2 if top / scale < 10 else 3)
    return labels


def _dash(line: Line) -> str:
    return _HEAVY_DASH if line.is_bound else _DASH


def _line_text(line: Line) -> str:
    return f"{line.label}{', reached' if line.is_bound else ''}"


def _marked_row(stretches: Sequence[tuple[int, int]], samples: TimelineSamples, mark: str) -> str:
    """Return a row with a mark in every column of a stretch."""
    marked = np.zeros(samples.time_s.size, dtype=bool)
    for start, end in stretches:
        first = int((start - samples.start_s) // samples.bucket_s)
        last = int(-(-(end - samples.start_s) // samples.bucket_s))
        marked[max(first, 0) : max(last, first + 1, 0)] = True
    return "".join(mark if m else " " for m in marked)


def _own_rows(diagnosis: Diagnosis, samples: TimelineSamples) -> list[tuple[str, str]]:
    """Return a row for each name of the caller's own events, with its number in the list of them."""
    return [
        (f"yours #{name.number}", _marked_row(own_spans(diagnosis, name), samples, "▬"))
        for name in shown_names(diagnosis.own_events)
    ]


def _events_row(diagnosis: Diagnosis, columns: int) -> str:
    """Return the letter of each event in the column of its time; neighbours are moved aside."""
    start_s, end_s = diagnosis.window_s
    events = events_of(diagnosis.annotations, diagnosis.window_s).marked
    row, taken = [" "] * columns, -1
    for index, (mark, event) in enumerate(events):
        place = int((event.time_s - start_s) / (end_s - start_s) * columns)
        # One column each, in their order, with room left for those that follow.
        taken = min(max(place, taken + 1), columns - len(events) + index)
        row[taken] = mark
    return "".join(row)


def _time_axis(start_s: int, end_s: int, axis: list[str]) -> tuple[str, str]:
    """Return the axis with ticks at round times and their labels: hours, or days in a long window."""
    columns = len(axis)
    apart_s = (end_s - start_s) / columns * 15  # the longest label is fourteen columns
    tick_s = next((t for t in _TICKS_S if t >= apart_s), _TICKS_S[-1])
    text, day = [" "] * columns, ""
    for at in range(-(-start_s // tick_s) * tick_s, end_s, tick_s):
        when = datetime.fromtimestamp(at, UTC)
        is_new_day, day = when.strftime("%m-%d") != day, when.strftime("%m-%d")
        label = day if is_new_day or tick_s >= _DAY_S else ""
        clock = " %H:%M:%S" if tick_s < 60 else " %H:%M"
        label += when.strftime(clock) if tick_s < _DAY_S else ""
        label = label.strip()
        place = int((at - start_s) / (end_s - start_s) * columns)
        if place + len(label) <= columns:
            text[place : place + len(label)] = label
            axis[place] = "┬"
    return "".join(axis), "".join(text)
