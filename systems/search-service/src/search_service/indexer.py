"""
The indexer: apply events in one thread, index documents in another, until told to stop.

Rule 1: a server that goes away stops nothing. The thread waits, longer each time, and goes on where it was.
Rule 2: an engine that asks for fewer writes gets half as many at a time, later; the number grows again slowly.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable

from sqlalchemy import Engine as Database

from search_service.consume import EventReader, producer_of
from search_service.database import connect
from search_service.dead_letters import DeadLetters
from search_service.engine import Engine, EngineError
from search_service.errors import UnavailableError
from search_service.fan_out import fan_out_page
from search_service.index_work import index_page
from search_service.metrics import Metrics
from search_service.settings import Settings

IDLE_S = 0.05
"""Pause of the thread that indexes when there is no work."""
WAIT_FIRST_S, WAIT_MOST_S = 0.2, 5.0
"""Pause after a server did not answer: the first, doubled up to the longest."""
REFUSED_S = 60.0
"""After this time a document that the engine refused is tried again."""


class BatchSize:
    """How many documents go into one request: half as many after a refusal, an eighth more after a success."""

    def __init__(self, most: int) -> None:
        """Begin with the most."""
        self.most = self.now = most

    def shrink(self) -> None:
        """Take half as many, at least one."""
        self.now = max(1, self.now // 2)

    def grow(self) -> None:
        """Take an eighth more, at most the most."""
        self.now = min(self.most, self.now + max(1, self.now // 8))


class Indexing:
    """The thread's work of fan-out and indexing: one step at a time."""

    def __init__(
        self, database: Database, engine: Engine, settings: Settings, metrics: Metrics
    ) -> None:
        """Keep what is needed; nothing is sent yet."""
        self._database = database
        self._engine = engine
        self._settings = settings
        self._metrics = metrics
        self._refused: dict[str, float] = {}
        self.size = BatchSize(settings.batch_documents)

    def step(self) -> bool:
        """
        Mark a page of products and index a page of documents; return whether there was anything to do.

        Raises:
            UnavailableError: the database or the engine does not answer, or the engine is busy.
        """
        marked = fan_out_page(self._database, self._settings.fan_out_products)
        now = time.monotonic()
        self._refused = {key: end for key, end in self._refused.items() if end > now}
        try:
            indexed = index_page(
                self._database, self._engine, self.size.now, skip=self._refused.keys()
            )
        except EngineError as error:
            self.size.shrink()
            raise UnavailableError(str(error)) from None
        self._metrics.indexed(indexed)
        for refusal in indexed.refused:
            _say(f"the search engine refused product {refusal}")
            self._refused[refusal.partition(":")[0]] = now + REFUSED_S
        if indexed.is_busy:
            self.size.shrink()
            raise UnavailableError("the search engine asks for fewer writes")
        self.size.grow()
        return bool(marked or indexed.done)


def run_indexer(settings: Settings, stop: threading.Event) -> None:
    """
    Apply and index until `stop` is set.

    Raises:
        ServiceError: a setting cannot be used, or the tables are missing.
    """
    database = connect(settings.database_url)
    metrics = Metrics()
    if settings.metrics_port:
        metrics.serve(settings.metrics_port)
    dead_letters = DeadLetters(producer_of(settings), settings.dead_letter_topic)
    failures: list[BaseException] = []

    def keep(name: str, step: Callable[[], bool]) -> None:
        try:
            _repeat(name, step, stop, metrics)
        except BaseException as error:  # noqa: BLE001 - raised again when both threads have ended
            failures.append(error)
            stop.set()

    with (
        contextlib.closing(Engine(settings.engine_url)) as engine,
        EventReader(settings, database, dead_letters, stop) as reader,
    ):
        indexing = Indexing(database, engine, settings, metrics)
        thread = threading.Thread(target=keep, args=("index", indexing.step))
        thread.start()
        keep("apply", lambda: _apply(reader, metrics))
        thread.join()
    database.dispose()
    if failures:
        raise failures[0]


def _apply(reader: EventReader, metrics: Metrics) -> bool:
    before = time.monotonic()
    consumed = reader.step()
    metrics.applied(consumed, time.monotonic() - before, reader.lag())
    # Reading waits for events by itself.
    return True


def _repeat(name: str, step: Callable[[], bool], stop: threading.Event, metrics: Metrics) -> None:
    wait, said = WAIT_FIRST_S, ""
    while not stop.is_set():
        try:
            had_work = step()
        except UnavailableError as error:
            metrics.failed(name)
            if error.sentence != said:
                said = error.sentence
                _say(f"{said}; trying again")
            stop.wait(wait)
            wait = min(WAIT_MOST_S, 2 * wait)
            continue
        if said:
            _say("goes on")
        wait, said = WAIT_FIRST_S, ""
        if not had_work:
            stop.wait(IDLE_S)


def _say(text: str) -> None:
    sys.stderr.write(f"search-service indexer: {text}\n")
    sys.stderr.flush()
