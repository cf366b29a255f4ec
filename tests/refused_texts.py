"""Texts that are refused, each with its cause and its hint, in a golden file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll.errors import UsageError

REFUSALS = Path(__file__).parent / "golden" / "refusals" / "texts"
LINE = f"{'-' * 40}\n"


def refused(name: str, read: Callable[[str], object]) -> str:
    """Refuse each text of a golden file again: what the file would be now."""
    shown = []
    for case in (REFUSALS / name).read_text(encoding="utf-8").split(LINE):
        text = case.partition("\nerror: ")[0]
        with pytest.raises(UsageError) as caught:
            read(text)
        error = caught.value
        assert error.hint.endswith((".", "?")), text
        shown.append(f"{text}\nerror: {error.message}\nhint: {error.hint}\n")
    return LINE.join(shown)
