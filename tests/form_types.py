"""The type that an object in a JSON report has to satisfy, made of its fields."""

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from plimsoll.reports.render.form import fields_of, is_document


@cache
def form_type(cls: type[msgspec.Struct], document: type[msgspec.Struct], within: tuple[type, ...] = ()) -> Any:
    """Return a Struct of the fields that are written; an object within one of its own kind may have any fields."""
    if cls in within:
        return dict[str, Any]
    fields = [(one.name, _checked(one.kind, document, (*within, cls))) for one in fields_of(cls, document)]
    return msgspec.defstruct(cls.__name__, fields, kw_only=True, forbid_unknown_fields=True)


def _checked(kind: Any, document: type[msgspec.Struct], within: tuple[type, ...]) -> Any:
    origin, inside = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and origin is None and issubclass(kind, msgspec.Struct):
        return form_type(kind, kind if is_document(kind) else document, within)
    if origin in (None, Literal, Annotated) or inside == ((),):
        return kind
    args = tuple(one if one is Ellipsis else _checked(one, document, within) for one in inside)
    if origin in (Union, UnionType):
        return Union[args]  # noqa: UP007
    return (dict if issubclass(origin, Mapping) else origin)[args]
