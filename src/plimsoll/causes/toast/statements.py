"""Read from the normalised text of statements which columns they set."""

import re
from collections.abc import Iterable

from msgspec import Struct

from plimsoll.model.database import Observation, Relation

_NAME = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_UPDATE = re.compile(
    rf"^\s*update\s+(?:only\s+)?({_NAME}(?:\s*\.\s*{_NAME})?)(?:\s+(?:as\s+)?(?!set\b){_NAME})?\s+set\s+(.*)",
    re.IGNORECASE | re.DOTALL,
)
_UPSERT = re.compile(
    rf"^\s*insert\s+into\s+({_NAME}(?:\s*\.\s*{_NAME})?)\b.*?\bon\s+conflict\b.*?\bdo\s+update\s+set\s+(.*)",
    re.IGNORECASE | re.DOTALL,
)
_ASSIGNED = re.compile(rf"^\s*({_NAME})\s*=(?!=)")
_END = re.compile(r"\b(?:where|from|returning)\b", re.IGNORECASE)

# Columns that programs also set whenever they change another column.
_BOOKKEEPING = re.compile(r"^(?:updated?_?(?:at|on)?|modified.*|lock_version|version|.*_at)$")


class Setter(Struct, frozen=True, kw_only=True):
    """A statement that sets columns of a table."""

    query_id: int
    text: str
    calls: int
    """Number of calls in the window."""
    columns: tuple[str, ...]
    is_guarded: bool
    """Whether it compares before it writes (`IS DISTINCT FROM`, `NULLIF`)."""

    def sets_only(self, column: str) -> bool:
        """Return whether it sets this column and no other, apart from bookkeeping columns."""
        others = [c for c in self.columns if c != column and not _BOOKKEEPING.match(c)]
        return column in self.columns and not others


def setters_of(observation: Observation, table: Relation) -> tuple[Setter, ...]:
    """Return statements that updated the table in the window, the most frequent first."""
    before = {s.query_id: s.calls for s in observation.first.statements or ()}
    found = []
    for statement in observation.last.statements or ():
        calls = statement.calls - before.get(statement.query_id, 0)
        columns = columns_set(statement.text, table.name) if calls > 0 else ()
        if columns:
            text = " ".join(statement.text.split())
            found.append(
                Setter(
                    query_id=statement.query_id,
                    text=text,
                    calls=calls,
                    columns=columns,
                    is_guarded=bool(re.search(r"\bis\s+distinct\s+from\b|\bnullif\b", text, re.IGNORECASE)),
                )
            )
    return tuple(sorted(found, key=lambda s: (-s.calls, s.query_id)))


def columns_set(text: str, table: str) -> tuple[str, ...]:
    """
    Return columns of `schema.table` that an UPDATE or an upsert sets; empty if it sets none.

    A statement without a schema is assumed to mean this table. `set body = body` does not count:
    PostgreSQL keeps the stored value.
    """
    match = _UPDATE.match(text) or _UPSERT.match(text)
    if match is None or not _is_same(match[1], table):
        return ()
    found = []
    for part in _parts(match[2]):
        assigned = _ASSIGNED.match(part)
        if assigned is None:
            continue
        name = _plain(assigned[1])
        value = _END.split(part[assigned.end() :])[0].strip()
        if not re.fullmatch(rf"(?:(?!excluded\b){_NAME}\s*\.\s*)?{re.escape(assigned[1])}", value, re.IGNORECASE):
            found.append(name)
    return tuple(found)


def _parts(assignments: str) -> Iterable[str]:
    """Split at commas outside brackets; the last part keeps the text after the list."""
    depth, start = 0, 0
    for index, letter in enumerate(assignments):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            yield assignments[start:index]
            start = index + 1
    yield assignments[start:]


def _is_same(named: str, table: str) -> bool:
    parts = [_plain(part) for part in re.findall(_NAME, named)]
    schema, _, name = table.rpartition(".")
    wanted = [part.strip('"') for part in (schema, name)]
    return parts[-1] == wanted[-1] and (len(parts) == 1 or parts[0] == wanted[0])


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
