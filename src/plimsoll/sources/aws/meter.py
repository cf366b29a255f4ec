"""Count requests, and stop at a bound."""

import threading

from plimsoll.errors import SourceError, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.operations import OPERATIONS, Operation
from plimsoll.sources.values.shown import counted

_HINT = "Raise --max-api-calls, name fewer instances, or take a shorter window."


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

    def sent(self, operation: Operation) -> None:
        """
        Count a request that is about to be sent.

        Raises:
            CallsSpent: it would exceed the bound, and must not be sent.
        """
        assert operation in OPERATIONS
        with self._lock:
            if sum(self._calls.values()) >= self._most:
                raise CallsSpent(
                    f"stopped after {counted(self._most, 'request')} to AWS, the bound of --max-api-calls", _HINT
                )
            self._calls[operation.action] = self._calls.get(operation.action, 0) + 1

    def requested(self, metric_count: int) -> None:
        """Count the metrics of a GetMetricData request."""
        with self._lock:
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
