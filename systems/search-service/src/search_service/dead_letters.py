"""
Events that can never be applied, in a topic of their own with the reason.

A dead letter has the key and value of the message as they were. Its headers say why it is here and where it was.
A dead letter is acknowledged by the broker before the ledger moves past the event, so none is lost. If the indexer
dies in between, the same event is written again: its topic, partition and offset tell the two apart from others.
"""

from confluent_kafka import KafkaException, Message, Producer

from search_service.errors import UnavailableError

FLUSH_S = 30.0


class DeadLetters:
    """Writes dead letters and waits until the broker has them."""

    def __init__(self, producer: Producer, topic: str) -> None:
        """Keep the producer, which must ask for acknowledgements of all replicas."""
        self._producer = producer
        self._topic = topic
        self._failures: list[str] = []

    def put(self, message: Message, reason: str) -> None:
        """Begin to write a message as a dead letter."""
        headers: list[tuple[str, str | bytes | None]] = [
            ("reason", reason.encode()),
            ("topic", str(message.topic()).encode()),
            ("partition", str(message.partition()).encode()),
            ("offset", str(message.offset()).encode()),
        ]
        try:
            self._producer.produce(
                self._topic, key=message.key(), value=message.value(), headers=headers, on_delivery=self._delivered
            )
        except (BufferError, KafkaException) as error:
            raise UnavailableError(f"Kafka does not take a dead letter: {error}") from None

    def flush(self) -> None:
        """
        Return when the broker has all of them.

        Raises:
            UnavailableError: it did not acknowledge them in time; the events must be read again.
        """
        left = self._producer.flush(FLUSH_S)
        failures, self._failures = self._failures, []
        if left or failures:
            why = failures[0] if failures else f"no answer within {FLUSH_S:.0f} s"
            raise UnavailableError(f"Kafka does not take a dead letter: {why}")

    def _delivered(self, error: object, _message: Message) -> None:
        if error is not None:
            self._failures.append(str(error))
