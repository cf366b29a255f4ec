"""
Apply events to the copy: a batch of one partition in one transaction.

Rule 1: the ledger moves from the expected offset or not at all. If another indexer applied the batch, nothing is
        changed here.
Rule 2: an event changes its row only if its version is higher. Duplicates and late events change nothing.
Rule 3: a product's `document_version` is raised under the lock of its row, so the order of versions is the order of
        commits for each product.
Rule 4: tables are locked in one order and rows in the order of their ids, so two batches cannot wait for each other.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Engine, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer
from sqlalchemy.orm.attributes import flag_modified

from search_service.database import transaction
from search_service.events import Changed, Event, type_of
from search_service.model import (
    AssetRow,
    CategoryRow,
    FanOutRow,
    OffsetRow,
    ProductRow,
    SupplierRow,
    WorkRow,
    digest_of,
)

ROWS: dict[str, type[SupplierRow | CategoryRow | ProductRow | AssetRow]] = {
    "supplier": SupplierRow,
    "category": CategoryRow,
    "asset": AssetRow,
    "product": ProductRow,
}
"""By the name of a type, its table, in the order in which they are locked: products last, with those of assets."""
_NOT_COLUMNS = frozenset({"id", "document_version"})
_NOT_SHOWN = frozenset({"views"})
"""What no document shows: the index keeps the document that it has."""


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch stands in its topic."""

    topic: str
    partition: int
    expected: int
    """The ledger's offset before the batch."""
    next: int
    """The ledger's offset after it."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch did."""

    is_ours: bool
    """False if another indexer had applied it; nothing was changed."""
    changed: int = 0
    """Events that changed the copy."""
    ignored: int = 0
    """Events at or below the version of the copy."""


class LostError(Exception):
    """The ledger is not where the batch expects it."""


def next_offset(database: Engine, topic: str, partition: int) -> int:
    """Return the offset from which a partition is to be applied; 0 if it never was."""
    with transaction(database) as session:
        found = session.get(OffsetRow, (topic, partition))
        return found.next_offset if found else 0


def apply(database: Engine, position: Position, events: Sequence[Event], *, is_dirty_tracking: bool) -> Applied:
    """
    Apply the events of a batch, all or none.

    Args:
        database: the copy.
        position: where the batch stands.
        events: in the order of their offsets; events that can never be applied are not among them.
        is_dirty_tracking: send only columns that changed; otherwise send every column of a changed row.

    Raises:
        UnavailableError: the database does not answer; nothing was changed.
    """
    try:
        with transaction(database) as session:
            _move(session, position)
            changed = _apply(session, events, is_dirty_tracking=is_dirty_tracking)
    except LostError:
        return Applied(is_ours=False)
    return Applied(is_ours=True, changed=changed, ignored=len(events) - changed)


def mark(session: Session, since: Mapping[str, datetime], *, is_own: bool) -> None:
    """
    Raise the versions of products' documents, and leave work for the index with the moments of the changes.

    Args:
        session: of a transaction.
        since: by product, when its service wrote the change.
        is_own: whether the products or their assets changed, and not only a supplier or a category.
    """
    wanted = sorted(since)
    if not wanted:
        return
    locked = select(ProductRow.id).where(ProductRow.id.in_(wanted)).order_by(ProductRow.id)
    session.execute(locked.with_for_update(key_share=True))
    raised = session.execute(
        update(ProductRow)
        .where(ProductRow.id.in_(wanted))
        .values(document_version=ProductRow.document_version + 1)
        .returning(ProductRow.id, ProductRow.document_version)
        .execution_options(synchronize_session=False)
    ).all()
    if not raised:
        return
    work = insert(WorkRow).values(
        [
            {"product_id": p, "document_version": v, "since": since[p], "own_since": since[p] if is_own else None}
            for p, v in raised
        ]
    )
    session.execute(
        work.on_conflict_do_update(
            index_elements=["product_id"],
            set_={
                "document_version": work.excluded.document_version,
                "since": func.least(WorkRow.since, work.excluded.since),
                # LEAST ignores NULL.
                "own_since": func.least(WorkRow.own_since, work.excluded.own_since),
            },
        )
    )


def _move(session: Session, position: Position) -> None:
    key = {"topic": position.topic, "partition": position.partition}
    if position.expected == 0:
        session.execute(insert(OffsetRow).values(**key, next_offset=0).on_conflict_do_nothing())
    moved = session.execute(
        update(OffsetRow)
        .where(
            OffsetRow.topic == position.topic,
            OffsetRow.partition == position.partition,
            OffsetRow.next_offset == position.expected,
        )
        .values(next_offset=position.next)
        .returning(OffsetRow.next_offset)
    ).all()
    if not moved:
        raise LostError


def _apply(session: Session, events: Sequence[Event], *, is_dirty_tracking: bool) -> int:
    changed = 0
    shown_by: dict[str, datetime] = {}
    """Products whose documents show what changed, with the moment of the first change."""
    for type_name, row_type in ROWS.items():
        here = [event for event in events if type_of(event) == type_name]
        ids = {event.id for event in here}
        if row_type is ProductRow:
            ids |= shown_by.keys()
            _expect(session, ids)
        rows = _locked(session, row_type, ids, is_dirty_tracking=is_dirty_tracking)
        for event in here:
            row = rows.get(event.id)
            if row is None:
                row = rows[event.id] = row_type(id=event.id, version=0, is_deleted=False)
                session.add(row)
            if row.version >= event.version:
                continue
            before = _products_of(type_name, row)
            is_shown = _write(row, event, is_dirty_tracking=is_dirty_tracking)
            changed += 1
            if not is_shown:
                continue
            for product_id in before | _products_of(type_name, row):
                shown_by[product_id] = min(event.at, shown_by.get(product_id, event.at))
            if type_name in {"supplier", "category"}:
                _fan_out(session, type_name, event.id, event.at)
        session.flush()
    mark(session, shown_by, is_own=True)
    return changed


def _locked(session: Session, row_type: type[Any], ids: set[str], *, is_dirty_tracking: bool) -> dict[str, Any]:
    """Return the rows of entities, locked; with dirty tracking no text is read that is stored out of line."""
    if not ids:
        return {}
    statement = select(row_type).where(row_type.id.in_(sorted(ids))).order_by(row_type.id)
    if row_type is AssetRow and is_dirty_tracking:
        statement = statement.options(defer(AssetRow.text))
    return {row.id: row for row in session.scalars(statement.with_for_update())}


def _write(row: Any, event: Event, *, is_dirty_tracking: bool) -> bool:
    """Write an event into its row; return whether a document may look different afterwards."""
    is_gone = not isinstance(event, Changed)
    # The published service did not know what had changed.
    is_shown = not is_dirty_tracking or row.version == 0 or row.is_deleted is not is_gone
    row.version, row.at, row.is_deleted = event.version, event.at, is_gone
    if isinstance(event, Changed):
        for name, value in msgspec.structs.asdict(event.entity).items():
            if name == "text":
                is_shown |= _write_text(row, value)
            elif name != "id" and getattr(row, name) != value:
                setattr(row, name, value)
                is_shown |= name not in _NOT_SHOWN
    if not is_dirty_tracking:
        for column in row.__table__.columns:
            if column.name not in _NOT_COLUMNS and getattr(row, column.name) is not None:
                flag_modified(row, column.name)
    return is_shown


def _write_text(row: AssetRow, text: str) -> bool:
    """Write a text that differs, and return whether it does."""
    digest = digest_of(text)
    if row.text_digest == digest:
        return False
    row.text, row.text_digest = text, digest
    return True


def _products_of(type_name: str, row: Any) -> set[str]:
    """Return the products whose documents show a row as it is now."""
    if type_name == "product":
        return {row.id}
    return {row.product_id} if type_name == "asset" and row.product_id else set()


def _expect(session: Session, product_ids: set[str]) -> None:
    """Make rows for products that have only been heard of: their documents need a version too."""
    rows = [
        {"id": i, "version": 0, "is_deleted": True, "at": datetime.fromtimestamp(0, UTC)} for i in sorted(product_ids)
    ]
    if rows:
        session.execute(insert(ProductRow).values(rows).on_conflict_do_nothing())


def _fan_out(session: Session, type_name: str, entity_id: str, since: datetime) -> None:
    """Leave word that the products of a supplier or a category are to be marked, from the first."""
    wanted = insert(FanOutRow).values(type=type_name, id=entity_id, after_product_id="", since=since)
    session.execute(
        wanted.on_conflict_do_update(
            index_elements=["type", "id"],
            set_={"after_product_id": "", "since": func.least(FanOutRow.since, wanted.excluded.since)},
        )
    )
