"""
Limit the rate and the time of requests: one back-off for each action, one time limit.

Rule 1: AWS throttles everybody who shares the quota, so one throttled request
        slows down all requests of the action, not only itself.
        Rule 2: each answer extends the time limit; a server that stalls does not.
"""

import threading
import time
from collections.abc import Callable

from plimsoll.errors import Unreachable

# AWS refills its request buckets every second (Amazon EC2 API Reference, request throttling, 2026-11).
# Gaps of a quarter of a second, doubled up to eight seconds, give each bucket time for one token.
GAP_FIRST_S = 0.25
GAP_MOST_S = 8.0
THROTTLED_IN_A_ROW_MAX = 6
"""A judgement: after gaps of 0.25 + 0.5 + 1 + 2 + 4 s without an answer, more requests do not help."""

READ_S = 60.0
"""Longest time of a reading without any answer; a judgement."""
EARNED_S = 5.0
"""
Time that each answer adds: a healthy one takes tenths of a second, and 100,800 samples over a line of
10 Mbit/s take four seconds.
"""


class RequestPace:
    """Back-off of one action: after AWS throttled, requests are sent one after the other."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Start without a gap."""
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._gap_s = 0.0
        self._next_s = 0.0
        self._round = 0
        self._in_a_row = 0

    def wait(self) -> int:
        """Wait until this request may be sent, and return its round."""
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
        Record that a request was throttled.

        Requests in flight together are throttled together; only the first of them increases the gap.

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
        """Record an answer, and shorten the gap."""
        with self._lock:
            self._in_a_row = 0
            self._gap_s = self._gap_s / 2 if self._gap_s > GAP_FIRST_S else 0.0

    @property
    def is_in_vain(self) -> bool:
        """Whether so many rounds were throttled that no more requests should be sent."""
        with self._lock:
            return self._in_a_row >= THROTTLED_IN_A_ROW_MAX


class Deadline:
    """The time limit of one reading; it begins with the first request."""

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
            raise self.over(action)

    def over(self, action: str) -> Unreachable:
        """Return the error for a request for which no time was left."""
        return Unreachable(
            f"the reading took longer than {self._allowed_s:,.0f} s, so {action} was not read",
            "Check the network and the proxy, or name fewer instances or a shorter window.",
        )
