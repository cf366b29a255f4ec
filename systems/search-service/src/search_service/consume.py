"""
Read events from Kafka and apply them, from where the ledger in the database says.

Rule 1: the ledger is the truth. Offsets that Kafka keeps for the group only show the lag to Kafka's own tools.
Rule 2: a partition is read from the ledger's offset, and the position is never moved afterwards. A seek can be undone
        by an answer that was on its way (seen with librdkafka when a broker came back), and then events are skipped.
Rule 3: a batch that could not be applied is kept and applied later; nothing is read before.
Rule 4: an event that the database refuses is applied alone, and becomes a dead letter with the database's reason.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine

from search_service.apply import Applied, Position, apply, next_offset
from search_service.dead_letters import DeadLetters
from search_service.errors import RefusedError, ServiceError, UnavailableError
from search_service.events import TYPES, BadEventError, Event, decode
from search_service.phases import APPLY, DECODE, POLL, Phases
from search_service.settings import Settings

POLL_S = 0.2
ANSWER_S = 10.0
CHECK_S = 2.0
"""A broker of which a client heard nothing good has this time to answer."""
LEDGER_S = 0.5
"""Pause before a database that is away is asked for the ledger again."""
MESSAGE_MOST = 8 * 2**20
"""Bytes of a message: an asset's text of a million characters, each up to four bytes, and JSON around it."""
KEPT_MS = 30 * 24 * 3600 * 1000
"""Dead letters are kept for a month, for somebody has to look at them."""
UNCOMPACTED_MS = 24 * 3600 * 1000
"""Events of the last day are not compacted: an older version that was written late replaces the newest one then."""


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
    compact = {**size, "cleanup.policy": "compact", "min.compaction.lag.ms": str(UNCOMPACTED_MS)}
    kept = {**size, "retention.ms": str(KEPT_MS)}
    wanted = [NewTopic(settings.topic(name), settings.partitions, config=compact) for name in TYPES]
    wanted.append(NewTopic(settings.dead_letter_topic, 1, config=kept))
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
        phases: Phases | None = None,
    ) -> None:
        """Keep what is needed; nothing is read yet. Once `stop` is set, no server is waited for."""
        self._timed = (phases or Phases()).timed
        self._is_doubted = False
        """Whether a broker is to be asked before we believe that there is nothing to read."""
        self._settings = settings
        self._stop = stop
        self._database = database
        self._dead_letters = dead_letters
        self._types = {settings.topic(name): name for name in TYPES}
        self._expected: dict[tuple[str, int], int] = {}
        """By topic and partition, the offset from which the next batch is to be applied."""
        self._begun: dict[tuple[str, int], int] = {}
        """By topic and partition, the offset from which it is read."""
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
                "error_cb": self._failed,
            }
        )

    def __enter__(self) -> Self:
        """Join the group."""
        self._consumer.subscribe(list(self._types), on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone)
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the group."""
        self._consumer.close()

    def step(self) -> Consumed:
        """
        Read what has come and apply it.

        Raises:
            UnavailableError: the database or Kafka does not answer; what was read is kept.
            ServiceError: database and topic do not belong together: one was restored or made anew.
        """
        try:
            if not self._pending:
                self._read()
            if self._is_doubted:
                self._ask_broker()
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
            low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            if high >= 0:
                lags[f"{topic}/{partition}"] = max(0, high - max(expected, low))
        return lags

    def _read(self) -> None:
        """Wait for events, and keep them by partition."""
        with self._timed(POLL):
            messages = self._consumer.consume(self._settings.batch_events, POLL_S)
        for message in messages:
            key = (str(message.topic()), int(message.partition() or 0))
            if message.error() is not None:
                self._is_doubted = True
            elif key in self._expected:
                if _offset(message) < self._begun[key]:
                    # Kafka begins at its first event if it does not have the one that we asked for.
                    raise ServiceError(
                        f"{key[0]} has fewer events than the database has applied: it is another topic, or lost some",
                        "Use the topics of this database, or a new database, which reads them from the beginning.",
                    )
                self._pending.setdefault(key, []).append(message)

    def _ask_broker(self) -> None:
        """
        Find out whether the brokers answer and have our topics.

        Raises:
            UnavailableError: they do not.
        """
        there = self._consumer.list_topics(timeout=CHECK_S).topics
        for topic in self._types:
            if topic not in there or there[topic].error is not None:
                raise UnavailableError(
                    f"Kafka at {self._settings.kafka} does not have the topic {topic}", "Run: search-service setup."
                )
        self._is_doubted = False

    def _failed(self, _error: KafkaError) -> None:
        self._is_doubted = True

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
        events: list[Event] = []
        with self._timed(DECODE):
            for message in batch:
                try:
                    events.append(decode(message.value(), topic_type=self._types[key[0]], key=message.key()))
                except BadEventError as error:
                    self._dead_letters.put(message, str(error))
        dead = len(batch) - len(events)
        if dead:
            self._dead_letters.flush()
        try:
            return self._commit(key, self._expected[key], batch, events), dead
        except RefusedError:
            return self._apply_singly(key, batch, dead)

    def _apply_singly(self, key: tuple[str, int], batch: Sequence[Message], dead: int) -> tuple[Applied, int]:
        """Apply a batch event by event; those that the database refuses become dead letters."""
        changed = ignored = 0
        expected = self._expected[key]
        for message in batch:
            try:
                event = decode(message.value(), topic_type=self._types[key[0]], key=message.key())
                applied = self._commit(key, expected, [message], [event])
            except BadEventError:
                # It is a dead letter already.
                applied = self._commit(key, expected, [message], [])
            except RefusedError as error:
                self._dead_letters.put(message, error.sentence)
                self._dead_letters.flush()
                dead += 1
                applied = self._commit(key, expected, [message], [])
            if not applied.is_ours:
                return applied, dead
            expected = _offset(message) + 1
            changed, ignored = changed + applied.changed, ignored + applied.ignored
        return Applied(is_ours=True, changed=changed, ignored=ignored), dead

    def _commit(
        self, key: tuple[str, int], expected: int, batch: Sequence[Message], events: Sequence[Event]
    ) -> Applied:
        place = Position(topic=key[0], partition=key[1], expected=expected, next=_offset(batch[-1]) + 1)
        is_tracking = self._settings.dirty_tracking == "on"
        with self._timed(APPLY):
            return apply(self._database, place, events, is_dirty_tracking=is_tracking)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            offset = self._ledger(one)
            if offset is None:
                # We are leaving: what is read from here is not applied.
                one.offset = OFFSET_END
            else:
                key = (one.topic, one.partition)
                one.offset = self._expected[key] = self._begun[key] = offset
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
