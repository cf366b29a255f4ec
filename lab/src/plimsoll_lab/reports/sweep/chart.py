"""
Sweeps as a Vega-Lite specification, and pictures of it.

Both axes are logarithmic. Of each configuration two panels stand beside each other: throughput and
operations by I/O size. Marks are what was measured, lines the two limits that were found.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec, write_picture
from plimsoll.reports.chart.look import LIGHT, Look
from plimsoll.reports.limits.curve import mb_ticks
from plimsoll.reports.render import words
from plimsoll.units import KIB, number
from plimsoll_lab.model.sweep import Pattern, PhaseFit, SweepPoint, SweepReport
from plimsoll_lab.reports.sweep.outline import group_title

_WIDTH, _HEIGHT = 360, 240
# Of 11-pixel text over two plots and their margins.
_LETTERS_PER_LINE = 125


def write_sweep_picture(path: Path, reports: Sequence[SweepReport]) -> None:
    """
    Write the chart as the picture that the ending selects: .png or .svg.

    Raises:
        UsageError: another ending, or the file cannot be written.
    """
    write_picture(path, sweep_spec(reports))


def sweep_spec(reports: Sequence[SweepReport], *, look: Look = LIGHT, is_titled: bool = True) -> Spec:
    """
    Return all configurations as a Vega-Lite 6 specification; equal reports give equal specifications.

    Args:
        reports: what was measured and found.
        look: colours and font.
        is_titled: whether each configuration's name stands above its panels.
    """
    return {
        "$schema": VEGALITE_SCHEMA,
        "background": look.surface,
        "padding": 16,
        "spacing": 44,
        "vconcat": [_configuration(report, look, is_titled=is_titled) for report in reports],
        "config": _config(look),
    }


def _configuration(report: SweepReport, look: Look, *, is_titled: bool) -> Spec:
    panels: Spec = {"spacing": 56, "hconcat": [_panel(report, look, of="mb"), _panel(report, look, of="ops")]}
    return {"title": _title(report, look), **panels} if is_titled else panels


def _title(report: SweepReport, look: Look) -> Spec:
    below = wrap(words.sentence(report.sweep.method), _LETTERS_PER_LINE)
    return {
        "text": f"I/O sizes of {words.plain(report.sweep.subject)}",
        "subtitle": below,
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "fontWeight": 600,
        "color": look.ink,
        "subtitleColor": look.quiet,
        "subtitleFontSize": 11,
        "offset": 12,
    }


def _panel(report: SweepReport, look: Look, *, of: str) -> Spec:
    points = report.sweep.points
    sizes = sorted({point.io_size_bytes / KIB for point in points})
    rates = [_row(point)[of] for point in points]
    domain = min(rates) * 0.8, max(rates) * 1.3
    scale = {"type": "log", "domain": list(domain), "nice": False}
    title = "MB/s" if of == "mb" else "IOPS"
    names = list(dict.fromkeys(group_title(p.phase, p.direction) for p in points))
    color = {
        "field": "group",
        "type": "nominal",
        "scale": {"domain": names, "range": _colors(look)[: len(names)]},
        "legend": {"title": None, "orient": "bottom", "direction": "vertical", "labelLimit": 400},
    }
    shape = {
        "field": "pattern",
        "type": "nominal",
        "scale": {"domain": [p.value for p in Pattern], "range": ["circle", "triangle-up"]},
        "legend": {"title": None, "orient": "bottom"},
    }
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "encoding": {
            "x": {
                "field": "kib",
                "type": "quantitative",
                "scale": {"type": "log", "base": 2, "nice": False, "padding": 8},
                "axis": {"title": "I/O size, KiB", "values": sizes, "labelOverlap": "greedy"},
            },
            "y": {
                "field": of,
                "type": "quantitative",
                "scale": scale,
                "axis": {"title": title, "values": mb_ticks(list(domain)), "format": ",~r"},
            },
        },
        "layer": [
            {
                "data": {"values": list(_lines(report, sizes, domain, of))},
                "mark": {"type": "line", "strokeWidth": 2, "opacity": 0.7, "clip": True},
                "encoding": {"color": color, "detail": {"field": "group"}},
            },
            {
                "data": {"values": [_row(point) for point in points]},
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.95},
                "encoding": {"color": color, "shape": shape, "tooltip": _TOOLTIP},
            },
        ],
    }


_TOOLTIP = [
    {"field": "group", "title": "measured"},
    {"field": "pattern", "title": "requests"},
    {"field": "kib", "title": "I/O size, KiB"},
    {"field": "came_as", "title": "actual size, KiB"},
    {"field": "mb", "title": "MB/s", "format": ",.1f"},
    {"field": "ops", "title": "IOPS", "format": ",.0f"},
]


def _row(point: SweepPoint) -> Spec:
    return {
        "kib": point.io_size_bytes / KIB,
        "mb": point.bytes_per_s / 1e6,
        "ops": point.ops_per_s,
        "pattern": point.pattern.value,
        "group": group_title(point.phase, point.direction),
        "came_as": number(point.effective_size_bytes / KIB, 4),
    }


def _lines(report: SweepReport, sizes: Sequence[float], domain: Sequence[float], of: str) -> Iterator[Spec]:
    """Yield the two limits of each fit as one bent line: level in one dimension, rising in the other."""
    for fit in report.fit.phases:
        if not fit.is_explained:
            continue
        for kib, ops in _bends(fit, sizes[0], sizes[-1]):
            value = ops * kib * KIB / 1e6 if of == "mb" else ops
            if value >= domain[0] / 2:
                yield {"kib": kib, of: value, "group": group_title(fit.phase, fit.direction)}


def _bends(fit: PhaseFit, first: float, last: float) -> list[tuple[float, float]]:
    """Return the points of the line: size in KiB and operations per second at its start, bend and end."""
    ops = fit.ops_limit.value if fit.ops_limit else None
    most = fit.bytes_limit.value / KIB if fit.bytes_limit else None
    if ops is None:
        return [] if most is None else [(first, most / first), (last, most / last)]
    if most is None:
        return [(first, ops), (last, ops)]
    knee = most / ops
    if not first < knee < last:
        return [(first, min(ops, most / first)), (last, min(ops, most / last))]
    return [(first, ops), (knee, ops), (last, most / last)]


def _colors(look: Look) -> list[str]:
    return [look.writes, look.bound, look.byte_balance, look.io_balance, look.volume_balance]


def _config(look: Look) -> Spec:
    return {
        "font": look.font,
        **UNNAMED,
        "view": {"stroke": None},
        "axis": {
            "labelColor": look.quiet,
            "titleColor": look.quiet,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "gridColor": look.grid,
            "domainColor": look.grid,
            "tickColor": look.grid,
        },
        "legend": {"labelColor": look.ink, "labelFontSize": 11, "symbolSize": 60},
    }
