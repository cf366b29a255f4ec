"""A copy that asks by HTTP before each chunk, in the way of gh-ost, against a real PostgreSQL."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import httpx
import psycopg
import pytest

from paced import MB, THROUGHPUT, slow_truth
from plimsoll.kernel import Stage
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.http import CheckServer
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.pace import Pace
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

ASKED_EVERY_S = 0.1
"""gh-ost's interval for --throttle-http (--throttle-http-interval-millis)."""
CHUNK = "7\t" + "y" * 200 + "\n"
ROWS = 500
LIMIT = 4 * MB
"""Bytes per second; a copy without a pace takes more on any machine."""
SMALL = (Stage(name=THROUGHPUT, baseline=LIMIT, burst=LIMIT, capacity=0, counts="bytes"),)
SECONDS = 20.0


class Poll:
    """The last answer to a HEAD request, asked ten times a second in a thread."""

    def __init__(self, address: str) -> None:
        self.statuses: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, args=(address,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    @property
    def may_go(self) -> bool:
        return bool(self.statuses) and self.statuses[-1] == 200

    def _ask(self, address: str) -> None:
        with httpx.Client(trust_env=False) as client:
            while not self._over.wait(ASKED_EVERY_S):
                path = "/check/gh-ost/postgres/orders"
                self.statuses.append(client.head(f"http://{address}{path}").status_code)


@contextmanager
def checked(server: Postgres) -> Iterator[tuple[Pace, CheckServer]]:
    """A server that answers by the counters of `server`, under a small limit without credits."""
    pace = Pace(
        PaceController(SMALL, PaceTerms()),
        read_slow=lambda: slow_truth(end_s=time.time(), bytes_per_s=1e3, ops_per_s=1, balance={}),
        counters=ServerCounters(server.dsn),
        tick_s=0.25,
    )
    with pace:
        http = CheckServer(pace, store="orders", denied=(), host="127.0.0.1", port=0).start()
        try:
            yield pace, http
        finally:
            http.close()


def copied(server: Postgres, *, seconds: float, poll: Poll | None) -> tuple[int, float]:
    """Copy for so long; return the rows that were copied, and the bytes that the device took a second."""
    counters = ServerCounters(server.dsn)
    counters.open()
    rows, began_s = 0, time.monotonic()
    counters.counts(0.0)
    taken = 0.0
    try:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create table if not exists copied (a int, b text)")
            while time.monotonic() - began_s < seconds:
                if poll is not None and not poll.may_go:
                    time.sleep(ASKED_EVERY_S / 2)
                    continue
                with connection.cursor().copy("copy copied from stdin") as copy:
                    copy.write(CHUNK * ROWS)
                rows += ROWS
            connection.execute("select pg_stat_force_next_flush()")
        found, _ = counters.counts(0.0)
        assert found is not None
        taken = found.moved_bytes
    finally:
        counters.close()
    return rows, taken / (time.monotonic() - began_s)


def test_a_copy_that_polls_is_held_to_the_limit():
    """
    It stops and goes. Everybody together takes about the limit: it is exceeded for some tenths of a second, until
    the counters tell, and then the copy waits until that is paid for.
    """
    with Postgres({"shared_buffers": "16MB"}) as server:
        _, free_bytes_per_s = copied(server, seconds=2, poll=None)
        with checked(server) as (_, http), Poll(http.address) as poll:
            rows, bytes_per_s = copied(server, seconds=SECONDS, poll=poll)

    assert {200, 429} == set(poll.statuses)
    # It went on after it was stopped.
    assert 200 in poll.statuses[poll.statuses.index(429) :]
    assert rows > 0
    assert 0.3 * LIMIT < bytes_per_s < min(2 * LIMIT, free_bytes_per_s / 2)
