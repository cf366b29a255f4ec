"""Say how many events are not applied, how many documents are not indexed, and which indexes there are."""

import argparse
import sys
from datetime import UTC, datetime

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition
from sqlalchemy import Engine as Database
from sqlalchemy import func, select

from search_service.consume import ANSWER_S, clients_of, unavailable
from search_service.database import connect, transaction
from search_service.engine import Engine, EngineError
from search_service.events import TYPES
from search_service.model import FanOutRow, GenerationRow, OffsetRow, WorkRow
from search_service.settings import Settings


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """An index."""

    name: str
    state: str
    shards: int
    documents: int | None
    """Searchable documents, tombstones not counted; None if the engine has no such index."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far everything has come."""

    lag_events: int
    """Events in Kafka that are not applied."""
    dead_letters: int
    fan_outs: int
    """Suppliers and categories whose products are not all marked."""
    index_work: int
    """Documents that are not indexed."""
    oldest_work_s: float | None
    """Age of the oldest change that is not indexed."""
    generations: tuple[Generation, ...]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the status."""
    status = status_of(settings)
    if arguments.json:
        sys.stdout.write(msgspec.json.encode(status).decode() + "\n")
        return 0
    age = "" if status.oldest_work_s is None else f", the oldest for {status.oldest_work_s:.1f} s"
    lines = [
        f"events not applied:     {status.lag_events}",
        f"dead letters:           {status.dead_letters}",
        f"changes to spread:      {status.fan_outs}",
        f"documents not indexed:  {status.index_work}{age}",
    ]
    for one in status.generations:
        count = "not in the engine" if one.documents is None else f"{one.documents} documents"
        lines.append(f"index {one.name}: {one.state}, {one.shards} shards, {count}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def status_of(settings: Settings) -> Status:
    """
    Return the status.

    Raises:
        UnavailableError: a server does not answer.
    """
    database = connect(settings.database_url, size=1)
    try:
        # In the order in which a change travels, so that nothing is between what was counted and what is counted next.
        lag, dead = _lag(settings, database)
        with transaction(database, isolation="REPEATABLE READ") as session:
            work, oldest = session.execute(select(func.count(), func.min(WorkRow.since))).one()
            fan_outs = session.scalar(select(func.count()).select_from(FanOutRow)) or 0
            rows = session.scalars(select(GenerationRow).order_by(GenerationRow.name)).all()
            generations = [(row.name, row.state, row.shards) for row in rows]
    finally:
        database.dispose()
    with Engine(settings.engine_url) as engine:
        found = tuple(
            Generation(name=name, state=state, shards=shards, documents=_documents(engine, name))
            for name, state, shards in generations
        )
    age = None if oldest is None else (datetime.now(UTC) - oldest).total_seconds()
    return Status(
        lag_events=lag, dead_letters=dead, fan_outs=fan_outs, index_work=work, oldest_work_s=age, generations=found
    )


def _documents(engine: Engine, name: str) -> int | None:
    try:
        return engine.count(name, {"term": {"is_deleted": False}})
    except EngineError as error:
        if error.status != 404:
            raise
        return None


def _lag(settings: Settings, database: Database) -> tuple[int, int]:
    """Return the events that are not applied, and the dead letters."""
    with transaction(database) as session:
        ledger = {(r.topic, r.partition): r.next_offset for r in session.scalars(select(OffsetRow))}
    consumer = Consumer({**clients_of(settings), "group.id": f"{settings.group}-status"})
    try:
        topics = consumer.list_topics(timeout=ANSWER_S).topics
        lag = dead = 0
        for name in (*(settings.topic(t) for t in TYPES), settings.dead_letter_topic):
            for partition in topics[name].partitions if name in topics else ():
                where = TopicPartition(name, partition)
                low, high = consumer.get_watermark_offsets(where, timeout=ANSWER_S)
                if name == settings.dead_letter_topic:
                    dead += high - low
                else:
                    lag += max(0, high - max(low, ledger.get((name, partition), 0)))
    except KafkaException as error:
        raise unavailable(settings, error) from None
    finally:
        consumer.close()
    return lag, dead
