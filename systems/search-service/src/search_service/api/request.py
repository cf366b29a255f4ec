"""
What a caller may ask, checked before the engine hears of it.

Rule 1: every parameter has a type and bounds; a parameter that is not known is an error.
Rule 2: the cost of a search is bounded: words, filters, facets and the size of a page each have a most.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from search_service.entities import Identifier
from search_service.words import words_of

QUERY_MOST = 256
WORDS_MOST = 16
FILTERS_MOST = 20
PAGE_MOST = 100
CURSOR_MOST = 2000
"""A cursor has the name of a product: 200 characters, each up to six bytes of JSON, in base 64."""
FACETS = ("brand", "category", "supplier", "country", "material", "currency")
SORTS = ("relevance", "price", "-price", "name", "-name")

Facet = Literal["brand", "category", "supplier", "country", "material", "currency"]
Sort = Literal["relevance", "price", "-price", "name", "-name"]
Value = Annotated[str, Meta(min_length=1, max_length=200)]


class SearchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of `GET /v1/search`."""

    q: Annotated[str, Meta(max_length=QUERY_MOST)] = ""
    """Words; all of them must be found, in any field. Empty finds everything."""
    brand: Annotated[list[Value], Meta(max_length=FILTERS_MOST)] = []
    """Any of these brands; likewise for the other filters."""
    category: Annotated[list[Identifier], Meta(max_length=FILTERS_MOST)] = []
    """Ids; a category contains the products of all categories below it."""
    supplier: Annotated[list[Identifier], Meta(max_length=FILTERS_MOST)] = []
    country: Annotated[list[Annotated[str, Meta(pattern=r"\A[A-Z]{2}\Z")]], Meta(max_length=FILTERS_MOST)] = []
    attribute: Annotated[
        list[Annotated[str, Meta(pattern=r"\A[^=]{1,60}=[^\0]{0,200}\Z")]], Meta(max_length=FILTERS_MOST)
    ] = []
    """`name=value`; all of them."""
    price_from: Annotated[int, Meta(ge=0, lt=10**12)] | None = None
    """In cents."""
    price_to: Annotated[int, Meta(ge=0, lt=10**12)] | None = None
    currency: Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")] | None = None
    facet: Annotated[list[Facet], Meta(max_length=len(FACETS))] = []
    """Fields whose values are counted."""
    sort: Sort = "relevance"
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = 20
    cursor: Annotated[str, Meta(max_length=CURSOR_MOST)] | None = None
    """`next` of the page before; with the same sort."""


class SuggestRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of `GET /v1/suggest`."""

    q: Annotated[str, Meta(min_length=1, max_length=60)]
    """Beginning of a name."""
    limit: Annotated[int, Meta(ge=1, le=20)] = 5


_Request = TypeVar("_Request", SearchRequest, SuggestRequest)


class BadRequestError(Exception):
    """A request that is not valid; the message says why."""


def parsed(kind: type[_Request], given: Iterable[tuple[str, str]]) -> _Request:
    """
    Return a request from the parameters of a URL.

    Raises:
        BadRequestError: a parameter is unknown, given twice, or out of its bounds.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in given:
        if name not in fields:
            raise BadRequestError(f"there is no parameter '{name}'; known: {', '.join(fields)}")
        if isinstance(fields[name].default, list) or fields[name].default_factory is list:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise BadRequestError(f"'{name}' is given twice")
        else:
            values[name] = value
        if "\0" in value:
            raise BadRequestError(f"'{name}' contains the character U+0000")
    try:
        request = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequestError(_words(str(error))) from None
    # The conversion reads `null` as nothing, and nobody who writes it means that.
    for name in values:
        if getattr(request, name) is None:
            raise BadRequestError(f"'{name}' is no number")
    if len(words_of(request.q)) > WORDS_MOST:
        raise BadRequestError(f"'q' has more than {WORDS_MOST} words")
    return request


def cursor_of(sort: str, values: list[Any]) -> str:
    """Return a cursor: the sort and the sort values of the last hit."""
    return base64.urlsafe_b64encode(msgspec.json.encode([sort, values])).decode().rstrip("=")


def after_of(request: SearchRequest) -> list[Any] | None:
    """
    Return the sort values of the last hit of the page before; None for the first page.

    Raises:
        BadRequestError: it is not a cursor of this sort.
    """
    if request.cursor is None:
        return None
    try:
        padded = request.cursor + "=" * (-len(request.cursor) % 4)
        # Bounds are those of the fields: the engine refuses what it could not have sorted.
        data = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
        sort, values = msgspec.json.decode(
            data, type=tuple[str, list[Annotated[str, Meta(max_length=1000)] | int | float | None]]
        )
    except (binascii.Error, UnicodeError, msgspec.DecodeError, ValueError):
        raise BadRequestError("'cursor' is not one that a search has returned") from None
    if sort != request.sort or len(values) != 2 or not _is_sorted_by(request.sort, *values):
        raise BadRequestError("'cursor' is from a search with another sort")
    return list(values)


def _is_sorted_by(sort: str, value: object, product_id: object) -> bool:
    """Return whether a hit of this sort can have these sort values."""
    if not isinstance(product_id, str) or not re.fullmatch(r"[a-z0-9-]{1,40}", product_id):
        return False
    if sort in {"price", "-price"}:
        return isinstance(value, int) and 0 <= value < 10**12
    if sort == "relevance":
        return isinstance(value, float | int) and 0 <= value < 1e30
    return isinstance(value, str)


def _words(error: str) -> str:
    """Turn `Expected … - at `$.limit`` into a sentence with the parameter first."""
    reason, _, place = error.partition(" - at `$.")
    name = place.rstrip("`").partition("[")[0]
    return f"'{name}': {reason[:1].lower()}{reason[1:]}" if name else error
