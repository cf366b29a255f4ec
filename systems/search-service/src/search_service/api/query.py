"""
Turn a request into the engine's query. Pure.

Rule 1: what a caller typed is only ever a value of `match`, `term` or `prefix`. Nothing of it is parsed: there is no
        query language, no script, no regular expression and no wildcard.
Rule 2: deleted products are never found.
Rule 3: every order ends with the id, so pages neither repeat nor miss a product that did not change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from search_service.api.request import SearchRequest, SuggestRequest, after_of
from search_service.words import fold, stems_of, words_of

TIMEOUT = "2s"
HITS_COUNTED = 10_000
"""Hits are counted up to this number."""
FACET_VALUES = 20

Body = dict[str, Any]

# By facet, its field. Names of categories and suppliers would join those that share a name.
_FIELDS = {
    "brand": "brand",
    "category": "category_ids",
    "supplier": "supplier_id",
    "country": "country",
    "currency": "currency",
    "material": "attributes",
}
_SORTS: Mapping[str, Body] = {
    "relevance": {"_score": "desc"},
    "price": {"price_cents": "asc"},
    "-price": {"price_cents": "desc"},
    "name": {"name.raw": "asc"},
    "-name": {"name.raw": "desc"},
}
_SHOWN = [
    *("id", "sku", "name", "brand", "price_cents", "currency", "categories", "category_ids"),
    *("supplier", "supplier_id", "country", "attributes"),
]
_HIGHLIGHTED = ("name", "description", "titles", "texts")


def search_body(request: SearchRequest) -> Body:
    """
    Return the body of a search.

    Raises:
        BadRequestError: the cursor is not one.
    """
    body: Body = {
        "query": {"bool": {"must": _must(request.q), "filter": [*_kept(), *_filters(request)]}},
        # One more than asked for: whether there is another page.
        "size": request.limit + 1,
        "sort": [_SORTS[request.sort], {"id": "asc"}],
        "_source": _SHOWN,
        "timeout": TIMEOUT,
        "track_total_hits": HITS_COUNTED,
        "track_scores": True,
    }
    after = after_of(request)
    if after is not None:
        body["search_after"] = after
    if request.facet:
        body["aggs"] = {name: _facet(name) for name in dict.fromkeys(request.facet)}
    if words_of(request.q):
        body["highlight"] = _highlight(request.q)
    return body


def suggest_body(request: SuggestRequest) -> Body:
    """Return the body of a search for names whose words begin with what was typed."""
    *whole, last = words_of(request.q) or [""]
    must: list[Body] = [{"match": {"name": {"query": word}}} for word in whole]
    # The standard analyzer folds case, and keeps accents; both forms are looked for.
    begun = {fold(request.q).split()[-1] if request.q.split() else "", last}
    begun.add(request.q.casefold().split()[-1] if request.q.split() else "")
    should = [{"prefix": {"name": {"value": word}}} for word in sorted(begun) if word]
    should += [{"prefix": {"sku": {"value": request.q.strip()}}}]
    return {
        "query": {
            "bool": {"must": [*must, {"bool": {"should": should, "minimum_should_match": 1}}], "filter": _kept()}
        },
        # Several products may share a name.
        "size": 10 * request.limit,
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "_source": ["name"],
        "timeout": TIMEOUT,
        "track_total_hits": False,
    }


def product_body(product_id: str) -> Body:
    """Return the body of a search for one product."""
    return {
        "query": {"bool": {"filter": [*_kept(), {"term": {"id": product_id}}]}},
        "size": 1,
        "_source": [*_SHOWN, "description", "titles", "version"],
        "timeout": TIMEOUT,
    }


def facet_values(name: str, buckets: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return the values of a facet with their counts, the largest first."""
    prefix = f"{name}=" if _FIELDS[name] == "attributes" else ""
    return [(str(one["key"]).removeprefix(prefix), int(one["doc_count"])) for one in buckets]


def _must(q: str) -> list[Body]:
    """Return the condition: every word, as a stem, anywhere; better hits have it in the name or as typed."""
    stems = stems_of(q)
    if not stems:
        # Only signs were typed: they may be a number of an article, and nothing else.
        return [{"term": {"sku": {"value": q.strip()}}}] if q.strip() else [{"match_all": {}}]
    fields = ["stems", "name_stems^4"]
    all_stems = {"query": " ".join(stems), "fields": fields, "operator": "and"}
    return [
        {
            "bool": {
                "should": [
                    {"multi_match": {**all_stems, "type": "cross_fields", "analyzer": "whitespace"}},
                    {"term": {"sku": {"value": q.strip(), "boost": 50}}},
                ],
                "minimum_should_match": 1,
            }
        },
        *({"bool": {"should": [*_better(q)]}},),
    ]


def _better(q: str) -> list[Body]:
    return [
        {"match_all": {"boost": 0}},
        {"match_phrase": {"name": {"query": q, "boost": 3}}},
        {"match": {"name": {"query": q, "boost": 2}}},
        {"match_phrase": {"description": {"query": q}}},
        {"match": {"categories": {"query": q}}},
    ]


def _kept() -> list[Body]:
    return [{"term": {"is_deleted": False}}]


def _filters(request: SearchRequest) -> list[Body]:
    chosen: list[Body] = [
        {"terms": {field: values}}
        for field, values in (
            ("brand", request.brand),
            ("category_ids", request.category),
            ("supplier_id", request.supplier),
            ("country", request.country),
        )
        if values
    ]
    chosen += [{"term": {"attributes": value}} for value in request.attribute]
    if request.currency is not None:
        chosen.append({"term": {"currency": request.currency}})
    bounds = {"gte": request.price_from, "lte": request.price_to}
    if given := {name: value for name, value in bounds.items() if value is not None}:
        chosen.append({"range": {"price_cents": given}})
    return chosen


def _facet(name: str) -> Body:
    field = _FIELDS[name]
    facet: Body = {"field": field, "size": FACET_VALUES}
    if field == "attributes":
        # Attributes of all names share a field. The expression is ours, not the caller's.
        facet["include"] = f"{name}=.*"
    return {"terms": facet}


def _highlight(q: str) -> Body:
    shown: Body = {"query": q, "fields": ["name", "description", "titles", "texts"]}
    return {
        "fields": {name: {} for name in _HIGHLIGHTED},
        "highlight_query": {"multi_match": shown},
        "encoder": "html",
        "fragment_size": 160,
        "number_of_fragments": 1,
    }
