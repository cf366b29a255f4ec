"""
Kill whatever there is, at random moments, while events flow: afterwards the index is what the events say.

Each round kills one of an indexer, the database, the broker and the search engine, and does not wait for it.
"""

import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, TopicPartition
from conftest import start, stop
from flow import Indexer, Producing, asset, category, changed, deleted, product, query, supplier, wait_for

from search_service.admin.verify import compare
from search_service.database import connect
from search_service.engine import Engine
from search_service.errors import ServiceError
from search_service.events import Event, encode, type_of
from search_service.settings import Settings
from search_service.setup_command import set_up
from search_service.status_command import status_of

PRODUCTS, ASSETS, SUPPLIERS, CATEGORIES = 400, 200, 5, 6
EVENTS_PER_S = 300
QUIET_EVERY = 10
"""Rounds between two comparisons."""
PATIENCE_S = 900
"""Machines may be busy; a member of the group that hangs is missed by Kafka after 300 s at the latest."""


class World:
    """
    The services that own the entities: what they wrote, and in which version each entity is now.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.newest: dict[tuple[str, str], Event] = {}
        self._sent: list[Event] = []

    def next(self) -> Event:
        """A change, mostly; else one that was sent before, or an old one that comes late."""
        if self._sent and self.dice.random() < 0.15:
            return self.dice.choice(self._sent)
        event = self._change()
        self.newest[type_of(event), event.id] = event
        self._sent = [*self._sent[-500:], event]
        return event

    def first(self) -> list[Event]:
        """Version 1 of everything."""
        events: list[Event] = [
            *(changed(supplier(n)) for n in range(SUPPLIERS)),
            *(changed(category(n, parent=n // 2 if n else None)) for n in range(CATEGORIES)),
            *(changed(product(n)) for n in range(PRODUCTS)),
            *(changed(asset(n)) for n in range(ASSETS)),
        ]
        self.newest = {(type_of(event), event.id): event for event in events}
        return events

    def _change(self) -> Event:
        (kind,) = self.dice.choices(("product", "asset", "supplier", "category", "gone"), (70, 15, 1, 1, 13))
        most = {"asset": ASSETS, "supplier": SUPPLIERS, "category": CATEGORIES}.get(kind, PRODUCTS)
        number = self.dice.randrange(most)
        type_name = "product" if kind == "gone" else kind
        version = 1 + self.newest[type_name, f"{type_name[0]}-{number}"].version
        name = f"Name {version}"
        if kind == "product":
            shown = product(number, name=name, supplier_id=f"s-{number % SUPPLIERS}")
            return changed(shown, version)
        if kind == "asset":
            return changed(asset(number, views=version), version)
        if kind == "gone":
            return deleted("product", f"p-{number}", version)
        return changed(supplier(number, name=name) if kind == "supplier" else category(number, name=name), version)  # fmt: skip


class Sending(threading.Thread):
    """Sends events all the time; now and then one that can never be applied."""

    def __init__(self, world: World, producing: Producing) -> None:
        super().__init__()
        self._world, self._producing = world, producing
        self.ended = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.sent = self.poison = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.ended.wait(0.1):
                if self.may_go_on.is_set():
                    self._some()
        except BaseException as error:
            self.failure = error

    def _some(self) -> None:
        for _ in range(EVENTS_PER_S // 10):
            event = self._world.next()
            self._producing.post(type_of(event), event.id.encode(), encode(event))
            self.sent += 1
        if self._world.dice.random() < 0.1:
            self.poison += 1
            self._producing.post("product", f"bad-{self.poison}".encode(), b'{"version": "new"}')
        self._producing.flush(PATIENCE_S)


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Servers that are started again when they are killed."""
    chosen = request.config.getoption("--engine")
    engine = "opensearch" if chosen == "both" else chosen
    command, found = start("postgres", "kafka", engine, restart=True)
    yield {"database": found["postgres"], "broker": found["kafka"], "engine": found[engine]}
    stop(command)


def killed(address: str) -> bool:
    """Kill the process that listens at an address; return False if none does now."""
    port = int(address.split("/")[2 if "//" in address else 0].rpartition(":")[2])
    for one in psutil.net_connections("tcp"):
        if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
            psutil.Process(one.pid).kill()
            return True
    return False


def wait_for_quiet(settings: Settings) -> None:
    """
    Wait until everything is indexed, whatever is still starting; say what is left if that does not happen.
    """
    last = ""

    def is_quiet() -> bool:
        nonlocal last
        try:
            status = status_of(settings)
        except ServiceError as error:
            last = error.sentence
            return False
        last = str(status)
        return not (status.lag_events or status.fan_outs or status.index_work)

    try:
        wait_for("that everything is indexed", is_quiet, PATIENCE_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last}") from None


def dead_letters(settings: Settings) -> set[bytes]:
    """The keys of all dead letters."""
    topic = settings.dead_letter_topic
    reader = Consumer({"bootstrap.servers": settings.kafka, "group.id": "reader"})
    places = [TopicPartition(topic, n, 0) for n in reader.list_topics(topic).topics[topic].partitions]
    left = sum(reader.get_watermark_offsets(one)[1] for one in places)
    reader.assign(places)
    keys = set()
    while left:
        message = reader.poll(10)
        assert message is not None
        assert message.error() is None, message.error()
        keys.add(message.key())
        left -= 1
    reader.close()
    return keys


def check(settings: Settings, world: World) -> None:
    """Copy and index are equal, and are what was sent last."""
    wait_for_quiet(settings)
    database = connect(settings.database_url, size=2)
    with Engine(settings.engine_url) as engine:
        compared = compare(database, engine, f"{settings.prefix}-000001")
        alive = engine.count(settings.alias, {"term": {"is_deleted": False}})
    database.dispose()
    rows = query(settings, "SELECT id, version, is_deleted, name FROM product ORDER BY id")
    expected = [
        (event.id, event.version, not hasattr(event, "entity"))
        for (type_name, _), event in sorted(world.newest.items())
        if type_name == "product"
    ]

    assert () == compared.differences
    assert (compared.copy.documents, compared.copy.checksum) == (compared.index.documents, compared.index.checksum)
    assert sorted(expected) == sorted(row[:3] for row in rows)
    assert alive == sum(not is_gone for _, _, is_gone in expected)
    assert all(name == f"Name {v}" for _, v, is_gone, name in rows if not is_gone and v > 1)


def test_nothing_is_lost_and_nothing_comes_back(
    servers: dict[str, str], request: pytest.FixtureRequest, tmp_path: Path, seed: int
):
    """
    `--rounds` says how often something is killed, `--worlds` how often the test runs, with other seeds.
    """
    rounds = request.config.getoption("--rounds")
    settings = Settings(
        database_url=servers["database"], kafka=servers["broker"], engine_url=servers["engine"],
        partitions=2, batch_events=50, batch_documents=50, fan_out_products=30,
    )  # fmt: skip
    set_up(settings)
    world, dice = World(seed), random.Random(seed + 1)
    producing = Producing(settings)
    producing.send(*world.first())
    sending = Sending(world, producing)
    with ExitStack() as stack:
        logs = [tmp_path / f"indexer-{n}.log" for n in range(2)]
        indexers = [stack.enter_context(Indexer(settings, log, sys.executable)) for log in logs]
        for one in indexers:
            one.start()
        sending.start()
        stack.callback(sending.join)
        stack.callback(sending.ended.set)
        counts = dict.fromkeys(("indexer", *servers), 0)
        for number in range(1, rounds + 1):
            time.sleep(dice.uniform(0.1, 4))
            victim = dice.choice(("indexer", "indexer", *servers))
            if victim == "indexer":
                chosen = dice.choice(indexers)
                # It waits for servers that are away; nothing but our signal ends it.
                assert chosen.end(signal.SIGKILL) == -signal.SIGKILL, "an indexer ended by itself"
                chosen.start()
                counts[victim] += 1
            else:
                counts[victim] += killed(servers[victim])
            if number % QUIET_EVERY == 0 or number == rounds:
                sending.may_go_on.clear()
                producing.flush(PATIENCE_S)
                try:
                    check(settings, world)
                except AssertionError:
                    for one in indexers:
                        one.tell(signal.SIGUSR1)
                    time.sleep(2)
                    print(*(log.read_text()[-8000:] for log in logs), sep="\n\n")
                    raise
                print(f"round {number}: {sending.sent} events sent, killed {counts}", flush=True)
                sending.may_go_on.set()
        assert sending.failure is None
    letters = dead_letters(settings)

    assert min(counts.values()) > 0
    assert {f"bad-{n}".encode() for n in range(1, sending.poison + 1)} == letters
    assert all("Traceback" not in log.read_text() for log in logs)
