"""
Is the index equal to the copy? Compare ids and versions, without holding either of them in memory.

Rule 1: both sides are read in the order of ids, page by page, and merged.
Rule 2: changes go on meanwhile. What differs in the merge is looked at again, and counts only if the copy stays as it
        is and has no work left for it.
Rule 3: a tombstone and no document are the same.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from zlib import crc32

import msgspec
from sqlalchemy import Engine as Database
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from search_service.admin.writing import write_all
from search_service.database import transaction
from search_service.engine import Engine, Write
from search_service.model import ProductRow, WorkRow

PAGE = 5000
REPAIRED = 1000
"""Products whose work one transaction leaves."""
LOOKS = 5
LOOK_S = 1.0
"""A difference is looked at again after this time, so often."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A product whose document is not that of the copy."""

    id: str
    copy_version: int | None
    """None if the copy has no such product, or it is deleted."""
    index_version: int | None
    """None if the index has no document, or a tombstone."""


class Side(msgspec.Struct, kw_only=True):
    """What one side has."""

    documents: int = 0
    checksum: int = 0
    """Sum of a checksum of each id with its version, modulo 2^64: the same in any order."""

    def add(self, product_id: str, version: int) -> None:
        """Count a document."""
        self.documents += 1
        self.checksum = (self.checksum + crc32(f"{product_id} {version}".encode())) % 2**64


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison found."""

    copy: Side
    index: Side
    """The two are of slightly different moments while changes go on."""
    differences: tuple[Difference, ...]


def compare(database: Database, engine: Engine, index: str) -> Comparison:
    """
    Compare an index with the copy.

    Raises:
        UnavailableError: the database or the engine does not answer.
        EngineError: there is no such index.
    """
    engine.refresh(index)
    copy, found = Side(), Side()
    ids = [
        product_id
        for product_id, ours, theirs in _merged(_copy(database), engine.versions(index))
        if _count(copy, product_id, ours) != _count(found, product_id, theirs)
    ]
    return Comparison(copy=copy, index=found, differences=_confirmed(database, engine, index, tuple(ids)))


def repair(database: Database, engine: Engine, index: str, differences: Sequence[Difference]) -> None:
    """
    Leave work for documents that differ, above the version of the index; remove those that the copy does not have.

    Raises:
        UnavailableError: the database or the engine does not answer; it can be done again.
        ServiceError: the engine refused to remove a document.
    """
    for first in range(0, len(differences), REPAIRED):
        page = {one.id: one for one in differences[first : first + REPAIRED]}
        known = _leave_work(database, page)
        write_all(
            engine,
            [
                Write(index=index, id=one.id, version=one.index_version, document=None)
                for one in page.values()
                if one.id not in known and one.index_version is not None
            ],
        )


def _leave_work(database: Database, differences: Mapping[str, Difference]) -> set[str]:
    """Raise the versions of documents above those of the index, leave work, and return the products that there are."""
    with transaction(database) as session:
        wanted = select(ProductRow).where(ProductRow.id.in_(sorted(differences)))
        rows = session.scalars(wanted.order_by(ProductRow.id).with_for_update()).all()
        for row in rows:
            # A document that was removed by hand has the version after its own for a minute.
            theirs = differences[row.id].index_version or 0
            row.document_version = 2 + max(row.document_version, theirs)
        session.flush()
        if rows:
            now = datetime.now(UTC)
            work = insert(WorkRow).values(
                [{"product_id": r.id, "document_version": r.document_version, "since": now} for r in rows]
            )
            session.execute(
                work.on_conflict_do_update(
                    index_elements=["product_id"], set_={"document_version": work.excluded.document_version}
                )
            )
        return {row.id for row in rows}


def _confirmed(database: Database, engine: Engine, index: str, ids: tuple[str, ...]) -> tuple[Difference, ...]:
    found: dict[str, Difference] = {}
    for look in range(LOOKS):
        if not ids:
            return ()
        if look:
            time.sleep(LOOK_S)
        found = {}
        for first in range(0, len(ids), PAGE):
            page = ids[first : first + PAGE]
            before = _now(database, page)
            engine.refresh(index)
            theirs = {
                product_id: None if is_deleted else version
                for product_id, version, is_deleted in engine.versions(index, {"terms": {"id": page}})
            }
            after = _now(database, page)
            for product_id in page:
                ours = before.get(product_id, (None, False))
                # Changed or not indexed yet: looked at again, and no difference if it goes on like that.
                if ours != after.get(product_id, (None, False)) or ours[1]:
                    continue
                if ours[0] != theirs.get(product_id):
                    found[product_id] = Difference(
                        id=product_id, copy_version=ours[0], index_version=theirs.get(product_id)
                    )
        ids = tuple(found)
    return tuple(found.values())


def _now(database: Database, ids: Sequence[str]) -> Mapping[str, tuple[int | None, bool]]:
    """Return, for each product, its version (None if deleted) and whether it has work left."""
    with transaction(database) as session:
        wanted = (
            select(ProductRow.id, ProductRow.document_version, ProductRow.is_deleted, WorkRow.product_id.is_not(None))
            .outerjoin(WorkRow, WorkRow.product_id == ProductRow.id)
            .where(ProductRow.id.in_(ids))
        )
        return {
            product_id: (None if is_deleted else version, has_work)
            for product_id, version, is_deleted, has_work in session.execute(wanted)
        }


def _copy(database: Database) -> Iterator[tuple[str, int, bool]]:
    after = ""
    while True:
        with transaction(database) as session:
            page = session.execute(
                select(ProductRow.id, ProductRow.document_version, ProductRow.is_deleted)
                .where(ProductRow.id > after)
                .order_by(ProductRow.id)
                .limit(PAGE)
            )
            rows = [(i, version, is_deleted) for i, version, is_deleted in page]
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def _count(side: Side, product_id: str, version: int | None) -> int | None:
    if version is not None:
        side.add(product_id, version)
    return version


def _merged(
    ours: Iterable[tuple[str, int, bool]], theirs: Iterable[tuple[str, int, bool]]
) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield each id of two sorted sides with both versions; None for a tombstone or nothing."""
    first, second = iter(ours), iter(theirs)
    a, b = next(first, None), next(second, None)
    while a is not None or b is not None:
        product_id = min(one[0] for one in (a, b) if one is not None)
        versions: list[int | None] = []
        for one in (a, b):
            is_here = one is not None and one[0] == product_id and not one[2]
            versions.append(one[1] if one is not None and is_here else None)
        if a is not None and a[0] == product_id:
            a = next(first, None)
        if b is not None and b[0] == product_id:
            b = next(second, None)
        yield product_id, versions[0], versions[1]
