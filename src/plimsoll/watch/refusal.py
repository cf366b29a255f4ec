"""Say in our words what msgspec refuses in a configuration."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from plimsoll.errors import UsageError

# What msgspec says, and how we say it.
_UNKNOWN_KEY = re.compile(r"Object contains unknown field `([^`]*)`(?: - at `\$\.?(.*)`)?")
_MISSING_KEY = re.compile(r"Object missing required field `([^`]*)`(?: - at `\$\.?(.*)`)?")
_WRONG = re.compile(r"(.*?)(?: - at (`key` in )?`\$\.?(.*)`)?")
_WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`str`": "a text in quotes",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "a table",
    "`null`": "nothing",
    ">=": "≥",
    "<=": "≤",
}


def refusal(
    path: Path,
    error: msgspec.ValidationError,
    tables: Sequence[type[Struct]],
    *,
    see: str,
    hints: dict[str, str] | None = None,
) -> UsageError:
    """
    Return the error of a file with a wrong key or value.

    Args:
        path: of the file.
        error: what msgspec said.
        tables: every table that the file may have, for the keys that may be meant.
        see: sentence that says where all keys are.
        hints: hint by the last part of the place of a value, for example `kind`.
    """
    text = str(error)
    if found := _UNKNOWN_KEY.fullmatch(text):
        return UsageError(
            f"'{path}' has the unknown key '{found[1]}'{_place(found[2])}", _hint_for(found[1], tables, see)
        )
    if found := _MISSING_KEY.fullmatch(text):
        return UsageError(f"'{path}' lacks the key '{found[1]}'{_place(found[2])}", see)
    found = _WRONG.fullmatch(text)
    assert found is not None
    cause = found[1][:1].lower() + found[1][1:]
    for theirs, ours in _WORDS.items():
        cause = cause.replace(theirs, ours)
    where = "a key of " if found[2] else ""
    last = (found[3] or "").rpartition(".")[2]
    place = f" in {where}{found[3]}" if found[3] else ""
    return UsageError(f"'{path}': {cause}{place}", (hints or {}).get(last, see))


def _hint_for(unknown: str, tables: Sequence[type[Struct]], see: str) -> str:
    """Return which key was probably meant."""
    names = {field.encode_name for table in tables for field in msgspec.structs.fields(table)}
    # A key of one table is unknown in another.
    names.discard(unknown)
    if near := difflib.get_close_matches(unknown, names, 1):
        return f"Did you mean '{near[0]}'? {see}"
    return f"Check its spelling. {see}"


def _place(path: str | None) -> str:
    return f" in {path}" if path else ""
