"""
The copy in PostgreSQL: entities, the ledger of offsets, what is still to be indexed, and the indexes there are.

Rule 1: one transaction holds the offsets of a batch, the entities it changed and the work it leaves for the index.
Rule 2: a deleted entity keeps its row with its version, so an older event cannot bring it back.
Rule 3: `Product.document_version` numbers the states of a product's search document. It is raised under the lock of
the product's row by every change that the document shows, so a later state has a higher version.
Rule 4: ids sort by their bytes, as they do in the search engine, so that both can be read side by side.
"""

from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import BigInteger, DateTime, Index, Integer, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = Text(collation="C")
"""Column of an id."""


class Base(DeclarativeBase):
    """What every table has."""


class Versioned:
    """A row of an entity."""

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    version: Mapped[int] = mapped_column(BigInteger)
    is_deleted: Mapped[bool] = mapped_column(default=False)
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    """When its service wrote this version."""


class SupplierRow(Versioned, Base):
    """A supplier."""

    __tablename__ = "supplier"
    name: Mapped[str] = mapped_column(Text, default="")
    country: Mapped[str] = mapped_column(Text, default="")


class CategoryRow(Versioned, Base):
    """A category."""

    __tablename__ = "category"
    name: Mapped[str] = mapped_column(Text, default="")
    parent_id: Mapped[str | None] = mapped_column(Id, index=True)


class ProductRow(Versioned, Base):
    """A product, which may be known from its assets before its own event arrives."""

    __tablename__ = "product"
    sku: Mapped[str] = mapped_column(Text, default="")
    name: Mapped[str] = mapped_column(Text, default="")
    description: Mapped[str] = mapped_column(Text, default="")
    brand: Mapped[str] = mapped_column(Text, default="")
    price_cents: Mapped[int] = mapped_column(BigInteger, default=0)
    currency: Mapped[str] = mapped_column(Text, default="")
    category_id: Mapped[str | None] = mapped_column(Id, index=True)
    supplier_id: Mapped[str | None] = mapped_column(Id, index=True)
    attributes: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    document_version: Mapped[int] = mapped_column(BigInteger, server_default="0")


class AssetRow(Versioned, Base):
    """An asset; its text is stored out of line (TOAST)."""

    __tablename__ = "asset"
    product_id: Mapped[str | None] = mapped_column(Id, index=True)
    title: Mapped[str] = mapped_column(Text, default="")
    text: Mapped[str] = mapped_column(Text, default="")
    text_digest: Mapped[str] = mapped_column(Text, default="", server_default="")
    """SHA-256 of the text: whether it changed is known without reading it."""
    views: Mapped[int] = mapped_column(BigInteger, default=0)


def digest_of(text_: str) -> str:
    """Return the digest of a text, as the table of assets has it."""
    return sha256(text_.encode()).hexdigest()


class OffsetRow(Base):
    """The next offset to apply of a partition; changed only together with what was applied."""

    __tablename__ = "applied_offset"
    topic: Mapped[str] = mapped_column(Text, primary_key=True)
    partition: Mapped[int] = mapped_column(Integer, primary_key=True)
    next_offset: Mapped[int] = mapped_column(BigInteger)


class WorkRow(Base):
    """A product whose document the index does not have yet, with the moment of the oldest change."""

    __tablename__ = "index_work"
    product_id: Mapped[str] = mapped_column(Id, primary_key=True)
    document_version: Mapped[int] = mapped_column(BigInteger)
    since: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    own_since: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    """The oldest change of the product itself or of its assets; None if only its supplier or a category changed."""
    __table_args__ = (
        Index("index_work_own_since", "own_since"),
        Index("index_work_others_since", "since", postgresql_where=text("own_since IS NULL")),
    )


class FanOutRow(Base):
    """A supplier or category whose products are still to be marked, and how far that has come."""

    __tablename__ = "fan_out"
    type: Mapped[str] = mapped_column(Text, primary_key=True)
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    after_product_id: Mapped[str] = mapped_column(Id, server_default="")
    since: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class GenerationRow(Base):
    """
    An index: planned, being built beside the live one, live, or retired.

    Live and building indexes are written; how far an index that is built has come is kept, so it can go on.
    """

    __tablename__ = "generation"
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    state: Mapped[str] = mapped_column(Text)
    shards: Mapped[int] = mapped_column(Integer)
    body: Mapped[dict[str, Any]] = mapped_column(JSONB)
    """Settings and mapping with which it is created."""
    after_product_id: Mapped[str] = mapped_column(Id, server_default="")
    """The last product that was filled in."""
    is_filled: Mapped[bool] = mapped_column(server_default="false")
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    __table_args__ = (
        Index("generation_live", "state", unique=True, postgresql_where=text("state = 'live'")),
        Index(
            "generation_next", text("(true)"), unique=True, postgresql_where=text("state IN ('planned', 'building')")
        ),
    )
