"""
Build a new index beside the live one, with other shards or another mapping, while searches and changes go on.

Rule 1: from the moment an index is `building`, the indexers write every change to it too. So what is filled in from
        the copy afterwards is never older than what they missed, and an older version is refused by the engine.
Rule 2: filling in keeps its place in the database; after a crash it goes on there.
Rule 3: the alias moves first and the state in the database afterwards: until then both indexes are written, so
        searches are right whichever of them the alias stands for.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import Engine as Database
from sqlalchemy import func, select, text

from search_service.admin.verify import Comparison, compare
from search_service.database import connection_to, transaction
from search_service.engine import Engine, EngineError, Write
from search_service.errors import ServiceError, UnavailableError
from search_service.generations import (
    BUILDING,
    LIVE,
    PLANNED,
    RETIRED,
    live_of,
    lock,
    new_generation,
)
from search_service.index_work import documents_of
from search_service.mapping import index_body
from search_service.model import GenerationRow, ProductRow
from search_service.settings import Settings

PATIENCE_S = 60.0
"""For so long an engine that is busy or away is asked again."""
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
            raise ServiceError(
                "another admin command is running on this service", "Wait until it has ended."
            )
        # The lock belongs to the connection, not to a transaction.
        connection.commit()
        try:
            yield
        finally:
            connection.invalidate()


def rebuild(
    database: Database, engine: Engine, settings: Settings, shards: int, report: Report
) -> tuple[str, Comparison]:
    """
    Build an index, or go on with the one that was begun, and make it the live one.

    Args:
        database: the copy; the caller is `alone`.
        engine: where the indexes are.
        settings: the service's.
        shards: of the new index.
        report: called after each page.

    Returns:
        The name of the new index, and its comparison with the copy before it went live.

    Raises:
        ServiceError: an index with other shards is being built, or documents are missing in the new one.
        UnavailableError: a server does not answer; the same command goes on where it was.
    """
    name = _begin(database, engine, settings, shards)
    while (progress := _fill_page(database, engine, settings, name)) is not None:
        report(progress)
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


def _begin(database: Database, engine: Engine, settings: Settings, shards: int) -> str:
    """Return the name of the index that is built; it exists and is written from now on."""
    with transaction(database) as session:
        lock(session)
        begun = session.scalars(
            select(GenerationRow).where(GenerationRow.state.in_((PLANNED, BUILDING)))
        ).first()
        if begun is None:
            begun = new_generation(session, engine, settings, PLANNED, shards)
        if begun.shards != shards:
            raise ServiceError(
                f"{begun.name} is being built with {begun.shards} shards, not {shards}",
                f"Give --shards {begun.shards} to go on, or: search-service admin drop {begun.name}.",
            )
        name = begun.name
    engine.create_index(name, index_body(shards=shards))
    with transaction(database) as session:
        session.get_one(GenerationRow, name).state = BUILDING
    return name


def _fill_page(
    database: Database, engine: Engine, settings: Settings, name: str
) -> Progress | None:
    """Write the next products to the index; return None if all are there."""
    most = settings.batch_documents
    with transaction(database, isolation="REPEATABLE READ") as session:
        built = session.get_one(GenerationRow, name)
        if built.is_filled:
            return None
        kept = ProductRow.is_deleted.is_(False)
        after = ProductRow.id > built.after_product_id
        ids = list(
            session.scalars(
                select(ProductRow.id).where(kept, after).order_by(ProductRow.id).limit(most)
            )
        )
        documents = documents_of(session, ids)
        count = select(func.count()).select_from(ProductRow).where(kept)
        products = session.scalar(count) or 0
        filled = products - (session.scalar(count.where(after)) or 0) + len(ids)
    _write(
        engine, [Write(index=name, id=d.id, version=d.version, document=d.body) for d in documents]
    )
    with transaction(database) as session:
        built = session.get_one(GenerationRow, name)
        if ids:
            built.after_product_id = ids[-1]
        built.is_filled = len(ids) < most
    return Progress(index=name, filled=filled, products=products)


def _write(engine: Engine, writes: list[Write]) -> None:
    """Write documents until the engine has all of them; a busy engine gets smaller requests, later."""
    end, size, wait = time.monotonic() + PATIENCE_S, max(1, len(writes)), 0.2
    while writes:
        try:
            outcomes = engine.bulk(writes[:size])
        except (EngineError, UnavailableError) as error:
            if isinstance(error, EngineError) and not error.is_busy and error.status != 413:
                raise ServiceError(str(error)) from None
            reason, left = str(error), writes
        else:
            refused = [o for o in outcomes if not (o.is_done or o.is_busy)]
            if refused:
                raise ServiceError(
                    f"the search engine refused product {refused[0].write.id}: {refused[0].reason}"
                )
            reason = "it asks for fewer writes"
            left = [o.write for o in outcomes if not o.is_done] + writes[size:]
        if len(left) < len(writes):
            end, wait = time.monotonic() + PATIENCE_S, 0.2
        else:
            if time.monotonic() > end:
                raise UnavailableError(
                    f"the search engine did not take documents for {PATIENCE_S:.0f} s: {reason}",
                    "Run the command again; it goes on where it was.",
                )
            time.sleep(wait)
            wait, size = min(5.0, 2 * wait), max(1, size // 2)
        writes = left
