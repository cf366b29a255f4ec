"""
The generations of the index: which there are, and which one is live.

Rule 1: the table in the database is the truth; the alias in the engine follows it.
Rule 2: a new copy never writes to an index that an earlier copy has written: its versions begin again at 1.
"""

from sqlalchemy import Engine as Database
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from search_service.database import transaction
from search_service.engine import Engine
from search_service.mapping import Body, index_body
from search_service.model import GenerationRow
from search_service.settings import Settings

PLANNED, BUILDING, LIVE, RETIRED = "planned", "building", "live", "retired"
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('search-service generations'))"


def ensure_live(database: Database, engine: Engine, settings: Settings) -> str:
    """
    Make sure that there is a live index and that the alias stands for it; return its name.

    Raises:
        UnavailableError: the database or the engine does not answer; it can be done again.
    """
    with transaction(database) as session:
        lock(session)
        live = live_of(session)
        if live is None:
            body = index_body(shards=settings.shards)
            live = new_generation(session, engine, settings, LIVE, body)
        engine.create_index(live.name, live.body)
        engine.point_alias(settings.alias, live.name)
        return live.name


def live_of(session: Session) -> GenerationRow | None:
    """Return the live generation."""
    return session.scalars(select(GenerationRow).where(GenerationRow.state == LIVE)).first()


def new_generation(session: Session, engine: Engine, settings: Settings, state: str, body: Body) -> GenerationRow:
    """Add a generation whose name neither the database nor the engine has; the index is not created yet."""
    number = 1 + max((_number_of(name) for name in session.scalars(select(GenerationRow.name))), default=0)
    while engine.exists(name_of(settings, number)):
        number += 1
    shards = body["settings"]["number_of_shards"]
    row = GenerationRow(name=name_of(settings, number), state=state, shards=shards, body=body)
    session.add(row)
    session.flush()
    return row


def name_of(settings: Settings, number: int) -> str:
    """Return the name of a generation's index, for example `catalog-000001`."""
    return f"{settings.prefix}-{number:06d}"


def lock(session: Session) -> None:
    """Let no other command change the generations until the end of the transaction."""
    session.execute(text(_LOCK))


def _number_of(name: str) -> int:
    return int(name.rpartition("-")[2])
