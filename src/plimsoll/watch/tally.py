"""Counts of events since the start of the process; every thread may add, and reading waits for nobody long."""

import threading
from collections.abc import Collection, Iterable


class EventTally:
    """Counters by name and label value."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, name: str, label: str = "", by: int = 1) -> None:
        """Count events."""
        with self._lock:
            self._counts[name, label] = self._counts.get((name, label), 0) + by

    def begin(self, names: Iterable[str], labels: Collection[str]) -> None:
        """Begin counters at 0 where they have no count, so that the first event is a rise from 0."""
        for name in names:
            for label in labels:
                self.add(name, label, by=0)

    def counts(self) -> dict[tuple[str, str], int]:
        """Return all counts, by name and label."""
        with self._lock:
            return dict(self._counts)
