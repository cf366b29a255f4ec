"""Hours at each limit as a Vega-Lite specification: one bar for each, its name above it."""

from collections.abc import Sequence

from plimsoll.model.fleet_answer import LimitTime
from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec
from plimsoll.reports.chart.look import Look, page_look
from plimsoll.reports.fleet.words import family_name

# In pixels: of one bar with the name above it.
_STEP = 44


def hours_spec(times: Sequence[LimitTime], *, width: int, look: Look | None = None) -> Spec:
    """
    Return the hours at each limit as bars, the longest first.

    Args:
        times: at least one.
        width: of the plot, pixels.
        look: colours and font; None takes those of a page.
    """
    look = look or page_look()
    values = [
        {
            "limit": family_name(time.family),
            "hours": round(time.at_ceiling_s / 3600, 3),
            "label": f"{family_name(time.family)}: {time.at_ceiling_s / 3600:,.1f} h",
        }
        for time in times
    ]
    row = {"field": "limit", "type": "nominal", "sort": None, "axis": None}
    hours = {"field": "hours", "type": "quantitative", "axis": {"title": "hours", "tickCount": 5, "format": ",~r"}}
    name = {"align": "left", "baseline": "bottom", "dy": -8, "fontSize": 13, "color": look.ink}
    return {
        "$schema": VEGALITE_SCHEMA,
        "background": None,
        "width": width,
        "height": {"step": _STEP},
        "padding": 2,
        "data": {"values": values},
        "encoding": {"y": row},
        "layer": [
            {"mark": {"type": "bar", "height": 12, "yOffset": 6, "color": look.bound}, "encoding": {"x": hours}},
            {
                "mark": {"type": "text", "text": "", **name, "yOffset": 6},
                "encoding": {"x": {"value": 0}, "text": {"field": "label"}},
            },
        ],
        "config": {
            "font": look.font,
            **UNNAMED,
            "view": {"stroke": None},
            "axis": {
                "labelColor": look.quiet,
                "titleColor": look.quiet,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "gridColor": look.grid,
                "domainColor": look.grid,
                "tickColor": look.grid,
            },
        },
    }
