"""The text of a schema: an object that fits on a line stands on one, any other a member a line."""

from typing import Any

import msgspec

# People read only the changed lines of a schema, so short parts stay on one line.
_COLUMNS = 200


def laid_out(value: Any, indent: str = "", ahead: int = 0) -> str:
    """
    Return JSON with short objects and all lists on one line.

    Args:
        value: built of dict, list and scalars.
        indent: of the line it begins on.
        ahead: columns that its name takes on that line.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    inside = indent + "  "
    if not isinstance(value, dict) or len(indent) + ahead + len(text) < _COLUMNS:
        return text
    members = [f'"{name}": {laid_out(held, inside, len(name) + 4)}' for name, held in value.items()]
    lines = f",\n{inside}".join(members)
    return f"{{\n{inside}{lines}\n{indent}}}"
