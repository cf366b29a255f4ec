"""
The indexer: apply events in one thread, index documents in another, until told to stop.

Rule 1: a server that goes away stops nothing. The thread waits, longer each time, and goes on where it was.
Rule 2: an engine that asks for fewer writes gets half as many at a time, later; the number grows again slowly.
Rule 3: documents are fresh when a search finds them. The indexer refreshes the index and measures afterwards.
Rule 4: what changed by itself comes before what a supplier or a category changed: a page of products is marked when
        the index has nearly caught up.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine as Database

from search_service.consume import EventReader, producer_of
from search_service.database import connect
from search_service.dead_letters import DeadLetters
from search_service.engine import Engine, EngineError
from search_service.errors import ServiceError, UnavailableError
from search_service.fan_out import fan_out_page
from search_service.index_work import Change, Indexed, index_page
from search_service.metrics import Metrics
from search_service.phases import FAN_OUT, REFRESH
from search_service.settings import Settings
from search_service.share import Share

IDLE_S = 0.05
"""Pause of the thread that indexes when there is no work."""
WAIT_FIRST_S, WAIT_MOST_S = 0.2, 5.0
"""Pause after a server did not answer: the first, doubled up to the longest."""
REFUSED_S = 60.0
"""After this time a document that the engine refused is tried again."""
REFUSED_MOST = 1000
"""With more refused documents than this, the index is at fault, and not the documents."""
REFRESH_S = 1.0
"""Longest time from writing a document to the refresh that makes it searchable: the default of the engines."""
FAN_OUT_EVERY = 10
"""While there is always more to index, products are marked after so many pages."""


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


class Unseen:
    """Documents that were written and cannot be found by a search yet."""

    def __init__(self) -> None:
        """Begin with none."""
        self.indexes: set[str] = set()
        self._changes: list[Change] = []
        self._due = 0.0

    def add(self, index: str, changes: Sequence[Change], now_s: float) -> None:
        """Add documents of an index, with their oldest changes."""
        if changes and not self._changes:
            self._due = now_s + REFRESH_S
        if changes:
            self.indexes.add(index)
            self._changes += changes

    def is_due(self, now_s: float) -> bool:
        """Return whether the first of them was written `REFRESH_S` ago."""
        return bool(self._changes) and now_s >= self._due

    def taken(self) -> list[Change]:
        """Return the changes of all, and begin again with none."""
        found, self._changes = self._changes, []
        self.indexes = set()
        return found


class Indexing:
    """The thread's work of fan-out and indexing: one step at a time."""

    def __init__(self, database: Database, engine: Engine, settings: Settings, metrics: Metrics) -> None:
        """Keep what is needed; nothing is sent yet."""
        self._database = database
        self._engine = engine
        self._settings = settings
        self._metrics = metrics
        self._timed = metrics.phases.timed
        self._share = Share(database)
        self._refused: dict[str, float] = {}
        self._unseen = Unseen()
        self._full = 0
        self.size = BatchSize(settings.batch_documents)

    def close(self) -> None:
        """Make what was written searchable if the engine answers, and give the share of the work back."""
        with contextlib.suppress(ServiceError):
            self._refresh()
        self._share.__exit__(None, None, None)

    def step(self) -> bool:
        """
        Index a page of documents and mark a page of products; return whether there was anything to do.

        Raises:
            UnavailableError: the database or the engine does not answer, or the engine is busy.
        """
        if self._unseen.is_due(time.monotonic()):
            self._refresh()
        indexed = self._index()
        is_full = indexed.taken >= self.size.now
        self._full = self._full + 1 if is_full else 0
        if is_full and self._full % FAN_OUT_EVERY:
            # Products that are marked now would only wait, and what changes next would wait behind them.
            return True
        with self._timed(FAN_OUT):
            marked = fan_out_page(self._database, self._settings.fan_out_products)
        return bool(marked or indexed.done)

    def _index(self) -> Indexed:
        now = time.monotonic()
        self._refused = {key: end for key, end in self._refused.items() if end > now}
        if len(self._refused) > REFUSED_MOST:
            raise UnavailableError("the search engine refuses document after document")
        try:
            indexed = index_page(
                self._database,
                self._engine,
                self.size.now,
                skip=self._refused.keys(),
                slots=self._share.slots(),
                phases=self._metrics.phases,
            )
        except EngineError as error:
            self.size.shrink()
            raise UnavailableError(str(error)) from None
        self._metrics.indexed(indexed)
        if indexed.live is not None:
            self._unseen.add(indexed.live, indexed.changes, time.monotonic())
        for refusal in indexed.refused:
            _say(f"the search engine refused product {refusal}")
            self._refused[refusal.partition(":")[0]] = now + REFUSED_S
        if indexed.missing:
            raise UnavailableError(f"the search engine has no index {indexed.missing}")
        if indexed.is_busy:
            self.size.shrink()
            raise UnavailableError("the search engine asks for fewer writes")
        self.size.grow()
        return indexed

    def _refresh(self) -> None:
        """Make what was written searchable, and measure how old it is by then."""
        for index in self._unseen.indexes:
            try:
                with self._timed(REFRESH):
                    self._engine.refresh(index)
            except EngineError as error:
                # An index that was dropped meanwhile is searched by nobody.
                if error.status != 404:
                    raise UnavailableError(str(error)) from None
        self._metrics.searchable(self._unseen.taken(), datetime.now(UTC))


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
        contextlib.closing(Engine(settings.engine_url, patience_s=0)) as engine,
        EventReader(settings, database, dead_letters, stop, metrics.phases) as reader,
        contextlib.closing(Indexing(database, engine, settings, metrics)) as indexing,
    ):
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
