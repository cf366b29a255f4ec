"""Run jobs in a few threads that never keep the program from ending."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Workers:
    """
    A pool of up to `most` threads that take jobs in the order submitted.

    The threads are daemons, so after Ctrl-C the program ends at once. The standard pool would wait for
    requests in flight, up to two minutes of timeouts and retries.
    """

    def __init__(self, most: int) -> None:
        """Start no thread yet."""
        self._most = most
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Return the pool for the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel the jobs that have not started; running ones end by themselves."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                job[0].cancel()
        for _ in self._threads:
            self._jobs.put(None)

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Run `work(*arguments)` in a thread, and return a future of its result."""
        future: Future[T] = Future()
        self._jobs.put((future, lambda: work(*arguments)))
        if len(self._threads) < self._most:
            thread = threading.Thread(target=self._run, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  handed to whoever asks for the result
                future.set_exception(error)
            del job, future, work  # frees the last result while this thread waits


def within(limit_s: float, work: Callable[[], T]) -> T | None:
    """
    Run `work` in a thread of its own, and return its result, or None if it takes longer than `limit_s`.

    A late thread continues, because a slow connection cannot be interrupted from outside.
    """
    with Workers(1) as workers:
        future = workers.submit(work)
        try:
            return future.result(limit_s)
        except TimeoutError:
            if future.done():
                raise
            return None
