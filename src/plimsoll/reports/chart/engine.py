"""
Run the drawing engine, Vega-Lite in vl-convert, which comes with the extra 'pictures'.

Its V8 reserves address space of many gigabytes, and ends its process if it gets none. So under a limit of memory
(`ulimit -v`, batch systems) each drawing is made in a process of its own, which may end instead of this one.
"""

import json
import resource
import sys
from importlib.util import find_spec
from typing import Any

from plimsoll.errors import ExtraMissing, UsageError

_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

_CHILD = """
import json, sys
import vl_convert
job = json.load(sys.stdin)
found = getattr(vl_convert, job["name"])(*job["arguments"], **job["options"])
sys.stdout.buffer.write(found.encode() if isinstance(found, str) else found)
"""


def has_vega() -> bool:
    """Return whether pictures can be drawn."""
    return find_spec("vl_convert") is not None


def check_vega() -> None:
    """
    Refuse a picture without Vega-Lite before any work is done.

    Raises:
        ExtraMissing: Vega-Lite is not installed.
    """
    if not has_vega():
        raise missing()


def missing() -> ExtraMissing:
    """Return the error for a picture without Vega-Lite."""
    return ExtraMissing.naming("a picture", "pictures")


def drawn(name: str, *arguments: Any, **options: Any) -> bytes:
    """
    Return what a function of vl-convert returns; a text in UTF-8.

    Args:
        name: of the function.
        arguments: JSON.
        options: JSON.

    Raises:
        ExtraMissing: Vega-Lite is not installed.
        UsageError: the engine ended under the limit of memory.
    """
    check_vega()
    if any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in _LIMITS):
        return _drawn_apart({"name": name, "arguments": arguments, "options": options})
    import vl_convert

    found: str | bytes = getattr(vl_convert, name)(*arguments, **options)
    return found.encode() if isinstance(found, str) else found


def _drawn_apart(job: dict[str, Any]) -> bytes:
    import subprocess

    ran = subprocess.run(  # noqa: S603 - our own interpreter and text
        # -P: nothing of the working folder is imported.
        [sys.executable, "-P", "-c", _CHILD],
        input=json.dumps(job).encode(),
        capture_output=True,
        check=False,
    )
    if ran.returncode != 0:
        raise UsageError(
            "the drawing engine ended under the limit of memory of this process",
            "Raise it (ulimit -v, ulimit -d), or leave out the page or picture: text and JSON need no drawing.",
        )
    return ran.stdout
