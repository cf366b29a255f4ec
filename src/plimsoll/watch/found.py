"""
What the loop last found, for readers in other threads: metrics and the page.

Rule: the loop hands over values that never change. Nobody who reads them asks a target or waits for the loop.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace as with_arrays

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.metric import Metric
from plimsoll.model.series import IntArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.config import WatchSettings
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.metrics import InstanceStatus, OwnerStatus
from plimsoll.watch.law.reading import InstanceNumbers
from plimsoll.watch.law.rulebook import RULES
from plimsoll.watch.law.situation import FRESH_S
from plimsoll.watch.ledger import InstanceOutcome, RememberedInstance
from plimsoll.watch.memory import Memory
from plimsoll.watch.timetable import Timetable


class BoardEntry(Struct, frozen=True, kw_only=True, eq=False):
    """What a reader is shown of one instance."""

    status: InstanceStatus
    record: RememberedInstance
    snapshot: Snapshot | None
    """What was judged last; None where this process has read nothing yet."""
    revision: int
    """Of the board when this was last different."""


class Board:
    """
    What was last found of every instance; it outlives a new configuration.

    Readers in other threads get values that never change.
    """

    def __init__(self) -> None:
        """Nothing was found yet."""
        self._entries: dict[WatchedInstance, BoardEntry] = {}
        self._writing = threading.Lock()
        self.revision = 0
        """Grows with every change."""

    def entries(self) -> list[BoardEntry]:
        """Return every instance, in no order; safe in any thread."""
        return list(self._entries.values())

    def show(self, status: InstanceStatus, record: RememberedInstance, snapshot: Snapshot | None) -> None:
        """Show an instance; the revision grows if a reader would see a difference."""
        with self._writing:
            before = self._entries.get(record.instance)
            kept = snapshot if snapshot is not None else before.snapshot if before else None
            is_same = (
                before is not None
                and before.snapshot is kept
                and before.record.reason == record.reason
                and _seen(before.status) == _seen(status)
            )
            # An entry is there before its revision is, so that no reader misses it.
            revision = before.revision if before and is_same else self.revision + 1
            self._entries[record.instance] = BoardEntry(status=status, record=record, snapshot=kept, revision=revision)
            self.revision = max(self.revision, revision)

    def touch(self, instance: WatchedInstance) -> None:
        """Note that a reader would see a difference which is not of the loop, for example an acknowledgement."""
        with self._writing:
            before = self._entries.get(instance)
            if before is not None:
                self._entries[instance] = replace(before, revision=self.revision + 1)
                self.revision += 1

    def keep(self, instances: Iterable[WatchedInstance]) -> None:
        """Show no others."""
        with self._writing:
            for gone in self._entries.keys() - set(instances):
                del self._entries[gone]
                self.revision += 1


def _seen(status: InstanceStatus) -> InstanceStatus:
    """Return a status without the time of the next poll, which differs after each."""
    return replace(status, fresh_until_s=None if status.fresh_until_s is None else 0.0)


def lean(snapshot: Snapshot) -> Snapshot:
    """
    Return a snapshot that keeps nothing else in memory: no longer array of which it shows a part.

    Most metrics have the same times; these are kept once.
    """
    times: dict[bytes, IntArray] = {}

    def own(series: Mapping[Metric, Series]) -> dict[Metric, Series]:
        return {
            metric: with_arrays(
                one, time_s=times.setdefault(one.time_s.tobytes(), np.array(one.time_s)), value=np.array(one.value)
            )
            for metric, one in series.items()
        }

    return replace(snapshot, series=own(snapshot.series), fine=own(snapshot.fine))


class Found:
    """What was found of each instance, beside what is stored of it."""

    def __init__(
        self, settings: WatchSettings, memory: Memory, timetable: Timetable, board: Board | None = None
    ) -> None:
        """Nothing was found yet; what is found is shown on the board."""
        self._settings, self._memory, self._timetable = settings, memory, timetable
        self._numbers: dict[WatchedInstance, InstanceNumbers] = {}
        self._board = board or Board()

    def note(self, outcome: InstanceOutcome) -> None:
        """Remember what a reading brought, if it brought anything new, and show it."""
        record = outcome.record
        if outcome.numbers is not None:
            self._numbers[record.instance] = outcome.numbers
        status = self._status_of(record)
        if status is not None:
            judged = outcome.snapshot
            self._board.show(status, record, lean(judged) if judged is not None else None)

    def forget(self, instance: WatchedInstance) -> None:
        """Forget an instance."""
        self._numbers.pop(instance, None)

    def hide(self) -> None:
        """Show nothing: another process has the lease."""
        self._board.keep(())

    def status(
        self, records: Iterable[RememberedInstance], *, month_usd: float | None, waiting: dict[str, int]
    ) -> OwnerStatus:
        """
        Return everything that is shown.

        Args:
            records: of the instances of configured targets.
            month_usd: cost of the requests of this calendar month; None where the price is not known.
            waiting: messages that wait, by receiver.
        """
        plan = self._timetable.plan
        pairs = [(self._status_of(record), record) for record in records]
        for status, record in pairs:
            if status is not None:
                self._board.show(status, record, None)
        self._board.keep(status.instance for status, _ in pairs if status is not None)
        return OwnerStatus(
            instances=tuple(status for status, _ in pairs if status is not None),
            month_usd=month_usd,
            budget_usd=self._settings.budget_usd_per_month,
            planned_usd=plan.usd_per_month if plan is not None else None,
            waiting={one.name: waiting.get(one.name, 0) for one in self._settings.receivers},
        )

    def _status_of(self, record: RememberedInstance) -> InstanceStatus | None:
        """Return what is shown of an instance; None for a target that was remembered only while it was silent."""
        instance, is_fresh = record.instance, record.silent_s <= FRESH_S
        if instance.name == record.target and is_fresh:
            return None
        rules = self._settings.rules
        return InstanceStatus(
            instance=instance,
            standings=tuple(
                standing
                for standing in self._memory.standings(instance)
                if standing.subject.rule in RULES and rules.of(standing.subject.rule).is_on
            ),
            numbers=self._numbers.get(instance),
            # The next poll is due then; a loop that is late for longer than this is stuck.
            fresh_until_s=self._timetable.of(instance).due_s + FRESH_S if is_fresh else None,
            interval_s=self._timetable.interval_s(instance),
        )
