"""
Read events from Kafka and apply them, from where the ledger in the database says.

Rule 1: the ledger is the truth. Offsets that Kafka keeps for the group only show the lag to Kafka's own tools.
Rule 2: a batch that could not be applied is read again from the ledger; nothing is skipped.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine

from search_service.apply import Applied, Position, apply, next_offset
from search_service.dead_letters import DeadLetters
from search_service.errors import UnavailableError
from search_service.events import TYPES, BadEventError, Event, decode
from search_service.settings import Settings

POLL_S = 0.2
ANSWER_S = 10.0
MESSAGE_MOST = 8 * 2**20
"""Bytes of a message: an asset's text of a million characters, each up to four bytes, and JSON around it."""


class Consumed(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of reading did."""

    read: int = 0
    changed: int = 0
    ignored: int = 0
    dead: int = 0


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
            raise _unavailable(settings, error) from None


class EventReader:
    """One member of the consumer group; use it in a `with` block."""

    def __init__(self, settings: Settings, database: Engine, dead_letters: DeadLetters) -> None:
        """Keep what is needed; nothing is read yet."""
        self._settings = settings
        self._database = database
        self._dead_letters = dead_letters
        self._types = {settings.topic(name): name for name in TYPES}
        self._expected: dict[tuple[str, int], int] = {}
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
            UnavailableError: the database or Kafka does not answer; what was read is read again.
        """
        messages = self._consumer.consume(self._settings.batch_events, POLL_S)
        by_partition: dict[tuple[str, int], list[Message]] = {}
        for message in messages:
            if message.error() is None:
                key = (str(message.topic()), int(message.partition() or 0))
                by_partition.setdefault(key, []).append(message)
        total = Consumed()
        try:
            for key, batch in by_partition.items():
                if key in self._expected:
                    total = _sum(total, self._apply(key, batch))
        except UnavailableError:
            self._read_again(by_partition)
            raise
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

    def _apply(self, key: tuple[str, int], batch: Sequence[Message]) -> Consumed:
        topic, partition = key
        events: list[Event] = []
        dead = 0
        for message in batch:
            try:
                events.append(
                    decode(message.value(), topic_type=self._types[topic], key=message.key())
                )
            except BadEventError as error:
                self._dead_letters.put(message, str(error))
                dead += 1
        if dead:
            self._dead_letters.flush()
        after = int(batch[-1].offset() or 0) + 1
        place = Position(topic=topic, partition=partition, expected=self._expected[key], next=after)
        is_tracking = self._settings.dirty_tracking == "on"
        applied: Applied = apply(self._database, place, events, is_dirty_tracking=is_tracking)
        if not applied.is_ours:
            self._read_again({key: batch})
            return Consumed(read=len(batch))
        self._expected[key] = after
        self._consumer.commit(offsets=[TopicPartition(topic, partition, after)], asynchronous=True)
        return Consumed(
            read=len(batch), changed=applied.changed, ignored=applied.ignored, dead=dead
        )

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            one.offset = self._from_ledger(one.topic, one.partition)
        consumer.incremental_assign(partitions)

    def _gone(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._expected.pop((one.topic, one.partition), None)

    def _read_again(self, keys: Mapping[tuple[str, int], object]) -> None:
        for topic, partition in keys:
            if (topic, partition) in self._expected:
                offset = self._from_ledger(topic, partition)
                self._consumer.seek(TopicPartition(topic, partition, offset))

    def _from_ledger(self, topic: str, partition: int) -> int:
        offset = next_offset(self._database, topic, partition)
        self._expected[topic, partition] = offset
        return offset


def _sum(first: Consumed, second: Consumed) -> Consumed:
    return Consumed(
        read=first.read + second.read,
        changed=first.changed + second.changed,
        ignored=first.ignored + second.ignored,
        dead=first.dead + second.dead,
    )


def _unavailable(settings: Settings, error: KafkaException) -> UnavailableError:
    return UnavailableError(
        f"Kafka at {settings.kafka} does not answer: {error.args[0].str()}",
        "Start it, or set SEARCH_KAFKA to the addresses of brokers that run.",
    )
