"""
Settings and mappings of an index, for every engine: only analyzers that are part of the engine itself.

A change of the mapping needs a new index: change it here or in a file for `admin rebuild --mapping`, and rebuild.
Every index keeps the body it was created with in the database. So the indexers write to each index the fields that it
has, also while an index with another mapping is built.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from search_service.errors import ServiceError

REFRESH = "10s"
"""The engine's own refresh. The indexer refreshes more often, and this is for when it has been killed."""
FIXED = frozenset({"id", "version", "is_deleted"})
"""Fields by which documents are compared and deleted ones left out: no file changes them."""

Body = dict[str, Any]


def index_body(*, shards: int, change: Mapping[str, Any] | None = None) -> Body:
    """
    Return the body that creates an index; one machine has no place for replicas.

    Args:
        shards: number of shards.
        change: what `change_of` returned; None for the mapping of this version of the service.
    """
    keyword = {"type": "keyword", "ignore_above": 1000}
    plain = {"type": "text", "analyzer": "standard"}
    stems = {"type": "text", "analyzer": "whitespace"}
    given = change or {}
    return {
        "settings": {
            "refresh_interval": REFRESH,
            **given.get("settings", {}),
            "number_of_shards": shards,
            "number_of_replicas": 0,
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                "id": {"type": "keyword"},
                "version": {"type": "long"},
                "is_deleted": {"type": "boolean"},
                "sku": keyword,
                "name": {**plain, "fields": {"raw": keyword}},
                "name_stems": stems,
                "description": plain,
                "brand": keyword,
                "price_cents": {"type": "long"},
                "currency": keyword,
                "category_ids": keyword,
                "categories": {**plain, "fields": {"raw": keyword}},
                "supplier_id": keyword,
                "supplier": {**plain, "fields": {"raw": keyword}},
                "country": keyword,
                "attributes": keyword,
                "titles": plain,
                # Highlighting finds the words by their offsets, without reading the whole text again.
                "texts": {**plain, "index_options": "offsets"},
                "stems": stems,
                **given.get("properties", {}),
            },
        },
    }


def change_of(text: str | bytes) -> dict[str, Any]:
    """
    Return a change of the mapping: `{"properties": {FIELD: MAPPING, …}, "settings": {…}}`, both optional.

    Raises:
        ServiceError: it is no such JSON, or it names a field that documents do not have or that must stay.
    """
    try:
        change = msgspec.json.decode(text, type=dict[str, dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceError(f"the mapping is not a JSON object of objects: {error}") from None
    if unknown := sorted(change.keys() - {"properties", "settings"}):
        raise ServiceError(f"the mapping has '{unknown[0]}'", "Give 'properties' and 'settings'.")
    known = fields_of(index_body(shards=1))
    for name in change.get("properties", {}):
        if name in FIXED or name not in known:
            reason = "must stay as it is" if name in FIXED else "is no field of a document"
            changeable = ", ".join(sorted(known - FIXED))
            raise ServiceError(f"'{name}' {reason}", f"Fields that can change: {changeable}.")
    return change


def fields_of(body: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of an index that was created with this body."""
    return frozenset(body["mappings"]["properties"])


def is_same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two indexes were created alike."""
    return msgspec.json.encode(first, order="sorted") == msgspec.json.encode(second, order="sorted")
