"""Observe a database while something else runs, for example a recording or a load."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Event, Thread

from plimsoll.errors import PlimsollError
from plimsoll.model.database import Observation

# Longer than any recording. `end` advances the clock by this much, so that the observation stops.
_FOR_EVER_S = 1e9


class Observing:
    """Observes a database in a thread of its own; `end` returns what was seen."""

    def __init__(self, dsn: str, print_line: Callable[[str], None], poolers: Sequence[str] = ()) -> None:
        """
        Start observing at once.

        Args:
            dsn: libpq connection string or URI.
            print_line: called with a line of text if nothing could be read.
            poolers: addresses of poolers in front of it.

        Raises:
            UsageError: the address of a pooler cannot be read.
        """
        from plimsoll.sources.pooler.read import pooler_reader
        from plimsoll.sources.postgres.read import observe

        self._print_line = print_line
        self._over = Event()
        self._ahead_s = 0.0
        self._observing: Future[Observation] = Future()
        readers = [pooler_reader(address) for address in poolers]

        def run() -> None:
            try:
                self._observing.set_result(
                    observe(dsn, duration_s=_FOR_EVER_S, poolers=readers, clock=self._clock, sleep=self._sleep)
                )
            except BaseException as error:  # noqa: BLE001 - `end` raises it
                self._observing.set_exception(error)

        # Ctrl-C can come before `end` can be called. A thread that is no daemon would then keep this process alive.
        Thread(target=run, name="observing", daemon=True).start()

    def end(self) -> Observation | None:
        """Take the last reading and return the observation; None, after a message, if nothing could be read."""
        self._over.set()
        try:
            return self._observing.result()
        except PlimsollError as error:
            self._print_line(f"the database was not inspected: {error.message}")
            return None

    def _clock(self) -> float:
        return time.monotonic() + self._ahead_s

    def _sleep(self, seconds: float) -> None:
        """Sleep until `end` is called at the latest, then advance the clock so that the time is up."""
        if self._ahead_s:
            time.sleep(seconds)
        elif self._over.wait(seconds):
            self._ahead_s = _FOR_EVER_S
