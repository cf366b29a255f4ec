"""
Inspect databases beside the loop, each in a thread of its own and seldom.

Rule 1: the loop never waits for a database. It takes what the last inspection brought, and how old that is.
Rule 2: a failure is said once, makes the load unknown, and is tried again at the next ordinary time.
Rule 3: a process without the lease asks no database anything.
"""

import threading
import time
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import PlimsollError
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.watch.delivery import Log
from plimsoll.watch.law.load import InspectedLoad
from plimsoll.watch.law.metrics import INSPECTION_ERRORS, INSPECTIONS
from plimsoll.watch.tally import EventTally
from plimsoll.watch.targets import ObserveDatabase

# A database that hangs is left to its timeouts at the end of the process.
_PATIENCE_S = 10.0
# Some inspections may fail in between, so a result holds for two intervals.
_INTERVALS_HELD = 2.0

Weigh = Callable[[Observation, Diagnosis], InspectedLoad]
"""Finds the causes of an observed load, compared with the ceiling of a diagnosis."""


class _CutShortError(Exception):
    """The observation is to end now."""


class _Inspected(Struct, frozen=True, kw_only=True):
    """What the last inspection brought."""

    observation: Observation | None
    error: str
    """Why it brought nothing; empty where it did."""
    ended_s: float
    """Steady time."""


class DatabaseWatch:
    """Inspects one database again and again."""

    def __init__(
        self,
        name: str,
        observe: ObserveDatabase,
        *,
        interval_s: float,
        may_read: Callable[[], bool],
        steady_s: Callable[[], float],
        log: Log,
        tally: EventTally | None = None,
    ) -> None:
        """
        Read nothing yet.

        Args:
            name: of the instance.
            observe: observes the database for some seconds.
            interval_s: between the beginnings of two inspections.
            may_read: whether this process has the lease.
            steady_s: clock that never goes back.
            log: takes events.
            tally: counts inspections; None for a count of its own.
        """
        self._tally = tally or EventTally()
        self._tally.begin([INSPECTIONS.name, INSPECTION_ERRORS.name], [name])
        self._name, self._observe, self._interval_s = name, observe, interval_s
        self._may_read, self._steady_s, self._log = may_read, steady_s, log
        self._stopping = threading.Event()
        self._found: _Inspected | None = None
        self._weighed: tuple[Observation, InspectedLoad] | None = None
        self._said = ""
        self._thread = threading.Thread(target=self._run, name=f"inspect-{name}", daemon=True)

    def start(self) -> None:
        """Begin to inspect, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let the inspection end."""
        self._stopping.set()

    def join(self, patience_s: float) -> None:
        """Wait for the end, for so many seconds at most."""
        if self._thread.is_alive():
            self._thread.join(patience_s)

    def inspect(self) -> None:
        """Inspect once, and remember what that brought."""
        try:
            observation, error = self._observe(self._sleep), ""
        except PlimsollError as failed:
            observation, error = None, failed.message
            self._say(failed.message, failed.hint)
        except _CutShortError:
            return
        except Exception as failed:  # noqa: BLE001
            # An inspection is an extra: whatever is wrong with it, the storage is watched.
            observation, error = None, f"{type(failed).__name__} in plimsoll"
            self._say(error, "Please report it.")
        self._tally.add(INSPECTIONS.name, self._name)
        if observation is None:
            self._tally.add(INSPECTION_ERRORS.name, self._name)
        else:
            self._said = ""
        self._found = _Inspected(observation=observation, error=error, ended_s=self._steady_s())

    def load(self, diagnosis: Diagnosis, weigh: Weigh) -> InspectedLoad:
        """
        Return what is known of the load now.

        Args:
            diagnosis: of the storage, for the ceiling.
            weigh: finds the causes; it is asked once for each observation.
        """
        found = self._found
        if found is None:
            return InspectedLoad(missing="has not been inspected yet")
        if found.observation is None:
            return InspectedLoad(missing=f"could not be inspected: {found.error}")
        age_s = self._steady_s() - found.ended_s
        if age_s > _INTERVALS_HELD * self._interval_s:
            return InspectedLoad(missing="has not been inspected for too long")
        if self._weighed is None or self._weighed[0] is not found.observation:
            try:
                self._weighed = found.observation, weigh(found.observation, diagnosis)
            except PlimsollError as error:
                return InspectedLoad(missing=f"could not be inspected: {error.message}")
        return replace(self._weighed[1], age_s=age_s)

    def _run(self) -> None:
        while not self._stopping.is_set():
            began_s = self._steady_s()
            if self._may_read():
                self.inspect()
                rest_s = self._interval_s - (self._steady_s() - began_s)
            else:
                rest_s = 1.0
            self._stopping.wait(max(rest_s, 1.0))

    def _sleep(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _CutShortError

    def _say(self, error: str, hint: str) -> None:
        """Log an error once for as long as it lasts."""
        if self._said != error:
            self._said = error
            self._log("database not inspected", instance=self._name, error=error, hint=hint)


class DatabaseWatches:
    """All databases that are inspected, by target and name of the instance."""

    def __init__(self, watches: Mapping[tuple[str, str], DatabaseWatch], weigh: Weigh) -> None:
        """Inspect nothing yet."""
        self._watches, self._weigh = watches, weigh

    def start(self) -> None:
        """Begin to inspect."""
        for one in self._watches.values():
            one.start()

    def stop(self) -> None:
        """End all inspections."""
        for one in self._watches.values():
            one.stop()
        end_s = time.monotonic() + _PATIENCE_S
        for one in self._watches.values():
            one.join(max(end_s - time.monotonic(), 0.0))

    def load(self, target: str, instance: str, diagnosis: Diagnosis) -> InspectedLoad | None:
        """
        Return what is known of the load of an instance; None if its database is not inspected.

        Args:
            target: that names the instance, as configured.
            instance: its name.
            diagnosis: of its storage.
        """
        found = self._watches.get((target, instance))
        return None if found is None else found.load(diagnosis, self._weigh)
