"""
Pace a batch in real time: read what is measured, and let bytes through at the rate of the allowance.

Rule 1: what may be asked over a network (metrics, counters) is asked by threads; `wait` never waits for them.
Rule 2: the law is in `law/`; this file has the clock.
"""

import threading
import time
from collections.abc import Callable
from math import ceil
from types import TracebackType
from typing import Self

from msgspec import Struct

from plimsoll.errors import PlimsollError
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.law.commits import shared
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.truths import FastTruth, PeerBatches, ServerCounts, SlowTruth
from plimsoll.model.pace import PaceAllowance

ReadSlow = Callable[[], SlowTruth]
"""Reads the metrics of the storage; raises a PlimsollError if they cannot be read."""

# A judgement: rates of the server's counters over less than a second are mostly noise.
TICK_S = 1.0
# CloudWatch has a new point each minute.
SLOW_EVERY_S = 60.0
# So much of a second may be caught up, after a pause of the batch or a late tick.
_BURST_S = 1.0
# Everybody together may be ahead by so much. More would keep a program waiting long after others have stopped.
_DEBT_S_MAX = 60.0
# The speed of a worker follows its last calls: a tenth of the new one each time.
_SPEED_WEIGHT = 0.1
# An allowance that is older than so many ticks is computed again by whoever waits.
_OLD_TICKS = 3
# How long a waiting call sleeps before it looks at the allowance again, which may have changed.
_NAP_S = 0.2


class PaceCheck(Struct, frozen=True, kw_only=True):
    """The answer to a program that asks whether it may go on."""

    may_go: bool
    is_known: bool
    """False if neither metrics nor counters tell what is taken."""
    used_ratio: float
    """What everybody takes, divided by what everybody may take; the largest of all ceilings."""
    text: str


class Pace:
    """
    The pace of one batch. Safe to use from several threads.

    >>> with open_pace("rds:orders-primary", dsn="host=db1 dbname=orders") as pace:  # doctest: +SKIP
    ...     for chunk in chunks:
    ...         pace.wait(len(chunk))
    ...         send(chunk)
    """

    def __init__(
        self,
        controller: PaceController,
        *,
        read_slow: ReadSlow | None = None,
        counters: ServerCounters | None = None,
        slow_every_s: float = SLOW_EVERY_S,
        tick_s: float = TICK_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Keep what to read; nothing is read before `start`.

        Args:
            controller: the law, with the ceilings and the terms.
            read_slow: metrics of the storage; None for none, and then only a share of the baseline is granted.
            counters: counters of the server; None for none.
            slow_every_s: seconds between two readings of the metrics, > 0.
            tick_s: seconds between two readings of the counters, > 0.
            clock: epoch seconds.
        """
        self._controller = controller
        self._read_slow, self._counters = read_slow, counters
        self._slow_every_s, self._tick_s = slow_every_s, tick_s
        self._clock = clock
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._whole: PaceAllowance | None = None
        self._allowance: PaceAllowance | None = None
        self._filled_s = clock()
        self._tokens = 0.0
        self._sent_bytes = 0
        self._unread_bytes = 0
        self._tick_began_s = clock()
        self._speed_bytes_per_s: float | None = None
        self._returned: dict[int, tuple[float, int]] = {}
        self._debt_s: dict[str, float] = {}
        self._failure = ""
        self._share = 1.0

    def start(self) -> Self:
        """
        Read metrics and counters once, then again and again in threads.

        Raises:
            PlimsollError: the first reading of the counters failed. Metrics that cannot be read are no error:
                `allowance` says so.
        """
        if self._counters is not None:
            self._counters.open()
            # The first interval begins where the counters were read first.
            self._tick_began_s = self._clock()
        self.refresh()
        self.tick()
        for run, name in ((self._tick_on, "pace-tick"), (self._refresh_on, "pace-metrics")):
            thread = threading.Thread(target=run, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def close(self) -> None:
        """End the threads and the connection; `wait` then returns at once."""
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=5)
        if self._counters is not None:
            self._counters.close()

    def __enter__(self) -> Self:
        """Start, if that was not done yet."""
        return self if self._threads else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    @property
    def sent_bytes(self) -> int:
        """Return the bytes that `wait` has let through."""
        return self._sent_bytes

    @property
    def failure(self) -> str:
        """Return why the metrics could not be read last time; empty if they were."""
        return self._failure

    def allowance(self) -> PaceAllowance:
        """Return the allowance of this moment, with its parts."""
        with self._lock:
            self._whole = self._controller.allowance(self._clock())
            self._allowance = shared(self._whole, self._share)
            return self._allowance

    def set_share(self, ratio: float) -> None:
        """Let through only this share of the allowance from now on, > 0 and ≤ 1."""
        with self._lock:
            self._fill()
            self._share = ratio
            if self._whole is not None:
                self._allowance = shared(self._whole, ratio)

    def set_work_left(self, batch_bytes: float | None) -> None:
        """State how many bytes are still to be sent; credits are then spent so that the batch ends soonest."""
        with self._lock:
            self._controller.set_work_left(batch_bytes)

    def time_to_finish_s(self) -> float | None:
        """Return the seconds until the stated work ends under the credits that are left; None if not known."""
        with self._lock:
            whole_s = self._controller.time_to_finish_s(self._clock())
            return None if whole_s is None else whole_s / self._share

    def wait(self, byte_count: int, *, stop: threading.Event | None = None) -> float:
        """
        Wait until so many bytes of the batch may go, and count them as sent.

        Args:
            byte_count: bytes of the batch, ≥ 0. More than a second's worth is let through at once and makes
                the next call wait longer.
            stop: ends the wait when it is set; the bytes are then not counted.

        Returns:
            Seconds waited.
        """
        began_s = time.monotonic()
        self._note_speed(began_s)
        while not self._over.is_set() and not (stop is not None and stop.is_set()):
            with self._lock:
                rate = self._fill()
                if self._tokens > 0:
                    self._take(byte_count)
                    break
                # Until a token is there; without any rate, until the next look.
                nap_s = min(-self._tokens / rate + 1e-4, _NAP_S) if rate > 0 else _NAP_S
            self._over.wait(nap_s)
        now_s = time.monotonic()
        with self._lock:
            self._returned[threading.get_ident()] = (now_s, byte_count)
        return now_s - began_s

    def try_take(self, byte_count: int) -> float | None:
        """Count bytes as sent if they may go now; otherwise return the seconds until they may (at most 60)."""
        with self._lock:
            rate = self._fill()
            if self._tokens > 0:
                self._take(byte_count)
                return None
            return min(-self._tokens / rate, 60.0) if rate > 0 else 60.0

    def concurrency(self, most: int = 8) -> int:
        """
        Return how many workers the allowance carries.

        Args:
            most: upper bound, ≥ 1.

        Returns:
            1 ≤ n ≤ most: the allowance divided by the speed of one worker between its calls of `wait`. As long
            as that speed is not known, 1.
        """
        with self._lock:
            speed = self._speed_bytes_per_s
            rate = self._rate()
        if speed is None or speed <= 0:
            return 1
        return max(1, min(most, ceil(rate / speed)))

    def check(self) -> PaceCheck:
        """
        Return whether a program that does not tell its bytes may go on now.

        It may as long as everybody together, by the counters of the server or else by the newest metrics, took
        no more than the allowance.
        """
        with self._lock:
            debts = dict(self._debt_s)
            allowance = self._allowance or self.allowance()
        if not debts:
            text = "neither counters of the server nor recent metrics tell what is taken"
            return PaceCheck(may_go=False, is_known=False, used_ratio=1.0, text=text)
        worst = max(debts, key=lambda name: debts[name])
        may_go = debts[worst] <= 0
        text = "" if may_go else f"{worst.replace('_', ' ')} is used up until credits return"
        used = max(self._used(allowance), 0.0)
        return PaceCheck(may_go=may_go, is_known=True, used_ratio=used, text=text)

    def refresh(self) -> None:
        """Read the metrics of the storage once."""
        if self._read_slow is None:
            return
        try:
            slow = self._read_slow()
        except PlimsollError as error:
            self._failure = error.message
            return
        self._failure = ""
        with self._lock:
            self._controller.observe_slow(slow)

    def tick(self) -> None:
        """Read the counters once, and compute the allowance."""
        with self._lock:
            elapsed_s = self._clock() - self._tick_began_s
            so_far = self._unread_bytes / elapsed_s if elapsed_s > 0 else 0.0
        server: ServerCounts | None = None
        peers: PeerBatches | None = PeerBatches()
        if self._counters is not None:
            server, peers = self._counters.counts(so_far)
        with self._lock:
            # Taken after the counters: both then end at the same moment, however long the server took.
            now_s = self._clock()
            length_s = now_s - self._tick_began_s
            batch, self._unread_bytes = self._unread_bytes, 0
            self._tick_began_s = now_s
            if length_s > 0:
                self._controller.observe_fast(
                    FastTruth(
                        start_s=now_s - length_s,
                        end_s=now_s,
                        batch_bytes=batch,
                        server=server,
                        peers_bytes_per_s=None if peers is None else peers.bytes_per_s,
                        foreign_bytes_per_s=() if peers is None else peers.foreign_bytes_per_s,
                        part_count=None if peers is None else peers.part_count,
                    )
                )
            allowance = self.allowance()
            # The first look has no length: it counts as one.
            self._keep_debts(allowance, length_s or self._tick_s)

    def _tick_on(self) -> None:
        while not self._over.wait(self._tick_s):
            self.tick()

    def _refresh_on(self) -> None:
        while not self._over.wait(self._slow_every_s):
            self.refresh()

    def _rate(self) -> float:
        return self._allowance.bytes_per_s if self._allowance is not None else 0.0

    def _fill(self) -> float:
        """Add the tokens of the time since the last call; return their rate in bytes/s."""
        now_s = self._clock()
        if self._allowance is None or now_s - self._allowance.time_s > _OLD_TICKS * self._tick_s:
            # The thread waits for a server that hangs. Without it, metrics grow old here as well.
            self.allowance()
        rate = self._rate()
        elapsed_s = max(now_s - self._filled_s, 0.0)
        self._filled_s = now_s
        self._tokens = min(self._tokens + rate * elapsed_s, rate * _BURST_S)
        return rate

    def _take(self, byte_count: int) -> None:
        self._tokens -= byte_count
        self._sent_bytes += byte_count
        self._unread_bytes += byte_count

    def _note_speed(self, now_s: float) -> None:
        """Learn how fast one worker is between two calls, when nobody makes it wait."""
        with self._lock:
            last = self._returned.pop(threading.get_ident(), None)
            if last is None or now_s <= last[0] or last[1] == 0:
                return
            speed = last[1] / (now_s - last[0])
            old = self._speed_bytes_per_s
            # Time, not speed, is what adds up: the mean of 1/speed.
            self._speed_bytes_per_s = speed if old is None else 1 / ((1 - _SPEED_WEIGHT) / old + _SPEED_WEIGHT / speed)

    def _keep_debts(self, allowance: PaceAllowance, length_s: float) -> None:
        """Count for each ceiling by how many seconds' worth everybody is ahead of the allowance."""
        rate = self._controller.device_total(allowance.time_s)
        if rate is None:
            self._debt_s = {}
            return
        for one in allowance.ceilings:
            taken = rate.bytes_per_s if one.unit == "bytes/s" else rate.ops_per_s
            ahead = (taken / one.total_per_s - 1) * length_s if one.total_per_s > 0 else length_s
            debt = self._debt_s.get(one.family.value, 0.0) + ahead
            self._debt_s[one.family.value] = min(max(debt, 0.0), _DEBT_S_MAX)

    def _used(self, allowance: PaceAllowance) -> float:
        nothing = DeviceRate(start_s=0.0, end_s=0.0, bytes_per_s=0.0, ops_per_s=0.0)
        rate = self._controller.device_total(allowance.time_s) or nothing
        return max(
            (
                (rate.bytes_per_s if one.unit == "bytes/s" else rate.ops_per_s) / one.total_per_s
                if one.total_per_s > 0
                else 1.0
            )
            for one in allowance.ceilings
        )
