"""Read statements to explain from files."""

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.sources.files.bytes import load
from plimsoll.sources.values.shown import shown

# What may hold a semicolon that ends no statement: strings, names, comments and $tag$ quotes.
_PIECES = re.compile(
    r"""
    \b[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|"(?:""|[^"])*"|--[^\n]*|/\*.*?\*/
    |\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$|(?P<end>;)|.
    """,
    re.VERBOSE | re.DOTALL,
)


class StatementToRun(Struct, frozen=True, kw_only=True):
    """A statement to be explained."""

    statement: str
    query_id: int | None = None
    parameters: tuple[str | None, ...] | None = None
    """Values for `$1`, `$2` … as text; None where none were given."""
    is_planned_only: bool = False
    """Whether nobody named it, and a role that may become powerful plans it."""


def statements_in(path: Path) -> tuple[str, ...]:
    """
    Return the statements of a file of SQL, without their semicolons.

    Raises:
        SourceError: it cannot be opened.
        DataError: there is none.
    """
    text = load(path).decode(errors="replace")
    found = split(text)
    if not found:
        raise DataError(f"'{shown(path.name, 100)}' contains no statement", "Write them with semicolons between.")
    return found


def split(text: str) -> tuple[str, ...]:
    """Split a text into statements, without those that are only comments."""
    parts: list[str] = [""]
    for match in _PIECES.finditer(text):
        if match["end"]:
            parts.append("")
        else:
            parts[-1] += match[0]
    return tuple(part.strip() for part in parts if _has_words(part))


def without_comments(statement: str) -> str:
    """Return a statement without comments; a planner hint (`/*+`) stays."""
    kept = [
        " " if match[0].startswith("--") or re.match(r"/\*(?!\+)", match[0]) else match[0]
        for match in _PIECES.finditer(statement)
    ]
    return "".join(kept).strip()


def parameters_in(path: Path) -> dict[str, tuple[str | None, ...]]:
    """
    Read parameters by query identifier or statement from a JSON file.

    Raises:
        SourceError: it cannot be opened.
        DataError: it is not of this form.
    """
    name = f"'{shown(path.name, 100)}'"
    try:
        found = msgspec.json.decode(load(path), type=dict[str, list[str | None]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # What the reader says may quote a value: say less.
        raise DataError(
            f"{name} is not a JSON object of lists of texts",
            'Write {"QUERY ID OR STATEMENT": ["value", null]}, numbers as text too.',
        ) from error
    return {key: tuple(values) for key, values in found.items()}


def _has_words(part: str) -> bool:
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", "", part, flags=re.DOTALL)
    return bool(bare.strip())
