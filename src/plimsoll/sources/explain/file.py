"""
Read files with query plans: our recordings, output of EXPLAIN, and logs of `auto_explain`.

The content decides which of them a file is.
"""

import re
from pathlib import Path

import msgspec

from plimsoll.errors import DataError
from plimsoll.model.explain import EXPLAIN_SCHEMA, Capture, CaptureFile, Source
from plimsoll.sources.explain.json_plan import capture_of
from plimsoll.sources.explain.log import captures_in_log
from plimsoll.sources.explain.text_plan import capture_of_text, is_plan_line
from plimsoll.sources.files.bytes import load
from plimsoll.sources.values.shown import shown

_HINT = (
    "Record one with 'plimsoll explain record', or give a log with auto_explain plans or the output "
    "of EXPLAIN (ANALYZE, BUFFERS, SETTINGS, FORMAT JSON)."
)
# psql frames what it shows; these lines are not the plan's.
_FRAME = re.compile(r"^\s*(QUERY PLAN|-{3,}|\(\d+ rows?\)|[+|-]+)\s*$")


def read_captures(path: Path) -> CaptureFile:
    """
    Return what a file holds; a log's or plan's statements are those written in it.

    Raises:
        SourceError: it cannot be opened.
        DataError: it holds no execution that can be read.
    """
    data = load(path)
    name = f"'{shown(path.name, 100)}'"
    found = _recorded(data, name) or _explained(data, path, name) or _logged(data, path)
    if found is None or not (found.captures or found.unrecorded):
        raise DataError(f"{name} contains no plan", _HINT)
    return found


def _recorded(data: bytes, name: str) -> CaptureFile | None:
    """Parse our own form; None for another form."""
    try:
        head = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(head, dict) or not isinstance(head.get("schema"), str):
        return None
    if head["schema"] != EXPLAIN_SCHEMA:
        detail = shown(head["schema"], 60)
        raise DataError(f"{name} is of the form '{detail}', not '{EXPLAIN_SCHEMA}'", _HINT)
    try:
        return msgspec.convert(head, CaptureFile)
    except (msgspec.ValidationError, RecursionError) as error:
        detail = shown(" ".join(str(error).split()), 200)
        raise DataError(f"{name} is not what its form says: {detail}", _HINT) from error


def _explained(data: bytes, path: Path, name: str) -> CaptureFile | None:
    """Return what EXPLAIN itself gave, as JSON; the file's name stands for the statement."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    entries = document if isinstance(document, list) else [document]
    if not entries or not all(isinstance(entry, dict) and "Plan" in entry for entry in entries):
        return None
    captures = [
        capture_of(entry, statement=str(entry.get("Query Text", "")), source=Source.EXPLAIN, where=name)
        for entry in entries
    ]
    return CaptureFile(place=path.name, captures=tuple(captures))


def _logged(data: bytes, path: Path) -> CaptureFile | None:
    text = data.decode(errors="replace")
    captures, unread = captures_in_log(text)
    if captures or unread:
        note = f"{unread} logged plans could not be read" if unread else ""
        if not captures:
            raise DataError(f"none of the {unread} plans logged in '{shown(path.name, 100)}' can be read", _HINT)
        return CaptureFile(place=path.name, captures=tuple(captures), note=note)
    capture = _shown_by_psql(text)
    return None if capture is None else CaptureFile(place=path.name, captures=(capture,))


def _shown_by_psql(text: str) -> Capture | None:
    lines = [line for line in text.splitlines() if not _FRAME.match(line)]
    # psql puts a space before every line of a column, and a + behind it where it goes on.
    lines = [line.rstrip().removesuffix("+").rstrip() for line in lines]
    if not any(is_plan_line(line) for line in lines):
        return None
    return capture_of_text(lines, statement="", source=Source.EXPLAIN)
