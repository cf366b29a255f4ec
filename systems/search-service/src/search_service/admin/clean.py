"""Remove what is not needed any more: tombstones that are old enough, and indexes that are not live."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine as Database
from sqlalchemy import select

from search_service.admin.writing import write_all
from search_service.database import transaction
from search_service.engine import Engine, Write
from search_service.errors import ServiceError
from search_service.generations import LIVE, lock
from search_service.model import GenerationRow, ProductRow, WorkRow

PAGE = 1000


def purge(database: Database, engine: Engine, index: str, days: float) -> int:
    """
    Remove the tombstones of products that were deleted at least `days` ago; return their number.

    The copy keeps the row of a deleted product with its version, so no event can bring it back. A document that is
    written more than `days` too late could: an indexer would have to hang for that long between database and engine.

    Raises:
        UnavailableError: a server does not answer; it can be done again.
        ServiceError: the engine refused.
    """
    before, after, removed = datetime.now(UTC) - timedelta(days=days), "", 0
    while True:
        with transaction(database) as session:
            page = session.execute(
                select(ProductRow.id, ProductRow.document_version)
                .outerjoin(WorkRow, WorkRow.product_id == ProductRow.id)
                .where(ProductRow.is_deleted, ProductRow.at < before, ProductRow.version > 0)
                .where(WorkRow.product_id.is_(None), ProductRow.id > after)
                .order_by(ProductRow.id)
                .limit(PAGE)
            )
            rows = [(i, version) for i, version in page]
        removed += _remove(engine, index, rows)
        if len(rows) < PAGE:
            engine.refresh(index)
            return removed
        after = rows[-1][0]


def drop(database: Database, engine: Engine, name: str) -> None:
    """
    Delete an index that is not live, or is being built.

    Raises:
        ServiceError: it is live, or there is none.
        UnavailableError: a server does not answer; it can be done again.
    """
    with transaction(database) as session:
        lock(session)
        row = session.get(GenerationRow, name)
        if row is None:
            names = session.scalars(select(GenerationRow.name).where(GenerationRow.state != LIVE))
            others = ", ".join(sorted(names))
            hint = f"Those that can be dropped: {others}." if others else "There is none to drop."
            raise ServiceError(f"there is no index '{name}'", hint)
        if row.state == LIVE:
            raise ServiceError(f"{name} is live", "Rebuild first; then the old index can be dropped.")
        # First the row: from then on nobody writes to it. The index goes in the same step; if that fails, so does
        # the row's deletion, and the command can be repeated.
        session.delete(row)
        session.flush()
        engine.delete_index(name)


def _remove(engine: Engine, index: str, rows: Sequence[tuple[str, int]]) -> int:
    writes = [Write(index=index, id=i, version=version, document=None) for i, version in rows]
    return sum(outcome.status == 200 for outcome in write_all(engine, writes))
