"""What the API answers."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from search_service.api.query import HITS_COUNTED, facet_values
from search_service.api.request import SearchRequest, cursor_of


class Product(Struct, frozen=True, kw_only=True):
    """A product as a search shows it."""

    id: str
    sku: str
    name: str
    brand: str
    price_cents: int
    currency: str
    categories: list[str]
    """From its own category to the root."""
    category_ids: list[str]
    supplier: str
    supplier_id: str
    country: str
    attributes: list[str]
    """`name=value`."""


class WholeProduct(Product, frozen=True, kw_only=True):
    """A product with everything that the index has of it."""

    description: str
    titles: list[str]
    version: int
    """Raised by every change of the product or of what it shows of others."""


class Hit(Struct, frozen=True, kw_only=True):
    """A product that was found."""

    product: Product
    score: float | None
    highlights: dict[str, str]
    """By field, a passage as HTML: the words that were found are in `<em>`, all else is escaped."""


class FacetValue(Struct, frozen=True, kw_only=True):
    """A value with the number of hits that have it."""

    value: str
    count: int


class SearchAnswer(Struct, frozen=True, kw_only=True):
    """A page of hits."""

    total: int
    """Number of hits; counted up to 10,000."""
    is_total_exact: bool
    is_complete: bool
    """False if the engine did not look at everything in time."""
    hits: list[Hit]
    facets: dict[str, list[FacetValue]]
    next: str | None
    """Cursor of the next page; null on the last."""


class SuggestAnswer(Struct, frozen=True, kw_only=True):
    """Names that begin with what was typed."""

    names: list[str]


class Problem(Struct, frozen=True, kw_only=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


def search_answer(request: SearchRequest, found: Mapping[str, Any]) -> SearchAnswer:
    """Return the page that the engine's answer makes."""
    hits = found["hits"]["hits"]
    page, has_more = hits[: request.limit], len(hits) > request.limit
    total = found["hits"]["total"]
    return SearchAnswer(
        total=min(total["value"], HITS_COUNTED),
        is_total_exact=total["relation"] == "eq",
        is_complete=is_complete(found),
        hits=[_hit(hit) for hit in page],
        facets={
            name: [
                FacetValue(value=value, count=count)
                for value, count in facet_values(name, found["aggregations"][name]["buckets"])
            ]
            for name in dict.fromkeys(request.facet)
        },
        next=cursor_of(request.sort, page[-1]["sort"]) if has_more else None,
    )


def suggest_answer(limit: int, found: Mapping[str, Any]) -> SuggestAnswer:
    """Return different names, the best first."""
    names = dict.fromkeys(hit["_source"]["name"] for hit in found["hits"]["hits"])
    return SuggestAnswer(names=list(names)[:limit])


def whole_product(found: Mapping[str, Any]) -> WholeProduct | None:
    """Return the product; None if there is none."""
    hits = found["hits"]["hits"]
    return WholeProduct(**hits[0]["_source"]) if hits else None


def is_complete(found: Mapping[str, Any]) -> bool:
    """Return whether every shard answered in time."""
    return not found["timed_out"] and found["_shards"]["failed"] == 0


def _hit(hit: Mapping[str, Any]) -> Hit:
    passages = {name: " … ".join(parts) for name, parts in hit.get("highlight", {}).items()}
    return Hit(product=Product(**hit["_source"]), score=hit["_score"], highlights=passages)
