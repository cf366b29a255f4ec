"""
The entities of other services, as their events carry them.

Rule 1: each entity is owned by one service, which numbers its versions: 1, 2, 3, …
Rule 2: an event carries the whole entity, so only the newest one matters, and a topic can be compacted.
"""

from typing import Annotated

from msgspec import Meta, Struct

Identifier = Annotated[str, Meta(pattern=r"\A[a-z0-9-]{1,40}\Z")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Version = Annotated[int, Meta(ge=1, lt=2**53)]

TEXT_MOST = 1_000_000
"""Characters of an asset's text; Kafka's brokers accept messages of 1 MiB unless they are told otherwise."""

ATTRIBUTES_MOST, ATTRIBUTE_MOST = 200, 500
"""Attributes of a product, and characters of a value: each is a term that filters look up."""


class Entity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every entity has."""

    id: Identifier


class Supplier(Entity, frozen=True, kw_only=True, tag="supplier", tag_field="type"):
    """Who makes or delivers products."""

    name: Name
    country: Annotated[str, Meta(pattern=r"\A[A-Z]{2}\Z")]
    """ISO 3166-1 alpha-2."""


class Category(Entity, frozen=True, kw_only=True, tag="category", tag_field="type"):
    """A node of the tree of categories."""

    name: Name
    parent_id: Identifier | None = None


class Product(Entity, frozen=True, kw_only=True, tag="product", tag_field="type"):
    """What people search for."""

    sku: Annotated[str, Meta(min_length=1, max_length=60)]
    name: Name
    description: Annotated[str, Meta(max_length=50_000)] = ""
    brand: Annotated[str, Meta(max_length=100)] = ""
    price_cents: Annotated[int, Meta(ge=0, lt=10**12)]
    currency: Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")]
    """ISO 4217."""
    category_id: Identifier
    supplier_id: Identifier
    attributes: Annotated[
        dict[Annotated[str, Meta(min_length=1, max_length=60)], Annotated[str, Meta(max_length=ATTRIBUTE_MOST)]],
        Meta(max_length=ATTRIBUTES_MOST),
    ] = {}


class Asset(Entity, frozen=True, kw_only=True, tag="asset", tag_field="type"):
    """A manual, a data sheet or a review: a large text that belongs to a product."""

    product_id: Identifier
    title: Name
    text: Annotated[str, Meta(max_length=TEXT_MOST)]
    views: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    """A number that changes often while the text stays."""


AnyEntity = Supplier | Category | Product | Asset
