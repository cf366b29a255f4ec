"""
Where the indexer's time goes: wall-clock seconds and CPU seconds by phase.

A phase that takes much longer than its CPU time waits for a server. Phases of one thread follow each other, so their
sum is the time of that thread.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

POLL, DECODE, APPLY = "poll", "decode", "apply"
FAN_OUT, DOCUMENT, BULK, FINISH, REFRESH = "fan_out", "document", "bulk", "finish", "refresh"
ALL = (POLL, DECODE, APPLY, FAN_OUT, DOCUMENT, BULK, FINISH, REFRESH)


class Phases:
    """Seconds by phase, since the start; safe to use from several threads."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.wall_s = dict.fromkeys(ALL, 0.0)
        self.cpu_s = dict.fromkeys(ALL, 0.0)
        self._lock = threading.Lock()

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time of the block to a phase, of the calling thread only."""
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            with self._lock:
                self.wall_s[phase] += wall
                self.cpu_s[phase] += cpu
