"""Write made-up events to Kafka: first version 1 of every entity, then changes at a rate. Each second is a JSON line."""

import argparse
import sys
import time

import msgspec
from confluent_kafka import Producer

from search_service.consume import producer_of
from search_service.errors import ServiceError, UnavailableError
from search_service.load import Load, Outgoing, now
from search_service.settings import Settings

FLUSH_S = 60.0
QUEUE_S = 30.0
"""A queue of messages that stays full for this long means that no broker takes them."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--products", type=int, default=2000, metavar="N", help="products (2000)")
    parser.add_argument(
        "--rate", type=float, default=100.0, metavar="N", help="events a second (100)"
    )
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="duration (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all choices (1)")
    parser.add_argument(
        "--text-kb", type=int, default=10, metavar="N", help="length of an asset's text (10)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed-only", action="store_true", help="write version 1 only")
    which.add_argument("--no-seed", action="store_true", help="write changes only")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write, and say each second how much was written and how much was asked for."""
    for name, least, most in (("products", 1, 10**7), ("text_kb", 0, 1000)):
        if not least <= getattr(arguments, name) <= most:
            option = name.replace("_", "-")
            raise ServiceError(f"--{option} must be from {least} to {most}")
    if not (0 < arguments.rate <= 1e6 and 0 < arguments.seconds <= 1e7):
        raise ServiceError("--rate and --seconds must be above 0")
    load = Load(products=arguments.products, seed=arguments.seed, text_kb=arguments.text_kb)
    sender = _Sender(settings)
    if not arguments.no_seed:
        for message in load.catalog(now()):
            sender.send(message)
        sender.flush()
        _print({"seeded": sender.sent})
    if not arguments.seed_only:
        _at_rate(load, sender, arguments.rate, arguments.seconds)
    return 0


def _at_rate(load: Load, sender: "_Sender", rate: float, seconds: float) -> None:
    """Send each event at its moment, whatever became of those before (an open loop)."""
    began, before = time.monotonic(), sender.sent
    second = 0
    for number in range(round(rate * seconds)):
        while (due := began + number / rate) > time.monotonic():
            time.sleep(min(0.01, max(0.0, due - time.monotonic())))
        sender.send(load.next(now()))
        while time.monotonic() - began >= second + 1:
            second += 1
            asked = round(rate * second)
            _print({"second": second, "sent": sender.sent - before, "asked": asked})
    sender.flush()
    _print({"done": sender.sent - before, "asked": round(rate * seconds)})


class _Sender:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Producer = producer_of(settings)
        self._failure = ""
        self.sent = 0

    def send(self, message: Outgoing) -> None:
        end = time.monotonic() + QUEUE_S
        while True:
            try:
                self._producer.produce(
                    self._settings.topic(message.type),
                    key=message.key,
                    value=message.value,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
                self._check(is_stuck=time.monotonic() > end)
        self.sent += 1
        self._producer.poll(0)
        self._check(is_stuck=False)

    def flush(self) -> None:
        self._check(is_stuck=self._producer.flush(FLUSH_S) > 0)

    def _check(self, *, is_stuck: bool) -> None:
        if self._failure or is_stuck:
            raise UnavailableError(
                f"Kafka at {self._settings.kafka} does not take events: "
                f"{self._failure or 'no answer'}",
                "Start it, set SEARCH_KAFKA, or create the topics: search-service setup.",
            )

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self._failure = str(error)


def _print(line: dict[str, int]) -> None:
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()
