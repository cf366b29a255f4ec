"""
Read events from Kafka and apply them, from where the ledger in the database says.

Rule 1: the ledger is the truth. Offsets that Kafka keeps for the group only show the lag to Kafka's own tools.
Rule 2: a partition is read from the ledger's offset, and the position is never moved afterwards. A seek can be undone
        by an answer that was on its way (seen with librdkafka when a broker came back), and then events are skipped.
Rule 3: a batch that could not be applied is kept and applied later; nothing is read before.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec
from confluent_kafka import (
    OFFSET_END,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine

from search_service.apply import Applied, Position, apply, next_offset
from search_service.dead_letters import DeadLetters
from search_service.errors import ServiceError, UnavailableError
from search_service.events import TYPES, BadEventError, Event, decode
from search_service.settings import Settings

POLL_S = 0.2
ANSWER_S = 10.0
LEDGER_S = 0.5
"""Pause before a database that is away is asked for the ledger again."""
MESSAGE_MOST = 8 * 2**20
"""Bytes of a message: an asset's text of a million characters, each up to four bytes, and JSON around it."""


class Consumed(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of reading did."""

    read: int = 0
    changed: int = 0
    ignored: int = 0
    dead: int = 0
    changed_by_type: dict[str, int] = {}
    """By name of a type, the events that changed the copy."""


def clients_of(settings: Settings) -> dict[str, str | int | float | bool]:
    """Return the settings that every client of Kafka shares."""
    return {
        "bootstrap.servers": settings.kafka,
        "socket.connection.setup.timeout.ms": 5000,
        "reconnect.backoff.max.ms": 2000,
        "log_level": 2,
    }


def producer_of(settings: Settings) -> Producer:
    """Return a producer that loses and doubles nothing while it lives."""
    return Producer(
        {
            **clients_of(settings),
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 5,
            "message.max.bytes": MESSAGE_MOST,
        }
    )


def create_topics(settings: Settings) -> None:
    """
    Create the topics that do not exist: a compacted one for each type of entity, and one for dead letters.

    Raises:
        UnavailableError: no broker answers, or it refuses.
    """
    admin = AdminClient(clients_of(settings))
    size = {"max.message.bytes": str(MESSAGE_MOST)}
    wanted = [
        NewTopic(
            settings.topic(name), settings.partitions, config={**size, "cleanup.policy": "compact"}
        )
        for name in TYPES
    ]
    wanted.append(NewTopic(settings.dead_letter_topic, 1, config=size))
    try:
        there = admin.list_topics(timeout=ANSWER_S).topics
        missing = [topic for topic in wanted if topic.topic not in there]
        if missing:
            for made in admin.create_topics(missing, request_timeout=ANSWER_S).values():
                made.result()
    except KafkaException as error:
        if "TOPIC_ALREADY_EXISTS" not in str(error):
            raise unavailable(settings, error) from None


class EventReader:
    """One member of the consumer group; use it in a `with` block."""

    def __init__(
        self,
        settings: Settings,
        database: Engine,
        dead_letters: DeadLetters,
        stop: threading.Event,
    ) -> None:
        """Keep what is needed; nothing is read yet. Once `stop` is set, no server is waited for."""
        self._settings = settings
        self._stop = stop
        self._database = database
        self._dead_letters = dead_letters
        self._types = {settings.topic(name): name for name in TYPES}
        self._expected: dict[tuple[str, int], int] = {}
        """By topic and partition, the offset from which the next batch is to be applied."""
        self._pending: dict[tuple[str, int], list[Message]] = {}
        """By topic and partition, what was read and is not applied yet."""
        self._consumer = Consumer(
            {
                **clients_of(settings),
                "group.id": settings.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": 10_000,
                "fetch.message.max.bytes": MESSAGE_MOST,
                "queued.max.messages.kbytes": 65_536,
            }
        )

    def __enter__(self) -> Self:
        """Join the group."""
        self._consumer.subscribe(
            list(self._types), on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone
        )
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the group."""
        self._consumer.close()

    def step(self) -> Consumed:
        """
        Read what has come and apply it.

        Raises:
            UnavailableError: the database or Kafka does not answer; what was read is kept.
            ServiceError: the database is an earlier one than the one that was read for.
        """
        try:
            if not self._pending:
                for message in self._consumer.consume(self._settings.batch_events, POLL_S):
                    key = (str(message.topic()), int(message.partition() or 0))
                    if message.error() is None and key in self._expected:
                        self._pending.setdefault(key, []).append(message)
            total = Consumed()
            for key in tuple(self._pending):
                total = _sum(total, self._apply(key))
                del self._pending[key]
        except KafkaException as error:
            raise unavailable(self._settings, error) from None
        return total

    def lag(self) -> Mapping[str, int]:
        """Return, for each partition of this member, the number of events that are not applied."""
        lags = {}
        for (topic, partition), expected in self._expected.items():
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), cached=True
            )
            if high >= 0:
                lags[f"{topic}/{partition}"] = max(0, high - max(expected, low))
        return lags

    def _apply(self, key: tuple[str, int]) -> Consumed:
        """Apply what is pending of a partition."""
        read = len(self._pending[key])
        while batch := [m for m in self._pending[key] if _offset(m) >= self._expected[key]]:
            applied, dead = self._apply_batch(key, batch)
            if applied.is_ours:
                self._expected[key] = after = _offset(batch[-1]) + 1
                # A hint only: that it is not taken is no error.
                with contextlib.suppress(KafkaException):
                    where = [TopicPartition(*key, after)]
                    self._consumer.commit(offsets=where, asynchronous=True)
                return Consumed(
                    read=read,
                    changed=applied.changed,
                    ignored=applied.ignored,
                    dead=dead,
                    changed_by_type={self._types[key[0]]: applied.changed},
                )
            # The indexer that had the partition before has applied more since we asked.
            offset = next_offset(self._database, *key)
            if offset < self._expected[key]:
                raise ServiceError(
                    f"the database has applied less of {key[0]} than before: it is another one, or restored",
                    "Start the indexer again; it reads from where this database is.",
                )
            self._expected[key] = offset
        return Consumed(read=read)

    def _apply_batch(self, key: tuple[str, int], batch: Sequence[Message]) -> tuple[Applied, int]:
        """Apply a batch of a partition; return what that did, and the number of dead letters."""
        topic, partition = key
        events: list[Event] = []
        for message in batch:
            try:
                events.append(
                    decode(message.value(), topic_type=self._types[topic], key=message.key())
                )
            except BadEventError as error:
                self._dead_letters.put(message, str(error))
        dead = len(batch) - len(events)
        if dead:
            self._dead_letters.flush()
        place = Position(
            topic=topic,
            partition=partition,
            expected=self._expected[key],
            next=_offset(batch[-1]) + 1,
        )
        is_tracking = self._settings.dirty_tracking == "on"
        return apply(self._database, place, events, is_dirty_tracking=is_tracking), dead

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            offset = self._ledger(one)
            if offset is None:
                # We are leaving: what is read from here is not applied.
                one.offset = OFFSET_END
            else:
                one.offset = self._expected[one.topic, one.partition] = offset
        consumer.incremental_assign(partitions)

    def _ledger(self, place: TopicPartition) -> int | None:
        """Return the ledger's offset, however long the database is away; None once we are to stop."""
        while not self._stop.is_set():
            try:
                return next_offset(self._database, place.topic, place.partition)
            except UnavailableError:
                self._stop.wait(LEDGER_S)
        return None

    def _gone(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._expected.pop((one.topic, one.partition), None)
            self._pending.pop((one.topic, one.partition), None)


def _offset(message: Message) -> int:
    return int(message.offset() or 0)


def _sum(first: Consumed, second: Consumed) -> Consumed:
    return Consumed(
        read=first.read + second.read,
        changed=first.changed + second.changed,
        ignored=first.ignored + second.ignored,
        dead=first.dead + second.dead,
        changed_by_type=dict(Counter(first.changed_by_type) + Counter(second.changed_by_type)),
    )


def unavailable(settings: Settings, error: KafkaException) -> UnavailableError:
    """Return the error that says so of Kafka."""
    return UnavailableError(
        f"Kafka at {settings.kafka} does not answer: {error.args[0].str()}",
        "Start it, or set SEARCH_KAFKA to the addresses of brokers that run.",
    )
