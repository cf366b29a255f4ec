"""
Read a database once an interval for everybody who waits for it in one process.

Rule 1: equal targets with equal intervals share one poll, however many wait.
Rule 2: no reading and no arithmetic runs on the event loop: boto3 would block every other trigger.
Rule 3: two readings of a poll begin at least an interval apart, also if those who wait leave and come back.
Rule 4: a poll that starts again offers no reading that is older than that.
Rule 5: a yes by live metrics must also hold at the present time, however old the reading is by now.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from airflow_provider_plimsoll.need import BudgetAnswer, BudgetNeed, judge
from airflow_provider_plimsoll.target import PlimsollTarget

# Half an hour shows what others take; plimsoll's pace uses the same.
LAST = "30m"
# Of those who wait for one reading, so many go on at once. A thousand in a row, each with a line of its log, would
# block the event loop for a second.
_TURNS = 8
# A reading is offered for so many intervals. In the second, the next one is being read.
_OFFERED_INTERVALS = 2
# An answer counts for so long: metrics have a sample a minute, so it hardly changes within one.
_ANSWER_S = 60.0
# Own threads: slow answers of AWS must not use up those of the event loop, which Airflow needs.
_THREADS = 8
_executor: ThreadPoolExecutor | None = None


class Reading:
    """One reading, and the answers to all who asked about it."""

    def __init__(self, snapshot: Any, now_s: float | None, failure: str = "") -> None:
        """
        Keep what was read.

        Args:
            snapshot: None if it could not be read.
            now_s: when it was read, epoch seconds; None for a file.
            failure: why it could not be read; empty if it was.
        """
        self.snapshot, self.now_s, self.failure = snapshot, now_s, failure
        self._answers: dict[BudgetNeed, tuple[float, asyncio.Task[BudgetAnswer]]] = {}

    async def answer(self, need: BudgetNeed) -> BudgetAnswer:
        """
        Return whether a batch may go now; equal needs are judged once a minute.

        Raises:
            plimsoll.PlimsollError: no storage limit of the instance is known.
        """
        if self.failure:
            return BudgetAnswer(may_go=False, text=f"the metrics cannot be read: {self.failure}")
        now_s = time.time()
        asked_s, task = self._answers.get(need, (float("-inf"), None))
        # A clock that was set back makes no answer last longer.
        if task is None or not 0 <= now_s - asked_s <= _ANSWER_S:
            task = asyncio.create_task(in_thread(self._judged, need, now_s))
            self._answers[need] = now_s, task
        # One who stops waiting must not take the answer from the others.
        return await asyncio.shield(task)

    def _judged(self, need: BudgetNeed, now_s: float) -> BudgetAnswer:
        # Only by the time of the reading is it known which samples were complete. If they were judged by the
        # present alone, a minute that was read half-full would show too little load of others.
        answer = judge(self.snapshot, need, self.now_s)
        if self.now_s is None or not answer.may_go:
            return answer
        present = judge(self.snapshot, need, now_s)
        return answer if present.may_go else present


class SharedPoll:
    """Readings of one target, once an interval while somebody waits."""

    def __init__(self, read: Callable[[], Reading], interval_s: float) -> None:
        """
        Keep what to read; nothing is read before somebody waits.

        Args:
            read: blocks; called in a thread. What it raises ends the poll, and is raised to all who wait.
            interval_s: seconds between the beginnings of two readings, > 0.
        """
        self._read, self.interval_s = read, interval_s
        self.newest: Reading | None = None
        self.newest_s = float("-inf")
        self.waiting = 0
        self.began_s = float("-inf")
        self.turns = asyncio.Semaphore(_TURNS)
        self._error: BaseException | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def enter(self) -> None:
        """Count one who waits, and poll."""
        self.waiting += 1
        if self._task is None or self._task.done():
            self._error = None
            if time.monotonic() - self.newest_s > self.interval_s:
                self.newest = None
            self._task = asyncio.create_task(self._run())

    def leave(self) -> None:
        """Count one less, and stop if nobody waits."""
        self.waiting -= 1
        if self.waiting == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

    async def after(self, seen: Reading | None) -> Reading:
        """Return the first reading that is not the one that was seen last."""
        while (newest := self._offered()) is None or newest is seen:
            if self._error is not None:
                raise self._error
            await self._changed.wait()
        return newest

    def _offered(self) -> Reading | None:
        """Return the newest reading, unless it is old: nobody may have waited since."""
        is_old = time.monotonic() - self.newest_s > _OFFERED_INTERVALS * self.interval_s
        return None if is_old else self.newest

    async def _run(self) -> None:
        while True:
            left_s = self.began_s + self.interval_s - time.monotonic()
            if left_s > 0:
                await asyncio.sleep(left_s)
            self.began_s = time.monotonic()
            try:
                newest = await in_thread(self._read)
            except Exception as error:  # noqa: BLE001 - raised to all who wait
                self._error = error
                self._tell()
                return
            self.newest, self.newest_s = newest, time.monotonic()
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


_polls: dict[tuple[int, PlimsollTarget, float], SharedPoll] = {}


@asynccontextmanager
async def shared_poll(target: PlimsollTarget, interval_s: float) -> AsyncIterator[SharedPoll]:
    """Give the poll of a target on this event loop."""
    key = (id(asyncio.get_running_loop()), target, interval_s)
    poll = _polls.get(key)
    if poll is None:
        _forget_old()
        poll = _polls[key] = SharedPoll(lambda: read_now(target), interval_s)
    poll.enter()
    try:
        yield poll
    finally:
        poll.leave()


def read_now(target: PlimsollTarget) -> Reading:
    """
    Read a target; that it does not answer is a reading, too.

    Raises:
        plimsoll.PlimsollError: waiting does not help: there is no such target.
    """
    import plimsoll
    from plimsoll.errors import UsageError

    now_s = time.time() if target.is_live else None
    try:
        return Reading(target.read(last=LAST if target.is_live else None), now_s)
    except UsageError:
        raise
    except plimsoll.PlimsollError as error:
        return Reading(None, now_s, error.message)


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns that blocks."""
    global _executor  # noqa: PLW0603 - threads of the process, made when first needed
    if _executor is None:
        _executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="plimsoll")
    return await asyncio.get_running_loop().run_in_executor(_executor, function, *arguments)


def _forget_old() -> None:
    """Drop polls that nobody waits for and whose interval is over."""
    now_s = time.monotonic()
    for key, poll in list(_polls.items()):
        if poll.waiting == 0 and now_s - poll.began_s > poll.interval_s:
            del _polls[key]
