"""Connections by state, second by second, as a Vega-Lite specification."""

from bisect import bisect_right

from plimsoll.reports.chart.drawing import VEGALITE_SCHEMA, Spec
from plimsoll.reports.chart.look import Look
from plimsoll_lab.model.pooled import PooledReport, PooledSample

# Of the plot in pixels: a third of a page's width.
_HEIGHT = 240
# Room above the highest number for the numbers of the phases.
_HEADROOM = 1.2


def pooled_spec(report: PooledReport, *, look: Look, width: int) -> Spec:
    """
    Return connections stacked by state, queries per second as a line, and a rule where a phase begins.

    Args:
        report: with at least one phase.
        look: colours and font.
        width: of the plot, in pixels.
    """
    begins = [phase.began_s for phase in report.phases]
    rows = [_row(sample, bisect_right(begins, sample.time_s)) for sample in report.samples]
    top = max((row["open"] for row in rows), default=1.0) * _HEADROOM
    x = {"field": "second", "type": "quantitative", "title": "seconds"}
    # Nothing is drawn between two phases, where nothing was measured.
    apart = {"field": "phase", "type": "nominal"}
    y = {"type": "quantitative", "scale": {"domain": [0, top]}}
    line = {"field": "queries", "type": "quantitative", "title": "queries per second"}
    colors = {"active": look.bound, "busy": look.io_balance, "open": look.reads}
    areas = [
        {
            "mark": {"type": "area", "color": color, "interpolate": "step-after"},
            "encoding": {
                "x": x,
                "detail": apart,
                "y": {**y, "field": name, "title": "connections"},
                "y2": {"field": below} if below else {"datum": 0},
            },
        }
        for (name, color), below in zip(colors.items(), ("", "active", "busy"), strict=True)
    ]
    return {
        "$schema": VEGALITE_SCHEMA,
        "width": width,
        "height": _HEIGHT,
        "background": look.surface,
        "data": {"values": rows},
        "layer": [
            {"layer": [*areas, *_phases(report, look, top)]},
            {
                "mark": {"type": "line", "color": look.ink, "strokeWidth": 1.5},
                "encoding": {"x": x, "y": line, "detail": apart},
            },
        ],
        "resolve": {"scale": {"y": "independent"}},
        "config": {
            "font": look.font,
            "aria": False,
            "view": {"stroke": None},
            "axis": {
                "labelColor": look.quiet,
                "titleColor": look.quiet,
                "gridColor": look.grid,
                "domainColor": look.grid,
                "tickColor": look.grid,
            },
        },
    }


def _row(sample: PooledSample, phase: int) -> dict[str, float]:
    busy = sample.active + sample.in_transaction + sample.aborted
    return {
        "second": float(f"{sample.time_s:.5g}"),
        "phase": phase,
        "active": sample.active,
        "busy": busy,
        "open": busy + sample.idle,
        "queries": float(f"{sample.queries_per_s:.5g}"),
    }


def _phases(report: PooledReport, look: Look, top: float) -> list[Spec]:
    """Return a rule for each phase, and its number."""
    values = [
        {"second": float(f"{phase.began_s:.5g}"), "title": str(number), "top": top}
        for number, phase in enumerate(report.phases, 1)
    ]
    x = {"field": "second", "type": "quantitative"}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "color": look.quiet, "strokeDash": [3, 3]},
            "encoding": {"x": x},
        },
        {
            "data": {"values": values},
            "mark": {"type": "text", "align": "left", "baseline": "top", "dx": 4, "color": look.ink},
            "encoding": {"x": x, "y": {"field": "top", "type": "quantitative"}, "text": {"field": "title"}},
        },
    ]
