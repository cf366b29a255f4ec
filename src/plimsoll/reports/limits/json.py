"""The limit sheet as JSON: the schema is named in the document and described in the reference."""

import msgspec

from plimsoll.model.sheet import LimitSheet

# They hold the same numbers at more sizes, for drawing.
_NOT_PRINTED = ("curve", "stages")


def render_limits_json(sheet: LimitSheet) -> str:
    """The sheet as indented JSON that ends with a newline; equal sheets give equal text."""
    fields = msgspec.to_builtins(sheet)
    for name in _NOT_PRINTED:
        del fields[name]
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"
