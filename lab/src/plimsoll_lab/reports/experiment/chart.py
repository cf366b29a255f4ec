"""The throughput of an experiment, minute by minute, under the limit of the instance, as a Vega-Lite specification."""

from collections.abc import Sequence

from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec
from plimsoll.reports.chart.look import Look
from plimsoll_lab.model.experiment import ExperimentReport, MinuteRates, PhaseReport

# Of the plot in pixels: a third of a page's width.
_HEIGHT = 240
_MINUTE_S = 60
# Room above the highest number for the titles of the phases.
_HEADROOM = 1.25
_FONT_PX = 11
# A letter is less than six tenths as wide as the font is high.
_LETTER_PX = 0.6 * _FONT_PX
_GAP_PX = 4


def experiment_spec(report: ExperimentReport, *, look: Look, width: int) -> Spec:
    """
    Return reads and writes stacked, the limit as a line, and a rule where a phase begins.

    Args:
        report: with at least one phase.
        look: colours and font.
        width: of the plot, in pixels.
    """
    start_s = report.phases[0].window_s[0]
    rows = [_row(minute, start_s) for minute in report.minutes]
    top = max((max(row["served"], row["limit"]) for row in rows), default=1.0) * _HEADROOM
    minutes = max((row["minute"] for row in rows), default=1) + 1
    y = {"type": "quantitative", "scale": {"domain": [0, top]}, "axis": {"tickCount": 6}}
    x = {"field": "minute", "type": "quantitative", "title": "emulated minutes", "scale": {"domain": [0, minutes]}}
    return {
        "$schema": VEGALITE_SCHEMA,
        "width": width,
        "height": _HEIGHT,
        "background": look.surface,
        "data": {"values": rows},
        "layer": [
            _area("reads", None, look.reads, x, y),
            _area("served", "reads", look.writes, x, y),
            {
                "mark": {"type": "line", "color": look.bound, "strokeWidth": 2, "interpolate": "step-after"},
                "encoding": {"x": x, "y": {**y, "field": "limit"}},
            },
            *_phases(report.phases, start_s, look, top, minute_px=width / minutes),
        ],
        "config": {
            "font": look.font,
            **UNNAMED,
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


def _row(minute: MinuteRates, start_s: int) -> dict[str, float]:
    reads, writes = minute.read_bytes_per_s / 1e6, minute.write_bytes_per_s / 1e6
    return {
        "minute": (minute.time_s - start_s) // _MINUTE_S,
        "reads": float(f"{reads:.5g}"),
        "served": float(f"{reads + writes:.5g}"),
        "limit": float(f"{minute.ceiling_bytes_per_s / 1e6:.5g}"),
    }


def _area(name: str, above: str | None, color: str, x: Spec, y: Spec) -> Spec:
    below = {"datum": 0} if above is None else {"field": above}
    titled = {**y, "field": name, "title": "MB/s, reads + writes"}
    return {
        "mark": {"type": "area", "color": color, "interpolate": "step-after"},
        "encoding": {"x": x, "y": titled, "y2": below},
    }


def _phases(phases: Sequence[PhaseReport], start_s: int, look: Look, top: float, *, minute_px: float) -> list[Spec]:
    """Return a rule for each phase, and its title; only its number where the phase is too short for the title."""
    values = []
    for number, phase in enumerate(phases, 1):
        begin, end = ((moment - start_s) // _MINUTE_S for moment in phase.window_s)
        title = f"{number} {phase.title}"
        fits = len(title) * _LETTER_PX + 2 * _GAP_PX < (end - begin) * minute_px
        values.append({"minute": begin, "title": title if fits else str(number), "top": top})
    x = {"field": "minute", "type": "quantitative"}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "color": look.quiet, "strokeDash": [3, 3]},
            "encoding": {"x": x},
        },
        {
            "data": {"values": values},
            "mark": {
                "type": "text",
                "align": "left",
                "baseline": "top",
                "dx": _GAP_PX,
                "color": look.ink,
                "fontSize": _FONT_PX,
            },
            "encoding": {"x": x, "y": {"field": "top", "type": "quantitative"}, "text": {"field": "title"}},
        },
    ]
