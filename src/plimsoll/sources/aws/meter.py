"""Count requests, and stop at a bound: of their number, and of the time of a reading."""

import threading
import time
from collections.abc import Callable

from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.operations import GET_METRIC_DATA, OPERATIONS, Operation
from plimsoll.sources.values.shown import counted

_HINT = "Raise --max-api-calls, name fewer instances, or take a shorter window."

READ_S = 60.0
"""Longest time of a reading without any answer; a judgement."""
EARNED_S = 5.0
"""
Time that each answer adds: a healthy one takes tenths of a second, and 100,800 samples over a line of
10 Mbit/s take four seconds.
"""


class CallsSpent(SourceError):
    """The allowed number of requests was sent; what was read until then is used."""


class Meter:
    """Counts every request before it is sent, retries included; any thread may use it."""

    def __init__(self, most: int) -> None:
        """Allow `most` requests, ≥ 1."""
        self._most = most
        self._lock = threading.Lock()
        self._calls: dict[str, int] = {}
        self._metrics_requested = 0
        self._kept = 0
        """Requests of metrics that are planned and were not sent yet: what is optional must not use them up."""

    def keep(self, count: int) -> None:
        """Keep so many of the requests that are left for metrics."""
        with self._lock:
            self._kept += count

    def sent(self, operation: Operation, metric_count: int = 0) -> None:
        """
        Count a request that is about to be sent, and the metrics that it asks for.

        Raises:
            CallsSpent: it would exceed the bound, and must not be sent.
        """
        with self._lock:
            if operation is GET_METRIC_DATA:
                self._kept = max(self._kept - 1, 0)
            if sum(self._calls.values()) + (self._kept if operation.lost else 0) >= self._most:
                raise CallsSpent(
                    f"stopped after {counted(self._most, 'request')} to AWS, the bound of --max-api-calls", _HINT
                )
            self._calls[operation.action] = self._calls.get(operation.action, 0) + 1
            self._metrics_requested += metric_count

    def refuse_beyond(self, planned: int, what: str) -> None:
        """
        Refuse a reading that needs more requests than the bound, before its first request.

        Args:
            planned: requests still to be sent.
            what: what they would read: `50 instances`.

        Raises:
            UsageError: more than are left.
        """
        with self._lock:
            spent = sum(self._calls.values())
        if spent + planned > self._most:
            raise UsageError(
                f"reading {what} needs {counted(spent + planned, 'request')} to AWS, but "
                f"--max-api-calls allows {self._most:,}",
                _HINT,
            )

    def total(self) -> Usage:
        """Return the numbers of requests so far, in the order of the table of operations."""
        with self._lock:
            calls = tuple((o.action, self._calls[o.action]) for o in OPERATIONS if o.action in self._calls)
            return Usage(calls=calls, metrics_requested=self._metrics_requested)


class Deadline:
    """The time limit of one reading: it begins with the first request, and each answer extends it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the time limit with the first request, not now."""
        self._clock = clock
        self._lock = threading.Lock()
        self._begun_s: float | None = None
        self._allowed_s = READ_S

    def left_s(self) -> float:
        """Return the seconds that are left, ≥ 0."""
        with self._lock:
            if self._begun_s is None:
                self._begun_s = self._clock()
            return max(self._begun_s + self._allowed_s - self._clock(), 0.0)

    def earn(self) -> None:
        """Extend the time limit for an answer."""
        with self._lock:
            self._allowed_s += EARNED_S

    def refuse_beyond(self, action: str) -> None:
        """
        Refuse a request if no time is left.

        Raises:
            Unreachable: no time is left.
        """
        if self.left_s() <= 0:
            raise Unreachable(
                f"the reading took longer than {self._allowed_s:,.0f} s, so {action} was not read",
                "Check the network and the proxy, or name fewer instances or a shorter window.",
            )
