"""
The form of a JSON report: which fields of the model are written, under which names, as which types.

Rule 1: a document is its model. `model.written` marks what is written in another way, and `LEFT_OUT` and
        `ONLY` of the document list what it has not, or has; every other field is there, null where it is not known.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations, ratios 0–1; money
        is in US dollars.
Rule 3: a document inside another one has its own form.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache, reduce
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from plimsoll.model.written import After, Count, Mark, Named, OneOf
from plimsoll.units import format_time

MomentText = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
"""UTC in ISO 8601, to the second."""
_PLAIN = (str, int, float, bool, type(None))


class Document(Struct, frozen=True, kw_only=True):
    """A JSON report: its first field is the name of its form, the others are values of the model."""

    LEFT_OUT: ClassVar[Mapping[type[Struct], tuple[str, ...]]] = {}
    """Fields of the model that this form does not have."""
    ONLY: ClassVar[Mapping[type[Struct], tuple[str, ...]]] = {}
    """The fields that it has of a value of which it has few."""
    IS_RAW: ClassVar[bool] = False
    """Whether moments are epoch seconds and origins objects of their own, with the model's own names."""


class WindowObject(Struct, frozen=True, kw_only=True):
    """A stretch of time."""

    start: MomentText
    """First moment; UTC, ISO 8601 to the second with `Z`."""
    end: MomentText
    """First moment after it; UTC, ISO 8601 to the second with `Z`."""
    duration_s: Count
    """Length in seconds."""


class FormField(Struct, frozen=True, kw_only=True):
    """One field of an object in a report."""

    name: str
    kind: Any
    """Its type as it is written."""
    mark: Mark | None
    read: Callable[[Any], Any]
    """Return its value, of the Struct that the object is made of."""
    owner: type[Struct]
    attribute: str
    """Where its docstring stands."""


@cache
def fields_of(cls: type[Struct], document: type[Struct]) -> tuple[FormField, ...]:
    """Return the fields of an object in a document, in order; a field of its own hides an inline one of that name."""
    left_out = getattr(document, "LEFT_OUT", {}).get(cls, ())
    only = getattr(document, "ONLY", {}).get(cls)
    is_raw = getattr(document, "IS_RAW", False) and cls is not document
    found: dict[str, FormField] = {}
    for attribute, hint in _hints(cls).items():
        if attribute in left_out or (only and attribute not in only):
            continue
        marks = [] if is_raw else list(_marks(hint))
        if Mark.INLINE in marks:
            for inner in fields_of(_struct_in(hint), document):
                found.setdefault(inner.name, _within(attribute, inner, may_lack=type(None) in get_args(hint)))
            continue
        mark = next((one for one in marks if one in (Mark.MOMENT, Mark.WINDOW)), None)
        name = next((one.name for one in marks if isinstance(one, Named)), attribute.removesuffix("_s" if mark else ""))
        found[name] = FormField(
            name=name,
            kind=_kind(hint, is_raw=is_raw),
            mark=mark,
            read=attrgetter(attribute),
            owner=cls,
            attribute=attribute,
        )
    return tuple(found.values())


def plain(document: Struct) -> Any:
    """Return a document, or a Struct that stands alone, as dicts, lists and scalars."""
    return _plain(document, type(document), None)


def is_document(cls: type[Struct]) -> bool:
    """Return whether a Struct is a document with a form of its own."""
    return "schema" in cls.__struct_fields__


def _plain(value: Any, document: type[Struct], mark: Mark | None) -> Any:
    if mark is None and type(value) in _PLAIN:
        return value
    if value is None or value is UNSET:
        return None
    if isinstance(value, Struct):
        cls = type(value)
        within = cls if is_document(cls) else document
        return {one.name: _plain(one.read(value), within, one.mark) for one in fields_of(cls, within)}
    if mark is Mark.WINDOW:
        start_s, end_s = value
        return {"start": format_time(start_s), "end": format_time(end_s), "duration_s": end_s - start_s}
    if isinstance(value, (tuple, list)):
        return [_plain(one, document, mark) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one, document, mark) for name, one in value.items()}
    if mark is Mark.MOMENT:
        return format_time(value)
    if isinstance(value, Decimal):
        # A number for programs; six decimals are more than any price has.
        return round(float(value), 6)
    return value.item() if isinstance(value, np.generic) else value


def _within(attribute: str, inner: FormField, *, may_lack: bool) -> FormField:
    """Return a field of a Struct as one of the Struct that has it; null where that one may be missing and is."""
    outer = attrgetter(attribute)

    def read(value: Any) -> Any:
        held = outer(value)
        return None if held is None else inner.read(held)

    return FormField(
        name=inner.name,
        kind=inner.kind | None if may_lack else inner.kind,
        mark=inner.mark,
        read=read,
        owner=inner.owner,
        attribute=inner.attribute,
    )


def _hints(cls: type[Struct]) -> dict[str, Any]:
    """Return the type of each field, and of each property that is written, in order."""
    hints = get_type_hints(cls, include_extras=True)
    names = list(cls.__struct_fields__)
    for name, value in vars(cls).items():
        if isinstance(value, property):
            hints[name] = get_type_hints(value.fget, include_extras=True)["return"]
            after = next((one.field for one in _marks(hints[name]) if isinstance(one, After)), None)
            if after:
                names.insert(names.index(after) + 1, name)
    return {name: hints[name] for name in names}


def _marks(hint: Any) -> Iterator[Any]:
    """Return what is annotated in a type, at every depth."""
    yield from getattr(hint, "__metadata__", ())
    for inner in get_args(hint):
        yield from _marks(inner)


def _struct_in(hint: Any) -> type[Struct]:
    """Return the Struct in `Inline[S]` or `Inline[S] | None`."""
    [inner] = (one for one in (hint, *get_args(hint)) if get_origin(one) is Annotated)
    found: type[Struct] = inner.__origin__
    return found


def _kind(hint: Any, *, is_raw: bool) -> Any:
    """Return the type as which a value of a type is written."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(hint, is_raw=is_raw)
    if origin in (Union, UnionType):
        return Union[tuple(_kind(one, is_raw=is_raw) for one in inside)]  # noqa: UP007
    if origin is tuple:
        return tuple[tuple(one if one is Ellipsis else _kind(one, is_raw=is_raw) for one in inside)]  # type: ignore[misc]
    if hint is UnsetType:
        return None
    return float if hint is Decimal else hint


def _annotated(hint: Any, *, is_raw: bool) -> Any:
    marks = hint.__metadata__
    words = next((one.words for one in marks if isinstance(one, OneOf)), None)
    if words:
        return Literal[words]
    if Mark.WINDOW in marks and not is_raw:
        return WindowObject
    if Mark.MOMENT in marks and not is_raw:
        return MomentText
    kind = _kind(hint.__origin__, is_raw=is_raw)
    bounds = [one for one in marks if isinstance(one, Meta)]
    if bounds:
        kind = reduce(lambda inner, bound: Annotated[inner, bound], bounds, kind)
    return kind | None if Mark.NUMBER in marks else kind
