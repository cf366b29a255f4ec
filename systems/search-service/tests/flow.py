"""Events, and an indexer as a program, for tests."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec
from sqlalchemy import text

from search_service.consume import producer_of
from search_service.database import connect, transaction
from search_service.engine import Engine
from search_service.entities import AnyEntity, Asset, Category, Product, Supplier
from search_service.events import Changed, Deleted, Event, encode, type_of
from search_service.settings import PREFIX, Settings
from search_service.status_command import status_of

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def supplier(number: int = 1, **other: str) -> Supplier:
    return Supplier(**{"id": f"s-{number}", "name": f"Alder & Sons {number}", "country": "DE", **other})


def category(number: int = 1, parent: int | None = None, **other: str) -> Category:
    parent_id = None if parent is None else f"c-{parent}"
    return Category(**{"id": f"c-{number}", "name": f"Boots {number}", "parent_id": parent_id, **other})


def product(number: int = 1, **other: object) -> Product:
    return msgspec.convert(
        {
            "type": "product",
            "id": f"p-{number}",
            "sku": f"BO-{number:06d}",
            "name": "Warm leather boots",
            "description": "Boots for winter",
            "brand": "Alder",
            "price_cents": 12_900,
            "currency": "EUR",
            "category_id": "c-1",
            "supplier_id": "s-1",
            "attributes": {"material": "leather"},
            **other,
        },
        Product,
    )


def asset(number: int = 1, **other: object) -> Asset:
    return msgspec.convert(
        {
            "type": "asset",
            "id": f"a-{number}",
            "product_id": f"p-{number}",
            "title": "Care",
            "text": "Brush them after every walk. " * 400,
            **other,
        },
        Asset,
    )


def changed(entity: AnyEntity, version: int = 1, at: datetime = MOMENT) -> Changed:
    return Changed(version=version, at=at, entity=entity)


def deleted(type_name: str, entity_id: str, version: int, at: datetime = MOMENT) -> Deleted:
    return Deleted(version=version, at=at, type=type_name, id=entity_id)


class Producing:
    """Writes events to the topics of a service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._producer = producer_of(settings)

    def send(self, *events: Event) -> None:
        for event in events:
            self.raw(type_of(event), event.id.encode(), encode(event))

    def raw(self, type_name: str, key: bytes | None, value: bytes | None) -> None:
        self.post(type_name, key, value)
        self.flush(30)

    def post(self, type_name: str, key: bytes | None, value: bytes | None) -> None:
        self._producer.produce(self.settings.topic(type_name), key=key, value=value)

    def flush(self, timeout_s: float) -> None:
        assert self._producer.flush(timeout_s) == 0


class Indexer:
    """An indexer that runs as a program, and may be killed."""

    def __init__(self, settings: Settings, log: Path, python: str) -> None:
        self.settings = settings
        self.log = log
        self._python = python
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGKILL)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._program = subprocess.Popen(
                [self._python, "-m", "search_service", "indexer"],
                env=environment(self.settings),
                stdout=log,
                stderr=log,
            )

    def tell(self, number: signal.Signals) -> None:
        if self._program is not None:
            self._program.send_signal(number)

    def end(self, number: signal.Signals) -> int | None:
        found, self._program = self._program, None
        if found is None:
            return None
        found.send_signal(number)
        return found.wait(60)


def environment(settings: Settings) -> dict[str, str]:
    """The environment with which a command has these settings."""
    given = {PREFIX + name.upper(): str(value) for name, value in msgspec.structs.asdict(settings).items()}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**clean, **given}


def wait_for(what: str, is_so: Callable[[], bool], timeout_s: float = 180) -> None:
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end, f"{what} did not happen within {timeout_s:.0f} s"
        time.sleep(0.05)


def wait_until_quiet(settings: Settings, still_s: float = 300) -> None:
    """
    Wait until every event is applied and every document indexed; fail if there is not less to do for some time.
    """
    least, end = None, 0.0
    while work := _work_of(settings):
        if least is None or work < least:
            least, end = work, time.monotonic() + still_s
        assert time.monotonic() < end, f"nothing more was done within {still_s:.0f} s: {work}"
        time.sleep(0.05)
    with Engine(settings.engine_url) as engine:
        engine.refresh(settings.alias)


def _work_of(settings: Settings) -> tuple[int, int, int] | None:
    """
    The events not applied, changes not spread and documents not indexed; None if there are none.
    """
    status = status_of(settings)
    work = status.lag_events, status.fan_outs, status.index_work
    return work if any(work) else None


def query(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    """The rows of a statement on the copy; none if it returns none."""
    database = connect(settings.database_url, size=1)
    try:
        with transaction(database) as session:
            found = session.execute(text(statement))
            return [tuple(row) for row in found.all()] if found.returns_rows else []
    finally:
        database.dispose()
