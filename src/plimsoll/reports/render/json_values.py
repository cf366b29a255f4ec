"""How JSON reports are written: documents as bytes or text, and the forms that copy a part of a value."""

from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from plimsoll.reports.render.form import plain

_Form = TypeVar("_Form", bound=Struct)


def json_bytes(document: Struct) -> bytes:
    """Return a document as UTF-8 JSON: two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(plain(document), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def json_text(document: Struct) -> str:
    """Return a document as JSON in the order of its fields, with a newline at the end."""
    text = msgspec.json.encode(plain(document))
    return msgspec.json.format(text, indent=2).decode() + "\n"


def same_fields(form: type[_Form], value: object, **others: Any) -> _Form:
    """
    Return a Struct whose fields are the attributes of the same names, at every depth.

    Args:
        form: the Struct; where a field of it is another Struct, that one is filled likewise.
        value: what has the attributes.
        others: fields that have another value than the attribute, or have none.
    """
    # What a form is called is its own.
    given = {"schema", *others}
    same = {
        name: _filled(inner, getattr(value, name)) for name, inner in _inner_forms(form).items() if name not in given
    }
    return form(**same, **others)


def _filled(form: type[Struct] | None, value: Any) -> Any:
    if isinstance(value, Decimal):
        # A number for programs; six decimals are more than any price has.
        return round(float(value), 6)
    if form is None or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(same_fields(form, held) for held in value)
    return same_fields(form, value)


@cache
def _inner_forms(form: type[Struct]) -> dict[str, type[Struct] | None]:
    """Return the Struct of each field, or of its elements; None for a field without one."""
    hints = get_type_hints(form)
    return {name: _struct_in(hints[name]) for name in form.__struct_fields__}


def _struct_in(hint: Any) -> type[Struct] | None:
    if isinstance(hint, type) and get_origin(hint) is None and issubclass(hint, Struct):
        return hint
    return next((form for form in map(_struct_in, get_args(hint)) if form), None)
