"""Mark the products of a changed supplier or category, a bounded number in each transaction."""

from sqlalchemy import ColumnElement, Engine, delete, or_, select
from sqlalchemy.orm import Session, aliased

from search_service.apply import mark
from search_service.database import transaction
from search_service.model import CategoryRow, FanOutRow, ProductRow


def fan_out_page(database: Engine, most: int) -> int:
    """
    Mark the next products of the oldest change, and return how many were marked.

    A change of the same supplier or category that arrives meanwhile begins again from the first product. Several
    indexers share the work: each takes a change that no other works on.

    Args:
        database: the copy.
        most: products of one transaction.

    Raises:
        UnavailableError: the database does not answer; nothing was marked.
    """
    with transaction(database) as session:
        oldest = select(FanOutRow).order_by(FanOutRow.since).limit(1)
        change = session.scalars(oldest.with_for_update(skip_locked=True)).first()
        if change is None:
            return 0
        after = ProductRow.id > change.after_product_id
        page = select(ProductRow.id).where(_shows(session, change), after, ProductRow.version > 0)
        ids = list(session.scalars(page.order_by(ProductRow.id).limit(most)))
        mark(session, dict.fromkeys(ids, change.since), is_own=False)
        if len(ids) < most:
            session.execute(delete(FanOutRow).where(FanOutRow.type == change.type, FanOutRow.id == change.id))
        else:
            change.after_product_id = ids[-1]
        return len(ids)


def pending_changes(database: Engine) -> int:
    """Return the number of suppliers and categories whose products are not all marked."""
    with transaction(database) as session:
        return len(session.scalars(select(FanOutRow.id)).all())


def _shows(session: Session, change: FanOutRow) -> ColumnElement[bool]:
    """Return the condition for products whose documents show the changed row."""
    if change.type == "supplier":
        return ProductRow.supplier_id == change.id
    below = select(CategoryRow.id).where(CategoryRow.id == change.id).cte("below", recursive=True)
    child = aliased(CategoryRow)
    # UNION, not UNION ALL: a circle of categories, which events can make, ends.
    below = below.union(select(child.id).where(child.parent_id == below.c.id))
    found = session.scalars(select(below.c.id)).all()
    return or_(ProductRow.category_id.in_(found), ProductRow.category_id == change.id)
