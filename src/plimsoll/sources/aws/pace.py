"""
How fast to ask, and when to stop: one back-off for all requests of an action, one time limit.

Rule 1: what AWS throttles is throttled for everybody who shares the quota, so that one refusal
        slows down all requests of the action, not only the one that met it.
Rule 2: time is earned by answers; a server that only drips or stalls earns none.
"""

import threading
import time
from collections.abc import Callable

from plimsoll.errors import Unreachable

# AWS refills its buckets by the second (Amazon EC2 API Reference, request throttling, 2026-11):
# a quarter of a second first, doubled to eight, gives each bucket time to hold one token.
GAP_FIRST_S = 0.25
GAP_MOST_S = 8.0
THROTTLED_IN_A_ROW_MAX = 6
"""After 0.25 + 0.5 + 1 + 2 + 4 s of ever longer gaps without one answer, asking on helps nobody."""

READ_S = 60.0
"""Longest time of a reading that no answer came to."""
EARNED_S = 5.0
"""
What each answer adds: a healthy one comes within tenths of a second, and 100,800 samples over a line
of 10 Mbit/s take four.
"""


class RequestPace:
    """The back-off of one action: requests leave one after the other once AWS has throttled."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin without any gap."""
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._gap_s = 0.0
        self._next_s = 0.0
        self._round = 0
        self._in_a_row = 0

    def wait(self) -> int:
        """Wait for this request's turn, and return the round in which it is sent."""
        with self._lock:
            now_s = self._clock()
            turn_s = max(now_s, self._next_s)
            self._next_s = turn_s + self._gap_s
        if turn_s > now_s:
            self._sleep(turn_s - now_s)
        with self._lock:
            return self._round

    def throttled(self, sent_in: int) -> None:
        """
        Note that a request was throttled.

        Requests that were under way together are refused together; only the first of them slows down.

        Args:
            sent_in: the round that `wait` returned for it.
        """
        with self._lock:
            if sent_in != self._round:
                return
            self._round += 1
            self._in_a_row += 1
            self._gap_s = min(max(2 * self._gap_s, GAP_FIRST_S), GAP_MOST_S)
            self._next_s = max(self._next_s, self._clock() + self._gap_s)

    def answered(self) -> None:
        """Note that a request was answered: from here on it may go faster again."""
        with self._lock:
            self._in_a_row = 0
            self._gap_s = self._gap_s / 2 if self._gap_s > GAP_FIRST_S else 0.0

    @property
    def is_in_vain(self) -> bool:
        """Whether so many rounds were throttled that no more should be asked."""
        with self._lock:
            return self._in_a_row >= THROTTLED_IN_A_ROW_MAX


class Deadline:
    """The time limit of one reading; it begins with the first request."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin later."""
        self._clock = clock
        self._lock = threading.Lock()
        self._begun_s: float | None = None
        self._allowed_s = READ_S

    def left_s(self) -> float:
        """Return seconds that are left, ≥ 0."""
        with self._lock:
            if self._begun_s is None:
                self._begun_s = self._clock()
            return max(self._begun_s + self._allowed_s - self._clock(), 0.0)

    def earn(self) -> None:
        """Note an answer."""
        with self._lock:
            self._allowed_s += EARNED_S

    def refuse_beyond(self, action: str) -> None:
        """
        Refuse to ask once the time is over.

        Raises:
            Unreachable: no time is left.
        """
        if self.left_s() <= 0:
            raise self.over(action)

    def over(self, action: str) -> Unreachable:
        """Return the error for a request for which there was not enough time."""
        return Unreachable(
            f"the reading took longer than {self._allowed_s:,.0f} s, so {action} was not read",
            "Check the network and the proxy, or name fewer instances or a shorter window.",
        )
