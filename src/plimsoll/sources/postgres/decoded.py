"""
Parse lines of PostgreSQL's output plugin `test_decoding` into values by column.

A line is `table public.t: UPDATE: id[integer]:1 body[text]:'it''s' note[text]:unchanged-toast-datum`,
with `old-key: … new-tuple: …` before the columns where the key changed or the whole old row is
logged. Quotes inside a literal are doubled; backslashes mean nothing (contrib/test_decoding.c).
"""

import re
from collections.abc import Mapping

from msgspec import Struct

UNTOUCHED = "unchanged-toast-datum"

_LINE = re.compile(r'table ((?:"(?:[^"]|"")+"|[^".: ]+)\.(?:"(?:[^"]|"")+"|[^".: ]+)): ([A-Z]+): ')
# A type may end in brackets, so its own ends at the first "]:".
_COLUMN = re.compile(r'((?:"(?:[^"]|"")+")|[^\[" ]+)\[(.*?)\]:', re.DOTALL)
_LITERAL = re.compile(r"B?'((?:[^']|'')*)'(?: |$)", re.DOTALL)
_BARE = re.compile(r"(\S+)(?: |$)")


class DecodedChange(Struct, frozen=True, kw_only=True):
    """One row that was inserted, updated or deleted."""

    table: str
    """As the server quotes it: `public.documents`."""
    action: str
    """`INSERT`, `UPDATE`, `DELETE`"""
    new: Mapping[str, str | None]
    """By column; None for null, nothing for what was left alone."""
    untouched: frozenset[str]
    """Columns out of line that the statement left alone."""
    old: Mapping[str, str | None]
    """What was logged of the row before: its key, or all of it; empty if nothing."""


def change_of(line: str) -> DecodedChange | None:
    """Parse the change in a line; None for begin, commit, truncate and lines without columns."""
    begun = _LINE.match(line)
    if begun is None or line.endswith(": (no-tuple-data)"):
        return None
    place = begun.end()
    old: dict[str, str | None] = {}
    if line.startswith("old-key: ", place):
        old, place, _ = _columns(line, place + len("old-key: "))
    if line.startswith("new-tuple: ", place):
        place += len("new-tuple: ")
    new, _, untouched = _columns(line, place)
    return DecodedChange(table=begun[1], action=begun[2], new=new, untouched=untouched, old=old)


def _columns(line: str, place: int) -> tuple[dict[str, str | None], int, frozenset[str]]:
    """Return the values from a position on, the position after them, and the unchanged TOAST columns."""
    values: dict[str, str | None] = {}
    untouched = set()
    while (
        place < len(line)
        and not line.startswith("new-tuple: ", place)
        and (column := _COLUMN.match(line, place)) is not None
    ):
        name = _plain(column[1])
        literal = _LITERAL.match(line, column.end())
        bare = _BARE.match(line, column.end()) if literal is None else None
        if literal is not None:
            values[name] = literal[1].replace("''", "'")
        elif bare is not None and bare[1] == UNTOUCHED:
            untouched.add(name)
        elif bare is not None:
            values[name] = None if bare[1] == "null" else bare[1]
        else:
            break
        place = (literal or bare or column).end()
    return values, place, frozenset(untouched)


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
