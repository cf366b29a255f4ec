"""Inspections beside the loop: what they bring, and what a failure changes."""

import threading
import time
from collections.abc import Callable

import pytest

import databases
import watched
from patience import until
from plimsoll.errors import PlimsollError, Unreachable
from plimsoll.model.database import Observation
from plimsoll.watch.inspecting import DatabaseWatch, DatabaseWatches
from plimsoll.watch.law.load import InspectedLoad
from plimsoll.watch.law.metrics import INSPECTION_ERRORS, INSPECTIONS
from plimsoll.watch.tally import EventTally

INTERVAL_S = 900.0
SEEN = databases.observation(databases.reading(), databases.reading(databases.START_S + 60))


class Database:
    """A database that answers, fails or hangs, on a clock of the test."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.error: Exception | None = None
        self.asked = 0
        self.weighed = 0
        self.lines: list[dict[str, object]] = []
        self.is_owner = True
        self.tally = EventTally()
        self.watch = DatabaseWatch(
            "orders",
            self.observe,
            interval_s=INTERVAL_S,
            may_read=lambda: self.is_owner,
            steady_s=lambda: self.now_s,
            log=lambda event, **fields: self.lines.append({"event": event} | fields),
            tally=self.tally,
        )

    def observe(self, sleep: Callable[[float], None]) -> Observation:
        self.asked += 1
        sleep(0.0)
        if self.error is not None:
            raise self.error
        return SEEN

    def weigh(self, observation: Observation, _diagnosis: object) -> InspectedLoad:
        assert observation is SEEN
        self.weighed += 1
        return InspectedLoad(bytes_per_s=1e6, window_s=60.0)

    @property
    def load(self) -> InspectedLoad:
        return self.watch.load(watched.diagnosis(), self.weigh)


def test_nothing_is_known_before_the_first_inspection():
    """That is said, and is not calm."""
    assert Database().load.missing == "has not been inspected yet"


def test_a_result_holds_until_the_next_ones_are_overdue():
    """It is weighed once, says how old it is, and is forgotten after two intervals."""
    database = Database()
    database.watch.inspect()
    ages = []
    for _ in range(3):
        ages.append(database.load.age_s)
        database.now_s += INTERVAL_S
    assert ages == [0.0, 900.0, 1800.0]
    assert database.weighed == 1

    assert database.load.missing == "has not been inspected for too long"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unreachable("no server answered", "Check it."), "no server answered"),
        (RuntimeError("boom"), "RuntimeError in plimsoll"),
    ],
)
def test_a_failure_makes_it_unknown_and_is_said_once(error: Exception, told: str):
    """Whatever goes wrong; the next one that works is used."""
    database = Database()
    database.watch.inspect()
    database.error = error
    for _ in range(3):
        database.watch.inspect()

    assert database.load.missing == f"could not be inspected: {told}"
    assert [(line["event"], line["error"]) for line in database.lines] == [("database not inspected", told)]
    database.error = None
    database.watch.inspect()
    assert database.load.missing == ""
    database.error = error
    database.watch.inspect()
    assert len(database.lines) == 2
    counts = database.tally.counts()
    assert (counts[INSPECTIONS.name, "orders"], counts[INSPECTION_ERRORS.name, "orders"]) == (6, 4)


def test_causes_that_cannot_be_judged_are_unknown():
    """The loop goes on."""
    database = Database()
    database.watch.inspect()

    def weigh(_observation: Observation, _diagnosis: object) -> InspectedLoad:
        raise PlimsollError("it cannot be judged")

    found = database.watch.load(watched.diagnosis(), weigh)

    assert found.missing == "could not be inspected: it cannot be judged"


def running(database: Database) -> DatabaseWatches:
    """The watch of one database in its thread."""
    watches = DatabaseWatches({("rds:*", "orders"): database.watch}, database.weigh)
    watches.start()
    return watches


def test_a_process_without_the_lease_asks_nothing():
    """It begins when it has the lease."""
    database = Database()
    database.is_owner = False
    watches = running(database)
    try:
        time.sleep(0.1)
        assert database.asked == 0
        database.is_owner = True
        assert until(lambda: database.asked)
    finally:
        watches.stop()


def test_an_observation_ends_with_the_process():
    """The minute of an observation is not waited for, and one that is cut short brings nothing."""
    database = Database()
    begun = threading.Event()

    def observe(sleep: Callable[[float], None]) -> Observation:
        begun.set()
        sleep(60.0)
        return SEEN

    database.watch._observe = observe
    watches = running(database)
    assert begun.wait(5.0)
    began_s = time.monotonic()
    watches.stop()

    assert time.monotonic() - began_s < 2.0
    assert not database.watch._thread.is_alive()
    assert database.load.missing == "has not been inspected yet"


def test_only_what_is_configured_is_inspected():
    """By target and name: two accounts may have an instance of one name."""
    watches = DatabaseWatches({("rds:*", "orders"): Database().watch}, Database().weigh)

    assert watches.load("rds:*", "orders", watched.diagnosis()) is not None
    assert watches.load("rds:*", "bills", watched.diagnosis()) is None
    assert watches.load("rds:orders", "orders", watched.diagnosis()) is None
