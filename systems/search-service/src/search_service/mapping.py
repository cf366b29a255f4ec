"""
Settings and mappings of an index, for every engine: only analyzers that are part of the engine itself.

A change of the mapping needs a new index: raise `MAPPING` and rebuild.
"""

from typing import Any

MAPPING = 1
"""Number of the mapping, kept in the index's `_meta`."""


def index_body(*, shards: int) -> dict[str, Any]:
    """Return the body that creates an index; one machine has no place for replicas."""
    keyword = {"type": "keyword", "ignore_above": 1000}
    plain = {"type": "text", "analyzer": "standard"}
    stems = {"type": "text", "analyzer": "whitespace"}
    return {
        "settings": {"number_of_shards": shards, "number_of_replicas": 0, "refresh_interval": "1s"},
        "mappings": {
            "dynamic": "strict",
            "_meta": {"mapping": MAPPING},
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
            },
        },
    }
