"""
Bring documents that changed from the copy into every index that is live or being built.

Rule 1: one snapshot of the database gives the indexes, the work and what the documents are made of. So a document
        that an index was given too late is given again: its work is still there.
Rule 2: work is finished only for the version that was indexed. A product that changed meanwhile keeps its work.
Rule 3: an engine that is busy gets smaller batches, later.
Rule 4: an index gets the fields that it was created with, so two indexes with different mappings can be written.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import Engine as Database
from sqlalchemy import Select, delete, func, select, tuple_
from sqlalchemy.orm import Session

from search_service.database import transaction
from search_service.document import Parts, document_of, tombstone_of
from search_service.engine import Engine, Write
from search_service.entities import Asset, Category, Product, Supplier
from search_service.mapping import fields_of
from search_service.model import AssetRow, CategoryRow, GenerationRow, ProductRow, SupplierRow, WorkRow
from search_service.phases import BULK, DOCUMENT, FINISH, Phases
from search_service.share import SLOTS

LIVE = "live"
WRITTEN = (LIVE, "building")
"""States of the indexes that are written."""
OTHERS_SHARE = 4
"""Products of renamed suppliers and categories get at least one of so many places of a page."""
DEPTH_MOST = 20
"""Levels of categories; a circle, which events can make, ends here."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A product's document or tombstone, with its version."""

    id: str
    version: int
    body: dict[str, object]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The oldest changes of a document that the index does not have yet, as their services wrote them."""

    at: datetime
    """The oldest of all."""
    own_at: datetime | None
    """The oldest of the product itself and its assets; None if only its supplier or a category changed."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Work of one snapshot."""

    live: str | None
    """The index that is searched."""
    indexes: Mapping[str, frozenset[str]]
    """By the name of each index to write, its fields."""
    documents: tuple[Document, ...]
    changes: tuple[Change, ...]
    """For each document, its oldest change."""


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a page of work."""

    taken: int = 0
    """Documents of the page."""
    done: int = 0
    conflicts: int = 0
    """Writes that found the same version or a later one in the index, which is as good."""
    refused: tuple[str, ...] = ()
    """Reasons for which the engine refused documents for good; their work stays."""
    is_busy: bool = False
    """Whether some writes are to be tried again later."""
    missing: str = ""
    """An index that is to be written and does not exist."""
    live: str | None = None
    """The index that is searched; None if nothing was written to it."""
    changes: tuple[Change, ...] = ()
    """For each document that was done, its oldest change."""


def index_page(
    database: Database,
    engine: Engine,
    most: int,
    *,
    skip: Iterable[str] = (),
    slots: frozenset[int] | None = None,
    phases: Phases | None = None,
) -> Indexed:
    """
    Write the oldest documents that changed, at most `most` of them; a refresh makes them searchable.

    Args:
        database: the copy.
        engine: where the indexes are.
        most: documents of one request.
        skip: products to leave for later, for example those that the engine refused.
        slots: of the products (`share.py`); None for all of them.
        phases: where to count the time.

    Raises:
        UnavailableError: the database or the engine does not answer; the work stays.
        EngineError: the engine refused the whole request; the work stays.
    """
    timed = (phases or Phases()).timed
    with timed(DOCUMENT):
        page = work_of(database, most, skip=frozenset(skip), slots=slots)
    if not page.documents or not page.indexes:
        return Indexed()
    writes = [
        Write(index=index, id=d.id, version=d.version, document=d.body, fields=fields)
        for d in page.documents
        for index, fields in page.indexes.items()
    ]
    with timed(BULK):
        outcomes = engine.bulk(writes)
    missed = {o.write.id for o in outcomes if not o.is_done}
    done = [d for d in page.documents if d.id not in missed]
    with timed(FINISH):
        finish(database, done)
    changes = dict(zip((d.id for d in page.documents), page.changes, strict=True))
    return Indexed(
        taken=len(page.documents),
        done=len(done),
        conflicts=sum(o.status == 409 for o in outcomes),
        refused=tuple(f"{o.write.id}: {o.reason}" for o in outcomes if not (o.is_done or o.is_busy or o.is_gone)),
        is_busy=any(o.is_busy for o in outcomes),
        # An index that was dropped meanwhile is not among those of the next snapshot.
        missing=next((o.write.index for o in outcomes if o.is_gone and not o.is_done), ""),
        live=page.live,
        changes=tuple(changes[d.id] for d in done),
    )


def work_of(
    database: Database, most: int, *, skip: frozenset[str] = frozenset(), slots: frozenset[int] | None = None
) -> Page:
    """Return the oldest work, its documents and the indexes to write, all of one snapshot."""
    with transaction(database, isolation="REPEATABLE READ") as session:
        rows = session.scalars(select(GenerationRow).where(GenerationRow.state.in_(WRITTEN))).all()
        wanted = select(WorkRow.product_id, WorkRow.since, WorkRow.own_since)
        if skip:
            wanted = wanted.where(WorkRow.product_id.not_in(skip))
        if slots is not None and len(slots) < SLOTS:
            slot = func.hashtext(WorkRow.product_id).bitwise_and(SLOTS - 1)
            wanted = wanted.where(slot.in_(sorted(slots)))
        changes = _oldest(session, wanted, most)
        documents = documents_of(session, sorted(changes))
        return Page(
            live=next((row.name for row in rows if row.state == LIVE), None),
            indexes={row.name: fields_of(row.body) for row in rows},
            documents=tuple(documents),
            changes=tuple(changes[d.id] for d in documents),
        )


def _oldest(session: Session, wanted: Select[tuple[str, datetime, datetime | None]], most: int) -> dict[str, Change]:
    """
    Return the oldest changes by product: products' own before those of their suppliers and categories.

    A renamed category may have thousands of products. They get a quarter of each page, and what is left of it.
    """

    def oldest(these: Select[tuple[str, datetime, datetime | None]], count: int) -> dict[str, Change]:
        rows = session.execute(these.limit(count))
        return {row[0]: Change(at=row[1], own_at=row[2]) for row in rows}

    own = oldest(wanted.where(WorkRow.own_since.is_not(None)).order_by(WorkRow.own_since), most)
    others = wanted.where(WorkRow.own_since.is_(None)).order_by(WorkRow.since)
    theirs = oldest(others, max(most - len(own), most // OTHERS_SHARE))
    kept = list(own.items())[: most - len(theirs)]
    return {**dict(kept), **theirs}


def finish(database: Database, documents: Sequence[Document]) -> None:
    """Delete the work of documents that were indexed, unless a later version has left new work."""
    if not documents:
        return
    keys = tuple_(WorkRow.product_id, WorkRow.document_version).in_([(d.id, d.version) for d in documents])
    with transaction(database) as session:
        # Locked in the order in which work is written, so the two never wait for each other.
        locked = select(WorkRow.product_id).where(keys).order_by(WorkRow.product_id)
        session.execute(locked.with_for_update())
        session.execute(delete(WorkRow).where(keys).execution_options(synchronize_session=False))


def documents_of(session: Session, product_ids: Sequence[str]) -> list[Document]:
    """Return the documents and tombstones of products, from the session's snapshot, in the order of their ids."""
    products = session.scalars(select(ProductRow).where(ProductRow.id.in_(product_ids)).order_by(ProductRow.id)).all()
    kept = [row for row in products if not row.is_deleted]
    suppliers = _suppliers(session, {row.supplier_id for row in kept if row.supplier_id})
    categories = _categories(session, {row.category_id for row in kept if row.category_id})
    assets: dict[str, list[Asset]] = {}
    belonging = select(AssetRow).where(
        AssetRow.product_id.in_([row.id for row in kept]), AssetRow.is_deleted.is_(False)
    )
    for row in session.scalars(belonging):
        assets.setdefault(row.product_id or "", []).append(_asset(row))
    return [
        Document(
            id=row.id,
            version=row.document_version,
            body=tombstone_of(row.id, row.document_version)
            if row.is_deleted
            else document_of(
                Parts(
                    product=_product(row),
                    categories=_path(row.category_id, categories),
                    supplier=suppliers.get(row.supplier_id or ""),
                    assets=assets.get(row.id, ()),
                ),
                row.document_version,
            ),
        )
        for row in products
    ]


def _suppliers(session: Session, ids: set[str]) -> dict[str, Supplier]:
    wanted = select(SupplierRow).where(SupplierRow.id.in_(ids), SupplierRow.is_deleted.is_(False))
    return {row.id: Supplier(id=row.id, name=row.name, country=row.country) for row in session.scalars(wanted)}


def _categories(session: Session, ids: set[str]) -> dict[str, Category]:
    """Return the categories and all above them, level by level."""
    found: dict[str, Category] = {}
    for _ in range(DEPTH_MOST):
        missing = ids - found.keys()
        if not missing:
            break
        wanted = select(CategoryRow).where(CategoryRow.id.in_(missing), CategoryRow.is_deleted.is_(False))
        rows = session.scalars(wanted).all()
        found |= {row.id: Category(id=row.id, name=row.name, parent_id=row.parent_id) for row in rows}
        ids = {row.parent_id for row in rows if row.parent_id}
    return found


def _path(category_id: str | None, categories: dict[str, Category]) -> list[Category]:
    path: list[Category] = []
    while category_id in categories and len(path) < DEPTH_MOST:
        category = categories[category_id]
        if category in path:
            break
        path.append(category)
        category_id = category.parent_id
    return path


def _product(row: ProductRow) -> Product:
    return Product(
        id=row.id,
        sku=row.sku,
        name=row.name,
        description=row.description,
        brand=row.brand,
        price_cents=row.price_cents,
        currency=row.currency,
        category_id=row.category_id or "",
        supplier_id=row.supplier_id or "",
        attributes=row.attributes,
    )


def _asset(row: AssetRow) -> Asset:
    return Asset(id=row.id, product_id=row.product_id or "", title=row.title, text=row.text, views=row.views)
