"""
Vega-Lite specifications drawn as PNG files, and as SVG for pages.

Vega-Lite comes with the extra 'pictures'. Without it no picture is written, and pages have none.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from plimsoll.errors import UsageError
from plimsoll.model.visible import visible
from plimsoll.reports.chart.engine import drawn, missing
from plimsoll.reports.files.file import write_aside

Spec = dict[str, Any]

# Vega-Lite as bundled with vl-convert; a specification says which one it was written for.
VEGALITE = "6.4"
VEGALITE_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

PICTURE_ENDINGS = (".png", ".svg")

UNNAMED: Spec = {"aria": False, "mark": {"aria": False}}
"""
Settings of a chart whose parts have no names for a screen reader, because the page names the whole chart.

The first is for axes and legends, the second for marks.
"""

_CLIP = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')


def without_drawing() -> str:
    """Return the text of a page in place of a drawing."""
    error = missing()
    return f"There is no chart: {error.message}. {error.hint}"


def check_picture_ending(path: Path, endings: Sequence[str] = PICTURE_ENDINGS) -> None:
    """
    Refuse a file name whose ending selects no known kind of picture.

    Raises:
        UsageError: the name has none of the endings.
    """
    if path.suffix.lower() not in endings:
        listed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise UsageError(f"'{path.name}' does not end in {listed}", "The ending selects the kind of picture.")


def write_picture(path: Path, spec: Spec) -> None:
    """
    Write a specification as the picture that the ending selects: .png or .svg.

    Raises:
        UsageError: the name has another ending, or the file cannot be written.
        ExtraMissing: Vega-Lite is not installed.
    """
    check_picture_ending(path)
    if path.suffix.lower() == ".png":
        write_png(path, spec)
    else:
        write_aside(path, svg(spec).encode())


def write_png(path: Path, spec: Spec, *, scale: float = 2.0) -> None:
    """
    Write a specification as PNG; `scale` pixels for each of its pixels.

    Raises:
        UsageError: the file cannot be written.
        ExtraMissing: Vega-Lite is not installed.
    """
    write_aside(path, png(spec, scale=scale))


def png(spec: Spec, *, scale: float = 2.0) -> bytes:
    """
    Return a specification as PNG; `scale` pixels for each of its pixels.

    Raises:
        ExtraMissing: Vega-Lite is not installed.
    """
    return drawn("vegalite_to_png", spec, vl_version=VEGALITE, scale=scale)


def svg(spec: Spec) -> str:
    """
    Return a specification as SVG; equal specifications give equal text.

    Raises:
        ExtraMissing: Vega-Lite is not installed.
    """
    return numbered_clips(visible(drawn("vegalite_to_svg", spec, vl_version=VEGALITE).decode()))


@cache
def vega_script() -> str:
    """Return vega, Vega-Lite and Vega-Embed, about 900 kB, so that a page loads nothing."""
    bundle = drawn("javascript_bundle", "window.vegaEmbed = vegaEmbed;", vl_version=VEGALITE).decode()
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def write_svg_as_png(path: Path, drawing: str) -> None:
    """
    Write an SVG drawing as PNG, one pixel for each of its pixels.

    Raises:
        UsageError: the file cannot be written.
        ExtraMissing: the extra that draws is not installed.
    """
    write_aside(path, drawn("svg_to_png", drawing, scale=1.0, ppi=72))


def numbered_clips(text: str) -> str:
    """
    Return the drawing with names of its clip paths that no other drawing on the page has.

    Vega counts them over the whole process, so equal drawings would differ, and those of several
    processes would share names. Here they are numbered from zero after a mark of the drawing.
    """
    seen: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"clip{len(seen)}")

    text = _CLIP.sub(renamed, text)
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return _CLIP.sub(lambda match: f"clip-{mark}-{match[0].removeprefix('clip')}", text)
