"""
The names and the key of the chart of prices.

Names stand beside their marks (chart_labels.py says where), the key below says the whole arrangement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, log
from operator import sub

from plimsoll.model.plan import Plan
from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.labels import Box, LabelPlace, NamedLine, line_boxes, places_of, text_width
from plimsoll.reports.chart.look import Look
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.render import words

# In pixels, as the axes' own labels.
_FONT = 11
# A name that would take more of the width than this, and more than so many pixels, is cut short; the key
# has all of it.
_NAME_RATIO, _NAME_MIN = 0.55, 190.0
# Pixels that a mark takes on each side, and the line or a bar.
_MARK, _STROKE = 7.0, 3.0
# Marks nearer than this are one to the eye, and get one name.
_ONE = 4.0
# Row height of the key, and positions of its columns: number, verdict, price, arrangement.
_ROW, _COLUMNS, _PRICE = 17, (0, 36, 118, 206, 222), 2
_ORDER = {"present": 0, "proposed": 1, "option": 2}


@dataclass(frozen=True, slots=True)
class Plane:
    """Where a price and a share are, in pixels from the plot's upper left corner."""

    width: int
    height: int
    prices: tuple[float, float]
    is_log: bool
    shares: tuple[float, float]

    def at(self, usd: float, share: float) -> tuple[float, float]:
        """Return the place of a point, rightwards and downwards."""
        low, high = self.prices
        part = log(usd / low) / log(high / low) if self.is_log else (usd - low) / (high - low)
        bottom, top = self.shares
        return self.width * part, self.height * (top - share) / (top - bottom)


def named_marks(points: Sequence[Spec], look: Look, plane: Plane) -> tuple[list[Spec], list[Spec]]:
    """
    Return layers with the names of marks, and with lines to names that are further away.

    Args:
        points: with `kind`, `usd`, `low`, `middle`, `high`, and for marks `number` and `label`.
        look: colours and font.
        plane: where a price and a share are.

    Returns:
        The lines, which belong below the marks, and the names, each upon a border of the surface's
        colour, so that grid and band do not run into it.
    """
    named = _named(points, plane)
    # Names may reach a little beyond the plot at its right, where the picture has a margin.
    within = Box(2, -4, plane.width + 10, plane.height - 2)
    places = places_of(named, _taken(points, plane), within, size=_FONT)
    texts: list[Spec] = []
    for one, place in zip(named, places, strict=True):
        texts += _text(one, place, look)
    return [_lead(place.lead, look) for place in places if place.lead is not None], texts


def _named(points: Sequence[Spec], plane: Plane) -> list[NamedLine]:
    """Return the marks and their names, the current setup first; overlapping marks share one."""
    marked = sorted((p for p in points if p["kind"] != "curve"), key=lambda p: _ORDER[p["kind"]])
    groups: list[tuple[tuple[float, float], list[Spec]]] = []
    for point in marked:
        at = plane.at(point["usd"], point["middle"])
        near = (found for where, found in groups if hypot(*map(sub, at, where)) < _ONE)
        found = next(near, None)
        if found is None:
            groups.append((at, [point]))
        else:
            found.append(point)
    longest = max(_NAME_RATIO * plane.width, _NAME_MIN)
    named = []
    for at, found in groups:
        numbers = " and ".join(point["number"] for point in found)
        label = found[0]["label"]
        text = f"{numbers}: {label}" if label else numbers
        named.append(NamedLine(*at, _cut(text, longest)))
    return named


def _taken(points: Sequence[Spec], plane: Plane) -> list[Box]:
    """Return the boxes that names may not cover: the line with its points, bars and marks."""
    curve = [plane.at(p["usd"], p["middle"]) for p in points if p["kind"] == "curve"]
    steps = curve[:1]
    for x, y in curve[1:]:
        steps += [(x, steps[-1][1]), (x, y)]
    taken = line_boxes(steps, _STROKE)
    for point in points:
        x, y = plane.at(point["usd"], point["middle"])
        half = _MARK if point["kind"] != "curve" else _MARK / 2
        taken.append(Box(x - half, y - half, x + half, y + half))
        if point["kind"] != "curve":
            ends = [plane.at(point["usd"], point[end]) for end in ("high", "low")]
            taken += line_boxes(ends, _STROKE)
    return taken


def _cut(text: str, longest: float) -> str:
    """Return a name that fits, cut with an ellipsis if necessary."""
    if text_width(text, _FONT) <= longest:
        return text
    while text_width(f"{text}…", _FONT) > longest:
        text = text[:-1]
    return f"{text.rstrip(' ,:')}…"


def _lead(line: tuple[float, float, float, float], look: Look) -> Spec:
    """Return the thin line from a mark to its name."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.8},
        "encoding": {
            **{name: {"value": at} for name, at in zip(("x", "y", "x2", "y2"), line, strict=True)},
            "color": {"value": look.quiet},
        },
    }


def _text(named: NamedLine, place: LabelPlace, look: Look) -> list[Spec]:
    """Return a name with a border in the background colour, so that it is legible over grid and band."""
    box = place.box
    is_right = box.right <= named.x
    is_left = box.left >= named.x
    x = box.right if is_right else box.left if is_left else (box.left + box.right) / 2
    # A font that is narrower than was allowed for leaves its air on the side away from the mark.
    mark = {
        "type": "text",
        "align": "right" if is_right else "left" if is_left else "center",
        "baseline": "middle",
        "fontWeight": 600,
    }
    encoding = {"x": {"value": x}, "y": {"value": (box.top + box.bottom) / 2}, "text": {"value": named.text}}
    border = {"stroke": look.surface, "strokeWidth": 4, "strokeJoin": "round"}
    return [
        {"data": {"values": [{}]}, "mark": {**mark, **more}, "encoding": {**encoding, "color": {"value": color}}}
        for more, color in ((border, look.surface), ({}, look.ink))
    ]


def key_of(plan: Plan, look: Look, width: int) -> Spec:
    """Return the view of the key: numbers with verdict, price, difference and setup."""
    rows = [("now", plan_words.PRESENT_WORDS[plan.present.judgement], plan.present)]
    rows += [(str(number), option.judgement.value, option) for number, option in enumerate(plan.options, start=1)]
    layers = []
    for row, (number, verdict, option) in enumerate(rows):
        is_compared = number != "now" and option.usd_per_day_more is not None
        more = f" ({plan_words.usd_per_day_more(option.usd_per_day_more)})" if is_compared else ""
        texts = (
            number,
            f"{plan_words.SIGNS[option.judgement]} {verdict}",
            plan_words.usd(option.cost.usd_per_month),
            "",
            words.plain(option.title) + more,
        )
        for column, text in enumerate(texts):
            if text:
                layers.append(_cell(text, column, row, look, width))
    return {"width": width, "height": _ROW * len(rows), "view": {"stroke": None}, "layer": layers}


def _cell(text: str, column: int, row: int, look: Look, width: int) -> Spec:
    """Return a cell of the key; prices are right-aligned."""
    is_price = column == _PRICE
    return {
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "align": "right" if is_price else "left",
            "baseline": "middle",
            "fontWeight": 600 if column == 0 else "normal",
            "limit": width - _COLUMNS[column],
        },
        "encoding": {
            "x": {"value": _COLUMNS[column + 1] if is_price else _COLUMNS[column]},
            "y": {"value": _ROW * (row + 0.5)},
            "text": {"value": text},
            "color": {"value": look.ink if column in (0, 4) else look.quiet},
        },
    }
