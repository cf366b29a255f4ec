"""
The timeline as a Vega-Lite specification, and pictures of it.

One specification serves the page, its static form and the pictures; only the colours differ: a
page names CSS variables, so that light and dark follow the reader, a picture has numbers.

The specification is written out as plain data instead of through Altair's classes: those number
views and parameters with a counter of the process, and equal inputs must give equal bytes. The
unit tests hold every specification against the schema that Altair brings along.
"""

import json
from textwrap import wrap
from typing import Any

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec, svg
from plimsoll.reports.chart.look import LIGHT, Look, page_look
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.diagnosis.panels import dataset, panels_of
from plimsoll.reports.diagnosis.timeline import TimelineSamples, at_ceiling, bucket_length, samples_of
from plimsoll.reports.document.parts import LiveChart
from plimsoll.reports.render import words
from plimsoll.units import format_duration

# A picture is seldom wider than 1,500 pixels: more points than this cannot be distinguished, and
# a page of two weeks stays below two megabytes.
POINTS_MAX = 1500

WAITED_LEGEND = "Shaded grey: requests waited, and no documented limit explains it."


# Between two panels: room for the name of the lower one.
_SPACING = 34


# Width of the drawing of a page, without the numbers at its left; the page is 68 rem wide.
_STATIC_WIDTH = 1030

# Values in the line above the chart for the time under the pointer: column, name, unit, digits.
_READOUT = (
    ("rate", "total", "MB/s", 1),
    ("reads", "reads", "MB/s", 1),
    ("ops", "total", "IOPS", 0),
    ("read_ms", "read latency", "ms", 1),
    ("write_ms", "write latency", "ms", 1),
    ("queue", "queue", "", 1),
    ("byte_balance", "throughput credits", "%", 0),
    ("io_balance", "IOPS credits", "%", 0),
    ("volume_balance", "gp2 credits", "%", 0),
    ("cpu", "CPU", "%", 0),
    ("capacity", "capacity", "%", 0),
    ("local_free", "local storage left", "GiB", 1),
)


def chart_samples(diagnosis: Diagnosis, snapshot: Snapshot) -> TimelineSamples:
    """Return the series of the window in at most `POINTS_MAX` buckets."""
    start_s, end_s = diagnosis.window_s
    bucket_s = bucket_length(diagnosis.window_s, diagnosis.step_s, POINTS_MAX)
    count = max(1, -(-(end_s - start_s) // bucket_s))
    return samples_of(snapshot, diagnosis.window_s, bucket_s=bucket_s, count=count)


def caption(samples: TimelineSamples) -> str:
    """Return a sentence about the meaning of a point of the chart."""
    length = format_duration(samples.bucket_s)
    if not samples.is_reduced:
        return f"Each point is the mean of {length}. Times are UTC."
    return (
        f"Reduced for drawing: each point is the mean of {length}, the pale band spans the "
        "smallest and largest sample in it. Times are UTC."
    )


def chart_caption(diagnosis: Diagnosis, samples: TimelineSamples) -> str:
    """Return the same with the meaning of shades and lines."""
    texts = [caption(samples)]
    if diagnosis.intervals:
        texts.append("Shaded: time at a ceiling.")
    if diagnosis.waiting:
        texts.append(WAITED_LEGEND)
    if diagnosis.ceilings:
        texts.append("Solid lines: ceilings that were reached; dashed: others.")
    return " ".join(texts)


def live_timeline(diagnosis: Diagnosis, snapshot: Snapshot) -> LiveChart:
    """Return the static drawing, and the data for the one to zoom."""
    samples = chart_samples(diagnosis, snapshot)
    spec = timeline_spec(diagnosis, snapshot, look=page_look(), width=_STATIC_WIDTH, is_titled=False, samples=samples)
    drawing = svg(spec)
    rows = spec["datasets"]["samples"]
    spec["datasets"]["samples"] = []
    names = [name for name in rows[0] if name != "t"]
    document = {
        "spec": spec,
        "first_ms": rows[0]["t"],
        "step_ms": round(1000 * samples.bucket_s),
        "window_ms": [1000 * s for s in diagnosis.window_s],
        "columns": {name: [row[name] for row in rows] for name in names},
        "readout": [entry for entry in _READOUT if entry[0] in names],
    }
    data = json.dumps(document, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")
    return LiveChart(svg=drawing, data=data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def timeline_spec(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    *,
    look: Look = LIGHT,
    width: int = 720,
    is_titled: bool = True,
    samples: TimelineSamples | None = None,
) -> dict[str, Any]:
    """
    Return the timeline as a Vega-Lite 6 specification.

    Panels, where measured: throughput and IOPS with reads and writes stacked under the ceilings,
    latency, queue depth, balances, CPU; one time axis, time at a ceiling shaded in all of them.
    The parameters `shown_from`, `shown_to` (ms), `cursor`, `drag_from` and `drag_to` steer it.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in.
        look: colours and font.
        width: of the plots, in pixels, without the numbers at the left.
        is_titled: whether the verdict stands above the chart.
        samples: what `chart_samples` returned, where it is already at hand.
    """
    samples = samples or chart_samples(diagnosis, snapshot)
    start_ms, end_ms = (1000 * s for s in diagnosis.window_s)
    panels = panels_of(diagnosis, snapshot, samples, look=look, width=width)
    spec: Spec = {
        "$schema": VEGALITE_SCHEMA,
        "background": look.surface,
        "padding": 12 if is_titled else {"left": 0, "right": 8, "top": 6, "bottom": 4},
        "params": [
            {"name": "shown_from", "value": start_ms},
            {"name": "shown_to", "value": end_ms},
            *({"name": name, "value": -1} for name in ("cursor", "drag_from", "drag_to")),
        ],
        "data": {"name": "samples"},
        "datasets": {
            "samples": dataset(samples),
            "at_ceiling": [{"a": 1000 * a, "b": 1000 * b} for a, b in at_ceiling(diagnosis)],
            **_waited(diagnosis),
            "nothing": [{}],
        },
        "spacing": _SPACING,
        "bounds": "flush",
        "resolve": {"scale": {"x": "shared"}},
        "vconcat": panels,
        "config": _config(look),
    }
    if is_titled:
        spec["title"] = _title(diagnosis, samples, look, width)
    return spec


def _waited(diagnosis: Diagnosis) -> Spec:
    """Return the stretches of waiting that no ceiling explains."""
    stretches = [{"a": 1000 * w.start_s, "b": 1000 * w.end_s} for w in diagnosis.waiting]
    return {"waited": stretches} if stretches else {}


def _title(diagnosis: Diagnosis, samples: TimelineSamples, look: Look, width: int) -> Spec:
    # At 15 px a letter is about 7.5 px wide, at 11 px about 5.5 px.
    below = wrap(f"{words.span(*diagnosis.window_s)}. {caption(samples)}", int(width / 5.5))
    if diagnosis.waiting:
        below += wrap(WAITED_LEGEND, int(width / 5.5))
    if diagnosis.is_simulated:
        below = [*wrap(f"SIMULATED DATA. {words.plain(diagnosis.note)}", int(width / 5.5)), *below]
    return {
        "text": wrap(headline(diagnosis), int(width / 7.5)),
        "subtitle": below,
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "fontWeight": 600,
        "color": look.ink,
        "subtitleColor": look.quiet,
        "subtitleFontSize": 11,
        "subtitlePadding": 6,
        "offset": 30,
    }


def _config(look: Look) -> Spec:
    return {
        "font": look.font,
        **UNNAMED,
        "view": {"stroke": None, "fill": None},
        "axis": {
            "labelColor": look.quiet,
            "labelFontSize": 11,
            "gridColor": look.grid,
            "domainColor": look.grid,
            "tickColor": look.grid,
        },
        "axisY": {
            # The same width for every panel, so that one time axis serves all.
            "minExtent": 44,
            "maxExtent": 44,
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
        },
        "text": {"color": look.ink, "fontSize": 11},
    }
