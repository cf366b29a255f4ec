"""
The panels of the timeline, one function each, and the table of samples they share.

Every panel is a stack of layers in the same order: time at a ceiling, what was measured, the
ceilings, their labels, the cursor. All of them share the time scale and the width.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.family import BALANCES
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Annotation, EventKind, Snapshot
from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.look import Look
from plimsoll.reports.diagnosis.own_events import own_spans, shown_names
from plimsoll.reports.diagnosis.timeline import Line, TimelineSamples, lines_of
from plimsoll.reports.render import words
from plimsoll.units import GIB

# Column of the table of samples: from which metric, divided by what.
_COLUMNS = {
    "reads": (Metric.READ_BYTES_PER_S, 1e6),
    "read_ops": (Metric.READ_OPS_PER_S, 1.0),
    "read_ms": (Metric.READ_LATENCY_S, 1e-3),
    "write_ms": (Metric.WRITE_LATENCY_S, 1e-3),
    "queue": (Metric.QUEUE_DEPTH, 1.0),
    "byte_balance": (Metric.BYTE_BALANCE_RATIO, 0.01),
    "io_balance": (Metric.IO_BALANCE_RATIO, 0.01),
    "volume_balance": (Metric.VOLUME_BALANCE_RATIO, 0.01),
    "cpu": (Metric.CPU_RATIO, 0.01),
    "capacity": (Metric.CAPACITY_RATIO, 0.01),
    "local_free": (Metric.FREE_LOCAL_STORAGE_BYTES, GIB),
}
_TOTALS = {"rate": (Dimension.THROUGHPUT, 1e6), "ops": (Dimension.IOPS, 1.0)}
_BALANCES = {name: metric for name, (metric, _) in _COLUMNS.items() if metric in BALANCES}

_IS_MIDNIGHT = "utchours(datum.value) + utcminutes(datum.value) === 0"
_TIME_AXIS = {
    "title": None,
    "labelExpr": f"utcFormat(datum.value, {_IS_MIDNIGHT} ? '%b %d' : '%H:%M')",
    "tickCount": {"expr": "max(2, floor(width / 90))"},
    "labelOverlap": True,
    "labelFlush": True,
}

# Texts of annotations have at most this many rows; an annotation that does not fit has only its line.
_NOTE_ROWS = 3

# A row of the caller's own events, in pixels: a line of text and a bar below it.
_OWN_ROW, _OWN_TEXT = 26, 14

# Two labels closer than this many pixels would overlap; they take turns at left and right.
_LABEL_HEIGHT = 15
# Pixels of a timeline on a page or in a picture, about; on a phone a label is a larger part of it.
_USUAL_WIDTH = 1000


def dataset(samples: TimelineSamples) -> list[Spec]:
    """
    Return one row per bucket: `t` (ms) and every measured column; null where nothing was measured.

    Five significant figures are more than a picture can show.
    """
    columns: dict[str, FloatArray] = {}
    for name, (metric, unit) in _COLUMNS.items():
        if metric in samples.metric:
            columns[name] = samples.metric[metric].mean / unit
    for name, (dimension, unit) in _TOTALS.items():
        if dimension in samples.total:
            total = samples.total[dimension]
            columns[name] = total.mean / unit
            if samples.is_reduced:
                columns[f"{name}_low"], columns[f"{name}_high"] = (total.low / unit, total.high / unit)
    for name in ("read_ms", "write_ms"):
        if name in columns:
            # A logarithmic axis has no place for zero: a step without I/O has no latency.
            columns[name] = np.where(columns[name] > 0, columns[name], np.nan)
    rows: list[Spec] = [{"t": int(1000 * t)} for t in samples.time_s]
    for name, column in columns.items():
        for row, value in zip(rows, column.tolist(), strict=True):
            row[name] = float(f"{value:.5g}") if value == value else None  # noqa: PLR0124
    return rows


def panels_of(
    diagnosis: Diagnosis, snapshot: Snapshot, samples: TimelineSamples, *, look: Look, width: int
) -> list[Spec]:
    """Return the panels of the measured quantities, in reading order; never empty."""
    panels = []
    first, second = ("rate", 230), ("ops", 120)
    if diagnosis.binding and diagnosis.binding.dimension is Dimension.IOPS:
        first, second = ("ops", 230), ("rate", 120)
    for name, height in (first, second):
        if _TOTALS[name][0] in samples.total:
            panels.append(_rate_panel(name, height, diagnosis, samples, look))
    panels += _latency_panel(samples, look)
    panels += _simple_panel("queue", "Queue depth", None, samples, look)
    panels += _balance_panel(samples, look)
    panels += _simple_panel("cpu", "CPU, %", [0, 100], samples, look)
    panels += _simple_panel("capacity", "Capacity in use, %", [0, 100], samples, look)
    panels += _simple_panel("local_free", "Local storage left, GiB", None, samples, look)
    panels += _own_events_panel(diagnosis, look)
    if not panels:
        panels = [_panel("Nothing was measured", 40, [], [], look)]
    if diagnosis.is_simulated:
        _mark_simulated(panels[0])
    for panel in panels:
        panel["width"] = width
        if diagnosis.waiting:
            panel["layer"].insert(1, _waited_shade(look))
    _add_annotations(panels[0], snapshot, diagnosis.window_s, look)
    _time_axis(panels[-1])
    return panels


def _mark_simulated(panel: Spec) -> None:
    """Add the mark of simulated data to the drawing, because a picture may be shown without its page."""
    text = next(x for x in panel["layer"] if x.get("name") == "title")["encoding"]["text"]
    name = text["value"]
    text["value"] = {"expr": f"width > 460 ? '{name} · simulated data' : '{name}'"}


def _x(field: str) -> Spec:
    shown = {"domainMin": {"expr": "shown_from"}, "domainMax": {"expr": "shown_to"}}
    return {
        "field": field,
        "type": "temporal",
        "scale": {"type": "utc", "nice": False, **shown},
        "axis": _TIME_AXIS | {"labels": False, "ticks": False, "domain": False},
    }


def _y(field: str | None, scale: Spec, **axis: Any) -> Spec:
    source: Spec = {} if field is None else {"field": field}
    return {**source, "type": "quantitative", "scale": {"nice": False, **scale}, "axis": {"title": None, **axis}}


def _panel(title: str, height: int, layers: list[Spec], legend: list[Spec], look: Look) -> Spec:
    """Return shade, layers, legend and cursor under one name."""
    shade = {
        "data": {"name": "at_ceiling"},
        "mark": {"type": "rect", "color": look.bound, "opacity": 0.09, "clip": True},
        "encoding": {"x": _x("a"), "x2": {"field": "b"}},
    }
    drag = {
        **_steered(a="drag_from", b="drag_to"),
        "mark": {"type": "rect", "color": look.ink, "opacity": 0.12, "clip": True},
        "encoding": {"x": _x("a"), "x2": {"field": "b"}},
    }
    cursor = {
        **_steered(a="cursor"),
        "mark": {"type": "rule", "color": look.ink, "opacity": 0.6, "clip": True},
        "encoding": {"x": _x("a")},
    }
    return {"height": height, "layer": [shade, *layers, _name(title), *legend, drag, cursor]}


def _waited_shade(look: Look) -> Spec:
    """Return the shade of waiting that no ceiling explains: grey; time at a ceiling is orange."""
    return {
        "data": {"name": "waited"},
        "mark": {"type": "rect", "color": look.quiet, "opacity": 0.2, "clip": True},
        "encoding": {"x": _x("a"), "x2": {"field": "b"}},
    }


def _name(title: str) -> Spec:
    """Return the name of a panel, above its left end."""
    mark = {"type": "text", "align": "left", "baseline": "bottom", "fontSize": 12}
    place = {"x": {"value": 0}, "y": {"value": -7}, "text": {"value": title}}
    return {"name": "title", "data": {"name": "nothing"}, "mark": mark | {"fontWeight": 600}, "encoding": place}


def _steered(**parameters: str) -> Spec:
    """
    Return one row whose fields follow parameters, and none while they have their default of −1 ms.

    A mark at that time would be clipped, but millions of pixels away, and programs that walk the page get lost there.
    """
    set_only = [{"filter": " && ".join(f"{name} >= 0" for name in parameters.values())}]
    taken = [{"calculate": name, "as": field} for field, name in parameters.items()]
    return {"data": {"name": "nothing"}, "transform": [*set_only, *taken]}


def _legend(entries: list[tuple[str, str]]) -> list[Spec]:
    """Return names beside their colours, above the right end of the panel."""
    layers: list[Spec] = []
    right = 0.0
    for name, color in reversed(entries):
        for text, dx, ink in ((name, -right, None), ("■", -right - 7 - _width(name), color)):
            mark = {"type": "text", "align": "right", "baseline": "bottom", "dx": dx}
            layers.append(
                {
                    "data": {"name": "nothing"},
                    "mark": mark | ({"color": ink} if ink else {}),
                    "encoding": {"x": {"value": "width"}, "y": {"value": -7}, "text": {"value": text}},
                }
            )
        right += _width(name) + 30
    return layers


def _width(text: str) -> float:
    """Return the approximate width of a text of 11 px, in pixels."""
    return 6.3 * len(text)


def _area(y: Spec, y2: Spec, color: str, opacity: float = 1.0) -> Spec:
    mark = {"type": "area", "color": color, "opacity": opacity, "clip": True, "line": False}
    return {"mark": mark, "encoding": {"x": _x("t"), "y": y, "y2": y2}}


def _line(y: Spec, color: str, *, dash: list[int] | None = None, width: float = 1.4) -> Spec:
    mark: Spec = {"type": "line", "color": color, "strokeWidth": width, "clip": True}
    if dash:
        mark["strokeDash"] = dash
    return {"mark": mark, "encoding": {"x": _x("t"), "y": y}}


def _rate_panel(name: str, height: int, diagnosis: Diagnosis, samples: TimelineSamples, look: Look) -> Spec:
    """Return reads and writes stacked under the ceilings."""
    dimension, unit = _TOTALS[name]
    high = samples.total[dimension].high
    peak = float(np.nanmax(high)) if np.isfinite(high).any() else 0.0
    lines = lines_of(diagnosis, dimension, peak, count_max=5 if height > 150 else 3)
    # Room for the label of the highest line.
    top = max([peak, *(line.value for line in lines), unit]) / unit * (1 + 24 / height)
    scale = {"domain": [0, float(f"{top:.4g}")]}
    axis = {"tickCount": max(2, height // 45), "format": ",~f"}
    read = "reads" if name == "rate" else "read_ops"
    layers = []
    if samples.is_reduced:
        low, high_y = f"{name}_low", f"{name}_high"
        layers.append(_area(_y(high_y, scale, **axis), {"field": low}, look.writes, 0.25))
    if any(m in samples.metric for m in (_COLUMNS[read][0],)):
        layers.append(_area(_y(read, scale, **axis), {"datum": 0}, look.reads))
    layers.append(_area(_y(name, scale, **axis), {"field": read}, look.writes))
    layers += _ceilings(lines, high / unit, unit, top, height, look, _y("v", scale, **axis))
    title = "IOPS, reads + writes" if name == "ops" else "Throughput, MB/s"
    legend = _legend([("reads", look.reads), ("writes", look.writes)])
    return _panel(title, height, layers, legend, look)


def _ceilings(
    lines: tuple[Line, ...], served: FloatArray, unit: float, top: float, height: int, look: Look, y: Spec
) -> list[Spec]:
    """Return the lines of ceilings with their labels; solid if reached, dashed if not."""
    rules: list[Spec] = []
    labels: list[Spec] = []
    side, before = "right", -1e9
    for line in lines:
        value = line.value / unit
        pixel = value / top * height
        if pixel - before < _LABEL_HEIGHT:
            side = "left" if side == "right" else "right"
        else:
            side = _free_side(served, value + 2 * top / height, line.label)
        before = pixel
        color, ink = (look.bound,) * 2 if line.is_bound else (look.quiet, look.ink)
        rule: Spec = {"type": "rule", "color": color, "strokeWidth": 1.8 if line.is_bound else 1}
        if not line.is_bound:
            rule["strokeDash"] = [5, 4]
        text = {
            "type": "text",
            "align": side,
            "baseline": "bottom",
            "dx": -6 if side == "right" else 6,
            "dy": -3,
            "fontWeight": 600 if line.is_bound else 400,
        }
        # The label is drawn twice, first as a halo: it must be read over whatever lies below.
        halo = {"color": look.surface, "stroke": look.surface, "strokeWidth": 5, "opacity": 0.95}
        place = {"y": y, "x": {"value": "width" if side == "right" else 0}}
        data = {"values": [{"v": float(f"{value:.7g}"), "label": line.label}]}
        label = {**place, "text": {"field": "label"}}
        rules.append({"data": data, "mark": rule, "encoding": {"y": y}})
        labels += [
            {"data": data, "mark": text | halo | {"strokeJoin": "round"}, "encoding": label},
            {"data": data, "mark": text | {"color": ink}, "encoding": label},
        ]
    # No line is drawn over a label, not even that of a neighbour.
    return rules + labels


def _free_side(served: FloatArray, level: float, label: str) -> str:
    """
    Return the end of a line at which its label covers less of the chart; the right one where both are alike.

    Args:
        served: the highest rate of each bucket, in the unit of the axis.
        level: where the label begins; whatever is higher is behind it.
        label: text of the label.
    """
    count = max(1, round(len(served) * min(_width(label) / _USUAL_WIDTH, 0.5)))
    right, left = (int(np.sum(part > level)) for part in (served[-count:], served[:count]))
    return "left" if left < right else "right"


def _latency_panel(samples: TimelineSamples, look: Look) -> list[Spec]:
    """Return mean latency of reads and writes on a logarithmic axis."""
    shown = {"read_ms": ("reads", look.reads), "write_ms": ("writes", look.writes)}
    present = [n for n in shown if _COLUMNS[n][0] in samples.metric]
    values = [samples.metric[_COLUMNS[n][0]].mean / 1e-3 for n in present]
    positive = np.concatenate([v[v > 0] for v in values]) if values else np.empty(0)
    if not positive.size:
        return []
    # Whole decades around what was measured, at most five: a stray value must not squeeze the rest.
    high = int(np.ceil(np.log10(positive.max())))
    low = max(int(np.floor(np.log10(positive.min()))), high - 5)
    low = min(low, high - 1)
    scale = {"type": "log", "domain": [10.0**low, 10.0**high]}
    axis = {"values": [10.0**d for d in range(low, high + 1)], "format": ",~f"}
    layers = [_line(_y(n, scale, **axis), shown[n][1]) for n in present]
    legend = _legend([shown[n] for n in present])
    return [_panel("Latency, ms", 100, layers, legend, look)]


def _simple_panel(
    name: str, title: str, domain: list[float] | None, samples: TimelineSamples, look: Look
) -> list[Spec]:
    """Return one quantity as a filled line from zero."""
    metric, unit = _COLUMNS[name]
    if metric not in samples.metric or not np.isfinite(samples.metric[metric].mean).any():
        return []
    top = max(float(np.nanmax(samples.metric[metric].mean)) / unit, 1.0) * 1.08
    scale = {"domain": domain or [0, float(f"{top:.4g}")]}
    y = _y(name, scale, tickCount=3, format=",~f")
    layers = [_area(y, {"datum": 0}, look.quiet, 0.25), _line(y, look.quiet, width=1.2)]
    return [_panel(title, 64, layers, [], look)]


def _balance_panel(samples: TimelineSamples, look: Look) -> list[Spec]:
    """Return the remaining credits of each bucket; the lines differ in dash and in colour."""
    style = {
        "byte_balance": (look.byte_balance, None),
        "io_balance": (look.io_balance, [6, 3]),
        "volume_balance": (look.volume_balance, [2, 2]),
    }
    present = [n for n, metric in _BALANCES.items() if metric in samples.metric]
    if not present:
        return []
    y = {n: _y(n, {"domain": [0, 100]}, values=[0, 50, 100]) for n in present}
    layers = [_line(y[n], style[n][0], dash=style[n][1], width=1.8) for n in present]
    legend = _legend([(words.BALANCE_NAMES[_BALANCES[n]], style[n][0]) for n in present])
    return [_panel("Credits left, %", 72, layers, legend, look)]


def _add_annotations(panel: Spec, snapshot: Snapshot, window_s: tuple[int, int], look: Look) -> None:
    """Add the annotations to the first panel, as dotted lines with their texts."""
    rule = {"type": "rule", "color": look.ink, "strokeDash": [1, 3], "clip": True}
    halo = {"color": look.surface, "stroke": look.surface, "strokeWidth": 5, "opacity": 0.95}
    text = {"type": "text", "baseline": "top", "fontStyle": "italic", "clip": True}
    place = {"x": _x("t"), "text": {"field": "label"}}
    layers = []
    for note, side, row in _laid_out(snapshot.annotations, window_s):
        data = {"values": [{"t": 1000 * note.time_s, "label": words.plain(note.text)}]}
        laid = {"align": side, "dx": 5 if side == "left" else -5, "limit": {"expr": "width / 2.5"}}
        # In a narrow chart it would lie over the labels of the ceilings; the line stays.
        laid["opacity"] = {"expr": "width > 460 ? 1 : 0"}
        placed = place | {"y": {"value": 6 + _LABEL_HEIGHT * row}}
        # Backups come every day: a faint line each, or they would hide what is rare.
        faint = {"opacity": 0.35} if note.kind is EventKind.BACKUP else {}
        layers.append({"data": data, "mark": rule | faint, "encoding": {"x": _x("t")}})
        if row < _NOTE_ROWS:
            layers += [
                {"data": data, "mark": text | halo | laid, "encoding": placed},
                {"data": data, "mark": text | laid, "encoding": placed},
            ]
    panel["layer"][-2:-2] = layers


def _own_events_panel(diagnosis: Diagnosis, look: Look) -> list[Spec]:
    """Return the caller's own events as bars, a row for each name; a moment is a short line."""
    names = shown_names(diagnosis.own_events)
    if not names:
        return []
    layers: list[Spec] = []
    for row, name in enumerate(names):
        top = _OWN_ROW * row
        spans = [{"a": 1000 * a, "b": 1000 * b} for a, b in own_spans(diagnosis, name)]
        y = {"y": {"value": top + _OWN_TEXT}, "y2": {"value": top + _OWN_ROW - 4}}
        bar = {"type": "rect", "color": look.reads, "clip": True, "stroke": look.reads}
        layers.append(
            {
                "data": {"values": spans},
                "mark": bar | {"strokeWidth": 1.5},
                "encoding": {"x": _x("a"), "x2": {"field": "b"}, **y},
            }
        )
        text = {"type": "text", "align": "left", "baseline": "top", "clip": True}
        label = {
            "x": {"value": 2},
            "y": {"value": top + 1},
            "text": {"value": f"#{name.number} {words.plain(name.name)}"},
        }
        layers.append({"data": {"name": "nothing"}, "mark": text, "encoding": label})
    return [_panel("Your events", _OWN_ROW * len(names), layers, [], look)]


def _laid_out(annotations: Sequence[Annotation], window_s: tuple[int, int]) -> Iterator[tuple[Annotation, str, int]]:
    """
    Yield each annotation inside the window with the side of its line that has more room, and its row.

    A text takes the first row in which it meets no other; which it would, is judged as if the
    plot were 720 pixels wide. Backups have no text.
    """
    start_s, end_s = window_s
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_NOTE_ROWS)]
    for note in annotations:
        if not start_s <= note.time_s < end_s:
            continue
        x = 720 * (note.time_s - start_s) / (end_s - start_s)
        length = min(_width(note.text), 720 / 2.5) + 10
        side = "left" if x < 360 else "right"
        place = (x, x + length) if side == "left" else (x - length, x)
        row = next(
            (r for r, held in enumerate(taken) if all(place[1] < a or b < place[0] for a, b in held)), _NOTE_ROWS
        )
        row = _NOTE_ROWS if note.kind is EventKind.BACKUP else row
        if row < _NOTE_ROWS:
            taken[row].append(place)
        yield note, side, row


def _time_axis(panel: Spec) -> None:
    """Return the labels below the last panel: the hour, or the day at midnight."""
    for layer in panel["layer"]:
        x = layer["encoding"].get("x", {})
        if "scale" in x:
            x["axis"] = _TIME_AXIS
