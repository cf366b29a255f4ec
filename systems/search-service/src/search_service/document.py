"""
The search document of a product: everything that people search by, from four types of entity.

Pure: rows in, document out. The document carries the version under which it is indexed.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from search_service.entities import Asset, Category, Product, Supplier
from search_service.words import stems_of

ASSET_TEXT_MOST = 200_000
"""Characters of all assets' texts in one document; what is beyond is found by title only."""


class Parts(Struct, frozen=True, kw_only=True):
    """What the document of a product is made of, read in one snapshot of the database."""

    product: Product
    categories: Sequence[Category]
    """From the product's own category to the root; empty where it has not arrived yet."""
    supplier: Supplier | None
    assets: Sequence[Asset]


def document_of(parts: Parts, version: int) -> dict[str, Any]:
    """Return the document of a product at a version."""
    product = parts.product
    texts, left = [], ASSET_TEXT_MOST
    for asset in sorted(parts.assets, key=lambda asset: asset.id):
        texts.append(asset.text[:left])
        left -= len(texts[-1])
    titles = [asset.title for asset in sorted(parts.assets, key=lambda asset: asset.id)]
    categories = [category.name for category in parts.categories]
    supplier = parts.supplier.name if parts.supplier else ""
    words = [product.name, product.brand, product.description, supplier, *categories, *titles, *texts]
    return {
        "id": product.id,
        "version": version,
        "is_deleted": False,
        "sku": product.sku,
        "name": product.name,
        "name_stems": " ".join(stems_of(product.name)),
        "description": product.description,
        "brand": product.brand,
        "price_cents": product.price_cents,
        "currency": product.currency,
        "category_ids": [category.id for category in parts.categories],
        "categories": categories,
        "supplier_id": product.supplier_id,
        "supplier": supplier,
        "country": parts.supplier.country if parts.supplier else "",
        "attributes": [f"{name}={value}" for name, value in sorted(product.attributes.items())],
        "titles": titles,
        "texts": texts,
        "stems": " ".join(stems_of("\n".join(words))),
    }


def tombstone_of(product_id: str, version: int) -> dict[str, Any]:
    """
    Return what stands for a deleted product.

    A real deletion is forgotten by the engine after `index.gc_deletes`, and a late write would bring the document
    back. A tombstone keeps its version until it is purged.
    """
    return {"id": product_id, "version": version, "is_deleted": True}
