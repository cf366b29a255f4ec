"""Work in a few threads at once, which never keep the program from ending."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Workers:
    """
    Up to `most` threads that take jobs in the order submitted.

    They are daemons: after an interrupt the program ends at once, where the standard pool would
    wait for requests under way, up to two minutes of time-outs and retries.
    """

    def __init__(self, most: int) -> None:
        """Start no thread yet."""
        self._most = most
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Use until the block ends."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Forget the jobs that were not begun; those under way end by themselves."""
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
        """Do `work(*arguments)` in a thread; the result is in the future."""
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
            del job, future, work  # a waiting thread must not keep the last result alive


def within(limit_s: float, work: Callable[[], T]) -> T | None:
    """
    Do some work in a thread of its own, and return None if it takes longer than `limit_s`.

    What is late is left alone: a connection that drips cannot be interrupted from outside.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  handed to whoever waits for the result
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(limit_s)
    except TimeoutError:
        if future.done():
            raise
        return None
