"""
The share card: a picture of 1,200 × 630 pixels with verdict, chart and price, for a chat or a ticket.

Rule 1: it is read as a thumbnail of 400 pixels, so nothing on it is smaller than 20 pixels.
Rule 2: it names the instance as the report does, and no account, host, source or command.
Rule 3: no text is wider than its place; one that does not fit ends with an ellipsis.
"""

from collections.abc import Callable
from html import escape
from unicodedata import east_asian_width

import numpy as np
from msgspec.structs import replace

from plimsoll import __version__
from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.now import intervals_at, reaches_end
from plimsoll.model.plan import Plan
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.waiting import longest_of, waiting_s_of
from plimsoll.reports.chart.labels import text_width
from plimsoll.reports.chart.look import LIGHT, Look
from plimsoll.reports.diagnosis.brief import diagnosis_brief, verdict_in_words
from plimsoll.reports.diagnosis.headline import shown_interval
from plimsoll.reports.diagnosis.timeline import (
    TimelineSamples,
    at_ceiling,
    bucket_length,
    lines_of,
    main_dimension,
    samples_of,
)
from plimsoll.reports.plan.brief import way_past
from plimsoll.reports.render import words
from plimsoll.units import format_duration, number

WIDTH, HEIGHT = 1200, 630
"""The size that chats and social networks cut a preview to (Open Graph images, 1.91 : 1)."""

# Pixels; a twenty-fifth of the width, so that a rounded corner of a chat cuts nothing.
_MARGIN = 48
_INNER = WIDTH - 2 * _MARGIN
_TITLE, _NAME, _FACT, _TIME, _SMALL = 62, 32, 32, 26, 22
# The chart: its upper and lower edge.
_TOP, _BOTTOM = 290, 505
_WIDER = 1.15
"""DejaVu Sans, which Linux has where it has no Helvetica, is so much wider in bold."""
_POINTS = 552
"""One point for two pixels of the chart."""
_AIR_ABOVE = 1.12
"""The highest value stands so far below the upper edge."""
# The fact below the name of the instance, and its lead.
_FIRST = {"Ceiling": "", "Nearest": "Nearest limit · ", "Not known": "Missing: "}
_COLORS = {Verdict.BINDS: "#b3261e", Verdict.NEAR: "#8a5a00", Verdict.SLACK: "#00694e", Verdict.UNKNOWN: "#6b3f8c"}
"""Each with a contrast of at least 4.5 : 1 on white (WCAG 2.1, 1.4.3)."""


def card_svg(diagnosis: Diagnosis, snapshot: Snapshot, plan: Plan | None = None) -> str:
    """
    Return the card as SVG; equal inputs give equal text.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in.
        plan: the plan of the same run; without it the card has no price.
    """
    look = LIGHT
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{escape(look.font)}">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{look.surface}"/>',
        f'<rect width="{WIDTH}" height="14" fill="{_COLORS[diagnosis.verdict]}"/>',
        *_verdict(diagnosis, look),
        *_chart(diagnosis, snapshot, look),
        *_foot(diagnosis, plan, look),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def fitted_text(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return the text, or as much of it as is `width` pixels wide, with an ellipsis."""
    if _width(text, size, bold=bold) <= width:
        return text
    while text and _width(f"{text}…", size, bold=bold) > width:
        text = text[:-1].rstrip(" .,;:(")
    return f"{text}…"


def _width(text: str, size: float, *, bold: bool) -> float:
    # Letters of East Asia are as wide as they are high.
    wide = "".join(letter for letter in text if east_asian_width(letter) in "WF")
    narrow = text_width(text, size) - text_width(wide, size)
    return narrow * (_WIDER if bold else 1.0) + size * len(wide)


def _fitted_size(text: str, most: float, least: float) -> float:
    """Return the largest size at which a bold text fits, within both bounds."""
    return max(least, min(most, int(most * _INNER / _width(text, most, bold=True))))


def _text(text: str, x: float, y: float, size: float, color: str, *, bold: bool = False, end: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{color}"{weight}{anchor}>{escape(text)}</text>'


def _verdict(diagnosis: Diagnosis, look: Look) -> list[str]:
    """Return verdict, instance, and the ceiling with its time."""
    title = f"{words.VERDICT_SIGNS[diagnosis.verdict]} {verdict_in_words(diagnosis)}"
    color = _COLORS[diagnosis.verdict]
    facts = {row.name: row.value for row in diagnosis_brief(diagnosis).rows}
    first = next((f"{lead}{facts[n]}" for n, lead in _FIRST.items() if facts.get(n)), "")
    time = _time(diagnosis)
    lines = [
        _text(title, _MARGIN, 86, _fitted_size(title, _TITLE, _NAME), color, bold=True),
        _text(_name(diagnosis.instance), _MARGIN, 138, _NAME, look.ink, bold=True),
        _text(fitted_text(first, _FACT, _INNER), _MARGIN, 184, _FACT, look.ink),
        _text(fitted_text(time, _TIME, _INNER), _MARGIN, 224, _TIME, look.quiet),
    ]
    return lines if time else lines[:-1]


def _name(instance: Instance) -> str:
    """Return the instance as it fits; of a long name the end is cut, and the class stays."""
    # An ARN has the account's number in it; its last part is the name.
    name = words.plain(instance.identifier)
    if name.startswith("arn:"):
        name = name.rpartition(":")[2]
    known = replace(instance, identifier=name)
    tail = f" ({words.plain(instance.db_class)})" if instance.db_class else ""
    subject = words.subject(known)
    if _width(subject, _NAME, bold=True) <= _INNER or not subject.endswith(tail):
        return fitted_text(subject, _NAME, _INNER, bold=True)
    room = _INNER - _width(tail, _NAME, bold=True)
    return fitted_text(name, _NAME, room, bold=True) + tail


def _time(diagnosis: Diagnosis) -> str:
    """Return how long, since or until when, and how sure; empty where nothing was reached."""
    span = format_duration(diagnosis.span_s)
    binding, shown = diagnosis.binding, shown_interval(diagnosis)
    if diagnosis.verdict is Verdict.UNKNOWN and diagnosis.waiting:
        times = number(longest_of(diagnosis.waiting).times, 2)
        waited = format_duration(waiting_s_of(diagnosis.waiting))
        return f"storage latency {times} times normal for {waited} of {span}"
    if binding is None or shown is None:
        return f"{format_duration(diagnosis.measured_s)} of {span} measured"
    sure = words.sure(words.confidence(shown.confidence))
    last = max(intervals_at(diagnosis, binding), key=lambda i: i.end_s, default=shown)
    when = f"until {words.moment(last.end_s)} UTC"
    if reaches_end(diagnosis, last.end_s):
        when = f"since {words.moment(last.start_s)} UTC"
    return f"{format_duration(binding.seconds)} of {span}, {when} · {sure}"


def _chart(diagnosis: Diagnosis, snapshot: Snapshot, look: Look) -> list[str]:
    """Return the rate over the window with time at a ceiling shaded, and the ceiling as a line."""
    start_s, end_s = diagnosis.window_s
    bucket_s = bucket_length(diagnosis.window_s, diagnosis.step_s, _POINTS)
    count = max(1, -(-(end_s - start_s) // bucket_s))
    samples = samples_of(snapshot, diagnosis.window_s, bucket_s=bucket_s, count=count)
    dimension = main_dimension(diagnosis, samples)
    if dimension is None:
        return [_text("Storage was not measured", _MARGIN, _TOP + 100, _FACT, look.quiet)]
    mean = samples.total[dimension].mean
    peak = float(np.nanmax(mean)) if np.isfinite(mean).any() else 0.0
    lines = lines_of(diagnosis, dimension, peak, count_max=2)
    bound = diagnosis.binding
    if bound is not None and bound.dimension is dimension:
        level = bound.ceiling.value if bound.ceiling else bound.level
        lines = tuple(line for line in lines if line.value == level) or lines
    lines = lines[:1]
    top = _AIR_ABOVE * max([peak, *(line.value for line in lines)], default=1.0) or 1.0

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * value / top

    span_s = max(end_s - start_s, 1)
    drawn = [*_shades(diagnosis, look), *_areas(samples, dimension, y, span_s, look)]
    for line in lines:
        at = y(line.value)
        drawn.append(
            f'<line x1="{_MARGIN}" x2="{WIDTH - _MARGIN}" y1="{at:.1f}" y2="{at:.1f}" '
            f'stroke="{look.bound if line.is_bound else look.quiet}" stroke-width="3" '
            'stroke-dasharray="12 7"/>'
        )
    return [*drawn, *_chart_names(diagnosis, dimension, [line.label for line in lines], look)]


def _shades(diagnosis: Diagnosis, look: Look) -> list[str]:
    """Return the stretches at a ceiling, and those in which requests waited without one."""
    start_s, end_s = diagnosis.window_s
    span_s = max(end_s - start_s, 1)
    at_limit = [(a, b, look.bound) for a, b in at_ceiling(diagnosis)]
    waited = [(w.start_s, w.end_s, look.quiet) for w in diagnosis.waiting]
    return [
        f'<rect x="{_MARGIN + _INNER * (a - start_s) / span_s:.1f}" y="{_TOP}" '
        f'width="{max(_INNER * (b - a) / span_s, 1):.1f}" height="{_BOTTOM - _TOP}" '
        f'fill="{color}" fill-opacity="0.16"/>'
        for a, b, color in (*at_limit, *waited)
    ]


def _areas(
    samples: TimelineSamples, dimension: Dimension, y: Callable[[float], float], span_s: float, look: Look
) -> list[str]:
    """Return the mean rate as filled shapes, one for each stretch without a gap."""
    mean = samples.total[dimension].mean
    known = np.isfinite(mean)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(int)))
    step = samples.bucket_s
    shapes = []
    for begin, end in edges.reshape(-1, 2):
        points = [
            f"{_MARGIN + _INNER * min(n * step + part * step, span_s) / span_s:.1f},{y(float(mean[n])):.1f}"
            for n in range(begin, end)
            for part in (0, 1)
        ]
        left, right = points[0].split(",")[0], points[-1].split(",")[0]
        shapes.append(
            f'<path d="M{left},{_BOTTOM} L{" L".join(points)} L{right},{_BOTTOM} Z" '
            f'fill="{look.writes}" fill-opacity="0.8"/>'
        )
    return shapes


def _chart_names(diagnosis: Diagnosis, dimension: Dimension, labels: list[str], look: Look) -> list[str]:
    """Return what the chart shows, above it, and its first and last moment, below it."""
    what = "IOPS" if dimension is Dimension.IOPS else "MB/s"
    start_s, end_s = diagnosis.window_s
    legend = f"{what}, reads + writes"
    if labels:
        legend += f"; dashed: {', '.join(labels)}"
    if diagnosis.intervals:
        legend += "; shaded: at a limit"
    elif diagnosis.waiting:
        legend += "; grey: requests waited"
    return [
        (
            f'<line x1="{_MARGIN}" x2="{WIDTH - _MARGIN}" y1="{_BOTTOM}" y2="{_BOTTOM}" '
            f'stroke="{look.quiet}" stroke-width="2"/>'
        ),
        _text(fitted_text(legend, _SMALL, _INNER), _MARGIN, _TOP - 16, _SMALL, look.quiet),
        _text(f"{words.moment(start_s)} UTC", _MARGIN, _BOTTOM + 30, _SMALL, look.quiet),
        _text(f"{words.moment(end_s)} UTC", WIDTH - _MARGIN, _BOTTOM + 30, _SMALL, look.quiet, end=True),
    ]


def _foot(diagnosis: Diagnosis, plan: Plan | None, look: Look) -> list[str]:
    """Return the price of the way past, the mark of simulated data, and the program with its version."""
    maker = f"Plimsoll {__version__}"
    lines = [_text(maker, WIDTH - _MARGIN, 606, _SMALL, look.quiet, bold=True, end=True)]
    way = way_past(plan) if plan is not None else None
    if way is not None:
        # The price first: a long name is cut at its end.
        text = f"Way past: {way.price}, {way.title}"
        size = _fitted_size(text, _FACT - 4, _SMALL)
        text = fitted_text(text, size, _INNER, bold=True)
        lines.append(_text(text, _MARGIN, 573, size, look.ink, bold=True))
    if diagnosis.is_simulated:
        lines.append(_text("SIMULATED DATA", _MARGIN, 606, _SMALL + 2, look.bound, bold=True))
    return lines
