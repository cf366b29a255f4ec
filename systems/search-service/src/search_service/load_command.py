"""Write made-up events to Kafka: first version 1 of every entity, then changes at a rate. Each second is a JSON line."""

import argparse
import queue
import sys
import threading
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
from confluent_kafka import Producer
from msgspec import Meta
from sqlalchemy import insert

from search_service.consume import producer_of
from search_service.database import connect, transaction
from search_service.errors import ServiceError, UnavailableError
from search_service.load import KINDS, Load, Outgoing, now
from search_service.model import AssetRow, digest_of
from search_service.settings import Settings

FLUSH_S = 60.0
QUEUE_S = 30.0
"""A queue of messages that stays full for this long means that no broker takes them."""
RESTORE_ROWS = 500
"""Rows of one INSERT: five megabytes of texts."""


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of standard input with `--follow`; what it leaves out stays as it is."""

    rate: Annotated[float, Meta(ge=0, le=1e6)] | None = None
    """Events a second from now on; 0 for none."""
    kind: str | None = None
    """Kind of the events that `count` asks for."""
    count: Annotated[int, Meta(ge=0, le=10**6)] = 0
    """So many events of that kind at once."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--products", type=int, default=2000, metavar="N", help="products (2000)")
    parser.add_argument(
        "--archive",
        type=int,
        default=0,
        metavar="N",
        help="further assets, of products that are sold no more: they change but are not searched (0)",
    )
    parser.add_argument("--rate", type=float, default=100.0, metavar="N", help="events a second (100)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="duration (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all choices (1)")
    parser.add_argument("--text-kb", type=int, default=10, metavar="N", help="length of an asset's text (10)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed-only", action="store_true", help="write version 1 only")
    which.add_argument("--no-seed", action="store_true", help="write changes only")
    which.add_argument(
        "--restore-archive",
        action="store_true",
        help="write the archive into the database, as a restored backup has it, and no events",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="take orders from standard input until it ends, a JSON object a line: "
        '{"rate": 40}, {"kind": "asset text", "count": 300}',
    )


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write, and say each second how much was written and how much was asked for."""
    _check(arguments)
    load = Load(products=arguments.products, seed=arguments.seed, text_kb=arguments.text_kb, archive=arguments.archive)
    if arguments.restore_archive:
        _print({"restored": _restore(load, settings)})
        return 0
    sender = _Sender(settings)
    if not arguments.no_seed:
        for message in load.catalog(now()):
            sender.send(message)
        sender.flush()
        _print({"seeded": sender.sent})
    if arguments.follow:
        _follow(load, sender)
    elif not arguments.seed_only:
        _at_rate(load, sender, arguments.rate, arguments.seconds)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for name, least, most in (("products", 1, 10**7), ("archive", 0, 10**8), ("text_kb", 0, 1000)):
        if not least <= getattr(arguments, name) <= most:
            option = name.replace("_", "-")
            raise ServiceError(f"--{option} must be from {least} to {most}")
    if not (0 < arguments.rate <= 1e6 and 0 < arguments.seconds <= 1e7):
        raise ServiceError("--rate and --seconds must be above 0")


def _restore(load: Load, settings: Settings) -> int:
    """Insert the archive into the copy; what is there stays."""
    database = connect(settings.database_url, size=1)
    count = 0
    try:
        with transaction(database) as session:
            for page in _pages(load):
                session.execute(insert(AssetRow), page)
                count += len(page)
    finally:
        database.dispose()
    return count


def _pages(load: Load) -> Iterator[list[dict[str, object]]]:
    page: list[dict[str, object]] = []
    at = now()
    for asset in load.archive():
        fields = msgspec.structs.asdict(asset)
        known = {"version": 1, "is_deleted": False, "at": at, "text_digest": digest_of(asset.text)}
        page.append({**fields, **known})
        if len(page) == RESTORE_ROWS:
            yield page
            page = []
    if page:
        yield page


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


def _follow(load: Load, sender: "_Sender") -> None:
    """Send events as standard input orders, each at its moment, until it ends."""
    orders: queue.Queue[Order | ServiceError | None] = queue.Queue()
    threading.Thread(target=_read_orders, args=(orders,), daemon=True).start()
    rate, due, before, second = 0.0, time.monotonic(), sender.sent, 0
    began = due
    while True:
        wait = max(0.0, due - time.monotonic()) if rate else 1.0
        try:
            order = orders.get(timeout=min(wait, 1.0)) if wait else orders.get_nowait()
        except queue.Empty:
            order = Order()
        if order is None:
            break
        if isinstance(order, ServiceError):
            raise order
        for _ in range(order.count):
            sender.send(load.next(now(), order.kind))
        if order.rate is not None:
            rate, due = order.rate, time.monotonic()
        # Those that are overdue are sent now: what comes late is not less.
        while rate and due <= time.monotonic():
            sender.send(load.next(now()))
            due += 1 / rate
        if time.monotonic() - began >= second + 1:
            second = int(time.monotonic() - began)
            sender.poll()
            _print({"second": second, "sent": sender.sent - before})
    sender.flush()
    _print({"done": sender.sent - before})


def _read_orders(orders: "queue.Queue[Order | ServiceError | None]") -> None:
    for line in sys.stdin:
        try:
            order = msgspec.json.decode(line, type=Order)
        except msgspec.DecodeError as error:
            orders.put(ServiceError(f"standard input has no order: {error}"))
            return
        if order.count and order.kind not in KINDS:
            names = ", ".join(KINDS)
            orders.put(ServiceError(f"'{order.kind}' is no kind of event", f"Give one of {names}."))
            return
        orders.put(order)
    orders.put(None)


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
        self.poll()

    def poll(self) -> None:
        self._producer.poll(0)
        self._check(is_stuck=False)

    def flush(self) -> None:
        self._check(is_stuck=self._producer.flush(FLUSH_S) > 0)

    def _check(self, *, is_stuck: bool) -> None:
        if self._failure or is_stuck:
            raise UnavailableError(
                f"Kafka at {self._settings.kafka} does not take events: {self._failure or 'no answer'}",
                "Start it, set SEARCH_KAFKA, or create the topics: search-service setup.",
            )

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self._failure = str(error)


def _print(line: dict[str, int]) -> None:
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()
