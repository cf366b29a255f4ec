"""A database that is observed while something else goes on, such as a recording or a load."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from plimsoll.errors import PlimsollError
from plimsoll.model.database import Observation

# Longer than any recording; the clock is put ahead by as much when it is over.
_FOR_EVER_S = 1e9


class Watching:
    """A database that is observed while something else goes on; `end` has what was seen."""

    def __init__(self, dsn: str, tell: Callable[[str], None]) -> None:
        """
        Begin at once, in a thread of its own.

        Args:
            dsn: libpq connection string or URI.
            tell: called with a line where nothing could be read.
        """
        from plimsoll.sources.postgres.read import observe

        self._tell = tell
        self._over = Event()
        self._ahead_s = 0.0
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._observing = self._pool.submit(
            observe, dsn, duration_s=_FOR_EVER_S, clock=self._clock, sleep=self._sleep
        )

    def end(self) -> Observation | None:
        """Take the last reading; None where nothing could be read, which is told."""
        self._over.set()
        try:
            return self._observing.result()
        except PlimsollError as error:
            self._tell(f"the database was not inspected: {error.message}")
            return None
        finally:
            self._pool.shutdown()

    def _clock(self) -> float:
        return time.monotonic() + self._ahead_s

    def _sleep(self, seconds: float) -> None:
        """Until it is over the pause may be cut short; then the clock says that the time is up."""
        if self._ahead_s:
            time.sleep(seconds)
        elif self._over.wait(seconds):
            self._ahead_s = _FOR_EVER_S
