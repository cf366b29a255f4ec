"""
Build a new index beside the live one, with other shards or another mapping, while searches and changes go on.

Rule 1: from the moment an index is `building`, the indexers write every change to it too. So what is filled in from
        the copy afterwards is never older than what they missed, and an older version is refused by the engine.
Rule 2: filling in keeps its place in the database; after a crash it goes on there.
Rule 3: the alias moves first and the state in the database afterwards: until then both indexes are written, so
        searches are right whichever of them the alias stands for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import Engine as Database
from sqlalchemy import func, select, text

from search_service.admin.verify import Comparison, compare
from search_service.admin.writing import write_all
from search_service.database import connection_to, transaction
from search_service.engine import Engine, Write
from search_service.errors import ServiceError
from search_service.generations import BUILDING, LIVE, PLANNED, RETIRED, live_of, lock, new_generation
from search_service.index_work import documents_of
from search_service.mapping import Body, fields_of, is_same
from search_service.model import GenerationRow, ProductRow
from search_service.settings import Settings

_ONE = "SELECT pg_try_advisory_lock(hashtext('search-service admin'))"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far filling in has come."""

    index: str
    filled: int
    products: int


Report = Callable[[Progress], None]


@contextmanager
def alone(database: Database) -> Iterator[None]:
    """
    Let no other command of an operator run at the same time.

    Raises:
        ServiceError: one runs.
    """
    with connection_to(database) as connection:
        if not connection.execute(text(_ONE)).scalar():
            raise ServiceError("another admin command is running on this service", "Wait until it has ended.")
        # The lock belongs to the connection, not to a transaction.
        connection.commit()
        try:
            yield
        finally:
            connection.invalidate()


def rebuild(
    database: Database, engine: Engine, settings: Settings, body: Body, report: Report
) -> tuple[str, Comparison]:
    """
    Build an index, or go on with the one that was begun, and make it the live one.

    Args:
        database: the copy; the caller is `alone`.
        engine: where the indexes are.
        settings: the service's.
        body: settings and mapping of the new index.
        report: called after each page.

    Returns:
        The name of the new index, and its comparison with the copy before it went live.

    Raises:
        ServiceError: an index with another body is being built, or documents are missing in the new one.
        UnavailableError: a server does not answer; the same command goes on where it was.
    """
    name = _begin(database, engine, settings, body)
    products, filled = _counts(database, name)
    while (count := _fill_page(database, engine, settings, name)) is not None:
        filled += count
        report(Progress(index=name, filled=filled, products=max(filled, products)))
    compared = compare(database, engine, name)
    if compared.differences:
        raise ServiceError(
            f"{len(compared.differences)} documents of {name} are not those of the database",
            f"Searches still use the old index. Run: search-service admin verify --index {name} --repair, "
            "then rebuild again.",
        )
    engine.point_alias(settings.alias, name)
    with transaction(database) as session:
        lock(session)
        live = live_of(session)
        if live is not None and live.name != name:
            live.state = RETIRED
            session.flush()
        built = session.get_one(GenerationRow, name)
        built.state = LIVE
    return name, compared


def _begin(database: Database, engine: Engine, settings: Settings, body: Body) -> str:
    """Return the name of the index that is built; it exists and is written from now on."""
    with transaction(database) as session:
        lock(session)
        begun = session.scalars(select(GenerationRow).where(GenerationRow.state.in_((PLANNED, BUILDING)))).first()
        if begun is None:
            begun = new_generation(session, engine, settings, PLANNED, body)
        shards = body["settings"]["number_of_shards"]
        if begun.shards != shards:
            raise ServiceError(
                f"{begun.name} is being built with {begun.shards} shards, not {shards}",
                f"Give --shards {begun.shards} to go on, or: search-service admin drop {begun.name}.",
            )
        if not is_same(begun.body, body):
            raise ServiceError(
                f"{begun.name} is being built with another mapping",
                f"Give the same to go on, or: search-service admin drop {begun.name}.",
            )
        name = begun.name
    engine.create_index(name, body)
    with transaction(database) as session:
        session.get_one(GenerationRow, name).state = BUILDING
    return name


def _counts(database: Database, name: str) -> tuple[int, int]:
    """Return how many products there are, and how many of them are filled in."""
    with transaction(database) as session:
        built = session.get_one(GenerationRow, name)
        kept = select(func.count()).select_from(ProductRow).where(ProductRow.is_deleted.is_(False))
        products = session.scalar(kept) or 0
        return products, session.scalar(kept.where(ProductRow.id <= built.after_product_id)) or 0


def _fill_page(database: Database, engine: Engine, settings: Settings, name: str) -> int | None:
    """Write the next products to the index and return their number; None if all are there."""
    most = settings.batch_documents
    with transaction(database, isolation="REPEATABLE READ") as session:
        built = session.get_one(GenerationRow, name)
        if built.is_filled:
            return None
        after = ProductRow.id > built.after_product_id
        wanted = select(ProductRow.id).where(ProductRow.is_deleted.is_(False), after)
        ids = list(session.scalars(wanted.order_by(ProductRow.id).limit(most)))
        documents = documents_of(session, ids)
        fields = fields_of(built.body)
    write_all(
        engine, [Write(index=name, id=d.id, version=d.version, document=d.body, fields=fields) for d in documents]
    )
    with transaction(database) as session:
        built = session.get_one(GenerationRow, name)
        if ids:
            built.after_product_id = ids[-1]
        built.is_filled = len(ids) < most
    return len(ids)
