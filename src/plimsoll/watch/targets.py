"""What the loop is handed from outside: instances to read, and what to compute of them."""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.load import InspectedLoad

ReadInstances = Callable[[tuple[int, int], Callable[[str], bool]], Iterator[Snapshot | UnreadInstance]]
"""
Takes a window (epoch seconds, [start, end)) and whether an instance of a name is to be read; yields those that are.
Raises a PlimsollError where nothing can be read at all.
"""


ObserveDatabase = Callable[[Callable[[float], None]], Observation]
"""
Takes a function that waits for some seconds; returns what was observed in a database, which changes nothing in it.
Raises a PlimsollError where nothing can be read.
"""


class WatchTarget(Struct, frozen=True, kw_only=True):
    """One target of the configuration, opened."""

    name: str
    """As configured: `rds:*`."""
    account: str
    is_live: bool
    """Whether it has newer data each minute; a file ends when it ends."""
    metric_count: int
    """Metrics that one poll of one instance is billed for; 0 where reading is free."""
    read: ReadInstances
    spent: Callable[[], int]
    """Returns the metrics that were asked for since it was called last."""
    databases: Mapping[str, ObserveDatabase] = {}
    """By name of the instance; those whose DSN is known."""


def _nothing_weighed(_observation: Observation, _diagnosis: Diagnosis) -> InspectedLoad:
    return InspectedLoad(missing="cannot be inspected here")


def _no_load(_target: str, _instance: str, _diagnosis: Diagnosis) -> None:
    return None


class Computations(Struct, frozen=True, kw_only=True):
    """What the loop asks others to compute."""

    diagnose: Callable[[Snapshot], Diagnosis]
    advise: Callable[[Diagnosis, Snapshot], tuple[str, ...]]
    """Returns what to do first."""
    draw: Callable[[Diagnosis, Snapshot], bytes]
    """Returns a picture of the timeline as PNG; empty if none can be drawn."""
    weigh: Callable[[Observation, Diagnosis], InspectedLoad] = _nothing_weighed
    """Finds the causes of an observed load, compared with the ceiling of a diagnosis."""
    load: Callable[[str, str, Diagnosis], InspectedLoad | None] = _no_load
    """Takes target, name of the instance and diagnosis; returns what the last inspection of its database found."""


class WatchClock(Struct, frozen=True, kw_only=True):
    """The clocks of a process."""

    now_s: Callable[[], float]
    """Wall clock, epoch seconds; it may be set forwards and back."""
    steady_s: Callable[[], float]
    """Seconds since some moment; it never goes back."""
