"""Names in SQL: the tables that a typed name may mean, and the quoting of identifiers."""

from collections.abc import Iterator, Sequence


def spellings(text: str, path: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """
    Return the tables that a name may mean, as pairs of schema and name, the likeliest first.

    The first is the meaning in SQL: `public.Order` is `public.order`, and `public."Order"` is
    `public.Order`. A shell removes quotes, so the letters as they were typed come next.

    Args:
        text: `schema.table` or `table`, quoted as in SQL or not at all.
        path: schemas in which a name without one is looked up, in order.
    """
    found: dict[tuple[str, str], None] = {}
    parts = _folded(text)
    if len(parts) == 2:
        found[parts[0], parts[1]] = None
    elif len(parts) == 1:
        found |= dict.fromkeys((schema, parts[0]) for schema in path)
    found |= dict.fromkeys(_cut(text))
    found |= dict.fromkeys((schema, text) for schema in path)
    return tuple(found)


def quoted_name(name: str) -> str:
    """Return an identifier quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _cut(text: str) -> Iterator[tuple[str, str]]:
    """Yield each way to see a schema and a table in a text with dots."""
    for place, letter in enumerate(text):
        if letter == "." and 0 < place < len(text) - 1:
            yield text[:place], text[place + 1 :]


def _folded(text: str) -> tuple[str, ...]:
    """Return the parts of a name by the rules of SQL; none where it breaks them."""
    parts, part, place = [], "", 0
    while place < len(text):
        letter = text[place]
        if letter == '"' and not part:
            end = _closing(text, place + 1)
            if end is None or text[end + 1 : end + 2] not in ("", "."):
                return ()
            part = text[place + 1 : end].replace('""', '"')
            place = end
        elif letter == ".":
            parts.append(part)
            part = ""
        elif letter == '"':
            return ()
        else:
            part += letter.lower()
        place += 1
    parts.append(part)
    return tuple(parts) if all(parts) else ()


def _closing(text: str, start: int) -> int | None:
    """Return the place of the closing quote of a name that begins at `start`; None without one."""
    place = start
    while place < len(text):
        if text[place] == '"':
            if text[place + 1 : place + 2] != '"':
                return place
            place += 1
        place += 1
    return None
