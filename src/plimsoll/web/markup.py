"""Markup of the page: templates of its own, and those of reports."""

import hashlib
import subprocess
import sys
import threading
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from plimsoll.reports.chart.drawing import vega_script
from plimsoll.reports.chart.engine import has_vega
from plimsoll.reports.render.page import page_environment, page_style, template_text
from plimsoll.web import words
from plimsoll.web.spark import HEIGHT, WIDTH

if TYPE_CHECKING:
    from jinja2 import Environment


# It takes two seconds on a machine that has nothing else to do.
_PATIENCE_S = 60.0


@cache
def environment() -> "Environment":
    """Return the environment of templates; names of the page's own files carry a mark of their content."""
    found = page_environment("plimsoll.web")
    found.globals |= {
        "state_signs": words.STATE_SIGNS,
        "state_classes": words.STATE_CLASSES,
        "nothing": words.NOTHING,
        "spark_width": int(WIDTH),
        "spark_height": int(HEIGHT),
        "file": lambda name: f"static/{name}?v={_mark(name)}",
    }
    return found


def rendered(template: str, **values: Any) -> str:
    """Return a template filled with values."""
    return environment().get_template(template).render(**values)


STATIC = {
    "copy.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "report.js": "text/javascript; charset=utf-8",
    "vega.js": "text/javascript; charset=utf-8",
}
"""Files that a page loads, with their types."""


@cache
def static_text(name: str) -> str:
    """Return a file that a page loads."""
    if name == "vega.js":
        return _vega()
    if name in ("copy.js", "report.js"):
        return template_text(name)
    own = (files("plimsoll.web") / "static" / name).read_text(encoding="utf-8")
    return page_style() + own if name == "page.css" else own


def _vega() -> str:
    """
    Return the script of charts, made by a process of its own.

    Making it takes about 90 MB, which a library keeps until its process ends. This process runs for months.
    """
    code = (
        "import sys; from plimsoll.reports.chart.drawing import vega_script as made; "
        "sys.stdout.buffer.write(made().encode())"
    )
    try:
        found = subprocess.run(  # noqa: S603  our own program
            [sys.executable, "-c", code], capture_output=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return vega_script()
    return found.stdout.decode()


@cache
def warm_up() -> None:
    """Make the script of charts in a thread: it takes seconds, and whoever sees the fleet may look at an instance."""
    if has_vega():
        threading.Thread(target=_mark, args=("vega.js",), name="watch-warm-up", daemon=True).start()


@cache
def _mark(name: str) -> str:
    return hashlib.sha256(static_text(name).encode()).hexdigest()[:12]
