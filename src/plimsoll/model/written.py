"""
How values of the model are written in JSON reports, where their Python types alone do not say it.

A report is its model, field by field. These marks stand in the types of fields; `reports.render.form` reads them,
for the document, its schema and its reference page alike. To all other code they are the plain types.
"""

from enum import Enum
from typing import Annotated, TypeVar

from msgspec import Meta, Struct

_T = TypeVar("_T")


class Mark(Enum):
    """What a field's value becomes in a report."""

    MOMENT = "moment"
    WINDOW = "window"
    INLINE = "inline"
    NUMBER = "number"


class Named(Struct, frozen=True):
    """Another name for a field, where leaving out its `_s` does not make one."""

    name: str


class After(Struct, frozen=True):
    """What a property returns that is written like a field: after the field of that name."""

    field: str


class OneOf(Struct, frozen=True):
    """The only words that occur in a field of a wider type."""

    words: tuple[str, ...]


Moment = Annotated[int, Mark.MOMENT]
"""Epoch seconds; written in UTC as ISO 8601 to the second, under the name without `_s`."""
Window = Annotated[tuple[int, int], Mark.WINDOW]
"""Epoch seconds [start, end); written as an object of two moments and a length, under the name without `_s`."""
Inline = Annotated[_T, Mark.INLINE]
"""A value whose fields stand among those of the value that has it."""
Number = Annotated[float, Mark.NUMBER]
"""NaN or infinite where it is not known; written as null then."""
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(ge=0)]
"""Zero or above."""
Ratio = Annotated[float, Meta(ge=0, le=1)]
