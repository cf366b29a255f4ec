"""
What the ledger has of every instance, kept in memory while this process has the lease.

Rule 1: only the owner of the lease writes, so what the owner wrote is what the ledger has.
Rule 2: what could not be written is not remembered.
Rule 3: without the lease nothing is remembered: another process may write.
"""

from collections.abc import Mapping, Sequence

from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.subject import AlertSubject
from plimsoll.watch.ledger import InstanceOutcome, Ledger, RememberedInstance


class Memory:
    """Records and standings by instance."""

    def __init__(self, ledger: Ledger) -> None:
        """Read nothing yet."""
        self._ledger = ledger
        self._records: dict[WatchedInstance, RememberedInstance] | None = None
        self._standings: dict[WatchedInstance, dict[AlertSubject, Standing]] = {}

    def drop(self) -> None:
        """Forget everything; it is read from the ledger when it is asked for."""
        self._records = None
        self._standings = {}

    def records(self) -> Mapping[WatchedInstance, RememberedInstance]:
        """Return every instance that was ever read and not forgotten since."""
        return self._loaded()

    def of_target(self, name: str) -> dict[WatchedInstance, RememberedInstance]:
        """Return the instances of a target."""
        return {i: r for i, r in self._loaded().items() if r.target == name}

    def standings(self, instance: WatchedInstance) -> list[Standing]:
        """Return what is remembered of the subjects of an instance."""
        self._loaded()
        return list(self._standings.get(instance, {}).values())

    def store(self, outcome: InstanceOutcome, receivers: Sequence[str], *, now_s: float) -> None:
        """
        Write what follows from one reading to the ledger, and remember it.

        Raises:
            LedgerError: nothing was written, and nothing is remembered.
        """
        records = self._loaded()
        self._ledger.store(outcome, receivers, now_s=now_s)
        instance = outcome.record.instance
        records[instance] = outcome.record
        mine = self._standings.setdefault(instance, {})
        mine |= {standing.subject: standing for standing in outcome.standings}

    def remove(self, outcome: InstanceOutcome, receivers: Sequence[str], *, now_s: float) -> None:
        """
        Write the last messages of an instance, and forget it.

        Raises:
            LedgerError: nothing was written, and nothing is forgotten.
        """
        records = self._loaded()
        self._ledger.remove(outcome, receivers, now_s=now_s)
        records.pop(outcome.record.instance, None)
        self._standings.pop(outcome.record.instance, None)

    def _loaded(self) -> dict[WatchedInstance, RememberedInstance]:
        if self._records is None:
            found = {record.instance: record for record in self._ledger.records()}
            self._standings = {i: {s.subject: s for s in self._ledger.standings(i)} for i in found}
            self._records = found
        return self._records
