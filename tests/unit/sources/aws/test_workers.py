import contextlib
import threading
import time

import pytest

from plimsoll.sources.aws.workers import Workers


def test_results_and_errors_are_in_their_futures():
    """Each job's own, in whatever order they end; after an error the thread goes on with the next job."""

    def fail():
        raise ValueError("no")

    with Workers(1) as workers:
        bad = workers.submit(fail)
        futures = [workers.submit(lambda n: n * n, n) for n in range(50)]

        with pytest.raises(ValueError, match="no"):
            bad.result()
        assert [n * n for n in range(50)] == [f.result() for f in futures]


def test_no_more_run_at_once_than_allowed():
    """And as many as that do."""
    together = threading.Barrier(3, timeout=10)
    running, most = [0], [0]
    lock = threading.Lock()

    def work(is_first):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        if is_first:
            together.wait()
        with lock:
            running[0] -= 1

    with Workers(3) as workers:
        for future in [workers.submit(work, n < 3) for n in range(20)]:
            future.result()

    assert most[0] == 3


def test_leaving_does_not_wait_for_what_is_under_way():
    """An interrupt ends the program at once; jobs that were not begun never are."""
    begun, release, done = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        release.wait(10)
        done.append("slow")

    started = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), Workers(1) as workers:
        slow_one = workers.submit(slow)
        waiting = workers.submit(lambda: done.append("waiting"))
        begun.wait(10)
        raise KeyboardInterrupt
    took = time.monotonic() - started
    release.set()
    slow_one.result(10)

    assert took < 5
    assert waiting.cancelled()
    assert done == ["slow"]


def test_threads_end_with_the_block():
    """And while it lasts they are daemons, which the interpreter does not wait for."""
    before = set(threading.enumerate())
    with Workers(2) as workers:
        workers.submit(lambda: 1).result()
        mine = set(threading.enumerate()) - before
        assert all(t.daemon for t in mine)
    for thread in mine:
        thread.join(10)

    assert not any(t.is_alive() for t in mine)
