"""How a command prints: the form, the columns, and whether in colour."""

import os
import sys
from enum import StrEnum


class Format(StrEnum):
    """How a report is written to standard output."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def is_color() -> bool:
    """Return whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
