"""
Price and performance as a Vega-Lite specification, and pictures of it.

Across is what an arrangement costs in a month, upwards the share of the demanded bytes that it serves
without waiting. The line is the most that can be had for a price at the middle of the plausible
demands, the band reaches over all of them. What is there and what is proposed are named, other options
have their numbers, which a key below explains. No name covers anything (chart_labels.py).
"""

from collections.abc import Sequence
from math import floor
from pathlib import Path
from textwrap import wrap
from typing import Any

from plimsoll.errors import UsageError
from plimsoll.model.plan import FASTER, Band, Judgement, Option, Plan
from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec, check_picture_ending, write_picture
from plimsoll.reports.chart.look import LIGHT, Look
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.plan.cards import is_spread
from plimsoll.reports.plan.chart_names import Plane, key_of, named_marks
from plimsoll.reports.render import words

# In pixels.
_HEIGHT = 300

# If prices differ by more than this factor, the axis is logarithmic: on a linear axis the cheap half of the
# arrangements would be in the first tenth of the picture.
_LOG_FROM = 6.0

# With fewer, a logarithmic axis cannot be read.
_TICKS_MIN = 4

# From this width on there is room for six prices.
_WIDE = 500

# Room above 100 % and below the lowest for names.
_AIR = 0.14

# Between the plot and the key: the numbers of the axis and its title.
_BELOW = 56

CAPTION = (
    "Line: the largest share for each price, at the middle of the plausible demands; band and bars: "
    "over all of them. Ring: current setup. Diamonds: options. On demand, for a month of 730 hours."
)


def write_plan_picture(path: Path, plan: Plan) -> None:
    """
    Write the chart as the picture that the ending selects: .png or .svg.

    Raises:
        UsageError: another ending, nothing to draw, or the file cannot be written.
    """
    check_picture_ending(path)
    if not has_chart(plan):
        raise UsageError(
            "there is no price to draw", "Give --prices FILE, an AWS price list with the region and the engine."
        )
    write_picture(path, plan_spec(plan))


def has_chart(plan: Plan) -> bool:
    """Return whether anything of the plan has a price."""
    return bool(_points(plan))


def plan_spec(plan: Plan, *, look: Look = LIGHT, width: int = 720, is_titled: bool = True) -> dict[str, Any]:
    """
    Return the curve as a Vega-Lite 6 specification; equal plans give equal specifications.

    Args:
        plan: the way past, with at least one price.
        look: colours and font.
        width: of the plot, in pixels.
        is_titled: whether the headline stands above it, and the key below.
    """
    spec: Spec = {"$schema": VEGALITE_SCHEMA, "background": look.surface, "padding": 16}
    plot = _plot(_points(plan), look, width)
    if is_titled:
        spec |= {"title": _title(plan, look, width), "spacing": _BELOW}
        spec |= {"bounds": "flush", "vconcat": [plot, key_of(plan, look, width)]}
    else:
        spec |= plot
    return {**spec, "config": _config(look)}


def _plot(points: Sequence[Spec], look: Look, width: int) -> Spec:
    lowest = min(point["low"] for point in points)
    bottom = 0.0 if lowest < 0.5 else floor(lowest * 10) / 10 - 0.1
    across, upwards = _across([point["usd"] for point in points], width), _upwards(bottom)
    plane = Plane(
        width,
        _HEIGHT,
        tuple(across["scale"]["domain"]),
        across["scale"]["type"] == "log",
        tuple(upwards["scale"]["domain"]),
    )
    leads, names = named_marks(points, look, plane)
    marks = [_mark(point, look) for point in points if point["kind"] != "curve"]
    return {
        "width": width,
        "height": _HEIGHT,
        "encoding": {"x": across, "y": upwards},
        "layer": [*_lines(points, look), *leads, *marks, *names],
    }


def _across(prices: Sequence[float], width: int) -> Spec:
    low, high = min(prices), max(prices)
    is_wide = low > 0 and high / low >= _LOG_FROM
    domain = [low / 1.15, high * 1.15] if is_wide else _padded(low, high)
    scale: Spec = {"type": "log" if is_wide else "linear", "domain": domain, "nice": False}
    axis: Spec = {
        "title": "US dollars a month" + (" (logarithmic)" if is_wide else ""),
        "format": "$,.0f",
        "grid": False,
        "labelFlush": False,
    }
    if is_wide:
        axis["values"] = _ticks(*domain)
    else:
        axis["tickCount"] = 6 if width >= _WIDE else 4
    return {"field": "usd", "type": "quantitative", "scale": scale, "axis": axis}


def _padded(low: float, high: float) -> list[float]:
    """Return the domain of a linear axis with padding on both sides, also where all prices are equal."""
    air = max((high - low) * 0.08, high * 0.02, 1.0)
    return [max(low - air, 0.0), high + air]


def _ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten between two prices; more of them where these are few."""
    found: list[float] = []
    for parts in ((1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        steps = [part * 10.0**power for power in range(-2, 8) for part in parts]
        found = [step for step in steps if low <= step <= high]
        if len(found) >= _TICKS_MIN:
            break
    return found


def _upwards(bottom: float) -> Spec:
    step = 0.1 if bottom >= 0.5 else 0.2
    count = round((1 - bottom) / step)
    ticks = [round(1 - n * step, 2) for n in range(count + 1)]
    air = _AIR * (1 - bottom)
    return {
        "field": "middle",
        "type": "quantitative",
        "scale": {"domain": [bottom - air, 1 + air], "nice": False, "zero": False},
        "axis": {
            "title": "served without waiting",
            "labelExpr": "format(100 * datum.value, '.0f') + ' %'",
            "values": ticks[::-1],
            "domain": False,
            "ticks": False,
        },
    }


def _lines(points: Sequence[Spec], look: Look) -> list[Spec]:
    curve = [point for point in points if point["kind"] == "curve"]
    marked = [point for point in points if point["kind"] != "curve"]
    return [
        {
            "data": {"values": curve},
            "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.16, "line": False},
            "encoding": {**_FROM_LOW_TO_HIGH, "color": {"value": look.writes}},
        },
        {
            "data": {"values": marked},
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
            "encoding": {**_FROM_LOW_TO_HIGH, "color": {"value": look.quiet}},
        },
        {
            "data": {"values": curve},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {"color": {"value": look.writes}},
        },
        {
            "data": {"values": curve},
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {"color": {"value": look.writes}, "tooltip": _TOOLTIP},
        },
    ]


_FROM_LOW_TO_HIGH: Spec = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}

_TOOLTIP = [
    {"field": "name", "title": "arrangement"},
    {"field": "usd", "title": "US dollars a month", "format": "$,.2f"},
    {"field": "low", "title": "served, at least", "format": ".1%"},
    {"field": "middle", "title": "in the middle", "format": ".1%"},
    {"field": "high", "title": "at most", "format": ".1%"},
]


def _mark(point: Spec, look: Look) -> Spec:
    """Return the layer of a mark: a ring for the current setup, a diamond for an option."""
    is_present, is_proposed = point["kind"] == "present", point["kind"] == "proposed"
    return {
        "data": {"values": [point]},
        "mark": {
            "type": "point",
            "shape": "circle" if is_present else "diamond",
            "filled": is_proposed,
            "size": 150 if is_present or is_proposed else 90,
            "strokeWidth": 2.5,
            "opacity": 1,
        },
        "encoding": {"color": {"value": look.bound if is_present else look.byte_balance}, "tooltip": _TOOLTIP},
    }


def _points(plan: Plan) -> list[Spec]:
    """Return the priced points: the curve in order of price, the current setup, and the options."""
    points: list[Spec] = []
    for p in sorted(plan.curve, key=lambda p: p.usd_per_month):
        # What is there may serve less than something cheaper; it is drawn apart, not on the line.
        if not points or p.served_ratio.middle >= points[-1]["middle"]:
            points.append(_point("curve", p.name, float(p.usd_per_month), p.served_ratio))
    there, found = plan.present, proposed(plan)
    name = words.plain(there.instance.db_class or there.title)
    points += _of_option("present", "now", f"{name}, {plan_words.usd(there.cost.usd_per_month)}", there)
    for n, option in enumerate(plan.options, start=1):
        if option is found:
            title = words.plain(option.title).removesuffix(", storage as it is")
            label = f"{title}, {plan_words.usd(option.cost.usd_per_month)}"
            points += _of_option("proposed", str(n), label, option)
        else:
            points += _of_option("option", str(n), "", option)
    return points


def proposed(plan: Plan) -> Option | None:
    """
    Return the option that the headline names first; None without one.

    The recommended step; without one the most time for the money, or the first that lifts; what saves
    most where nothing needs a way past.
    """
    if plan.ladder is not None:
        return plan.options[plan.ladder.rungs[plan.ladder.recommended].option]
    lifting = [option for option in plan.options if option.judgement is Judgement.LIFTS]
    if plan.present.judgement is Judgement.LIFTS:
        known = [option for option in lifting if option.usd_per_day_more is not None]
        return min(known, key=lambda option: option.usd_per_day_more or 0, default=None)
    faster = next((option for option in plan.options if option.role == FASTER), None)
    return faster or next(iter(lifting), None)


def _of_option(kind: str, number: str, label: str, option: Option) -> list[Spec]:
    """Return the point of an option; none where its price or its served share is not known."""
    usd = option.cost.usd_per_month
    if usd is None or is_spread(option):
        return []
    point = _point(kind, option.title, float(usd), option.effect.served_ratio)
    return [{**point, "number": number, "label": label}]


def _point(kind: str, name: str, usd: float, served: Band) -> Spec:
    return {
        "kind": kind,
        "name": words.plain(name),
        "usd": usd,
        "low": served.low,
        "middle": served.middle,
        "high": served.high,
    }


def _title(plan: Plan, look: Look, width: int) -> Spec:
    # A bold letter of 15 px is about 8.8 px wide, one of 11 px about 5.7 px.
    letters = int(width / 5.7)
    below = wrap(f"{words.subject(plan.instance)}. {CAPTION}", letters)
    if plan.is_simulated:
        below = ["SIMULATED DATA", *below]
    return {
        "text": wrap(words.sentence(plan.headline), int(width / 8.8)),
        "subtitle": below,
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "fontWeight": 600,
        "color": look.ink,
        "subtitleColor": look.quiet,
        "subtitleFontSize": 11,
        "subtitlePadding": 6,
        "offset": 14,
    }


def _config(look: Look) -> Spec:
    return {
        "font": look.font,
        **UNNAMED,
        "view": {"stroke": None, "fill": None},
        "axis": {
            "labelColor": look.quiet,
            "titleColor": look.quiet,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "gridColor": look.grid,
            "domainColor": look.grid,
            "tickColor": look.grid,
        },
        "text": {"fontSize": 11},
    }
