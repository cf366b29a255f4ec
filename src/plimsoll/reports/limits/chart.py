"""
The ceiling curve as a Vega-Lite specification, and pictures of it.

Both axes are logarithmic: what IOPS bound rises in a straight line with the I/O size, what throughput
bounds is level, and the knee is where the two meet.
"""

from math import atan2, degrees, inf, log2
from pathlib import Path
from textwrap import wrap

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.model.sheet import ChainRate, LimitSheet, StageLine
from plimsoll.reports.chart.drawing import UNNAMED, VEGALITE_SCHEMA, Spec, check_picture_ending, write_picture
from plimsoll.reports.chart.engine import check_vega
from plimsoll.reports.chart.look import LIGHT, Look
from plimsoll.reports.document.page import document_page
from plimsoll.reports.files.file import write_aside
from plimsoll.reports.limits.curve import has_burst, mb_ticks
from plimsoll.reports.limits.document import limits_document, sheet_title
from plimsoll.reports.render import words
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.units import KIB, MIB, format_bytes, number

_WIDTH, _HEIGHT, _HEIGHT_NARROW = 680, 400, 280
# From this width on, the single limits are named beside their lines.
NAMES_FROM = 500
# Pixels that those names take at the right of the plot.
MARGIN = 190
# Room under the lowest and over the highest rate drawn, as factors of the rate.
_BELOW, _ABOVE = 0.8, 1.3
# A stage further above the curve would flatten it; its number is in the table.
_STAGE_RATIO_MAX = 3.0
# The height of a line of 11-pixel text.
_LABEL_PX = 13
_LETTERS_PER_LINE = 125  # of 11-pixel text over plot and margin
_ENDINGS = (".svg", ".png", ".html")
_TEXT: Spec = {"text": {"field": "text"}}


def write_chart(path: Path, sheet: LimitSheet, origin: PageOrigin | None = None) -> None:
    """
    Write the curve to `path`, in the form that the ending selects: .svg, .png or .html.

    Every file is complete in itself: nothing is loaded over the network. A page has the numbers as tables too.

    Args:
        path: file to write.
        sheet: limits of an instance.
        origin: who made a page, when and how; a picture does not have it.

    Raises:
        UsageError: another ending, a sheet without a curve, or the file cannot be written.
    """
    check_picture_ending(path, _ENDINGS)
    if not sheet.curve:
        raise UsageError(
            "there is no curve to draw: no storage limit is known for this instance",
            "Omit --chart, or add --storage and --size-gib.",
        )
    if path.suffix.lower() == ".html":
        check_vega()
        write_aside(path, document_page(limits_document(sheet), origin).encode())
    else:
        write_picture(path, limits_spec(sheet))


def limits_spec(sheet: LimitSheet, *, look: Look = LIGHT, width: int = _WIDTH, is_titled: bool = True) -> Spec:
    """
    Return the curve as a Vega-Lite 6 specification; equal sheets give equal specifications.

    Args:
        sheet: limits of an instance.
        look: colours and font.
        width: of the plot, in pixels; below 500 there is no room for the names of single limits.
        is_titled: whether the picture says itself what it shows; a page has that around it.
    """
    frame = _frame(sheet, width)
    is_narrow = width < NAMES_FROM
    lines = _stage_lines(sheet, frame)
    layers = [_stage_layer(line, look) for line in lines]
    if has_burst(sheet):
        layers = [_credit_area(sheet, look), *layers, _curve_layer(sheet, look, is_burst=True)]
    layers.append(_curve_layer(sheet, look, is_burst=False))
    if not is_narrow:
        layers += _level_labels(lines, frame, look) + _slope_labels(lines, frame, look)
    layers += _curve_names(sheet, look) + _knee_layers(sheet, look)
    return {
        "$schema": VEGALITE_SCHEMA,
        **({"title": _title(sheet, look)} if is_titled else {}),
        "background": look.surface,
        "padding": 16 if is_titled else 4,
        "width": width,
        "height": frame.height,
        "encoding": {"x": _x_axis(sheet, look), "y": _y_axis(frame)},
        "layer": layers,
        "config": _config(look),
    }


class _Frame(Struct, frozen=True, kw_only=True):
    """The axes, and the position of a value in pixels."""

    kib_min: float
    kib_max: float
    mb_min: float
    mb_max: float
    width: int
    height: int
    """Of the plot, in pixels."""

    @property
    def octave_px(self) -> tuple[float, float]:
        """Return the pixels for each doubling, along x and along y."""
        return (self.width / log2(self.kib_max / self.kib_min), self.height / log2(self.mb_max / self.mb_min))

    def height_px(self, mb: float) -> float:
        """Return pixels above the x axis."""
        return log2(mb / self.mb_min) * self.octave_px[1]

    def mb_at(self, height_px: float) -> float:
        """Return the inverse of `height_px`."""
        return float(self.mb_min * 2 ** (height_px / self.octave_px[1]))


class _StageLine(Struct, frozen=True, kw_only=True):
    """One number of one or more families, as a line; families with the same number share it."""

    kib: tuple[float, ...]
    mb: tuple[float, ...]
    names: tuple[str, ...]
    number: str
    is_level: bool
    """Whether it counts bytes; otherwise it counts operations and rises."""
    is_burst: bool


def _frame(sheet: LimitSheet, width: int) -> _Frame:
    rates = [rate.bytes_per_s / 1e6 for row in sheet.curve for rate in (row.baseline, row.burst)]
    levels = [
        most / 1e6
        for line in sheet.stages
        if FAMILIES[line.family].dimension is Dimension.THROUGHPUT
        for most in (line.baseline_bytes_per_s[0], line.burst_bytes_per_s[0])
    ]
    # A limit that lies far above the curve would only flatten the rest; it is left out.
    shown = [mb for mb in levels if mb <= max(rates) * _STAGE_RATIO_MAX]
    return _Frame(
        kib_min=sheet.curve[0].io_size_bytes / KIB,
        kib_max=sheet.curve[-1].io_size_bytes / KIB,
        mb_min=min(rates) * _BELOW,
        mb_max=max([*rates, *shown]) * _ABOVE,
        width=width,
        height=_HEIGHT if width >= NAMES_FROM else _HEIGHT_NARROW,
    )


def _stage_lines(sheet: LimitSheet, frame: _Frame) -> list[_StageLine]:
    """Return every stage's own line, at its baseline and, if different, at its burst."""
    sizes = tuple(row.io_size_bytes / KIB for row in sheet.curve)
    found: dict[tuple[float, ...], _StageLine] = {}
    for line in sheet.stages:
        bursts = line.burst_bytes_per_s != line.baseline_bytes_per_s
        phases = [(line.baseline_bytes_per_s, "baseline")] if bursts else []
        phases.append((line.burst_bytes_per_s, "burst" if bursts else ""))
        for rates, phase in phases:
            mb = tuple(rate / 1e6 for rate in rates)
            name = f"{FAMILIES[line.family].owner} {phase}".strip()
            twin = found.get(mb)
            names = (*twin.names, name) if twin else (name,)
            found[mb] = _stage_line(line, sizes, mb, names, is_burst=phase == "burst")
    return [line for line in found.values() if min(line.mb) < frame.mb_max]


def _stage_line(
    line: StageLine, sizes: tuple[float, ...], mb: tuple[float, ...], names: tuple[str, ...], *, is_burst: bool
) -> _StageLine:
    is_level = FAMILIES[line.family].dimension is Dimension.THROUGHPUT
    label = f"{number(mb[0], 5)} MB/s" if is_level else f"{mb[0] * 1e6 / (sizes[0] * KIB):,.0f} IOPS"
    if is_level and line.family is Family.VOLUME_THROUGHPUT:
        label += f" ({number(mb[0] * 1e6 / MIB)} MiB/s)"
    return _StageLine(kib=sizes, mb=mb, names=names, number=label, is_level=is_level, is_burst=is_burst)


def _stage_layer(line: _StageLine, look: Look) -> Spec:
    mark: Spec = {"type": "line", "color": look.quiet, "opacity": 0.5, "strokeWidth": 1, "clip": True}
    if line.is_burst:
        mark["strokeDash"] = [4, 3]
    rows = [{"kib": kib, "mb": mb} for kib, mb in zip(line.kib, line.mb, strict=True)]
    return {"data": {"values": rows}, "mark": mark}


def _level_labels(lines: list[_StageLine], frame: _Frame, look: Look) -> list[Spec]:
    """Return the numbers of the level lines in the right margin, moved apart where they would overlap."""
    level = sorted((line for line in lines if line.is_level), key=lambda line: line.mb[0])
    rows, free_px = [], 0.0
    for line in level:
        height_px = max(frame.height_px(line.mb[0]), free_px)
        free_px = height_px + 2 * _LABEL_PX + 4
        rows.append(
            {
                "kib": frame.kib_max,
                "mb": frame.mb_at(height_px),
                "text": [line.number, words.series_of(list(line.names))],
            }
        )
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "middle",
        "dx": 8,
        "dy": -_LABEL_PX / 2,
        "lineHeight": _LABEL_PX,
        "fontSize": 11,
        "color": look.quiet,
        "clip": False,
    }
    return [{"data": {"values": rows}, "mark": mark, "encoding": _TEXT}] if rows else []


def _slope_labels(lines: list[_StageLine], frame: _Frame, look: Look) -> list[Spec]:
    """Return the numbers of the rising lines, written along them in turns from the left."""
    x_px, y_px = frame.octave_px
    # Two lines that begin together may separate if a volume counts large I/O as several operations.
    names: dict[float, tuple[str, list[str]]] = {}
    for line in lines:
        if not line.is_level:
            names.setdefault(line.mb[0], (line.number, []))[1].extend(line.names)
    rows: list[Spec] = []
    last_px, turn = -inf, 0
    for mb, (label, owners) in sorted(names.items()):
        turn = turn + 1 if frame.height_px(mb) - last_px < 2 * _LABEL_PX else 0
        last_px = frame.height_px(mb)
        along = 0.15 + 1.7 * (turn % 3)  # octaves from the left edge
        rows.append(
            {"kib": frame.kib_min * 2**along, "mb": mb * 2**along, "text": f"{label}, {words.series_of(owners)}"}
        )
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "bottom",
        "angle": 360 - degrees(atan2(y_px, x_px)),
        "dy": -3,
        "fontSize": 11,
        "color": look.quiet,
    }
    return [{"data": {"values": rows}, "mark": mark, "encoding": _TEXT}] if rows else []


def _credit_area(sheet: LimitSheet, look: Look) -> Spec:
    rows = [
        {"kib": row.io_size_bytes / KIB, "mb": row.burst.bytes_per_s / 1e6, "held": row.baseline.bytes_per_s / 1e6}
        for row in sheet.curve
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "area", "color": look.reads, "opacity": 0.13},
        "encoding": {"y2": {"field": "held"}},
    }


def _curve_layer(sheet: LimitSheet, look: Look, *, is_burst: bool) -> Spec:
    rows = [{"kib": row.io_size_bytes / KIB, **_point(row.burst if is_burst else row.baseline)} for row in sheet.curve]
    mark: Spec = {"type": "line", "color": look.writes, "strokeWidth": 3, "strokeJoin": "round"}
    if is_burst:
        mark |= {"color": look.reads, "strokeWidth": 2.5, "strokeDash": [7, 4]}
    tooltip = [
        {"field": "kib", "title": "I/O size, KiB", "format": ",.1f"},
        {"field": "mb", "title": "MB/s", "format": ",.1f"},
        {"field": "iops", "title": "IOPS", "format": ",.0f"},
        {"field": "binds", "title": "binds"},
    ]
    return {"data": {"values": rows}, "mark": mark, "encoding": {"tooltip": tooltip}}


def _point(rate: ChainRate) -> Spec:
    return {"mb": rate.bytes_per_s / 1e6, "iops": rate.ops_per_s, "binds": words.FAMILY_NAMES[rate.binding]}


def _curve_names(sheet: LimitSheet, look: Look) -> list[Spec]:
    """Return the names of the two curves, above their right ends; without a burst the title has the name."""
    if not has_burst(sheet):
        return []
    last = sheet.curve[-1]
    names = [(last.baseline, "baseline: forever", look.writes)]
    if last.burst != last.baseline:
        names.append((last.burst, "burst: while credits last", look.reads))
    return [
        {
            "data": {"values": [{"kib": last.io_size_bytes / KIB, "mb": rate.bytes_per_s / 1e6, "text": text}]},
            "mark": {
                "type": "text",
                "align": "right",
                "baseline": "bottom",
                "dx": -8,
                "dy": -7,
                "fontSize": 12,
                "fontWeight": 600,
                "color": color,
            },
            "encoding": _TEXT,
        }
        for rate, text, color in names
    ]


def _knee_layers(sheet: LimitSheet, look: Look) -> list[Spec]:
    first, last = sheet.curve[0].io_size_bytes, sheet.curve[-1].io_size_bytes
    rows = [
        {
            "kib": knee.io_size_bytes / KIB,
            "mb": knee.bytes_per_s / 1e6,
            "text": f"knee {format_bytes(knee.io_size_bytes)}",
        }
        for knee in (sheet.knee, sheet.burst_knee)
        if knee is not None and first <= knee.io_size_bytes <= last
    ]
    if not rows:
        return []
    dot = {"type": "point", "filled": True, "fill": look.surface, "size": 70, "opacity": 1}
    dot |= {"stroke": look.bound, "strokeWidth": 2.5}
    name = {"type": "text", "align": "left", "baseline": "top", "dx": 6, "dy": 9}
    name |= {"fontSize": 12, "fontWeight": 600, "color": look.bound}
    return [{"data": {"values": rows}, "mark": dot}, {"data": {"values": rows}, "mark": name, "encoding": _TEXT}]


def _title(sheet: LimitSheet, look: Look) -> Spec:
    below = (
        "Maximum of reads and writes together, by mean I/O size. Thin lines: each limit alone."
        f" Numbers from {words.series_of(_chain_sources(sheet))}."
    )
    return {
        "text": sheet_title(sheet),
        "subtitle": wrap(below, _LETTERS_PER_LINE),
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "fontWeight": 600,
        "color": look.ink,
        "subtitleColor": look.quiet,
        "subtitleFontSize": 11,
        "subtitlePadding": 6,
        "offset": 18,
    }


def _chain_sources(sheet: LimitSheet) -> list[str]:
    drawn = {line.family for line in sheet.stages}
    sources = [
        f"{c.origin.source} ({c.origin.read_on})" if c.origin.read_on else "the storage as bought"
        for c in sheet.ceilings
        if c.family in drawn and c.phase is not Phase.LEGACY
    ]
    return list(dict.fromkeys(sources))


def _x_axis(sheet: LimitSheet, look: Look) -> Spec:
    sizes = [row.io_size_bytes / KIB for row in sheet.rows]
    return {
        "field": "kib",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "domain": [sizes[0], sizes[-1]], "nice": False},
        "axis": {"title": "mean I/O size, KiB", "values": sizes, "format": ",d", "domainColor": look.quiet},
    }


def _y_axis(frame: _Frame) -> Spec:
    return {
        "field": "mb",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [frame.mb_min, frame.mb_max], "nice": False},
        "axis": {
            "title": "MB/s, reads + writes",
            "values": mb_ticks([frame.mb_min, frame.mb_max]),
            "format": ",~r",
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
        },
    }


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
    }
