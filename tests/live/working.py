"""Work that goes on beside what a test does."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def working(dsn: str, work: Callable[[psycopg.Connection, int], object], *, pause_s: float = 0.0) -> Iterator[None]:
    """One client that does it over and over, with the number of the turn, for as long as the block lasts."""
    stop = threading.Event()

    def loop() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for turn in itertools.count():
                if stop.wait(pause_s):
                    return
                work(connection, turn)

    worker = threading.Thread(target=loop)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()
