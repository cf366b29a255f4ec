"""A watch of commits, without a server."""

import threading
import time
from types import SimpleNamespace

import psycopg
import pytest

from plimsoll.errors import SourceError
from plimsoll.load.copy import commits
from plimsoll.load.copy.commits import CommitWatch


class Told:
    """A pace that keeps what it is told."""

    def __init__(self) -> None:
        self.shares: list[float] = []

    def set_share(self, ratio: float) -> None:
        """Keep it."""
        self.shares.append(ratio)


class Server:
    """A connection whose commits take as long as is said."""

    info = SimpleNamespace(server_version=180_000)

    def __init__(self) -> None:
        self.answer = threading.Event()
        self.answer.set()
        self.failure: Exception | None = None

    def execute(self, statement: bytes) -> None:
        """Wait until there is an answer."""
        assert statement.endswith(b"commit")
        self.answer.wait(timeout=30)
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def server(monkeypatch) -> Server:
    made = Server()
    monkeypatch.setattr(commits, "open_session", lambda *_: made)
    monkeypatch.setattr(commits, "PROBES_PER_S", 500)
    return made


def until(truth) -> None:
    """Wait for something that takes milliseconds; a busy machine may take longer."""
    end_s = time.monotonic() + 30
    while not truth():
        assert time.monotonic() < end_s
        time.sleep(0.002)


def test_a_commit_that_hangs_slows_the_batch_before_it_ends(server):
    pace = Told()
    with CommitWatch("", pace, 50.0) as watch:
        until(lambda: pace.shares)
        fast = watch.seen()
        server.answer.clear()
        until(lambda: pace.shares[-1] < 0.1)
        server.answer.set()
        until(lambda: pace.shares[-1] > 0.1)
        slow = watch.seen()

    assert fast.slow_count == 0 < fast.count
    # Eleven steps of a fifth.
    assert slow.slow_count >= 11


def test_a_server_that_is_lost_leaves_the_share(server):
    pace = Told()
    with CommitWatch("", pace, 50.0):
        until(lambda: pace.shares)
        server.failure = psycopg.OperationalError("server closed the connection")
        time.sleep(0.05)
        count = len(pace.shares)
        time.sleep(0.05)
        assert len(pace.shares) <= count + 1
        server.failure = None
        until(lambda: len(pace.shares) > count + 5)


def test_a_server_that_refuses_ends_the_load_before_it_begins(server):
    server.failure = psycopg.OperationalError("no such server")
    with pytest.raises(SourceError), CommitWatch("host=nowhere", Told(), 1.2):
        pass
